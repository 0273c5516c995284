"""docs/evidence/catalogue.tsv has a row for every instance that is compiled ahead and every chip that its image is for, and
each is clean, launched as the simulator has it, without more local memory than is known, and fits the chip.

Usage: catalogue_test.py [unittest arguments]
"""
import copy
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import catalogue_table  # noqa: E402


class Catalogue(unittest.TestCase):
    def setUp(self):
        self.rows = catalogue_table.read(catalogue_table.TABLE)

    def test_every_instance_is_as_it_should_be(self):
        self.assertEqual(list(catalogue_table.faults(self.rows)), [], "tools/catalogue_table.py makes the table anew")
        self.assertGreater(len(self.rows), 400)

    def test_no_row_is_of_an_instance_that_is_gone(self):
        names = set(catalogue_table.listed())
        self.assertEqual({row["instance"] for row in self.rows} - names, set())

    def test_what_should_not_be_is_seen(self):
        for chip, changes, words in (
                ("sm_90", {"local": 1}, "1 accesses to local memory"), ("sm_100", {"shared_bytes": 240000}, "240000 shared bytes"),
                ("gfx950", {"registers": 600}, "600 registers"), ("sm_86", {"launch": "differs"}, "differs"),
                ("sm_90", {"launch": "none"}, "none"), ("sm_103", {"check": "incomplete"}, "check says incomplete"),
                ("sm_80", {"shared_bytes": 170000, "launch": "refused"}, "170000 shared bytes")):
            with self.subTest(chip=chip, **changes):
                rows = copy.deepcopy(self.rows)
                row = next(row for row in rows if row["chip"] == chip and row["local"] == 0 and row["launch"] == "equal")
                row.update(changes)
                found = list(catalogue_table.faults(rows))
                self.assertTrue(found)
                self.assertTrue(all(sentence.startswith(f"{row['instance']} for {chip}: ") for sentence in found))
                self.assertIn(words, " ".join(found))
        self.assertIn("the table has no row", " ".join(catalogue_table.faults(self.rows[1:])))


if __name__ == "__main__":
    unittest.main()
