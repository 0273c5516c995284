"""What the pages say is so: the commands run and print what is shown, links lead to files, pictures are those of the
data, reports are those of the bug corpus.

A block fenced as `console` holds commands after `$ ` and, below each, lines of what it prints; `...` stands for lines
left out. Numbers are compared too, all but the seconds that a command took: the simulator prints the same everywhere.
After a command `# exit 1` says how it ends, `# needs a GPU` that it is not run.

Usage: commands_test.py TOOL [unittest arguments]
       commands_test.py --list   what is checked: commands with the numbers that are compared, links, named files
                                 (docs/evidence/checked-pages.txt)
"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [*PAGES, *(ROOT / name for name in ("DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md")),
          *sorted((ROOT / "docs" / "evidence").glob("*.md")), *sorted((ROOT / "docs" / "api").glob("*.md"))]
# Paths that pages name are counted from one of these.
ROOTS = [ROOT / folder for folder in ("", "src", "include", "include/warpwright", "docs", "docs/evidence")]


def fenced(page, language):
    """The blocks of a language, as (number of the first line, lines)."""
    block, begin = None, 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is None and line.startswith("```"):
            block, begin = ([], number + 1) if line[3:].strip() == language else ("other", number)
        elif line.startswith("```"):
            if block != "other":
                yield begin, block
            block = None
        elif block is not None and block != "other":
            block.append(line)


def commands(page):
    """(line, command, exit code or None if it needs a GPU, what it prints) of a page."""
    for begin, block in fenced(page, "console"):
        found = None
        for number, line in enumerate(block, begin):
            if line.startswith("$ "):
                if found:
                    yield found
                command, _, note = line[2:].partition("  # ")
                code = re.fullmatch(r"exit (\d)", note.strip())
                wanted = None if note.strip() == "needs a GPU" else int(code[1]) if code else 0
                found = (number, command.strip(), wanted, [])
            elif found:
                found[3].append(line)
        if found:
            yield found


@functools.cache
def anchors(page):
    """Where a link into a page can lead: its headings, as GitHub names them, and marks of its own."""
    text = page.read_text()
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | \
        set(re.findall(r'<a id="([^"]+)"></a>', text))


def words_of(text):
    """Without colours, the width of columns and the seconds that a command took: the rest is the same everywhere."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = re.sub(r"\b\d[\d.]* s(?![\w/])", "# s", text)
    return re.sub(r"\s+", " ", text).strip()


def links(page):
    """The links of a page that do not leave the repository, as (file, anchor or "", as written)."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield page if path == "" else page.parent / path, anchor, target


def named_files(page):
    """Paths that a page names in its text; NAME and ROOM stand for any."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for name in re.findall(r"`([\w.-]+(?:/[\w.-]+)+)`", text):
        if re.search(r"\.(h|cpp|cu|py|md|json|txt|svg|tsv|sh)$", name) and not name.startswith("build/") \
                and not re.search(r"\b(NAME|ROOM)(\b|_)", name):
            yield name


def numbers(line):
    """The numbers of a line that are compared: all but seconds, and not those inside of names."""
    return re.findall(r"(?<![\w.\[/-])\d[\d.,]*(?:e[+-]?\d+)?(?![\w\]/-])", words_of(line).replace("# s", ""))


