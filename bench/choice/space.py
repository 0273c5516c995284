#!/usr/bin/env python3
"""The space of plans for plain dense bf16 products on Hopper, one name a line, from which a cover is chosen.

Usage: space.py            every plan that fits an SM
       space.py --lines    as lines of src/catalog/sm90_*.def
"""

import argparse

SHARED = 232448 - 1024
MAX_REGISTERS = {1: 208, 2: 208, 3: 96}


def stages(stage_bytes, used, most):
    return min(most, (SHARED - used) // (stage_bytes + 16))


def output_box_columns(width):
    row = 2 * width
    return next(size for size in (128, 64, 32, 16) if row % size == 0) // 2


def dense(height, width, rows, columns, group=64, ping_pong=False, outputs=2, split=False):
    """The name of a plan with as many stages as fit, or nothing."""
    warpgroups = 2 if ping_pong else height // group
    sums = group // 64 * width // 2
    if not 1 <= warpgroups <= 3 or sums > MAX_REGISTERS[warpgroups]:
        return None
    if width % rows or width // rows % 8 or height % columns or height // columns % 8:
        return None
    used = 64 * output_box_columns(width) * 2 * outputs * warpgroups
    depth = stages((height + width) * 128, used, 12)
    if depth < 3:
        return None
    cluster = f"c{rows}x{columns}" if rows > 1 and columns > 1 else f"c{columns}n" if columns > 1 else f"c{rows}"
    words = ["dense", f"{height}x{width}", cluster, f"s{depth}"]
    words += [f"o{outputs}"] if outputs != 2 else []
    words += [f"g{group}"] if group != 64 else []
    words += ["pingpong"] if ping_pong else []
    words += ["splitk"] if split else []
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


def space():
    names = []
    # Two warpgroups side by side: the widths that fill the last wave, and who shares what.
    for width in range(64, 257, 16):
        for rows, columns in ((1, 1), (2, 1), (1, 2), (2, 2)):
            names.append(dense(128, width, rows, columns))
    for width in (128, 192, 256):
        names.append(dense(128, width, 4, 1))
        names.append(dense(128, width, 1, 4))
    # One warpgroup: more tiles, or two in turns.
    for width in (32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256):
        for rows, columns in ((1, 1), (1, 2), (2, 2), (2, 1)):
            names.append(dense(64, width, rows, columns))
    for width in (96, 128, 192, 256):
        names.append(dense(64, width, 4, 2))
        names.append(dense(64, width, 2, 1, ping_pong=True))
        names.append(dense(64, width, 1, 2, ping_pong=True))
        names.append(dense(64, width, 1, 1, ping_pong=True))
    # Tall tiles.
    for width in (64, 80, 96, 112, 128, 144, 160, 176, 192):
        names.append(dense(256, width, 1, 2, group=128))
        names.append(dense(256, width, 2, 1, group=128))
    for width in (96, 128, 160, 192):
        names.append(dense(192, width, 2, 1))
        names.append(dense(192, width, 1, 2))
    for width in (96, 128, 160, 192, 208):
        names.append(dense(128, width, 2, 1, group=128, ping_pong=True))
        names.append(dense(128, width, 1, 2, group=128, ping_pong=True))
    # Few tiles and much depth: parts of k by several clusters.
    for height, width in ((64, 64), (64, 96), (64, 128), (64, 192), (128, 96), (128, 128), (128, 192), (128, 256)):
        for rows, columns in ((1, 1), (2, 1), (1, 2)):
            names.append(dense(height, width, rows, columns, split=True))
    for rows in (64, 128):
        for tokens in (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128):
            for split in (1, 2, 3, 4, 8):
                names.append(skinny(rows, tokens, split))
    return list(dict.fromkeys(name for name in names if name))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", action="store_true")
    lines = parser.parse_args().lines
    for name in space():
        print(f'INSTANCE("sm90/{name}/bf16-nt")' if lines else name)


if __name__ == "__main__":
    main()
