#!/usr/bin/env python3
"""Compiles the Blackwell GEMMs for sm_100a and checks what comes out: registers, no spills, the tcgen05 instructions.

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
FOLDER = ROOT / "src/device/sm100"
SKIPPED = 77
# 192 threads leave 255 registers to each, 384 leave 168. The dense kernel needs far fewer; the blockwise one keeps 128 sums in them.
# Where a tile has several parts, the loads of what the others left are in flight together.
MOST_REGISTERS = {"dense_gemm": 96, "blockwise_fp8": 240, "dense_gemm_bf16_split_k": 200, "dense_gemm_bf16_stream_k": 200,
                  "dense_gemm_bf16_swapped": 160, "dense_gemm_bf16_tma_store": 168, "dense_gemm_bf16_residual": 160,
                  "dense_gemm_bf16_swiglu": 128, "dense_gemm_bf16_8_epilogue_warps": 168,
                  "dense_gemm_e4m3_quantized": 176, "blockwise_fp8_8_epilogue_warps": 168, "grouped_gemm": 128,
                  "grouped_gemm_mxfp8_swiglu": 160, "grouped_gemm_mxfp8_16_tokens_swiglu": 168,
                  "blockwise_fp8_grouped": 255}
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
# kernel, instance, kind and number of the MMAs of one stage, what its PTX contains (with a leading `!`: does not)
INSTANCES = [
    ("dense_gemm", "bf16_cluster4x2", ("f16", 4), FLAT + ONE_PART + PAIR + [
        "shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2"]),
    ("dense_gemm", "bf16_pair", ("f16", 4), FLAT + ONE_PART + PAIR + ["!complete_tx::bytes.multicast::cluster"]),
    ("dense_gemm", "bf16_128x128", ("f16", 4), FLAT + ONE_PART + SINGLE),
    ("dense_gemm", "bf16_64x64", ("f16", 4), FLAT + ONE_PART + SINGLE),
    ("dense_gemm", "fp16_128x128", ("f16", 4), FLAT + ONE_PART + SINGLE),
    ("dense_gemm", "e4m3_pair", ("f8f6f4", 4), FLAT + ONE_PART + PAIR),
    ("dense_gemm", "tf32_128x128", ("tf32", 4), FLAT + ONE_PART + SINGLE),
    ("dense_gemm", "bf16_clc", ("f16", 4), FLAT + ONE_PART + PAIR + CLC + [
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128"]),
    ("dense_gemm", "bf16_batched", ("f16", 4), WIDE + ONE_PART + SINGLE + [
        "cp.async.bulk.tensor.3d", "!cp.async.bulk.tensor.2d"]),
    ("dense_gemm", "bf16_split_k", ("f16", 4), FLAT + PARTS + SINGLE + CLC + [
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"]),
    ("dense_gemm", "bf16_stream_k", ("f16", 4), FLAT + PARTS + PAIR + ["!clusterlaunchcontrol"]),
    ("dense_gemm", "bf16_swapped", ("f16", 4), PARTS + SINGLE + [
        "tcgen05.ld.sync.aligned.32x32b.x16.b32", "griddepcontrol.wait", "griddepcontrol.launch_dependents"]),
    ("dense_gemm", "bf16_tma_store", ("f16", 4), ONE_PART + PAIR + TMA_STORE + [
        "tcgen05.ld.sync.aligned.32x32b.x64.b32"]),
    ("dense_gemm", "bf16_residual", ("f16", 4), ONE_PART + SINGLE + TMA_STORE + [
        "ld.shared::cta.v4", "!ld.global.u16", "!ld.global.b16"]),
    ("dense_gemm", "bf16_swiglu", ("f16", 4), ONE_PART + PAIR + TMA_STORE + ["rcp.rn.f32"]),
    ("dense_gemm", "bf16_8_epilogue_warps", ("f16", 4), ONE_PART + PAIR + TMA_STORE),
    ("dense_gemm", "e4m3_quantized", ("f8f6f4", 4), ONE_PART + PAIR + TMA_STORE + ["cvt.rn.satfinite.e4m3x2.f32"]),
    ("dense_gemm", "mxfp8_pair", ("mxf8f6f4", 4), SCALED + ONE_PART + PAIR),
    ("dense_gemm", "mxfp4_pair", ("mxf4", 4), SCALED + ONE_PART + PAIR),
    ("dense_gemm", "nvfp4_pair", ("mxf4nvf4", 4), SCALED + ONE_PART + PAIR),
    ("dense_gemm", "w4a8_pair", ("mxf8f6f4", 4), SCALED + ONE_PART + PAIR),
    ("grouped_gemm", "mxfp8_pair", ("mxf8f6f4", 4), GROUPED + ["tcgen05.cp.cta_group::2.32x128b.warpx4"] + PAIR),
    ("grouped_gemm", "nvfp4_8_tokens", ("mxf4nvf4", 4), GROUPED + SFB + SINGLE),
    ("grouped_gemm", "w4a8_32_tokens", ("mxf8f6f4", 4), GROUPED + SFB + SINGLE),
    ("grouped_gemm", "mxfp8_swiglu", ("mxf8f6f4", 4), GROUPED + PAIR + [
        "cvt.rn.satfinite.e4m3x2.f32", "rcp.rn.f32", "st.global.v4"]),
    ("grouped_gemm", "nvfp4_swiglu", ("mxf4nvf4", 4), GROUPED + SINGLE + [
        "cvt.rn.satfinite.e2m1x2.f32", "cvt.rn.satfinite.e4m3x2.f32"]),
    ("grouped_gemm", "mxfp8_16_tokens_swiglu", ("mxf8f6f4", 4), GROUPED + SFB + SINGLE + [
        "cvt.rn.satfinite.e4m3x2.f32", "shfl.sync.bfly"]),
    ("grouped_gemm", "mxfp8_pointers", ("mxf8f6f4", 4), GROUPED + PAIR + [
        "fence.proxy.tensormap::generic.acquire.gpu"]),
    ("grouped_gemm", "mxfp4_rows", ("mxf4", 4), GROUPED + ["tcgen05.cp.cta_group::1.32x128b.warpx4"] + SINGLE),
    ("blockwise_fp8", "8_epilogue_warps", ("f8f6f4", 4), PAIR + TMA_STORE),
    ("blockwise_fp8", "grouped", ("f8f6f4", 4), FLAT + SINGLE + ["fence.proxy.async", "vote.sync.ballot"]),
    ("blockwise_fp8", "pair", ("f8f6f4", 4), FLAT + PAIR + ["fence.proxy.async"]),
    ("blockwise_fp8", "128x128", ("f8f6f4", 4), FLAT + SINGLE + ["fence.proxy.async"]),
]


def find_nvcc(given):
    for candidate in (given, shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if candidate and pathlib.Path(candidate).exists():
            return candidate
    return None


def problems(nvcc, folder, kernel, name, mma, expected):
    """Yields a sentence for each thing that is not as it should be."""
    ptx = folder / f"{name}.ptx"
    common = [nvcc, "-std=c++20", "--expt-relaxed-constexpr", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
    run = subprocess.run(common + ["-ptx", "-arch=compute_100a", str(FOLDER / f"{kernel}_{name}.cu"), "-o", str(ptx)],
                         capture_output=True, text=True, check=False)
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
    if spills != [("0", "0", "0")]:
        yield f"stack or spills: {spills}"
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", text)]
    most = MOST_REGISTERS.get(f"{kernel}_{name}", MOST_REGISTERS[kernel])
    if len(registers) != 1 or registers[0] > most:
        yield f"registers: {registers}, at most {most} are expected"
    assembly = ptx.read_text()
    for wanted in ALL + expected:
        if wanted.startswith("!") == (wanted.lstrip("!") in assembly):
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
    nvcc = find_nvcc(parser.parse_args().nvcc)
    if nvcc is None:
        print("nvcc was not found")
        return SKIPPED
    tested = {f"{kernel}_{name}.cu" for kernel, name, _, _ in INSTANCES}
    kernels = sorted({kernel for kernel, _, _, _ in INSTANCES})
    forgotten = {p.name for kernel in kernels for p in FOLDER.glob(f"{kernel}_*.cu")} - tested
    passed, failed = 0, 0
    if forgotten:
        print(f"FAIL instances that no table names: {', '.join(sorted(forgotten))}")
        failed += 1
    with tempfile.TemporaryDirectory() as folder:
        for kernel, name, mma, expected in INSTANCES:
            found = list(problems(nvcc, pathlib.Path(folder), kernel, name, mma, expected))
            print(f"{'FAIL' if found else 'ok  '} {kernel} {name}" + "".join(f"\n     {p}" for p in found))
            passed, failed = passed + (not found), failed + bool(found)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
