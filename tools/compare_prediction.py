#!/usr/bin/env python3
"""Predicted time against measured time, for every measurement in docs/evidence whose kernel can be simulated.

compare_prediction.py --program bin/predict_rows [--brief] [--longest US] [--only TEXT] [--kept FILE] [--json FILE]
                      [--table FILE]

A measurement is one of five kinds, and each is compared with the prediction of the same thing:
  sustained  launches of a graph, one after the other: us of one of them
  kernel     one launch under ncu: its duration
  span       one launch with clocks in the kernel: from the first CTA's start to the last one's end
  cool       one launch between two event nodes, after a rest
  brief      with --brief, instead of the others: launches of a graph that may start early where the kernel allows it, in
             bursts of 3 ms, of problems drawn at random (tune); a sample of each family, of which every other problem
             only judges: nothing in the clock was chosen with it in view
"""

import argparse
import collections
import csv
import datetime
import gzip
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys

EVIDENCE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "evidence"

# What a measurement contains beside the kernel, in us. word-costs-ncu.txt: an empty kernel has 1.50 to 1.76 us under
# ncu, one that spins for 5 us 6.56 to 6.72. dense-stamps.txt: an empty kernel takes 7.71 and 7.90 us between events.
NCU_US = 1.6
EVENTS_US = 7.8


def plan_name(text):
    """The name of a plan from what older files call it."""
    found = re.fullmatch(r"(\d+) weights x (\d+) tokens x64, (\d+) stages, split (\d+)", text)
    if found:
        rows, tokens, stages, split = found.groups()
        return f"skinny-{rows}x{tokens}-split{split}-s{stages}"
    found = re.fullmatch(r"(\d+)x(\d+)x64, (\d+) stages, cluster (\d+)( along n)?", text)
    if found:
        m, n, stages, cluster, along = found.groups()
        return f"dense-{m}x{n}-c{cluster}{'n' if along else ''}-s{stages}"
    return text


def bench_rows(name, wanted=lambda row: True):
    for row in json.loads((EVIDENCE / name).read_text())["rows"]:
        if row.get("dtype", "bf16") == "bf16" and "plan" in row and wanted(row):
            yield {"source": name, "kind": row["mode"], "plan": plan_name(row["plan"]), "us": row["us"],
                   **{key: row[key] for key in "mnk"}}


def ncu_rows(name):
    for line in (EVIDENCE / name).read_text().splitlines():
        found = re.match(r"(\d+)x(\d+)x(\d+)\s+(?:table:)?((?:dense|skinny)-\S+)" + r"\s+([\d.]+)" * 3, line)
        if found:
            m, n, k = (int(x) for x in found.groups()[:3])
            us = statistics.median(float(x) for x in found.groups()[4:])
            yield {"source": name, "kind": "kernel", "plan": found[4], "us": us, "m": m, "n": n, "k": k}


def span_rows(name):
    spans = {}
    for line in (EVIDENCE / name).read_text().split("# barriers initialised by a whole warp")[0].splitlines():
        found = re.match(r"(\d+)x(\d+)x(\d+) (\S+)\s+event\s+[\d.]+ span\s+([\d.]+)", line)
        if found:
            spans.setdefault(found.groups()[:4], []).append(float(found[5]))
    for (m, n, k, plan), us in spans.items():
        yield {"source": name, "kind": "span", "plan": plan, "us": statistics.median(us), "m": int(m), "n": int(n),
               "k": int(k)}


def measurements():
    yield from bench_rows("bench-dense-sustained.json")
    yield from bench_rows("bench-launches.json", lambda row: row["launches"] == "--serial")
    yield from bench_rows("bench-final.json", lambda row: row["mode"] == "sustained")
    yield from bench_rows("bench-plans-sustained.json")
    yield from ncu_rows("dense-ncu.txt")
    yield from span_rows("dense-stamps.txt")
    yield from bench_rows("bench-dense-cool.json")


BRIEF = ["4001", "fp8-5001", "blockwise-5002", "contiguous-bf16-5003", "contiguous-e4m3-5004", "masked-bf16-5005",
         "masked-e4m3-5006"]
PROBLEM = ("op", "dtype", "groups", "m", "n", "k", "counts")
BRIEF_US = 3, 24
GLANCE = 1.25  # plans so far behind the fastest keep the time of a first look (src/measure/basis.cpp)
MOST_SETS, LEAST_BYTES = 64, 100e6  # sets of operands of products by groups; together they must not stay in the L2


