#!/usr/bin/env python3
"""The shipped ring kernel costs nothing: ring_typed.cu must compile to the machine code of the hand-written ring_raw.cu.

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

FLAGS = ["-std=c++20", "--expt-relaxed-constexpr", "-gencode", "arch=compute_90a,code=sm_90a", "-I", str(ROOT / "include")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvcc", default="nvcc")
    nvcc = prove.find_nvcc(parser.parse_args().nvcc)
    if not nvcc:
        print("skipped: nvcc was not found")
        return 77
    code, mix = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for form in ("raw", "typed"):
            for kind in ("cubin", "ptx"):
                output = str(Path(folder) / f"{form}.{kind}")
                subprocess.run([nvcc, *FLAGS, f"-{kind}", "-o", output, str(HERE / f"ring_{form}.cu")], check=True)
            code[form] = sass_compare.text_sections(Path(folder) / f"{form}.cubin")["ring"]
            mix[form] = sass_compare.ptx_histograms(Path(folder) / f"{form}.ptx")["ring"]
    verdict = sass_compare.compare(code["raw"], code["typed"])
    same = mix["raw"] == mix["typed"]
    print(f"ring: {len(code['raw']) // 16} instructions by hand, {len(code['typed']) // 16} through the handles: {verdict}; "
          f"PTX histograms {'equal' if same else 'differ'}")
    if not same:
        for name in sorted(set(mix["raw"]) | set(mix["typed"])):
            if mix["raw"].get(name, 0) != mix["typed"].get(name, 0):
                print(f"  {name}: {mix['raw'].get(name, 0)} by hand, {mix['typed'].get(name, 0)} through the handles")
    good = same and verdict in (sass_compare.IDENTICAL, sass_compare.SAME_OPCODES)
    print(f"{int(good)} passed, {int(not good)} failed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
