#!/usr/bin/env python3
"""Rules of PTX that no kernel can break, because no word emits the instruction: the GPU words are searched for it. Who
adds such a word finds here that its rule needs a check and a test (tests/sim/rules_*)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# rule or layout, what it is about, what the words must not contain
ABSENT = [
    ("R12", "waits with a state token", r"mbarrier\.(try|test)_wait(?!\.parity)\.|ptx::mbarrier_(try|test)_wait\("),
    ("R15", "arrive.noComplete", r"noComplete|mbarrier_arrive_no_complete"),
    ("R16", "arrive_drop", r"arrive_drop"),
    ("R44", "barrier.red", r"barrier\.red|bar\.red|barrier_red|__syncthreads_(and|or|count)"),
    ("R66", "tcgen05.shift", r"tcgen05[._]shift"),
    ("layouts E and G", "weight-stationary MMAs", r"tcgen05\.mma\.ws|tcgen05_mma_ws"),
    ("layout C", "sparse MMAs", r"tcgen05\.mma\.sp|tcgen05_mma_sp|wgmma\.mma_async\.sp"),
    ("16x32bx2", "split tensor-memory loads", r"16x32bx2"),
]


def main():
    headers = sorted((ROOT / "include/warpwright/machine/cuda").glob("*.h"))
    code = "\n".join(re.sub(r"//.*", "", header.read_text()) for header in headers)
    failures = [f"{rule}: a word has {what}; it needs a check" for rule, what, text in ABSENT if re.search(text, code)]
    # The patterns can match: the words do have the neighbours of what these patterns look for.
    for present in (r"mbarrier\.try_wait\.parity", r"mbarrier\.arrive", r"tcgen05", r"bar(rier)?\.sync|barrier_sync"):
        if not re.search(present, code):
            failures.append(f"the words have no {present}: this test looks in the wrong place")
    notes = "\n".join(path.read_text() for path in (ROOT / "tests/sim").glob("*_test.cpp"))
    failures += [f"{rule} is not mentioned in tests/sim" for rule, _, _ in ABSENT
                 if not all(part in notes for part in re.findall(r"R\d+|\b[A-Z]\b|\d+x\d+bx\d", rule))]
    for failure in failures:
        print(failure)
    print(f"{len(ABSENT)} instructions in {len(headers)} headers: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
