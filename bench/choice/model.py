"""What a plan takes for a problem: a structured model, one number for each plan, and trees for what is left.

Everything here is repeated by src/choice/wave_model.cpp, and tests compare the two.
"""

import numpy as np

from basis import SIZES, parse, without_stages

SMS = 132
CLOCK = 1755.0  # cycles of a microsecond: the unit of the model, not what a chip under load runs at
RESIDENT = {1: 132, 2: 66, 3: 39, 4: 30, 5: 24, 6: 20, 7: 17, 8: 15}  # clusters of this many CTAs at once

# Where the fit starts, and to where it is drawn.
START = dict(
    rate_plain=1.0, rate_alone=1.0, rate_skinny=1.0, rate_ping_pong=1.0, rate_tall=0.95, rate_three=0.95, rate_halves=0.97,
    narrow_mma=20.0, stage=50.0,
    ingest=10000.0, outside=1.0, own_lines=0.2,
    l2=15000.0, l2_straddled=0.6, l2_sectors=0.5,
    memory=4.3e6, memory_straddled=0.1, memory_result=1.0, memory_few=0.04,
    fixed_dense=2.4, fixed_skinny=2.2, cluster_2=0.1, cluster_3=0.15, cluster_4=0.2, cluster_8=0.4,
    exchange=0.2, exchange_tile=1.0, splittable=0.1, fixup=1.5, fixup_part=0.6,
    result_dense=100.0, result_column=3.0, result_skinny=200.0, ping_pong_shows=0.1, last_result=1.0, wave=0.05,
)  # fmt: skip
NAMES = list(START)


