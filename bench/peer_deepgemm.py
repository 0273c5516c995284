"""Our blockwise and grouped products against DeepGEMM in one process.

Both sides run on one stream. Each is captured into a CUDA graph; the graphs are replayed in alternating bursts, the
order swapped every round, and timed by CUDA events. Operands rotate through more than three times the L2. DeepGEMM gets
its scales transposed beforehand, as its kernels want them; ours are taken as they are. Rows of contiguous groups are
padded to 128 for both sides, which only DeepGEMM needs. The document on stdout has the rows of `warpwright bench`; with
{"error": sentence} the exit code is that of the tool: 2 for bad input, 3 for what the machine lacks.

Usage: peer_deepgemm.py --library libwarpwright.so --shapes file.tsv [--rounds 8] [--burst 0.25] [--op OP] [--limit S]
The columns of the file are op, dtype, groups, m (rows of a group), n and k, as in bench/shapes.tsv.
"""
import argparse
import csv
import ctypes
import gc
import json
import math
import random
import statistics
import sys
import time

CACHE_MULTIPLE, GRAPH_US, MOST_NODES, MAX_ROWS, ALIGNMENT, BLOCK = 3.2, 4e3, 512, 4096, 128, 128
GROUPS = {"blockwise": 0, "grouped_contiguous": 1, "grouped_masked": 2}
TYPES = {"bf16": 0, "fp8": 4}


class Fault(Exception):
    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


class Problem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64)] + [(name, ctypes.c_int64) for name in (
        "m", "n", "k", "group_count", "matrix_count", "usual_rows")] + [(name, ctypes.c_int32) for name in (
            "groups", "type", "out", "sm_limit")] + [(name, ctypes.c_int64) for name in (
                "a_scales_rows", "a_scales_columns", "b_scales_rows", "b_scales_columns")] + [("plan", ctypes.c_char_p)]


class Pointers(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64)] + [(name, ctypes.c_void_p) for name in (
        "a", "b", "a_scales", "b_scales", "d", "rows", "matrices", "status")]


class Library:
    def __init__(self, path):
        try:
            self.c = ctypes.CDLL(path)
        except OSError as error:
            raise Fault(3, f"{path} cannot be loaded: {error}.")
        self.c.ww_last_error.restype = self.c.ww_grouped_plan_name.restype = ctypes.c_char_p
        self.c.ww_grouped_plan_name.argtypes = self.c.ww_grouped_plan_destroy.argtypes = [ctypes.c_void_p]
        self.c.ww_grouped_plan_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Pointers), ctypes.c_void_p]
        problem = Problem()
        self.c.ww_grouped_problem_init(ctypes.byref(problem))
        if problem.size != ctypes.sizeof(Problem):
            raise Fault(3, f"{path} has another interface than this program.")

    def check(self, code):
        if code:
            raise Fault({1: 2, 2: 2, 3: 3}.get(code, 1), self.c.ww_last_error().decode())


class OurPlan:
    def __init__(self, library, op, dtype, groups, usual, rows, n, k, plan=""):
        self.library, problem = library, Problem()
        library.c.ww_grouped_problem_init(ctypes.byref(problem))
        problem.m, problem.n, problem.k, problem.group_count, problem.usual_rows = rows, n, k, groups, usual
        problem.groups, problem.type = GROUPS[op], TYPES[dtype]
        if plan:
            problem.plan = plan.encode()
        self.handle = ctypes.c_void_p()
        library.check(library.c.ww_grouped_plan_create(ctypes.byref(problem), ctypes.byref(self.handle)))
        self.name = library.c.ww_grouped_plan_name(self.handle).decode()

    def __del__(self):
        if getattr(self, "handle", None):
            self.library.c.ww_grouped_plan_destroy(self.handle)

    def run(self, operands, stream):
        pointers = Pointers()
        self.library.c.ww_grouped_pointers_init(ctypes.byref(pointers))
        for name in ("a", "b", "a_scales", "b_scales", "d", "rows", "status"):
            if operands.get(name) is not None:
                setattr(pointers, name, operands[name].data_ptr())
        self.library.check(self.library.c.ww_grouped_plan_run(self.handle, ctypes.byref(pointers), stream.cuda_stream))


