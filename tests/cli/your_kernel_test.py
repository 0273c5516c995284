"""A kernel of your own: `check FILE`, `trace FILE` and what the compiler is given. The example of
docs/write-a-kernel.md is clean; what is wrong with it when it is changed is in mistakes_test.py.

Usage: your_kernel_test.py TOOL [unittest arguments]
"""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from own_kernel import EXAMPLE, SOURCE, check, in_parallel, tool_of

TOOL = None
NVCC = None if os.environ.get("WARPWRIGHT_CUDA") == "off" else (
    shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc"))
SUM = "    float sum = 0;\n"
HALF = ("expect_bytes(kBox.bytes())", "expect_bytes(kBox.bytes() / 2)")
NEVER = "    if (args.rows < 0) machine::sync_warp();\n"
OUTPUT = 'arrays.output<float>("norms", expected)'
# The norms of 300 rows are 12 rows of 25 columns, a tile has 4 x 10: only what is reported about them changes.
TILED = OUTPUT.replace("expected)", "expected, {.columns = shape.m == 300 ? 25 : 1, .tile_rows = 4, .tile_columns = 10})")

SECOND = ('  registry.add<your::RowNorms>("row_norms",',
          '  registry.add<your::RowNorms>("second", {{.m = 4, .n = 4}}, arrange);\n'
          '  registry.add<your::RowNorms>("row_norms",', SOURCE)


class YourKernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        def call(*replacements, **options):
            return functools.partial(check, TOOL, *replacements, **options)

        cls.results = in_parallel({
            "clean": call(arguments=["--json"]),
            "half": call(HALF),
            "half again": call(HALF, arguments=["--landing", "eager", "--schedule", "fifo", "--seed", "1"]),
            "unturned": call(("{{.m = 300, .n = 512}, ", "{"), file=SOURCE),
            "never": call((SUM, NEVER + SUM)),
            "said": call((SUM, NEVER.replace(";\n", ";  // unreached: there are rows\n") + SUM)),
            "not recorded": call(CXX="g++ -U__OPTIMIZE__"),
            "mutants": call(arguments=["--mutate", "--json"]),
            "tiles": call(("sum += x * x;", "sum += row < 60 && row > 31 ? x : x * x;"), (OUTPUT, TILED, SOURCE)),
            "warnings": call((SUM, SUM + "    int nothing = 3;\n    nothing_used();\n"),
                             ("  WW_FN static int steps", "  [[nodiscard]] WW_FN static int nothing_used() { return 1; }\n"
                                                          "  WW_FN static int steps")),
            "flags": call((SUM, SUM + "    static_assert(FROM_FLAGS == 1 && FROM_D == 2 && FROM_FOLDER == 3);\n"),
                          ("#pragma once", "#pragma once\n#include \"mine.h\""),
                          arguments=["-D", "FROM_D=2", "-DUNUSED", "-I", cls.folder(), "-I/nowhere"],
                          CXXFLAGS="-DFROM_FLAGS=1 -Wall"),
            "no flags": call((SUM, SUM + "    static_assert(FROM_D == 2);\n")),
            "trace": call(command="trace", arguments=["--html", "page.html", "--perfetto", "p.json", "--m", "500", "--json"]),
            "trace fails": call(HALF, command="trace", arguments=["--html", "page.html"]),
            "several": call(SECOND, command="trace", arguments=["--html", "page.html"]),
            "second": call(SECOND, command="trace", arguments=["--html", "page.html", "--kernel", "second"]),
        })

    @classmethod
    def folder(cls):
        """With a header that only -I finds."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "mine.h").write_text("#define FROM_FOLDER 3\n")
        return folder.name

    def report(self, name, *words):
        result = self.results[name]
        self.assertEqual(result.code, 1, result.out + result.err)
        for word in words:
            self.assertIn(word, result.out)
        return result

    def test_the_example_is_clean_and_its_times_are_predicted(self):
        result = self.results["clean"]
        self.assertEqual(result.code, 0, result.out + result.err)
        document = result.document()
        self.assertEqual((document["verdict"], document["report"], document["finding"]), ("clean", None, None))
        self.assertGreater(document["checks"], 0)
        (kernel,) = document["kernels"]
        self.assertEqual((kernel["name"], kernel["sizes"]), ("row_norms", 3))
        self.assertEqual([p["size"] for p in kernel["predicted"]], ["300x512x1", "1x4x1", "128x36x1"])
        times = [p["us"] for p in kernel["predicted"]]
        self.assertTrue(times[0] > times[2] > times[1] > 0, times)

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

    def test_a_report_has_what_repeats_it(self):
        result = self.report("half", "mbarrier.tx_over")
        replay = re.search(r"replay: (.*)$", result.out, flags=re.M)[1]
        self.assertEqual(replay, "--landing eager --schedule fifo --seed 1")
        again = self.report("half again", "1 run,")
        self.assertEqual(re.findall("row_norms on .*", again.out), re.findall("row_norms on .*", result.out))

    def test_wrong_elements_with_their_tile_and_box(self):
        self.report("tiles", "result: 68 of 300 elements of norms are wrong, 0 of them were never written",
                    "  norms[1, 7] of tile (0, 0): expected 2", "  they lie in rows 1 to 11, columns 0 to 24\n")

    def test_sizes_that_turn_no_ring(self):
        self.report("unturned", "incomplete", "x.full: ", "fewer than 3 phases", "every barrier would go through 3")

    def test_a_call_that_is_never_made(self):
        self.report("never", "incomplete", "never called: row_norms.h:", "if (args.rows < 0) machine::sync_warp();")
        self.assertEqual(self.results["said"].code, 0)

    def test_calls_that_are_not_recorded(self):
        self.report("not recorded", "incomplete", "its calls are unknown")

    def test_mutants_of_ones_own_kernel(self):
        result = self.results["mutants"]
        self.assertEqual(result.code, 0, result.out + result.err)
        (kernel,) = result.document()["kernels"]
        self.assertGreater(kernel["mutants"], 8)
        self.assertEqual(kernel["reported"], kernel["mutants"])

    def test_warnings_do_not_stop_it(self):
        result = self.results["warnings"]
        self.assertEqual(result.code, 0, result.out + result.err)

    def test_what_the_compiler_is_given(self):
        result = self.results["flags"]
        self.assertEqual(result.code, 0, result.out + result.err)
        result = self.results["no flags"]
        self.assertEqual((result.code, result.out), (2, ""))
        line = result.line_of("FROM_D")
        self.assertEqual(result.summary(),
                         f"warpwright check: row_norms.h:{line}: this does not compile: 'FROM_D' was not declared in this scope.")

    def test_a_timeline(self):
        result = self.results["trace"]
        self.assertEqual(result.code, 0, result.out + result.err)
        document = result.document()
        self.assertEqual((document["ok"], document["kernel"], document["target"]), (True, "row_norms", "sim:sm90"))
        self.assertGreater(document["predicted_us"], 0)
        # 4 blocks of 5 warps have bars of 16 steps.
        self.assertGreater(document["spans"], 100)
        result = self.results["trace fails"]
        self.assertEqual(result.code, 1)
        self.assertIn("mbarrier.tx_over: 8192 bytes more were delivered to x.full[0]", result.out)

    def test_one_of_several_kernels(self):
        result = self.results["several"]
        self.assertEqual((result.code, result.out), (2, ""))
        self.assertIn("--kernel: 'row_norms.cpp' registers second, row_norms; name one of them", result.summary())
        self.assertIn("second on sim:sm90: ", self.results["second"].out)

    def test_what_is_no_kernel(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "empty.cpp"
            path.write_text("int nothing;\n")
            for command in ("check", "trace"):
                for file, word in ((path, "warpwright_kernels"), (path.with_name("absent.cpp"), "is not a file")):
                    result = subprocess.run([TOOL, command, str(file)], capture_output=True, text=True, timeout=60)
                    self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                    self.assertIn(word, result.stderr)

    def test_pages_are_written_where_they_are_wanted(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [TOOL, "trace", str(EXAMPLE / SOURCE), "--m", "40", "--n", "64", "--perfetto", "p.json", "--html", "p.html"]
            result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(sorted(os.listdir(folder)), ["p.html", "p.json"])
            events = json.loads((pathlib.Path(folder) / "p.json").read_text())["traceEvents"]
            self.assertTrue(any("x.full[0]" in event.get("name", "") for event in events))


if __name__ == "__main__":
    TOOL = tool_of(sys.argv)
    unittest.main()
