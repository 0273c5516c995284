#!/usr/bin/env python3
"""Mutation scores and certificates of one shipped instance for each family and form.

    tools/mutation_scores.py TOOL [--only WORD] [--certificates] > docs/evidence/mutation-scores.txt

TOOL is the binary, build/release/bin/warpwright-tool. Ends in 1 if a mutant is not covered, or redundant and not argued.
"""

import argparse
import json
import subprocess
import sys

INSTANCES = """
sm90/ring_copy-32x64-s4/bf16
sm90/cluster_ring-32x64-c2-s4/fp32
sm90/dense-64x64-c1-s4/bf16-nt
sm90/dense-128x256-c2-s4/bf16-nt
sm90/dense-64x48-c2x2-s12/bf16-nt
sm90/dense-48x64-c2n-s15-swapped/bf16-nt
sm90/dense-176x192-c2-s4-g192-halves-swapped/bf16-nt
sm90/dense-8x64-c1-s6-swapped/bf16-nt-by_threads
sm90/dense-16x64-c1-s12-swapped/bf16-nt-stored_by_threads
sm90/dense-64x64-c1-s12-splitk/bf16-nt
sm90/dense-128x256-c2-s4-streamk/bf16-nt
sm90/dense-64x128-c2-s8-pingpong/bf16-nt
sm90/skinny-64x16-split1-s20/bf16-nt
sm90/skinny-64x16-split4-s20/bf16-nt
sm90/blockwise-64x8-split4-s20/e4m3
sm90/blockwise-64x64-split1-s12/e4m3
sm90/grouped-64x32-c1-s8/e4m3
sm90/grouped-128x192-c2-s4/e4m3-contiguous
sm90/grouped-128x256-c2-s4/bf16-contiguous
sm90/grouped-64x128-c1-s8/e4m3-masked
sm90/grouped-64x128-c1-s8/bf16-masked
sm90/grouped-128x192-c2-s4/e4m3-to_fp32-along_k-row_scales
sm90/grouped-128x256-c2-s4/bf16-to_fp32-along_k
sm90/grouped-128x256-c2n-s4/e4m3-to_e4m3-contiguous-any_rows-bias-swiglu
sm100/tmem_lifecycle-n128-s4/bf16
sm100/dense-64x64-c1x1-s8/bf16
sm100/dense-128x256-c2x1-s6-pair/bf16
sm100/dense-128x256-c2x1-s6-pair-clc/bf16
sm100/dense-128x128-c1x1-s6-clc-splitk/bf16
sm100/dense-128x256-c2x1-s6-pair-streamk/bf16
sm100/dense-128x128-c1x1-s4-o2-l1/bf16-c-bias-gelu-residual
sm100/dense-128x128-c2x1-s6-pair/e4m3-mxfp8
sm100/blockwise-n128-s6/e4m3
sm100/blockwise-n128-s6-pair/e4m3
sm100/grouped-n8-s8-swap/e2m1-nvfp4
sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8-pointers
sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16
sm80/mma-64x64-w2x2-d5-p2-l1200-b4-splitk/bf16
sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-by_words
sm80/mma-64x64-w2x2-d5-p2-l1200-b4/bf16-by_registers
gfx942/matmul-default/bf16
gfx950/matmul-default/bf16
gfx950/matmul-pingpong/bf16
gfx950/matmul-blocks/bf16
gfx950/matmul-4wave/bf16
examples/your_kernel/row_norms.cpp
""".split()


def kernels_of(tool, name, option):
    """The document's kernels, or the tool's complaint."""
    done = subprocess.run([tool, "check", name, option, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{name}: {done.stderr.strip()}")
    return json.loads(done.stdout)["kernels"]


def show_score(kernel):
    """A line for the kernel, and one for each mutant that was not reported; whether all of them are argued."""
    score = f"{kernel['reported']} of {kernel['mutants'] - kernel['redundant']}"
    print(f"{kernel['name']:<78}{kernel['mutants']:>8}{score:>12}{kernel['redundant']:>10}"
          f"{kernel['not_covered']:>12}{kernel['wall_s']:>8.0f} s", flush=True)
    good = kernel["not_covered"] == 0
    for one in kernel["list"]:
        if one["verdict"] == "reported":
            continue
        good = good and bool(one["argument"])
        print(f"    {one['verdict']}: {one['mutant']}: {one['argument'] or 'NOT ARGUED'}", flush=True)
    return good


def show_certificate(kernel):
    """A line for the kernel, and one for each reason that its path may change; whether there are no gaps."""
    sums = [sum(b[what] for b in kernel["barriers"]) for what in ("phases", "arrivals", "waits")]
    print(f"{kernel['name']:<78}{kernel['certificate']:<14}{len(kernel['barriers']):>9}" +
          "".join(f"{n:>10}" for n in sums), flush=True)
    for why in kernel["path"] + [gap for b in kernel["barriers"] for gap in b["gaps"]]:
        print(f"    {why}", flush=True)
    return kernel["certificate"] in ("proven", "for its path")


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--only", default="", help="instances whose names contain this word")
    parser.add_argument("--certificates", action="store_true", help="`check --certify` instead of `check --mutate`")
    options = parser.parse_args()
    if options.certificates:
        print(f"{'kernel':<78}{'certificate':<14}{'barriers':>9}{'phases':>10}{'arrivals':>10}{'waits':>10}")
    else:
        print(f"{'kernel':<78}{'mutants':>8}{'reported':>12}{'redundant':>10}{'not covered':>12}{'time':>10}")
    good, count = True, 0
    for name in INSTANCES:
        if options.only not in name:
            continue
        for kernel in kernels_of(options.tool, name, "--certify" if options.certificates else "--mutate"):
            count += 1
            good = (show_certificate if options.certificates else show_score)(kernel) and good
    print(f"{count} kernels")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
