"""Tables of `tune --random`: times of plans at drawn problems, and what the name of a plan says."""

import collections
import csv
import gzip
import math
import os
import re

PEER = "cublaslt"
SIZES = {"bf16": 2, "fp16": 2, "e4m3": 1, "e5m2": 1}

# m: the rows, of a group where there are groups; k: the depth, likewise. earlier: timed with other kernels than today's.
Problem = collections.namedtuple("Problem", "op dtype groups m n k counts earlier", defaults=("even", False))

# Tables of 2026-11-16. Kernels changed since, ping-pong and clusters of four more than others: see hopper-log.md.
EARLIER = re.compile(r"basis-(1001|2001|2002|2003)\b")


def rows(path):
    """Problem, plan, us of every line."""
    earlier = bool(EARLIER.match(os.path.basename(path)))
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            extents = (int(row[name]) for name in "mnk")
            problem = Problem(row.get("op", "dense"), row["dtype"], int(row.get("groups", 1)), *extents,
                              row.get("counts", "even"), earlier)  # fmt: skip
            yield problem, row["plan"], float(row["us"])


def load(paths, keep_parts=False):
    """Problem -> plan -> us of our plans. Problems whose operands the TMA does not read are left out: unaligned.py has them.

    Parts of a split depth are the launch's business: one plan, unless keep_parts.
    """
    times = collections.OrderedDict()
    for path in paths:
        for problem, plan, us in rows(path):
            if plan == PEER or not is_addressable(problem) or refused(plan):
                continue
            plan = plan if keep_parts else without_parts(plan)
            plans = times.setdefault(problem, {})
            plans[plan] = min(us, plans.get(plan, math.inf))
    return {problem: plans for problem, plans in times.items() if len(plans) > 1}


def is_addressable(problem):
    """Whether rows of A and B are whole units of 16 bytes."""
    return problem.k * SIZES[problem.dtype] % 16 == 0


def refused(plan):
    """Older tables have plans in which a CTA of a cluster would load nothing of a tile that it shares."""
    p = parse(plan)
    return p.tile_m // 8 < p.cluster_n or p.tile_n // 8 < p.cluster_m


def without_parts(plan):
    """'...-splitk4' is the plan '...-splitk', launched with four parts."""
    return re.sub(r"-splitk\d+$", "-splitk", plan)


def without_stages(plan):
    """What a plan's own number in the model is known by: other results leave room for fewer stages."""
    return re.sub(r"-s\d+(?=-|$)", "", without_parts(plan))


Plan = collections.namedtuple(
    "Plan",
    "skinny tile_m tile_n cluster_m cluster_n sharers stages outputs mma_m group_n group_blocks warpgroups ping_pong "
    "halves swapped stream_k split_k parts",
)


def parse(name):
    """The words that the model reads; rasters and cache hints are left to the plan's own number."""
    family, tile, *words = name.split("-")
    first, second = map(int, tile.split("x"))

    def number(pattern, usual):
        found = [re.fullmatch(pattern, word) for word in words]
        return next((int(match[1]) for match in found if match), usual)

    stages = number(r"s(\d+)", 4)
    if family in ("skinny", "blockwise"):
        # The weights, which come first in the name, are the M side.
        return Plan(True, second, first, 1, 1, number(r"split(\d+)", 1), stages, 2, first, second, 1, first // 64,
                    False, False, True, False, False, 1)  # fmt: skip
    both = next((re.fullmatch(r"c(\d+)x(\d+)", w) for w in words if re.fullmatch(r"c(\d+)x(\d+)", w)), None)
    cluster_m = int(both[1]) if both else number(r"c(\d+)", 1)
    cluster_n = int(both[2]) if both else number(r"c(\d+)n", 1)
    # A grouped kernel has at most two warpgroups, whose names are not said.
    group = number(r"g(\d+)", 64) if family == "dense" else max(64, first // 2)
    swapped, ping_pong, halves = "swapped" in words, "pingpong" in words, "halves" in words
    mma_m, mma_n = (second, first) if swapped else (first, second)
    group_n = mma_n // 2 if halves else mma_n
    return Plan(False, first, second, cluster_m, cluster_n, 1, stages, number(r"o(\d+)", 2), mma_m, group_n,
                group // 64, 2 if ping_pong or halves else mma_m // group, ping_pong, halves, swapped,
                "streamk" in words, words[-1].startswith("splitk"), number(r"splitk(\d+)", 1))  # fmt: skip
