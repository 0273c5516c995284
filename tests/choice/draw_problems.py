#!/usr/bin/env python3
"""Writes what `explain` chooses for 1,000 fixed problems on Hopper: a row each, the options and the plan.

usage: draw_problems.py TOOL [--count 1000] > choices.tsv

The choice is one for every version that claims not to change it: test choice.recorded compares a build with choices.tsv.
"""

import argparse
import json
import os
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor


def extent(draw, most):
    """Between 1 and `most`, evenly in magnitude; three of four are multiples of 8 or more."""
    value = int(2 ** draw.uniform(0, most.bit_length() - 1))
    unit = draw.choice([1, 8, 16, 64])
    return max(1, value // unit * unit) if value >= unit else value


def dense(draw):
    options = {"m": extent(draw, 16384), "n": extent(draw, 32768), "k": extent(draw, 16384)}
    options["dtype"] = draw.choice(["bf16"] * 5 + ["fp16", "e4m3", "e4m3", "e5m2"])
    narrow = options["dtype"] in ("e4m3", "e5m2")
    if not narrow and draw.random() < 0.3:
        options["layout"] = draw.choice(["nn", "tn", "tt"])
    if draw.random() < 0.15:
        options["batch"] = draw.randint(2, 12)
    if draw.random() < 0.2:
        options["out-dtype"] = draw.choice(["fp32", "bf16", "fp16"])
    words = [w for w, chance in (("bias", 0.15), ("residual", 0.1)) if draw.random() < chance]
    if draw.random() < 0.2:
        words.append(draw.choice(["relu", "gelu", "gelu_erf", "silu"]))
    if words:
        options["epilogue"] = "+".join(words)
    if narrow and draw.random() < 0.6:
        options["scaling"] = draw.choice(["tensor", "row_column", "promoted", "tensor+promoted"])
    if draw.random() < 0.1:
        options["beta"] = 1
    return options


def grouped(draw):
    op = draw.choice(["blockwise", "blockwise", "grouped_contiguous", "grouped_masked", "grouped_k"])
    options = {"op": op, "m": extent(draw, 8192), "n": extent(draw, 8192) // 16 * 16 + 16, "k": extent(draw, 8192) // 128 * 128 + 128}
    options["dtype"] = "e4m3" if op == "blockwise" else draw.choice(["bf16", "e4m3"])
    if op != "blockwise":
        options["groups"] = draw.choice([1, 2, 4, 8, 16, 64, 128])
        if op == "grouped_masked":
            options["m"] = max(1, options["m"] // options["groups"]) * options["groups"]
        if op != "grouped_k" and draw.random() < 0.3:
            options["epilogue"] = draw.choice(["bias", "swiglu", "bias+swiglu"])
            options["n"] = (options["n"] + 255) // 256 * 256
    return options


def explain(tool, options):
    line = [tool, "explain", "--json", "--target", "sm90"]
    for key, value in options.items():
        line += [f"--{key}", str(value)]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "WARPWRIGHT_CUDA": "off"})
    if done.returncode != 0:
        return "refused: " + done.stderr.strip().removeprefix("warpwright: ").removeprefix("explain: ")
    return json.loads(done.stdout)["plan"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args()
    draw = random.Random(20261116)
    problems = [dense(draw) if draw.random() < 0.7 else grouped(draw) for _ in range(given.count)]
    with ThreadPoolExecutor(2) as pool:
        plans = list(pool.map(lambda options: explain(given.tool, options), problems))
    print("# options of explain\tplan")
    for options, plan in zip(problems, plans):
        print(" ".join(f"--{k} {v}" for k, v in options.items()) + "\t" + plan)


if __name__ == "__main__":
    main()
