#!/usr/bin/env python3
"""Records the choice for the 1,000 problems of choices.tsv anew, after a change that means to touch it.

usage: record.py TOOL
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from draw_problems import explain


def main():
    tool = sys.argv[1]
    path = Path(__file__).with_name("choices.tsv")
    lines = path.read_text().splitlines()

    def recorded(line):
        if not line or line.startswith("#"):
            return line
        words = line.split("\t")[0].split()
        plan = explain(tool, {words[i][2:]: words[i + 1] for i in range(0, len(words), 2)})
        return f"{' '.join(words)}\t{plan}"

    with ThreadPoolExecutor(2) as pool:
        path.write_text("\n".join(pool.map(recorded, lines)) + "\n")


if __name__ == "__main__":
    main()
