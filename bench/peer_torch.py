"""Our GEMM against torch in one process: torch.matmul for 16-bit types, torch._scaled_mm with tensor factors for 8-bit.

Both sides run on one stream of one process. Each is captured into a CUDA graph; the graphs are replayed in alternating
bursts, the order swapped every round, and timed by CUDA events. libwarpwright.so is loaded beside torch and called
through its C interface. The document on stdout has the rows of `warpwright bench`; with {"error": sentence} the exit
code is that of the tool: 2 for bad input, 3 for what the machine lacks.

Usage: peer_torch.py --library libwarpwright.so --shapes file.tsv [--mode both] [--rounds 8] [--burst 0.4] [--plan NAME]
"""
import argparse
import csv
import ctypes
import json
import math
import statistics
import sys
import time

COOL_LAUNCHES, COOL_GAP_S, CACHE_MULTIPLE, GRAPH_US, LONG_US = 8, 0.02, 3.2, 1e4, 50.0
MOST_NODES, MOST_COOL_GRAPHS = 4096, 64
DTYPES = {"bf16": 0, "fp16": 1, "fp32": 3, "e4m3": 4, "e5m2": 5}
SCALING_TENSOR = 1


class Fault(Exception):
    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


class MatrixLayout(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("major", ctypes.c_int32), ("stride", ctypes.c_int64),
                ("batch_stride", ctypes.c_int64)]


class Problem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("batch", ctypes.c_int64), ("a", MatrixLayout), ("b", MatrixLayout), ("c", MatrixLayout),
                ("d", MatrixLayout), ("alpha", ctypes.c_float), ("beta", ctypes.c_float), ("scaling", ctypes.c_int32),
                ("accumulation", ctypes.c_int32), ("bias", ctypes.c_int32), ("bias_type", ctypes.c_int32),
                ("bias_batch_stride", ctypes.c_int64), ("activation", ctypes.c_int32), ("residual", ctypes.c_int32),
                ("residual_layout", MatrixLayout), ("quantize", ctypes.c_int32), ("alignment", ctypes.c_int32),
                ("sm_limit", ctypes.c_int32), ("deterministic", ctypes.c_int32), ("dependent", ctypes.c_int32),
                ("b_is_constant", ctypes.c_int32), ("plan", ctypes.c_char_p)]


class Pointers(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64)] + [(name, ctypes.c_void_p) for name in (
        "a", "b", "c", "d", "bias", "residual", "a_scales", "b_scales", "d_scale", "workspace")] + [
            ("workspace_bytes", ctypes.c_size_t)]


class Library:
    def __init__(self, path):
        try:
            self.c = ctypes.CDLL(path)
        except OSError as error:
            raise Fault(3, f"{path} cannot be loaded: {error}.")
        self.c.ww_last_error.restype = ctypes.c_char_p
        self.c.ww_plan_name.restype = ctypes.c_char_p
        self.c.ww_plan_name.argtypes = [ctypes.c_void_p]
        self.c.ww_plan_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Pointers), ctypes.c_void_p]
        self.c.ww_plan_destroy.argtypes = [ctypes.c_void_p]
        problem = Problem()
        self.c.ww_gemm_problem_init(ctypes.byref(problem))
        if problem.size != ctypes.sizeof(Problem):
            raise Fault(3, f"{path} has another interface than this program.")

    def check(self, code):
        if code:
            raise Fault({1: 2, 2: 2, 3: 3}.get(code, 1), self.c.ww_last_error().decode())


class OurPlan:
    def __init__(self, library, dtype, m, n, k, plan):
        self.library = library
        problem = Problem()
        library.c.ww_gemm_problem_init(ctypes.byref(problem))
        problem.m, problem.n, problem.k = m, n, k
        problem.a.type = problem.b.type = DTYPES[dtype]
        problem.d.type = DTYPES[dtype] if dtype in ("bf16", "fp16") else DTYPES["bf16"]
        self.scaled = dtype in ("e4m3", "e5m2")
        if self.scaled:
            problem.scaling = SCALING_TENSOR
        if plan:
            problem.plan = plan.encode()
        self.handle = ctypes.c_void_p()
        library.check(library.c.ww_plan_create(ctypes.byref(problem), ctypes.byref(self.handle)))
        self.name = library.c.ww_plan_name(self.handle).decode()

    def __del__(self):
        if getattr(self, "handle", None):
            self.library.c.ww_plan_destroy(self.handle)

    def run(self, a, b, d, scale, stream):
        pointers = Pointers()
        self.library.c.ww_gemm_pointers_init(ctypes.byref(pointers))
        pointers.a, pointers.b, pointers.d = a.data_ptr(), b.data_ptr(), d.data_ptr()
        if self.scaled:
            pointers.a_scales = pointers.b_scales = scale.data_ptr()
        self.library.check(self.library.c.ww_plan_run(self.handle, ctypes.byref(pointers), stream.cuda_stream))


