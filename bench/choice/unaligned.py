#!/usr/bin/env python3
"""Fits what the model reckons where the TMA cannot address rows: threads that realign what they load, copies that are made
first, and threads that store.

Usage: unaligned.py TABLE... [--copied TABLE...]
       unaligned.py TABLE... --write       tests/runtime/fit_unaligned.tsv: predictions that the C++ model has to repeat
TABLE: tables of `tune --every-plan` with rows of no whole 16 bytes. --copied: tables in which only the times of copied
operands are read, since other kernels loaded the rest.

The rest of the model is that of src/choice/fit/dense.inc without its trees. What comes out are constants of
src/choice/wave_model.cpp and src/choice/packing.cpp, into which they are put by hand: first those that are there are
judged, then new ones are fitted. Three of four problems are fitted to, the fourth judges. Needs numpy and scipy.
"""

import argparse
import os
import re
import sys

import numpy as np
from scipy.optimize import least_squares

import basis
import model

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# What is fitted, by its name in the sources, and where it is drawn to.
START = dict(
    kIssuedByOne=0.4, kIssuedByTwo=0.6, kRealignUs=1.0, kPackFixedUs=6.0, kPackBytesPerUs=3.2e6, kThreadStore=4.0,
    kThreadStoreSwapped=4.0,
)  # fmt: skip
COUNTED = ("kRealignStage", "kRealignRound")  # instructions of a warp for a stage and for a round of lines
VECTOR, RESULT = 16, 2  # bytes
PACKED = "-packed"
FAR = 2.0  # times the fastest: no use for the fit


def source(path):
    with open(os.path.join(ROOT, "src/choice", path), encoding="utf-8") as file:
        return file.read()


def constants():
    text = source("wave_model.cpp") + source("packing.cpp")
    return {name: float(re.search(rf"\b{name} = ([\d.e+-]+)", text)[1]) for name in (*START, *COUNTED)}


def fitted():
    text = source("fit/dense.inc")
    numbers = dict(re.findall(r"\.(\w+) = ([\d.e+-]+)", text))
    plans = dict(re.findall(r'\{"([^"]+)", ([\d.e+-]+)\}', text))
    return [float(numbers[name]) for name in model.NAMES], {name: float(value) for name, value in plans.items()}


def read(tables, copied):
    """Problem -> plan -> us where rows begin at any byte."""
    times = {}
    for path in tables + copied:
        for problem, plan, us in basis.rows(path):
            if plan == basis.PEER or basis.is_addressable(problem):
                continue
            # Stream-K that realigns was the best plan of one problem of 63, and is no longer compiled.
            if plan.endswith(PACKED) or path in tables and not plan.endswith("-streamk"):
                times.setdefault(problem, {})[plan] = us
    return times


