#!/usr/bin/env python3
"""Compiles the Blackwell GEMMs for sm_100a and checks what comes out: registers, spills, the tcgen05 instructions.

Nothing here is run: this project has no Blackwell GPU. Exit 0: all passed, 1: some failed, 77: there is no nvcc.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LISTS = ROOT / "src/catalog"
SKIPPED = 77
# 192 threads leave 255 registers to each, 384 leave 168. The dense kernel needs far fewer; the blockwise one keeps 128 sums in them.
# Where a tile has several parts, the loads of what the others left are in flight together.
USUAL_REGISTERS = {"dense": 96, "blockwise": 240, "grouped": 128}
MOST_REGISTERS = {
    "sm100/dense-128x128-c1x1-s6-clc-splitk/bf16": 200,
    "sm100/dense-128x256-c2x1-s6-pair-streamk/bf16": 200,
    "sm100/dense-128x16-c1x1-s10-splitk-swap-early/bf16": 160,
    "sm100/dense-128x256-c2x1-s6-pair-o2/bf16": 168,
    "sm100/dense-128x128-c1x1-s4-o2-l1/bf16-c-bias-gelu-residual": 160,
    "sm100/dense-128x256-c2x1-s6-pair-o2/bf16-swiglu": 128,
    "sm100/dense-128x256-c2x1-s5-pair-e8-o2/bf16": 168,
    "sm100/dense-128x256-c2x1-s6-pair-o2/e4m3-to_e4m3-quantize": 176,
    "sm100/blockwise-n128-s5-pair-e8-o2/e4m3": 168,
    "sm100/grouped-n128-s6-pair/e4m3-mxfp8-swiglu_to_mxfp8": 160,
    "sm100/grouped-n16-s8-swap/e4m3-mxfp8-swiglu_to_mxfp8": 168,
    "sm100/blockwise-n128-s6/e4m3-alpha-grouped": 255,
    "sm100/blockwise-n128-s6-splitk/e4m3-alpha-grouped": 255,
}
# Bytes that are spilled, at most. 384 threads of 168 registers each keep 128 sums, their scales and those of the row ahead.
MOST_SPILLED = {"sm100/blockwise-n256-s4-e8/e4m3-to_e4m3-alpha-swiglu-grouped-gathered": 120}
PAIR = ["tcgen05.alloc.cta_group::2", "tcgen05.dealloc.cta_group::2", "tcgen05.relinquish_alloc_permit.cta_group::2",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster",
        ".mbarrier::complete_tx::bytes", ".cta_group::2", "barrier.cluster.arrive", "mapa"]
SINGLE = ["tcgen05.alloc.cta_group::1", "tcgen05.dealloc.cta_group::1", "tcgen05.relinquish_alloc_permit.cta_group::1",
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64", "!multicast::cluster",
          "!cta_group::2", "!barrier.cluster"]
ALL = ["tcgen05.wait::ld.sync.aligned", "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync",
       "mbarrier.arrive.expect_tx"]
WIDE = ["tcgen05.ld.sync.aligned.32x32b.x32.b32", "st.global.v4"]
FLAT = WIDE + ["cp.async.bulk.tensor.2d", "!cp.async.bulk.tensor.3d"]
ONE_PART = ["!ld.acquire.gpu", "!griddepcontrol"]
# The parts of a tile meet in a workspace.
PARTS = ["atom.release.gpu.global.add.u32", "ld.acquire.gpu.global.b32", "ld.global.v4"]
EARLY = ["griddepcontrol.wait", "griddepcontrol.launch_dependents"]
GATHER = "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4"
CLC = ["clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "fence.proxy.async"]
# Results leave through shared memory.
TMA_STORE = ["cp.async.bulk.tensor.2d.global.shared::cta", "cp.async.bulk.commit_group",
             "cp.async.bulk.wait_group.read", "st.shared::cta.v4", "fence.proxy.async.shared::cta", "!st.global"]
# Scale factors come as tiles of their own and go to tensor memory.
SCALED = WIDE + ["cp.async.bulk.tensor.2d", "cp.async.bulk.tensor.3d", "tcgen05.cp.cta_group::2.32x128b.warpx4"]
# A warp walks the table of groups; factors of few columns go to tensor memory by warps of their own.
GROUPED = ["cp.async.bulk.tensor.2d", "cp.async.bulk.tensor.3d", "shfl.sync", "vote.sync.ballot"]
SFB = ["tcgen05.cp.cta_group::1.32x128b.warpx4", "tcgen05.st.sync.aligned.32x32b.x1.b32",
       "tcgen05.wait::st.sync.aligned"]
# instance, kind and number of the MMAs of one stage, what its PTX contains (with a leading `!`: does not)
# Threads of a CTA read scales that the pair's leader has passed on.
# Two waits of the pair's allocation, and those for a stage and for an accumulator.
ACQUIRED_BY_PAIR = ["4 x mbarrier.try_wait.parity.acquire.cluster"]
INSTANCES = [
    ("sm100/dense-128x128-c4x2-s6-pair/bf16", ("f16", 4), FLAT + ONE_PART + PAIR + [
        "shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2"]),
    ("sm100/dense-128x256-c2x1-s6-pair/bf16", ("f16", 4), FLAT + ONE_PART + PAIR + ["!complete_tx::bytes.multicast::cluster"]),
    ("sm100/dense-128x128-c1x1-s6/bf16", ("f16", 4), FLAT + ONE_PART + SINGLE),
    ("sm100/dense-64x64-c1x1-s8/bf16", ("f16", 4), FLAT + ONE_PART + SINGLE),
    ("sm100/dense-128x128-c1x1-s6/fp16", ("f16", 4), FLAT + ONE_PART + SINGLE),
    ("sm100/dense-128x256-c2x1-s6-pair/e4m3", ("f8f6f4", 4), FLAT + ONE_PART + PAIR),
    ("sm100/dense-128x128-c1x1-s6/tf32", ("tf32", 4), FLAT + ONE_PART + SINGLE),
    ("sm100/dense-128x256-c2x1-s6-pair-clc/bf16", ("f16", 4), FLAT + ONE_PART + PAIR + CLC + [
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128"]),
    ("sm100/dense-128x128-c1x1-s6-hilbert/bf16-batched", ("f16", 4), WIDE + ONE_PART + SINGLE + [
        "cp.async.bulk.tensor.3d", "!cp.async.bulk.tensor.2d"]),
    ("sm100/dense-128x128-c1x1-s6-clc-splitk/bf16", ("f16", 4), FLAT + PARTS + SINGLE + CLC + [
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"]),
    ("sm100/dense-128x256-c2x1-s6-pair-streamk/bf16", ("f16", 4), FLAT + PARTS + PAIR + ["!clusterlaunchcontrol"]),
    ("sm100/dense-128x16-c1x1-s10-splitk-swap-early/bf16", ("f16", 4), PARTS + SINGLE + [
        "tcgen05.ld.sync.aligned.32x32b.x16.b32", "griddepcontrol.wait", "griddepcontrol.launch_dependents"]),
    ("sm100/dense-128x256-c2x1-s6-pair-o2/bf16", ("f16", 4), ONE_PART + PAIR + TMA_STORE + [
        "tcgen05.ld.sync.aligned.32x32b.x64.b32"]),
    ("sm100/dense-128x128-c1x1-s4-o2-l1/bf16-c-bias-gelu-residual", ("f16", 4), ONE_PART + SINGLE + TMA_STORE + [
        "ld.shared::cta.v4", "!ld.global.u16", "!ld.global.b16"]),
    ("sm100/dense-128x256-c2x1-s6-pair-o2/bf16-swiglu", ("f16", 4), ONE_PART + PAIR + TMA_STORE + ["rcp.rn.f32"]),
    ("sm100/dense-128x256-c2x1-s5-pair-e8-o2/bf16", ("f16", 4), ONE_PART + PAIR + TMA_STORE),
    ("sm100/dense-128x256-c2x1-s6-pair-o2/e4m3-to_e4m3-quantize", ("f8f6f4", 4), ONE_PART + PAIR + TMA_STORE + ["cvt.rn.satfinite.e4m3x2.f32"]),
    ("sm100/dense-128x128-c2x1-s6-pair/e4m3-mxfp8", ("mxf8f6f4", 4), SCALED + ONE_PART + PAIR),
    ("sm100/dense-128x256-c2x1-s5-pair-a1/e2m1-mxfp4", ("mxf4", 4), SCALED + ONE_PART + PAIR),
    ("sm100/dense-128x128-c2x1-s6-pair/e2m1-nvfp4", ("mxf4nvf4", 4), SCALED + ONE_PART + PAIR),
    ("sm100/dense-128x128-c2x1-s6-pair/e4m3-w4a8", ("mxf8f6f4", 4), SCALED + ONE_PART + PAIR),
    ("sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8", ("mxf8f6f4", 4), GROUPED + ["tcgen05.cp.cta_group::2.32x128b.warpx4"] + PAIR),
    ("sm100/grouped-n128-s5-pair-e8/e4m3-mxfp8", ("mxf8f6f4", 4),
     GROUPED + ["tcgen05.cp.cta_group::2.32x128b.warpx4"] + PAIR),
    ("sm100/grouped-n32-s8-swap-e8/e4m3-mxfp8", ("mxf8f6f4", 4), GROUPED + SFB + SINGLE),
    ("sm100/grouped-n8-s8-swap/e2m1-nvfp4", ("mxf4nvf4", 4), GROUPED + SFB + SINGLE),
    ("sm100/grouped-n32-s8-swap/e4m3-w4a8", ("mxf8f6f4", 4), GROUPED + SFB + SINGLE),
    ("sm100/grouped-n128-s6-pair/e4m3-mxfp8-swiglu_to_mxfp8", ("mxf8f6f4", 4), GROUPED + PAIR + [
        "cvt.rn.satfinite.e4m3x2.f32", "rcp.rn.f32", "st.global.v4"]),
    ("sm100/grouped-n128-s4/e2m1-nvfp4-swiglu_to_nvfp4-clamped", ("mxf4nvf4", 4), GROUPED + SINGLE + [
        "cvt.rn.satfinite.e2m1x2.f32", "cvt.rn.satfinite.e4m3x2.f32"]),
    ("sm100/grouped-n16-s8-swap/e4m3-mxfp8-swiglu_to_mxfp8", ("mxf8f6f4", 4), GROUPED + SFB + SINGLE + [
        "cvt.rn.satfinite.e4m3x2.f32", "shfl.sync.bfly"]),
    ("sm100/grouped-n128-s6-pair-swap/e4m3-mxfp8-pointers", ("mxf8f6f4", 4), GROUPED + PAIR + [
        "fence.proxy.tensormap::generic.acquire.gpu"]),
    ("sm100/grouped-n128-s5/e2m1-mxfp4", ("mxf4", 4), GROUPED + ["tcgen05.cp.cta_group::1.32x128b.warpx4"] + SINGLE),
    ("sm100/blockwise-n128-s5-pair-e8-o2/e4m3", ("f8f6f4", 4), PAIR + TMA_STORE + ACQUIRED_BY_PAIR),
    ("sm100/blockwise-n128-s6/e4m3-alpha-grouped", ("f8f6f4", 4), FLAT + SINGLE + ["fence.proxy.async", "vote.sync.ballot"]),
    ("sm100/blockwise-n128-s6-pair/e4m3", ("f8f6f4", 4), FLAT + PAIR + ["fence.proxy.async"] + ACQUIRED_BY_PAIR),
    ("sm100/blockwise-n128-s6/e4m3", ("f8f6f4", 4),
     FLAT + SINGLE + ["fence.proxy.async", "!mbarrier.try_wait.parity.acquire.cluster"]),
    ("sm100/blockwise-n128-s6-splitk/e4m3", ("f8f6f4", 4), FLAT + SINGLE + ["fence.proxy.async"]),
    ("sm100/blockwise-n128-s6-splitk/e4m3-alpha-grouped", ("f8f6f4", 4), FLAT + SINGLE + ["fence.proxy.async"]),
    ("sm100/blockwise-n128-s6/e4m3-to_fp32-alpha-c_fp32-grouped-along_k", ("f8f6f4", 4), FLAT + SINGLE),
    ("sm100/grouped-n128-s6/bf16-to_fp32-along_k", ("f16", 4), ["fence.proxy.async", "!tcgen05.cp"] + SINGLE),
    ("sm100/grouped-n256-s4/bf16-to_fp32-c_fp32-along_k", ("f16", 4), ["fence.proxy.async", "!tcgen05.cp"] + SINGLE),
    ("sm100/grouped-n256-s4/bf16-to_fp32-tn-c_fp32-along_k", ("f16", 4), ["fence.proxy.async", "!tcgen05.cp"] + SINGLE),
    ("sm100/grouped-n16-s8-swap/bf16", ("f16", 4), ["vote.sync.ballot", "!tcgen05.cp"] + SINGLE),
    ("sm100/grouped-n128-s6/bf16-swiglu-gathered", ("f16", 4), ["vote.sync.ballot", GATHER] + SINGLE),
    ("sm100/grouped-n32-s8-swap-early/e4m3-mxfp8", ("mxf8f6f4", 4), GROUPED + SFB + SINGLE + EARLY),
    ("sm100/blockwise-n128-s4-e8-o2-early/e4m3", ("f8f6f4", 4), SINGLE + TMA_STORE + EARLY),
    ("sm100/blockwise-n256-s4-e8/e4m3-to_e4m3-alpha-swiglu-grouped-gathered", ("f8f6f4", 4), [
        GATHER, "vote.sync.ballot", "cvt.rn.satfinite.e4m3x2.f32", "st.global.v4"] + SINGLE),
]


def find_nvcc(given):
    for candidate in (given, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if candidate and pathlib.Path(candidate).exists():
            return candidate
    return None


def listed():
    """The Blackwell products of the catalogue."""
    names = [name for path in LISTS.glob("sm100_*.def") for name in re.findall(r'^[A-Z_]+\("([^"]+)"\)$',
                                                                              path.read_text(), flags=re.M)]
    return {name for name in names if name.split("/")[1].split("-")[0] in USUAL_REGISTERS}


def problems(launcher, nvcc, folder, name, mma, expected):
    """Yields a sentence for each thing that is not as it should be."""
    ptx = folder / f"{name}.ptx"
    # The folder is another each time; the compiler cache knows the names in it.
    command = [*launcher, nvcc, "-c", "-std=c++20", "--expt-relaxed-constexpr", f"-I{ROOT / 'include'}",
               f"-I{ROOT / 'src'}", "-ptx", "-arch=compute_100a", f"{name}.cu", "-o", f"{name}.ptx"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if run.returncode:
        yield "does not compile: " + run.stderr[:600]
        return
    ptxas = subprocess.run([str(pathlib.Path(nvcc).parent / "ptxas"), "-v", "-arch=sm_100a", str(ptx), "-o",
                            str(folder / f"{name}.cubin")], capture_output=True, text=True, check=False)
    text = ptxas.stdout + ptxas.stderr
    if ptxas.returncode:
        yield "ptxas refuses it: " + text[:600]
        return
    spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", text)
    if len(spills) != 1 or max(map(int, spills[0])) > MOST_SPILLED.get(name, 0):
        yield f"stack or spills: {spills}"
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", text)]
    most = MOST_REGISTERS.get(name, USUAL_REGISTERS[name.split("/")[1].split("-")[0]])
    if len(registers) != 1 or registers[0] > most:
        yield f"registers: {registers}, at most {most} are expected"
    assembly = ptx.read_text()
    for wanted in ALL + expected:
        times = re.fullmatch(r"(\d+) x (.+)", wanted)
        if times:
            if assembly.count(times[2]) < int(times[1]):
                yield f"the PTX has {times[2]} {assembly.count(times[2])} times, {times[1]} are expected"
        elif wanted.startswith("!") == (wanted.lstrip("!") in assembly):
            yield f"the PTX {'contains' if wanted.startswith('!') else 'has no'} {wanted.lstrip('!')}"
    kind, count = mma
    group = 2 if "tcgen05.alloc.cta_group::2" in expected else 1
    found = len(re.findall(rf"tcgen05\.mma\.cta_group::{group}\.kind::{kind}\b", assembly))
    # The compiler may unroll the loop over stages; it never issues a part of one.
    if found == 0 or found % count or len(re.findall(r"tcgen05\.mma\.", assembly)) != found:
        yield f"{found} MMAs of kind {kind}: a stage has {count}, and there is no other kind"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc")
    parser.add_argument("--launcher", help="a program that runs the compiler: the compiler cache")
    parser.add_argument("--sources", required=True, help="warpwright-sources, which writes the source of an instance")
    options = parser.parse_args()
    nvcc = find_nvcc(options.nvcc)
    if nvcc is None:
        print("nvcc was not found")
        return SKIPPED
    launcher = [options.launcher] if options.launcher else []
    names = [name for name, _, _ in INSTANCES]
    forgotten = listed() - set(names)
    passed, failed = 0, 0
    if forgotten:
        print(f"FAIL instances that no table names: {', '.join(sorted(forgotten))}")
        failed += 1
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.sources, folder, "cu", *names], check=True)
        for name, mma, expected in INSTANCES:
            found = list(problems(launcher, nvcc, pathlib.Path(folder), name, mma, expected))
            print(f"{'FAIL' if found else 'ok  '} {name}" + "".join(f"\n     {p}" for p in found))
            passed, failed = passed + (not found), failed + bool(found)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
