"""Every command keeps the tool's contract: a help page whose example runs, the same names of options, the fields of its
JSON document, exit codes 0 to 3, colours and progress on a terminal only.

Usage: every_command_test.py TOOL [unittest arguments]
"""
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import unittest

TOOL = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
WITHOUT_CUDA = {"WARPWRIGHT_CUDA": "off"}
SIZE = ("--m", "64", "--n", "64", "--k", "64")
LAYER = ("--tokens", "8", "--experts", "2", "--top-k", "1", "--hidden", "64", "--intermediate", "64")
RING, DENSE = "sm90/ring_copy-32x64-s4/fp32", "sm90/dense-128x256-c2-s4/bf16-nt"
SCHEDULE = ("name", "target", "entries", "ii", "mii", "proven", "hazards")

# What a script may rely on: the arguments of a run that is right, and the fields of its document.
DOCUMENTS = {
    "demo": ((), ("target", "kernel", "plan", "instance", "ok", "max_rel_error", "checks", "predicted_us", "timeline")),
    "gemm": ((*SIZE, "--target", "sim:sm90"),
             ("ok", "target", "kernel", "plan", "instance", "max_rel_error", "wall_s", "predicted_us")),
    "moe": ((*LAYER, "--target", "sim:sm90"),
            ("ok", "target", "launches", "status", "max_rel_error", "runs", "checks", "wall_s")),
    "check": ((RING, "--seeds", "1"), ("verdict", "runs", "seeds", "report")),
    "mutants": (("--only", "M23", "--seeds", "1"), ("caught", "total", "misdiagnosed", "false_alarms", "cases")),
    "trace": ((*SIZE, "--target", "sim:sm90"), ("html", "perfetto", "spans", "edges", "plan", "instance")),
    "schedule list": ((), ("schedules",)),
    "schedule show": (("default", "--target", "sm80"), SCHEDULE),
    "schedule verify": (("ping-pong", "--target", "gfx950"), SCHEDULE),
    "schedule svg": (("4-wave", "--target", "gfx950"), SCHEDULE),
    "explain": (SIZE, ("kernel", "plan", "instance", "tile", "stages", "rings", "smem_bytes", "tmem_columns", "waves", "reason",
                       "floor_us")),
    "encode idesc": (("--a", "bf16", "--b", "bf16", "--c", "f32", "--m", "128", "--n", "256", "--a-major", "K",
                      "--b-major", "K"), ("value",)),
    "encode smem": (("--arch", "sm100", "--type", "bf16", "--swizzle", "128", "--major", "K"), ("value",)),
    "devices": ((), ("gpus", "simulators", "toolchains")),
    "report": ((), ("file", "right", "failed")),
    "completion": (("bash",), ("shell", "script")),
}
# These need a GPU, or a checkout: without one they end with 3.
MISSING = {"bench": ("--sizes", "64x64x64"), "tune": ("--sizes", "64x64x64"), "test": (), "lint": (),
           "gemm": (*SIZE, "--target", "sm90"), "moe": (*LAYER, "--target", "sm90")}
# These ran and found something wrong.
WRONG = [("schedule", "verify", "legacy/ping-pong", "--target", "gfx950"),
         ("check", DENSE, "--seeds", "100000", "--max-seconds", "1")]

PROBLEM = {"--op", "--m", "--n", "--k", "--groups", "--batch", "--dtype", "--out-dtype", "--layout", "--alpha",
           "--beta", "--epilogue", "--scaling", "--target", "--plan", "--seed", "--landing", "--schedule", "--seeds"}
OPTIONS = {"gemm": PROBLEM | {"--verify"}, "report": {"--out"}, "trace": PROBLEM | {"--html", "--perfetto"}, "explain": PROBLEM, "test": {"--gpu"},
           "lint": {"--all", "--fix"},
           "moe": {"--tokens", "--experts", "--top-k", "--hidden", "--intermediate", "--dtype", "--routing", "--target",
                   "--seed", "--landing", "--schedule", "--seeds", "--operands"},
           "check": {"--sizes", "--seeds"}, "mutants": {"--only"}, "schedule show": {"--target"},
           "schedule verify": {"--target"}, "schedule svg": {"--target"},
           "bench": {"--suite", "--shapes", "--against"}, "tune": {"--shapes"},
           "encode idesc": {"--a", "--b", "--c", "--m", "--n", "--a-major", "--b-major", "--scale"},
           "encode smem": {"--arch", "--type", "--swizzle", "--major", "--rows", "--k"}}


def run(*arguments, cwd=None, **environment):
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, cwd=cwd, timeout=120,
                          env={**os.environ, **WITHOUT_CUDA, **environment})
    # The first run of an instance says that it is compiled.
    done.stderr = re.sub(r"^Compiling \S+ for the simulator.*\n", "", done.stderr, flags=re.M)
    return done


def pages(path=()):
    """(path, text) of every help page."""
    text = run(*path, "--help").stdout
    yield path, text
    parts = re.split(r"^subcommands:$", text, flags=re.M | re.I)
    for name in re.findall(r"^  (\w+) ", parts[1], flags=re.M) if len(parts) > 1 else []:
        yield from pages((*path, name))


def on_terminal(*arguments, stream, **environment):
    """What a command writes to stdout or stderr, "out" or "err", when that is a terminal; the other is a pipe."""
    master, slave = pty.openpty()
    process = subprocess.Popen([TOOL, *arguments], stdout=slave if stream == "out" else subprocess.PIPE,
                               stderr=slave if stream == "err" else subprocess.PIPE,
                               env={**os.environ, **WITHOUT_CUDA, "TERM": "xterm", **environment})
    os.close(slave)
    seen = b""
    while True:
        if select.select([master], [], [], 60)[0]:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                part = b""
            if not part:
                break
            seen += part
    rest = process.communicate(timeout=60)
    os.close(master)
    return seen.decode(), (rest[0] or rest[1] or b"").decode()


