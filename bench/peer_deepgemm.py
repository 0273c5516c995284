"""Our blockwise and grouped products against DeepGEMM in one process.

How it is measured is in peer.py. Operands rotate through more than three times the L2. DeepGEMM gets its scales
transposed beforehand, as its kernels want them; ours are taken as they are. Rows of contiguous groups are padded to 128
for both sides, which only DeepGEMM needs. The document on stdout has the rows of `warpwright bench`; with {"error":
sentence} the exit code is that of the tool: 2 for bad input, 3 for what the machine lacks.

Usage: peer_deepgemm.py --library libwarpwright.so --shapes file.tsv [--rounds 8] [--burst 0.25] [--plan NAME|every]
                        [--instances NAME,NAME...] [--op OP] [--limit S] [--out FILE]
The columns of the file are op, dtype, groups, m (rows of a group), n and k (of a group where groups lie along k), as in
bench/shapes.tsv, and, where there is one, counts: even or skewed (src/measure/draw.h). Groups along k are added to D in fp32, which is all that DeepGEMM has. With --plan every all of
--instances that serve a problem are timed briefly (`warpwright bench --every-plan` gives those of the catalogue); the
fastest ones and the library's own choice meet DeepGEMM in full rounds, and the row is that of the fastest.
"""
import argparse
import csv
import gc
import json
import math
import random
import statistics
import sys
import time

from peer import Fault, Gpu, alternate, figures, geomean, load_interface
from peer import main as run_main

CACHE_MULTIPLE, GRAPH_US, MOST_NODES, MAX_ROWS, ALIGNMENT, BLOCK = 3.2, 4e3, 512, 4096, 128, 128
BRIEF_S, FINALISTS, MOST_RESERVED, LARGEST_ERROR = 0.015, 2, 48 << 30, 1e-2
TYPES = {"bf16": "bf16", "fp8": "e4m3", "e4m3": "e4m3"}
OPERATIONS = ("blockwise", "grouped_contiguous", "grouped_masked", "grouped_k")  # in the order of ww_groups


class OurPlan:
    def __init__(self, abi, op, dtype, groups, usual, rows, n, k, plan=""):
        self.abi, problem = abi, abi.new_grouped_problem()
        problem.m, problem.n, problem.k, problem.group_count, problem.usual_rows = rows, n, k, groups, usual
        problem.groups, problem.type = OPERATIONS.index(op), abi.words("dtype")[TYPES[dtype]]
        if op == "grouped_k":
            problem.usual_rows, problem.out, problem.accumulate = 0, abi.words("dtype")["fp32"], 1
            problem.b_scale_rows = 1 if TYPES[dtype] == "e4m3" else problem.b_scale_rows
        if plan:
            problem.plan = plan.encode()
        self.plan = abi.GroupedPlan(problem)
        self.name = self.plan.name

    def run(self, operands, stream):
        pointers = self.abi.new_grouped_pointers()
        for name in ("a", "b", "a_scales", "b_scales", "d", "rows", "status"):
            if operands.get(name) is not None:
                setattr(pointers, name, operands[name].data_ptr())
        self.plan.run(pointers, stream.cuda_stream)


def serving(abi, instances, *problem):
    """Plans by those of the instances that serve the problem: the library refuses the others."""
    for name in instances:
        try:
            yield OurPlan(abi, *problem, name)
        except ValueError:
            pass


