"""The benchmark against DeepGEMM beside stand-ins for torch, DeepGEMM and the library: which calls it makes with which
shapes, what a row has, which plan it reports, how it ends. Needs neither a GPU nor a module that is not Python's own.

Usage: peer_test.py [unittest arguments]
"""
import contextlib
import importlib
import io
import json
import math
import os
import pathlib
import sys
import tempfile
import types
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
FIELDS = {"op", "dtype", "groups", "m", "n", "k", "mode", "us", "peer_us", "ratio", "ratio_lo", "ratio_hi", "tflops",
          "gbps", "plan", "error", "peer_error", "error_ratio", "chosen"}


class Tensor:
    """A shape; arithmetic gives a tensor again, a number is the error that `wrong` says."""
    wrong = 1e-3

    def __init__(self, *shape, dtype=None):
        self.shape, self.dtype = tuple(shape), dtype

    def view(self, *shape):
        if shape and isinstance(shape[0], str):
            return self
        known = -math.prod(s for s in shape) if -1 in shape else 1
        return Tensor(*(math.prod(self.shape) // known if s == -1 else s for s in shape))

    def __getitem__(self, index):
        if isinstance(index, tuple):
            return Tensor(*(len(range(*i.indices(size))) for i, size in zip(index, self.shape)))
        if isinstance(index, slice):
            return Tensor(len(range(*index.indices(self.shape[0]))), *self.shape[1:])
        return Tensor(index.shape[0], *self.shape[1:]) if isinstance(index, Tensor) else self

    def same(self, *_, **__):
        return self

    def t(self):
        return Tensor(*reversed(self.shape))

    mT = property(lambda self: Tensor(*self.shape[:-2], self.shape[-1], self.shape[-2]))  # noqa: N815

    def narrow(self, dimension, first, length):
        shape = list(self.shape)
        shape[dimension] = length
        return Tensor(*shape)

    def copy_(self, other):
        assert self.shape == other.shape
        return self

    def flatten(self):
        return Tensor(math.prod(self.shape))

    to = float = double = fill_ = norm = repeat_interleave = contiguous = same
    __add__ = __sub__ = __mul__ = __imul__ = __matmul__ = __truediv__ = same

    def __float__(self):
        return Tensor.wrong

    def data_ptr(self):
        return 4096


class Clock:
    """Time on the stand-in GPU: every launch advances it by what the launched thing takes."""
    us = 0.0
    recorded = None  # launches of the graph that is being captured

    @classmethod
    def launch(cls, us):
        if cls.recorded is None:
            cls.us += us
        else:
            cls.recorded.append(us)


class Event:
    def __init__(self, **_):
        self.at = 0.0

    def record(self, *_):
        self.at = Clock.us

    def synchronize(self):
        pass

    def elapsed_time(self, later):
        return (later.at - self.at) * 1e-3


class Graph:
    def replay(self):
        Clock.us += sum(self.launches)


@contextlib.contextmanager
def capture(graph, stream):
    Clock.recorded = graph.launches = []
    yield
    Clock.recorded = None


def stand_in_torch(available=True, capability=9):
    make = lambda *shape, **_: Tensor(*shape)
    cuda = types.SimpleNamespace(
        is_available=lambda: available, synchronize=lambda: None, empty_cache=lambda: None, memory_reserved=lambda: 0,
        Stream=lambda: types.SimpleNamespace(cuda_stream=7, synchronize=lambda: None), Event=Event, CUDAGraph=Graph,
        stream=lambda _: contextlib.nullcontext(), graph=capture, get_device_capability=lambda _: (capability, 0),
        get_device_properties=lambda _: types.SimpleNamespace(name="Stand-in", L2_cache_size=1 << 20,
                                                              multi_processor_count=132))
    torch = types.ModuleType("torch")
    torch.__dict__.update(cuda=cuda, __version__="0", version=types.SimpleNamespace(cuda="0"), bfloat16="bf16",
                          float8_e4m3fn="e4m3", uint8="uint8", int16="int16", int32="int32", randn=make,
                          rand=make, empty=make, zeros=make, arange=make,
                          cat=lambda parts: Tensor(sum(part.shape[0] for part in parts)),
                          tensor=lambda values, **_: Tensor(len(values)),
                          repeat_interleave=lambda *_: Tensor(1))
    return torch


def stand_in_deep_gemm(calls, us):
    module = types.ModuleType("deep_gemm")
    module.__version__ = "0"
    for name in ("fp8_gemm_nt", "m_grouped_fp8_gemm_nt_contiguous", "m_grouped_bf16_gemm_nt_contiguous",
                 "m_grouped_fp8_gemm_nt_masked", "m_grouped_bf16_gemm_nt_masked", "k_grouped_fp8_gemm_nt_contiguous",
                 "k_grouped_bf16_gemm_tn_contiguous"):
        def call(*arguments, name=name, **options):
            calls.append((name, arguments, options))
            Clock.launch(us)
        setattr(module, name, call)
    return module


def stand_in_interface(plans, chosen, problems):
    """The library: `plans` has how long each takes."""
    class Plan:
        def __init__(self, problem):
            named = getattr(problem, "plan", b"").decode()
            if named and named not in plans:
                raise ValueError(f"plan = {named}: it does not serve the problem.")
            self.name = named or chosen
            problems.append(problem)

        def run(self, pointers, stream):
            assert stream == 7 and pointers.a and pointers.d
            Clock.launch(plans[self.name])

    return types.SimpleNamespace(words={"dtype": {"bf16": 0, "fp32": 3, "e4m3": 4}}.get,
                                 new_grouped_problem=lambda: types.SimpleNamespace(b_scale_rows=128),
                                 new_grouped_pointers=types.SimpleNamespace, GroupedPlan=Plan)


class DeepGemm(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, str(BENCH))
        self.addCleanup(sys.path.remove, str(BENCH))
        self.bench = importlib.import_module("peer_deepgemm")
        self.calls, self.problems = [], []
        self.plans, self.chosen = {"slow": 40.0, "fast": 10.0, "middle": 20.0, "slowest": 80.0}, "slow"
        Tensor.wrong, Clock.us = 1e-3, 0.0

    def run_bench(self, shapes, *options, torch=None, deep_gemm=True):
        """The exit code and the document."""
        modules = {"torch": torch or stand_in_torch(),
                   "deep_gemm": stand_in_deep_gemm(self.calls, 15.0) if deep_gemm else None}
        self.bench.load_interface = lambda _: stand_in_interface(self.plans, self.chosen, self.problems)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "shapes.tsv")
            with open(path, "w") as file:
                file.write("op\tdtype\tgroups\tm\tn\tk\tsource\n" + "".join(f"{s}\there\n" for s in shapes))
            text, saved, arguments = io.StringIO(), dict(sys.modules), sys.argv
            sys.modules.update(modules)
            sys.argv = ["peer_deepgemm.py", "--library", "x", "--shapes", path, "--rounds", "2", "--burst", "0.001",
                        *options]
            try:
                with contextlib.redirect_stdout(text):
                    code = self.bench.main()
            finally:
                sys.argv = arguments
                for name in modules:
                    sys.modules.pop(name)
                    if name in saved:
                        sys.modules[name] = saved[name]
        return code, json.loads(text.getvalue())

    def test_a_row_has_the_contract_s_fields(self):
        code, document = self.run_bench(["blockwise\tfp8\t1\t8\t256\t256"])
        self.assertEqual(code, 0)
        self.assertLessEqual({"device", "protocol", "rows", "geomean", "min", "summary"}, set(document))
        row, = document["rows"]
        self.assertLessEqual(FIELDS, set(row))
        self.assertEqual((row["dtype"], row["plan"], row["mode"], row["error_ratio"]), ("e4m3", "slow", "sustained", 1))
        self.assertAlmostEqual(row["us"], 40)
        self.assertAlmostEqual(row["peer_us"], 15)
        self.assertAlmostEqual(row["ratio"], 15 / 40)
        self.assertAlmostEqual(document["geomean"], 15 / 40)

    def test_each_operation_is_asked_of_both_sides(self):
        shapes = ["blockwise\tfp8\t1\t8\t256\t384", "grouped_contiguous\tfp8\t3\t100\t256\t384",
                  "grouped_contiguous\tbf16\t3\t100\t256\t384", "grouped_masked\tfp8\t3\t100\t256\t384",
                  "grouped_masked\tbf16\t3\t100\t256\t384", "dense\tbf16\t1\t8\t8\t8"]
        code, document = self.run_bench(shapes)
        self.assertEqual((code, [r["op"] for r in document["rows"]]), (0, [s.split("\t")[0] for s in shapes[:-1]]))
        self.assertEqual([(p.groups, p.type, p.group_count) for p in self.problems],
                         [(0, 4, 1), (1, 4, 3), (1, 0, 3), (2, 4, 3), (2, 0, 3)])
        self.assertEqual({(p.m % 128, p.usual_rows) for p in self.problems[1:3]}, {(0, 100)})
        self.assertEqual({p.m for p in self.problems[3:]}, {3 * 4096})
        # A plan is for one number of rows: every set of operands has it.
        totals = {arguments[0][0].shape[0] for name, arguments, _ in self.calls
                  if name == "m_grouped_fp8_gemm_nt_contiguous"}
        self.assertEqual(totals, {self.problems[1].m})
        called = {name: (arguments, options) for name, arguments, options in self.calls}
        self.assertEqual(len(called), 5)
        (a, b, d), options = called["fp8_gemm_nt"]
        self.assertEqual(([t.shape for t in (*a, *b, d)], options),
                         ([(8, 384), (8, 3), (256, 384), (2, 3), (8, 256)], {"disable_ue8m0_cast": True}))
        (a, b, d, rows, usual), options = called["m_grouped_fp8_gemm_nt_masked"]
        self.assertEqual([t.shape for t in (*a, *b, d, rows)],
                         [(3, 4096, 384), (3, 4096, 3), (3, 256, 384), (3, 2, 3), (3, 4096, 256), (3,)])
        (a, b, d, rows, usual), options = called["m_grouped_bf16_gemm_nt_masked"]
        self.assertEqual((a.shape, b.shape, usual, options), ((3, 4096, 384), (3, 256, 384), 100, {}))
        (a, b, d, _), options = called["m_grouped_bf16_gemm_nt_contiguous"]
        self.assertEqual((a.shape[0] % 128, b.shape), (0, (3, 256, 384)))

    def test_groups_along_k_are_added_to_a_result_each(self):
        code, document = self.run_bench(["grouped_k\tfp8\t3\t64\t256\t1024", "grouped_k\tbf16\t3\t64\t256\t1024"])
        self.assertEqual((code, [row["k"] for row in document["rows"]]), (0, [1024, 1024]))
        for problem in self.problems:
            self.assertEqual((problem.groups, problem.m, problem.out, problem.accumulate, problem.group_count),
                             (3, 64, 3, 1, 3))
            self.assertEqual(problem.k % 128, 0)
        self.assertEqual([p.b_scale_rows for p in self.problems], [1, 128])
        deep = self.problems[0].k
        called = {name: arguments for name, arguments, _ in self.calls}
        a, b, d, depths, table, c = called["k_grouped_fp8_gemm_nt_contiguous"]
        self.assertEqual([t.shape for t in (*a, *b, d, table)],
                         [(64 * deep,), (64, deep // 128), (256 * deep,), (256, deep // 128), (3, 64, 256), (3,)])
        self.assertIs(c, d)
        self.assertEqual((sum(depths), len(depths)), (deep, 3))
        a, b, d, depths, table, c = called["k_grouped_bf16_gemm_tn_contiguous"]
        self.assertEqual([t.shape for t in (a, b, d)], [(deep, 64), (deep, 256), (3, 64, 256)])

    def test_every_plan_is_tried_and_the_fastest_reported(self):
        code, document = self.run_bench(["blockwise\tfp8\t1\t8\t256\t256"], "--plan", "every", "--instances",
                                        ",".join([*self.plans, "another"]))
        row, = document["rows"]
        self.assertEqual((code, row["plan"], row["chosen"]), (0, "fast", "slow"))
        self.assertEqual(row["candidates_us"], self.plans)
        self.assertEqual(set(row["paired"]), {"fast", "middle", "slow"})  # the best two, and the library's own choice
        self.assertAlmostEqual(row["ratio"], 1.5)

    def test_a_named_plan_is_the_only_one(self):
        _, document = self.run_bench(["blockwise\tfp8\t1\t8\t256\t256"], "--plan", "middle")
        row, = document["rows"]
        self.assertEqual(row["plan"], "middle")
        self.assertNotIn("candidates_us", row)

    def test_a_plan_that_does_not_exist_is_bad_usage(self):
        code, document = self.run_bench(["blockwise\tfp8\t1\t8\t256\t256"], "--plan", "none")
        self.assertEqual(code, 2)
        self.assertIn("none", document["error"])

    def test_a_wrong_result_has_no_times(self):
        Tensor.wrong = math.nan
        code, document = self.run_bench(["blockwise\tfp8\t1\t8\t256\t256"])
        row, = document["rows"]
        self.assertEqual((code, row["wrong"], row["counts"], document["geomean"]), (1, True, False, 0))
        self.assertEqual((row["error"], row["peer_error"]), (None, None))
        self.assertNotIn("us", row)

    def test_the_file_has_every_row_so_far(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            seen = []
            finished = self.bench.Bench.shape

            def shape(bench, *arguments):
                if os.path.exists(path):
                    with open(path) as file:
                        seen.append(len(json.load(file)["rows"]))
                return finished(bench, *arguments)

            self.bench.Bench.shape = shape
            self.addCleanup(setattr, self.bench.Bench, "shape", finished)
            _, document = self.run_bench(["blockwise\tfp8\t1\t8\t256\t256"] * 3, "--out", path)
            with open(path) as file:
                self.assertEqual(json.load(file), document)
            self.assertEqual(seen, [1, 2])

    def test_what_the_machine_lacks_is_a_sentence(self):
        shapes = ["blockwise\tfp8\t1\t8\t256\t256"]
        for arguments, word in (({"deep_gemm": False}, "deep_gemm"), ({"torch": stand_in_torch(False)}, "no GPU"),
                                ({"torch": stand_in_torch(True, 8)}, "Hopper")):
            code, document = self.run_bench(shapes, **arguments)
            self.assertEqual(code, 3)
            self.assertIn(word, document["error"])


if __name__ == "__main__":
    unittest.main()
