"""A new user's first hour, step by step, with the seconds of each: a fresh clone, the two commands of README.md, a kernel
of one's own, a mistake in it, its report and its repair, its timeline, and Python.

It is the hour of somebody without CUDA: device code would be compiled for many minutes, and nobody would run it.

Usage: first_hour.py [--cold] [--whole] [--keep]
  --cold    without a compiler cache: an empty home, as in fresh_user.sh
  --whole   all of `./warpwright test`, which builds everything; otherwise one test of the tool
  --keep    leave the folder behind
Ends with 0 where every step went as it should, with 1 and the end of its output at the first that did not, and with 77
where all went well but the packages for Python could not be installed. No time is judged.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MISTAKE = ("stage->expect_bytes(kBox.bytes());", "stage->expect_bytes(2 * kBox.bytes());")
PYTHON = """
import numpy as np
import warpwright

assert warpwright.gemm(np.eye(64), np.ones((32, 64))).sum() == 2048
checked = warpwright.check("mine/row_maxima.cpp", seeds=1)
print(checked["verdict"], checked["runs"], "runs")
assert checked["verdict"] == "clean"
"""


class Hour:
    def __init__(self, folder, environment):
        self.folder, self.environment, self.rows = folder, environment, []

    def step(self, name, command, code=0, shows=(), where=None):
        """Runs a line of the shell in the clone; it must end with `code` and print all of `shows`."""
        begin = time.monotonic()
        done = subprocess.run(["bash", "-c", command], cwd=where or self.folder / "warpwright", env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seconds = time.monotonic() - begin
        missing = [text for text in shows if not re.search(text, done.stdout)]
        self.rows.append((name, command, seconds))
        print(f"{seconds:8.1f} s  {name}: {command}", flush=True)
        if done.returncode != code or missing:
            print(f"It ended with {done.returncode}, not with {code}." if done.returncode != code else
                  f"It does not say {missing}.")
            print("\n".join(done.stdout.splitlines()[-40:]))
            self.table()
            sys.exit(1)
        return done.stdout

    def table(self):
        total = sum(seconds for _, _, seconds in self.rows)
        print("\n| step | seconds | from the start |\n|---|---|---|")
        passed = 0.0
        for name, _, seconds in self.rows:
            passed += seconds
            print(f"| {name} | {seconds:.1f} | {passed:.1f} |")
        print(f"\n{len(self.rows)} steps, {total:.0f} s")


def environment(folder, cold):
    if not cold:
        return {**os.environ, "WARPWRIGHT_BUILD_DIR": "", "WARPWRIGHT_CACHE_DIR": str(folder / "cache"),
                "WARPWRIGHT_CUDA": "off"}
    (folder / "home").mkdir()
    kept = {name: os.environ[name] for name in ("PIP_CERT", "LANG") if name in os.environ}
    return {**kept, "HOME": str(folder / "home"), "TERM": "dumb", "WARPWRIGHT_CUDA": "off",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def readme_commands(clone):
    part = (clone / "README.md").read_text().partition("## Two commands")[2].partition("\n## ")[0]
    return re.findall(r"^(\./warpwright \w+)", part, flags=re.M)


def spend(folder, arguments):
    hour = Hour(folder, {k: v for k, v in environment(folder, "--cold" in arguments).items() if v})
    hour.step("clone", f"git clone --quiet file://{ROOT} warpwright", where=folder)
    clone = folder / "warpwright"
    demo, test = readme_commands(clone)
    hour.step("the demo", demo, shows=[r"sm90/dense\S+ +512x512x512  right", r"open it in a browser"])
    hour.step("the demo again", demo, shows=["All right"])
    hour.step("the tests" if "--whole" in arguments else "one of the tests",
              test if "--whole" in arguments else f"{test} --tool cli.completion", shows=["100% tests passed"])

    (clone / "mine").mkdir()
    source = (ROOT / "tests" / "docs" / "row_maxima.cpp").read_text()
    own = clone / "mine" / "row_maxima.cpp"
    own.write_text(source)
    check = "./warpwright check mine/row_maxima.cpp"
    hour.step("an own kernel, checked", check, shows=["row_maxima  clean"])

    assert source.count(MISTAKE[0]) == 1
    own.write_text(source.replace(*MISTAKE))
    report = hour.step("a mistake, reported", check, code=1,
                       shows=[r"deadlock\.bytes: math .* waits on x\.full\[0\] phase 0", r"announced and never delivered",
                              r"at row_maxima\.cpp:\d+", r"replay: "])
    replay = re.search(r"replay: (.*)", report)[1]
    hour.step("the report, repeated", f"{check} {replay}", code=1, shows=[r"deadlock\.bytes"])
    own.write_text(source)
    hour.step("repaired", check, shows=["row_maxima  clean"])
    hour.step("its timeline", "./warpwright trace mine/row_maxima.cpp --html mine/row_maxima.html",
              shows=[r"row_maxima on sim:sm90: \d+ bars"])
    assert "<html" in (clone / "mine" / "row_maxima.html").read_text()

    probe = subprocess.run(["bash", "-c", "python3 -m venv .venv && .venv/bin/pip download --quiet --no-deps -d /dev/null/x numpy"],
                           cwd=clone, env=hour.environment, capture_output=True, text=True)
    if "Could not find a version" in probe.stderr or "ensurepip" in probe.stdout:
        print("Python was left out: packages cannot be installed here.")
        hour.table()
        return 77
    hour.step("Python, installed", ". .venv/bin/activate && pip install --quiet .")
    (clone / "mine" / "first.py").write_text(PYTHON)
    hour.step("Python, a product and the own kernel", ". .venv/bin/activate && python mine/first.py", shows=["clean"])
    hour.table()
    return 0


def main(arguments):
    if set(arguments) - {"--cold", "--whole", "--keep"}:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(tempfile.mkdtemp(prefix="first-hour."))
    try:
        return spend(folder, arguments)
    finally:
        if "--keep" not in arguments:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
