"""The tool's contract with scripts: exit codes, one sentence on stderr, one JSON document on stdout.

Usage: contract_test.py TOOL [unittest arguments]
"""
import json
import os
import re
import subprocess
import sys
import unittest

TOOL = None


def run(*arguments, **environment):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=30)


class BadUsage(unittest.TestCase):
    def refused(self, *arguments, names):
        result = run(*arguments)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, f"not one line: {result.stderr!r}")
        self.assertTrue(result.stderr.endswith(".\n"), f"not a sentence: {result.stderr!r}")
        for word in names:
            self.assertIn(word, result.stderr)

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


IDESC = ("encode", "idesc")


class Help(unittest.TestCase):
    def test_every_command_has_a_page_with_an_example(self):
        root = run("--help")
        self.assertEqual((root.returncode, root.stderr), (0, ""))
        listed = [line.split()[0] for line in re.split("subcommands:", root.stdout, flags=re.IGNORECASE)[1].splitlines()
                  if line.startswith("  ") and not line.startswith("   ") and "./warpwright" not in line]
        self.assertIn("devices", listed)
        self.assertIn("encode", listed)
        self.assertIn("test", listed)
        for command in listed:
            page = run(command, "--help")
            self.assertEqual((page.returncode, page.stderr), (0, ""), command)
            self.assertIn(f"./warpwright {command}", page.stdout)
            self.assertIn("--json", page.stdout + run(command, "idesc", "--help").stdout)

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^warpwright \d+\.\d+\.\d+\n$")


class Devices(unittest.TestCase):
    def test_json_has_the_three_lists(self):
        result = run("devices", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        for field in ("gpus", "simulators", "toolchains"):
            self.assertIsInstance(document[field], list)
        self.assertIn("sim:sm90", [simulator["target"] for simulator in document["simulators"]])

    def test_cuda_off_hides_gpu_and_nvcc(self):
        document = json.loads(run("devices", "--json", WARPWRIGHT_CUDA="off").stdout)
        self.assertEqual(document["gpus"], [])
        self.assertNotIn("nvcc", [toolchain["name"] for toolchain in document["toolchains"]])

    def test_empty_path_finds_no_host_compiler(self):
        document = json.loads(run("devices", "--json", PATH="/nonexistent", WARPWRIGHT_CUDA="off").stdout)
        self.assertEqual(document["toolchains"], [])

    def test_table_has_no_colour_off_a_terminal(self):
        self.assertNotIn("\033", run("devices").stdout)


class Encode(unittest.TestCase):
    # Values of an independent encoder.
    def value(self, *arguments):
        result = run("encode", *arguments, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["value"]

    def idesc(self, kind, m, n, a_major="K", b_major="K", *more):
        return self.value("idesc", "--a", kind, "--b", kind, "--c", "f32", "--m", str(m), "--n", str(n), "--a-major",
                          a_major, "--b-major", b_major, *more)

    def test_instruction_descriptor(self):
        self.assertEqual(self.idesc("bf16", 64, 8), "0x04020490")
        self.assertEqual(self.idesc("bf16", 64, 200), "0x04320490")

    def test_scaled_instruction_descriptor(self):
        self.assertEqual(self.idesc("e4m3", 128, 8, "K", "K", "--scale", "ue8m0"), "0x08820000")
        self.assertEqual(self.idesc("e4m3", 256, 256, "K", "K", "--scale", "ue8m0"), "0x10c00000")

    def test_shared_memory_descriptor(self):
        smem = ("smem", "--arch", "sm100", "--type", "bf16", "--rows", "128", "--k", "16")
        self.assertEqual(self.value(*smem, "--swizzle", "128", "--major", "K"), "0x4000404000010000")
        self.assertEqual(self.value(*smem, "--swizzle", "32", "--major", "K"), "0xc000401000010000")
        self.assertEqual(self.value(*smem, "--swizzle", "128", "--major", "M"), "0x4000408000400000")

    def test_rows_and_k_have_defaults(self):
        smem = ("smem", "--arch", "sm100", "--type", "bf16", "--swizzle", "128", "--major", "K")
        self.assertEqual(self.value(*smem), "0x4000404000010000")

    def test_leading_zeros_are_decimal(self):
        self.assertEqual(self.idesc("bf16", "064", "0200"), "0x04320490")

    def test_text_output_is_the_value_alone(self):
        result = run("encode", "idesc", "--a", "bf16", "--b", "bf16", "--c", "f32", "--m", "64", "--n", "8", "--a-major",
                     "K", "--b-major", "K")
        self.assertEqual(result.stdout, "0x04020490\n")


class SuiteCommand(unittest.TestCase):
    def test_outside_a_checkout_it_says_so(self):
        result = run("test")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("checkout", result.stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
