#!/usr/bin/env python3
"""Fits the model by which a product on Hopper is chosen, says how well it chooses, and writes its numbers.

Usage: fit.py TABLE...                    regret by cross-validation over the problems of tables of `tune --random`
       fit.py TABLE... --judge TABLE      regret on problems of another table
       fit.py TABLE... --write FAMILY     also src/choice/fit/FAMILY.inc and tests/runtime/fit_FAMILY.tsv
FAMILY: dense, blockwise (one product with blockwise scales) or grouped.

Regret is the measured time of the plan that the model chooses over that of the fastest plan. A table lists many plans
for a problem; those far from the fastest were timed at a glance and count little. Needs numpy and scipy.

The model has three layers (model.py, trees.py); src/choice/fit/fit.h declares its numbers: waves of tiles whose tensor, ingest, L2 and memory times are combined
as a root of squares, with about 35 fitted numbers; a factor for each plan; and boosted trees on what is left, asked
only for the plans that the first two layers find best. They are told which times are of earlier kernels, and answer for
today's.
"""

import argparse
import os
import sys

import numpy as np
from scipy.optimize import least_squares

import trees
from basis import load
from model import FEATURES, NAMES, START, Data, features, structured

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SHORT_LIST = 16  # plans for which the trees are asked
ROUNDS = 120
FOLDS = 6
FAR = 1.6  # times the fastest: no use for the fit
FAR_FOR_TREES = 1.5


def rounded(values, digits=7):
    return np.array([float(f"{v:.{digits}g}") for v in values])


def fit_numbers(data, rows, start=None, steps=40):
    """By least squares of log times, mostly of their differences within a problem."""
    rows = np.where(rows & (data.regret < FAR))[0]
    f = {key: column[rows] for key, column in data.facts.items()}
    target, weight, problem = np.log(data.us[rows]), data.regret[rows] ** -6, data.problem[rows]
    count = len(data.problems)
    square = weight**2
    total = np.maximum(np.bincount(problem, square, count), 1e-12)
    scale = 3 / np.sqrt(total)[problem] * weight
    prior = np.log([START[name] for name in NAMES])

    def residuals(logs):
        error = np.log(structured(np.exp(logs), f)[0]) - target
        mean = (np.bincount(problem, square * error, count) / total)[problem]
        return np.concatenate([(error - 0.7 * mean) * scale, 0.1 * (logs - prior)])

    found = least_squares(
        residuals, prior if start is None else np.log(start), max_nfev=steps, loss="soft_l1", f_scale=0.1
    )
    return rounded(np.exp(found.x))


def fit_plans(data, rows, us):
    """The logarithm of each plan's factor, drawn to 0 where it was seldom near the fastest."""
    weight = data.regret**-12 * (rows & (data.regret < FAR))
    error, _ = data.centred(np.log(data.us / us), weight)
    count = len(data.plans)
    sums = [np.bincount(data.plan, w, count) for w in (weight * error, weight)]
    return rounded(sums[0] / (sums[1] + 2.0), 5)


def fit_trees(data, rows, us, shares, log_us, rounds=ROUNDS):
    weight = data.regret**-6 * (rows & (data.regret < FAR_FOR_TREES))
    error, _ = data.centred(np.log(data.us) - log_us, weight)
    total = np.bincount(data.problem, weight, len(data.problems))
    weight = weight / np.sqrt(np.maximum(total, 1e-12))[data.problem]
    used = weight > 0
    x = features({key: column[used] for key, column in data.facts.items()}, us[used],
                 {key: share[used] for key, share in shares.items()})  # fmt: skip
    target = np.clip(error[used], -0.4, 0.4)
    return trees.train(x, target, weight[used], data.problem[used], rounds)


class Model:
    def __init__(self, data, rows, start=None, steps=40, rounds=ROUNDS):
        self.numbers = fit_numbers(data, rows, start, steps)
        us, shares = structured(self.numbers, data.facts)
        self.plans = dict(zip(data.plans, fit_plans(data, rows, us)))
        self.trees = fit_trees(data, rows, us, shares, self.log_us(data, us), rounds)

    def log_us(self, data, us):
        """The prediction without the trees."""
        return np.log(us) + np.array([self.plans.get(plan, 0.0) for plan in data.plans])[data.plan]

    def predict(self, data):
        """Logarithms of the times without the trees, and with them."""
        us, shares = structured(self.numbers, data.facts)
        log_us = self.log_us(data, us)
        return log_us, log_us + trees.predict(self.trees, features(data.facts, us, shares))


def chosen(data, log_us, with_trees, problem):
    """The row of the plan that is taken."""
    rows = np.where(data.problem == problem)[0]
    rows = rows[np.argsort(log_us[rows], kind="stable")[:SHORT_LIST]]
    return rows[np.argmin(with_trees[rows])]


def line(what, regrets):
    if len(regrets) == 0:
        return
    mean = np.exp(np.log(regrets).mean())
    p90, p95 = np.percentile(regrets, [90, 95])
    above = (regrets > 1.1).sum()
    print(f"{what:24} {len(regrets):4} {mean:8.4f} {p90:7.3f} {p95:7.3f} {regrets.max():7.3f} {above:6}")


