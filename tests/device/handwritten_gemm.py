#!/usr/bin/env python3
"""The library's words cost next to nothing: its GEMM has within 1 % of the instructions of the hand-written twin.

usage: handwritten_gemm.py [--nvcc NVCC] [--into FILE.json]

Counts the instructions of both kernels of bench/handwritten/twin.cu in machine code and PTX; --into adds the counts to
the JSON that the program printed.

exit status: 0 within 1 %, 1 not, 77 nvcc is not here
"""
import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import prove  # noqa: E402
import sass_compare  # noqa: E402

FLAGS = ["-std=c++20", "-O3", "--expt-relaxed-constexpr", "-gencode", "arch=compute_90a,code=sm_90a",
         "-I", str(ROOT / "include"), "-I", str(ROOT / "src")]
SHIPPED, BY_HAND = "entry", "handwritten"
MOST = 0.01
NOP = 0x918  # what fills the end of a section


def instructions(code):
    opcodes = [struct.unpack_from("<Q", code, i)[0] & sass_compare.OPCODE_MASK for i in range(0, len(code), 16)]
    while opcodes and opcodes[-1] == NOP:
        opcodes.pop()
    return len(opcodes)


def of(kernels, word):
    found = [value for name, value in kernels.items() if word in name and "fill" not in name]
    if len(found) != 1:
        sys.exit(f"handwritten_gemm: {len(found)} kernels are called {word}")
    return found[0]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0],
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--into")
    options = parser.parse_args()
    nvcc = prove.find_nvcc(options.nvcc)
    if not nvcc:
        print("skipped: nvcc was not found")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("cubin", "ptx"):
            subprocess.run([nvcc, *FLAGS, f"-{kind}", "-o", f"{folder}/twin.{kind}",
                            str(ROOT / "bench/handwritten/twin.cu")], check=True)
        code = sass_compare.text_sections(f"{folder}/twin.cubin")
        mix = sass_compare.ptx_histograms(f"{folder}/twin.ptx")
    shipped, by_hand = instructions(of(code, SHIPPED)), instructions(of(code, BY_HAND))
    ptx = of(mix, SHIPPED).total(), of(mix, BY_HAND).total()
    more = shipped / by_hand - 1
    print(f"machine code: {shipped} instructions in the library's kernel, {by_hand} by hand ({more:+.2%}); "
          f"PTX: {ptx[0]} and {ptx[1]}")
    if options.into:
        path = Path(options.into)
        result = json.loads(path.read_text())
        result["instructions"] = {"shipped": shipped, "by_hand": by_hand, "shipped_ptx": ptx[0], "by_hand_ptx": ptx[1]}
        path.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if abs(more) <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
