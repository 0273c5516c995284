"""Bad input ends every command with 2 and one sentence that names the argument, its value and the rule; nothing is
printed or written. What goes wrong around a command (a full disk, a reader that goes, Ctrl-C) is reported or cleaned up.

Usage: wrong_input_test.py TOOL [unittest arguments]
"""
import json
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "WARPWRIGHT_CUDA": "off"}

GEMM = "gemm --m 8 --n 8 --k 64"
SIM = f"{GEMM} --target sim:sm90"
OWN = f"{SIM} --a junk --b junk --d result"
MOE = "moe --tokens 8 --experts 2 --top-k 1 --hidden 64 --intermediate 64"
TRACE = "trace --m 64 --n 64 --k 64"
IDESC = "encode idesc --b bf16 --c f32 --a-major K --b-major K"
RING, DENSE = "sm90/ring_copy-32x64-s4/fp32", "sm90/dense-128x256-c2-s4/bf16-nt"
SMEM = "encode smem --arch sm90 --swizzle 128 --major K"

# A command line, and what its sentence must say.
WRONG = {
    "demo --timeline ''": ["--timeline", "''"],
    "demo --timeline folder": ["--timeline", "folder", "not a file"],
    "demo --timeline none/x.html": ["--timeline", "none/x.html"],
    "demo extra": ["'extra'"],
    "demo --json=yes": ["--json", "no value"],
    f"{GEMM} --m 9": ["--m", "8, 9"],
    "gemm --m '' --n 8 --k 8": ["--m", "''", "0 to 2147483647"],
    "gemm --m 0x10 --n 8 --k 8": ["--m", "'0x10'"],
    "gemm --m 8 --n 8 --k 99999999999999999999": ["--k", "'99999999999999999999'"],
    "gemm --m 8 --n 8 --k 8 --batch 70000 --target sim:sm80": ["batch = 70000", "at most 65535"],
    f"{GEMM} --plan ''": ["--plan", "''"],
    f"{GEMM} --dtype bf61": ["--dtype", "'bf61'", "did you mean 'bf16'?"],
    f"{SIM} --schedule freeze:lod": ["--schedule", "'lod'", "did you mean 'load'?"],
    f"{GEMM} --epilogue ''": ["--epilogue", "''"],
    f"{GEMM} --epilogue 'x * sigmod(x)'": ["line 1, column 5", "'sigmoid'?\n  x * sigmod(x)\n      ^"],
    f"{GEMM} --epilogue 'x + y'": ["line 1, column 5", "'y' is not known", "row_bias"],
    f"{GEMM} --epilogue 'relu(x)' --beta 2": ["beta = 2", "does not name it"],
    f"{GEMM} --epilogue 'x' --target sim:gfx950": ["epilogue = x", "gfx950"],
    f"{GEMM} --epilogue 'bias + row_bias'": ["bias and row_bias"],
    f"{GEMM} --epilogue '2 * residual' --op grouped_contiguous": ["epilogue", "names residual", "row_bias"],
    f"{SIM} --epilogue '2 * x' --a matrix --b matrix --d result --bias junk": ["--bias", "has none"],
    "check sm90/dense-64x64-c1-s8/bf16-nt-owne44698d5d0ed9202": ["plan = sm90", "gemm --epilogue"],
    f"{GEMM} --scaling ''": ["--scaling", "''"],
    f"{GEMM} --alpha inf": ["--alpha", "'inf'", "finite"],
    "gemm --op grouped_contiguous --groups 0 --m 8 --n 8 --k 64 --target sim:sm100": ["groups = 0", "at least 1"],
    f"{SIM} --plan dense-128x256-c2-s44x": ["plan = dense-128x256-c2-s44x", "nearest", "dense-128x256-c2-s4"],
    "gemm --op grouped_contiguous --groups 60000 --m 8 --n 8192 --k 8192 --target sim:sm90":
        ["groups = 60000", "B has 491520000 x 8192", "2^27"],
    "gemm --m 1073741824 --n 8 --k 0 --target sim:sm90": ["m = 1073741824", "2^27"],
    f"{SIM} --a junk": ["--a, --b and --d", "all three"],
    f"{GEMM} --a junk --b junk --d result": ["--a, --b and --d", "--target sim:sm90"],
    f"{SIM} --a none --b junk --d result": ["--a", "none", "cannot be read"],
    f"{SIM} --a folder --b junk --d result": ["--a", "folder", "cannot be read"],
    f"{SIM} --a junk --b junk --d folder": ["--d", "folder", "not a file"],
    f"{SIM} --a junk --b junk --d none/d": ["--d", "none/d"],
    f"{OWN}": ["--a", "1 bytes", "1024"],
    f"{OWN} --table junk": ["--table", "no groups"],
    f"{SIM} --a-rows 8": ["--a-rows", "grouped_contiguous"],
    f"{SIM} --op grouped_masked --a-rows 8": ["gathered = true", "contiguous groups"],
    f"{OWN} --op grouped_contiguous --table rows --index table": ["--index", "--a-rows says"],
    f"{OWN} --op grouped_contiguous --table rows --a-rows 5": ["--index", "need it"],
    f"{OWN} --op grouped_contiguous --table rows --a-rows 5 --index table": ["--index", "3 numbers", "8 rows"],
    f"{OWN.replace('--m 8', '--m 3')} --op grouped_contiguous --table rows3 --a-rows 5 --index table":
        ["--index", "number 1 is 5", "A has 5 rows"],
    f"{SIM} --a matrix --b matrix --d result --bias junk": ["--bias", "has none", "--epilogue"],
    f"{SIM} --a matrix --b matrix --d result --epilogue bias": ["--bias", "needs it"],
    f"{SIM} --a matrix --b matrix --d result --beta 1 --c junk": ["--c", "1 bytes", "128"],
    f"{SIM} --a matrix --b matrix --d result --epilogue residual --residual none": ["--residual", "none", "cannot be"],
    f"{GEMM} --target sim:sm100 --a matrix --b matrix --d result --bias junk": ["--bias", "sim:sm90"],
    f"{OWN} --op grouped_contiguous": ["--table", "need one"],
    f"{OWN} --op grouped_contiguous --table junk": ["--table", "junk has 1 bytes", "4 each"],
    f"{OWN} --op grouped_contiguous --table empty": ["--table", "0 numbers", "1 groups need 2"],
    f"{OWN} --op grouped_contiguous --table table --groups 2": ["--table", "number 2 is 3", "from 5 to 8"],
    f"{OWN} --op grouped_masked --table table --groups 2": ["--table", "3 numbers", "2 groups need 2"],
    f"{OWN} --op grouped_contiguous --groups 1 --table rows --experts table": ["--b", "1 bytes", "a matrix has 1024"],
    f"{SIM} --a junk --b matrix --d result --op grouped_contiguous --groups 1 --table rows --experts table":
        ["--experts", "3 numbers", "1 groups"],
    f"{SIM} --a junk --b matrix --d result --op grouped_contiguous --groups 2 --table table8 --experts rows":
        ["--experts", "number 1 is 8", "1 matrices"],
    f"{OWN} --op grouped_k --groups 1 --table rows --experts rows": ["--experts", "groups of rows"],
    f"{OWN} --op grouped_contiguous --groups 1 --table rows": ["--b", "1 bytes", "1024"],
    f"{OWN} --op grouped_contiguous --groups 1 --table rows --c junk": ["--c", "grouped_k"],
    f"{OWN} --op blockwise": ["--a-scales, --b-scales", "e4m3", "both"],
    f"{OWN} --op blockwise --a-scales junk --b-scales junk --table rows": ["--table", "without groups"],
    "gemm --m 8 --n 256 --k 64 --target sim:sm90 --op grouped_contiguous --dtype e4m3 --epilogue swiglu+bias "
    "--out-dtype e4m3 --a junk --b junk --d result --table rows": ["--bias", "needs it"],
    "gemm --m 8 --n 256 --k 64 --target sim:sm90 --op grouped_contiguous --dtype e4m3 --epilogue swiglu "
    "--out-dtype e4m3 --a junk --b junk --d result --table rows": ["--d-scales", "needs it"],
    "gemm --m 8 --n 256 --k 64 --target sim:sm90 --op grouped_contiguous --a junk --b junk --d result --table rows "
    "--d-scales result": ["--d-scales", "only a result in e4m3"],
    "check ''": ["KERNEL", "''"],
    "check folder": ["'folder'", "nor a source file"],
    "check none.cpp": ["'none.cpp'", "not a file"],
    "check --list sm90/ring_copy-32x64-s4/fp32": ["--list", "KERNEL"],
    f"check {RING} --sizes 0x0": ["--sizes", "0x0", "at least 1"],
    f"check {RING} --sizes 64x-4": ["--sizes", "'64x-4'", "MxN"],
    f"check {RING} --sizes 2147483644x4": ["m = 2147483644", "2^27"],
    f"check {DENSE} --sizes 64x64": ["--sizes", "'64x64'", f"{DENSE} is MxNxK"],
    f"check {RING} --max-seconds 0": ["--max-seconds", "'0'"],
    f"check {RING} --seeds 1e9": ["--seeds", "'1e9'"],
    f"{MOE} --hidden 12": ["--hidden", "64, 12"],
    "moe --tokens 8 --experts 2 --top-k 1 --hidden 12 --intermediate 64": ["hidden = 12", "multiple of 8"],
    f"{MOE} --dtype fp16": ["--dtype", "'fp16'"],
    f"{MOE} --routing none": ["--routing", "'none'"],
    f"{MOE} --operands none": ["--operands", "sim:sm90"],
    f"{MOE} --target sim:sm90 --operands none": ["--operands", "none/ids", "cannot be read"],
    f"{MOE} --target sim:gfx950": ["--target", "'sim:gfx950'"],
    f"{MOE} --down-plan dense-64x64-c1-s4": ["plan = dense-64x64-c1-s4"],
    "mutants --only ''": ["--only", "''"],
    "mutants --only M999": ["--only", "'M999'", "M01"],
    "mutants --only M13.nevr": ["--only", "'M13.nevr'", "did you mean 'M13.never'?"],
    "mutants --seeds -1": ["--seeds", "'-1'"],
    "mutants --reports=1": ["--reports", "no value"],
    "mutants extra": ["'extra'"],
    f"{TRACE} --html ''": ["--html", "''"],
    f"{TRACE} --html folder": ["--html", "folder", "not a file"],
    f"{TRACE} --html same --perfetto ./same": ["--html and --perfetto", "same"],
    f"{TRACE} --perfetto none/x": ["--perfetto", "none/x"],
    f"{TRACE} --landing late": ["--landing", "one timed run"],
    f"{TRACE} --seeds 4": ["--seeds", "one timed run"],
    f"{TRACE} --op grouped_contiguous --target sm90": ["--target sm90", "timestamps", "sim:sm90"],
    f"{TRACE} --op grouped_contiguous --groups 0 --target sim:sm100": ["groups = 0", "at least 1"],
    f"{TRACE} --op grouped_contiguous --target sim:sm80": ["target = sim:sm80", "sim:sm100"],
    "trace --m 64 --n 64": ["--k", "required"],
    "trace --recording folder": ["--recording", "folder", "not a file"],
    "trace --recording junk": ["--recording", "junk", "not a recording"],
    "trace --recording junk --m 8": ["--recording and --m"],
    "schedule list extra": ["'extra'"],
    "schedule show": ["name", "required"],
    "schedule show '' --target sm90": ["''", "ping-pong"],
    "schedule show pingpong --target gfx950": ["'pingpong'", "did you mean 'ping-pong'?"],
    "schedule show default --target gfx900": ["--target", "'gfx900'", "gfx950"],
    "schedule verify ping-pong --target gfx942": ["ping-pong", "gfx942"],
    "schedule verify default --target gfx950 --isa folder": ["--isa", "'folder'", "not a file"],
    "schedule verify default --target gfx950 --isa none.co": ["--isa", "'none.co'", "not a file"],
    "schedule verify default --target sm90 --isa junk": ["--isa", "sm90"],
    "schedule verify default --target gfx950 --isa ''": ["--isa", "''"],
    "schedule svg default --target": ["--target", "needs a value"],
    "explain --m 1": ["--n", "required"],
    "explain --m -1 --n 1 --k 1": ["--m", "'-1'"],
    "explain --m 8 --n 8 --k 8 --epilogue bias+bias": ["--epilogue", "'bias'", "twice"],
    "explain --m 8 --n 8 --k 16 --dtype e4m3 --scaling tensor+tensor": ["--scaling", "'tensor'", "twice"],
    "explain --m 8 --n 8 --k 16 --op grouped_contiguous --groups 2 --epilogue bias+": ["--epilogue", "''", "swiglu"],
    "explain --m 8 --n 8 --k 16 --op grouped_masked --groups 99999": ["group_count = 99999", "65535"],
    "explain --m 1 --n 1 --k 1 --plan nonsense": ["plan = nonsense"],
    "explain --m 1 --n 1 --k 1 --plan dense-64x64-c1-s4x": ["plan = dense-64x64-c1-s4x", "nearest are dense-64x64-c1-s4,"],
    "explain --m 1 --n 1 --k 1 --dtype s8": ["s8", "bf16"],
    "explain --m 1 --n 1 --k 1 --layout tx": ["--layout", "'tx'"],
    "explain --m 1 --n 1 --k 1 --target sim": ["--target", "'sim'"],
    "bench --sizes ''": ["--sizes", "''"],
    "bench --sizes 1x2": ["--sizes 1x2", "MxNxK"],
    "bench --sizes 8x8x8 --shapes good.tsv": ["--sizes and --shapes"],
    "bench --shapes none.tsv": ["--shapes none.tsv", "cannot be read"],
    "bench --shapes folder": ["--shapes folder", "cannot be read"],
    "bench --shapes empty": ["--shapes empty", "is empty"],
    "bench --shapes junk": ["--shapes junk", "'op'"],
    "bench --shapes head.tsv": ["--shapes head.tsv", "no row"],
    "bench --shapes other.tsv": ["--shapes other.tsv", "1 row"],
    "bench --burst 99": ["--burst", "'99'", "from 0.01 to 10"],
    "bench --plan ''": ["--plan", "''"],
    "tune --shapes empty": ["--shapes empty", "is empty"],
    "tune --shapes other.tsv": ["--shapes other.tsv", "1 row"],
    "tune --sizes 8x8": ["--sizes 8x8", "MxNxK"],
    "tune --sizes 64x64x64 --out folder": ["--out", "folder", "not a file"],
    "tune --sizes 64x64x64 --out none/table": ["--out", "none/table"],
    "tune --sizes 64x64x64 --out ''": ["--out", "''"],
    "tune --sizes 64x64x64 --max-seconds -1": ["--max-seconds", "'-1'"],
    "tune --sizes 64x64x64 --burst x": ["--burst", "'x'"],
    "tune --sizes 64x64x64 --groups 0": ["--groups", "'0'"],
    "tune": ["--shapes, --sizes and --random"],
    f"{IDESC} --a foo --m 128 --n 256": ["--a", "'foo'"],
    f"{IDESC} --a bf16 --m 127 --n 256": ["--m 127", "M must be"],
    f"{IDESC} --a bf16 --m -128 --n 256": ["--m", "'-128'"],
    f"{IDESC} --a bf16 --m 128 --n 512": ["--n", "'512'"],
    f"{IDESC} --a bf16 --m 128 --n 256 --scale ue9m0": ["--scale", "'ue9m0'"],
    f"{SMEM} --type foo": ["--type", "'foo'"],
    f"{SMEM} --type bf16 --rows 7": ["--rows", "'7'"],
    f"{SMEM} --type bf16 --k 0": ["--k", "'0'"],
    "encode smem --arch sm70 --type bf16 --swizzle 128 --major K": ["--arch", "'sm70'"],
    "encode smem --arch sm90 --type bf16 --swizzle 48 --major K": ["--swizzle", "'48'"],
    "devices extra": ["'extra'"],
    "devices ''": ["''"],
    "devices -j": ["'-j'"],
    "devices --json=no": ["--json"],
    "devices --jsn": ["'--jsn'", "--json"],
    "report extra": ["'extra'"],
    "report --out": ["--out"],
    "report --out ''": ["--out"],
    "report --out missing/report.json": ["--out", "missing/report.json"],
    "report --uot x": ["'--uot'", "--out"],
    "completion": ["SHELL", "required"],
    "completion tcsh": ["SHELL", "'tcsh'", "fish"],
    "completion ''": ["SHELL", "''"],
    "completion bash zsh": ["'zsh'"],
    "completion --shell bash": ["'--shell'"],
    "test --frob": ["'--frob'"],
    "lint --frob": ["'--frob'"],
}