class Pages(unittest.TestCase):
    def test_every_page_has_an_example_that_runs(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "warpwright").symlink_to(TOOL)
            for name in ("bench", "examples", "include"):
                (folder / name).symlink_to(ROOT / name)
            count = 0
            for path, text in pages():
                with self.subTest(" ".join(path)):
                    examples = re.split(r"^Examples?:$", text, flags=re.M)
                    self.assertEqual(len(examples), 2, "one example is on each page")
                    for line in filter(None, map(str.strip, examples[1].splitlines())):
                        count += 1
                        self.assertIn(" ".join(("./warpwright", *path)), line)
                        done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True,
                                              timeout=60, env={**os.environ, **WITHOUT_CUDA})
                        wanted = 3 if path and path[0] in ("bench", "tune", "test", "lint") else 0
                        self.assertEqual(done.returncode, wanted, f"{line}\n{done.stderr}")
            self.assertGreaterEqual(count, 20)

    def test_options_have_the_same_names_everywhere(self):
        meanings = {}
        for path, text in pages():
            command = " ".join(path)
            options = dict(re.findall(r"^  (?:-\w,)?(--[\w-]+)(?:[ =:]?(\S*))?", text, flags=re.M))
            self.assertLessEqual(OPTIONS.get(command, set()), set(options), command)
            self.assertIn("--help", options)
            if "ubcommands:" not in text:
                self.assertIn("--json", options, command)
            for option, kind in options.items():
                # An option that takes a value does so everywhere.
                flag = not re.match(r"[A-Z]", kind)
                if command.split(" ")[0] != "encode":
                    self.assertEqual(meanings.setdefault(option, flag), flag, f"{option} of {command}")

    def test_exit_codes_are_documented(self):
        self.assertRegex(run("--help").stdout, r"Exit codes: 0 .* 1 .* 2 .* 3 ")
        guide = (ROOT / "docs" / "getting-started.md").read_text()
        self.assertEqual(re.findall(r"^\| (\d) \|", guide, flags=re.M), ["0", "1", "2", "3"])


class Documents(unittest.TestCase):
    def test_every_command_is_in_the_table(self):
        commands = {" ".join(path) for path, text in pages() if "ubcommands:" not in text}
        self.assertEqual(commands, set(DOCUMENTS) | set(MISSING))

    def test_fields(self):
        for command, (arguments, fields) in DOCUMENTS.items():
            with self.subTest(command), tempfile.TemporaryDirectory() as folder:
                done = run(*command.split(), *arguments, "--json", cwd=folder)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                document = json.loads(done.stdout)
                self.assertLessEqual(set(fields), set(document))
                self.assertEqual(run(*command.split(), *arguments, cwd=folder).returncode, 0)

    def test_fields_of_the_parts(self):
        case = json.loads(run("mutants", "--only", "M23", "--json").stdout)["cases"][0]
        self.assertLessEqual({"id", "caught", "diagnosis", "expected"}, set(case))
        for row in json.loads(run("schedule", "list", "--json").stdout)["schedules"]:
            self.assertEqual(set(row), {"name", "target", "legal", "reason", "proven"})

    def test_what_is_wrong_ends_with_1(self):
        for arguments in WRONG:
            done = run(*arguments, "--json")
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIsInstance(json.loads(done.stdout), dict)

    def test_bad_usage_ends_with_2_and_one_sentence(self):
        for command in {**DOCUMENTS, **MISSING}:
            for wrong in (("--frobnicate",), ("--json=yes",)):
                done = run(*command.split(), *wrong)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), command)
                self.assertTrue(done.stderr.endswith(".\n"), done.stderr)

    def test_what_the_machine_lacks_ends_with_3_and_one_sentence(self):
        for command, arguments in MISSING.items():
            for more in ((), ("--json",)):
                done = run(command, *arguments, *more)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), command)
                said = json.loads(done.stdout)["error"]["exit_code"] if more else done.stdout
                self.assertEqual(said, 3 if more else "", command)


class Terminal(unittest.TestCase):
    CHECK = ("check", RING, "--seeds", "40")

    def test_colours_only_where_they_are_wanted(self):
        self.assertIn("\033[", on_terminal(*self.CHECK, stream="out")[0])
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\033[", on_terminal(*self.CHECK, stream="out", **environment)[0])
        self.assertIn("\033[", on_terminal(*self.CHECK, stream="out", NO_COLOR="")[0])
        self.assertNotIn("\033[", on_terminal(*self.CHECK, "--json", stream="out")[0])
        self.assertNotIn("\033[", run(*self.CHECK).stdout)

    def test_progress_only_on_a_terminal(self):
        for command in (self.CHECK, ("mutants", "--only", "M23,M42,M66"), ("gemm", *SIZE, "--target", "sim:sm90"),
                        ("demo", "--timeline", os.path.join(self.folder, "demo.html"))):
            with self.subTest(command[0]):
                shown, piped = on_terminal(*command, "--json", stream="err")
                self.assertRegex(shown, r"\[#+ *\] \d+ of \d+")
                self.assertTrue(shown.endswith("\r\033[K"), "the bar is taken away at the end")
                json.loads(piped)
                self.assertEqual(run(*command).stderr, "")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
