#!/usr/bin/env python3
"""Draws dense problems of a range of rows, as a table for `tune --every-plan --shapes`.

Usage: draw.py SEED COUNT [--rows LEAST MOST] [--columns LEAST MOST] [--depth LEAST MOST] [--multiple 8] [--dtype bf16]
               [--longest US]

`tune --random` draws over all sizes. This is for a part of them: where more measurements are wanted, or where plans that
the table does not have yet are meant for. Extents are drawn evenly by their logarithms; n and k are multiples of
--multiple. --longest leaves out products that take more microseconds at the rates of an H200.
"""

import argparse
import random

from basis import SIZES

FLOPS_PER_US = 7.5e8
BYTES_PER_US = 4.2e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--rows", nargs=2, type=int, default=(1, 8192))
    parser.add_argument("--columns", nargs=2, type=int, default=(256, 32768))
    parser.add_argument("--depth", nargs=2, type=int, default=(256, 16384))
    parser.add_argument("--multiple", type=int, default=8)
    parser.add_argument("--dtype", choices=SIZES, default="bf16")
    parser.add_argument("--longest", type=float, default=1e9)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    size = SIZES[options.dtype]

    def extent(least, most, multiple=1):
        return max(multiple, round(least * (most / least) ** draw.random()) // multiple * multiple)

    print("op\tdtype\tgroups\tm\tn\tk")
    left = options.count
    while left > 0:
        m = extent(*options.rows)
        n, k = (extent(*span, options.multiple) for span in (options.columns, options.depth))
        arithmetic = 2 * m * n * k * size / 2 / FLOPS_PER_US
        memory = size * (m * k + n * k + m * n) / BYTES_PER_US
        if max(arithmetic, memory) > options.longest:
            continue
        print(f"dense\t{options.dtype}\t1\t{m}\t{n}\t{k}")
        left -= 1


if __name__ == "__main__":
    main()
