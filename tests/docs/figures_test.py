"""Numbers on the pages are those of docs/evidence, every file there is cited, and every file that is cited is there.

Usage: figures_test.py [unittest arguments]
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
INDEX = EVIDENCE / "README.md"
sys.path.insert(0, str(ROOT / "tools"))
import figures  # noqa: E402

CITING = ("docs", "src", "include", "tools", "tests", "bench", "python")
TEXT = {".md", ".tsv", ".h", ".cuh", ".cpp", ".cu", ".py", ".sh", ".cmake", ".txt", ".toml"}
NAME = r"[\w.-]+\.(?:json|txt|csv|tsv|tsv\.gz|record|md|png)"


def citing_files():
    """What may cite evidence from outside it."""
    yield from (ROOT / name for name in ("README.md", "DESIGN.md", "CHANGELOG.md"))
    for folder in CITING:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in TEXT and EVIDENCE not in file.parents and file.is_file():
                yield file


def index_rows():
    """(claim, file, command, date, machine) of the index."""
    for line in INDEX.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and re.fullmatch(rf"`{NAME}`", cells[1]):
            yield cells[0], cells[1].strip("`"), *cells[2:]


class Figures(unittest.TestCase):
    def test_the_table_and_the_pages_show_what_the_evidence_has(self):
        self.assertEqual(figures.differences(), [], "tools/figures.py --write mends it")
        self.assertGreater(len(figures.read_table()), 50)

    def test_a_figure_comes_from_the_file_it_names(self):
        read, open_file = [], figures.text.__wrapped__
        self.addCleanup(setattr, figures, "text", figures.text)
        figures.text = lambda name: read.append(name) or open_file(name)
        for name, _, file, _ in figures.read_table():
            with self.subTest(name):
                read.clear()
                figures.document.cache_clear()
                figures.VALUES[name]()
                self.assertIn(file, read)

    def test_another_number_is_seen(self):
        for name, value, _, phrases in figures.read_table():
            self.assertTrue(phrases, name)
            for phrase in phrases:
                with self.subTest(phrase):
                    words = "A line.\n| {} |".format(phrase.replace("*", "4.5 words").replace("#", "6,543.21"))
                    self.assertEqual([number for *_, number in figures.numbers(phrase, words)], ["6,543.21"])
                    self.assertNotEqual(value, "6,543.21")


class Evidence(unittest.TestCase):
    def setUp(self):
        self.files = {file.name for file in EVIDENCE.iterdir()} - {"README.md"}

    def test_the_index_has_a_line_for_every_file(self):
        rows = list(index_rows())
        self.assertEqual(sorted(file for _, file, *_ in rows), sorted(self.files))
        for claim, file, command, date, machine in rows:
            with self.subTest(file):
                self.assertTrue(claim and command and machine)
                self.assertRegex(date, r"^20\d\d-\d\d-\d\d$")

    def test_every_file_is_cited_where_something_rests_on_it(self):
        words = "\n".join(file.read_text(errors="replace") for file in citing_files() if file.stem != "figures")
        for file in sorted(self.files):
            with self.subTest(file):
                self.assertTrue(re.search(rf"(?<![\w-]){re.escape(file)}(?![\w-])", words), "it is cited nowhere")

    def test_what_is_cited_is_there(self):
        known = self.files | {"README.md"}
        elsewhere = {file.name for folder in (*CITING, "examples", "data") for file in (ROOT / folder).rglob("*")}
        elsewhere |= {file.name for file in ROOT.iterdir()}
        for file in [*citing_files(), *sorted(EVIDENCE.glob("*.md"))]:
            words = file.read_text(errors="replace")
            cited = set(re.findall(rf"evidence/({NAME})(?![\w-])", words))
            if file.suffix == ".md":
                cited |= set(re.findall(rf"`({NAME})`", words)) - elsewhere
            elif file.parent == ROOT / "tools":
                # Not what lies elsewhere, or what the build makes.
                cited |= set(re.findall(r"\"([\w-]+\.(?:json|txt|csv))\"", words)) - elsewhere - {"compile_commands.json"}
            with self.subTest(file.relative_to(ROOT)):
                self.assertEqual(cited - known, set())


if __name__ == "__main__":
    unittest.main()
