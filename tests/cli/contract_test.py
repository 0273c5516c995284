"""The tool's contract with scripts: exit codes, one sentence on stderr, one JSON document on stdout.

Usage: contract_test.py TOOL [unittest arguments]
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = None


DENSE = "sm90/dense-128x256-c2-s4/bf16-nt"  # compiled into the tool
RING = "sm90/ring_copy-32x64-s4/fp32"
IDESC = ("encode", "idesc")
GEMM = ("gemm", "--m", "64", "--n", "64", "--k", "64")


def run(*arguments, cwd=None, **environment):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, **environment}, timeout=120)


def without_notes(text):
    """stderr without the lines that say what is compiled, the first time."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("Compiling "))


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


class Kernels(unittest.TestCase):
    def document(self, *arguments, code=0, **more):
        result = run(*arguments, "--json", **more)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def test_demo_is_right_and_writes_its_timeline(self):
        with tempfile.TemporaryDirectory() as folder:
            demo = self.document("demo", cwd=folder, WARPWRIGHT_CUDA="off")
            self.assertEqual(os.listdir(folder), ["warpwright-demo.html"])
            with open(os.path.join(folder, demo["timeline"])) as file:
                page = file.read()
        self.assertIs(demo["ok"], True)
        self.assertEqual((demo["target"], demo["plan"], demo["instance"]), ("sim:sm90", DENSE.split("/")[1], DENSE))
        self.assertLess(demo["max_rel_error"], 8e-3)
        self.assertGreater(demo["checks"], 1000)
        self.assertGreater(demo["predicted_us"], 1)
        self.assertEqual([(run["instance"], run["ok"]) for run in demo["runs"]],
                         [(DENSE, True), ("sm100/dense-128x256-c2x1-s6-pair/bf16", True)])
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))
        # Two packed numbers for each; the last byte of a number is below 128.
        numbers = sum(byte < 128 for byte in base64.b64decode(data["runs"][0]["arrows"]))
        self.assertEqual(numbers, 2 * demo["edges"])

    def test_gemm_on_the_simulators(self):
        for target, instance in (("sim:sm90", "sm90/skinny-64x64-split1-s13/bf16-nt"),
                                 ("sim:sm100", "sm100/dense-64x64-c1x1-s8/bf16"),
                                 ("sim:sm80", "sm80/mma-16x128-w1x4-d6-p1-l600-b2-splitk1/bf16"),
                                 ("sim:gfx950", "gfx950/matmul-4wave/bf16"),
                                 ("sim:gfx942", "gfx942/matmul-default/bf16")):
            gemm = self.document(*GEMM, "--target", target)
            self.assertEqual((gemm["ok"], gemm["target"], gemm["instance"]), (True, target, instance))
            self.assertEqual(gemm["plan"], instance.split("/")[1])
            self.assertLess(gemm["max_rel_error"], 8e-3)
            self.assertGreater(gemm["predicted_us"], 1)
            self.assertGreater(gemm["wall_s"], 0)
            self.assertNotIn("report", gemm)

    def test_cdna_matmul_takes_every_shape_and_both_types(self):
        for more, instance in (
                (("--m", "300", "--n", "259", "--k", "72"), "gfx950/matmul-pingpong/bf16"),
                (("--m", "300", "--n", "259", "--k", "80", "--dtype", "fp8"), "gfx950/matmul-pingpong/e4m3"),
                (("--m", "300", "--n", "259", "--k", "72", "--out-dtype", "fp32"),
                 "gfx950/matmul-pingpong/bf16-to_fp32"),
                (("--m", "5", "--n", "3", "--k", "0"), "gfx950/matmul-4wave/bf16"),
                (("--m", "70", "--n", "90", "--k", "64", "--plan", "gfx950/matmul-default/bf16", "--alpha", "2"),
                 "gfx950/matmul-default/bf16"),
                (("--m", "70", "--n", "90", "--k", "64", "--plan", "matmul-default", "--dtype", "fp8"),
                 "gfx950/matmul-default/e4m3")):
            gemm = self.document("gemm", *more, "--target", "sim:gfx950")
            self.assertEqual((gemm["ok"], gemm["instance"]), (True, instance))
        explained = self.document("explain", "--m", "512", "--n", "512", "--k", "512", "--target", "gfx950")
        self.assertEqual((explained["plan"], explained["smem_bytes"]), ("matmul-pingpong", 131072))
        # Its machine code is looked at too, where there is a compiler for it.
        compiles = all(map(shutil.which, ("clang++-22", "ld.lld-22", "llvm-objdump-22")))
        checked = self.document("check", "gfx950/matmul-4wave/e4m3", "--seeds", "1", code=0 if compiles else 1)
        self.assertEqual(checked["verdict"], "clean" if compiles else "incomplete")
        if not compiles:
            self.assertIn("its machine code was not looked at", checked["report"])

    def test_gemm_runs_the_modes_asked_for(self):
        base = (*GEMM, "--target", "sim:sm90")
        # Each with a timed run beside it.
        self.assertEqual(self.document(*base)["runs"], 4)
        self.assertEqual(self.document(*base, "--landing", "late", "--schedule", "fifo")["runs"], 2)
        self.assertEqual(self.document(*base, "--landing", "seeded", "--schedule", "pct:2", "--seeds", "3")["runs"], 4)
        self.assertEqual(self.document(*base, "--schedule", "freeze:load")["runs"], 4)

    def test_gemm_scales(self):
        for target in ("sim:sm90", "sim:sm100"):
            self.assertIs(self.document(*GEMM, "--target", target, "--alpha", "-2.5")["ok"], True)

    # Problems of every kind that the host API takes; the simulator takes them all.
    SERVED = (("--m", "300", "--n", "520", "--k", "200"),
              ("--m", "16", "--n", "512", "--k", "256"),
              ("--m", "100", "--n", "72", "--k", "64", "--dtype", "fp16", "--layout", "tn"),
              ("--m", "100", "--n", "71", "--k", "63"),
              ("--m", "64", "--n", "64", "--k", "64", "--batch", "3", "--layout", "nn"),
              ("--m", "64", "--n", "64", "--k", "64", "--dtype", "fp8", "--scaling", "row_column+promoted"),
              ("--m", "64", "--n", "64", "--k", "64", "--dtype", "e5m2", "--out-dtype", "fp32"),
              ("--m", "64", "--n", "64", "--k", "64", "--epilogue", "bias+gelu+residual", "--alpha", "-2.5", "--beta",
               "0.5"),
              ("--m", "64", "--n", "64", "--k", "64", "--dtype", "fp8", "--out-dtype", "e4m3", "--epilogue",
               "row_bias+relu+quantize"),
              ("--op", "blockwise", "--m", "8", "--n", "256", "--k", "256"),
              ("--op", "grouped_masked", "--m", "72", "--n", "256", "--k", "256", "--groups", "3"),
              ("--op", "grouped_k", "--m", "72", "--n", "256", "--k", "256", "--groups", "2", "--dtype", "e4m3"))

    def test_the_simulator_runs_the_instance_that_explain_names(self):
        instances = set()
        for problem in self.SERVED:
            with self.subTest(problem):
                gemm = self.document("gemm", *problem, "--target", "sim:sm90", "--landing", "late", "--schedule", "fifo")
                explained = self.document("explain", *problem, WARPWRIGHT_CUDA="off")
                self.assertIs(gemm["ok"], True)
                self.assertEqual((gemm["instance"], gemm["plan"]), (explained["instance"], explained["plan"]))
                self.assertTrue(gemm["instance"].startswith(f"sm90/{gemm['plan']}/"), gemm)
                instances.add(gemm["instance"])
                # Both names can be given back.
                for name in (gemm["plan"], gemm["instance"]):
                    again = self.document("explain", *problem, "--plan", name, WARPWRIGHT_CUDA="off")
                    self.assertEqual(again["instance"], gemm["instance"])
        self.assertEqual(len(instances), len(self.SERVED))

    def test_extents_of_zero(self):
        for target in ("sim:sm80", "sim:sm90", "sim:sm100"):
            for extents in ("0 64 64", "64 0 64", "64 64 0", "0 0 0"):
                m, n, k = extents.split()
                gemm = self.document("gemm", "--m", m, "--n", n, "--k", k, "--target", target)
                self.assertEqual((gemm["ok"], gemm["max_rel_error"]), (True, 0), (target, extents))
            self.assertIs(self.document("gemm", "--m", "64", "--n", "64", "--k", "64", "--batch", "0", "--target",
                                        target)["ok"], True)
        for op in (("blockwise",), ("grouped_contiguous", "--groups", "2"), ("grouped_masked", "--groups", "2")):
            gemm = self.document("gemm", "--op", *op, "--m", "0", "--n", "64", "--k", "64", "--target", "sim:sm90")
            self.assertIs(gemm["ok"], True, op)

    def test_an_empty_result_has_no_launch_and_no_time(self):
        for command in ("gemm", "explain"):
            for extents in ("0 64 64", "64 0 64"):
                m, n, k = extents.split()
                text = run(command, "--m", m, "--n", n, "--k", k, "--target", "sim:sm90").stdout
                self.assertIn("nothing is launched: the result has no elements", text)
                self.assertNotIn("predicted", text)
                self.assertNotIn("wave", text)
            text = run(command, "--m", "64", "--n", "64", "--k", "0", "--target", "sim:sm90").stdout
            self.assertIn("k = 0: there is nothing to sum, the result is what the epilogue makes of zeros", text)

    def test_operands_are_looked_at_before_anything_is_compiled(self):
        with tempfile.TemporaryDirectory() as folder:
            short = os.path.join(folder, "short")
            with open(short, "wb") as file:
                file.write(bytes(100))
            for path, word in (("/nonexistent", "cannot be read"), (short, "100 bytes")):
                done = run(*GEMM, "--target", "sim:sm90", "--epilogue", "silu", "--a", path, "--b", path, "--d",
                           os.path.join(folder, "d"), WARPWRIGHT_CACHE_DIR=folder, CXX="/nonexistent/c++")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(word, done.stderr)

    def test_what_was_not_compiled_ahead_is_compiled_once(self):
        with tempfile.TemporaryDirectory() as cache:
            command = (*GEMM, "--target", "sim:sm90", "--epilogue", "silu", "--landing", "late", "--json")
            first, second = (run(*command, WARPWRIGHT_CACHE_DIR=cache) for _ in range(2))
            self.assertEqual((first.returncode, second.returncode), (0, 0), first.stderr)
            instance = json.loads(first.stdout)["instance"]
            self.assertRegex(first.stderr, rf"\ACompiling {instance} for the simulator[^\n]*\.\n\Z")
            self.assertEqual(second.stderr, "")
            self.assertGreater(len(os.listdir(cache)), 0)

    def test_a_compiler_that_is_missing_is_named(self):
        plain = (*GEMM, "--target", "sim:sm90", "--epilogue", "silu")
        for command, instance in ((plain, "sm90/skinny-64x64-split1-s13/bf16-nt-silu"),
                                  (("gemm", "--m", "64", "--n", "64", "--k", "64", "--target", "sim:sm100"),
                                   "sm100/dense-64x64-c1x1-s8/bf16"),
                                  (("check", "sm90/skinny-64x16-split2-s20/bf16-nt", "--seeds", "1"),
                                   "sm90/skinny-64x16-split2-s20/bf16-nt")):
            for environment, word in (({"CXX": "/nonexistent/c++"}, "'/nonexistent/c++'"),
                                      ({"PATH": "/nonexistent", "CXX": ""}, "C++20 compiler")):
                result = run(*command, WARPWRIGHT_CACHE_DIR="off", **environment)
                self.assertEqual((result.returncode, result.stdout), (3, ""), result)
                self.assertRegex(result.stderr, r"\Awarpwright (gemm|check): [^\n]*\.\n\Z")
                self.assertIn(word, result.stderr)
                self.assertIn(instance, result.stderr)
        # What is compiled into the tool needs none.
        result = run("gemm", "--m", "300", "--n", "520", "--k", "200", "--target", "sim:sm90", "--plan", DENSE,
                     PATH="/nonexistent", CXX="", WARPWRIGHT_CACHE_DIR="off")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_gemm_takes_the_plan_that_fits(self):
        shape = ("gemm", "--m", "300", "--n", "200", "--k", "176", "--target", "sim:sm100")
        for dtype, instance in (("bf16", "sm100/dense-64x64-c1x1-s8/bf16"),
                                ("fp16", "sm100/dense-128x128-c1x1-s6/fp16"),
                                ("tf32", "sm100/dense-128x128-c1x1-s6/tf32"),
                                ("fp8", "sm100/dense-64x64-c1x1-s8/e4m3")):
            gemm = self.document(*shape, "--dtype", dtype)
            self.assertEqual((gemm["ok"], gemm["instance"]), (True, instance))
        few_rows = self.document("explain", "--m", "1", "--n", "4096", "--k", "4096", "--target", "sim:sm100")
        self.assertEqual(few_rows["plan"], "dense-128x16-c1x1-s10-splitk2-swap-early")

    def test_gemm_without_a_gpu(self):
        result = run(*GEMM, "--target", "sm90", WARPWRIGHT_CUDA="off")
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (3, "", 1))

    def test_measuring_without_a_gpu(self):
        for command in (("bench", "--sizes", "64x64x64"), ("bench", "--sizes", "64x64x64", "--against", "torch"),
                        ("bench", "--dtype", "fp8"), ("tune", "--sizes", "64x64x64"),
                        # Extents whose rows begin at any byte are measured like all others.
                        ("bench", "--sizes", "7x129x131"), ("tune", "--sizes", "7x129x131,8x65x33", "--dtype", "fp8")):
            result = run(*command, "--json", WARPWRIGHT_CUDA="off")
            self.assertEqual((result.returncode, result.stderr.count("\n")), (3, 1), result)
            error = json.loads(result.stdout)["error"]
            self.assertEqual((f"warpwright {command[0]}: {error['message']}\n", error["exit_code"]), (result.stderr, 3))

    def test_explain_prints_the_plan(self):
        fields = {"kernel", "tile", "stages", "rings", "smem_bytes", "tmem_columns", "waves", "reason", "floor_us",
                  "plan"}
        shape = ("--m", "4096", "--n", "4096", "--k", "7168")
        for target in ((), ("--target", "sm90"), ("--target", "sim:sm90"), ("--target", "sm100")):
            plan = self.document("explain", *shape, *target)
            self.assertLessEqual(fields, set(plan), target)
            self.assertGreaterEqual({ring["name"] for ring in plan["rings"]}, {"input"}, target)
            for ring in plan["rings"]:
                for barrier in ring["barriers"]:
                    self.assertEqual(barrier["count"], sum(a["arrivals"] for a in barrier["arrivals"]), ring["name"])
            self.assertGreater(plan["floor_us"], 10)
            self.assertEqual(plan["floor_us"], max(plan["floor"]["tensor_us"], plan["floor"]["memory_us"]))
        self.assertGreater(plan["tmem_columns"], 0)

    def test_explain_serves_what_the_api_serves(self):
        base = ("explain", "--m", "100", "--n", "256", "--k", "128")
        for more in (("--dtype", "fp16"), ("--dtype", "fp8"), ("--dtype", "e5m2"), ("--layout", "tn"), ("--beta", "2"),
                     ("--batch", "3"), ("--out-dtype", "fp32"), ("--epilogue", "bias+gelu+residual"),
                     ("--dtype", "fp8", "--scaling", "row_column+promoted")):
            self.assertEqual(self.document(*base, *more)["target"], "sm90", more)
        odd = self.document("explain", "--m", "100", "--n", "255", "--k", "127")
        self.assertIn("16 bytes", odd["reason"])
        self.assertIn("threads", odd["instance"])

    def test_explain_takes_the_name_it_prints(self):
        base = ("explain", "--m", "100", "--n", "256", "--k", "128")
        chosen = self.document(*base)["plan"]
        again = self.document(*base, "--plan", chosen)
        self.assertEqual(again["plan"], chosen)
        self.assertIn("named", again["reason"])
        other = self.document(*base, "--plan", "dense-128x208-c2")
        self.assertEqual(other["tile"], [128, 208, 64])
        self.assertIn("NVRTC", other["reason"])

    def test_check_is_clean(self):
        check = self.document("check", RING, "--seeds", "1")
        self.assertEqual((check["verdict"], check["seeds"], check["report"]), ("clean", 1, None))
        (kernel,) = check["kernels"]
        # Two sizes: three landings, two for each of the three roles frozen, three schedules of one seed. Four of others.
        self.assertEqual(check["runs"], 2 * (3 + 2 * 3 + 3) + 4 * (kernel["sizes"] - 2))
        self.assertEqual((kernel["too_few_phases"], kernel["never_called"]), ([], []))

    def test_a_check_that_exercises_too_little_is_incomplete(self):
        check = self.document("check", DENSE, "--sizes", "256x256x128", "--seeds", "1", code=1)
        (kernel,) = check["kernels"]
        self.assertEqual((check["verdict"], kernel["verdict"]), ("incomplete", "incomplete"))
        self.assertIn("input.full: 4 of 4 stages went through fewer than 3 phases", kernel["too_few_phases"][0])
        self.assertIn("sm90/accumulate.h", kernel["never_called"][0])
        enough = re.search(r"at (\d+x\d+x\d+) every barrier would go through 3", check["report"])
        self.assertTrue(enough, check["report"])
        again = self.document("check", DENSE, "--sizes", enough[1], "--seeds", "1", code=1)["kernels"][0]
        self.assertEqual(again["too_few_phases"], [])
        self.assertTrue(again["never_called"])

    def test_mutants_of_a_kernel_are_counted(self):
        found = self.document("check", RING, "--mutate")
        (kernel,) = found["kernels"]
        self.assertEqual((found["not_covered"], kernel["reported"]), (0, kernel["mutants"] - kernel["redundant"]))
        self.assertTrue(all(one["argument"] for one in kernel["list"] if one["verdict"] == "redundant"))
        by_name = {re.sub(r":\d+$", "", one["mutant"]): one for one in kernel["list"]}
        for mutant in ("drop mbarrier_wait input.full", "stage +1 of mbarrier_wait input.full", "alter mbarrier_wait input.full"):
            dropped = by_name[mutant + " by compute at kernel/demo/ring_copy.h"]
            self.assertEqual((dropped["verdict"], dropped["rule"] is None), ("reported", False))
            self.assertGreater(dropped["line"], 0)

    def test_mutants_that_are_redundant_are_named(self):
        # Lanes of a simulated warp converge by themselves, nobody waits for what is handed back last, an idle warp has
        # nothing to wait for. All else is reported, the wait of a role that matters only without depth and behind
        # another launch among it.
        (kernel,) = self.document("check", "sm90/dense-64x64-c1-s4/bf16-nt", "--mutate")["kernels"]
        left = [one for one in kernel["list"] if one["verdict"] != "reported"]
        self.assertEqual({one["verdict"] for one in left}, {"redundant"})
        self.assertEqual({one["word"] for one in left},
                         {"bulk_wait", "elect_one", "mbarrier_arrive", "named_barrier_sync", "sync_warp"})
        self.assertTrue(all(one["argument"] for one in left), left)

    def test_certificates_say_why_of_every_barrier(self):
        (kernel,) = self.document("check", RING, "--certify")["kernels"]
        self.assertEqual((kernel["certificate"], kernel["path"]), ("proven", []))
        names = [barrier["name"] for barrier in kernel["barriers"]]
        self.assertEqual(names[:4], ["input.full", "input.empty", "output.full", "output.empty"])
        for barrier in kernel["barriers"]:
            self.assertGreater(min(barrier["phases"], barrier["arrivals"], barrier["waits"]), 0)
            self.assertEqual(barrier["gaps"], [])
            self.assertIn("each arrival knows", barrier["reason"])
        (split,) = self.document("check", "sm90/dense-64x64-c1-s12-splitk/bf16-nt", "--certify")["kernels"]
        self.assertEqual(split["certificate"], "for its path")
        self.assertTrue(any("atomic" in why for why in split["path"]), split["path"])

    def test_check_that_runs_out_of_time_is_incomplete(self):
        check = self.document("check", DENSE, "--seeds", "100000", "--max-seconds", "1", code=1)
        self.assertEqual(check["verdict"], "incomplete")
        self.assertIn("stopped", check["report"])

    def test_check_lists_what_there_is(self):
        kernels = self.document("check", "--list")["kernels"]
        names = [kernel["name"] for kernel in kernels]
        for name in (RING, DENSE, "sm90/blockwise-64x8-split4-s20/e4m3", "sm100/grouped-n8-s8-swap/e2m1-nvfp4",
                     "gfx942/matmul-default/bf16"):
            self.assertIn(name, names)
        self.assertEqual(len(names), len(set(names)))
        for kernel in kernels:
            self.assertRegex(kernel["name"], r"^(sm|gfx)\d+/[\w-]+/[\w-]+(:any_columns)?$")
            self.assertTrue(kernel["target"].startswith("sim:" + kernel["name"].split("/")[0]), kernel)

    def test_check_takes_what_no_list_has(self):
        name = "sm90/dense-64x64-c1-s3/fp16-nt-relu"
        self.assertNotIn(name, [kernel["name"] for kernel in self.document("check", "--list")["kernels"]])
        check = self.document("check", name, "--seeds", "1")
        self.assertEqual((check["verdict"], check["kernels"][0]["name"]), ("clean", name))

    def test_mutants_take_every_entry_of_a_number(self):
        mutants = self.document("mutants", "--only", "M66,M42", "--seeds", "1")
        self.assertEqual((mutants["caught"], mutants["total"], mutants["misdiagnosed"], mutants["false_alarms"]),
                         (2, 2, 0, 0))
        self.assertGreater(len(mutants["cases"]), 2)
        for case in mutants["cases"]:
            self.assertIs(case["caught"], True)
            self.assertTrue(case["diagnosis"])
            self.assertTrue(case["expected"])

    def test_trace_writes_a_timeline(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.json")
            trace = self.document("trace", *GEMM[1:], "--target", "sim:sm100", "--perfetto", path)
            with open(path) as file:
                events = json.load(file)["traceEvents"]
        self.assertEqual((trace["perfetto"], trace["html"]), (path, None))
        self.assertEqual((trace["plan"], trace["instance"]), ("dense-64x64-c1x1-s8", "sm100/dense-64x64-c1x1-s8/bf16"))
        bars = [event for event in events if event["ph"] == "X" and event["cat"] != "run"]
        self.assertEqual(len(bars), trace["spans"])
        self.assertGreater(trace["edges"], 0)

    def test_trace_writes_both_forms_by_default(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = self.document("trace", *GEMM[1:], "--target", "sim:sm90", cwd=folder)
            self.assertEqual(sorted(os.listdir(folder)), ["warpwright-trace.html", "warpwright-trace.json"])
            self.assertEqual((trace["html"], trace["perfetto"]), ("warpwright-trace.html", "warpwright-trace.json"))

    def test_a_measured_timeline_needs_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            for target in ("sm90", "both"):
                result = run("trace", *GEMM[1:], "--target", target, "--plan", "dense-128x256-c2-s3", cwd=folder,
                             WARPWRIGHT_CUDA="off")
                self.assertEqual((result.returncode, result.stdout), (3, ""), result)
                self.assertRegex(result.stderr, rf"^warpwright trace: --target {target} needs an NVIDIA Hopper GPU.*\.\n$")
            for more, word in ((("--plan", "nothing"), "nothing"), (("--alpha", "2"), "timestamps"),
                               (("--plan", "dense-100x256-c2-s3"), "dense-100x256-c2-s3")):
                result = run("trace", *GEMM[1:], "--target", "both", *more, cwd=folder, WARPWRIGHT_CUDA="off")
                self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result)
                self.assertIn(word, result.stderr)
            self.assertEqual(os.listdir(folder), [], "nothing is written")


class SuiteCommand(unittest.TestCase):
    def test_outside_a_checkout_it_says_so(self):
        result = run("test")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("checkout", result.stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