class WrongInput(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "folder").mkdir()
        header = "op\tdtype\tgroups\tm\tn\tk\n"
        for name, text in {"junk": "x", "empty": "", "head.tsv": header,
                           "good.tsv": header + "dense\tbf16\t1\t8\t8\t8\n",
                           "other.tsv": header + "other\tbf16\t1\t8\t8\t8\n"}.items():
            (self.folder / name).write_text(text)
        (self.folder / "matrix").write_bytes(bytes(1024))
        for name, numbers in {"table": (0, 5, 3), "table8": (0, 3, 8), "rows": (0, 8), "rows3": (0, 3)}.items():
            (self.folder / name).write_bytes(b"".join(n.to_bytes(4, "little") for n in numbers))
        self.files = sorted(self.folder.rglob("*"))

    def test_one_sentence_and_nothing_else(self):
        for line, words in WRONG.items():
            with self.subTest(line):
                done = subprocess.run([TOOL, *shlex.split(line)], cwd=self.folder, capture_output=True, text=True,
                                      timeout=120, env=ENVIRONMENT)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                # Operands are looked at when the kernel is there, and the first time it is compiled.
                said = re.sub(r"^Compiling \S+ for the simulator.*\n", "", done.stderr)
                # Only a text of the user's is shown below it, with a mark.
                self.assertRegex(said, r"\Awarpwright( [a-z]+)+: [^\n]*(\.|[.?]\n  [^\n]*\n[ \t]*\^)\n\Z")
                for word in words:
                    self.assertIn(word, said)
                self.assertEqual(sorted(self.folder.rglob("*")), self.files)

    def test_with_json_the_sentence_is_a_document_too(self):
        for line in WRONG:
            if "--json" in line:
                continue
            words = shlex.split(line)
            words.insert(next((i for i, word in enumerate(words) if word.startswith("-")), len(words)), "--json")
            with self.subTest(line):
                done = subprocess.run([TOOL, *words], cwd=self.folder, capture_output=True, text=True,
                                      timeout=120, env=ENVIRONMENT)
                error = json.loads(done.stdout)["error"]
                self.assertEqual((done.returncode, error["exit_code"]), (2, 2))
                self.assertTrue(done.stderr.endswith(f": {error['message']}\n"), done.stderr)

    def test_without_a_compiler(self):
        """What is not compiled into the tool needs one; the machine lacks it."""
        for line in (f"{SIM} --plan dense-64x96-c1-s3", "check sm90/dense-64x96-c1-s3/bf16-nt",
                     f"{TRACE} --plan dense-64x96-c1-s3 --html x.html", f"check {ROOT}/examples/your_kernel/row_norms.cpp"):
            for json_asked in ([], ["--json"]):
                with self.subTest(line, json=json_asked):
                    done = subprocess.run([TOOL, *shlex.split(line), *json_asked], cwd=self.folder, capture_output=True,
                                          text=True, timeout=120,
                                          env={**ENVIRONMENT, "CXX": "nowhere-c++", "WARPWRIGHT_CACHE_DIR": "off"})
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertRegex(done.stderr, r"\Awarpwright [a-z]+: [^\n]*CXX names 'nowhere-c\+\+'[^\n]*\.\n\Z")
                    said = json.loads(done.stdout)["error"]["exit_code"] if json_asked else done.stdout
                    self.assertEqual(said, 3 if json_asked else "")
                    self.assertEqual(sorted(self.folder.rglob("*")), self.files)

    def test_every_command_is_tried(self):
        listed = subprocess.run([TOOL, "--help"], capture_output=True, text=True).stdout
        commands = re.findall(r"^  ([a-z]+) ", re.split(r"^subcommands:$", listed, flags=re.M | re.I)[1], flags=re.M)
        tried = [line.split()[0] for line in WRONG]
        for command in commands:
            # `test` and `lint` are the script's; the tool only knows their pages.
            self.assertGreaterEqual(tried.count(command), 1 if command in ("test", "lint") else 5, command)


