"""`./warpwright lint` in a small checkout of its own: which files it takes for changed, what it says, how it ends.
Only what needs no tool from elsewhere is asked for.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRONG = "void f() { for (int i : {1, 2}) g(i); }\n"


class Lint(unittest.TestCase):
    def setUp(self):
        if not shutil.which("git"):
            self.skipTest("git is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        shutil.copytree(ROOT / "tools", self.folder / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "include" / "warpwright" / "core").mkdir(parents=True)
        shutil.copy(ROOT / "include/warpwright/core/std.h", self.folder / "include/warpwright/core/std.h")
        # A stand-in for the environment, whose formatter is content with everything.
        programs = self.folder / "build" / "lint" / "venv" / "bin"
        programs.mkdir(parents=True)
        for name, text in {"clang-format": "cat \"$1\"", "ruff": "exit 0", "shellcheck": "exit 0"}.items():
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        pins = (ROOT / "tools" / "lint-requirements.txt").read_text()
        (programs.parent / "pins.stamp").write_text(pins)
        (self.folder / ".gitignore").write_text("/build/\n__pycache__/\n")
        (self.folder / "src").mkdir()
        self.git("init", "-q", "-b", "main")
        self.write("src/old.cpp")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)

    def write(self, name, text=WRONG):
        (self.folder / name).write_text(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    def lint(self, *words, code=1):
        done = subprocess.run([sys.executable, "-B", "tools/lint.py", "--quick", "--json", *words], cwd=self.folder,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        if code > 1:
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"^warpwright lint: .*\.$")
            return done.stderr
        document = json.loads(done.stdout)
        self.assertEqual(document["ok"], code == 0)
        return sorted({complaint["text"].partition(":")[0] for complaint in document["complaints"]})

    def test_a_clone_of_one_commit_is_looked_at_as_a_whole(self):
        self.assertEqual(self.lint(), ["src/old.cpp"])

    def test_the_last_commit_and_what_is_not_committed(self):
        self.write("src/committed.cpp")
        self.commit()
        self.write("src/untracked.cpp")
        self.assertEqual(self.lint(), ["src/committed.cpp", "src/untracked.cpp"])
        self.assertEqual(self.lint("--all"), ["src/committed.cpp", "src/old.cpp", "src/untracked.cpp"])
        self.assertEqual(self.lint("--base", "HEAD"), ["src/untracked.cpp"])
        self.assertEqual(self.lint("src/old.cpp"), ["src/old.cpp"])

    def test_a_branch_is_compared_with_where_it_left_main(self):
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        for name in ("src/first.cpp", "src/second.cpp"):
            self.write(name)
            self.commit()
        self.assertEqual(self.lint(), ["src/first.cpp", "src/second.cpp"])

    def test_fix_mends_the_includes(self):
        self.assertEqual(self.lint("--fix", code=0), [])
        self.assertIn("#include <initializer_list>\n", (self.folder / "src/old.cpp").read_text())
        self.assertEqual(self.lint("src", code=0), [])

    def test_wrong_usage(self):
        self.assertIn("'src/no.cpp'", self.lint("src/no.cpp", code=2))
        self.assertIn("'nowhere'", self.lint("--base", "nowhere", code=2))

    def test_a_tool_that_cannot_be_installed(self):
        (self.folder / "tools" / "lint-requirements.txt").write_text("./no-such-package\n")
        pip = self.folder / "build" / "lint" / "venv" / "bin" / "pip"
        pip.write_text("#!/bin/sh\necho no network\nexit 1\n")
        pip.chmod(0o755)
        done = subprocess.run([sys.executable, "-B", "tools/lint.py", "--quick"], cwd=self.folder, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertTrue(done.stderr.endswith("could not be installed; the lines above say why.\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
