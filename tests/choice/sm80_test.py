#!/usr/bin/env python3
"""What explain names is the instance that gemm runs in the simulator, by mma.sync, right and clean.

usage: sm80_test.py TOOL [COUNT]

COUNT problems, 10 if it is not given, of a fixed list of 100.
"""

import sm100_test


def draw(rng):
    """Options of a problem that the mma.sync kernels take: any rows, layouts of 16 bits, batches."""
    options = {"m": rng.choice([rng.randint(1, 16), rng.randint(1, 300)]), "n": rng.randint(1, 300),
               "k": rng.randint(0, 300)}
    options["dtype"] = rng.choice(["bf16", "bf16", "fp16", "s8", "e4m3"])
    if options["dtype"] in ("bf16", "fp16"):
        options["layout"] = rng.choice(["nt", "nt", "nn", "tn", "tt"])
    if rng.random() < 0.3:
        options["batch"] = rng.randint(2, 3)
    if rng.random() < 0.5:
        options["k"] = options["k"] // 16 * 16
    if rng.random() < 0.3:
        options["alpha"] = rng.choice([0.5, 2])
    if rng.random() < 0.2:
        options["epilogue"] = rng.choice(["bias", "relu", "bias+relu"])
    return options


class OnSm80(sm100_test.Same):
    target, draw = "sim:sm80", staticmethod(draw)


if __name__ == "__main__":
    sm100_test.main()
