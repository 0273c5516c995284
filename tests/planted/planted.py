#!/usr/bin/env python3
"""Bugs planted one at a time in the headers, and whether `check` sees them as a user would.

planted.py TOOL [--only ID,...] [--family NAME,...] [--sample] [--jobs 2] [--json FILE] [--reports]

Every entry of the .toml files beside this script replaces one piece of text in a copy of include/, and `TOOL check
INSTANCE` compiles and runs the patched kernel. It must say so: with one of the entry's rules, and the words of `names`
in the first line of its report. Exit code 0: every bug was seen and rightly named, refused by the compiler, or said to
be not covered; 1: one was missed, misnamed, or broke the tool; 2: bad usage, or an entry that does not apply to the
headers as they are; 77: there is no compiler. An entry with `beyond` says why no size that can be run shows the bug, as
docs/rules.md does; that one is missed is its outcome then.

An entry has id, file (below include/warpwright), old and new text (old stands there once, or is the first behind
`after`), instances (all of which must show the bug), bug (one sentence), rules (each a right diagnosis) and names
(regular expressions that the first line must have). It was written before anybody saw what the checker says; where the
report was an honest one that its author had not foreseen, its rule was added.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
SECONDS = 300  # of one check; a tool that takes longer hangs

# What may become of a bug, from good to bad.
GOOD = ("caught", "refused", "not covered", "beyond")
BAD = ("misleading", "MISSED", "broke")


def entries():
    found = []
    for file in sorted(HERE.glob("*.toml")):
        for bug in tomllib.loads(file.read_text())["bug"]:
            found.append({"family": file.stem, **bug})
    names = [bug["id"] for bug in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"planted: two bugs are called {', '.join(sorted(twice))}")
    return found


def planted(text, bug):
    """The text of a header with the bug in it."""
    first = 0
    if "after" in bug:
        if text.count(bug["after"]) != 1:
            raise ValueError(f"{bug['id']}: 'after' stands {text.count(bug['after'])} times in {bug['file']}")
        first = text.index(bug["after"]) + len(bug["after"])
    rest = text[first:]
    times = rest.count(bug["old"])
    if times == 0 or (times > 1 and "after" not in bug):
        raise ValueError(f"{bug['id']}: 'old' stands {times} times in {bug['file']}")
    return text[:first] + rest.replace(bug["old"], bug["new"], 1)


def line_of(text, bug):
    changed = planted(text, bug)
    at = next(i for i, (a, b) in enumerate(zip(text + "\0", changed + "\1")) if a != b)
    return text.count("\n", 0, at) + 1


def judge(bug, report):
    """What a report of a failure is worth: its first line must have a rule and all that is to be named."""
    first = report.splitlines()[0] if report else ""
    said = re.search(r": ((?:[a-z_0-9]+\.)?[a-z_0-9]+): ", first)
    rule = said.group(1) if said else ""
    missing = [] if rule in bug["rules"] else [f"rule {rule or 'none'}, not {' or '.join(bug['rules'])}"]
    head = "\n".join(report.splitlines()[:3])
    for name in bug.get("names", []):
        if not re.search(name, first):
            missing.append(f"the first line does not name /{name}/")
    for place in bug.get("at", []):
        if not re.search(place, head):
            missing.append(f"who and where does not name /{place}/")
    return rule, missing


def check(tool, bug, instance, include):
    environment = {**os.environ, "WARPWRIGHT_INCLUDE": str(include)}
    environment.setdefault("WARPWRIGHT_CACHE_DIR", "off")
    try:
        done = subprocess.run([tool, "check", instance, "--json"], env=environment, capture_output=True, text=True,
                              timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"outcome": "broke", "why": f"the tool did not end in {SECONDS} s", "report": ""}
    said = (done.stdout + done.stderr).strip()
    if done.returncode < 0:
        return {"outcome": "broke", "why": f"the tool ended by signal {-done.returncode}", "report": said}
    if done.returncode == 3:
        raise LookupError(said)
    if "does not compile an instance" in said:
        sentence = said[said.index("does not compile an instance"):].splitlines()[0]
        good = "compile" in bug["rules"]
        return {"outcome": "refused", "why": "" if good else "the compiler refuses it", "report": sentence}
    try:
        document = json.loads(done.stdout)
        verdict, report = document["verdict"], document["report"] or ""
    except (ValueError, KeyError):
        if "the checker has no problem for it" in said:
            return {"outcome": "not covered", "why": "", "report": said}
        return {"outcome": "broke", "why": f"exit code {done.returncode} without a verdict", "report": said}
    if verdict == "clean" and "beyond" in bug:
        return {"outcome": "beyond", "why": bug["beyond"], "report": ""}
    if verdict == "clean":
        return {"outcome": "MISSED", "why": "the verdict is clean", "report": ""}
    rule, missing = judge(bug, report)
    if verdict == "incomplete" and rule not in bug["rules"]:  # not what a run of which no end was seen is
        return {"outcome": "not covered", "why": "", "report": report}
    return {"outcome": "misleading" if missing else "caught", "why": "; ".join(missing), "report": report,
            "rule": rule}


def try_one(tool, bug):
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        include = pathlib.Path(folder) / "include"
        shutil.copytree(INCLUDE, include)
        file = include / "warpwright" / bug["file"]
        file.write_text(planted(file.read_text(), bug))
        # If there are several instances, all must see the bug: that another one sees it is no help to the user of the
        # one that does not.
        results = [{"instance": i, **check(tool, bug, i, include)} for i in bug["instances"]]
    order = GOOD + BAD
    return max(results, key=lambda r: order.index(r["outcome"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", help="the program warpwright-tool")
    parser.add_argument("--only", default="", help="ids of bugs, with commas")
    parser.add_argument("--family", default="", help="names of the .toml files, with commas")
    parser.add_argument("--sample", action="store_true", help="a few of all families")
    parser.add_argument("--jobs", type=int, default=2, help="bugs at a time (default 2)")
    parser.add_argument("--json", help="write all outcomes with their reports to this file")
    parser.add_argument("--reports", action="store_true", help="print every report, not those of failures alone")
    options = parser.parse_args()
    bugs = entries()
    for bug in bugs:
        try:
            bug["line"] = line_of((INCLUDE / "warpwright" / bug["file"]).read_text(), bug)
        except ValueError as wrong:
            print(f"planted: {wrong}", file=sys.stderr)
            return 2
    wanted = [w for w in options.only.split(",") if w]
    families = [w for w in options.family.split(",") if w]
    for option, words, known in (("--only", wanted, {b["id"] for b in bugs}),
                                 ("--family", families, {b["family"] for b in bugs})):
        for word in words:
            if word not in known:
                print(f"planted: {option}: there is no {word}", file=sys.stderr)
                return 2
    bugs = [b for b in bugs if (not wanted or b["id"] in wanted) and (not families or b["family"] in families)
            and (not options.sample or b.get("sample", False))]
    results, counts = [], {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for bug, result in zip(bugs, pool.map(lambda b: try_one(options.tool, b), bugs)):
            results.append({**{k: bug[k] for k in ("id", "family", "file", "line", "bug")}, **result})
            outcome = result["outcome"]
            counts[outcome] = counts.get(outcome, 0) + 1
            print(f"{bug['id']:<28} {outcome:<12} {result.get('rule', ''):<24} {bug['bug']}", flush=True)
            if outcome in BAD or options.reports:
                print(f"    {bug['file']}:{bug['line']}, {result['instance']}: {result['why']}")
                for line in result["report"].splitlines()[:12 if outcome in BAD else 1]:
                    print(f"    | {line}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    print(f"{len(results)} bugs: " + ", ".join(f"{counts[o]} {o}" for o in GOOD + BAD if o in counts))
    return 1 if any(o in counts for o in BAD) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LookupError as missing:
        print(f"planted: {missing}")
        sys.exit(77)
