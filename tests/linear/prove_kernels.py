#!/usr/bin/env python3
"""The proving build over the kernels that ship: no path of any leaks a handle, releases it twice or uses it afterwards.

usage: prove_kernels.py SOURCES_PROGRAM [--compiler CXX] [--arch ARCH] [--all] [--plant N] [--jobs N]

Without --all one instance of each family and form of the catalogue, with it every one that is compiled ahead. --plant N
plants N leaks, of twelve, each on one path of a kernel, and expects each to be refused: by the proof where handles are
flat, by the types where they are scoped. SOURCES_PROGRAM is bin/warpwright-sources. The flags are those of
tools/prove.py --kernel."""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import prove  # noqa: E402

SKIPPED = 77
# What of a name decides which code a kernel consists of, beside its family.
FORMS = ["clc", "splitk", "streamk", "pingpong", "swap", "by_threads", "stored_by_threads", "along_k", "swiglu",
         "batched", "promoted", "grouped", "pointers", "contiguous", "gathered"]
# Kernels without a handle: their waves and warps are ordered by schedules, which are proven elsewhere.
WITHOUT_HANDLES = ("sm80/", "gfx", "sm90/pack_rows", "sm90/route", "sm90/combine", "sm100/route", "sm100/combine")


def instances(everything):
    names, seen = [], set()
    for file in sorted((ROOT / "src" / "catalog").glob("*.def")):
        for word, name in re.findall(r'^(\w+)\("([^"]+)"\)', file.read_text(), flags=re.M):
            if name.startswith(WITHOUT_HANDLES) or word == "CODE_OBJECT":
                continue
            arch, plan, features = name.split("/")
            words = re.split(r"[-/]", f"{plan}-{features}")
            form = frozenset(f for f in FORMS if any(w == f or w.startswith(f + "_") or w == f"{f}2" for w in words))
            moved = any(re.fullmatch(r"l\d+", w) for w in words)
            small = arch == "sm100" and any(re.fullmatch(r"n(8|16|32)", w) for w in words)
            key = (arch, words[0], form, moved, small)
            covers = word in ("COVER", "BUILT_IN")
            if everything or (covers and key not in seen):
                names.append(name)
            if covers:
                seen.add(key)
    return names


TMEM, BLOCKWISE = "kernel/demo/tmem_lifecycle.h", "kernel/sm100/blockwise/blockwise_fp8.h"
SKINNY, DENSE, GROUPED = ("kernel/sm90/skinny/skinny_blockwise.h", "kernel/sm100/dense/dense_multiply.h",
                          "kernel/sm100/grouped/grouped_gemm.h")
TYPES = "every path of the body must return"
# instance, header, what stands there, what is planted, what refuses it
PLANTS = [
    ("sm100/tmem_lifecycle-n128-s4/bf16", TMEM, "      stdx::move(sums).release();\n    }\n    stdx::move(mma)",
     "      if (depth != 3) stdx::move(sums).release();\n    }\n    stdx::move(mma)", "not_released"),
    ("sm100/tmem_lifecycle-n128-s4/bf16", TMEM, "    stdx::move(mma).release();",
     "    if (args.m > 0) stdx::move(mma).release();", "not_released"),
    ("sm100/tmem_lifecycle-n128-s4/bf16", TMEM, "      stdx::move(sums).release();\n    }\n    stdx::move(epilogue)",
     "      if (tile.n == 7) return;\n      stdx::move(sums).release();\n    }\n    stdx::move(epilogue)", "not_released"),
    ("sm100/tmem_lifecycle-n128-s4/bf16", TMEM, "      store_tile(args, tile, Tmem{sums->tmem_offset()}, warp_lanes);",
     "      if (args.n == 8) stdx::move(sums).release();\n"
     "      store_tile(args, tile, Tmem{sums->tmem_offset()}, warp_lanes);", "used_after_release"),
    ("sm100/blockwise-n128-s6-pair/e4m3", BLOCKWISE, "        stdx::move(product).release();",
     "        if (block + 1 < end_block(args, job) || args.n > 128) stdx::move(product).release();", "not_released"),
    ("sm100/blockwise-n128-s6-pair/e4m3", BLOCKWISE, "        stdx::move(stage).release();\n        stdx::move(product)",
     "        stdx::move(stage).release();\n        if (args.k == 640) stdx::move(stage).release();\n"
     "        stdx::move(product)", "released_twice"),
    ("sm100/blockwise-n128-s6-pair/e4m3", BLOCKWISE, "    stdx::move(mma).release();",
     "    if (self.elect_one_cta) stdx::move(mma).release();", "not_released"),
    ("sm100/blockwise-n128-s6-pair/e4m3", BLOCKWISE,
     "        if (self.elect_one_cta) stage->expect_tiles(C.cta_group);\n        const auto to = stage->tile();",
     "        if (row >= args.m) continue;\n        const auto to = stage->tile();", "not_released"),
    ("sm90/blockwise-64x8-split4-s20/e4m3", SKINNY, "        stdx::move(held).release();",
     "        if (depth != 3) stdx::move(held).release();", "not_released"),
    ("sm100/dense-128x256-c2x1-s6-pair/bf16", DENSE, "            return stdx::move(stage).release();",
     "            if (args.k == 64) return;\n            return stdx::move(stage).release();", TYPES),
    ("sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8", GROUPED, "          return stdx::move(sums).release();",
     "          static_cast<void>(sums);", TYPES),
    ("sm90/cluster_ring-32x64-c2-s4/fp32", "kernel/demo/cluster_ring.h", "        return stdx::move(stage).release();",
     "        if (stage->index() == 1) return stage;\n        return stdx::move(stage).release();", "cluster_ring.h"),
]


