#!/usr/bin/env python3
"""The table of docs/schedule-fixtures.md names tests that exist, and no compile case is missing from it."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROOF = re.compile(r"`(tests/[^`]+)` `([^`]+)`")
SECTIONS = ["1.9", "3.1", "3.2", "3.3", "3.4", "3.5", "5.1", "5.2", "5.3", "6.2", "6.6", "7.3", "7.4"]


def exists(file, name):
    path = ROOT / file
    if not path.is_file():
        return False
    source = re.sub(r"\s+", " ", path.read_text())
    test = re.fullmatch(r"(\w+)\.(\w+)", name)
    return bool(re.search(rf"TEST\({test[1]}, {test[2]}\)", source)) if test else name in source


def main():
    failures, seen, named = [], [], set()
    for line in (ROOT / "docs" / "schedule-fixtures.md").read_text().splitlines():
        if not re.match(r"\| \d", line):
            continue
        section, fixture, tests = [cell.strip() for cell in line.strip("|").split(" | ")]
        seen.append(section)
        proofs = PROOF.findall(tests)
        if not proofs or len(proofs) != len(tests.split("; ")):
            failures.append(f"{section} {fixture}: names no test")
        for file, name in proofs:
            named.add(name)
            if not exists(file, name):
                failures.append(f"{section} {fixture}: {file} has no {name}")
    if sorted(set(seen)) != SECTIONS:
        failures.append(f"the sections are {sorted(set(seen))}")
    cases = (ROOT / "tests" / "schedule" / "schedule_cases.py").read_text()
    # Cases with a rule are mistakes; those are the fixtures that must not be forgotten.
    for name in re.findall(r'^    Case\("(\w+)",', cases, flags=re.M):
        mistake = re.search(rf'Case\("{name}",(?:(?!\n    Case)[\s\S])*?"[A-Z]+_[A-Z_]+"', cases)
        if mistake and f'Case("{name}",' not in named:
            failures.append(f"the mistake {name} of schedule_cases.py is not in the table")
    for failure in failures:
        print(failure)
    print(f"{len(seen)} fixtures, {len(named)} tests, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
