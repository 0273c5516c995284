#!/usr/bin/env python3
"""docs/types.md: its C++ stands, line for line, in tests/sim/types_page_test.cpp, its reports are what that prints, and the
commands of its table reach kernels of the types they are named for. The C++ of docs/concepts.md about Blackwell and CDNA
stands there too, and that page has all five types in use.

Usage: types_test.py PROGRAM TOOL"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "types.md"
SOURCE = ROOT / "tests" / "sim" / "types_page_test.cpp"


def blocks(language, text):
    return [[line.strip() for line in block.splitlines() if line.strip()]
            for block in re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)]


def stands_in(block, lines):
    return any(lines[i:i + len(block)] == block for i in range(len(lines)))


# The instances that a type is used in.
REACHES = {"MmaWarp": "sm100/tmem_lifecycle", "EpilogueWarp": "sm100/tmem_lifecycle", "OutputTilePipeline": "sm100/dense",
           "WarpRole1D1D": "sm100/grouped", "MMABlockSpec": "gfx950/matmul-blocks"}


def check_commands(tool):
    """What is wrong with the table: `gemm` is asked by `explain`, which compiles nothing."""
    wrong, before, seen = [], None, []
    for line in PAGE.read_text().splitlines():
        row = re.match(r"\| `(\w+)` \| (?:`\./warpwright ([^`]+)`|the same) \|", line)
        if not row:
            continue
        before = shlex.split(row[2]) if row[2] else before
        seen.append(row[1])
        if before[0] == "check":
            if not before[1].startswith(REACHES[row[1]]):
                wrong.append(f"{row[1]}: {before[1]}")
            continue
        done = subprocess.run([tool, "explain", *before[1:], "--json"], capture_output=True, text=True)
        instance = json.loads(done.stdout)["instance"] if done.returncode == 0 else done.stderr
        if not instance.startswith(REACHES[row[1]]):
            wrong.append(f"{row[1]}: {' '.join(before)} reaches {instance}")
    return wrong + ([] if seen == list(REACHES) else [f"the table has {seen}"])


def main():
    source = [line.strip() for line in SOURCE.read_text().splitlines() if line.strip()]
    printed = subprocess.run([sys.argv[1]], capture_output=True, text=True, timeout=60)
    failures = [] if printed.returncode == 0 else [printed.stdout]
    # Lines of the kernel may move, and which lane is the first to be named does not matter.
    def without_lines(text):
        return re.sub(r"lane \d+", "lane", re.sub(r"types_page_test\.cpp:\d+", "types_page_test.cpp", text))

    said = {without_lines(line.strip()) for line in printed.stdout.splitlines()}
    code, reports = blocks("cpp", PAGE.read_text()), blocks("text", PAGE.read_text())
    concepts = (ROOT / "docs" / "concepts.md").read_text().partition("\n## Blackwell")[2].partition("\n## What the checker")[0]
    code += blocks("cpp", concepts)
    failures += [f"docs/concepts.md: {name} is not in use" for name in REACHES if name not in concepts]
    failures += [f"not in {SOURCE.name}: {block[0]}" for block in code if not stands_in(block, source)]
    failures += [f"not printed: {line}" for block in reports for line in block if without_lines(line) not in said]
    if len(code) < 10 or len(reports) < 5:
        failures.append(f"a page of five types has {len(code)} blocks of code and {len(reports)} reports")
    failures += check_commands(sys.argv[2])
    for failure in failures:
        print(failure)
    print(f"{len(code)} blocks of code, {len(reports)} reports, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
