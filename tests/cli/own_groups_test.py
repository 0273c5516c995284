"""Epilogues of the user's own in products by groups, through the tool: what `gemm` and `explain` say of them, what they
refuse, and bugs planted in the kernels' headers, each of which `gemm` must see.

Usage: own_groups_test.py TOOL [unittest arguments]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = None
INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
GROUPS = ("--groups", "3", "--m", "300", "--n", "136", "--k", "256")
BF16 = ("gemm", "--op", "grouped_contiguous", *GROUPS, "--target", "sim:sm90")
MASKED = ("gemm", "--op", "grouped_masked", *GROUPS, "--target", "sim:sm90")
ALONG_K = ("gemm", "--op", "grouped_k", *GROUPS, "--target", "sim:sm90")
BLACKWELL = ("gemm", "--op", "grouped_contiguous", *GROUPS, "--dtype", "e4m3", "--target", "sim:sm100")
BLACKWELL_ALONG_K = ("gemm", "--op", "grouped_k", *GROUPS, "--target", "sim:sm100")
HOPPER_FILE, RESULTS_FILE = "kernel/sm90/grouped/grouped_epilogue.h", "kernel/sm100/epilogue_results.h"
# What a mistake in these lines does: the file, the text and its replacement, and a product that must show it.
PLANTED = {
    "the second row of a thread is told the number of the first": (
        HOPPER_FILE, ".row = place.own_row + row + 8 * half,", ".row = place.own_row + row,", (*BF16, "--epilogue", "x + row")),
    "all columns of a pair are told the same number": (
        HOPPER_FILE, ".column = column + 2 * i + j % 2,", ".column = column + 2 * i,", (*BF16, "--epilogue", "x + column")),
    "blocks of eight columns share a number": (
        HOPPER_FILE, ".column = column + 2 * i + j % 2,", ".column = column + j % 2,", (*BF16, "--epilogue", "x + column")),
    "the biases of the first matrix serve all": (
        HOPPER_FILE, "place.matrix * args.bias_stride + column + 2 * i", "column + 2 * i",
        (*BF16, "--epilogue", "x * bias")),
    "the bias of the first half of the rows serves both": (
        HOPPER_FILE, "of_row[half] = row_bias(args, place.row + row + 8 * half);",
        "of_row[half] = row_bias(args, place.row + row);", (*BF16, "--epilogue", "x * row_bias")),
    "the bias is that of the row in its tile": (
        HOPPER_FILE, "row_bias(args, place.row + row + 8 * half)", "row_bias(args, row + 8 * half)",
        (*MASKED, "--epilogue", "x * row_bias")),
    "rows beyond the group read a bias that is not there": (
        HOPPER_FILE, "if (row + 8 * half < place.rows) of_row", "of_row", (*BF16, "--epilogue", "x * row_bias")),
    "columns beyond D read a bias that is not there": (
        HOPPER_FILE, "if (column + 2 * i < args.n) of_columns", "of_columns", (*BF16, "--epilogue", "x * bias")),
    "a group along k is told its rows in all results": (
        "kernel/sm90/grouped/grouped_gemm.h", "row - before, batch}", "row, batch}", (*ALONG_K, "--epilogue", "x + row")),
    "a group along k is told the number of the matrix": (
        "kernel/sm90/grouped/grouped_gemm.h", "C.by_depth() ? before / args.groups.rows : tile.rows.matrix", "tile.rows.matrix",
        (*ALONG_K, "--epilogue", "x + batch")),
    "Blackwell's tiles have the number of the tile before": (
        RESULTS_FILE, "if constexpr (kNodes.own != 0) nodes_.batch = K::number(tile);", "",
        (*BLACKWELL, "--epilogue", "x + batch")),
    "Blackwell's biases are those of the first matrix": (
        RESULTS_FILE, "+ int64_t(matrix) * nodes.bias_batch_stride", "", (*BLACKWELL, "--epilogue", "x * bias")),
    "Blackwell's groups along k have the number of their matrix": (
        "kernel/sm100/grouped/grouped_gemm.h", "C.pointers || C.by_depth ? tile.group : tile.matrix", "tile.matrix",
        (*BLACKWELL_ALONG_K, "--epilogue", "x + batch")),
}


def run(*arguments, **environment):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)


class OwnGroups(unittest.TestCase):
    def test_explain_and_gemm_name_the_same_instance(self):
        for product in (BF16, MASKED, BLACKWELL):
            text = "x * sigmoid(x) * row_bias"
            gemm = json.loads(run(*product, "--epilogue", text, "--json").stdout)
            explain = json.loads(run("explain", *product[1:], "--epilogue", text, "--json").stdout)
            self.assertEqual((gemm["ok"], gemm["epilogue"], explain["epilogue"]), (True, text, text))
            self.assertEqual(gemm["instance"], explain["instance"])
            self.assertRegex(gemm["instance"], r"-row_bias-own[0-9a-f]{16}")

    def test_a_number_of_the_call_is_no_other_kernel(self):
        instances = {json.loads(run(*BF16, "--epilogue", "x * beta", "--beta", beta, "--json").stdout)["instance"]
                     for beta in ("2", "0.5")}
        self.assertEqual(len(instances), 1)

    def test_what_cannot_be_is_refused(self):
        for arguments, words in (
                ((*BF16, "--epilogue", "x * sigmod(x)"), ["line 1, column 5", "sigmoid"]),
                ((*BF16, "--epilogue", "x + residual"), ["the formula names residual"]),
                ((*BF16, "--epilogue", "x * 2+quantize"), ["leave out +quantize"]),
                ((*BF16, "--epilogue", "x * 2", "--beta", "3"), ["beta = 3"]),
                ((*ALONG_K, "--epilogue", "x * bias"), ["groups along k have none"]),
                ((*BF16, "--epilogue", "silu"), ["'silu'", "no formula"]),
                (("check", "sm90/grouped-128x256-c2-s4/bf16-contiguous-own0123456789abcdef"), ["gemm --epilogue"])):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
            for word in words:
                self.assertIn(word, result.stderr)

    def test_every_planted_bug_is_seen(self):
        for bug, (file, old, new, product) in PLANTED.items():
            with self.subTest(bug), tempfile.TemporaryDirectory() as folder:
                include = pathlib.Path(folder) / "include"
                shutil.copytree(INCLUDE, include)
                header = include / "warpwright" / file
                text = header.read_text()
                self.assertEqual(text.count(old), 1, old)
                header.write_text(text.replace(old, new))
                result = run(*product, "--landing", "late", "--schedule", "fifo", "--json", WARPWRIGHT_INCLUDE=str(include),
                             WARPWRIGHT_CACHE_DIR="off")
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertRegex(json.loads(result.stdout)["report"], "^(result|bounds|uninitialized|read)")


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
