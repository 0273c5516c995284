#!/usr/bin/env python3
"""Checks tools/prove.py: its exit status, and that it names exactly the marked lines of prove_fixture.cpp.

usage: prove_lines.py --compiler CXX

exit status: 0 passed, 1 failed, 77 the compiler is not here
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import prove  # noqa: E402


def run(compiler, source):
    as_device_code = ["-x", "cu", "--expt-relaxed-constexpr"] if prove.family(compiler) == "nvcc" else []
    command = [sys.executable, str(ROOT / "tools" / "prove.py"), "--compiler", compiler, "--library", r"case_base\.h$",
               str(source), *as_device_code, "-I", str(ROOT / "include"), "-I", str(HERE)]
    return subprocess.run(command, capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0],
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True)
    compiler = parser.parse_args().compiler
    found = prove.find_nvcc(compiler) if prove.family(compiler) == "nvcc" else shutil.which(compiler)
    if not found:
        print(f"skipped: {compiler} was not found")
        return 77

    fixture = HERE / "prove_fixture.cpp"
    expected = {(number, prove.SENTENCES[m[1]])
                for number, line in enumerate(fixture.read_text().splitlines(), 1)
                if (m := re.search(r"// violation: (\w+)", line))}
    failures = []
    done = run(found, fixture)
    named = {(int(m[1]), m[2]) for m in
             re.finditer(r"^.*prove_fixture\.cpp:(\d+):\d+: error: linear: (.*), in ", done.stdout, re.M)}
    if done.returncode != 1 or named != expected:
        failures.append(f"expected exit 1 and {sorted(expected)}, got exit {done.returncode} and {sorted(named)}\n"
                        + done.stdout + done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        correct = Path(folder) / "correct.cpp"
        correct.write_text(fixture.read_text().split("KERNEL void leak")[0])
        broken = Path(folder) / "broken.cpp"
        broken.write_text('#include "no_such_header.h"\n')
        for source, status in ((correct, 0), (broken, 2)):
            done = run(found, source)
            if done.returncode != status:
                failures.append(f"{source.name}: expected exit {status}, got {done.returncode}\n"
                                + done.stdout + done.stderr)
    print("\n".join(failures) if failures else f"{len(expected)} lines named, exit status 0, 1 and 2 as documented")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
