"""`check FILE`: the example of docs/write-a-kernel.md is clean, and each usual mistake in it is named.

Usage: your_kernel_test.py TOOL [unittest arguments]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = None
NVCC = None if os.environ.get("WARPWRIGHT_CUDA") == "off" else (
    shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc"))
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "your_kernel"
RETURN = "        return stdx::move(stage).release();\n      });\n    }\n"
STORE = "    if (first_row + row < args.rows) machine::store("


class YourKernel(unittest.TestCase):
    def check(self, *replacements, file="row_norms.h", arguments=(), **environment):
        """The result of checking a copy of the example in which each text, found once, is replaced by the other."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("row_norms.h", "row_norms.cpp"):
                shutil.copy(EXAMPLE / name, folder)
            path = pathlib.Path(folder) / file
            text = path.read_text()
            for old, new in replacements:
                self.assertEqual(text.count(old), 1, old)
                text = text.replace(old, new)
            path.write_text(text)
            command = [TOOL, "check", str(pathlib.Path(folder) / "row_norms.cpp"), *arguments]
            result = subprocess.run(command, capture_output=True, text=True, timeout=240,
                                    env={**os.environ, **environment})
            left = os.listdir(folder)
        self.assertEqual(sorted(left), ["row_norms.cpp", "row_norms.h"])
        return result

    def assert_report(self, result, *words):
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stdout)

    def assert_refused(self, result, *words):
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_the_example_is_clean(self):
        result = self.check(arguments=["--seeds", "2", "--json"])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual((document["verdict"], document["report"]), ("clean", None))
        self.assertGreater(document["checks"], 0)
        (kernel,) = document["kernels"]
        self.assertEqual((kernel["name"], kernel["sizes"]), ("row_norms", 3))

    @unittest.skipIf(NVCC is None, "there is no nvcc")
    def test_without_a_gpu_the_program_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "row_norms")
            subprocess.run([NVCC, "-std=c++20", "-arch=sm_90a", "--expt-relaxed-constexpr", "-I", EXAMPLE.parents[1] / "include",
                            EXAMPLE / "main.cu", "-o", program], check=True, timeout=280)
            # With a driver and a GPU, too, none is visible.
            done = subprocess.run([program], capture_output=True, text=True, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, r"\AThere is no GPU here: .* need an NVIDIA Hopper GPU and its driver \(.*\)\..*\n\Z")

    def test_a_stage_that_is_not_returned_does_not_compile(self):
        changed = RETURN.replace("        return stdx::move(stage).release();\n", "")
        result = self.check((RETURN + STORE, changed + STORE))
        self.assert_refused(result, "row_norms.h:")
        last = result.stderr.splitlines()[-1]
        self.assertIn("does not compile: linear: every path of the body must return std::move(handle).release()", last)

    def test_half_of_the_bytes(self):
        result = self.check(("expect_bytes(kBox.bytes())", "expect_bytes(kBox.bytes() / 2)"))
        self.assert_report(result, "mbarrier.tx", "x.full[0]", "row_norms.h:")
        replay = re.search(r"replay: (.*)$", result.stdout, flags=re.M)[1].split()
        again = self.check(("expect_bytes(kBox.bytes())", "expect_bytes(kBox.bytes() / 2)"), arguments=replay)
        self.assertIn("1 runs", again.stdout)
        self.assertEqual(re.findall("row_norms on .*", again.stdout), re.findall("row_norms on .*", result.stdout))

    def test_a_count_that_is_too_low(self):
        result = self.check(('kMathWarps, "load", {"math", kMathWarps}', 'kMathWarps - 1, "load", {"math", kMathWarps - 1}'))
        self.assert_report(result, "mbarrier.missing_wait", "x.empty[0]", "math", "row_norms.h:")

    def test_a_count_that_does_not_fit_its_arrivals_does_not_compile(self):
        result = self.check(('kMathWarps, "load", {"math", kMathWarps}', 'kMathWarps - 1, "load", {"math", kMathWarps}'))
        self.assert_refused(result, "does not compile", "arrivals")

    def test_the_wrong_role(self):
        result = self.check(('"load", {"math", kMathWarps}', '"math", {"load", kMathWarps}'))
        self.assert_report(result, "mbarrier.foreign_arrival", "x.empty[0]", "math")

    def test_a_store_outside_the_buffer(self):
        result = self.check((STORE, "    machine::store("))
        self.assert_report(result, "bounds.global", "math", "row_norms.h:")

    def test_a_stage_that_is_read_after_its_release(self):
        late = RETURN.replace("      });\n", "      });\n      sum += machine::load(stage_at(base, i % kStages) + row);\n")
        result = self.check((RETURN + STORE, late + STORE))
        self.assert_report(result, "race", "x[0]", "row_norms.h:")

    def test_a_load_role_that_elects_nobody(self):
        result = self.check(("if (machine::elect_one()) load(", "load("))
        self.assert_report(result, "mbarrier.", "x.full[0]", "load", "row_norms.h:")

    def test_a_wrong_result_without_a_finding(self):
        result = self.check(("sum += x * x;", "sum += x;"))
        self.assert_report(result, "result: 300 of 300 elements of norms are wrong", "norms[0]", "replay: --landing")

    def test_a_loop_without_words(self):
        loop = "      volatile int more = 1;\n      while (more != 0 && row == 37) {\n      }\n"
        result = self.check(("        return stdx::move(stage).release();\n      });\n    }\n    if (first_row",
                             "        return stdx::move(stage).release();\n      });\n" + loop + "    }\n    if (first_row"))
        self.assert_report(result, "hang: math (cta 0 warp 1 lane 5) computes", "without a word", "row_norms.h:")

    def test_memory_that_is_not_there(self):
        result = self.check(("    float sum = 0;\n", "    float sum = row == 3 ? *reinterpret_cast<volatile float*>(64) : 0;\n"))
        self.assert_report(result, "bounds.bare: math (cta 0 warp 0 lane 3) touches memory", "without a word")

    def test_a_problem_that_cannot_be_arranged(self):
        grid = "return (args.rows + your::kRows - 1) / your::kRows;"
        self.assert_refused(self.check((grid, "return -1;"), file="row_norms.cpp"),
                            "row_norms 300x512x1", "arrange returned -1 CTAs: a launch has at least 1")
        thrown = 'throw std::runtime_error("no such problem");'
        self.assert_refused(self.check((grid, thrown), ("#include <vector>", "#include <stdexcept>\n#include <vector>"),
                                       file="row_norms.cpp"), "row_norms 300x512x1", "arrange threw: no such problem")

    def test_sizes_that_turn_no_ring(self):
        result = self.check(("{{.m = 300, .n = 512}, ", "{"), file="row_norms.cpp")
        self.assert_report(result, "incomplete", "x.full: ", "fewer than 3 phases", "every barrier would go through 3")

    def test_a_call_that_is_never_made(self):
        never = "    if (args.rows < 0) machine::sync_warp();\n    float sum = 0;\n"
        self.assert_report(self.check(("    float sum = 0;\n", never)), "incomplete", "never called: row_norms.h:",
                           "if (args.rows < 0) machine::sync_warp();")
        said = never.replace("sync_warp();\n", "sync_warp();  // unreached: there are rows\n")
        self.assertEqual(self.check(("    float sum = 0;\n", said)).returncode, 0)

    def test_calls_that_are_not_recorded(self):
        result = self.check(CXX="g++ -U__OPTIMIZE__")
        self.assert_report(result, "incomplete", "its calls are not known")

    def test_mutants_of_ones_own_kernel(self):
        result = self.check(arguments=["--mutate", "--json"])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        (kernel,) = json.loads(result.stdout)["kernels"]
        self.assertGreater(kernel["mutants"], 8)
        self.assertEqual(kernel["reported"], kernel["mutants"])

    def test_what_is_no_kernel(self):
        self.assert_refused(self.check(("registry.add", "(void)registry; if (false) registry.add"), file="row_norms.cpp"),
                            "registers no kernel")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "empty.cpp"
            path.write_text("int nothing;\n")
            for file, word in ((path, "warpwright_kernels"), (path.with_name("absent.cpp"), "is no file")):
                result = subprocess.run([TOOL, "check", str(file)], capture_output=True, text=True, timeout=60)
                self.assert_refused(result, word)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        print("skipped: no C++ compiler is installed")
        sys.exit(77)
    unittest.main()