class Prover:
    def __init__(self, sources, compiler):
        self.sources, self.compiler, self.kind = sources, compiler, prove.family(compiler)

    def verdict(self, name, include):
        """The rules that may be broken, with their places, or the sentence of a program that does not compile."""
        arch = name.split("/")[0].removeprefix("sm")
        flags = [*prove.KERNEL_FLAGS[self.kind], f"-I{include}", f"-I{ROOT / 'src'}"]
        if self.kind == "nvcc":
            flags += ["-gencode", f"arch=compute_{arch}a,code=sm_{arch}a"]
        try:
            found = prove.prove(self.sources / f"{name}.cu", self.compiler, flags)
        except prove.CompileError as error:
            return ["does not compile"], str(error)
        return [v.rule for v in found], "\n".join(prove.describe(v, prove.LIBRARY) for v in found)


def planted(folder, header, old, new):
    include = folder / "include"
    shutil.copytree(ROOT / "include", include, symlinks=True)
    path = include / "warpwright" / header
    text = path.read_text()
    if old not in text:
        raise SystemExit(f"{header} has no '{old.strip()}': the plant must follow the kernel")
    path.write_text(text.replace(old, new, 1))
    return include


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--arch", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--plant", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    find = prove.find_nvcc if prove.family(options.compiler) == "nvcc" else shutil.which
    compiler = find(options.compiler)
    if not compiler:
        print(f"{options.compiler} is not installed")
        return SKIPPED
    names = [n for n in instances(options.all) if n.startswith(options.arch)] if not options.plant else []
    plants = PLANTS[::len(PLANTS) // options.plant][:options.plant] if options.plant else []
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        every = sorted({*names, *(p[0] for p in plants)})
        subprocess.run([options.program, folder / "sources", "cu", *every], check=True)
        prover = Prover(folder / "sources", compiler)

        def clean(name):
            begin = time.monotonic()
            rules, text = prover.verdict(name, ROOT / "include")
            return not rules, f"{name} ({time.monotonic() - begin:.1f} s)", text

        def refused(numbered):
            number, (name, header, old, new, want) = numbered
            include = planted(folder / f"plant{number}", header, old, new)
            rules, text = prover.verdict(name, include)
            return want in rules or (rules == ["does not compile"] and want in text), f"{number}: {want} in {name}", \
                text or "nothing was found"

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for good, what, text in [*pool.map(clean, names), *pool.map(refused, enumerate(plants))]:
                print(f"{'ok  ' if good else 'FAIL'} {what}" + ("" if good else f"\n{text[:3000]}"))
                failed += not good
    print(f"{len(names)} instances proven and {len(plants)} leaks refused by {options.compiler}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
