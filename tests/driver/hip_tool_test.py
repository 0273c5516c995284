"""The tool on AMD devices that the recorder of HIP pretends to have: which kernels run, what is said, what is refused. A
pretended device runs nothing, so every result is wrong, and the tool must say so.

Usage: hip_tool_test.py TOOL RECORDER RECORDER_OF_CUDA [unittest arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = RECORDER = CUDA_RECORDER = None
SKIPPED = 77
NEVER = "never run by us on this device"
PROBLEM = ("--m", "300", "--n", "520", "--k", "200")
EXPECTED = {
    "gfx950": ("gfx950/matmul-pingpong/bf16", "AMD Instinct MI355X"),
    "gfx942": ("gfx942/matmul-default/bf16", "AMD Instinct MI300X"),
}


def run(devices, *arguments, **more):
    # Without CUDA: the machine may have an NVIDIA GPU of its own, which would come first.
    environment = {**os.environ, "WARPWRIGHT_CUDA": "off", "WARPWRIGHT_HIP_DRIVER": RECORDER,
                   "WARPWRIGHT_HIP_RECORDER_DEVICES": devices, **more}
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, env=environment, timeout=120)


class Tool(unittest.TestCase):
    def test_devices_are_listed_with_their_kernels_and_what_we_never_ran(self):
        document = json.loads(run("gfx942,gfx950,gfx90a", "devices", "--json").stdout)
        self.assertEqual([(g["architecture"], g["target"], g["note"], g["compute_capability"]) for g in document["gpus"]],
                         [("gfx942:sramecc+:xnack-", "gfx942", NEVER, None),
                          ("gfx950:sramecc+:xnack-", "gfx950", NEVER, None),
                          ("gfx90a:sramecc+:xnack-", None, "no kernel for it", None)])
        table = run("gfx942", "devices").stdout
        self.assertIn(f"AMD Instinct MI300X  gfx942, 192.0 GiB, 304 CUs; {NEVER}", table)

    def test_a_product_runs_by_the_kernels_of_the_device(self):
        for device, (instance, name) in EXPECTED.items():
            for asked in ("gpu", "auto", device):
                with self.subTest(device=device, target=asked):
                    result = run(device, "gemm", *PROBLEM, "--target", asked, "--json")
                    document = json.loads(result.stdout)
                    self.assertEqual((document["target"], document["instance"], document["device"]),
                                     (device, instance, name))
                    self.assertEqual(document["note"], NEVER)
                    # Nothing ran, and that is seen.
                    self.assertEqual(result.returncode, 1)
                    self.assertIn("never written", document["report"])
            self.assertIn(f"{name}: {NEVER}.", run(device, "gemm", *PROBLEM, "--target", "gpu").stderr)

    def test_the_launch_is_written_down(self):
        with tempfile.NamedTemporaryFile() as log:
            run("gfx950", "gemm", *PROBLEM, "--target", "gpu", WARPWRIGHT_HIP_RECORDER_LOG=log.name)
            lines = [json.loads(line) for line in log.read().decode().splitlines()]
        launches = [line for line in lines if line["call"] == "launch"]
        self.assertTrue(launches)
        self.assertEqual({(line["kernel"], line["target"], line["answer"]) for line in launches},
                         {("matmul_pingpong_bf16", "gfx950", 0)})
        self.assertEqual((launches[0]["grid"], launches[0]["block"], launches[0]["shared_bytes"]),
                         ([6, 1, 1], [512, 1, 1], 131072))
        self.assertEqual(len(launches[0]["arguments"]["addresses"]), 3)

    def test_what_is_lacking_is_said(self):
        for devices, arguments, code, words in (
                ("gfx90a", ("--target", "gpu"), 3, "is gfx90a; for AMD there are kernels for gfx942 and gfx950"),
                ("gfx942", ("--target", "gfx950"), 3, "this is AMD Instinct MI300X, gfx942"),
                ("gfx950", ("--target", "sm90"), 3, "WARPWRIGHT_CUDA=off"),
                ("gfx950", ("--target", "gpu", "--dtype", "e5m2"), 2, "a.type = e5m2: for gfx950"),
                ("gfx942", ("--target", "gpu", "--dtype", "fp8"), 2, "a.type = e4m3: gfx942"),
                ("gfx950", ("--target", "gpu", "--epilogue", "swiglu"), 2, "epilogue.activation = swiglu: gfx950"),
                ("gfx950", ("--target", "gpu", "--epilogue", "2 * x"), 2, "for gfx950 nothing is compiled then")):
            with self.subTest(devices=devices, arguments=arguments):
                result = run(devices, "gemm", *PROBLEM, *arguments)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(words, result.stderr)

    def test_hip_can_be_switched_off_and_another_library_named(self):
        for more, words in (({"WARPWRIGHT_HIP": "off"}, "HIP is switched off by WARPWRIGHT_HIP=off"),
                            ({"WARPWRIGHT_HIP_DRIVER": "/nowhere/hip.so"}, "WARPWRIGHT_HIP_DRIVER = /nowhere/hip.so")):
            with self.subTest(more=more):
                result = run("gfx950", "gemm", *PROBLEM, "--target", "gfx950", **more)
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertIn(words, result.stderr)
                document = json.loads(run("gfx950", "devices", "--json", **more).stdout)
                self.assertEqual(document["gpus"], [])
                self.assertIn(words, document["gpu_reason"])

    def test_nvidia_comes_first_unless_it_is_switched_off(self):
        both = {"WARPWRIGHT_CUDA_DRIVER": CUDA_RECORDER, "WARPWRIGHT_RECORDER_DEVICES": "sm_90"}
        for cuda, maker, names in (("auto", "sm90/", ["NVIDIA H200", "AMD Instinct MI355X"]),
                                   ("off", "gfx950/", ["AMD Instinct MI355X"])):
            with self.subTest(cuda=cuda):
                devices = json.loads(run("gfx950", "devices", "--json", **both, WARPWRIGHT_CUDA=cuda).stdout)["gpus"]
                self.assertEqual([device["name"] for device in devices], names)
                explained = json.loads(run("gfx950", "explain", *PROBLEM, "--json", **both, WARPWRIGHT_CUDA=cuda).stdout)
                self.assertEqual(explained["instance"][:len(maker)], maker)

    def test_explain_is_for_the_device_here(self):
        for device, (instance, _) in EXPECTED.items():
            self.assertEqual(json.loads(run(device, "explain", *PROBLEM, "--json").stdout)["instance"], instance)

    def test_a_comparison_on_the_host_fails_with_the_instance(self):
        result = run("gfx950", "gemm", *PROBLEM, "--target", "gpu", "--verify")
        self.assertEqual(result.returncode, 1)
        self.assertIn("gfx950/matmul-pingpong/bf16 on the AMD Instinct MI355X: 156000 of 156000 elements", result.stderr)

    def test_a_report_has_what_ran_and_what_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "report.json")
            self.assertEqual(run("gfx942", "report", "--out", file).returncode, 0)
            with open(file) as text:
                document = json.load(text)
        self.assertEqual((document["gpus"][0]["name"], document["note"]), ("AMD Instinct MI300X", NEVER))
        self.assertEqual((document["hip_runtime"], document["driver_cuda"]), (70000000, None))
        self.assertEqual(document["environment"]["WARPWRIGHT_HIP_DRIVER"], RECORDER)
        products = {one["what"]: one for one in document["products"]}
        self.assertEqual(products["gemm bf16 512x512x512"]["instance"], "gfx942/matmul-default/bf16")
        self.assertIn("elements of the result that were compared are wrong", products["gemm bf16 512x512x512"]["sentence"])
        for what, features in (("512x512x512, batch 3", "bf16-general"), ("tn 512x512x512", "bf16-general-by_elements"),
                               ("301x517x203, bias, silu", "bf16-general-by_elements"), ("128x128x8192", "bf16-general")):
            self.assertEqual(products[f"gemm bf16 {what}"]["instance"].split("/")[2], features)
        self.assertIn("FNUZ", products["gemm e4m3 512x512x512"]["sentence"])
        self.assertFalse([what for what in products if what.startswith("mma.sync")])


if __name__ == "__main__":
    TOOL, RECORDER, CUDA_RECORDER = sys.argv[1:4]
    if "this build has none" in run("gfx950", "gemm", *PROBLEM, "--target", "gfx950").stderr:
        print("this build has no code objects")
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
