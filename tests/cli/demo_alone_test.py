"""The program that has `demo` alone says, writes and refuses what the tool does.

Usage: demo_alone_test.py TOOL DEMO [unittest arguments]
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = []


class DemoAlone(unittest.TestCase):
    def both(self, *arguments):
        """Both programs in a folder of their own: what they say without times, and what they leave."""
        said = []
        for program in PROGRAMS:
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=folder, timeout=120,
                                      env={**os.environ, "WARPWRIGHT_CUDA": "off"})
                out = re.sub(r'in [\d.]+ s\.|"wall_s": [\d.e-]+', "TIME", done.stdout)
                files = {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}
            said.append((done.returncode, out, done.stderr, files))
        self.assertEqual(*said)
        return said[0]

    def test_the_result(self):
        code, out, _, files = self.both("demo")
        self.assertEqual((code, list(files)), (0, ["warpwright-demo.html"]))
        self.assertEqual((out.count("  right  "), out.count("All right")), (2, 1))

    def test_documents(self):
        code, out, _, files = self.both("demo", "--json", "--timeline", "events.json")
        runs = json.loads(out.replace("TIME", '"wall_s": 0'))["runs"]
        self.assertEqual((code, list(files), [run["ok"] for run in runs]), (0, ["events.json"], [True, True]))

    def test_help(self):
        self.assertEqual(self.both("demo", "--help")[0], 0)
        self.assertEqual(self.both("--version")[0], 0)

    def test_what_is_wrong(self):
        for arguments in (["--frob"], ["--timelin", "x"], ["more"], ["--timeline"], ["--timeline", "nowhere/x.html"],
                          ["--timeline", "", "--json"], ["--json", "--json=1"]):
            code, _, complaint, files = self.both("demo", *arguments)
            self.assertEqual((code, complaint.count("\n"), files), (2, 1, {}), complaint)


if __name__ == "__main__":
    PROGRAMS = [sys.argv.pop(1), sys.argv.pop(1)]
    unittest.main()
