#!/usr/bin/env python3
"""Predicted time against measured time, for every measurement in docs/evidence whose kernel can be simulated.

compare_prediction.py --program bin/predict_rows [--longest US] [--only TEXT] [--kept FILE] [--json FILE] [--table FILE]

A measurement is one of four kinds, and each is compared with the prediction of the same thing:
  sustained  launches of a graph, one after the other: us of one of them
  kernel     one launch under ncu: its duration
  span       one launch with clocks in the kernel: from the first CTA's start to the last one's end
  cool       one launch between two event nodes, after a rest
"""

import argparse
import datetime
import json
import pathlib
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


def predicted_us(kind, prediction):
    if kind == "sustained":
        return prediction["us"]
    return prediction["single_us"] + {"kernel": NCU_US, "span": 0, "cool": EVENTS_US}[kind]


def launch_of(row):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="predict_rows, of `ninja benchmarks`")
    parser.add_argument("--longest", type=float, default=225, help="leave out measurements of more us")
    parser.add_argument("--shortest", type=float, default=0)
    parser.add_argument("--only", default="", help="rows whose kind, plan or source contains this")
    parser.add_argument("--kept", type=pathlib.Path, help="predictions made before with the same program are taken "
                        "from this file, new ones added to it")
    parser.add_argument("--only-kept", action="store_true", help="nothing is predicted anew")
    parser.add_argument("--json")
    parser.add_argument("--table", help="a file whose part between the marks `<!-- rows -->` is replaced")
    options = parser.parse_args()
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
    print(summary_table(done))
    if options.json:
        document = {"command": "tools/compare_prediction.py --program bin/predict_rows --json ...",
                    "date": datetime.date.today().isoformat(), "ncu_us": NCU_US, "events_us": EVENTS_US,
                    "longest_us": options.longest, "summary": summary(done), "rows": done}
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    if options.table:
        path = pathlib.Path(options.table)
        before, _, after = path.read_text().split("<!-- rows -->\n")
        path.write_text(f"{before}<!-- rows -->\n{summary_table(done)}\n\n{table(done)}\n<!-- rows -->\n{after}")


if __name__ == "__main__":
    main()
