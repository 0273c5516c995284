"""Our GEMM against torch in one process: torch.matmul for 16-bit types, torch._scaled_mm with tensor factors for 8-bit.

How it is measured is in peer.py. The document on stdout has the rows of `warpwright bench`; with {"error": sentence}
the exit code is that of the tool: 2 for bad input, 3 for what the machine lacks.

Usage: peer_torch.py --library libwarpwright.so --shapes file.tsv [--mode both] [--rounds 8] [--burst 0.4] [--plan NAME]
"""
import argparse
import csv
import json
import math
import statistics
import sys
import time

from peer import Fault, Gpu, alternate, figures, geomean, load_interface
from peer import main as run_main

COOL_LAUNCHES, COOL_GAP_S, CACHE_MULTIPLE, GRAPH_US, LONG_US = 8, 0.02, 3.2, 1e4, 50.0
MOST_NODES, MOST_COOL_GRAPHS = 4096, 64


class OurPlan:
    def __init__(self, abi, dtype, m, n, k, plan):
        self.abi, problem = abi, abi.new_problem()
        problem.m, problem.n, problem.k = m, n, k
        problem.a.type = problem.b.type = abi.words("dtype")[dtype]
        problem.d.type = abi.words("dtype")[dtype if dtype in ("bf16", "fp16") else "bf16"]
        self.scaled = dtype in ("e4m3", "e5m2")
        if self.scaled:
            problem.scaling = abi.words("scaling")["tensor"]
        if plan:
            problem.plan = plan.encode()
        self.plan = abi.Plan(problem)
        self.name = self.plan.name

    def run(self, a, b, d, scale, stream):
        pointers = self.abi.new_pointers()
        pointers.a, pointers.b, pointers.d = a.data_ptr(), b.data_ptr(), d.data_ptr()
        if self.scaled:
            pointers.a_scales = pointers.b_scales = scale.data_ptr()
        self.plan.run(pointers, stream.cuda_stream)


