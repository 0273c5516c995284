"""fresh_user.sh on a project that builds at once: the commands of its README, an empty environment, the times.

Usage: fresh_user_test.py [unittest arguments]
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "docs" / "fresh_user.sh"
# Prints the names of its variables and says on stderr how it was built.
PROJECT = """#!/bin/sh
echo "-- Device code: off" >&2
[ -e built ] || echo "first"
: > built
echo "$1: $(env | sed 's/=.*//' | sort | tr '\\n' ' ')"
ls -A "$HOME" | wc -l
exit ${FAIL:-0}
"""


class FreshUser(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "README.md").write_text((ROOT / "README.md").read_text())
        self.write(PROJECT)

    def write(self, text):
        (self.folder / "warpwright").write_text(text)
        (self.folder / "warpwright").chmod(0o755)

    def run_script(self, *arguments):
        return subprocess.run([SCRIPT, "--source", self.folder, *arguments], capture_output=True, text=True, timeout=30,
                              env={**os.environ, "SECRET": "1", "CCACHE_DIR": "/somewhere"})

    def test_it_runs_the_two_commands_and_prints_times(self):
        done = self.run_script("--jobs", "3")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(re.findall(r"^\$ (.*)$", done.stdout, flags=re.M), ["./warpwright demo", "./warpwright test"])
        self.assertRegex(done.stdout, r"# \./warpwright demo: exit code 0, [\d.]+ s, [\d.]+ s of processor time")
        self.assertRegex(done.stdout, r"# time to the first result, from nothing: [\d.]+ s")
        self.assertRegex(done.stdout, r"# again: [\d.]+ s")
        self.assertIn("# -- Device code: off", done.stdout)
        self.assertEqual(done.stdout.count("first\n"), 1)
        for line in re.findall(r"^(?:demo|test): (.*)$", done.stdout, flags=re.M):
            self.assertLessEqual(set(line.split()), {"HOME", "PATH", "LANG", "TERM", "USER", "PWD", "OLDPWD", "SHLVL",
                                                     "_", "CMAKE_BUILD_PARALLEL_LEVEL", "CTEST_PARALLEL_LEVEL",
                                                     "WARPWRIGHT_CUDA", "PIP_CERT"})
        self.assertFalse((self.folder / "built").exists(), "it works on a copy")

    def test_a_demo_alone(self):
        self.assertNotIn("./warpwright test", self.run_script("--demo-only").stdout)

    def test_a_test_by_name(self):
        self.assertIn("$ ./warpwright test linear\ntest: ", self.run_script("--test", "linear").stdout)

    def test_python_is_installed_and_its_example_run(self):
        (self.folder / "docs").mkdir()
        page = self.folder / "docs" / "getting-started.md"
        page.write_text((ROOT / "docs" / "getting-started.md").read_text())
        # Stands for pip, which would build the project.
        venv = "mkdir -p .venv/bin && printf 'python() { cat $1; }; pip() { echo noise; echo Successfully installed; }' " \
               "> .venv/bin/activate && . .venv/bin/activate"
        page.write_text(page.read_text().replace("python3 -m venv .venv && . .venv/bin/activate", venv))
        done = self.run_script("--demo-only", "--python")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("$ pip install .\nSuccessfully installed\n# installation: exit code 0, ", done.stdout)
        self.assertRegex(done.stdout, r">>> import numpy as np\n(.*\n)*import numpy as np\n(.*\n)*# example: exit code 0, ")
        self.assertNotIn("\nnoise\n", done.stdout)
        page.write_text("# Nothing\n")
        self.assertEqual(self.run_script("--demo-only", "--python").returncode, 1)

    def test_a_failure_is_shown(self):
        self.write(PROJECT.replace("${FAIL:-0}", "3"))
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit code 3", done.stdout)
        self.assertIn("-- Device code: off", done.stdout)
        self.assertNotIn("./warpwright test", done.stdout)

    def test_an_option_that_there_is_not(self):
        self.assertEqual(self.run_script("--frob").returncode, 2)


if __name__ == "__main__":
    unittest.main()
