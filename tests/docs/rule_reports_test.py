"""docs/rules.md shows a report of every rule: each line was printed by a test of the rules, or by the bug corpus.

Usage: rule_reports_test.py [--print] PROGRAM...   programs are tests/sim/rules_*_test.cpp and the like; they write the
findings they ask for into WARPWRIGHT_RULE_REPORTS. --print prints what they wrote, the shortest report of each rule.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def collected(programs):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "reports"
        for program in programs:
            subprocess.run([program], env={**os.environ, "WARPWRIGHT_RULE_REPORTS": str(file)}, check=True,
                           stdout=subprocess.DEVNULL)
        return file.read_text().splitlines()


def without_places(text):
    """Without addresses of the host and lines of the tests' own sources, which move."""
    return re.sub(r"0x[0-9a-f]+", "0x#", re.sub(r"(_test\.(?:cpp|h)):\d+", r"\1", text))


def main(arguments):
    lines = collected([a for a in arguments if a != "--print"])
    if "--print" in arguments:
        for line in sorted(lines, key=lambda line: (line.split(":")[0], len(line))):
            print(line)
        return 0
    page = (ROOT / "docs" / "rules.md").read_text()
    rules = {rule for row in page.splitlines() if row.startswith("| `")
             for rule in re.findall(r"`([a-z0-9_.]+)`", row.split("|")[1])}
    printed = {without_places(line) for line in lines}
    shown, failures = set(), []
    for block in re.findall(r"^```text\n(.*?)^```$", page, flags=re.M | re.S):
        for line in block.splitlines():
            mutant = re.match(r"(?:M\d\d[\w.]*: )?([a-z0-9_]+(?:\.[a-z_]+)?): ", line)
            if not mutant or mutant[1] not in rules:
                continue
            shown.add(mutant[1])
            # Lines of the corpus are compared by commands_test.py.
            if not line.startswith("M") and without_places(line) not in printed:
                failures.append(f"no test prints '{line}'")
    failures += [f"{rule} has no report in docs/rules.md" for rule in sorted(rules - shown)]
    for failure in failures:
        print("FAIL", failure)
    print(f"{len(rules)} rules, {len(lines)} reports, {len(failures)} failures")
    return 1 if failures or len(rules) < 90 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
