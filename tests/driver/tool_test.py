"""The tool on devices that the recorder pretends to have: which kernels run, what is said, what is refused. A pretended
device runs nothing, so every result is wrong, and the tool must say so.

Usage: tool_test.py TOOL RECORDER [unittest arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = RECORDER = None
NEVER = "never run by us on this device"
PROBLEM = ("--m", "300", "--n", "520", "--k", "200")
# Plans whose images are in every build.
EXPECTED = {
    "sm_80": ("sm80", "sm80/mma-128x256-w2x4/bf16", "NVIDIA A100"),
    "sm_100": ("sm100", "sm100/dense-128x256-c2x1-s6-pair/bf16", "NVIDIA B200"),
    "sm_103": ("sm100", "sm100/dense-128x256-c2x1-s6-pair/bf16", "NVIDIA B300"),
}
HOPPER = ("--plan", "dense-64x64-c1-s4")
BLACKWELL = ("--plan", "dense-128x256-c2x1-s6-pair")


def run(device, *arguments, **more):
    environment = {**os.environ, "WARPWRIGHT_CUDA_DRIVER": RECORDER, "WARPWRIGHT_RECORDER_DEVICES": device, **more}
    environment.pop("WARPWRIGHT_CUDA", None)
    environment.update({name: value for name, value in more.items() if name == "WARPWRIGHT_CUDA"})
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, env=environment, timeout=120)


class Tool(unittest.TestCase):
    def test_devices_are_listed_with_their_kernels_and_what_we_never_ran(self):
        document = json.loads(run("sm_86,sm_90,sm_120", "devices", "--json").stdout)
        self.assertEqual([(g["compute_capability"], g["target"], g["note"]) for g in document["gpus"]],
                         [("8.6", "sm80", NEVER), ("9.0", "sm90", ""), ("12.0", "sm80", NEVER)])

    def test_a_product_runs_by_the_kernels_of_the_device(self):
        for device, (target, instance, name) in EXPECTED.items():
            for asked in ("gpu", "auto", target):
                with self.subTest(device=device, target=asked):
                    result = run(device, "gemm", *PROBLEM, "--target", asked, "--plan", instance.split("/")[1], "--json")
                    document = json.loads(result.stdout)
                    self.assertEqual((document["target"], document["instance"], document["device"]),
                                     (target, instance, name))
                    self.assertEqual(document["note"], NEVER)
                    # Nothing ran, and that is seen.
                    self.assertEqual(result.returncode, 1)
                    self.assertIn("never written", document["report"])

    def test_a_table_ends_with_what_we_never_ran(self):
        self.assertIn(f"NVIDIA B200: {NEVER}.", run("sm_100", "gemm", *PROBLEM, *BLACKWELL, "--target", "gpu").stderr)
        self.assertNotIn(NEVER, run("sm_90", "gemm", *PROBLEM, *HOPPER, "--target", "gpu").stderr)

    def test_the_launch_is_written_down(self):
        with tempfile.NamedTemporaryFile() as log:
            run("sm_100", "gemm", *PROBLEM, *BLACKWELL, "--target", "gpu", WARPWRIGHT_RECORDER_LOG=log.name)
            lines = [json.loads(line) for line in log.read().decode().splitlines()]
        launches = [line for line in lines if line["call"] == "launch" and not line["captured"]]
        self.assertTrue(launches)
        self.assertEqual({(line["target"], line["answer"]) for line in launches}, {(100, 0)})
        self.assertEqual(launches[0]["attributes"], [{"id": 4, "value": [2, 1, 1]}])
        self.assertEqual(len(launches[0]["arguments"]["maps"]), 2)

    def test_kernels_of_another_device_are_refused(self):
        for device, target, words in (("sm_90", "sm100", "10.0 or 10.3"), ("sm_100", "sm90", "9.0, Hopper"),
                                      ("sm_80", "sm100", "NVIDIA A100 of 8.0")):
            with self.subTest(device=device, target=target):
                result = run(device, "gemm", *PROBLEM, "--target", target)
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertIn(words, result.stderr)

    def test_explain_is_for_the_device_here(self):
        document = json.loads(run("sm_103", "explain", *PROBLEM, "--json").stdout)
        self.assertTrue(document["instance"].startswith("sm100/"), document["instance"])
        document = json.loads(run("sm_86", "explain", "--m", "4096", "--n", "4096", "--k", "4096", "--json").stdout)
        self.assertEqual(document["instance"], "sm80/mma-128x128-w2x2-d5-p2-l2400-b2/bf16")
        self.assertIn("by the figures of an NVIDIA RTX A6000", document["reason"])

    def test_a_comparison_that_fails_is_said_with_its_instance(self):
        result = run("sm_100", "gemm", *PROBLEM, *BLACKWELL, "--target", "gpu", "--verify")
        self.assertEqual(result.returncode, 1)
        self.assertIn("on the NVIDIA B200: the comparison did not run: 0 of 156000 elements", result.stderr)
        for arguments, words in ((("--target", "sim:sm90"), "it is for a GPU"),
                                 (("--target", "gpu", "--scaling", "mxfp8"), "no plain product")):
            result = run("sm_100", "gemm", *PROBLEM, *arguments, "--verify")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)

    def test_a_report_has_what_ran_and_what_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "report.json")
            self.assertEqual(run("sm_80", "report", "--out", file).returncode, 0)
            with open(file) as text:
                document = json.load(text)
        self.assertEqual((document["gpus"][0]["name"], document["note"]), ("NVIDIA A100", NEVER))
        self.assertEqual((document["driver_cuda"], document["environment"]["WARPWRIGHT_CUDA_DRIVER"]), ("13.0", RECORDER))
        products = {one["what"]: one for one in document["products"]}
        square = products["gemm bf16 512x512x512"]
        self.assertTrue(square["instance"].startswith("sm80/mma-64x64-"), square["instance"])
        self.assertFalse(square["ok"])
        self.assertIn("the comparison did not run", square["sentence"])
        self.assertIn("a.type = e4m3: the NVIDIA A100", products["gemm e4m3 512x512x512"]["sentence"])

    def test_a_driver_that_cannot_be_opened_is_named(self):
        result = run("sm_90", "gemm", *PROBLEM, "--target", "gpu", WARPWRIGHT_CUDA_DRIVER="/nowhere/driver.so")
        self.assertEqual(result.returncode, 3)
        self.assertIn("WARPWRIGHT_CUDA_DRIVER = /nowhere/driver.so", result.stderr)


if __name__ == "__main__":
    TOOL, RECORDER = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
