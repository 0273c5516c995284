"""A mixture of experts through the tool: routings of every kind in the simulator, the status word, operands of your own
and what is refused. Needs no GPU.

Usage: moe_test.py TOOL [unittest arguments]
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL = None


def run(*arguments):
    return subprocess.run([TOOL, "moe", *arguments], capture_output=True, text=True, timeout=600)


def layer(tokens, experts, top_k, hidden, intermediate, *more):
    return ("--tokens", str(tokens), "--experts", str(experts), "--top-k", str(top_k), "--hidden", str(hidden),
            "--intermediate", str(intermediate), "--target", "sim:sm90", *more)


def bf16(values):
    return b"".join(struct.pack("<I", struct.unpack("<I", struct.pack("<f", v))[0])[2:] for v in values)


class Moe(unittest.TestCase):
    def document(self, *arguments, code=0):
        result = run(*arguments, "--json")
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def test_routings_of_every_kind(self):
        for routing, status in (("uniform", 0), ("skewed", 0), ("one", 0), ("bad", 7)):
            with self.subTest(routing):
                document = self.document(*layer(65, 7, 3, 136, 72, "--routing", routing, "--landing", "seeded",
                                                "--schedule", "random", "--seeds", "1"))
                self.assertTrue(document["ok"])
                self.assertEqual(document["status"], status)
                self.assertLess(document["max_rel_error"], 5e-3)
                self.assertEqual([name.split("/")[1].split("-")[0] for name in document["launches"]],
                                 ["route", "grouped", "grouped", "combine"])

    def test_experts_for_all(self):
        for dtype, sizes in (("bf16", (136, 72)), ("e4m3", (128, 128))):
            document = self.document(*layer(33, 7, 2, *sizes, "--shared", "2", "--routing", "bad", "--dtype", dtype,
                                            "--landing", "seeded", "--schedule", "random", "--seeds", "1"))
            self.assertTrue(document["ok"])
            self.assertEqual(document["status"], 7)
            self.assertEqual([name.endswith("-shared") for name in document["launches"]], [True, False, False, True])

    def test_a_plan_can_be_named(self):
        document = self.document(*layer(200, 2, 2, 64, 128, "--gate-up-plan", "grouped-128x256-c2-s4", "--landing", "late",
                                        "--schedule", "fifo"))
        self.assertIn("sm90/grouped-128x256-c2-s4/bf16-contiguous-bias-swiglu-gathered", document["launches"])

    def test_fp8(self):
        document = self.document(*layer(70, 5, 3, 256, 128, "--dtype", "e4m3", "--routing", "bad", "--landing", "late",
                                        "--schedule", "fifo"))
        self.assertTrue(document["ok"])
        self.assertIn("e4m3-to_e4m3-contiguous-bias-swiglu-gathered", document["launches"][1])

    def test_blackwell(self):
        for dtype, first in (("bf16", "bf16-swiglu-gathered"), ("e4m3", "e4m3-to_e4m3-alpha-swiglu-grouped-gathered")):
            for routing, status in (("skewed", 0), ("bad", 7)):
                with self.subTest(f"{dtype} {routing}"):
                    arguments = list(layer(65, 5, 3, 256, 128, "--routing", routing, "--dtype", dtype, "--landing",
                                           "seeded", "--schedule", "random", "--seeds", "1"))
                    arguments[arguments.index("sim:sm90")] = "sim:sm100"
                    document = self.document(*arguments)
                    self.assertTrue(document["ok"])
                    self.assertEqual(document["status"], status)
                    self.assertLess(document["max_rel_error"], 5e-3)
                    self.assertTrue(document["launches"][1].endswith(first), document["launches"])

    def test_own_operands(self):
        # Two experts: the second has weights of 2 after its swiglu. Token 1 goes to both, token 2 to none.
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            path.joinpath("x").write_bytes(bf16([1] * 24))
            path.joinpath("w_gate_up").write_bytes(bf16([1] * 2 * 16 * 8))
            path.joinpath("w_down").write_bytes(bf16([1] * 64 + [2] * 64))
            path.joinpath("ids").write_bytes(struct.pack("<6i", 0, -1, 0, 1, 2, -5))
            path.joinpath("weights").write_bytes(struct.pack("<6f", 1, 1, 0.5, 0.25, 1, 1))
            arguments = layer(3, 2, 2, 8, 8, "--operands", folder)
            self.assertEqual(self.document(*arguments)["status"], 1)
            out = struct.unpack("<24H", path.joinpath("out").read_bytes())
            rows = [struct.unpack("<f", struct.pack("<I", out[8 * r] << 16))[0] for r in range(3)]
            self.assertEqual(rows, [512, 512, 0])
            self.assertEqual(path.joinpath("status").read_bytes(), struct.pack("<I", 1))
            path.joinpath("x").write_bytes(b"12")
            result = run(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn("x has 2 bytes, the array has 48", result.stderr)

    def test_refusals(self):
        for arguments, words in ((layer(64, 8, 2, 100, 128), "hidden = 100"), (layer(64, 0, 2, 64, 128), "experts = 0"),
                                 (layer(64, 8, 2, 64, 128, "--shared", "8"), "shared = 8: of 8 experts"),
                                 (layer(64, 8, 2, 64, 128, "--id-bytes", "5"), "id_bytes = 5"),
                                 (layer(64, 8, 2, 64, 128, "--gate-up-plan", "grouped-64x64-c1-s4x"), "grouped-64x64-c1-s4x"),
                                 (layer(8, 8, 2, 64, 128, "--operands", "/nowhere"), "/nowhere"),
                                 (layer(64, 8, 2, 64, 128, "--target", "sm100"), "sm100")):
            with self.subTest(words):
                result = run(*arguments)
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertIn(words, result.stderr)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