def family_of(op, dtype, plan):
    """Of plans that can be predicted; others have none."""
    if "-packed" in plan or plan == "cublaslt" or "streamk" in plan or plan.endswith("splitk1"):
        return None
    if op == "dense":
        if dtype == "e4m3":
            return "fp8" if plan.startswith("dense") and "split" not in plan else None
        return "skinny" if plan.startswith("skinny") else "splitk" if "splitk" in plan else "dense"
    if op == "blockwise":
        return "blockwise" if plan.startswith("blockwise") else "blockwise-grouped"
    return f"{op.removeprefix('grouped_')}-{dtype}"


def is_cold(op, element, groups, m, n, k):
    rows = m if op == "blockwise" else groups * m * (2 if op == "grouped_masked" else 1)
    return ((rows * k + groups * n * k) * element + rows * n * 2) * MOST_SETS >= LEAST_BYTES


def brief_rows(draw, count):
    """A plan of each of so many problems of each family."""
    shortest, longest = BRIEF_US
    problems = collections.defaultdict(list)
    for name in BRIEF:
        times = collections.defaultdict(list)
        source = f"basis-{name}.tsv.gz"
        with gzip.open(EVIDENCE / source, "rt") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                row = {"op": "dense", "groups": "1", "counts": "even", **row}
                element, n, k = 1 if row["dtype"] == "e4m3" else 2, int(row["n"]), int(row["k"])
                if row["op"] == "dense":  # rows of whole lines: others ask the L2 for less at once
                    wanted = k * element % 128 == 0 and n * 2 % 128 == 0
                else:
                    wanted = is_cold(row["op"], element, int(row["groups"]), int(row["m"]), n, k)
                if wanted:
                    times[tuple(row[key] for key in PROBLEM)].append((float(row["us"]), row["plan"]))
        for problem, plans in times.items():
            for us, plan in plans:
                family = family_of(problem[0], problem[1], plan)
                if family and us <= GLANCE * min(plans)[0] and shortest <= us <= longest:
                    problems[family].append((problem, us, plan, source))
    for family, rows in problems.items():
        chance = random.Random(f"{draw} {family}")
        drawn = sorted({row[0] for row in rows}, key=lambda p: (p[0], p[1], *map(int, p[2:6]), p[6]))
        chance.shuffle(drawn)
        for i, problem in enumerate(drawn[:count]):
            us, plan, source = chance.choice(sorted(row[1:] for row in rows if row[0] == problem))
            yield {"source": source, "kind": "brief", "family": family, "judges": i % 2 == 1, "plan": plan, "us": us,
                   **dict(zip(PROBLEM, problem))}


def predicted_us(kind, prediction):
    if kind == "brief":
        return prediction["early_us"]
    if kind == "sustained":
        return prediction["us"]
    return prediction["single_us"] + {"kernel": NCU_US, "span": 0, "cool": EVENTS_US}[kind]


def launch_of(row):
    if row["kind"] == "brief":
        return "{op} {dtype} {groups} {m} {n} {k} {counts} {plan}".format(**row)
    return "{plan} {m} {n} {k}".format(**row)


def known_plans(program, plans):
    """The rows that the program can predict; every plan of a dense product that this version still has."""
    return set(subprocess.run([program, "--known", *plans], capture_output=True, text=True, check=True).stdout.split())


def read_kept(path):
    if not path or not path.exists():
        return {}
    return {p["launch"]: p for p in map(json.loads, path.read_text().splitlines())}