def blocks(extent):
    return -(-extent // BLOCK)


def shown(error):
    """Four digits; JSON has no word for NaN."""
    return float(f"{error:.3e}") if math.isfinite(error) else None


def divided(groups, usual, counts, draw):
    """The rows, or the depth, of each group: as src/measure/draw.h describes them, by another generator."""
    if counts == "even":
        return [int(usual * draw.uniform(0.7, 1.3)) for _ in range(groups)]
    some = groups - groups // 4
    harmonic = sum(1 / i for i in range(1, some + 1))
    return [max(1, round(groups * usual / harmonic / i)) for i in range(1, some + 1)] + [0] * (groups // 4)


class Bench(Gpu):
    def __init__(self, torch, deep_gemm, abi, options):
        super().__init__(torch)
        self.deep_gemm, self.abi, self.options = deep_gemm, abi, options

    def operands(self, op, dtype, groups, m, n, k, counts, seed):
        """`counts`: the rows that each group really has."""
        torch, draw = self.torch, random.Random(0)
        fp8 = TYPES[dtype] == "e4m3"
        counts = [m] if op == "blockwise" else divided(groups, m, counts, draw)
        random.Random(seed).shuffle(counts)  # all sets have the same rows in all: one plan serves them
        padded = [-(-c // ALIGNMENT) * ALIGNMENT for c in counts]
        room = [max(MAX_ROWS, *padded)] * groups if op == "grouped_masked" else padded
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

    def deep_operands(self, dtype, groups, m, n, k, counts):
        """Groups along k: `depths` has the columns of each, and a D each."""
        torch, draw, fp8 = self.torch, random.Random(0), TYPES[dtype] == "e4m3"
        depths = [blocks(depth) * BLOCK for depth in divided(groups, k, counts, draw)]
        total = sum(depths)
        make = lambda lines: torch.randn(lines, total, device="cuda", dtype=torch.bfloat16).to(
            torch.float8_e4m3fn if fp8 else torch.bfloat16)
        o = {"op": "grouped_k", "m": m, "n": n, "k": total, "groups": groups, "depths": depths, "a": make(m),
             "b": make(n), "d": torch.zeros(groups * m, n, device="cuda"), "counts": [m], "ends": [0],
             "table": torch.tensor(depths, device="cuda", dtype=torch.int32)}
        for depth in depths:
            o["ends"].append(o["ends"][-1] + depth)
        o["rows"] = torch.tensor(o["ends"], device="cuda", dtype=torch.int32)
        if fp8:
            o["a_scales"], o["b_scales"] = (torch.rand(x, blocks(total), device="cuda") + 0.5 for x in (m, n))
        peer = []
        for name in ("a", "b"):
            if fp8:  # one group after the other, scales by columns
                parts = [o[name].view(torch.uint8)[:, i:j].flatten() for i, j in zip(o["ends"], o["ends"][1:])]
                peer.append((torch.cat(parts).view(torch.float8_e4m3fn), o[name + "_scales"].t().contiguous().t()))
            else:
                peer.append(o[name].t().contiguous())
        o["peer"] = (*peer, o["d"].view(groups, m, n))
        return o

    def by_columns(self, scales):
        """As DeepGEMM's kernels read factors: those of a column lie together, and columns begin at multiples of 16 bytes."""
        *outer, rows, columns = scales.shape
        padded = self.torch.empty(*outer, columns, -(-rows // 4) * 4, device="cuda")
        return padded.mT.narrow(-2, 0, rows).copy_(scales)

    def prepare_peer(self, o, fp8):
        groups, n, k, masked = o["groups"], o["n"], o["k"], o["op"] == "grouped_masked"
        shaped = (lambda x: x.view(groups, o["room"][0], -1)) if masked else (lambda x: x)
        a, b = shaped(o["a"]), o["b"] if o["op"] == "blockwise" else o["b"].view(groups, n, k)
        if fp8:
            b_scales = o["b_scales"] if o["op"] == "blockwise" else o["b_scales"].view(groups, -1, blocks(k))
            a = (a, self.by_columns(shaped(o["a_scales"])))
            b = (b, b_scales)
        o["peer"] = (a, b, shaped(o["d"]))

    def theirs(self, o):
        g, fp8, (a, b, d) = self.deep_gemm, "a_scales" in o, o["peer"]
        kind = {"disable_ue8m0_cast": True} if fp8 else {}
        if o["op"] == "grouped_k":
            call = g.k_grouped_fp8_gemm_nt_contiguous if fp8 else g.k_grouped_bf16_gemm_tn_contiguous
            call(a, b, d, o["depths"], o["table"], d)
        elif o["op"] == "blockwise":
            g.fp8_gemm_nt(a, b, d, **kind)
        elif o["op"] == "grouped_contiguous":
            call = g.m_grouped_fp8_gemm_nt_contiguous if fp8 else g.m_grouped_bf16_gemm_nt_contiguous
            call(a, b, d, o["experts"], **kind)
        else:
            call = g.m_grouped_fp8_gemm_nt_masked if fp8 else g.m_grouped_bf16_gemm_nt_masked
            call(a, b, d, o["rows"], int(o["usual"] * 1.2) if fp8 else o["usual"], **kind)

    def deep_reference(self, o, most=96):
        """The first rows of the first and the last D in float64."""
        out, wide = [], lambda name, end: o[name][:end].float().double()
        scaled = lambda name, end: wide(name, end) * (o[name + "_scales"][:end].repeat_interleave(BLOCK, 1)
                                                      if "a_scales" in o else 1)
        a, b = scaled("a", most), scaled("b", o["n"])
        for group in sorted({0, o["groups"] - 1}):
            i, j = o["ends"][group], o["ends"][group + 1]
            rows = self.torch.arange(group * o["m"], group * o["m"] + a.shape[0], device="cuda")
            out.append((rows, a[:, i:j] @ b[:, i:j].t()))
        return out

    def reference(self, o, most=48):
        """The first and last rows of some groups in float64: (rows, values)."""
        if o["op"] == "grouped_k":
            return self.deep_reference(o)
        torch, n, k, out, first = self.torch, o["n"], o["k"], [], 0
        for group, (count, room) in enumerate(zip(o["counts"], o["room"])):
            if count and (group < 2 or group == o["groups"] - 1):
                pick = torch.tensor(sorted({*range(min(count, most)), *range(max(0, count - most), count)}),
                                    device="cuda") + first
                raw = torch.uint8 if "a_scales" in o else torch.int16
                a = o["a"].view(raw)[pick].view(o["a"].dtype).float().double()
                b = o["b"][group * n:(group + 1) * n].float().double()
                if "a_scales" in o:
                    a *= o["a_scales"][pick].repeat_interleave(BLOCK, 1)[:, :k]
                    of_b = o["b_scales"][group * blocks(n):(group + 1) * blocks(n)]
                    b *= of_b.repeat_interleave(BLOCK, 0)[:n].repeat_interleave(BLOCK, 1)[:, :k]
                out.append((pick, a @ b.t()))
            first += room
        return out

    def error(self, launch, o, reference):
        """The largest relative error of a group."""
        o["d"].fill_(0 if o["op"] == "grouped_k" else float("nan"))  # what is added to is there before
        self.torch.cuda.synchronize()
        with self.torch.cuda.stream(self.stream):
            launch(o)
        self.torch.cuda.synchronize()
        errors = [float((o["d"][rows].double() - want).norm() / want.norm()) for rows, want in reference]
        return max((e if e == e else math.inf for e in errors), default=0.0)

    def graph(self, launch, sets):
        """A graph of some milliseconds over all sets of operands, and how many launches it has."""
        turn = lambda i: launch(sets[i % len(sets)])
        us = max(self.brief_us(turn, len(sets), 0.001), 1)
        count = -(-max(1, min(MOST_NODES, int(GRAPH_US / us))) // len(sets)) * len(sets)
        return self.capture(turn, count), count

    def candidates(self, problem, chosen):
        """The plans to be timed, the library's own choice first."""
        plan = self.options.plan
        if plan != "every":
            return [OurPlan(self.abi, *problem, plan)] if plan else [chosen]
        instances = self.options.instances.split(",")
        return [chosen] + [p for p in serving(self.abi, instances, *problem) if p.name != chosen.name]

    def shape(self, op, dtype, groups, m, n, k, counts):
        size, deep = 1 if TYPES[dtype] == "e4m3" else 2, op == "grouped_k"
        one = size * k * (m * groups + n * groups) + (8 if deep else 2) * m * groups * n
        sets = [self.deep_operands(dtype, groups, m, n, k, counts) if deep
                else self.operands(op, dtype, groups, m, n, k, counts, seed)
                for seed in range(max(2, min(64, math.ceil(CACHE_MULTIPLE * self.l2 / one))))]
        problem = (op, dtype, groups, m, sets[0]["m"], n, sets[0]["k"])
        chosen = OurPlan(self.abi, *problem)
        reference = self.reference(sets[0])
        peer_error = self.error(self.theirs, sets[0], reference)
        row = {"op": op, "dtype": TYPES[dtype], "groups": groups, "m": m, "n": n, "k": k, "counts_are": counts, "mode": "sustained",
               "chosen": chosen.name, "operand_sets": len(sets), "peer_error": shown(peer_error)}
        timed = []  # (us, error, plan, graph, launches of the graph)
        plans = self.candidates(problem, chosen)
        for plan in plans:
            launch = lambda o, plan=plan: plan.run(o, self.stream)
            error = self.error(launch, sets[0], reference)
            if not error <= LARGEST_ERROR:
                return row | {"plan": plan.name, "error": shown(error), "wrong": True, "ratio": 0, "counts": False}
            graph = self.graph(launch, sets)
            us = self.burst(*graph, BRIEF_S) if len(plans) > 1 else 0.0
            timed.append((us, error, plan, *graph))
        if len(timed) > 1:
            row["candidates_us"] = {plan.name: round(us, 2) for us, _, plan, *_ in timed}
        finalists = sorted(timed, key=lambda t: t[0])[:FINALISTS]
        if timed[0] not in finalists:
            finalists.append(timed[0])
        graphs = [self.graph(self.theirs, sets)] + [t[3:] for t in finalists]
        rounds = alternate(lambda who, turn: self.burst(*graphs[who], self.options.burst), self.options.rounds,
                           len(graphs))
        against = [figures([(r[i], r[0]) for r in rounds]) for i in range(1, len(graphs))]
        best = min(range(len(against)), key=lambda i: against[i]["us"])
        _, error, plan, *_ = finalists[best]
        if len(timed) > 1:
            row["paired"] = {t[2].name: f["ratio"] for t, f in zip(finalists, against)}
        us, useful = against[best]["us"], statistics.mean(sum(o["counts"]) for o in sets)
        k = sets[0]["k"]
        moved = size * k * (m + n) + 8 * m * groups * n if deep else size * k * (useful + n * groups) + 2 * useful * n
        return row | against[best] | {
            "plan": plan.name, "error": shown(error),
            "error_ratio": round(error / peer_error, 4) if peer_error else None,
            "tflops": round(2.0 * useful * n * k / us * 1e-6, 1), "gbps": round(moved / us * 1e-3, 1), "counts": True}


def read_shapes(path, op):
    with open(path, newline="") as file:
        rows = [(row["op"], row["dtype"], *(int(row[c]) for c in ("groups", "m", "n", "k")), row.get("counts", "even"))
                for row in csv.DictReader(file, delimiter="\t")]
    return [row for row in rows if row[0] in OPERATIONS and (not op or row[0] == op)]


def document(bench, rows):
    torch, options, summary = bench.torch, bench.options, {}
    for key in sorted({(row["op"], row["dtype"]) for row in rows}):
        of_key = [row for row in rows if (row["op"], row["dtype"]) == key and row["counts"]]
        if of_key:
            ratios = [row["ratio"] for row in of_key]
            summary[" ".join(key)] = {"shapes": len(ratios), "min": min(ratios), "geomean": geomean(ratios),
                                      "error_ratio": max((row["error_ratio"] or 0) for row in of_key)}
    counted = [row["ratio"] for row in rows if row["counts"]]
    return {
        "device": bench.device, "multiprocessors": bench.sms, "toolkit": f"CUDA {torch.version.cuda}",
        "protocol": {
            "against": f"deep_gemm {getattr(bench.deep_gemm, '__version__', '')}, torch {torch.__version__}",
            "one_process": "libwarpwright.so beside torch, both captured into CUDA graphs on one stream",
            "data": "standard normal, scales uniform from 0.5 to 1.5", "rounds": options.rounds,
            "order": "rotated every round; one more round first, not counted",
            "sustained": f"graph replay in bursts of {options.burst} s, back to back",
            "plan": {"": "chosen by the library", "every": f"the fastest of all: {FINALISTS} and the library's choice "
                     f"in full rounds, after bursts of {BRIEF_S} s"}.get(options.plan, options.plan),
            "peer_scales": "transposed and padded for the peer beforehand, not timed",
            "groups": "rows drawn from 0.7 to 1.3 of m where counts_are even; contiguous groups padded to 128 rows for both",
            "error": "norm of the difference from float64 over its norm, rows at both ends of up to three groups; "
                     "error_ratio = error / peer_error",
            "us": "median over the rounds; ratio = peer_us / us"},
        "rows": rows, "summary": summary, "geomean": geomean(counted), "min": min(counted, default=0)}


def run(options):
    try:
        import torch
        import deep_gemm
    except ImportError as error:
        raise Fault(3, f"{sys.executable} has no {error.name}; install it, or name a Python that has it in "
                       "WARPWRIGHT_PYTHON.") from error
    bench = Bench(torch, deep_gemm, load_interface(options.library), options)
    gc.collect()
    gc.freeze()  # every capture collects: a tenth of a second each, if all of torch is looked at
    rows, began, shapes = [], time.monotonic(), read_shapes(options.shapes, options.op)
    for done, shape in enumerate(shapes):
        if options.limit and time.monotonic() - began > options.limit:
            break
        if sys.stderr.isatty():
            print(f"\r\033[Kbench {done}/{len(shapes)}", end="", file=sys.stderr, flush=True)
        rows.append(bench.shape(*shape))
        if torch.cuda.memory_reserved() > MOST_RESERVED:
            torch.cuda.empty_cache()
        if options.out:
            with open(options.out, "w") as file:
                json.dump(document(bench, rows), file, indent=1)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    print(json.dumps(document(bench, rows)))
    return 1 if any(row.get("wrong") for row in rows) else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--shapes", required=True)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--burst", type=float, default=0.25)
    parser.add_argument("--op", default="", choices=["", *OPERATIONS])
    parser.add_argument("--plan", default="", help="a name, or every: all are tried, the fastest one is reported")
    parser.add_argument("--instances", default="", help="names with commas between them, for --plan every")
    parser.add_argument("--limit", type=float, default=0, help="begin no shape after so many seconds")
    parser.add_argument("--out", default="", help="file that has the document of all rows so far, after every row")
    return run_main(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
