#!/usr/bin/env python3
"""How exact brief times are, and what regret someone would show who knew the true times.

Usage: noise.py TABLE AGAIN

At problems of both tables the plans near the fastest were timed twice. How two such times differ, less what all plans of a
problem have in common, is the noise of a time. It is put on the times of AGAIN, as if those were true: the plan that is
truly the fastest then costs more than the one that seems so. Needs numpy.
"""

import argparse

import numpy as np

from basis import load

NEAR = 1.2  # times the fastest, in both tables
DRAWS = 20


def noise(first, again):
    """Logarithms of single times less their true values."""
    errors = []
    for problem in first:
        a, b = first[problem], again.get(problem, {})
        near = [p for p in b if p in a and a[p] < NEAR * min(a.values()) and b[p] < NEAR * min(b.values())]
        if len(near) > 1:
            ratio = np.log([a[p] / b[p] for p in near])
            errors.append((ratio - np.median(ratio)) / np.sqrt(2))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("again")
    options = parser.parse_args()
    again = load([options.again], keep_parts=True)
    errors = noise(load([options.table], keep_parts=True), again)
    if not errors:
        parser.error(f"{options.table} and {options.again} have no problem at which two plans were timed in both")
    every = np.concatenate(errors)
    print(f"{len(every)} times of {len(errors)} problems: standard deviation {every.std():.4f}, "
          f"median {np.median(np.abs(every)):.4f}, largest {np.abs(every).max():.3f}")  # fmt: skip
    random = np.random.default_rng(0)
    regrets = np.zeros((DRAWS, len(again)))
    for i, plans in enumerate(again.values()):
        true = np.log(list(plans.values()))
        for draw in range(DRAWS):
            measured = true + random.choice(every, len(true))
            regrets[draw, i] = measured[np.argmin(true)] - measured.min()
    high = np.exp(np.percentile(regrets, 95, axis=1).mean())
    print(f"{len(again)} problems: regret of the truly fastest plan {np.exp(regrets.mean()):.4f}, 95th percentile {high:.3f}")


if __name__ == "__main__":
    main()