class Bench(Gpu):
    def __init__(self, torch, abi, options):
        super().__init__(torch)
        self.abi, self.options = abi, options

    def operands(self, dtype, m, n, k):
        torch = self.torch
        kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
        kind, out = kinds[dtype], kinds[dtype] if dtype in ("bf16", "fp16") else torch.bfloat16
        size = kind.itemsize
        one = m * k * size + n * k * size + m * n * out.itemsize
        sets = max(2, min(4096, math.ceil(CACHE_MULTIPLE * self.l2 / one)))
        make = lambda rows: torch.randn(rows, k, device="cuda").to(kind)
        return [(make(m), make(n), torch.empty(m, n, device="cuda", dtype=out)) for _ in range(sets)]

    def cool(self, graphs, turn):
        """Single replays after a pause, timed by event nodes in the graph: the host's wake-up cannot disturb them."""
        torch, times = self.torch, []
        for i in range(COOL_LAUNCHES):
            time.sleep(COOL_GAP_S)
            graph, (start, stop) = graphs[(turn * COOL_LAUNCHES + i) % len(graphs)]
            with torch.cuda.stream(self.stream):
                graph.replay()
            self.stream.synchronize()
            times.append(start.elapsed_time(stop) * 1e3)
        return statistics.median(times)

    def single(self, launch, operand):
        """A graph of one launch, and the events that lie around it as nodes."""
        try:
            events = [self.torch.cuda.Event(enable_timing=True, external=True) for _ in range(2)]
        except TypeError as error:
            raise Fault(3, f"torch {self.torch.__version__} has no events inside graphs; cool figures need torch 2.8."
                        ) from error
        return self.capture(lambda _: launch(operand), 1, events), events

    def measure(self, launches, sets, mode):
        """One (ours, torch) pair of times for each round; the first round is not counted."""
        if mode == "sustained":
            us = self.brief_us(launches[0], sets)
            count = sets * max(1, min(int(GRAPH_US / (us * sets)), max(1, MOST_NODES // sets)))
            graphs = [self.capture(lambda i, f=f: f(i % sets), count) for f in launches]
            figure = lambda who, turn: self.burst(graphs[who], count, self.options.burst)
        else:
            singles = [[self.single(f, s) for s in range(min(sets, MOST_COOL_GRAPHS))] for f in launches]
            figure = lambda who, turn: self.cool(singles[who], turn)
        return alternate(figure, self.options.rounds)

    def shape(self, dtype, m, n, k, modes):
        torch = self.torch
        operands = self.operands(dtype, m, n, k)
        sets, scale = len(operands), torch.ones((), device="cuda")
        plan = OurPlan(self.abi, dtype, m, n, k, self.options.plan)

        def ours(i):
            a, b, d = operands[i]
            plan.run(a, b, d, scale, self.stream)

        def theirs(i):
            a, b, d = operands[i]
            if plan.scaled:
                torch._scaled_mm(a, b.t(), scale_a=scale, scale_b=scale, out_dtype=d.dtype, use_fast_accum=True, out=d)
            else:
                torch.matmul(a, b.t(), out=d)

        results = []
        for launch in (ours, theirs):
            operands[0][2].fill_(float("nan"))
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                launch(0)
            torch.cuda.synchronize()
            results.append(operands[0][2].double())
        difference = float((results[0] - results[1]).norm() / results[1].norm())
        wrong = not difference <= (3e-2 if plan.scaled else 1e-2)
        rows = []
        for mode in modes if not wrong else modes[:1]:
            row = {"op": "dense", "dtype": dtype, "groups": 1, "m": m, "n": n, "k": k, "mode": mode, "us": 0,
                   "peer_us": 0, "ratio": 0, "ratio_lo": 0, "ratio_hi": 0, "tflops": 0, "gbps": 0, "plan": plan.name,
                   "operand_sets": sets, "difference": round(difference, 6)}
            rows.append(row)
            if wrong:
                row["wrong"] = True
                continue
            rounds = self.measure((ours, theirs), sets, mode)
            row.update(figures(rounds))
            size, us = operands[0][0].element_size(), row["us"]
            row.update(tflops=round(2.0 * m * n * k / us * 1e-6, 1),
                       gbps=round((size * k * (m + n) + operands[0][2].element_size() * m * n) / us * 1e-3, 1))
        long = any(r["mode"] == "sustained" and r["us"] > LONG_US for r in rows)
        for row in rows:
            row["counts"] = not wrong and (len(rows) == 1 or (row["mode"] == "sustained") == long)
        return rows


def read_shapes(path):
    with open(path, newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [(row["dtype"], int(row["m"]), int(row["n"]), int(row["k"])) for row in rows]


def run(options):
    try:
        import torch
    except ImportError as error:
        raise Fault(3, f"{sys.executable} has no torch; install it, or name a Python that has it in WARPWRIGHT_PYTHON."
                    ) from error
    bench = Bench(torch, load_interface(options.library), options)
    modes = ["sustained", "cool"] if options.mode == "both" else [options.mode]
    rows, shapes = [], read_shapes(options.shapes)
    for done, shape in enumerate(shapes):
        if sys.stderr.isatty():
            print(f"\r\033[Kbench {done}/{len(shapes)}", end="", file=sys.stderr, flush=True)
        rows += bench.shape(*shape, modes)
        torch.cuda.empty_cache()
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    counted = [row["ratio"] for row in rows if row["counts"]]
    document = {
        "device": bench.device,
        "protocol": {
            "against": f"torch {torch.__version__}",
            "peer_call": "torch.matmul; for 8-bit types torch._scaled_mm, tensor factors, fast accumulation",
            "one_process": "libwarpwright.so beside torch, both captured into CUDA graphs on one stream",
            "data": "standard normal", "layout": "nt", "rounds": options.rounds,
            "order": "swapped every round; one more round first, not counted",
            "sustained": f"graph replay in bursts of {options.burst} s, back to back",
            "cool": f"median of {COOL_LAUNCHES} single graph replays a round, {COOL_GAP_S * 1e3:g} ms idle before each",
            "operand_bytes_at_least": int(CACHE_MULTIPLE * bench.l2), "l2_bytes": bench.l2,
            "us": "median over the rounds; ratio = peer_us / us",
            "ratio_lo": "with ratio_hi: 95 % interval of the median of the rounds' ratios, by order statistics",
            "geomean_of": "sustained for products over 50 us, cool below"},
        "rows": rows,
        "geomean": geomean(counted),
        "min": min(counted, default=0)}
    print(json.dumps(document))
    return 1 if any(row.get("wrong") for row in rows) else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--shapes", required=True)
    parser.add_argument("--mode", choices=("sustained", "cool", "both"), default="both")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--burst", type=float, default=0.4)
    parser.add_argument("--plan", default="")
    return run_main(run, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
