#!/usr/bin/env python3
"""How far the time that the choice reckons with on Blackwell (src/choice/sm100_model.cpp) is from the simulator's where
clusters share the depth of a tile, and what that costs the choice, both in the simulator's clock of a B200.

usage: sm100_split.py PROGRAM draw SEED COUNT > DRAW.tsv     simulates products drawn at random
       sm100_split.py PROGRAM report DRAW.tsv...             compares, with the model that PROGRAM has

PROGRAM is bin/predict_rows. A product is drawn with its logarithms: m of 8 to 2048, n of 64 to 4096, k of 512 to 16384.
Every instance that shares the depth is simulated, with 2, 4 and 8 parts where it takes a number; of the others, which
tests/choice/sm100_times.tsv holds to the simulator, three.
"""
import json
import math
import random
import statistics
import subprocess
import sys

WHOLE = ["dense-128x256-c2x1-s6-pair", "dense-128x128-c1x1-s6", "dense-64x64-c1x1-s8"]
SHARED = {"split-K": ["dense-128x128-c1x1-s6-clc-splitk{}"], "split-K, few rows": ["dense-128x16-c1x1-s10-splitk{}-swap-early"],
          "stream-K": ["dense-128x256-c2x1-s6-pair-streamk"]}
PARTS = (2, 4, 8)
COLUMNS = ("plan", "m", "n", "k", "us")
MOST_WORK = 2**34  # m * n * k; the simulator takes seconds for it


def products(seed, count):
    rng, found = random.Random(seed), []
    while len(found) < count:
        m, n, k = (int(2 ** rng.uniform(*range_)) for range_ in ((3, 11), (6, 12), (9, 14)))
        n, k = n // 8 * 8, k // 64 * 64
        if m * n * k <= MOST_WORK:
            found.append((m, n, k))
    return found


def run(program, rows, *options):
    lines = "".join(f"{plan} {m} {n} {k}\n" for plan, m, n, k in rows)
    done = subprocess.run([program, *options], input=lines, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def candidates(m):
    for kind, plans in SHARED.items():
        if kind != "split-K, few rows" or m <= 256:
            for plan in plans:
                for parts in PARTS if "{}" in plan else (0,):
                    yield f"sm100/{plan.format(parts)}/bf16"


def kind_of(row):
    plan, words = row["plan"].split("/")[1], {"streamk": "stream-K", "swap": "split-K, few rows", "splitk": "split-K"}
    return next((kind for word, kind in words.items() if word in plan), "whole")


def draw(program, seed, count):
    for m, n, k in products(seed, count):
        for row in run(program, [(plan, m, n, k) for plan in [*candidates(m), *(f"sm100/{plan}/bf16" for plan in WHOLE)]]):
            print(*row["launch"].split(), row["us"], sep="\t", flush=True)


def report(program, files):
    rows = [dict(zip(COLUMNS, line.split())) for file in files for line in open(file) if line.startswith("sm100/")]
    rows = [{**row, **{key: int(row[key]) for key in "mnk"}, "us": float(row["us"])} for row in rows]
    model = run(program, [(row["plan"], row["m"], row["n"], row["k"]) for row in rows], "--model")
    by_kind, by_product = {}, {}
    for row, other in zip(rows, model):
        assert row["plan"] == other["launch"].split()[0]
        ratio = other["model_us"] / row["us"]
        by_kind.setdefault(kind_of(row), []).append(ratio)
        by_product.setdefault((row["m"], row["n"], row["k"]), []).append((other["model_us"], row["us"], row["plan"]))
    print("depth              rows  median  within 10 %  within 25 %    least     most")
    for kind, ratios in by_kind.items():
        near = [sum(abs(ratio - 1) <= much for ratio in ratios) / len(ratios) for much in (0.1, 0.25)]
        print(f"{kind:17} {len(ratios):5}  {statistics.median(ratios):6.3f}  {100 * near[0]:9.0f} %  {100 * near[1]:9.0f} %  "
              f"{min(ratios):7.3f}  {max(ratios):7.3f}")
    shared = [ratio for kind, ratios in by_kind.items() if kind != "whole" for ratio in ratios]
    print(f"shared depth: {len(shared)} rows, {sum(abs(ratio - 1) <= 0.1 for ratio in shared)} within 10 %")
    regrets = {product: min(list_)[1] / min(us for _, us, _ in list_) for product, list_ in by_product.items()}
    chosen = sum(kind_of({"plan": min(list_)[2]}) != "whole" for list_ in by_product.values())
    mean = math.exp(statistics.fmean(map(math.log, regrets.values())))
    print(f"choice: {len(regrets)} products, {chosen} with shared depth; geometric mean {mean:.3f} of the fastest that was simulated, "
          f"at most {max(regrets.values()):.3f}, {sum(regret > 1.1 for regret in regrets.values())} over 1.1")


def main():
    if len(sys.argv) == 5 and sys.argv[2] == "draw":
        return draw(sys.argv[1], int(sys.argv[3]), int(sys.argv[4]))
    if len(sys.argv) > 3 and sys.argv[2] == "report":
        return report(sys.argv[1], sys.argv[3:])
    sys.exit(__doc__)


if __name__ == "__main__":
    main()