def median_interval(values):
    """95 % of the median by order statistics, as bench_stats.cpp does."""
    values, n, taken, tail = sorted(values), len(values), 0, 0.0
    for i in range((n + 1) // 2):
        tail += math.comb(n, i) / 2**n
        if 2 * tail > 0.05:
            break
        taken = i
    return values[taken], values[n - 1 - taken]


class Bench:
    def __init__(self, torch, library, options):
        self.torch, self.library, self.options = torch, library, options
        self.stream = torch.cuda.Stream()
        properties = torch.cuda.get_device_properties(0)
        self.device, self.l2 = properties.name, properties.L2_cache_size
        if torch.cuda.get_device_capability(0)[0] != 9:
            raise Fault(3, f"{self.device} is not a Hopper GPU.")

    def operands(self, dtype, m, n, k):
        torch = self.torch
        kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
        kind, out = kinds[dtype], kinds[dtype] if dtype in ("bf16", "fp16") else torch.bfloat16
        size = kind.itemsize
        one = m * k * size + n * k * size + m * n * out.itemsize
        sets = max(2, min(4096, math.ceil(CACHE_MULTIPLE * self.l2 / one)))
        make = lambda rows: torch.randn(rows, k, device="cuda").to(kind)
        return [(make(m), make(n), torch.empty(m, n, device="cuda", dtype=out)) for _ in range(sets)]

    def graph(self, launch, count, events=None):
        """A captured sequence of launches; between the events if they are given."""
        torch = self.torch
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            if events:
                events[0].record(self.stream)
            for i in range(count):
                launch(i)
            if events:
                events[1].record(self.stream)
        return graph

    def brief_us(self, launch, sets, seconds=0.02):
        torch, start, stop = self.torch, *(self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(self.stream):
            launch(0)
            self.stream.synchronize()
            count, us = 0, 0.0
            start.record(self.stream)
            while us < seconds * 1e6:
                for _ in range(8):
                    launch(count % sets)
                    count += 1
                stop.record(self.stream)
                stop.synchronize()
                us = start.elapsed_time(stop) * 1e3
        return us / count

    def burst(self, graph, launches):
        torch = self.torch
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
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
        return start.elapsed_time(stop) * 1e3 / (replays * launches)

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
        except TypeError:
            raise Fault(3, f"torch {self.torch.__version__} has no events inside graphs; cool figures need torch 2.8.")
        return self.graph(lambda _: launch(operand), 1, events), events

    def measure(self, launches, sets, mode):
        """One (ours, torch) pair of times for each round; the first round is not counted."""
        if mode == "sustained":
            us = self.brief_us(launches[0], sets)
            count = sets * max(1, min(int(GRAPH_US / (us * sets)), max(1, MOST_NODES // sets)))
            graphs = [self.graph(lambda i, f=f: f(i % sets), count) for f in launches]
            figure = lambda who, turn: self.burst(graphs[who], count)
        else:
            singles = [[self.single(f, s) for s in range(min(sets, MOST_COOL_GRAPHS))] for f in launches]
            figure = lambda who, turn: self.cool(singles[who], turn)
        rounds = []
        for turn in range(self.options.rounds + 1):
            got = [0.0, 0.0]
            for i in range(2):
                who = (i + turn) % 2
                got[who] = figure(who, turn)
            if turn:
                rounds.append(got)
        return rounds

    def shape(self, dtype, m, n, k, modes):
        torch = self.torch
        operands = self.operands(dtype, m, n, k)
        sets, scale = len(operands), torch.ones((), device="cuda")
        plan = OurPlan(self.library, dtype, m, n, k, self.options.plan)

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
            us, peer_us = (statistics.median(r[who] for r in rounds) for who in range(2))
            low, high = median_interval([r[1] / r[0] for r in rounds])
            size = operands[0][0].element_size()
            row.update(us=round(us, 3), peer_us=round(peer_us, 3), ratio=round(peer_us / us, 4),
                       ratio_lo=round(min(low, peer_us / us), 4), ratio_hi=round(max(high, peer_us / us), 4),
                       tflops=round(2.0 * m * n * k / us * 1e-6, 1),
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
    except ImportError:
        raise Fault(3, f"{sys.executable} has no torch; install it, or name a Python that has it in WARPWRIGHT_PYTHON.")
    if not torch.cuda.is_available():
        raise Fault(3, "torch finds no GPU.")
    library = Library(options.library)
    bench = Bench(torch, library, options)
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
        "geomean": round(math.exp(sum(map(math.log, counted)) / len(counted)), 4) if counted else 0,
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
    try:
        return run(parser.parse_args())
    except Fault as fault:
        print(json.dumps({"error": str(fault)}))
        return fault.code


if __name__ == "__main__":
    sys.exit(main())
