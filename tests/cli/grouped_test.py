"""Blockwise, grouped and block-scaled products through the tool: `explain` and `gemm` on every format, `bench` and
`tune` beside a stand-in for the Python interpreter. Needs no GPU.

Usage: grouped_test.py TOOL [unittest arguments]
"""
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

TOOL = None
FORMATS = ("mxfp8", "mxfp4", "nvfp4", "w4a8", "blockwise")
EXPLAINED = {"kernel", "tile", "stages", "rings", "smem_bytes", "tmem_columns", "waves", "reason", "floor_us", "plan",
             "instance"}
ROW = {"op": "blockwise", "dtype": "e4m3", "groups": 1, "m": 128, "n": 4096, "k": 7168, "mode": "sustained", "us": 10.0,
       "peer_us": 12.0, "ratio": 1.2, "ratio_lo": 1.1, "ratio_hi": 1.3, "tflops": 700.0, "gbps": 3000.0,
       "plan": "grouped-64x128-c1-s8", "counts": True}
# Prints what it is told to; keeps its arguments and the shapes it was given.
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" > "$STAND_IN_FOLDER/arguments"
while [ $# -gt 0 ]; do
  [ "$1" = --shapes ] && cp "$2" "$STAND_IN_FOLDER/shapes"
  case "$1" in
    *.py) for f in peer.py peer_deepgemm.py warpwright/_abi.py; do [ -f "$(dirname "$1")/$f" ] || exit 9; done;;
  esac
  shift
