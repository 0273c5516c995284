#!/usr/bin/env python3
"""The choice for 1,000 fixed problems is the one that choices.tsv recorded.

usage: recorded_test.py TOOL

Rows that may differ are listed in DIFFERENT, each with its reason.
"""

import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from draw_problems import explain

TOOL = ""
# Options of a row -> (plan now, why).
DIFFERENT = {}


def rows():
    for line in Path(__file__).with_name("choices.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


class Recorded(unittest.TestCase):
    def test_every_choice_is_the_recorded_one(self):
        table = list(rows())
        self.assertEqual(len(table), 1000)
        def asked(row):
            words = row[0].split()
            return explain(TOOL, {words[i][2:]: words[i + 1] for i in range(0, len(words), 2)})
        with ThreadPoolExecutor(2) as pool:
            plans = list(pool.map(asked, table))
        for (options, recorded), plan in zip(table, plans):
            expected = DIFFERENT.get(options, (recorded, ""))[0]
            self.assertEqual(plan, expected, options)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main(argv=sys.argv[:1], verbosity=0)
