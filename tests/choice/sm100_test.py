#!/usr/bin/env python3
"""What explain names is the instance that gemm runs in the simulator, on Blackwell, right and clean.

usage: sm100_test.py TOOL [COUNT]

COUNT problems, 10 if it is not given, of a fixed list of 100.
"""

import json
import random
import subprocess
import sys
import unittest

TOOL, COUNT = "", 10


def draw(rng):
    """Options of a problem that Blackwell's kernels take."""
    kind = rng.choice(["dense", "dense", "scaled", "grouped", "blockwise"])
    unit = {"dense": 8, "scaled": 128, "grouped": 128, "blockwise": 128}[kind]
    options = {"m": rng.randint(1, 300), "n": rng.randint(1, 24) * 16, "k": rng.randint(1, 4) * unit}
    if kind == "dense":
        options["dtype"] = rng.choice(["bf16", "bf16", "fp16", "e4m3", "tf32"])
        if options["dtype"] == "e4m3":
            options["k"] = (options["k"] + 15) // 16 * 16
        if rng.random() < 0.3:
            options["alpha"] = rng.choice([0.5, 2])
    elif kind == "scaled":
        options["scaling"] = rng.choice(["mxfp8", "mxfp4", "nvfp4", "w4a8"])
    elif kind == "grouped":
        options["op"] = rng.choice(["grouped_contiguous", "grouped_masked"])
        options["scaling"] = rng.choice(["mxfp8", "mxfp4", "nvfp4", "w4a8", "blockwise"])
        options["groups"] = rng.choice([1, 3, 5])
        options["n"] = rng.randint(1, 3) * 128
        if options["op"] == "grouped_masked":
            options["m"] = max(1, options["m"] // options["groups"]) * options["groups"]
        if options["scaling"] == "blockwise":
            options["m"] = (options["m"] + 3) // 4 * 4 * (options["groups"] if options["op"] == "grouped_masked" else 1)
        if options["scaling"] == "mxfp8" and rng.random() < 0.4:
            options["epilogue"] = "swiglu"
            options["n"] = 256
    else:
        options["op"] = "blockwise"
        options["m"] = (options["m"] + 3) // 4 * 4
    return options


def run(command, options, target):
    line = [TOOL, command, "--json", "--target", target]
    for name, value in options.items():
        line += [f"--{name}", str(value)]
    done = subprocess.run(line, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


class Same(unittest.TestCase):
    target, draw = "sim:sm100", staticmethod(draw)

    def test_explain_names_what_gemm_runs(self):
        rng = random.Random(100)
        served = 0
        for options in [self.draw(rng) for _ in range(100)][:COUNT]:
            with self.subTest(options):
                code, explained = run("explain", options, self.target)
                ran, gemm = run("gemm", options, self.target)
                self.assertEqual(code, ran, (explained, gemm))
                if code != 0:  # refused by both, in the same words
                    self.assertEqual(explained.split(": ", 1)[1], gemm.split(": ", 1)[1])
                    continue
                served += 1
                self.assertEqual(gemm["instance"], explained["instance"])
                self.assertEqual(gemm["plan"], explained["plan"])
                self.assertTrue(gemm["ok"])
        self.assertGreater(served, COUNT * 3 // 4)


def main():
    global TOOL, COUNT
    TOOL = sys.argv.pop(1)
    if len(sys.argv) > 1:
        COUNT = int(sys.argv.pop(1))
    unittest.main(module="__main__", argv=sys.argv[:1], verbosity=0)


if __name__ == "__main__":
    main()