done
cat "$STAND_IN_FOLDER/document"
exit $(cat "$STAND_IN_FOLDER/code")
"""


# A test run without CUDA hands its switch on, and the tool would refuse `bench` before it looks for the interpreter.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "WARPWRIGHT_CUDA"}


def run(*arguments, **environment):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, env={**ENVIRONMENT, **environment},
                          timeout=120)


class Tool(unittest.TestCase):
    def document(self, *arguments, code=0, **environment):
        result = run(*arguments, "--json", **environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def refused(self, *arguments, names, code=2, **environment):
        result = run(*arguments, **environment)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result)
        self.assertTrue(result.stderr.endswith(".\n"), f"not a sentence: {result.stderr!r}")
        for word in names:
            self.assertIn(word, result.stderr)


class Explain(Tool):
    def check(self, plan):
        self.assertLessEqual(EXPLAINED, set(plan))
        self.assertEqual(len(plan["tile"]), 3)
        self.assertGreaterEqual(plan["waves"], 1)
        self.assertEqual(plan["stages"], next(r["stages"] for r in plan["rings"] if r["name"] == "input"))
        for ring in plan["rings"]:
            self.assertEqual(len(ring["barriers"]), 2, ring)
            for barrier in ring["barriers"]:
                self.assertEqual(barrier["count"], sum(a["arrivals"] for a in barrier["arrivals"]), barrier)
        self.assertEqual(plan["floor_us"], max(plan["floor"]["tensor_us"], plan["floor"]["memory_us"]))

    def test_every_operation_of_hopper(self):
        shape = ("--n", "4096", "--k", "7168")
        for more, scaled in ((("--op", "blockwise", "--m", "4096"), True), (("--op", "blockwise", "--m", "1"), True),
                             (("--op", "grouped_contiguous", "--groups", "8", "--m", "32768", "--dtype", "e4m3"), True),
                             (("--op", "grouped_contiguous", "--groups", "8", "--m", "32768"), False),
                             (("--op", "grouped_masked", "--groups", "32", "--m", "6144", "--dtype", "fp8"), True),
                             (("--op", "grouped_masked", "--groups", "32", "--m", "6144"), False),
                             (("--op", "grouped_k", "--groups", "8", "--m", "4096"), False),
                             (("--op", "grouped_k", "--groups", "8", "--m", "4096", "--dtype", "e4m3"), True),
                             (("--op", "blockwise", "--m", "300", "--scaling", "blockwise_rows"), True),
                             (("--op", "grouped_masked", "--groups", "2", "--m", "600", "--dtype", "e4m3",
                               "--epilogue", "swiglu+bias", "--out-dtype", "e4m3"), True)):
            for target in ((), ("--target", "sm90")):
                plan = self.document("explain", *more, *shape, *target)
                self.check(plan)
                self.assertEqual((plan["target"], plan["tmem_columns"]), ("sm90", 0))
                # Factors have a role of their own; their stages are those of the operands, or a ring of their own.
                arrive = {a["role"] for ring in plan["rings"] for b in ring["barriers"] for a in b["arrivals"]}
                self.assertEqual("scales" in arrive, scaled, more)

    def test_it_takes_the_name_it_prints(self):
        base = ("explain", "--op", "grouped_masked", "--groups", "4", "--m", "256", "--n", "256", "--k", "256")
        plans = self.document(*base)
        again = self.document(*base, "--plan", plans["plan"])
        self.assertEqual(again["plan"], plans["plan"])
        self.assertIn("named", again["reason"])
        self.assertEqual(self.document(*base, "--plan", plans["instance"])["plan"], plans["plan"])
        self.refused(*base, "--plan", "grouped-1x1", names=["grouped-1x1", plans["plan"]])
        self.refused(*base, "--plan", "grouped-64x128-q9", names=["'q9'", plans["plan"]])
        self.refused(*base, "--plan", "dense-128x256-c2-s4", names=["does not serve", plans["plan"]])
        # What version 0.1 called it.
        self.refused("explain", "--op", "blockwise", "--m", "4", "--n", "64", "--k", "64", "--plan",
                     "skinny-64x8-k4-s20", names=["'k4'", "Plans for this problem"])

    def test_more_groups_move_more_weights(self):
        floors = [self.document("explain", "--op", "grouped_contiguous", "--groups", g, "--m", "1024", "--n", "4096",
                                "--k", "4096")["floor"] for g in ("1", "8")]
        self.assertEqual(floors[0]["flops"], floors[1]["flops"])
        self.assertEqual(floors[1]["bytes"] - floors[0]["bytes"], 7 * 4096 * 4096 * 2)

    def test_every_format_of_blackwell(self):
        for op in (("--op", "dense"), ("--op", "grouped_contiguous", "--groups", "4"),
                   ("--op", "grouped_masked", "--groups", "4")):
            for scaling in FORMATS:
                plan = self.document("explain", *op, "--scaling", scaling, "--m", "4096", "--n", "4096", "--k", "4096",
                                     "--target", "sm100")
                self.check(plan)
                self.assertGreater(plan["tmem_columns"], 0)
                self.assertEqual(plan["target"], "sm100")
                m, n, k = plan["tile"]
                self.assertTrue(plan["instance"].startswith(f"sm100/{plan['plan']}/"), plan["instance"])
                self.assertTrue(min(m, n, k) > 0, plan["tile"])
        few = self.document("explain", "--op", "grouped_contiguous", "--groups", "64", "--m", "640", "--n", "4096",
                            "--k", "4096", "--scaling", "mxfp8", "--epilogue", "swiglu", "--target", "sm100")
        self.assertEqual((few["plan"], few["tile"][0]), ("grouped-n16-s8-swap", 16))

    def test_a_format_of_blackwell_names_its_target(self):
        plan = self.document("explain", "--scaling", "nvfp4", "--m", "512", "--n", "512", "--k", "512")
        self.assertEqual((plan["target"], plan["instance"]), ("sim:sm100", "sm100/dense-128x128-c2x1-s6-pair/e2m1-nvfp4"))

    def test_what_no_kernel_serves(self):
        base = ("explain", "--m", "256", "--n", "256", "--k", "256")
        self.refused(*base, "--op", "grouped_masked", "--groups", "7", names=["m = 256", "7"])
        self.refused(*base, "--op", "grouped_contiguous", "--target", "sm80", names=["sm80", "sm90 and sm100"])
        self.refused(*base, "--op", "blockwise", "--scaling", "mxfp8", "--target", "sm100",
                     names=["mxfp8", "blockwise"])
        self.refused(*base, "--scaling", "mxfp5", "--target", "sm100", names=["mxfp5", "nvfp4"])
        self.refused(*base, "--scaling", "mxfp8", "--dtype", "e2m1", "--target", "sm100", names=["e2m1", "e4m3"])
        self.refused(*base, "--scaling", "nvfp4", "--alpha", "2", "--target", "sm100", names=["--alpha"])
        self.refused(*base, "--op", "grouped_k", "--target", "sm80", names=["sm80", "sm90 and sm100"])
        self.refused(*base, "--op", "blockwise", "--scaling", "tensor", names=["tensor", "blockwise_rows"])
        self.refused(*base, "--op", "blockwise", "--epilogue", "relu", names=["'relu'", "swiglu"])
        self.refused(*base, "--op", "blockwise", "--beta", "1", names=["out = bf16", "fp32"])
        self.refused(*base, "--op", "blockwise", "--beta", "2", "--out-dtype", "fp32", names=["--beta", "dense"])
        self.refused(*base, "--op", "grouped_contiguous", "--beta", "1", names=["--beta", "dense"])
        self.refused(*base, "--op", "grouped_contiguous", "--layout", "tn", names=["a_major = MN", "[m, k]"])
        self.refused(*base, "--op", "grouped_k", "--layout", "nn", names=["b_major = MN", "a_major"])
        self.refused(*base, "--op", "grouped_masked", "--layout", "nn", "--dtype", "e4m3", names=["16 bits", "e4m3"])
        self.refused(*base, "--op", "grouped_contiguous", "--layout", "nn", "--target", "sm100", "--scaling", "mxfp8",
                     names=["b_major = MN", "sm100"])


class Gemm(Tool):
    def test_every_format_of_blackwell_is_right(self):
        shape = ("--m", "72", "--n", "64", "--k", "256", "--target", "sim:sm100", "--landing", "late", "--schedule",
                 "fifo")
        for scaling in FORMATS:
            gemm = self.document("gemm", "--scaling", scaling, *shape)
            self.assertEqual((gemm["ok"], gemm["target"]), (True, "sim:sm100"), scaling)
            self.assertGreater(gemm["predicted_us"], 0)
            for op in ("grouped_contiguous", "grouped_masked"):
                gemm = self.document("gemm", "--op", op, "--groups", "6", "--scaling", scaling, *shape)
                self.assertIs(gemm["ok"], True, (op, scaling))
                self.assertRegex(gemm["instance"], r"^sm100/(grouped|blockwise)-")

    def test_every_operation_of_hopper_is_right(self):
        for more, features in ((("--op", "blockwise", "--m", "300"), "e4m3"),
                               (("--op", "blockwise", "--m", "8"), "e4m3"),
                               (("--op", "blockwise", "--m", "72", "--scaling", "blockwise_rows"), "row_scales"),
                               (("--op", "grouped_contiguous", "--m", "72"), "bf16-contiguous"),
                               (("--op", "grouped_contiguous", "--m", "72", "--epilogue", "bias"), "bias"),
                               (("--op", "grouped_contiguous", "--m", "72", "--dtype", "e4m3"), "e4m3-contiguous"),
                               (("--op", "grouped_contiguous", "--m", "72", "--dtype", "e4m3", "--scaling",
                                 "blockwise_rows"), "row_scales"),
                               (("--op", "grouped_contiguous", "--m", "72", "--dtype", "e4m3", "--epilogue",
                                 "bias+swiglu", "--out-dtype", "e4m3"), "to_e4m3-contiguous-any_rows-bias-swiglu"),
                               (("--op", "grouped_masked", "--m", "72", "--epilogue", "bias"), "bias"),
                               (("--op", "grouped_masked", "--m", "72", "--dtype", "e4m3"), "e4m3-masked"),
                               (("--op", "grouped_k", "--m", "72", "--dtype", "e4m3"), "along_k-row_scales"),
                               (("--op", "grouped_k", "--m", "72"), "bf16-to_fp32-along_k"),
                               (("--op", "grouped_contiguous", "--m", "72", "--layout", "nn"), "bf16-nn-contiguous"),
                               (("--op", "grouped_masked", "--m", "72", "--layout", "nn"), "bf16-nn-masked"),
                               (("--op", "grouped_k", "--m", "72", "--layout", "tn"), "bf16-tn-to_fp32-along_k"),
                               (("--op", "blockwise", "--m", "72", "--out-dtype", "fp32", "--beta", "1", "--scaling",
                                 "blockwise_rows"), "e4m3-to_fp32-row_scales-added")):
            with self.subTest(more):
                groups = () if more[1] == "blockwise" else ("--groups", "3")
                problem = (*more, *groups, "--n", "256", "--k", "256")
                gemm = self.document("gemm", *problem, "--target", "sim:sm90", "--landing", "late", "--schedule", "fifo")
                self.assertEqual((gemm["ok"], gemm["target"]), (True, "sim:sm90"))
                self.assertIn(features, gemm["instance"].split("/")[2])
                explained = self.document("explain", *problem, WARPWRIGHT_CUDA="off")
                self.assertEqual((gemm["plan"], gemm["instance"]), (explained["plan"], explained["instance"]))

    def test_a_timeline_of_every_operation(self):
        size = ["--m", "128", "--n", "256", "--k", "256", "--json"]
        for arguments, begin, features in (
                (["--op", "blockwise"], "sm90/", "e4m3"),
                (["--op", "grouped_contiguous", "--groups", "3"], "sm90/grouped-", "bf16-contiguous"),
                (["--op", "grouped_masked", "--groups", "2", "--dtype", "e4m3"], "sm90/grouped-", "e4m3-masked"),
                (["--op", "grouped_k", "--groups", "2"], "sm90/grouped-", "bf16-to_fp32-along_k"),
                (["--scaling", "mxfp8", "--target", "sim:sm100"], "sm100/dense-", "e4m3-mxfp8")):
            with self.subTest(arguments), tempfile.TemporaryDirectory() as folder:
                page = pathlib.Path(folder) / "page.html"
                done = subprocess.run([TOOL, "trace", *arguments, *size, "--html", page], timeout=120, text=True,
                                      capture_output=True, env={**os.environ, "WARPWRIGHT_CUDA": "off"})
                self.assertEqual(done.returncode, 0, done.stderr)
                document = json.loads(done.stdout)
                instance = document["instance"]
                self.assertEqual((document["ok"], document["perfetto"]), (True, None))
                self.assertTrue(instance.startswith(begin), instance)
                self.assertEqual(document["plan"], instance.split("/")[1])
                self.assertIn(features, instance)
                self.assertGreater(document["spans"], 50)
                self.assertGreater(document["edges"], 10)
                self.assertGreater(document["predicted_us"], 1)
                self.assertIn(instance, page.read_text())

    def test_operands_of_one_s_own(self):
        one, two = b"\x80\x3f", b"\x00\x40"  # bf16
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "a").write_bytes(one * 8 * 64)
            (folder / "b").write_bytes(one * 8 * 64 + two * 8 * 64)
            for file, numbers in {"table": (0, 3, 7), "experts": (1, 0)}.items():
                (folder / file).write_bytes(b"".join(n.to_bytes(4, "little") for n in numbers))
            arguments = ["gemm", "--op", "grouped_contiguous", "--groups", "2", "--m", "8", "--n", "8", "--k", "64",
                         "--target", "sim:sm90", "--json"]
            for option in ("a", "b", "d", "table"):
                arguments += [f"--{option}", str(folder / option)]
            for more, values in (([], (64, 128)), (["--experts", str(folder / "experts")], (128, 64))):
                done = subprocess.run([TOOL, *arguments, *more], capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["out_dtype"], "bf16")
                words = {64: b"\x80\x42", 128: b"\x00\x43"}
                # The last row belongs to no group and is not written.
                self.assertEqual((folder / "d").read_bytes(),
                                 words[values[0]] * 3 * 8 + words[values[1]] * 4 * 8 + b"\xff\xff" * 8)

    def test_rows_that_are_gathered(self):
        base = ("gemm", "--op", "grouped_contiguous", "--groups", "3", "--m", "70", "--n", "64", "--k", "72", "--target",
                "sim:sm90", "--landing", "late", "--schedule", "fifo")
        document = self.document(*base, "--a-rows", "9")
        self.assertTrue(document["ok"])
        self.assertTrue(document["instance"].endswith("bf16-contiguous-gathered"), document["instance"])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "a").write_bytes(b"\x80\x3f" * 64 + b"\x00\x40" * 64)  # a row of ones and one of twos, bf16
            (folder / "b").write_bytes(b"\x80\x3f" * 8 * 64)
            for file, numbers in {"table": (0, 3), "index": (1, 0, 1)}.items():
                (folder / file).write_bytes(b"".join(n.to_bytes(4, "little") for n in numbers))
            own = [text for option in ("a", "b", "d", "table", "index") for text in (f"--{option}", str(folder / option))]
            self.document("gemm", "--op", "grouped_contiguous", "--m", "3", "--n", "8", "--k", "64", "--target",
                          "sim:sm90", "--a-rows", "2", *own)
            one, two = b"\x80\x42", b"\x00\x43"  # 64 and 128
            self.assertEqual((folder / "d").read_bytes(), two * 8 + one * 8 + two * 8)

    def test_groups_are_drawn_from_the_seed(self):
        base = ("gemm", "--op", "grouped_contiguous", "--groups", "9", "--scaling", "nvfp4", "--m", "90", "--n", "64",
                "--k", "64", "--target", "sim:sm100", "--landing", "eager", "--schedule", "fifo")
        checks = [self.document(*base, "--seed", seed)["checks"] for seed in ("1", "1", "4")]
        self.assertEqual(checks[0], checks[1])
        self.assertNotEqual(checks[0], checks[2])

    def test_what_no_kernel_has(self):
        base = ("gemm", "--m", "64", "--n", "256", "--k", "256", "--target", "sim:sm90")
        self.refused(*base, "--op", "grouped_k", "--groups", "2", "--epilogue", "bias", names=["bias"])
        self.refused(*base, "--op", "blockwise", "--epilogue", "relu", names=["'relu'", "swiglu"])


class Bench(Tool):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.python = self.path("python")
        with open(self.python, "w") as file:
            file.write(STAND_IN)
        os.chmod(self.python, os.stat(self.python).st_mode | stat.S_IXUSR)
        self.answer({"device": "stand-in", "protocol": {"against": "deep_gemm 0"}, "rows": [ROW], "geomean": 1.2,
                     "min": 1.2})

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def answer(self, document, code=0):
        for name, text in (("document", json.dumps(document)), ("code", str(code))):
            with open(self.path(name), "w") as file:
                file.write(text)

    def environment(self):
        return {"WARPWRIGHT_PYTHON": self.python, "STAND_IN_FOLDER": self.folder.name, "WARPWRIGHT_LIBRARY": "library"}

    def text(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def test_the_document_is_the_peer_s(self):
        bench = self.document("bench", "--suite", "blockwise", "--against", "deepgemm", **self.environment())
        self.assertEqual(bench["rows"], [ROW])
        self.assertEqual((bench["device"], bench["geomean"], bench["min"]), ("stand-in", 1.2, 1.2))
        people = run("bench", "--suite", "blockwise", **self.environment())
        self.assertEqual(people.returncode, 0, people.stderr)
        self.assertIn("stand-in against deep_gemm 0: geometric mean 1.200", people.stdout)
        self.assertIn("grouped-64x128-c1-s8", people.stdout)

    def test_the_peer_gets_the_shapes_of_the_suite(self):
        shapes = self.path("all.tsv")
        with open(shapes, "w") as file:
            file.write("op\tdtype\tgroups\tm\tn\tk\tsource\ndense\tbf16\t1\t64\t64\t64\ta\n"
                       "blockwise\tfp8\t1\t128\t256\t512\ta\ngrouped_masked\tbf16\t6\t20\t256\t512\ta\n")
        for suite, ops in (("blockwise", ["blockwise"]), ("grouped", ["grouped_masked"])):
            self.document("bench", "--suite", suite, "--shapes", shapes, "--rounds", "3", "--burst", "0.1",
                          "--every-plan", **self.environment())
            lines = [line.split("\t") for line in self.text("shapes").splitlines()]
            self.assertEqual(lines[0], ["op", "dtype", "groups", "m", "n", "k", "counts"])
            self.assertEqual([line[0] for line in lines[1:]], ops)
        self.assertEqual(lines[1], ["grouped_masked", "bf16", "6", "20", "256", "512", "even"])
        arguments = self.text("arguments").splitlines()
        self.assertEqual(arguments[arguments.index("--rounds") + 1], "4")
        self.assertEqual(arguments[arguments.index("--burst") + 1], "0.1")
        self.assertEqual(arguments[arguments.index("--plan") + 1], "every")
        self.document("bench", "--suite", "all", "--against", "deepgemm", "--shapes", shapes, **self.environment())
        self.assertEqual([line.split("\t")[0] for line in self.text("shapes").splitlines()[1:]],
                         ["blockwise", "grouped_masked"])

    def test_the_peer_gets_shapes_drawn_at_random(self):
        drawn = {}
        for name, count, draw in (("few", "7", "3"), ("more", "21", "3"), ("other", "7", "4")):
            document = self.document("bench", "--suite", "grouped", "--random", count, "--draw", draw,
                                     **self.environment())
            self.assertEqual(document["draw"], int(draw))
            drawn[name] = [line.split("\t") for line in self.text("shapes").splitlines()[1:]]
            self.assertEqual(len(drawn[name]), int(count))
        self.assertEqual(drawn["few"], drawn["more"][:7])
        self.assertNotEqual(drawn["few"], drawn["other"])
        kinds = {(row[0], row[1]) for row in drawn["more"]}
        self.assertEqual({op for op, _ in kinds}, {"grouped_contiguous", "grouped_masked", "grouped_k"})
        self.assertEqual({counts for *_, counts in drawn["more"]}, {"even", "skewed"})

    def test_every_suite_has_shapes_of_its_own(self):
        for suite in ("blockwise", "grouped"):
            self.document("bench", "--suite", suite, **self.environment())
            self.assertGreater(len(self.text("shapes").splitlines()), 4, suite)

    def test_a_wrong_row_ends_with_1(self):
        row = {key: ROW[key] for key in ("op", "dtype", "groups", "m", "n", "k", "mode", "plan")}
        self.answer({"device": "stand-in", "protocol": {"against": "deep_gemm 0"},
                     "rows": [row | {"wrong": True, "ratio": 0, "counts": False}], "geomean": 0, "min": 0}, 1)
        result = run("bench", "--suite", "blockwise", **self.environment())
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("wrong", result.stdout)

    def test_a_sentence_of_the_peer_is_the_tool_s(self):
        for code in (2, 3):
            self.answer({"error": "it has no deep_gemm."}, code)
            self.refused("bench", "--suite", "grouped", names=["it has no deep_gemm"], code=code, **self.environment())

    def test_what_the_machine_lacks(self):
        nothing = {**self.environment(), "WARPWRIGHT_PYTHON": self.path("absent")}
        self.refused("bench", "--suite", "blockwise", names=["Python", "absent"], code=3, **nothing)
        # The interpreter of this test has no torch, or no GPU.
        self.refused("bench", "--suite", "blockwise", names=["."], code=3,
                     **{**self.environment(), "WARPWRIGHT_PYTHON": sys.executable, "CUDA_VISIBLE_DEVICES": ""})
        for command in (("bench", "--suite", "grouped"), ("bench", "--suite", "all"),
                        ("tune", "--op", "blockwise", "--sizes", "128x256x256"),
                        ("tune", "--op", "grouped_masked", "--groups", "4", "--sizes", "128x256x256")):
            self.refused(*command, names=["CUDA"], code=3, WARPWRIGHT_CUDA="off")

    def test_words_that_contradict_each_other(self):
        for suite in ("blockwise", "grouped"):
            self.refused("bench", "--suite", suite, "--against", "cublaslt", names=["cublaslt", "deepgemm"])
            self.refused("bench", "--suite", suite, "--profile", names=["--profile"])
            self.refused("bench", "--suite", suite, "--mode", "cool", names=["cool", "sustained"])
        self.refused("bench", "--against", "deepgemm", names=["deepgemm", "dense"])
        self.refused("bench", "--suite", "grouped", "--sizes", "64x64x64", names=["--sizes", "--shapes"])
        self.refused("bench", "--suite", "blockwise", "--sizes", "64x64x60", names=["k = 60", "multiple of 16"])
        self.refused("tune", "--op", "blockwise", "--sizes", "64x60x64", names=["n = 60", "multiple of 8"])
        self.refused("tune", "--op", "grouped_masked", names=["--shapes", "--sizes"])
        self.refused("tune", "--sizes", "64x64x64", "--groups", "2", names=["groups = 2"])


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
