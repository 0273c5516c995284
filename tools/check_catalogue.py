#!/usr/bin/env python3
"""Runs `check` on every instance of the catalogue, several at a time, and prints a line for each.

Usage: check_catalogue.py TOOL [--jobs N] [--seeds N] [--match TEXT]
Exit 0 when all are clean, 1 otherwise.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys


def names(tool):
    listing = subprocess.run([tool, "check", "--list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listing.splitlines()[1:] if line.strip()]


def check(tool, name, seeds):
    done = subprocess.run([tool, "check", name, "--seeds", str(seeds), "--json"], capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"verdict": f"exit {done.returncode}", "runs": 0, "checks": 0, "wall_s": 0, "report": done.stderr.strip()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--match", default="", help="only names that contain this")
    options = parser.parse_args()

    wanted = [name for name in names(options.tool) if options.match in name]
    width = max(map(len, wanted))
    print(f"# check NAME --seeds {options.seeds}, for {len(wanted)} instances")
    print(f"{'instance':{width}}  verdict  sizes  runs       checks  seconds")
    bad = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, result in zip(wanted, pool.map(lambda n: check(options.tool, n, options.seeds), wanted)):
            sizes = sum(kernel["sizes"] for kernel in result.get("kernels", []))
            print(
                f"{name:{width}}  {result['verdict']:7}  {sizes:5}  {result['runs']:4}  {result['checks']:11}"
                f"  {result['wall_s']:7.1f}",
                flush=True,
            )
            if result["verdict"] != "clean":
                bad.append(name)
                print(f"  {result['report']}")
    print(f"# {len(wanted) - len(bad)} of {len(wanted)} clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