class Rows:
    def __init__(self, times):
        self.problems = list(times)
        listed = [(i, plan, us) for i, p in enumerate(self.problems) for plan, us in times[p].items()]
        self.problem = np.array([i for i, _, _ in listed])
        self.name = np.array([plan for _, plan, _ in listed])
        self.us = np.array([us for _, _, us in listed])
        self.packed = np.array([plan.endswith(PACKED) for plan in self.name])
        numbers, factors = fitted()
        self.numbers = numbers
        made = [self.facts(self.problems[i], plan) for i, plan, _ in listed]
        self.f = {key: np.array([f[key] for f in made], float) for key in made[0]}
        self.log_factor = np.array([factors.get(basis.without_stages(plan.removesuffix(PACKED)), 0.0) for plan in self.name])
        best = np.full(len(self.problems), np.inf)
        np.minimum.at(best, self.problem, self.us)
        self.regret = self.us / best[self.problem]

    @staticmethod
    def facts(problem, plan):
        size = basis.SIZES[problem.dtype]
        bytes_of_copies = 2.0 * size * problem.k * (problem.m + problem.n)
        unit, packed = VECTOR // size, plan.endswith(PACKED)
        if packed:
            problem = problem._replace(k=model.up(problem.k, unit) * unit)
        f = model.facts(plan.removesuffix(PACKED), problem)
        # A kernel whose threads load has them store too.
        return dict(f, copied=bytes_of_copies, stored=float(not packed or problem.n * RESULT % VECTOR != 0))

    def log_us(self, v):
        f = self.f
        two = (f["warpgroups"] == 1) & (f["mma_m"] / 64 * f["group_n"] / 2 <= 64)
        lines = np.where(two, 32, 16)
        rounds = model.up(f["tile_m"], lines) + model.up(f["tile_n"], lines)
        instructions = v["kRealignStage"] + v["kRealignRound"] * rounds
        cycles = np.where(two, 2 / v["kIssuedByTwo"], 1 / v["kIssuedByOne"]) * instructions
        slower = np.where(f["stored"] == 0, 1, np.where(f["swapped"] > 0, v["kThreadStoreSwapped"], v["kThreadStore"]))
        tma, _ = model.structured(self.numbers, dict(f, slower=slower))
        threads, _ = model.structured(self.numbers, dict(f, slower=slower, load_cycles=cycles))
        factor = np.exp(self.log_factor)
        copies = v["kPackFixedUs"] + f["copied"] / v["kPackBytesPerUs"]
        return np.log(np.where(self.packed, tma * factor + copies, (threads + v["kRealignUs"]) * factor))


def report(title, rows, values, fit):
    print(title, {name: float(f"{values[name]:.3g}") for name in START})
    log_us = rows.log_us(values)
    error = log_us - np.log(rows.us)
    for what, problems in (("fitted to", fit), ("judged", ~fit)):
        for kind, of_kind in (("realigned", ~rows.packed), ("copied", rows.packed)):
            near = problems[rows.problem] & of_kind & (rows.regret < FAR)
            print(f"  {what} {kind}: {near.sum()} times, error {np.mean(error[near]):+.3f} +- {np.std(error[near]):.3f}")
        regrets = []
        for i in np.where(problems)[0]:
            of = np.where(rows.problem == i)[0]
            if len(of) > 1:
                regrets.append(rows.regret[of[np.argmin(log_us[of])]])
        print(f"  {what}: {len(regrets)} problems, regret {np.exp(np.mean(np.log(regrets))):.4f}, most {max(regrets):.3f}")


def write_expected(rows, values, count=60):
    """As fit.py does, of what threads realign: copies are more than this model, which has no trees."""
    us = np.exp(rows.log_us(values))
    realigned = np.random.default_rng(2).permutation(np.where(~rows.packed)[0])[:count]
    with open(os.path.join(ROOT, "tests/runtime/fit_unaligned.tsv"), "w", encoding="utf-8") as file:
        file.write("# op\tdtype\tgroups\tm\tn\tk\tplan\tus by bench/choice/unaligned.py\n")
        for r in sorted(realigned):
            problem = rows.problems[rows.problem[r]]
            file.write("\t".join(map(str, (*problem[:6], rows.name[r], f"{us[r]:.12g}"))) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", metavar="TABLE")
    parser.add_argument("--copied", nargs="+", default=[], metavar="TABLE")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = Rows(read(options.tables, options.copied))
    there = constants()
    if options.write:
        return write_expected(rows, there)
    fit = np.arange(len(rows.problems)) % 4 != 3
    used = fit[rows.problem] & (rows.regret < FAR)
    prior = np.log(list(START.values()))

    def residuals(logs):
        error = rows.log_us({**there, **dict(zip(START, np.exp(logs)))}) - np.log(rows.us)
        return np.concatenate([(error / rows.regret**2)[used], 0.2 * (logs - prior)])

    found = np.exp(least_squares(residuals, prior, loss="soft_l1", f_scale=0.1).x)
    report("there", rows, there, fit)
    report("fitted", rows, {**there, **dict(zip(START, found))}, fit)


if __name__ == "__main__":
    sys.exit(main())
