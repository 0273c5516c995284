#!/usr/bin/env python3
"""Which plans to compile ahead: a cover of a measured basis.

Usage: cover.py BASIS.tsv... [--size 120] [--limit 1.001] [--keep FILE] [--lines]

BASIS is what `tune --random` writes. Greedy: the next plan is the one with which the model's choice among the plans
taken so far gains most, in the geometric mean over problems of its measured time over that of the fastest plan of the
space. The model is that of fit.py, by cross-validation: none of it saw the problem it chooses for. A problem counts for
the plans that were timed there. FILE lists plans that are taken in any case. Prints the plans in the order of their
choice with the regret so far, of the model's choice and of the best in the cover, and at the end the regret on problems
that were left out when choosing. --lines: as lines of src/catalog/sm90_*.def instead.
"""

import argparse
import sys

import numpy as np

from basis import load, without_parts
from fit import cross_validated
from model import Data


class Times:
    """Measured and modelled logarithms, problems by plans; what was not timed is infinite."""

    def __init__(self, tables):
        data = Data(load(tables, keep_parts=True))
        _, modelled = cross_validated(data)
        names = np.array([without_parts(name) for name in data.name])
        self.plans, plan = np.unique(names, return_inverse=True)
        shape = (len(data.problems), len(self.plans))
        self.measured, self.modelled = np.full(shape, np.inf), np.full(shape, np.inf)
        self.measured[data.problem, plan] = np.log(data.us)
        self.modelled[data.problem, plan] = modelled

    def of(self, problems):
        part = object.__new__(Times)
        part.plans, part.measured, part.modelled = self.plans, self.measured[problems], self.modelled[problems]
        return part

    def regrets(self, taken):
        """Of the model's choice among the plans, and of the best of them."""
        best = self.measured.min(1)
        served = np.isfinite(self.measured[:, taken]).any(1)
        at = np.array(taken)[self.modelled[:, taken].argmin(1)]
        chosen = self.measured[np.arange(len(best)), at]
        return (chosen - best)[served], (self.measured[:, taken].min(1) - best)[served]


def greedy(times, size, limit, keep=()):
    """(plan, regret of the model's choice, regret of the best) in the order of the choice."""
    best = times.measured.min(1)
    # Where nothing serves yet: worse than anything measured.
    chosen = np.where(np.isfinite(times.measured), times.measured, -np.inf).max(1) + 2
    modelled = np.full(len(best), np.inf)
    taken, rows = [], []
    waiting = [int(np.where(times.plans == plan)[0][0]) for plan in keep if plan in times.plans]
    while len(taken) < size and (waiting or not rows or rows[-1][1] > limit):
        if waiting:
            plan = waiting.pop(0)
        else:
            after = np.where(times.modelled < modelled[:, None], times.measured, chosen[:, None])
            plan = int(np.argmin(after.sum(0)))
            if plan in taken or after[:, plan].sum() >= chosen.sum() - 1e-9:
                break
        better = times.modelled[:, plan] < modelled
        chosen = np.where(better, times.measured[:, plan], chosen)
        modelled = np.minimum(modelled, times.modelled[:, plan])
        taken.append(plan)
        least = np.minimum(times.measured[:, taken].min(1), chosen)
        rows.append((plan, np.exp((chosen - best).mean()), np.exp((least - best).mean())))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("basis", nargs="+")
    parser.add_argument("--size", type=int, default=120)
    parser.add_argument("--limit", type=float, default=1.001)
    parser.add_argument("--keep")
    parser.add_argument("--lines", action="store_true")
    options = parser.parse_args()
    times = Times(options.basis)
    keep = []
    if options.keep:
        with open(options.keep, encoding="utf-8") as file:
            keep = file.read().split()
    cover = greedy(times, options.size, options.limit, keep)
    if options.lines:
        for plan, _, _ in cover:
            print(f'INSTANCE("sm90/{times.plans[plan]}/bf16-nt")')
        return 0
    print(f"# {len(times.measured)} problems, {len(times.plans)} plans")
    for plan, model, best in cover:
        print(f"{times.plans[plan]}\t{model:.4f}\t{best:.4f}")
    chosen, best = times.regrets([plan for plan, _, _ in cover])
    print(f"# 95th percentile of the model's choice: {np.exp(np.percentile(chosen, 95)):.3f}")
    folds, logs = np.arange(len(times.measured)) % 5, []
    for part in range(5):
        taken = [plan for plan, _, _ in greedy(times.of(folds != part), options.size, options.limit, keep)]
        logs.append(times.of(folds == part).regrets(taken))
    chosen, best = (np.concatenate(x) for x in zip(*logs))
    print(
        f"# on problems that were left out: {np.exp(chosen.mean()):.4f}, 95th percentile "
        f"{np.exp(np.percentile(chosen, 95)):.3f}; of the best in the cover {np.exp(best.mean()):.4f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
