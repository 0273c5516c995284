#!/usr/bin/env python3
"""What it is worth to compile plans that are not in the library: regret and how often one is compiled, by how much faster
than the best plan in the library one must be by the model.

Usage: worth_compiling.py TABLE... [--judge TABLE...]

The model is that of fit.py by cross-validation over all tables. What is reported are the problems of those behind
--judge, without it of all, at which plans of both kinds were timed: first of any rows, then by their number.
"""

import argparse
import os
import re

import numpy as np

from basis import load, without_parts
from fit import ROOT, SHORT_LIST, cross_validated, cross_validation
from model import Data

THRESHOLDS = (1.0, 1.03, 1.05, 1.1, 1.15, np.inf)
SPANS = ((1, np.inf), (1, 64), (65, 1024), (1025, np.inf))


def plans_ahead():
    """The names of plans in the library for plain bf16 products."""
    folder = os.path.join(ROOT, "src", "catalog")
    names = set()
    for file in os.listdir(folder):
        if file.endswith(".def"):
            with open(os.path.join(folder, file), encoding="utf-8") as lines:
                names.update(re.findall(r'"sm90/([^"/]+)/bf16-nt"', lines.read()))
    return names


def chosen(rows, log_us, with_trees, factor):
    """The row that is taken when times of what must be compiled count `factor` times (choice/dense.cpp)."""
    short = rows[np.argsort(log_us[rows] + factor[rows], kind="stable")[:SHORT_LIST]]
    return short[np.argmin(with_trees[short] + factor[short])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    parser.add_argument("--judge", nargs="+", default=[], metavar="TABLE")
    options = parser.parse_args()
    data = Data(load([*options.tables, *options.judge], keep_parts=True))
    judged = load(options.judge) if options.judge else data.problems
    times = cross_validated(data, cross_validation(data))
    names = plans_ahead()
    ahead = np.array([without_parts(name) in names for name in data.name])
    problems = [np.where(data.problem == i)[0] for i, p in enumerate(data.problems) if p in judged]
    problems = [rows for rows in problems if ahead[rows].any() and not ahead[rows].all()]
    print("rows\tproblems\tfaster by\tregret\t95th percentile\tcompiled\tdifferent plans")
    for least, most in SPANS:
        of = [rows for rows in problems if least <= data.extents[data.problem[rows[0]], 0] <= most]
        if not of:
            continue
        for threshold in THRESHOLDS:
            factor = np.where(ahead, 0, np.log(threshold))
            taken = np.array([chosen(rows, *times, factor) for rows in of])
            regret, compiled = data.regret[taken], taken[~ahead[taken]]
            different = len({without_parts(data.name[row]) for row in compiled})
            by = "never" if np.isinf(threshold) else f"{100 * (threshold - 1):.0f} %"
            print(f"{least} to {most}", len(of), by, f"{np.exp(np.log(regret).mean()):.4f}",
                  f"{np.percentile(regret, 95):.3f}", f"{len(compiled) / len(of):.2f}", different, sep="\t")  # fmt: skip


if __name__ == "__main__":
    main()
