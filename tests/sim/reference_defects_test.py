#!/usr/bin/env python3
"""The tables of docs/reference-defects.md and docs/reference-methods.md name files, tests and texts that exist, and what
they say about the shape of the kernels holds."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# `file` `test or text`
PROOF = re.compile(r"`([^`]+/[^`]+\.[a-z]+)` `([^`]+)`")
LONGEST = 500
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def rows(name):
    """The cells of each row of each table, without heads and rules."""
    for line in (ROOT / "docs" / name).read_text().splitlines():
        if line.startswith("|") and not re.match(r"\|[\s:|-]+$", line):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def check_proofs(where, cell):
    proofs = PROOF.findall(cell)
    check(proofs, f"{where}: names no proof")
    check(len(proofs) == len([part for part in cell.split("; ") if part]), f"{where}: a proof is not `file` `test`")
    for file, text in proofs:
        path = ROOT / file
        if not path.is_file():
            check(False, f"{where}: there is no {file}")
            continue
        source = re.sub(r"\s+", " ", path.read_text())
        test = re.fullmatch(r"(\w+)\.(\w+)", text)
        if test:
            found = re.search(rf"TEST(_[FP])?\({test[1]}, {test[2]}\)", source)
        else:
            found = re.sub(r"\s+", " ", text) in source
        check(found, f"{where}: {file} has no {text}")


def main():
    numbers = []
    for cells in rows("reference-defects.md"):
        if cells[0].isdigit():
            numbers.append(int(cells[0]))
            check(len(cells) == 4 and all(cells), f"defect {cells[0]}: four cells, none empty")
            check_proofs(f"defect {cells[0]}", cells[-1])
    check(numbers == list(range(1, 34)), f"the defects are not numbered 1 to 33: {numbers}")

    methods = 0
    for cells in rows("reference-methods.md"):
        if cells[-1] == "where" or cells[0].startswith("**"):
            continue
        methods += 1
        check_proofs(f"method {cells[0]}", cells[-1])
    check(methods > 30, f"only {methods} methods")

    kernels = sorted((ROOT / "include/warpwright/kernel").rglob("*.h"))
    check(kernels, "there are no kernels")
    for kernel in kernels:
        text = kernel.read_text()
        check(len(text.splitlines()) <= LONGEST, f"no kernel file is longer than {LONGEST} lines: {kernel.name}")
        check(not re.search(r"\b(clock_cycles|global_timer_ns)\b", text), f"no kernel reads a clock: {kernel.name}")

    for failure in failures:
        print(failure)
    print(f"{len(numbers)} defects, {methods} methods, {len(kernels)} kernel files: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
