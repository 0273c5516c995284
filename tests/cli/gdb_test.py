"""docs/debug-with-gdb.md: its sessions are run in gdb, and print what is shown. Skipped (77) where gdb is missing.

In a block fenced as `gdb` a line after `$ ` is for the shell, one after `(gdb) ` for gdb; the others must be printed by
the command above them, addresses aside. Blocks begin with a fresh copy of the kernel.

Usage: gdb_test.py TOOL [unittest arguments]
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "debug-with-gdb.md"
TOOL = None
# gdb and fibers may wait for each other for ever; nothing but KILL ends both.
LIMIT = ["timeout", "-s", "KILL", "60"]


def comparable(text):
    return re.sub(r"\s+", " ", re.sub(r"0x[0-9a-f]+", "0x#", text)).strip()


def sessions():
    """[(shell lines, [(command, lines that it prints)])]"""
    for block in re.findall(r"^```gdb\n(.*?)^```$", PAGE.read_text(), flags=re.M | re.S):
        shell, commands = [], []
        for line in block.splitlines():
            if line.startswith("$ ./") or line.startswith("$ sed"):
                shell.append(line[2:])
            elif line.startswith("(gdb) "):
                commands.append((line[6:], []))
            else:
                commands[-1][1].append(line)
        yield shell, commands


class Sessions(unittest.TestCase):
    def run_gdb(self, folder, command, lines):
        """What gdb prints at each of the lines."""
        script = folder / "session.gdb"
        script.write_text("".join(f"echo \\n@@{i}@@\\n\n{line}\n" for i, line in enumerate(lines)))
        done = subprocess.run([*LIMIT, "bash", "-c", command], cwd=folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT,
                              env={**os.environ, "WARPWRIGHT_GDB": f"gdb -nx -batch -x {script}", "LC_ALL": "C"})
        parts = re.split(r"@@\d+@@\n", done.stdout)[1:]
        self.assertEqual(len(parts), len(lines), done.stdout[-3000:])
        return parts

    def test_the_page_shows_what_gdb_prints(self):
        count = 0
        for shell, commands in sessions():
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "warpwright").symlink_to(TOOL)
                shutil.copytree(ROOT / "examples" / "your_kernel", folder / "mine")
                for line in shell[:-1]:
                    subprocess.run(["bash", "-c", line], cwd=folder, check=True)
                parts = self.run_gdb(folder, shell[-1], [line for line, _ in commands])
            for (command, wanted), printed in zip(commands, parts, strict=True):
                lines = [comparable(line) for line in printed.splitlines()]
                for line in wanted:
                    count += 1
                    with self.subTest(f"{shell[-1]}: {command}"):
                        self.assertIn(comparable(line), lines, "".join(parts)[-3000:])
        self.assertGreater(count, 25)

    def test_what_cannot_be_is_said(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(ROOT / "examples" / "your_kernel", folder / "mine")
            lines = ["break row_norms.h:57", "run", "python gdb.execute('ww in load:40 bt')"]
            said = self.run_gdb(folder, f"{TOOL} check mine/row_norms.cpp --debug", lines)[2]
            self.assertIn("there is no thread load:40 in CTA 0", said)

    def test_refusals(self):
        def run(*arguments, **variables):
            return subprocess.run([*LIMIT, TOOL, "check", *arguments], capture_output=True, text=True,
                                  env={**os.environ, **variables})

        done = run("sm90/dense-64x64-c1-s4/bf16-nt", "--debug")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--debug: it is for a source file", done.stderr)
        kernel = str(ROOT / "examples" / "your_kernel" / "row_norms.cpp")
        done = run(kernel, "--debug", "--mutate")
        self.assertEqual(done.returncode, 2)
        done = run(kernel, "--debug", WARPWRIGHT_GDB="no-such-debugger")
        self.assertEqual(done.returncode, 3)
        self.assertIn("install the package gdb", done.stderr)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    missing = None
    if platform.machine() != "x86_64":
        missing = "the stacks of fibers are known on x86-64 only"
    elif not shutil.which("gdb"):
        missing = "gdb is not installed"
    elif subprocess.run([*LIMIT, "gdb", "-nx", "-batch", "-ex", "python print(1)"], capture_output=True).stdout != b"1\n":
        missing = "this gdb has no Python"
    if missing:
        print(missing)
        sys.exit(77)
    unittest.main()