def report(title, data, log_us, with_trees, worst, among=()):
    rows = np.array([chosen(data, log_us, with_trees, i) for i in range(len(data.problems))])
    regrets = data.regret[rows]
    without = np.array([data.regret[chosen(data, log_us, log_us, i)] for i in range(len(data.problems))])
    m, k = data.extents[:, 0], data.extents[:, 2]
    print(f"\n{title:24}    n  geomean     p90     p95     max  > 1.1")
    line("all", regrets)
    line("without the trees", without)
    line("m <= 64", regrets[m <= 64])
    line("64 < m <= 1024", regrets[(m > 64) & (m <= 1024)])
    line("1024 < m", regrets[m > 1024])
    line("pitch of whole lines", regrets[k % 64 == 0])
    line("other pitches", regrets[k % 64 != 0])
    if among:
        line("of --among", regrets[[problem in among for problem in data.problems]])
    for kind in sorted({(problem.op, problem.dtype) for problem in data.problems}):
        line(" ".join(kind), regrets[[(problem.op, problem.dtype) == kind for problem in data.problems]])
    if worst:
        print("\nworst: problem, regret, chosen and fastest plan, each with its measured and its modelled time")
    for i in np.argsort(-regrets)[:worst]:
        of = np.where(data.problem == i)[0]
        best = of[np.argmin(data.us[of])]
        words = [f"{data.name[r]} {data.us[r]:.1f} ({np.exp(with_trees[r]):.1f})" for r in (rows[i], best)]
        print(f"{'x'.join(map(str, data.extents[i])):18} {regrets[i]:.3f}  {words[0]}  {words[1]}")


def cross_validation(data, seed=1):
    """For each part of the problems: a model that saw the others only, and which problems are in the part."""
    start = fit_numbers(data, np.ones(len(data.us), bool))
    part = np.random.default_rng(seed).permutation(len(data.problems)) % FOLDS
    for i in range(FOLDS):
        yield Model(data, part[data.problem] != i, start, 8), part == i


def cross_validated(data, models):
    """Logarithms of the times of every row, without the trees and with them, by models that did not see its problem."""
    log_us, with_trees = np.zeros(len(data.us)), np.zeros(len(data.us))
    for model, problems in models:
        rows = problems[data.problem]
        a, b = model.predict(data)
        log_us[rows], with_trees[rows] = a[rows], b[rows]
    return log_us, with_trees


def number(value):
    text = f"{value:.9g}"
    return text if "." in text or "e" in text else text + ".0"


def listed(words, width=118):
    """Lines of an initializer."""
    text, row = [], ""
    for word in words:
        if len(row) + len(word) > width:
            text.append(row)
            row = ""
        row += f"{word},"
    return "\n".join(text + [row])


def write_numbers(model, command, path):
    nodes, roots = [], []
    last = FEATURES.index("earlier")
    for tree in (tree.without(last) for tree in model.trees):
        base = len(nodes)
        roots.append(str(base))
        for i, child in enumerate(tree.child):
            leaf = child == i
            held, feature = (tree.value[i], last) if leaf else (tree.threshold[i], tree.feature[i])
            nodes.append(f"{{{held:.7g},{feature},{child - i}}}")
    values = [f".{name} = {number(v)}" for name, v in zip(NAMES, model.numbers)]
    plans = [f'{{"{plan}", {number(v)}}}' for plan, v in sorted(model.plans.items()) if v != 0]
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            f"// Written by `{command}`; not to be edited.\n"
            f"constexpr Numbers kNumbers{{\n{listed(values)}\n}};\n"
            f"constexpr PlanNumber kPlanNumbers[] = {{\n{listed(plans)}\n}};\n"
            f"constexpr uint16_t kRoots[] = {{\n{listed(roots)}\n}};\n"
            f"constexpr Node kNodes[] = {{\n{listed(nodes)}\n}};\n"
        )


def write_expected(model, data, path, count=60):
    """Predictions that the C++ model has to repeat."""
    _, with_trees = model.predict(data)
    rows = np.random.default_rng(2).permutation(np.where(data.facts["earlier"] == 0)[0])[:count]
    with open(path, "w", encoding="utf-8") as file:
        file.write("# op\tdtype\tgroups\tm\tn\tk\tplan\tus by bench/choice/model.py\n")
        for r in sorted(rows):
            problem = data.problems[data.problem[r]]
            file.write("\t".join(map(str, (*problem[:6], data.name[r], f"{np.exp(with_trees[r]):.12g}"))) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    parser.add_argument("--judge", metavar="TABLE")
    parser.add_argument("--among", metavar="TABLE", help="a line for the problems of this table too")
    parser.add_argument("--parts", type=int, default=1, metavar="SEED", help="how problems are parted")
    parser.add_argument("--write", choices=("dense", "blockwise", "grouped"), metavar="FAMILY")
    parser.add_argument("--worst", type=int, default=12, help="problems to list")
    options = parser.parse_args()
    data = Data(load(options.tables, keep_parts=True))
    model = Model(data, np.ones(len(data.us), bool)) if options.judge or options.write else None
    print(f"{len(data.problems)} problems, {len(data.plans)} plans, {len(data.us)} times")
    if options.judge:
        other = Data(load([options.judge], keep_parts=True))
        report("judged elsewhere", other, *model.predict(other), options.worst)
    else:
        among = load([options.among]) if options.among else ()
        times = cross_validated(data, cross_validation(data, options.parts))
        report("cross-validation", data, *times, options.worst, among)
    if options.write:
        tables = " ".join(os.path.basename(table) for table in options.tables)
        command = f"bench/choice/fit.py {tables} --write {options.write}"
        write_numbers(model, command, os.path.join(ROOT, f"src/choice/fit/{options.write}.inc"))
        write_expected(model, data, os.path.join(ROOT, f"tests/runtime/fit_{options.write}.tsv"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
