#!/usr/bin/env python3
"""The space of plans for plain dense bf16 products on Hopper, one name a line, from which a cover is chosen.

Usage: space.py            every plan that fits an SM
       space.py --lines    as lines of src/catalog/sm90_*.def
"""

import argparse

SHARED = 232448 - 1024
MAX_SUMS = {1: 208, 2: 208, 3: 96}  # registers of a thread, by MMA warpgroups


def stages(stage_bytes, used, most):
    return min(most, (SHARED - used) // (stage_bytes + 16))


def output_box_columns(width):
    row = 2 * width
    return next(size for size in (128, 64, 32, 16) if row % size == 0) // 2


def shareable(rows, sharers):
    """Whether every CTA that shares so many rows of an operand can load a part of them."""
    return rows // 8 >= sharers


def dense(height, width, rows=1, columns=1, group=64, sharing="", swapped=False, split="", outputs=2):
    """The name of a plan with as many stages as fit, or nothing."""
    side_m, side_n = (width, height) if swapped else (height, width)
    warpgroups = 2 if sharing else side_m // group
    group_n = side_n // 2 if sharing == "halves" else side_n
    if not 1 <= warpgroups <= 3 or group // 64 * group_n // 2 > MAX_SUMS[warpgroups]:
        return None
    if sharing == "halves" and group_n % (8 if swapped else 16):
        return None
    if not shareable(width, rows) or not shareable(height, columns):
        return None
    stage_n = min(group_n, 32 if sharing == "halves" else 64) if swapped else output_box_columns(group_n)
    used = 64 * stage_n * 2 * outputs * warpgroups
    depth = stages((height + width) * 128, used, 12 if height + width > 128 else 20)
    if depth < 3:
        return None
    cluster = f"c{rows}x{columns}" if rows > 1 and columns > 1 else f"c{columns}n" if columns > 1 else f"c{rows}"
    words = ["dense", f"{height}x{width}", cluster, f"s{depth}"]
    words += [f"o{outputs}"] if outputs != 2 else []
    words += [f"g{group}"] if group != 64 else []
    words += [sharing] if sharing else []
    words += ["swapped"] if swapped else []
    words += [split] if split else []
    return "-".join(words)


def skinny(rows, tokens, split):
    owners = min(split, tokens // 8)
    while owners > 1 and tokens // 8 % owners:
        owners -= 1
    owned = tokens // owners
    warpgroups = rows // 64
    partial = 0 if split == 1 else split * (owned // 8) * warpgroups * 128 * 16
    used = owned * 128 * 2 * warpgroups + partial
    depth = stages((rows + tokens) * 128, used, 20)
    return f"skinny-{rows}x{tokens}-split{split}-s{depth}" if depth >= 3 else None


CLUSTERS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4))


def rows_first():
    """The M side of the MMAs is the rows of a tile."""
    for width in range(32, 257, 16):
        for cluster in CLUSTERS:
            yield dense(64, width, *cluster)
            yield dense(128, width, *cluster)
    for width in range(64, 209, 16):
        for cluster in ((1, 1), (2, 1), (1, 2)):
            yield dense(192, width, *cluster)
            yield dense(256, width, *cluster, group=128)
            yield dense(128, width, *cluster, group=128, sharing="pingpong")
            yield dense(64, width, *cluster, sharing="pingpong")
            yield dense(192, width, *cluster, group=192, sharing="halves")
    for height, width in ((64, 64), (64, 96), (64, 128), (64, 192), (128, 96), (128, 128), (128, 192), (128, 256)):
        for cluster in ((1, 1), (2, 1), (1, 2)):
            yield dense(height, width, *cluster, split="splitk")
            yield dense(height, width, *cluster, split="streamk")


def columns_first():
    """The M side of the MMAs is the columns of a tile, and its rows come in steps of 8."""
    for height in range(8, 257, 8):
        for cluster in CLUSTERS:
            yield dense(height, 64, *cluster, swapped=True)
            yield dense(height, 128, *cluster, swapped=True)
        for cluster in ((1, 1), (2, 1), (1, 2), (1, 4)):
            yield dense(height, 192, *cluster, swapped=True)
            yield dense(height, 256, *cluster, group=128, swapped=True)
            yield dense(height, 192, *cluster, group=192, sharing="halves", swapped=True)
            yield dense(height, 256, *cluster, group=256, sharing="halves", swapped=True)
        for cluster in ((1, 1), (1, 2)):
            yield dense(height, 64, *cluster, swapped=True, split="splitk")
            yield dense(height, 128, *cluster, swapped=True, split="splitk")
            yield dense(height, 64, *cluster, sharing="pingpong", swapped=True)
            yield dense(height, 128, *cluster, group=128, sharing="pingpong", swapped=True)


def few_rows():
    for rows in (64, 128):
        for tokens in (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128):
            for split in (1, 2, 3, 4, 8):
                yield skinny(rows, tokens, split)


def space():
    names = [*rows_first(), *columns_first(), *few_rows()]
    return list(dict.fromkeys(name for name in names if name))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", action="store_true")
    lines = parser.parse_args().lines
    for name in space():
        print(f'INSTANCE("sm90/{name}/bf16-nt")' if lines else name)


if __name__ == "__main__":
    main()
