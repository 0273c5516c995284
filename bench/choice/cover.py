#!/usr/bin/env python3
"""Chooses plans to compile ahead: a small set whose best member is near the best of the space on every problem.

Usage: cover.py BASIS.tsv... [--size N] [--limit REGRET] [--keep FILE]

BASIS.tsv, or BASIS.tsv.gz, is written by `./warpwright tune --random`. Plans are added one by one, each time the one that lowers the
geometric mean of (best of the set / best of the space) most, until it is below --limit or there are --size. --keep names
plans, one a line, that are in the set from the start. Prints the plans in the order of their choice, with the mean and
the largest regret so far; then the same for problems that were left out of the choice, in five parts.
"""

import argparse
import collections
import csv
import gzip
import math
import re
import sys


def load(paths):
    """Problem -> plan -> us. Parts of a split depth are the launch's business: one plan."""
    times = collections.OrderedDict()
    for path in paths:
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["plan"] == "cublaslt":
                    continue
                plan = re.sub(r"-splitk\d+$", "-splitk", row["plan"])
                problem = times.setdefault((row["dtype"], int(row["m"]), int(row["n"]), int(row["k"])), {})
                problem[plan] = min(float(row["us"]), problem.get(plan, math.inf))
    return {problem: plans for problem, plans in times.items() if len(plans) > 1}


def greedy(times, size, limit, keep=()):
    """(plan, mean regret, largest regret) in the order of the choice."""
    problems = list(times.values())
    best = [min(plans.values()) for plans in problems]
    # Where nothing serves yet: worse than anything measured.
    have = [10 * max(plans.values()) for plans in problems]
    chosen = []

    def add(plan):
        for i, plans in enumerate(problems):
            have[i] = min(have[i], plans.get(plan, math.inf))
        regrets = [h / b for h, b in zip(have, best)]
        chosen.append((plan, math.exp(sum(map(math.log, regrets)) / len(regrets)), max(regrets)))

    for plan in keep:
        add(plan)
    names = sorted({plan for plans in problems for plan in plans})
    while len(chosen) < size and (not chosen or chosen[-1][1] > limit):
        gains = {
            plan: sum(math.log(min(h, plans.get(plan, math.inf))) for h, plans in zip(have, problems)) for plan in names
        }
        add(min(gains, key=gains.get))
    return chosen


def regret(times, plans):
    logs = []
    for problem in times.values():
        served = [us for plan, us in problem.items() if plan in plans]
        logs.append(math.log(min(served) / min(problem.values())) if served else math.log(10))
    return math.exp(sum(logs) / len(logs)), math.exp(max(logs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("basis", nargs="+")
    parser.add_argument("--size", type=int, default=120)
    parser.add_argument("--limit", type=float, default=1.001)
    parser.add_argument("--keep")
    options = parser.parse_args()
    times = load(options.basis)
    keep = []
    if options.keep:
        with open(options.keep, encoding="utf-8") as file:
            keep = file.read().split()
    print(f"# {len(times)} problems, {len({p for plans in times.values() for p in plans})} plans")
    for plan, mean, largest in greedy(times, options.size, options.limit, keep):
        print(f"{plan}\t{mean:.4f}\t{largest:.3f}")
    problems, parts = list(times), 5
    logs = []
    for part in range(parts):
        left = {p: times[p] for i, p in enumerate(problems) if i % parts == part}
        rest = {p: times[p] for i, p in enumerate(problems) if i % parts != part}
        if left and rest:
            plans = {plan for plan, _, _ in greedy(rest, options.size, options.limit, keep)}
            logs.append(math.log(regret(left, plans)[0]))
    if logs:
        print(f"# on problems that were left out: {math.exp(sum(logs) / len(logs)):.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
