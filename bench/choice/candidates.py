#!/usr/bin/env python3
"""Which plans are worth timing at given dense problems: a table for `tune --every-plan --shapes`, with a column `plans`.

Usage: candidates.py SHAPES --space NAMES --ahead NAMES --basis TABLE... [--each 16] [--others 4] [--of-ahead 14]

SHAPES is what draw.py writes; the files of names have a plan in each line: --space what `bin/tile_space` prints, --ahead
those compiled ahead. A model is fitted to the tables (fit.py). Of each problem are taken the best of the space by it, at
most two that differ in their N side alone, then some drawn among those within a third of the best, since a model that is
only asked where it is sure never learns where it is wrong, and the best that were compiled ahead.
"""

import argparse
import collections

import numpy as np

from basis import Problem, load, parse, without_parts
from cover import parts
from fit import Model
from model import Data


def names_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split()


def problems_of(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split("\t")
            if words[0] == "dense":
                yield Problem("dense", words[1], 1, *map(int, words[3:6]))


def predicted(model, problem, names):
    """Names, with the parts of their depth, and microseconds."""
    serving = []
    for name in names:
        plan = parse(name)
        if plan.skinny and problem.m > plan.tile_m and plan.tile_m < 128:
            continue
        if not plan.split_k:
            serving.append(name)
        elif (count := parts(plan, problem.m, problem.n, problem.k)) > 1:
            serving.append(f"{without_parts(name)}{count}")
    data = Data({problem: dict.fromkeys(serving, 1.0)})
    return data.name, np.exp(model.predict(data)[1])


def kind(name):
    """A plan without the N side of its MMAs and its stages."""
    p = parse(name)
    return p.skinny, p.mma_m, p.cluster_m, p.cluster_n, p.swapped, p.split_k, p.group_blocks, p.halves, p.ping_pong


def worth_timing(model, problem, options, random):
    names, us = predicted(model, problem, options.space)
    order = np.argsort(us, kind="stable")
    taken, seen = [], collections.Counter()
    for i in order:
        if us[i] > 1.2 * us[order[0]] or len(taken) == options.each:
            break
        seen[kind(names[i])] += 1
        if seen[kind(names[i])] <= 2:
            taken.append(names[i])
    near = [names[i] for i in order if us[i] < us[order[0]] * 4 / 3 and names[i] not in taken]
    taken += [near[i] for i in random.permutation(len(near))[: options.others]]
    names, us = predicted(model, problem, options.ahead)
    return list(dict.fromkeys(taken + [names[i] for i in np.argsort(us)[: options.of_ahead]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes")
    parser.add_argument("--space", type=names_of, required=True)
    parser.add_argument("--ahead", type=names_of, required=True)
    parser.add_argument("--basis", nargs="+", required=True)
    parser.add_argument("--each", type=int, default=16)
    parser.add_argument("--others", type=int, default=4)
    parser.add_argument("--of-ahead", type=int, default=14)
    options = parser.parse_args()
    data = Data(load(options.basis, keep_parts=True))
    model = Model(data, np.ones(len(data.us), bool))
    random = np.random.default_rng(3)
    print("op\tdtype\tgroups\tm\tn\tk\tplans")
    for problem in problems_of(options.shapes):
        plans = ",".join(worth_timing(model, problem, options, random))
        print("dense", problem.dtype, 1, problem.m, problem.n, problem.k, plans, sep="\t")


if __name__ == "__main__":
    main()