class Surroundings(unittest.TestCase):
    def test_a_disk_that_is_full(self):
        for line in ("check --list", "devices --json", "completion bash", "--help", "--version", "gemm --help"):
            with self.subTest(line), open("/dev/full", "w") as full:
                done = subprocess.run([TOOL, *line.split()], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30,
                                      env=ENVIRONMENT)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"\Awarpwright[^\n]*could not be written to stdout\.\n\Z")

    def test_a_reader_that_goes_away(self):
        for line in ("check --list", "completion bash", "schedule show default --target gfx950", "devices --json"):
            with self.subTest(line):
                # Without pipefail the end of `head` counts; stderr must stay empty, whoever is faster.
                done = subprocess.run(["bash", "-c", f'"$0" {line} | head -n 1 > /dev/null', TOOL], timeout=30,
                                      capture_output=True, text=True, env=ENVIRONMENT)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def interrupted(self, arguments, seen, stop, **environment):
        """Sends a signal when stderr, a terminal, shows something; what was shown, and how it ended."""
        master, slave = pty.openpty()
        process = subprocess.Popen([TOOL, *arguments], stdout=subprocess.PIPE, stderr=slave,
                                   env={**ENVIRONMENT, "TERM": "xterm", **environment})
        os.close(slave)
        shown, deadline = b"", time.monotonic() + 30
        while not re.search(seen, shown) and time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                shown += os.read(master, 4096)
        process.send_signal(stop)
        printed = process.communicate(timeout=30)[0]
        while select.select([master], [], [], 0.2)[0]:
            try:
                part = os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            shown += part
        os.close(master)
        self.assertEqual(printed, b"")
        return shown, process.returncode

    def test_a_signal_takes_the_bar_away(self):
        for stop in (signal.SIGINT, signal.SIGTERM):
            shown, code = self.interrupted(["check", DENSE, "--seeds", "100000"], rb"\[#* *\] \d+ of \d+", stop)
            self.assertEqual(code, -stop)
            self.assertTrue(shown.endswith(b"\r\033[K"), shown[-80:])

    def test_a_signal_leaves_no_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            kernel = str(ROOT / "examples" / "your_kernel" / "row_norms.cpp")
            _, code = self.interrupted(["check", kernel], rb"compiling", signal.SIGINT, TMPDIR=folder)
            self.assertEqual(code, -signal.SIGINT)
            self.assertEqual(list(pathlib.Path(folder).glob("warpwright.*")), [])

    def test_what_the_caller_ignores_stays_ignored(self):
        check = '"$0" check sm90/dense-128x256-c2-s4/bf16-nt --seeds 2 --json'
        line = f'trap "" HUP; {check} & sleep 0.2; kill -HUP $!; wait $!'
        done = subprocess.run(["bash", "-c", line, TOOL], capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 0)
        self.assertIn('"verdict": "clean"', done.stdout)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