def print_list():
    """Every command that the test runs, with the numbers in what it must print."""
    count = {"commands": 0, "lines": 0, "numbers": 0}
    for page in PAGES:
        for line, command, code, shown in commands(page):
            if code is None:
                continue
            compared = [text for text in shown if text.strip() not in ("", "...")]
            found = [n.rstrip(".,") for text in compared for n in numbers(text)]
            count["commands"] += 1
            count["lines"] += len(compared)
            count["numbers"] += len(found)
            print(f"{page.relative_to(ROOT)}:{line}: {command}\n  exit {code}, {len(compared)} lines" +
                  (f": {' '.join(found)}" if found else ""))
    every = [link for page in LINKED for link in links(page)]
    print(f"\n{count['commands']} commands are run; {count['lines']} lines of what they print are compared, with {count['numbers']} numbers")
    print(f"{len(every)} links on {len(LINKED)} pages lead to a file, {sum(bool(anchor) for _, anchor, _ in every)} of them to a place in it")
    print(f"{sum(1 for page in LINKED for _ in named_files(page))} files that the pages name exist")


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name in ("examples", "include", "docs", "tools", "bench", "tests", "data", "python", "src"):
            (cls.folder / name).symlink_to(ROOT / name)
        (cls.folder / "warpwright").symlink_to(TOOL)
        cls.environment = {**os.environ, "PATH": f"{cls.folder}:{os.environ['PATH']}", "WARPWRIGHT_CUDA": "off"}

    def test_commands_end_as_they_should_and_print_what_is_shown(self):
        count, begin = 0, time.monotonic()
        for page in PAGES:
            for line, command, code, shown in commands(page):
                if code is None:
                    continue
                count += 1
                with self.subTest(f"{page.relative_to(ROOT)}:{line}: {command}"):
                    done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, text=True,
                                          capture_output=True, timeout=120)
                    printed = done.stdout + done.stderr
                    self.assertEqual(done.returncode, code, printed[-2000:])
                    lines = [words_of(p) for p in printed.splitlines()]
                    for wanted in shown:
                        if wanted.strip() not in ("", "..."):
                            self.assertIn(words_of(wanted), lines, printed[-2000:])
        self.assertGreater(count, 20)
        print(f"{count} commands, {time.monotonic() - begin:.0f} s")

    def test_commands_for_a_gpu_name_what_exists(self):
        for page in PAGES:
            for line, command, code, _ in commands(page):
                words = command.split()
                if code is None and words[0] in ("./warpwright", "warpwright") and words[1] != "test":
                    with self.subTest(f"{page.relative_to(ROOT)}:{line}: {command}"):
                        text = subprocess.run([TOOL, words[1], "--help"], capture_output=True, text=True).stdout
                        for option in (w for w in words if w.startswith("--")):
                            self.assertIn(option, text)

    def test_links_lead_to_files(self):
        count = 0
        for page in LINKED:
            for file, anchor, target in links(page):
                count += 1
                with self.subTest(f"{page.relative_to(ROOT)}: {target}"):
                    self.assertTrue(file.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(file))
        print(f"{count} links on {len(LINKED)} pages")
        self.assertGreater(count, 1000)

    def test_named_files_exist(self):
        count = 0
        for page in LINKED:
            for name in named_files(page):
                count += 1
                with self.subTest(f"{page.relative_to(ROOT)}: {name}"):
                    self.assertTrue(any((root / name).exists() for root in ROOTS))
        self.assertGreater(count, 20)

    def test_every_page_and_picture_is_reached(self):
        index = (ROOT / "docs" / "README.md").read_text()
        for page in PAGES[1:]:
            if page.name != "README.md":
                self.assertIn(f"]({page.name})", index)
        everything = "".join(page.read_text() for page in PAGES)
        for picture in (ROOT / "docs" / "images").iterdir():
            self.assertIn(f"images/{picture.name}", everything)

    def test_plots_are_those_of_the_data(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", ROOT / "tools" / "plot_bench.py", folder], check=True)
            made = sorted(pathlib.Path(folder).iterdir())
            self.assertGreaterEqual(len(made), 3)
            for file in made:
                self.assertEqual(file.read_text(), (ROOT / "docs" / "images" / file.name).read_text(),
                                 f"{file.name}: run tools/plot_bench.py docs/images")

    def test_tables_are_those_of_the_data(self):
        tables = subprocess.run([sys.executable, "-B", ROOT / "tools" / "plot_bench.py", "--tables"], check=True,
                                capture_output=True, text=True).stdout
        page = (ROOT / "docs" / "performance.md").read_text()
        for line in tables.splitlines():
            if line.startswith("| "):
                self.assertIn(line, page)

    def test_reports_are_those_of_the_corpus(self):
        page = (ROOT / "docs" / "rules.md").read_text()
        shown = re.findall(r"^(M\d\d[\w.]*: .*)$", page, flags=re.M)
        self.assertGreaterEqual(len(shown), 6)
        printed = subprocess.run([TOOL, "mutants", "--reports", "--seeds", "1"], capture_output=True, text=True).stdout
        lines = {words_of(line) for line in printed.splitlines()}
        for line in shown:
            self.assertIn(words_of(line), lines)

    def test_programs_are_shown_whole(self):
        folder = ROOT / "examples" / "gemm"
        program = (folder / "main.cpp").read_text().partition("\n")[2].splitlines()  # without the comment on top
        script = (folder / "gemm.py").read_text().partition("\n")[2].splitlines()
        self.assertIn(program, [block for _, block in fenced(ROOT / "README.md", "cpp")])
        self.assertIn(program, [block for _, block in fenced(ROOT / "docs" / "cpp.md", "cpp")])
        self.assertIn(script, [block for _, block in fenced(ROOT / "README.md", "python")])
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), 100)

    def test_reports_in_the_readme_are_those_of_the_guide(self):
        guide = (ROOT / "docs" / "write-a-kernel.md").read_text()
        quoted = re.findall(r"^> `(.*)`$", (ROOT / "README.md").read_text(), flags=re.M)
        self.assertGreaterEqual(len(quoted), 2)
        for line in quoted:
            self.assertIn(line, guide)

    def test_python_examples_run(self):
        if subprocess.run([PYTHON, "-c", "import numpy, ml_dtypes"], capture_output=True).returncode:
            self.skipTest(f"{PYTHON} has no numpy or ml_dtypes")
        count = 0
        for page in PAGES:
            for line, block in fenced(page, "python"):
                if any("torch" in text for text in block):
                    compile("\n".join(block), f"{page}:{line}", "exec")
                    continue
                count += 1
                with self.subTest(f"{page.relative_to(ROOT)}:{line}"):
                    done = subprocess.run([PYTHON, "-B", "-c", "\n".join(block)], cwd=self.folder, text=True,
                                          capture_output=True, timeout=60,
                                          env={**self.environment, "PYTHONPATH": str(ROOT / "python"),
                                               "WARPWRIGHT_TOOL": TOOL})
                    self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(count, 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print_list()
        sys.exit(0)
    TOOL = os.path.abspath(sys.argv.pop(1))
    # With the packages that the Python examples need; the test of the Python suite installs them.
    PYTHON = os.environ.get("WARPWRIGHT_TEST_PYTHON", sys.executable)
    if not os.path.exists(PYTHON):
        PYTHON = sys.executable
    unittest.main()
