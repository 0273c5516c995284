#!/usr/bin/env python3
"""Checks that handles cost nothing: sass_ring_typed.cu must compile to the machine code of sass_ring_raw.cu.

usage: sass_equal.py [--nvcc NVCC] [-I DIR ...]

exit status: 0 equal, 1 not equal, 77 nvcc is not here
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import prove  # noqa: E402
import sass_compare  # noqa: E402

FLAGS = ["-std=c++20", "--expt-relaxed-constexpr", "-gencode", "arch=compute_90a,code=sm_90a", "-Werror",
         "all-warnings", "-I", str(ROOT / "include")]
# What each kernel must reach. A movable handle may cost another choice of registers, never another instruction.
REQUIRED = {
    "scoped": (sass_compare.IDENTICAL,),
    "overlapped": (sass_compare.IDENTICAL,),
    "flat": (sass_compare.IDENTICAL, sass_compare.SAME_OPCODES),
}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0],
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("-I", dest="includes", action="append", default=[])
    options = parser.parse_args()
    nvcc = prove.find_nvcc(options.nvcc)
    if not nvcc:
        print(f"skipped: {options.nvcc} was not found")
        return 77

    code, mix = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for form in ("raw", "typed"):
            for kind in ("cubin", "ptx"):
                output = str(Path(folder) / f"{form}.{kind}")
                includes = [flag for directory in options.includes for flag in ("-I", directory)]
                subprocess.run([nvcc, *FLAGS, *includes, f"-{kind}", "-o", output, str(HERE / f"sass_ring_{form}.cu")],
                               check=True)
            code[form] = sass_compare.text_sections(Path(folder) / f"{form}.cubin")
            mix[form] = sass_compare.ptx_histograms(Path(folder) / f"{form}.ptx")

    failed = 0
    for kernel, allowed in REQUIRED.items():
        raw, typed = code["raw"].get(kernel), code["typed"].get(kernel)
        verdict = sass_compare.compare(raw, typed)
        same_mix = kernel in mix["raw"] and mix["raw"].get(kernel) == mix["typed"].get(kernel)
        good = verdict in allowed and same_mix
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {kernel}: SASS {verdict}, "
              f"{len(raw or b'')} and {len(typed or b'')} bytes; PTX histogram {'equal' if same_mix else 'differs'}")
    print(f"{len(REQUIRED) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
