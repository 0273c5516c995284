#!/usr/bin/env python3
"""An illegal configuration of the Blackwell GEMM does not compile, and the message is the rule: one compile a case."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAME = """#include "warpwright/kernel/sm100/dense_gemm.h"
using namespace warpwright;
void use(const DenseGemmSm100Args& args) {{ kernel::sm100::DenseGemm<DenseGemmSm100Config{{{config}}}>::body(args); }}
"""
# name, configuration, text that the error must contain (None: must compile)
CASES = [
    ("a right configuration", ".tile_n = 128, .stages = 4, .cta_group = 2, .cluster_m = 4, .cluster_n = 2", None),
    ("type of the operands", ".type = DType::s8", "A and B are bf16, fp16, tf32 or e4m3"),
    ("type of the result", ".out_type = DType::e4m3", "D is fp32, bf16 or fp16"),
    ("cta_group", ".cta_group = 3, .cluster_m = 3", "cta_group is 1 or 2"),
    ("odd cluster of pairs", ".tile_n = 128, .cta_group = 2, .cluster_m = 3", "cluster_m must be even"),
    ("cluster over 16", ".tile_n = 128, .cluster_m = 8, .cluster_n = 4", "a cluster has 1 to 16 CTAs"),
    ("MMA shape, M", ".tile_m = 96", "a CTA has 64 or 128 rows of a tile"),
    ("MMA shape, N", ".tile_n = 260", "tile_n is a multiple of 8"),
    ("MMA shape, N of a pair", ".tile_n = 24, .cta_group = 2, .cluster_m = 2", "of 16 in a pair of CTAs"),
    ("no stage", ".tile_n = 128, .stages = 0", "at least one stage"),
    ("stages that do not fit", ".tile_n = 128, .stages = 8", "the input stages exceed the shared memory of a CTA"),
    ("five accumulators", ".tile_n = 64, .accumulators = 5", "there are 1 to 4 accumulators"),
    ("columns over 512", ".tile_n = 256, .accumulators = 3", "exceed the 512 columns of tensor memory"),
    ("slice of A", ".tile_m = 64, .tile_n = 64, .cluster_n = 16", "slice of A must be a multiple of 8 rows"),
    ("slice of B", ".tile_n = 16, .cluster_m = 4", "slice of B must be a multiple of 8 rows"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    compiler = parser.parse_args().compiler
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, config, want in CASES:
            source = pathlib.Path(folder) / "case.cpp"
            source.write_text(FRAME.format(config=config))
            try:
                run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}", str(source)],
                                     capture_output=True, text=True, check=False)
            except FileNotFoundError:
                print(f"{compiler} is not installed")
                return 77
            good = run.returncode == 0 if want is None else run.returncode != 0 and want in run.stderr
            print(f"{'ok  ' if good else 'FAIL'} {name}" + ("" if good else f"\n{run.stderr[:800]}"))
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