def up(a, b):
    return -(-a // b)


def facts(name, problem):
    """What the structured model and the trees are told. Groups are a batch of products with the usual rows."""
    p = parse(name)
    _, dtype, batch, m, n, k, *_ = problem
    size = SIZES[dtype]
    out_size = 4 if problem.op == "grouped_k" else 2
    cluster = p.cluster_m * p.cluster_n * p.sharers
    resident = RESIDENT[cluster]
    rows, columns = up(m, p.tile_m * p.cluster_m), up(n, p.tile_n * p.cluster_n)
    jobs = rows * columns * batch * p.parts
    waves = up(jobs, resident)
    slices = up(k * size, 128)
    pitch = up(size * k, 16) * 16  # as closely as the TMA allows
    period = 1
    while pitch * period % 128:
        period *= 2
    return dict(
        p._asdict(), m=m, n=n, k=k * size / 2, cluster=cluster, resident=resident, jobs=jobs, waves=waves,
        last=jobs - (waves - 1) * resident, depth=up(slices, p.parts * p.sharers),
        # Lines that a slice of a row touches on average: rows start at 1/period of a line.
        lines=2 - 1 / period, sectors=float(pitch % 32 != 0),
        inside_m=min(m, p.tile_m), inside_n=min(n, p.tile_n),
        asked=float(batch * slices * (m * columns + n * rows)), moved=float(batch * size * (m * k + n * k)),
        result=float(out_size * batch * m * n), batch=batch, size=size, filled=filled(p, problem),
        padded_m=rows * p.tile_m * p.cluster_m / m, padded_n=columns * p.tile_n * p.cluster_n / n,
        earlier=float(problem.earlier),
    )  # fmt: skip


def filled(p, problem):
    """How much of a tile is multiplied: blocks of 64 rows that a masked group does not have are left out, and on the average
    half of the last block is there."""
    if not problem.op.startswith("grouped_") or problem.op == "grouped_k" or SIZES[problem.dtype] == 1 or p.tile_m == 64:
        return 1.0
    return min(1.0, (problem.m + 32) / (up(problem.m, p.tile_m) * p.tile_m))


def structured(numbers, f):
    """Microseconds, and the shares of them that the trees look at."""
    v = dict(zip(NAMES, numbers))
    group = f["group_n"] * f["group_blocks"]
    blocks = f["mma_m"] / 64 * np.where(f["halves"] > 0, 2, 1)
    mma = 4 * np.maximum(f["group_n"] / 2, v["narrow_mma"] + f["group_n"] / 4) * blocks
    rate = np.select(
        [f["skinny"] > 0, f["ping_pong"] > 0, f["halves"] > 0, f["group_blocks"] > 1, f["warpgroups"] == 3,
         f["warpgroups"] == 1],
        [v["rate_skinny"], v["rate_ping_pong"], v["rate_halves"], v["rate_tall"], v["rate_three"], v["rate_alone"]],
        v["rate_plain"],
    )
    step = np.sqrt((mma / rate) ** 2 + v["stage"] ** 2) * f["filled"]
    outside = f["tile_m"] - f["inside_m"] + f["tile_n"] - f["inside_n"]
    entering = 128 * (f["inside_m"] + f["inside_n"] + v["outside"] * outside)
    own = v["own_lines"] * f["lines"] * (f["inside_m"] / f["cluster_n"] + f["inside_n"] / f["cluster_m"])
    result = np.where(
        f["skinny"] > 0, v["result_skinny"] * (f["tile_m"] / 64 + 0.3), v["result_dense"] + v["result_column"] * group
    ) * f.get("slower", 1)  # fmt: skip
    shown = np.where(f["ping_pong"] > 0, v["ping_pong_shows"], 1) * result
    straddled = f["lines"] - 1
    l2 = 128 * f["asked"] * (1 + v["l2_straddled"] * straddled + v["l2_sectors"] * f["sectors"]) / v["l2"]
    moved = f["moved"] * (1 + v["memory_straddled"] * straddled) + v["memory_result"] * f["result"]
    memory = moved / v["memory"] * CLOCK
    even = f["stream_k"] > 0
    full = np.where(even, 0, f["waves"] - 1)
    last = np.where(even, f["jobs"], f["last"])
    deep = np.where(even, np.maximum(1, f["jobs"] / f["resident"]), 1)

    def wave(jobs, tiles):
        ctas = np.minimum(jobs * f["cluster"], SMS)
        t = (f["depth"] * step + shown) * tiles
        # Where threads load, nothing else does.
        i = f["depth"] * tiles * f.get("load_cycles", entering * ctas / v["ingest"] + own)
        l = l2 * jobs / f["jobs"]
        d = memory * jobs / f["jobs"] * (1 + (SMS / ctas - 1) * v["memory_few"])
        return t, i, l, d, np.sqrt(t * t + i * i + l * l + d * d)

    a, b = wave(f["resident"], 1), wave(last, deep)
    area = f["tile_m"] * f["tile_n"]
    cluster = np.select(
        [f["cluster"] >= 8, f["cluster"] >= 4, f["cluster"] == 3, f["cluster"] == 2],
        [v["cluster_8"], v["cluster_4"], v["cluster_3"], v["cluster_2"]],
        0.0,
    )
    fixed = np.where(f["skinny"] > 0, v["fixed_skinny"], v["fixed_dense"]) + cluster
    fixed = fixed + np.where(f["sharers"] > 1, v["exchange"] + v["exchange_tile"] * f["waves"] * area / 8192, 0)
    fixed = fixed + v["splittable"] * f["split_k"]
    parts = np.where(even, 2, f["parts"])
    fixed = fixed + np.where(parts > 1, v["fixup"] + v["fixup_part"] * parts * area / 16384, 0)
    fixed = fixed + v["last_result"] * result / CLOCK + v["wave"] * full
    us = fixed + (full * a[4] + b[4]) / CLOCK
    total = [(full * x + y) / CLOCK / us for x, y in zip(a, b)]
    shares = dict(
        tensor=total[0], ingest=total[1], l2=total[2], memory=total[3], last_wave=b[4] / CLOCK / us,
        last_tensor=b[0] / CLOCK / us, last_ingest=b[1] / CLOCK / us, fixed=fixed / us, result=result / CLOCK / us,
    )  # fmt: skip
    return us, shares


FEATURES = (
    "skinny tile_m tile_n mma_m cluster_m cluster_n sharers parts swapped stream_k split_k ping_pong group_blocks outputs "
    "stages lines sectors waves fill last depth m n k batch size padded_m padded_n us ctas reuse tensor ingest l2 memory "
    "last_wave last_tensor last_ingest fixed result "
    "halves warpgroups group_n cluster area intensity padded inside_m inside_n in_flight stages_of_depth entered own_entered "
    # The last one tells the trees which times are not of today's kernels; trees that are written down do not ask.
    "earlier"
).split()


def features(f, us, shares):
    """A matrix for the trees; `us` and `shares` are the structured model's."""
    log = np.log2
    area, sides = f["tile_m"] * f["tile_n"], f["tile_m"] + f["tile_n"]
    made = dict(
        waves=log(f["jobs"] / f["resident"]), fill=f["jobs"] / (f["waves"] * f["resident"]),
        last=f["last"] / f["resident"], depth=log(f["depth"]), m=log(f["m"]), n=log(f["n"]), k=log(f["k"]),
        batch=log(f["batch"]), us=log(us), ctas=np.minimum(f["jobs"], f["resident"]) * f["cluster"], reuse=log(128 * f["asked"] / f["moved"]),
        area=area, intensity=area / sides, padded=f["padded_m"] * f["padded_n"],
        inside_m=f["inside_m"] / f["tile_m"], inside_n=f["inside_n"] / f["tile_n"],
        in_flight=f["stages"] * sides, stages_of_depth=f["stages"] / np.maximum(f["depth"], 1),
        # Rows of 128 bytes that a tile takes in, and those of them that its CTA asks of L2 itself.
        entered=log(f["depth"] * (f["inside_m"] + f["inside_n"])),
        own_entered=log(f["depth"] * (f["inside_m"] / f["cluster_n"] + f["inside_n"] / f["cluster_m"])),
        **shares,
    )  # fmt: skip
    return np.stack([made.get(name, f.get(name)) for name in FEATURES], 1).astype(np.float32)


class Data:
    """Rows of tables: facts, times, and which problem and plan they are of."""

    def __init__(self, times, tables=None):
        self.problems = list(times)
        listed = [(i, name, us) for i, problem in enumerate(self.problems) for name, us in times[problem].items()]
        made = [facts(name, self.problems[i]) for i, name, _ in listed]
        self.facts = {key: np.array([f[key] for f in made], float) for key in made[0]}
        self.problem = np.array([i for i, _, _ in listed])
        self.name = np.array([name for _, name, _ in listed])
        self.us = np.array([us for _, _, us in listed])
        self.plans, self.plan = np.unique([without_stages(name) for name in self.name], return_inverse=True)
        best = np.full(len(self.problems), np.inf)
        np.minimum.at(best, self.problem, self.us)
        self.regret = self.us / best[self.problem]
        self.extents = np.array([(p.m, p.n, p.k) for p in self.problems])

    def centred(self, error, weight):
        """The error less its mean over each problem: what ranks plans."""
        count = len(self.problems)
        mean = np.bincount(self.problem, weight * error, count) / np.maximum(
            np.bincount(self.problem, weight, count), 1e-12
        )
        return error - mean[self.problem], mean[self.problem]
