"""What the benchmarks against a Python module share: the clock on the GPU, the rounds, the figures of a row.

The two sides run on one stream of one process. Each is captured into a CUDA graph; the graphs are replayed in
alternating bursts, the order swapped every round, and timed by CUDA events. libwarpwright.so is loaded beside torch and
called through its C interface, which the Python package describes.
"""
import importlib
import json
import math
import os
import pathlib
import statistics
import sys
import time
import types


class Fault(Exception):
    """A sentence, with the exit code of the tool: 2 for bad input, 3 for what the machine lacks."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


def load_interface(library):
    """warpwright/_abi.py alone, for this library: the package around it wants modules that torch may be without."""
    here = pathlib.Path(__file__).resolve().parent
    folder = next(p for p in (here / "warpwright", here.parent / "python" / "warpwright") if p.is_dir())
    package = types.ModuleType("warpwright")
    package.__path__ = [str(folder)]
    sys.modules["warpwright"] = package
    os.environ["WARPWRIGHT_LIBRARY"] = str(library)
    abi = importlib.import_module("warpwright._abi")
    abi.library()
    return abi


def median_interval(values):
    """95 % of the median by order statistics, as bench_stats.cpp does."""
    values, n, taken, tail = sorted(values), len(values), 0, 0.0
    for i in range((n + 1) // 2):
        tail += math.comb(n, i) / 2**n
        if 2 * tail > 0.05:
            break
        taken = i
    return values[taken], values[n - 1 - taken]


def geomean(ratios):
    return round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 4) if ratios else 0


def figures(rounds):
    """The fields of a row that follow from its (ours, theirs) pairs of times."""
    us, peer_us = (statistics.median(r[who] for r in rounds) for who in range(2))
    low, high = median_interval([r[1] / r[0] for r in rounds])
    return {"us": round(us, 3), "peer_us": round(peer_us, 3), "ratio": round(peer_us / us, 4),
            "ratio_lo": round(min(low, peer_us / us), 4), "ratio_hi": round(max(high, peer_us / us), 4)}


class Gpu:
    """One stream of a Hopper GPU, and how long things take on it."""

    def __init__(self, torch):
        if not torch.cuda.is_available():
            raise Fault(3, "torch finds no GPU.")
        self.torch, self.stream = torch, torch.cuda.Stream()
        properties = torch.cuda.get_device_properties(0)
        self.device, self.l2, self.sms = properties.name, properties.L2_cache_size, properties.multi_processor_count
        if torch.cuda.get_device_capability(0)[0] != 9:
            raise Fault(3, f"{self.device} is not a Hopper GPU.")

    def capture(self, launch, count, events=None):
        """A graph of launch(0) to launch(count - 1); between the events if they are given."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
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

    def burst(self, graph, launches, seconds):
        """Microseconds a launch, replayed back to back for so long."""
        torch, start, stop = self.torch, *(self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        queued, replays, until = [torch.cuda.Event(), torch.cuda.Event()], 0, time.monotonic() + seconds
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


class Cpu:
    """The same without a GPU: for trying a program, its times say nothing."""

    device, stream = "no GPU: the times say nothing", None

    def __init__(self, torch):
        self.torch = torch

    def capture(self, launch, count, events=None):
        launch(0)
        return launch

    def brief_us(self, launch, sets, seconds=0.02):
        return 1e3

    def burst(self, graph, launches, seconds):
        begin = time.perf_counter()
        graph(0)
        return (time.perf_counter() - begin) * 1e6


class Rows:
    """A document whose rows are kept as they come, so that a program which was ended goes on where it was."""

    def __init__(self, path, head, max_seconds=0.0):
        self.path, self.until = pathlib.Path(path), time.monotonic() + (max_seconds or 1e9)
        self.rows, self.head = [], head
        if self.path.exists():
            known = json.loads(self.path.read_text())
            if known.get("device") != head["device"]:
                raise Fault(2, f"{path}: its rows are of {known.get('device')}, this is {head['device']}.")
            self.rows = known["rows"]

    def missing(self, **key):
        """Whether there is no such row yet, and time to make it."""
        there = any(all(row.get(name) == value for name, value in key.items()) for row in self.rows)
        return not there and time.monotonic() < self.until

    def add(self, **row):
        self.rows.append(row)
        head = json.dumps(self.head, indent=1)
        body = ",\n".join("  " + json.dumps(r) for r in self.rows)
        whole = self.path.with_suffix(".new")
        whole.write_text(head[:-2] + ',\n "rows": [\n' + body + "\n ]\n}\n")
        whole.replace(self.path)
        print(json.dumps(row), flush=True)


def alternate(figure, count, competitors=2):
    """The figure(who, turn) of every competitor for each round; the first round is not counted."""
    rounds = []
    for turn in range(count + 1):
        got = [0.0] * competitors
        for i in range(competitors):
            who = (i + turn) % competitors
            got[who] = figure(who, turn)
        if turn:
            rounds.append(got)
    return rounds


def main(run, options):
    """Runs it; a sentence becomes {"error": sentence} on stdout."""
    try:
        return run(options)
    except Fault as fault:
        code, sentence = fault.code, str(fault)
    except Exception as error:  # the interface's own: what they mean is known by their names
        if type(error).__module__ != "warpwright._errors" and type(error) is not ValueError:
            raise
        code = {"ValueError": 2, "MissingError": 3}.get(type(error).__name__, 1)
        sentence = str(error)
    print(json.dumps({"error": sentence}))
    return code
