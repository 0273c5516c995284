#!/usr/bin/env python3
"""Prints a line for each instance from the document of `check --all --json`, which it reads from stdin.

Usage: TOOL check --all --json | check_catalogue.py
Exit 0 when all are clean, 1 otherwise.
"""

import json
import sys


def main():
    document = json.load(sys.stdin)
    kernels = document["kernels"]
    width = max(len(k["name"]) for k in kernels)
    processor = sum(k["processor_s"] for k in kernels)
    print(f"# check --all --json: {len(kernels)} instances, {document['runs']} runs, {processor:.0f} s of processor time")
    print(f"# without compiling, {document['wall_s']:.0f} s; clean says that coverage is complete")
    print(f"{'instance':{width}}  verdict     sizes  runs       checks  processor s")
    for k in kernels:
        print(
            f"{k['name']:{width}}  {k['verdict']:10}  {k['sizes']:5}  {k['runs']:4}  {k['checks']:11}"
            f"  {k['processor_s']:11.2f}"
        )
        if k["report"]:
            print(f"  {k['report']}")
    clean = sum(k["verdict"] == "clean" for k in kernels)
    print(f"# {clean} of {len(kernels)} clean")
    return 0 if clean == len(kernels) else 1


if __name__ == "__main__":
    sys.exit(main())
