#!/usr/bin/env python3
"""docs/types.md: its C++ stands, line for line, in tests/sim/types_page_test.cpp, and its reports are what that prints.

Usage: types_test.py PROGRAM"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "types.md"
SOURCE = ROOT / "tests" / "sim" / "types_page_test.cpp"


def blocks(language):
    return [[line.strip() for line in block.splitlines() if line.strip()]
            for block in re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)]


def stands_in(block, lines):
    return any(lines[i:i + len(block)] == block for i in range(len(lines)))


def main():
    source = [line.strip() for line in SOURCE.read_text().splitlines() if line.strip()]
    printed = subprocess.run([sys.argv[1]], capture_output=True, text=True, timeout=60)
    failures = [] if printed.returncode == 0 else [printed.stdout]
    # Lines of the kernel may move, and which lane is the first to be named does not matter.
    def without_lines(text):
        return re.sub(r"lane \d+", "lane", re.sub(r"types_page_test\.cpp:\d+", "types_page_test.cpp", text))

    said = {without_lines(line.strip()) for line in printed.stdout.splitlines()}
    code, reports = blocks("cpp"), blocks("text")
    failures += [f"not in {SOURCE.name}: {block[0]}" for block in code if not stands_in(block, source)]
    failures += [f"not printed: {line}" for block in reports for line in block if without_lines(line) not in said]
    if len(code) < 5 or len(reports) < 5:
        failures.append(f"a page of five types has {len(code)} blocks of code and {len(reports)} reports")
    for failure in failures:
        print(failure)
    print(f"{len(code)} blocks of code, {len(reports)} reports, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
