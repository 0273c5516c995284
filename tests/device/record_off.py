#!/usr/bin/env python3
"""Timestamps cost nothing where they are off: without WW_RECORD a kernel's PTX is what it is without the hooks.

The hooks are single lines of the machine's words that name record::. They are taken out of a copy of the headers, and a
dense and a skinny instance are compiled with both.

exit status: 0 equal, 1 not equal, 77 nvcc is not here
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import prove  # noqa: E402

FLAGS = ["-std=c++20", "--expt-relaxed-constexpr", "-gencode", "arch=compute_90a,code=sm_90a"]
HOOK = re.compile(r"^ *(\[\[maybe_unused\]\] const )?record::\w+( \w+)?\(.*\);$")
KERNELS = {
    "dense/dense_gemm": "DenseGemm<warpwright::DenseGemmConfig{.tile_m = 128, .tile_n = 256, .stages = 4, .cluster = 2}>",
    "skinny/skinny_gemm": "SkinnyGemm<warpwright::deepest(warpwright::SkinnyGemmConfig{.rows = 64, .tokens = 16, .split = 2})>",
}
SOURCE = """{define}
#include "warpwright/kernel/entry.h"
#include "warpwright/kernel/sm90/{header}.h"
using Kernel = warpwright::kernel::sm90::{kernel};
template __global__ void warpwright::entry<Kernel>(const __grid_constant__ Kernel::Args{more});
"""


def without_hooks(folder):
    """A copy of the headers without the lines that record, and how many there were."""
    copy = Path(folder) / "include"
    shutil.copytree(ROOT / "include", copy)
    removed = 0
    for header in (copy / "warpwright/machine/cuda").glob("*.h"):
        if header.name == "record.h":
            continue
        lines = header.read_text().splitlines()
        kept = [line for line in lines if not HOOK.match(line)]
        removed += len(lines) - len(kept)
        header.write_text("\n".join(kept) + "\n")
    return copy, removed


def ptx(nvcc, folder, include, header, kernel, recorded=False):
    source, output = Path(folder) / "kernel.cu", Path(folder) / "kernel.ptx"
    source.write_text(SOURCE.format(define="#define WW_RECORD" if recorded else "", header=header, kernel=kernel,
                                    more=", const __grid_constant__ warpwright::record::Buffers" if recorded else ""))
    subprocess.run([nvcc, *FLAGS, "-I", str(include), "-ptx", "-o", str(output), str(source)], check=True)
    return output.read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default="nvcc")
    nvcc = prove.find_nvcc(parser.parse_args().nvcc)
    if not nvcc:
        print("skipped: nvcc was not found")
        return 77
    failed = 0

    def expect(what, good):
        nonlocal failed
        print(f"{'ok  ' if good else 'FAIL'} {what}")
        failed += not good

    with tempfile.TemporaryDirectory() as folder:
        bare, removed = without_hooks(folder)
        expect(f"{removed} hooks stand in the words", removed >= 20)
        for header, kernel in KERNELS.items():
            off = ptx(nvcc, folder, ROOT / "include", header, kernel)
            expect(f"{header}: {len(off.splitlines())} lines of PTX are those without the hooks",
                   off == ptx(nvcc, folder, bare, header, kernel))
            expect(f"{header}: reads no clock", "%clock" not in off and "%globaltimer" not in off)
        on = ptx(nvcc, folder, ROOT / "include", header, kernel, recorded=True)
        expect("with WW_RECORD it reads the clock, in a world of its own",
               on.count("%clock") > 20 and "13cuda_recorded" in on and "13cuda_recorded" not in off)
    print("failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
