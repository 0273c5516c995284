#!/usr/bin/env python3
"""Which plans to compile ahead: a cover of a measured basis.

Usage: cover.py BASIS.tsv... [--size 120] [--drawn 600] [--keep FILE] [--lines]

BASIS is what `tune --random` writes. Greedy: the next plan is the one with which the model's choice among the plans
taken so far gains most, in the geometric mean over problems of its time over that of the fastest plan. The model is
that of fit.py, by cross-validation: none of it saw the problem it chooses for. A problem counts for the plans that were
timed there. Beside the measured problems stand some that are only drawn, with the times of the model: without them the
last plans taken are those that fit the measured problems by chance.

Prints the plans in the order of their choice with the regret on the measured problems so far, of the model's choice and
of the best in the cover, and at the end the regret on problems that were left out when choosing. FILE lists plans that
are taken in any case. --lines: as lines of src/catalog/sm90_*.def instead.
"""

import argparse
import sys

import numpy as np

from basis import Problem, load, parse, without_parts
from fit import Model, cross_validated, cross_validation
from model import RESIDENT, Data, up


def parts(plan, m, n, k):
    """Parts of the depth of a tile: as many as fill the chip once, none shallower than four stages (choice/dense.cpp)."""
    tiles = up(m, plan.tile_m * plan.cluster_m) * up(n, plan.tile_n * plan.cluster_n)
    wanted = RESIDENT[plan.cluster_m * plan.cluster_n] // tiles
    return min(max(wanted, 1), max(1, up(k, 64) // 4))


def drawn(count, names):
    """Problems as tune --random draws them, with every plan that serves them."""
    random = np.random.default_rng(5)
    parsed = {name: parse(name) for name in names}
    times = {}
    for _ in range(count):
        m, n, k = (round(least * (most / least) ** random.random()) for least, most in
                   ((1, 8192), (256, 32768), (256, 16384)))  # fmt: skip
        problem = Problem("dense", "bf16", 1, m, up(n, 8) * 8, up(k, 8) * 8)
        serving = [name for name, p in parsed.items() if not p.skinny or m <= p.tile_m or p.tile_m >= 128]
        times[problem] = {
            f"{name}{parts(parsed[name], *problem[3:6])}" if name.endswith("splitk") else name: 1.0 for name in serving
        }
    return Data(times)


class Times:
    """Measured and modelled logarithms, problems by plans; what was not timed is infinite."""

    def __init__(self, plans, data, measured, modelled):
        plan = np.searchsorted(plans, [without_parts(name) for name in data.name])
        self.plans = plans
        self.measured, self.modelled = (np.full((len(data.problems), len(plans)), np.inf) for _ in range(2))
        self.measured[data.problem, plan] = measured
        self.modelled[data.problem, plan] = modelled

    def of(self, problems, and_of=None):
        part = object.__new__(Times)
        part.plans, part.measured, part.modelled = self.plans, self.measured[problems], self.modelled[problems]
        if and_of is not None:
            part.measured = np.concatenate([part.measured, and_of.measured])
            part.modelled = np.concatenate([part.modelled, and_of.modelled])
        return part

    def regrets(self, taken):
        """Logarithms, of the model's choice among the plans, and of the best of them."""
        best = self.measured.min(1)
        served = np.isfinite(self.measured[:, taken]).any(1)
        at = np.array(taken)[self.modelled[:, taken].argmin(1)]
        chosen = self.measured[np.arange(len(best)), at]
        return (chosen - best)[served], (self.measured[:, taken].min(1) - best)[served]


def greedy(times, size, keep=()):
    """Plans in the order of the choice."""
    # Where nothing serves yet: worse than anything measured.
    chosen = np.where(np.isfinite(times.measured), times.measured, -np.inf).max(1) + 2
    modelled = np.full(len(chosen), np.inf)
    taken = []
    waiting = [int(np.where(times.plans == plan)[0][0]) for plan in keep if plan in times.plans]
    while len(taken) < size:
        if waiting:
            plan = waiting.pop(0)
        else:
            after = np.where(times.modelled < modelled[:, None], times.measured, chosen[:, None]).sum(0)
            plan = int(np.argmin(after))
            if after[plan] >= chosen.sum() - 1e-9:
                break
        better = times.modelled[:, plan] < modelled
        chosen = np.where(better, times.measured[:, plan], chosen)
        modelled = np.minimum(modelled, times.modelled[:, plan])
        taken.append(plan)
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("basis", nargs="+")
    parser.add_argument("--size", type=int, default=120)
    parser.add_argument("--drawn", type=int, default=600, help="dense problems with modelled times; 0 for other tables")
    parser.add_argument("--keep")
    parser.add_argument("--lines", action="store_true")
    options = parser.parse_args()
    data = Data(load(options.basis, keep_parts=True))
    plans = np.unique([without_parts(name) for name in data.name])
    models = list(cross_validation(data))
    times = Times(plans, data, np.log(data.us), cross_validated(data, models)[1])
    others = drawn(options.drawn, plans) if options.drawn else None
    everything = np.ones(len(data.problems), bool)

    def cover_of(problems, model):
        if others is None:
            return greedy(times.of(problems), options.size, keep)
        modelled = model.predict(others)[1]
        return greedy(times.of(problems, Times(plans, others, modelled, modelled)), options.size, keep)

    keep = []
    if options.keep:
        with open(options.keep, encoding="utf-8") as file:
            keep = file.read().split()
    cover = cover_of(everything, Model(data, everything[data.problem]))
    if options.lines:
        for plan in cover:
            print(f'INSTANCE("sm90/{plans[plan]}/bf16-nt")')
        return 0
    print(f"# {len(data.problems)} problems, {len(plans)} plans")
    for i, plan in enumerate(cover):
        model, best = (np.exp(logs.mean()) for logs in times.regrets(cover[: i + 1]))
        print(f"{plans[plan]}\t{model:.4f}\t{best:.4f}")
    left_out = [times.of(part).regrets(cover_of(~part, model)) for model, part in models]
    for what, logs in (("here", times.regrets(cover)), ("left out", [np.concatenate(x) for x in zip(*left_out)])):
        model, best = logs
        print(
            f"# {what}: the model's choice {np.exp(model.mean()):.4f}, 95th percentile "
            f"{np.exp(np.percentile(model, 95)):.3f}; the best in the cover {np.exp(best.mean()):.4f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
