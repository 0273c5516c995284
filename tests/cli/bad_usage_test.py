"""A command that cannot be read, or asks for something that does not exist, ends with 2 and one sentence.

Usage: bad_usage_test.py TOOL [unittest arguments]
"""
import json
import os
import sys
import tempfile
import unittest

import contract_test
from contract_test import DENSE, GEMM, IDESC, RING, run, without_notes


class BadUsage(unittest.TestCase):
    def refused(self, *arguments, names):
        result = run(*arguments)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        said = without_notes(result.stderr)
        self.assertEqual(said.count("\n"), 1, f"not one line: {said!r}")
        self.assertTrue(said.endswith(".\n"), f"not a sentence: {said!r}")
        for word in names:
            self.assertIn(word, said)

    def test_no_command(self):
        self.refused(names=["command", "--help"])

    def test_unknown_command(self):
        self.refused("frobnicate", names=["'frobnicate'", "unknown command"])

    def test_unknown_command_suggests_the_nearest(self):
        self.refused("devcies", names=["'devcies'", "'devices'"])

    def test_unknown_command_before_options(self):
        self.refused("frobnicate", "--m", "3", names=["'frobnicate'"])

    def test_unknown_option(self):
        self.refused("devices", "--frob", names=["'--frob'", "unknown option"])

    def test_unknown_option_with_value(self):
        self.refused("devices", "--frob=7", names=["'--frob=7'"])

    def test_unknown_option_wins_over_missing_ones(self):
        self.refused("encode", "idesc", "--frob", "7", names=["'--frob'"])

    def test_unexpected_argument(self):
        self.refused("devices", "here", names=["'here'"])

    def test_a_line_break_in_an_argument_stays_in_one_line(self):
        self.refused("two\nlines", names=["two lines"])

    def test_missing_subcommand(self):
        self.refused("encode", names=["encode", "--help"])

    def test_bad_dtype(self):
        self.refused(*IDESC, "--a", "int9", names=["--a", "'int9'", "bf16", "e4m3"])

    def test_number_that_is_none(self):
        self.refused(*IDESC, "--m", "many", names=["--m", "'many'", "whole number"])

    def test_number_with_a_tail(self):
        self.refused(*IDESC, "--m", "128x", names=["--m", "'128x'"])

    def test_number_too_large_for_any_integer(self):
        self.refused(*IDESC, "--n", "99999999999999999999", names=["--n", "'99999999999999999999'"])

    def test_negative_number(self):
        self.refused(*IDESC, "--n", "-8", names=["--n", "'-8'"])

    def test_option_without_its_value(self):
        self.refused("encode", "smem", "--swizzle", names=["--swizzle", "needs a value"])

    def test_flag_with_a_value(self):
        self.refused("devices", "--json=maybe", names=["--json", "takes no value"])

    def test_option_given_twice(self):
        self.refused("encode", "smem", "--arch", "sm90", "--type", "bf16", "--swizzle", "32", "--swizzle", "64",
                     "--major", "K", names=["--swizzle", "32, 64", "once"])

    def test_shape_the_instruction_does_not_have(self):
        self.refused("encode", "idesc", "--a", "bf16", "--b", "bf16", "--c", "f32", "--m", "100", "--n", "64",
                     "--a-major", "K", "--b-major", "K", names=["100"])

    def test_unknown_swizzle(self):
        self.refused("encode", "smem", "--arch", "sm100", "--type", "bf16", "--swizzle", "48", "--major", "K",
                     names=["--swizzle", "'48'", "128"])

    def test_shape_the_kernel_cannot_take(self):
        shape = ("gemm", "--m", "64", "--n", "64", "--k", "63")
        self.refused(*shape, "--target", "sim:sm100", names=["k = 63", "multiple of 8"])
        self.refused("gemm", "--m", "64", "--n", "64", "--k", "64", "--layout", "nn", "--dtype", "s8", "--target",
                     "sim:sm80", names=["b.major = MN", "s8"])

    def test_blockwise_and_grouped_problems_that_break_a_rule(self):
        simulated = ("--n", "64", "--target", "sim:sm90")
        self.refused("gemm", "--op", "blockwise", "--m", "8", "--k", "20", *simulated,
                     names=["k = 20", "multiple of 16"])
        self.refused("gemm", "--op", "grouped_masked", "--groups", "7", "--m", "300", "--k", "64", *simulated,
                     names=["m = 300", "group_count = 7"])
        self.refused("gemm", "--op", "blockwise", "--groups", "2", "--m", "8", "--k", "64", *simulated,
                     names=["group_count = 2"])
        self.refused("gemm", "--op", "grouped_k", "--m", "8", "--k", "64", "--dtype", "e4m3", *simulated,
                     names=["k = 64", "multiple of 128"])

    def test_problem_too_large_for_the_simulator(self):
        self.refused("gemm", "--m", "65536", "--n", "65536", "--k", "64", "--target", "sim:sm90", names=["2^33"])

    def test_unknown_and_unserved_targets(self):
        self.refused(*GEMM, "--target", "sm91", names=["--target", "'sm91'"])
        self.refused(*GEMM, "--target", "sim:gfx942", "--dtype", "fp8", names=["a.type = e4m3", "FNUZ"])
        self.refused(*GEMM, "--target", "sim:gfx950", "--dtype", "e5m2", names=["a.type = e5m2", "gfx950"])

    def test_plan_of_another_target(self):
        self.refused(*GEMM, "--plan", "sm100/dense-64x64-c1x1-s8/bf16", "--target", "sim:sm90", names=["sm100", "Hopper"])
        self.refused(*GEMM, "--plan", DENSE, "--target", "sim:sm100", names=[DENSE, "sm100"])

    def test_a_near_miss_gets_the_nearest_names(self):
        for command in (GEMM, ("explain", *GEMM[1:])):
            self.refused(*command, "--plan", "dense-128x256-c2-s44x", names=["dense-128x256-c2-s44x", "nearest",
                                                                            "dense-128x256-c2-s4"])
            self.refused(*command, "--plan", "sm90/dense-128x256-c2-s4/bf16-mt", names=["nearest", DENSE])
            self.refused(*command, "--plan", "gemm_sm90", names=["gemm_sm90", "nearest"])
            self.refused(*command, "--plan", "7", names=["7", "nearest"])
        for target, plan, near in (("sim:sm100", "dense-64x64-c1x1-s9x", "dense-64x64-c1x1-s8"),
                                   ("sim:sm80", "mma-128x256-w2y4", "mma-128x256-w2x4"),
                                   ("sim:gfx950", "matmul-5wave", "matmul-4wave"),
                                   ("sim:gfx942", "gfx942/matmul-defualt/bf16", "gfx942/matmul-default/bf16")):
            self.refused(*GEMM, "--plan", plan, "--target", target, names=[plan, "nearest", near])
        self.refused("check", "sm90/dense-128x256-c2-s4/bf16-mt", names=["nearest", DENSE])
        self.refused("check", "dense-128x256-c2-s4", names=["nearest", DENSE])
        self.refused("check", "gemm_sm90", names=["'gemm_sm90'", "nearest", "/"])

    def test_what_the_kernel_does_not_do(self):
        self.refused(*GEMM, "--target", "sim:sm100", "--plan", "sm100/tmem_lifecycle-n128-s4/bf16",
                     names=["tmem_lifecycle", "nearest"])
        self.refused(*GEMM, "--target", "sim:sm100", "--plan", "sm100/dense-64x64-c1x1-s8/bf16", "--out-dtype", "fp32",
                     names=["sm100/dense-64x64-c1x1-s8/bf16", "fp32 result"])
        self.refused(*GEMM, "--target", "sim:sm100", "--layout", "tn", names=["layout = tn", "nt"])
        self.refused("gemm", "--m", "64", "--n", "64", "--k", "72", "--target", "sim:sm100", "--dtype", "fp8",
                     names=["k = 72", "multiple of 16"])
        self.refused(*GEMM, "--target", "sim:sm90", "--dtype", "s8", names=["a.type = s8"])

    def test_bench_and_tune_of_what_there_is_not(self):
        for command in ("bench", "tune"):
            self.refused(command, "--sizes", "64x64", names=["--sizes", "MxNxK"])
            self.refused(command, "--sizes", "64x64x-1", names=["k = -1"])
            self.refused(command, "--sizes", "64x64x1e9", names=["'1e9'", "whole number"])
            self.refused(command, "--shapes", "/nonexistent", names=["/nonexistent", "cannot be read"])
            self.refused(command, "--sizes", "64x64x64", "--shapes", "f", names=["--sizes", "--shapes"])
        self.refused("bench", "--suite", "grouped", "--against", "torch", names=["torch", "grouped"])
        self.refused("bench", "--against", "deepgemm", names=["deepgemm"])
        self.refused("bench", "--sizes", "64x64x64", "--plan", "dense-1x1", names=["plan = dense-1x1"])
        self.refused("tune", names=["--shapes", "--sizes"])
        self.refused("tune", "--sizes", "64x64x64", "--max-seconds", "-1", names=["--max-seconds"])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "shapes.tsv")
            for text, word in (("m\tn\tk\n1\t2\t3\n", "'op'"),
                               ("op\tdtype\tgroups\tm\tn\tk\ndense\tbf16\t1\t64\n", "line 2"),
                               ("op\tdtype\tgroups\tm\tn\tk\ndense\tbf16\t1\t64\tx\t64\n", "'x'")):
                with open(path, "w") as file:
                    file.write(text)
                for command in ("bench", "tune"):
                    self.refused(command, "--shapes", path, names=[word])
            with open(path, "w") as file:
                file.write("op\tdtype\tgroups\tm\tn\tk\tplans\n"
                           "dense\tbf16\t1\t64\t64\t64\tdense-64x64-c1-s4,dense-7x64-c1-s4-swapped\n")
            self.refused("tune", "--every-plan", "--shapes", path, names=["line 2", "dense-7x64", "multiple of 8"])

    def test_an_epilogue_of_ones_own_is_shown(self):
        text = "float t = x + bias; return t > 0 ? t * t : 0;"
        shape = ("--m", "40", "--n", "48", "--k", "64", "--epilogue", text)
        for command in (("explain", *shape), ("gemm", *shape, "--target", "sim:sm90")):
            document = json.loads(run(*command, "--json").stdout)
            self.assertEqual(document["epilogue"], text)
            self.assertRegex(document["instance"], r"-bias-own[0-9a-f]{16}$")
            self.assertIn(text, run(*command).stdout)
        self.assertNotIn("epilogue", json.loads(run("explain", *shape[:6], "--epilogue", "relu", "--json").stdout))

    def test_explain_of_what_no_kernel_serves(self):
        base = ("explain", "--m", "64", "--n", "64", "--k", "64")
        self.refused(*base, "--target", "gfx90a", names=["--target", "'gfx90a'"])
        self.refused(*base, "--dtype", "s8", names=["a.type = s8"])
        self.refused(*base, "--dtype", "fp8", "--layout", "nn", names=["b.major = MN", "e4m3"])
        self.refused(*base, "--epilogue", "tanh", names=["--epilogue", "'tanh'", "relu"])
        self.refused(*base, "--scaling", "tensor", names=["scaling = tensor", "bf16"])
        self.refused(*base, "--plan", "dense-128x256-x9", names=["'x9'"])
        self.refused(*base, "--plan", "skinny-64x16-split1", names=["skinny", "cannot serve"])

    def test_role_that_does_not_exist(self):
        self.refused(*GEMM, "--target", "sim:sm90", "--schedule", "freeze:nobody", names=["'nobody'", "load"])

    def test_check_of_what_there_is_not(self):
        self.refused("check", names=["--all", "--list"])
        self.refused("check", "nothing", names=["'nothing'", "nearest"])
        self.refused("check", "sm90/dense-100x256-c2-s4/bf16-nt", names=["100"])
        self.refused("check", "mine.cu", names=["'mine.cu'", "is not a file"])
        self.refused("check", RING, "-I", "folder", names=["-I", RING])
        self.refused("check", "--all", "-D", "X=1", names=["-D", "--all"])
        self.refused("trace", "mine.cpp", names=["'mine.cpp'", "is not a file"])
        self.refused("trace", "mine.cpp", "--dtype", "fp16", names=["--dtype", "'mine.cpp'"])
        self.refused("trace", "--kernel", "mine", "--m", "64", "--n", "64", "--k", "64", names=["--kernel", "FILE"])
        self.refused("trace", "--m", "64", "--n", "64", "--k", "64", "-I", "folder", names=["-I"])
        self.refused("check", DENSE, "--sizes", "64x64x", names=["'64x64x'"])
        self.refused("check", RING, "--mutate", "--sizes", "64x64", names=["--mutate", "--sizes"])
        self.refused("check", RING, "--certify", "--sizes", "64x64", names=["--certify", "--sizes"])
        self.refused("check", RING, "--certify", "--mutate", names=["--certify", "--mutate"])
        self.refused("check", DENSE, "--sizes", "0x64x64", names=["at least 1"])

    def test_mutant_that_does_not_exist(self):
        self.refused("mutants", "--only", "M99", names=["'M99'"])

    def test_schedule_of_what_there_is_not(self):
        self.refused("schedule", names=["schedule", "--help"])
        self.refused("schedule", "show", "pingpong", "--target", "gfx950", names=["'pingpong'", "ping-pong"])
        self.refused("schedule", "show", "ping-pong", "--target", "gfx90a", names=["'gfx90a'", "gfx942"])
        self.refused("schedule", "show", "ping-pong", names=["--target"])
        self.refused("schedule", "show", "ping-pong", "--target", "gfx950", "-D", "X", names=["-D", "ping-pong"])
        self.refused("schedule", "show", "ping-pong", "--target", "gfx950", "--name", "mine", names=["--name", "ping-pong"])
        self.refused("schedule", "show", "mine.cpp", names=["'mine.cpp'", "is not a file"])
        for name in ("ping-pong", "legacy/ping-pong"):
            for verb in ("show", "verify", "svg"):
                self.refused("schedule", verb, name, "--target", "gfx942", names=[name, "gfx942", "131072", "65536"])
        self.refused("schedule", "verify", "4-wave", "--target", "sm80", names=["4-wave", "sm80"])

    def test_timeline_that_cannot_be_written_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (folder, os.path.join(folder, "absent", "a.json"), "/dev/null"):
                self.refused("demo", "--timeline", path, names=["--timeline", path])
                for option in ("--perfetto", "--html"):
                    self.refused("trace", *GEMM[1:], option, path, names=[option, path])
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    contract_test.TOOL = sys.argv.pop(1)
    unittest.main()
