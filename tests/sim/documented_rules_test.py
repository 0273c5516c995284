#!/usr/bin/env python3
"""docs/rules.md explains every rule that the simulator can report, and no other."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    source = "\n".join(p.read_text() for p in sorted((ROOT / "src/sim").rglob("*")) if p.suffix in (".cpp", ".h"))
    # The first argument of fail(), what is assigned to Finding::rule, and the verdicts of the race checker.
    reported = set(re.findall(r'fail\(\s*"([a-z0-9_.]+)"', source))
    for statement in re.findall(r'(?:\brule\s*=|fail\(\s*[a-z][^,"]*\?)[^;]*;', source):
        reported |= set(re.findall(r'"((?:deadlock|livelock|exception|phase|named|race|mbarrier|tmem|tcgen05|cluster)(?:\.[a-z_]+)?)"', statement))
    reported |= set(re.findall(r'(?:return|v =) \{"(race[a-z_.]*|tcgen05\.wait)"', source))
    documented = {r for line in (ROOT / "docs/rules.md").read_text().splitlines() if line.startswith("| `")
                  for r in re.findall(r"`([a-z0-9_.]+)`", line.split("|")[1])}
    missing = sorted(reported - documented)
    stale = sorted(r for r in documented if f'"{r}"' not in source)
    for rule in missing:
        print(f"FAIL {rule} is reported but not explained in docs/rules.md")
    for rule in stale:
        print(f"FAIL {rule} is explained in docs/rules.md but never reported")
    bad = len(missing) + len(stale)
    print(f"{len(documented) - len(stale)} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