def blocks(extent):
    return -(-extent // BLOCK)


class Bench:
    def __init__(self, torch, deep_gemm, library, options):
        self.torch, self.deep_gemm, self.library, self.options = torch, deep_gemm, library, options
        self.stream = torch.cuda.Stream()
        properties = torch.cuda.get_device_properties(0)
        self.device, self.l2 = properties.name, properties.L2_cache_size

    def operands(self, op, dtype, groups, m, n, k, seed):
        """`counts`: the rows that each group really has."""
        torch, draw = self.torch, random.Random(seed)
        fp8 = dtype == "fp8"
        counts = [m] if op == "blockwise" else [int(m * draw.uniform(0.7, 1.3)) for _ in range(groups)]
        room = [MAX_ROWS] * groups if op == "grouped_masked" else [-(-c // ALIGNMENT) * ALIGNMENT for c in counts]
        rows = m if op == "blockwise" else sum(room)
        make = lambda lines: torch.randn(lines, k, device="cuda", dtype=torch.bfloat16).to(
            torch.float8_e4m3fn if fp8 else torch.bfloat16)
        o = {"op": op, "m": rows, "n": n, "k": k, "groups": groups, "counts": counts, "room": room, "usual": m,
             "a": make(rows), "b": make(groups * n),
             "d": torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)}
        if fp8:
            o["a_scales"] = torch.rand(rows, blocks(k), device="cuda") + 0.5
            o["b_scales"] = torch.rand(groups * blocks(n), blocks(k), device="cuda") + 0.5
        if op == "grouped_contiguous":
            ends = [sum(room[:i]) for i in range(groups + 1)]
            o["rows"] = torch.tensor(ends, device="cuda", dtype=torch.int32)
            o["experts"] = torch.repeat_interleave(torch.arange(groups, device="cuda", dtype=torch.int32),
                                                   torch.tensor(room, device="cuda"))
        elif op == "grouped_masked":
            o["rows"] = torch.tensor(counts, device="cuda", dtype=torch.int32)
        self.prepare_peer(o, fp8)
        return o

    def prepare_peer(self, o, fp8):
        groups, n, k, masked = o["groups"], o["n"], o["k"], o["op"] == "grouped_masked"
        shaped = (lambda x: x.view(groups, MAX_ROWS, -1)) if masked else (lambda x: x)
        a, b = shaped(o["a"]), o["b"] if o["op"] == "blockwise" else o["b"].view(groups, n, k)
        if fp8:
            b_scales = o["b_scales"] if o["op"] == "blockwise" else o["b_scales"].view(groups, -1, blocks(k))
            a = (a, self.deep_gemm.get_mn_major_tma_aligned_tensor(shaped(o["a_scales"])))
            b = (b, b_scales)
        o["peer"] = (a, b, shaped(o["d"]))

    def theirs(self, o):
        g, fp8, (a, b, d) = self.deep_gemm, "a_scales" in o, o["peer"]
        kind = {"disable_ue8m0_cast": True} if fp8 else {}
        if o["op"] == "blockwise":
            g.fp8_gemm_nt(a, b, d, **kind)
        elif o["op"] == "grouped_contiguous":
            call = g.m_grouped_fp8_gemm_nt_contiguous if fp8 else g.m_grouped_bf16_gemm_nt_contiguous
            call(a, b, d, o["experts"], **kind)
        else:
            call = g.m_grouped_fp8_gemm_nt_masked if fp8 else g.m_grouped_bf16_gemm_nt_masked
            call(a, b, d, o["rows"], int(o["usual"] * 1.2) if fp8 else o["usual"], **kind)

    def reference(self, o, most=48):
        """The first and last rows of some groups in float64: (rows, values)."""
        torch, n, k, out, first = self.torch, o["n"], o["k"], [], 0
        for group, (count, room) in enumerate(zip(o["counts"], o["room"])):
            if count and (group < 2 or group == o["groups"] - 1):
                pick = torch.tensor(sorted({*range(min(count, most)), *range(max(0, count - most), count)}),
                                    device="cuda") + first
                raw = torch.uint8 if "a_scales" in o else torch.int16
                a = o["a"].view(raw)[pick].view(o["a"].dtype).double()
                b = o["b"][group * n:(group + 1) * n].double()
                if "a_scales" in o:
                    a *= o["a_scales"][pick].repeat_interleave(BLOCK, 1)[:, :k]
                    of_b = o["b_scales"][group * blocks(n):(group + 1) * blocks(n)]
                    b *= of_b.repeat_interleave(BLOCK, 0)[:n].repeat_interleave(BLOCK, 1)[:, :k]
                out.append((pick, a @ b.t()))
            first += room
        return out

    def error(self, launch, o, reference):
        """The largest relative error of a group."""
        o["d"].fill_(float("nan"))
        self.torch.cuda.synchronize()
        with self.torch.cuda.stream(self.stream):
            launch(o)
        self.torch.cuda.synchronize()
        errors = [float((o["d"][rows].double() - want).norm() / want.norm()) for rows, want in reference]
        return max((e if e == e else math.inf for e in errors), default=0.0)

    def graph(self, launch, sets):
        torch, start, stop = self.torch, *(self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(self.stream):
            start.record(self.stream)
            for i in range(4):
                launch(sets[i % len(sets)])
            stop.record(self.stream)
        stop.synchronize()
        us = max(start.elapsed_time(stop) * 1e3 / 4, 1)
        count = -(-max(1, min(MOST_NODES, int(GRAPH_US / us))) // len(sets)) * len(sets)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            for i in range(count):
                launch(sets[i % len(sets)])
        return graph, count

    def burst(self, graph, count):
        torch, start, stop = self.torch, *(self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        queued, replays, until = [torch.cuda.Event(), torch.cuda.Event()], 0, time.monotonic() + self.options.burst
        with torch.cuda.stream(self.stream):
            start.record(self.stream)
            while replays < 2 or time.monotonic() < until:
                if replays >= 2:
                    queued[replays % 2].synchronize()
                graph.replay()
                queued[replays % 2].record(self.stream)
                replays += 1
            stop.record(self.stream)
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3 / (replays * count)

    def shape(self, op, dtype, groups, m, n, k):
        size = 1 if dtype == "fp8" else 2
        one = size * k * (m * groups + n * groups) + 2 * m * groups * n
        sets = [self.operands(op, dtype, groups, m, n, k, seed)
                for seed in range(max(2, min(64, math.ceil(CACHE_MULTIPLE * self.l2 / one))))]
        plan = OurPlan(self.library, op, dtype, groups, m, sets[0]["m"], n, k, self.options.plan)
        launches = (lambda o: plan.run(o, self.stream), self.theirs)
        reference = self.reference(sets[0])
        errors = [self.error(launch, sets[0], reference) for launch in launches]
        row = {"op": op, "dtype": dtype, "groups": groups, "m": m, "n": n, "k": k, "mode": "sustained",
               "plan": plan.name, "operand_sets": len(sets), "error": float(f"{errors[0]:.3e}"),
               "peer_error": float(f"{errors[1]:.3e}")}
        if not errors[0] <= max(1e-2, 2 * errors[1]):
            return row | {"wrong": True, "ratio": 0, "counts": False}
        graphs = [self.graph(launch, sets) for launch in launches]
        times = [[], []]
        for turn in range(self.options.rounds + 1):
            for i in range(2):
                who = (i + turn) % 2
                us = self.burst(*graphs[who])
                if turn:
                    times[who].append(us)
        us, peer_us = statistics.median(times[0]), statistics.median(times[1])
        ratios = sorted(p / u for u, p in zip(*times))
        useful = statistics.mean(sum(o["counts"]) for o in sets)
        return row | {"us": round(us, 3), "peer_us": round(peer_us, 3), "ratio": round(peer_us / us, 4),
                      "ratio_lo": round(ratios[0], 4), "ratio_hi": round(ratios[-1], 4),
                      "tflops": round(2.0 * useful * n * k / us * 1e-6, 1), "counts": True}


def read_shapes(path, op):
    with open(path, newline="") as file:
        rows = [(row["op"], row["dtype"], *(int(row[c]) for c in ("groups", "m", "n", "k")))
                for row in csv.DictReader(file, delimiter="\t")]
    return [row for row in rows if row[0] in GROUPS and (not op or row[0] == op)]


def run(options):
    try:
        import torch
        import deep_gemm
    except ImportError as error:
        raise Fault(3, f"{sys.executable} has no {error.name}; install it, or name a Python that has it in "
                       "WARPWRIGHT_PYTHON.")
    if not torch.cuda.is_available() or torch.cuda.get_device_capability(0)[0] != 9:
        raise Fault(3, "torch finds no Hopper GPU.")
    bench = Bench(torch, deep_gemm, Library(options.library), options)
    gc.collect()
    gc.disable()  # every capture would collect, at a tenth of a second each
    rows, began = [], time.monotonic()
    for shape in read_shapes(options.shapes, options.op):
        if options.limit and time.monotonic() - began > options.limit:
            break
        rows.append(bench.shape(*shape))
        torch.cuda.empty_cache()
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    summary = {}
    for key in sorted({(row["op"], row["dtype"]) for row in rows}):
        ratios = [row["ratio"] for row in rows if (row["op"], row["dtype"]) == key and row["counts"]]
        if ratios:
            summary[" ".join(key)] = {"shapes": len(ratios), "min": min(ratios),
                                      "geomean": round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 4)}
    counted = [row["ratio"] for row in rows if row["counts"]]
    print(json.dumps({
        "device": bench.device,
        "protocol": {
            "against": f"deep_gemm {getattr(deep_gemm, '__version__', '')}, torch {torch.__version__}",
            "one_process": "libwarpwright.so beside torch, both captured into CUDA graphs on one stream",
            "data": "standard normal, scales uniform from 0.5 to 1.5", "rounds": options.rounds,
            "order": "swapped every round; one more round first, not counted",
            "sustained": f"graph replay in bursts of {options.burst} s, back to back",
            "peer_scales": "transposed and padded for the peer beforehand, not timed",
            "groups": "rows drawn from 0.7 to 1.3 of m; contiguous groups padded to 128 rows for both",
            "us": "median over the rounds; ratio = peer_us / us"},
        "rows": rows, "summary": summary,
        "geomean": round(math.exp(sum(map(math.log, counted)) / len(counted)), 4) if counted else 0,
        "min": min(counted, default=0)}))
    return 1 if any(row.get("wrong") for row in rows) else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--shapes", required=True)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--burst", type=float, default=0.25)
    parser.add_argument("--op", default="", choices=["", *GROUPS])
    parser.add_argument("--plan", default="")
    parser.add_argument("--limit", type=float, default=0, help="begin no shape after so many seconds")
    try:
        return run(parser.parse_args())
    except Fault as fault:
        print(json.dumps({"error": str(fault)}))
        return fault.code


if __name__ == "__main__":
    sys.exit(main())