def predict(program, rows, kept):
    """One run of the program for each plan and shape; yields the row with its prediction."""
    known = read_kept(kept)
    for row in rows:
        key = launch_of(row)
        if key not in known:
            done = subprocess.run([program, key], capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{key}: {done.stderr}")
            known[key] = json.loads(done.stdout)
            if kept:
                with kept.open("a") as file:
                    file.write(done.stdout)
        prediction = known[key]
        us = predicted_us(row["kind"], prediction)
        yield {**row, "predicted_us": round(us, 2), "error": round(us / row["us"] - 1, 4),
               **{key: prediction[key] for key in ("cycles", "tensor_busy", "memory_busy")}}


def summary(rows):
    errors = [abs(row["error"]) for row in rows]
    return {"rows": len(rows), "median": round(statistics.median(errors), 4), "most": round(max(errors), 4),
            "within 10 %": sum(e <= 0.10 for e in errors), "within 15 %": sum(e <= 0.15 for e in errors)}


def percent(share):
    return f"{100 * share:+.1f} %"


def table(rows):
    lines = ["| kind | shape | plan | measured us | predicted us | difference |", "|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row["kind"], row["us"])):
        lines.append("| {kind} | {m}x{n}x{k} | {plan} | {us:.1f} | {predicted_us:.1f} | ".format(**row) +
                     percent(row["error"]) + " |")
    return "\n".join(lines)


def summary_table(rows):
    lines = ["| rows | number | median error | largest | within 10 % | within 15 % |", "|---|---|---|---|---|---|"]

    def line(name, part):
        if part:
            s = summary(part)
            lines.append(f"| {name} | {s['rows']} | {100 * s['median']:.1f} % | {100 * s['most']:.1f} % | "
                         f"{s['within 10 %']} | {s['within 15 %']} |")

    line("all", rows)
    for kind in ("sustained", "kernel", "span", "cool"):
        line(kind, [row for row in rows if row["kind"] == kind])
    line("below 20 us", [row for row in rows if row["us"] < 20])
    line("20 us and more", [row for row in rows if row["us"] >= 20])
    return "\n".join(lines)


def families_table(rows):
    lines = ["| family | rows | median | within 10 % | largest | in view: rows | median | within 10 % |",
             "|---|---|---|---|---|---|---|---|"]
    for family in dict.fromkeys(row["family"] for row in rows):
        cells = []
        for judges in (True, False):
            part = [row for row in rows if row["family"] == family and row["judges"] == judges]
            if not part:
                cells += ["0", "-", "-"] + (["-"] if judges else [])
                continue
            s = summary(part)
            cells += [str(s["rows"]), f"{100 * s['median']:.1f} % ({percent(signed_median(part))})", str(s["within 10 %"])]
            if judges:
                cells.append(percent(max((row["error"] for row in part), key=abs)))
        lines.append(f"| {family} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def signed_median(rows):
    return statistics.median(row["error"] for row in rows)


def write_table(path, mark, text):
    before, _, after = path.read_text().split(f"<!-- {mark} -->\n")
    path.write_text(f"{before}<!-- {mark} -->\n{text}\n<!-- {mark} -->\n{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="predict_rows, of `ninja benchmarks`")
    parser.add_argument("--longest", type=float, default=225, help="leave out measurements of more us")
    parser.add_argument("--shortest", type=float, default=0)
    parser.add_argument("--brief", action="store_true", help="a sample of the tables of tune instead")
    parser.add_argument("--draw", type=int, default=1, help="which sample")
    parser.add_argument("--count", type=int, default=24, help="problems of each family in it")
    parser.add_argument("--only", default="", help="rows whose kind, plan or source contains this")
    parser.add_argument("--kept", type=pathlib.Path, help="predictions made before with the same program are taken "
                        "from this file, new ones added to it")
    parser.add_argument("--only-kept", action="store_true", help="nothing is predicted anew")
    parser.add_argument("--json")
    parser.add_argument("--table", help="a file whose part between the marks `<!-- rows -->` is replaced")
    options = parser.parse_args()
    if options.brief:
        measured = list(brief_rows(options.draw, options.count))
        plans = {row["plan"] for row in measured}
    else:
        measured = list(measurements())
        plans = known_plans(options.program, sorted({row["plan"] for row in measured}))
    rows = [row for row in measured
            if row["plan"] in plans and options.shortest <= row["us"] <= options.longest and
            options.only in f"{row['kind']} {row['plan']} {row['source']}"]
    if options.only_kept:
        known = read_kept(options.kept)
        rows = [row for row in rows if launch_of(row) in known]
    done = []
    for row in predict(options.program, rows, options.kept):
        done.append(row)
        print("{kind:9} {m}x{n}x{k} {plan}: {us:.2f} measured, {predicted_us:.2f} predicted, ".format(**row) +
              percent(row["error"]), flush=True)
    print(families_table(done) if options.brief else summary_table(done))
    if options.json:
        document = {"command": "tools/compare_prediction.py --program bin/predict_rows " +
                               (f"--brief --longest {options.longest:g} " if options.brief else "") +
                               "--json ...",
                    "date": datetime.date.today().isoformat(), "ncu_us": NCU_US, "events_us": EVENTS_US,
                    "longest_us": options.longest, "summary": summary(done), "rows": done}
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    if options.table:
        if options.brief:
            write_table(pathlib.Path(options.table), "families", families_table(done))
        else:
            write_table(pathlib.Path(options.table), "rows", f"{summary_table(done)}\n\n{table(done)}")


if __name__ == "__main__":
    main()
