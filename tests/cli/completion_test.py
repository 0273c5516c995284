"""What the shells offer: bash, zsh and fish themselves complete command lines with the scripts of `completion`.

Usage: completion_test.py TOOL [unittest arguments]. Shells that are not installed are skipped.
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = None

# A command line, and all that is offered for its last word.
ENUMERATED = {
    "warpwright gemm --target sim:": ["sim:sm80", "sim:sm90", "sim:sm100", "sim:gfx942", "sim:gfx950"],
    "warpwright gemm --dtype e": ["e4m3", "e5m2", "e2m1"],
    "warpwright gemm --op grouped_": ["grouped_contiguous", "grouped_masked", "grouped_k"],
    "warpwright trace --m 64 --schedule ": ["fifo", "lanes", "freeze:", "random", "pct:"],
    "warpwright schedule verify legacy/": ["legacy/default", "legacy/ping-pong", "legacy/4-wave"],
    "warpwright schedule show 4-wave --target gfx": ["gfx942", "gfx950"],
    "warpwright schedule ": ["list", "show", "verify", "svg"],
    "warpwright encode idesc --a bf16 --scale ": ["ue8m0", "ue4m3"],
    "warpwright check sm90/dense-64x64-c1-s4": ["sm90/dense-64x64-c1-s4/bf16-nt",
                                               "sm90/dense-64x64-c1-s4/e4m3-nt-tensor",
                                               "sm90/dense-64x64-c1-s4/fp16-tn-by_threads-batched"],
    "warpwright gemm --plan sm100/blockwise-n128-s5": ["sm100/blockwise-n128-s5-pair-e8-o2/e4m3"],
    "warpwright completion ": ["bash", "zsh", "fish"],
    "warpwright demo --time": ["--timeline"],
}


def script(shell):
    return subprocess.run([TOOL, "completion", shell], capture_output=True, text=True, check=True).stdout


def pages():
    """The paths of all commands and the options on their help pages."""
    def page(path):
        text = subprocess.run([TOOL, *path, "--help"], capture_output=True, text=True, check=True).stdout
        parts = re.split(r"^subcommands:$", text, flags=re.M | re.I)
        yield path, set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, flags=re.M))
        for name in re.findall(r"^  (\w+) ", parts[1], flags=re.M) if len(parts) > 1 else []:
            yield from page([*path, name])

    return list(page([]))


class Offers:
    """The cases that every shell must pass; `offered` asks one for the words that may come last."""

    def test_values_of_enumerated_options(self):
        for line, words in ENUMERATED.items():
            with self.subTest(line):
                self.assertEqual(sorted(self.offered(line)), sorted(words))

    def test_every_command_and_every_option_of_its_page(self):
        found = pages()
        self.assertGreater(len(found), 15)
        top = {path[0] for path, _ in found if len(path) == 1}
        self.assertEqual(set(self.offered("warpwright ")), top)
        for path, options in found:
            line = " ".join(["warpwright", *path, "--"])
            with self.subTest(line):
                self.assertEqual({o for o in self.offered(line) if o.startswith("--")}, options)

    def test_files_where_a_file_is_meant(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "mine.cpp").write_text("")
            for command in ("check", "trace", "schedule verify"):
                self.assertEqual(self.offered(f"warpwright {command} min", folder), ["mine.cpp"])
            self.assertEqual(self.offered("warpwright tune --shapes mi", folder), ["mine.cpp"])
            self.assertEqual(self.offered("warpwright gemm --m mi", folder), [])

    def test_several_words_with_commas(self):
        offered = self.offered("warpwright mutants --only M23,M66.l")
        self.assertEqual([word.split(",")[-1] for word in offered], ["M66.leak"])

    def test_a_value_behind_an_equals_sign(self):
        offered = self.offered("warpwright gemm --landing=s")
        self.assertEqual([word.split("=")[-1] for word in offered], ["seeded"])


@unittest.skipUnless(shutil.which("bash"), "bash is not installed")
class Bash(Offers, unittest.TestCase):
    def offered(self, line, folder=None):
        program = script("bash") + """
        COMP_LINE=$1 COMP_POINT=${#1}
        _warpwright
        printf '%s\\n' "${COMPREPLY[@]}"
        """
        done = subprocess.run(["bash", "--norc", "-c", program, "bash", line], capture_output=True, text=True,
                              cwd=folder)
        self.assertEqual(done.stderr, "")
        # Readline keeps what comes before the colon.
        word = line.split(" ")[-1]
        kept = word[:word.rfind(":") + 1]
        return [kept + offer for offer in done.stdout.splitlines() if offer]

    def test_it_is_registered_for_the_script_too(self):
        done = subprocess.run(["bash", "--norc", "-c", script("bash") + "complete -p warpwright"], capture_output=True,
                              text=True)
        self.assertEqual(done.stdout, "complete -F _warpwright warpwright\n")


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class Fish(Offers, unittest.TestCase):
    def offered(self, line, folder=None):
        with tempfile.TemporaryDirectory() as home:
            path = pathlib.Path(home) / "warpwright.fish"
            path.write_text(script("fish"))
            done = subprocess.run(["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"],
                                  capture_output=True, text=True, cwd=folder, env={**os.environ, "HOME": home})
        self.assertEqual(done.stderr, "")
        return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


class Terminal:
    """An interactive shell: what is on the line after the tab key."""

    # What one way to go on adds to a line.
    LINES = {"warpwright sched": "ule ", "warpwright gemm --targ": "et ", "warpwright gemm --target sim:sm9": "0 ",
             "warpwright gemm --target=sim:sm1": "00 ", "warpwright schedule ver": "ify ",
             "warpwright schedule verify ping-pong --target gfx95": "0 ", "warpwright check sm90/cluster": "_ring-32x64-c2-s4/fp32 ",
             "warpwright check min": "e.cpp ", "warpwright mutants --only M23,M66.l": "eak ",
             "warpwright trace --schedule fr": "eeze:", "warpwright completion z": "sh ",
             "warpwright encode smem --swizzle 3": "2 ", "warpwright tune --shapes mi": "ne.cpp ",
             "warpwright gemm --m mi": "", "warpwright demo --time": "line ", "warpwright frob": ""}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        home = pathlib.Path(folder.name)
        (home / "mine.cpp").write_text("")
        (home / "setup").write_text(cls.setup().replace("SCRIPT", script(cls.SHELL[0])) + "echo READY\n")
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "dumb", "COLUMNS": "200"}
        cls.process, cls.terminal = pty.fork()
        if cls.process == 0:
            os.chdir(home)
            os.execvpe(cls.SHELL[0], cls.SHELL, environment)
        cls.addClassCleanup(cls.end)
        cls.write("source ./setup\n")
        cls.read_until("READY\r\n")

    @classmethod
    def end(cls):
        os.kill(cls.process, signal.SIGKILL)
        os.waitpid(cls.process, 0)
        os.close(cls.terminal)

    @classmethod
    def write(cls, text):
        os.write(cls.terminal, text.encode())

    @classmethod
    def read_until(cls, end, seconds=20):
        text, limit = "", time.monotonic() + seconds
        while not re.search(end, text):
            if not select.select([cls.terminal], [], [], max(0, limit - time.monotonic()))[0]:
                raise AssertionError(f"{cls.SHELL[0]} did not answer: {text!r}")
            text += os.read(cls.terminal, 65536).decode(errors="replace")
        return text

    def test_lines_with_one_way_to_go_on(self):
        for line, more in self.LINES.items():
            with self.subTest(line):
                self.write(line + "\t\x18s")
                shown = self.read_until(r"<<[^$\r]*>>\r\n")
                self.assertEqual(re.findall(r"<<(.*?)>>\r\n", shown)[-1], line + more)


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class ZshTerminal(Terminal, unittest.TestCase):
    SHELL = ["zsh", "-f", "-i"]

    @staticmethod
    def setup():
        # ^Xs shows the line between marks and empties it.
        return ("autoload -Uz compinit && compinit -u -D\nSCRIPT\n"
                "show() { BUFFER=\"print -r -- '<<'${(q)BUFFER}'>>'\"; zle accept-line }\n"
                "zle -N show; bindkey '^Xs' show; bindkey '^I' complete-word\nPS1=; unsetopt beep\n")


@unittest.skipUnless(shutil.which("bash"), "bash is not installed")
class BashTerminal(Terminal, unittest.TestCase):
    SHELL = ["bash", "--norc", "-i"]

    @staticmethod
    def setup():
        return ("SCRIPT\nshow() { printf '<<%s>>\\n' \"$READLINE_LINE\"; READLINE_LINE=; }\n"
                "bind -x '\"\\C-xs\": show' && bind 'set bell-style none'\nPS1=\n")


class Command(unittest.TestCase):
    def test_json_has_the_script(self):
        for shell in ("bash", "zsh", "fish"):
            done = subprocess.run([TOOL, "completion", shell, "--json"], capture_output=True, text=True, check=True)
            self.assertEqual(json.loads(done.stdout), {"shell": shell, "script": script(shell)})

    def test_a_shell_that_there_is_not(self):
        for arguments in (("tcsh",), ()):
            done = subprocess.run([TOOL, "completion", *arguments], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
