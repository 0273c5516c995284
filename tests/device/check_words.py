#!/usr/bin/env python3
"""Compiles the word kernels to PTX and checks that each word is the instruction it claims to be.

words_sm90.cu and words_sm100.cu hold one kernel per word; the tables below say what its PTX must contain (and, with a
leading `!`, must not). Both files also go through ptxas, and gemm_loop_sm90.cu must come out of it with its wgmmas
asynchronous and without spills. Exit 0: all passed, 1: some failed, 77: there is no nvcc.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
R = r"%\w+"  # a register
SKIPPED = 77


def lit(text):
    """A table entry to a regular expression: R is a register, spaces are flexible, the rest is literal."""
    parts = [re.escape(p) for p in re.split(r"\bR\b", text)]
    return R.join(parts).replace(r"\ ", r"\s+")


def coords(rank):
    return "{" + ", ".join(["R"] * rank) + "}"


def words_sm90():
    t = {
        "thread_index": "%tid.x", "block_threads": "%ntid.x", "block_index": ["%ctaid.x", "%ctaid.y"],
        "grid_size": ["%nctaid.x", "%nctaid.z"], "cluster_rank": "%cluster_ctarank;",
        "cluster_size": "%cluster_nctarank;", "cluster_index": "%clusterid.x;", "cluster_count": "%nclusterid.x;",
        "shared_base": "ww_dynamic_shared", "lane_index": ["%tid.x", "31;"], "warp_index": ["%tid.x", ", 5;"],
        "elect_one": "elect.sync _|is_elected, 0xffffffff;", "sync_warp": "bar.warp.sync",
        "ballot": "vote.sync.ballot.b32", "vote_any": "vote.sync.any.pred", "vote_all": "vote.sync.all.pred",
        "shuffle_up": "shfl.sync.up.b32", "shuffle_down": "shfl.sync.down.b32",
        "shuffle": "shfl.sync.idx.b32", "shuffle_xor": "shfl.sync.bfly.b32", "warp_uniform": "shfl.sync.idx.b32",
        "map_to_rank": "mapa.shared::cluster.u32 R, R, R;", "map_to_leader": ["and.b32 R, R, -16777217;", "!mapa"],
    }
    for n, narrow in ((1, "8"), (2, "16"), (4, "32")):
        # The compiler chooses the register class (u32 or f32) of a plain load or store.
        t[f"load_shared_{n}"] = [re.compile(rf"ld\.shared\.[ubf]{narrow}\s"), "!ld.u"]
        t[f"store_shared_{n}"] = [re.compile(rf"st\.shared\.[ubf]{narrow}\s"), "!st.u"]
    del t["store_shared_1"]
    t |= {
        "load_shared_8": "ld.shared::cta.v2.b32 {R, R}, [R];",
        "load_shared_16": "ld.shared::cta.v4.b32 {R, R, R, R}, [R];",
        "store_shared_16": "st.shared::cta.v4.b32 [R], {R, R, R, R};",
        "load_global_4": "ld.global.u32 R, [", "load_global_of_table": "ld.global.u32 R, [R];",
        "load_global_16": "ld.global.v4.b32 {R, R, R, R}, [R];",
        "store_global_4": re.compile(r"st\.global\.[ubf]32\s"),
        "store_global_16": "st.global.v4.b32 [R], {R, R, R, R};",
    }
    for n, kind in ((1, "u8"), (2, "b16"), (4, "b32"), (8, "b64")):
        t[f"load_acquire_{n}"] = f"ld.acquire.gpu.global.{kind} R, [R];"
        t[f"store_release_{n}"] = f"st.release.gpu.global.{kind} [R], R;"
        near = kind if n < 8 else "v2.b32"
        t[f"load_cluster_{n}"] = f"ld.shared::cluster.{near} " + ("R, [R];" if n < 8 else "{R, R}, [R];")
        t[f"store_cluster_{n}"] = f"st.shared::cluster.{near} [R], " + ("R;" if n < 8 else "{R, R};")
    t |= {
        "load_acquire_16": "ld.acquire.gpu.global.b128 q, [R];",
        "store_release_16": "st.release.gpu.global.b128 [R], q;",
        "load_cluster_16": "ld.shared::cluster.v4.b32 {R, R, R, R}, [R];",
        "store_cluster_16": "st.shared::cluster.v4.b32 [R], {R, R, R, R};",
        "atomic_add_u32": "atom.relaxed.gpu.global.add.u32 R, [R], R;",
        "atomic_add_s32": "atom.acquire.gpu.global.add.s32 R, [R], R;",
        "atomic_add_u64": "atom.release.gpu.global.add.u64 R, [R], R;",
        "atomic_add_f32": "atom.acq_rel.gpu.global.add.f32 R, [R], R;",
        "atomic_add_shared": "atom.relaxed.cta.shared::cta.add.u32 R, [R], R;",
        "atomic_add_shared_u64": "atom.acq_rel.cta.shared::cta.add.u64 R, [R], R;",
        "atomic_exchange": "atom.acquire.gpu.global.exch.b32 R, [R], R;",
        "atomic_exchange_64": "atom.relaxed.gpu.global.exch.b64 R, [R], R;",
        "atomic_compare_swap": "atom.acq_rel.gpu.global.cas.b32 R, [R], R, R;",
        "atomic_compare_swap_64": "atom.relaxed.gpu.global.cas.b64 R, [R], R, R;",
        "atomic_min": "atom.relaxed.gpu.global.min.s32 R, [R], R;",
        "atomic_min_shared": "atom.relaxed.cta.shared::cta.min.u32 R, [R], R;",
        "atomic_max": "atom.acquire.gpu.global.max.u32 R, [R], R;",
        "atomic_max_shared": "atom.relaxed.cta.shared::cta.max.u64 R, [R], R;",
        "atomic_and": "atom.release.gpu.global.and.b32 R, [R], R;",
        "atomic_and_shared": "atom.relaxed.cta.shared::cta.and.b32 R, [R], R;",
        "atomic_or": "atom.acq_rel.gpu.global.or.b64 R, [R], R;",
        "atomic_or_shared": "atom.relaxed.cta.shared::cta.or.b32 R, [R], R;",
        "atomic_xor": "atom.relaxed.gpu.global.xor.b32 R, [R], R;",
        "atomic_xor_shared": "atom.relaxed.cta.shared::cta.xor.b32 R, [R], R;",
        "reduce_add": "red.relaxed.gpu.global.add.f32 [R], R;",
        "reduce_add_64": "red.relaxed.gpu.global.add.u64 [R], R;",
        "mbarrier_init": "mbarrier.init.shared::cta.b64 [R], R;",
        "mbarrier_invalidate": "mbarrier.inval.shared::cta.b64 [R];",
        "mbarrier_arrive": ["mbarrier.arrive.shared::cta.b64 _, [R];", "!bra"],
        "mbarrier_arrive_count": ["mbarrier.arrive.shared::cta.b64 _, [R], R;", "!bra"],
        "mbarrier_arrive_relaxed": "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [R];",
        "mbarrier_arrive_expect_tx": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [R], R;",
        "mbarrier_expect_tx": "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [R], R;",
        "mbarrier_test_wait": "mbarrier.test_wait.parity.shared::cta.b64 complete, [R], R;",
        "mbarrier_try_wait": "mbarrier.try_wait.parity.shared::cta.b64 complete, [R], R;",
        "mbarrier_wait": ["mbarrier.try_wait.parity.shared::cta.b64 complete, [R], R, R;", "10000000;"],
        "mbarrier_wait_no_hint": "mbarrier.try_wait.parity.shared::cta.b64 complete, [R], R;",
        "mbarrier_wait_cluster": "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [R], R, R;",
        "mbarrier_wait_twice": re.compile(r"(?s)bra WAIT;.*bra WAIT;"),
        # The plain form on purpose: the explicit cluster release becomes a memory barrier through L2.
        "mbarrier_arrive_remote": ["mbarrier.arrive.shared::cluster.b64 _, [R];", "!release.cluster"],
        "mbarrier_arrive_remote_cluster": "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [R];",
        "mbarrier_arrive_remote_count": "mbarrier.arrive.shared::cluster.b64 _, [R], R;",
        "mbarrier_arrive_expect_tx_remote": "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [R], R;",
        "sync_block": "bar.sync 0;", "named_barrier_sync": re.compile(r"\bbarrier\.sync %\w+, %\w+;"),
        "named_barrier_arrive": re.compile(r"\bbarrier\.arrive %\w+, %\w+;"),
        "named_barrier_sync_aligned": re.compile(r"\bbar\.sync %\w+, %\w+;"),
        "cluster_arrive": "barrier.cluster.arrive.release;",
        "cluster_arrive_relaxed": "barrier.cluster.arrive.relaxed;",
        "cluster_wait": "barrier.cluster.wait.acquire;",
        "cluster_sync": re.compile(r"(?s)barrier\.cluster\.arrive\.release;.*barrier\.cluster\.wait\.acquire;"),
        "fence_mbarrier_init": "fence.mbarrier_init.release.cluster;", "fence_proxy_async": "fence.proxy.async;",
        "fence_proxy_async_shared_cta": "fence.proxy.async.shared::cta;",
        "fence_proxy_async_shared_cluster": "fence.proxy.async.shared::cluster;",
        "fence_proxy_async_global": "fence.proxy.async.global;",
        "fence": "fence.acq_rel.gpu;", "fence_cta": "fence.acq_rel.cta;", "fence_cluster": "fence.acq_rel.cluster;",
        "fence_sys": "fence.acq_rel.sys;", "fence_acquire": "fence.acquire.gpu;", "fence_release": "fence.release.gpu;",
        "fence_tensormap_release": "fence.proxy.tensormap::generic.release.gpu;",
        "fence_tensormap_acquire": "fence.proxy.tensormap::generic.acquire.gpu [R], 128;",
        "tma_prefetch_map": ["prefetch.tensormap [R];", "cvta.param"],
        "bulk_load": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [R], [R], R, [R];",
        "bulk_load_multicast":
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [R], [R], R, [R], R;",
        "bulk_store": "cp.async.bulk.global.shared::cta.bulk_group [R], [R], R;",
        "bulk_copy": "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [R], [R], R, [R];",
        "bulk_commit": "cp.async.bulk.commit_group;", "bulk_wait": "cp.async.bulk.wait_group 1;",
        "bulk_wait_read": "cp.async.bulk.wait_group.read 0;",
        "cp_async_16": "cp.async.cg.shared.global [R], [R], 16, R;",
        "cp_async_4": "cp.async.ca.shared.global [R], [R], 4, R;",
        "cp_async_zeros_4": "cp.async.ca.shared.global [R], [R], 4, R;",
        "cp_async_zeros_8": "cp.async.ca.shared.global [R], [R], 8, R;",
        "cp_async_commit": "cp.async.commit_group;", "cp_async_wait": "cp.async.wait_group 2;",
        "cp_async_mbarrier_arrive": "cp.async.mbarrier.arrive.shared::cta.b64 [R];",
        "cp_async_mbarrier_arrive_noinc": "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [R];",
        "registers_increase": "setmaxnreg.inc.sync.aligned.u32 240;",
        "registers_decrease": "setmaxnreg.dec.sync.aligned.u32 40;", "grid_dependency_wait": "griddepcontrol.wait;",
        "grid_dependency_launch": "griddepcontrol.launch_dependents;", "clock_cycles": "%clock64;",
        "global_timer_ns": "%globaltimer;", "trap": "trap;",
    }
    load = "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    for rank in range(1, 6):
        c = coords(rank)
        t |= {
            f"tma_load_{rank}d": f"{load.format(rank)} [R], [R, {c}], [R];",
            f"tma_load_multicast_{rank}d": f"{load.format(rank)}.multicast::cluster [R], [R, {c}], [R], R;",
            f"tma_store_{rank}d": f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [R, {c}], [R];",
            f"tma_reduce_add_{rank}d":
                f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.add.tile.bulk_group [R, {c}], [R];",
            f"tma_prefetch_{rank}d": f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile [R, {c}];",
        }
    first, last = str(0x12F0000000000000), str(0x14F0000000000000)
    t |= {
        "tma_load_evict_first": [f"{load.format(2)}.L2::cache_hint [R], [R, {coords(2)}], [R], R;", first],
        "tma_load_evict_last": [f"{load.format(3)}.L2::cache_hint [R], [R, {coords(3)}], [R], R;", last],
        "tma_load_multicast_evict_last":
            [f"{load.format(2)}.multicast::cluster.L2::cache_hint [R], [R, {coords(2)}], [R], R, R;", last],
    }
    for n in (1, 2, 4):
        regs = "{" + ", ".join(["R"] * n) + "}"
        t[f"ldmatrix_x{n}"] = f"ldmatrix.sync.aligned.m8n8.x{n}.shared::cta.b16 {regs}, [R];"
        t[f"stmatrix_x{n}"] = f"stmatrix.sync.aligned.m8n8.x{n}.shared::cta.b16 [R], {regs};"
    for kind, shape in (("f32.bf16.bf16.f32", "m16n8k16"), ("f32.f16.f16.f32", "m16n8k16"), ("f32.e4m3.e4m3.f32", "m16n8k32"),
                        ("f32.e5m2.e5m2.f32", "m16n8k32"), ("s32.s8.s8.s32", "m16n8k32")):
        word = {"f16": "fp16"}.get(kind.split(".")[1], kind.split(".")[1])
        t[f"mma_sync_{word}"] = f"mma.sync.aligned.{shape}.row.col.{kind} {{R, R, R, R}}, {{R, R, R, R}}, {{R, R}}, {{R, R, R, R}};"
    t["ldmatrix_x4_trans"] = "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {R, R, R, R}, [R];"
    t["stmatrix_x4_trans"] = "stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [R], {R, R, R, R};"
    return t | wgmma_words()


def wgmma_words():
    t = {}

    def add(form, name, n, kind, flags):
        d = "{" + ",".join(["R"] * (n // 2)) + "}"
        a = "R" if form == "ss" else "{R,R,R,R}"
        op = lit(f"wgmma.mma_async.sync.aligned.m64n{n}{kind} {d}, {a}, R, p, 1, 1{flags}").rstrip() + r"\s*;"
        t[f"wgmma_{form}_{name}"] = [re.compile(
            rf"(?s)wgmma\.fence\.sync\.aligned;.*{op}.*wgmma\.commit_group\.sync\.aligned;"
            r".*wgmma\.wait_group\.sync\.aligned 0;.*st\.global")]

    names = {"bf16": "bf16", "fp16": "f16", "e4m3": "e4m3", "e5m2": "e5m2"}
    for n in range(8, 257, 8):
        add("ss", f"n{n}", n, "k16.f32.bf16.bf16", ",0,0")
        add("rs", f"n{n}", n, "k16.f32.bf16.bf16", ",0")
    for n in (64, 128, 256):
        for a, b in (("fp16", "fp16"), ("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")):
            half = a == "fp16"
            kind = f"{'k16' if half else 'k32'}.f32.{names[a]}.{names[b]}"
            add("ss", f"n{n}_{a}_{b}", n, kind, ",0,0" if half else "")
            add("rs", f"n{n}_{a}_{b}", n, kind, ",0" if half else "")
        for a in ("bf16", "fp16"):
            kind = f"k16.f32.{names[a]}.{names[a]}"
            add("ss", f"n{n}_{a}_KMN", n, kind, ",0,1")
            add("ss", f"n{n}_{a}_MNK", n, kind, ",1,0")
            add("ss", f"n{n}_{a}_MNMN", n, kind, ",1,1")
            add("rs", f"n{n}_{a}_MN", n, kind, ",1")
    return t


def words_sm100():
    load = "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    gather = "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"
    cancel = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
    t = {
        "tma_load_pair_2d": [f"{load.format(2)}.cta_group::2 [R], [R, {coords(2)}], [R];", "-16777217"],
        "tma_load_pair_3d_evict_first":
            [f"{load.format(3)}.cta_group::2.L2::cache_hint [R], [R, {coords(3)}], [R], R;", str(0x12F0000000000000)],
        "tma_load_multicast_pair":
            f"{load.format(2)}.multicast::cluster.cta_group::2 [R], [R, {coords(2)}], [R], R;",
        "tma_load_multicast_pair_evict_last":
            [f"{load.format(4)}.multicast::cluster.cta_group::2.L2::cache_hint [R], [R, {coords(4)}], [R], R, R;",
             str(0x14F0000000000000)],
        "tma_gather4": f"{gather} [R], [R, {coords(5)}], [R];",
        "tma_gather4_pair": [f"{gather}.cta_group::2 [R], [R, {coords(5)}], [R];", "-16777217"],
        "clc_try_cancel": f"{cancel}.b128 [R], [R];",
        "clc_try_cancel_multicast": f"{cancel}.multicast::cluster::all.b128 [R], [R];",
        "clc_is_canceled": "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, response;",
        "clc_first_ctaid": "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {R, R, R, _}, response;",
        "tcgen05_wait_ld": "tcgen05.wait::ld.sync.aligned;", "tcgen05_wait_st": "tcgen05.wait::st.sync.aligned;",
        "tcgen05_fence_before": "tcgen05.fence::before_thread_sync;",
        "tcgen05_fence_after": "tcgen05.fence::after_thread_sync;",
    }
    scales = {"mxf8f6f4": "1X", "mxf4": "2X", "mxf4nvf4": "4X"}
    copies = {"128x256b": "128x256b", "128x128b": "128x128b", "4x256b": "4x256b",
              "64x128b_warpx2": "64x128b.warpx2::02_13", "32x128b_warpx4": "32x128b.warpx4"}
    for g in (1, 2):
        group = f"cta_group::{g}"
        commit = f"tcgen05.commit.{group}.mbarrier::arrive::one.shared::cluster"
        t |= {
            f"tcgen05_alloc_{g}": f"tcgen05.alloc.{group}.sync.aligned.shared::cta.b32 [R], R;",
            f"tcgen05_dealloc_{g}": f"tcgen05.dealloc.{group}.sync.aligned.b32 R, R;",
            f"tcgen05_relinquish_{g}": f"tcgen05.relinquish_alloc_permit.{group}.sync.aligned;",
            f"tcgen05_commit_{g}": f"{commit}.b64 [R];",
            f"tcgen05_commit_multicast_{g}": f"{commit}.multicast::cluster.b64 [R], R;",
        }
        for kind in ("f16", "tf32", "f8f6f4"):
            t[f"tcgen05_mma_{kind}_{g}"] = f"tcgen05.mma.{group}.kind::{kind} [R], R, R, R, PRED_enable_input_d;"
            t[f"tcgen05_mma_ts_{kind}_{g}"] = f"tcgen05.mma.{group}.kind::{kind} [R], [R], R, R, PRED_enable_input_d;"
        for kind, vec in scales.items():
            t[f"tcgen05_mma_scaled_{kind}_{g}"] = (f"tcgen05.mma.{group}.kind::{kind}.block_scale.scale_vec::{vec} "
                                                   "[R], R, R, R, [R], [R], PRED_enable_input_d;")
        for name, shape in copies.items():
            t[f"tcgen05_cp_{name}_{g}"] = f"tcgen05.cp.{group}.{shape} [R], R;"
    shapes = {"b32x32": ("32x32b", 1, 128), "b64x16": ("16x64b", 1, 128), "b128x16": ("16x128b", 2, 64),
              "b256x16": ("16x256b", 4, 32)}
    for name, (shape, per, most) in shapes.items():
        for n in (2**i for i in range(8)):
            if n > most:
                continue
            regs = "{" + ", ".join(["R"] * (per * n)) + "}"
            ld = lit(f"tcgen05.ld.sync.aligned.{shape}.x{n}.b32 {regs}, [R];")
            st = lit(f"tcgen05.st.sync.aligned.{shape}.x{n}.b32 [R], {regs};")
            t[f"tcgen05_ld_{name}_x{n}"] = re.compile(rf"(?s){ld}.*tcgen05\.wait::ld\.sync\.aligned;.*st\.global")
            t[f"tcgen05_st_{name}_x{n}"] = re.compile(rf"(?s){st}.*tcgen05\.wait::st\.sync\.aligned;")
    return t


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, problem):
        if problem:
            self.failed += 1
            print(f"FAILED {name}: {problem}")
        else:
            self.passed += 1


def find_nvcc(given):
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [given, os.environ.get("CUDACXX"), shutil.which("nvcc")] + [f"{h}/bin/nvcc" for h in homes if h]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def bodies(ptx):
    """Name of each entry -> its text, up to the next one: asm blocks close their braces in column 0 too."""
    pieces = re.split(r"\.entry (\w+)\(", ptx)
    return dict(zip(pieces[1::2], pieces[2::2]))


def problem_of(text, expected):
    for want in expected if isinstance(expected, list) else [expected]:
        if isinstance(want, str) and want.startswith("!"):
            if re.search(lit(want[1:]), text):
                return f"has {want[1:]}"
        elif not re.search(want if isinstance(want, re.Pattern) else lit(want), text):
            return f"lacks {want.pattern if isinstance(want, re.Pattern) else want}"[:300]
    return None


def compile_with(nvcc, arch, source, more):
    command = [nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-gencode", f"arch=compute_{arch},code=sm_{arch}",
               f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", *more, str(HERE / source)]
    return subprocess.run(command, capture_output=True, text=True)


def first_lines(run):
    return " / ".join((run.stdout + run.stderr).strip().splitlines()[:3])


def check_file(report, nvcc, folder, arch, source, table):
    ptx = folder / f"{source}.ptx"
    run = compile_with(nvcc, arch, source, ["-ptx", "-o", str(ptx)])
    report.check(f"{source} compiles without a warning", first_lines(run) if run.returncode or run.stderr else None)
    if run.returncode:
        return
    text = ptx.read_text()
    ptxas = subprocess.run([str(pathlib.Path(nvcc).parent / "ptxas"), f"-arch=sm_{arch}", str(ptx), "-o",
                            str(folder / f"{source}.cubin")], capture_output=True, text=True)
    report.check(f"ptxas accepts {source}", first_lines(ptxas) if ptxas.returncode or ptxas.stderr else None)
    found = bodies(text)
    for name, expected in table.items():
        body = found.pop(f"word_{name}", None)
        report.check(name, "no such kernel" if body is None else problem_of(body, expected))
    report.check(f"every kernel of {source} has an entry in the table", ", ".join(found) if found else None)
    if "shared_base" in table:
        aligned = re.search(r"\.extern \.shared \.align 1024 \.b8 \w*ww_dynamic_shared\w*\[\]", text)
        report.check("dynamic shared memory is 1024-byte aligned", None if aligned else "the declaration is not")


def check_gemm_loop(report, nvcc, folder):
    source = "gemm_loop_sm90.cu"
    run = compile_with(nvcc, "90a", source, ["-Xptxas=-v", "-c", "-o", str(folder / "gemm_loop.o")])
    output = run.stdout + run.stderr
    report.check(f"{source} compiles", first_lines(run) if run.returncode else None)
    report.check(f"{source}: wgmma stays asynchronous",
                 "ptxas serialises it" if re.search(r"C75\d\d|serializ", output) else None)
    report.check(f"{source}: no spills",
                 None if "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in output else "it spills")


def check_warp_types(report, nvcc, folder):
    """The output ring, MmaWarp and EpilogueWarp cost no memory, and each duty is one instruction."""
    source = "warp_types_sm100.cu"
    run = compile_with(nvcc, "100a", source, ["-Xptxas=-v", "-cubin", "-o", str(folder / "warp_types.cubin")])
    report.check(f"{source} compiles", first_lines(run) if run.returncode else None)
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", run.stdout + run.stderr)
    report.check(f"{source}: no stack frame, no spills", None if set(frames) == {("0", "0")} else str(frames))
    ptx = folder / "warp_types.ptx"
    compile_with(nvcc, "100a", source, ["-ptx", "-o", str(ptx)])
    for name, text in bodies(ptx.read_text() if ptx.exists() else "").items():
        group = 2 if "pair" in name else 1
        for word in ("alloc", "dealloc", "relinquish_alloc_permit"):
            count = len(re.findall(rf"tcgen05\.{word}\.cta_group::{group}\b", text))
            report.check(f"{name}: one tcgen05.{word}", None if count == 1 else f"{count}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", help="the compiler; default: CUDACXX, PATH, CUDA_HOME")
    args = parser.parse_args()
    nvcc = find_nvcc(args.nvcc)
    if nvcc is None:
        print("skipped: nvcc was not found")
        return SKIPPED
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        check_file(report, nvcc, folder, "90a", "words_sm90.cu", words_sm90())
        check_file(report, nvcc, folder, "100a", "words_sm100.cu", words_sm100())
        check_gemm_loop(report, nvcc, folder)
        check_warp_types(report, nvcc, folder)
    print(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
