"""The wheel as it travels: its name, what is in it, and its NumPy tests where there is no compiler.

Usage: wheel_test.py FOLDER [WHEEL] [--root ROOT]. FOLDER keeps the build between runs. Without WHEEL one is built, with
the small set of kernels for GPUs (`pip wheel .` has all). ROOT is a bare system in which the wheel is tried, as
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm ROOT
makes it; without it an environment of this system, with an empty PATH. Exits 77 (skipped) where pip cannot install.
"""
import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from environment import prepared

root = pathlib.Path(__file__).resolve().parents[2]
arguments = sys.argv[1:]
bare = pathlib.Path(arguments.pop(arguments.index("--root") + 1)).resolve() if "--root" in arguments else None
arguments = [argument for argument in arguments if argument != "--root"]
folder = pathlib.Path(arguments[0]).resolve()
failures = []


def expect(what, holds):
    print(("ok    " if holds else "WRONG ") + what)
    if not holds:
        failures.append(what)


def built():
    made = folder / "made"
    shutil.rmtree(made, ignore_errors=True)
    python = prepared(folder / "builder", ["pip", "auditwheel"])
    subprocess.run([python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", made, root, "-C", f"build-dir={folder / 'build'}",
                    "-C", "cmake.define.WARPWRIGHT_INSTANCES=COVER", "-C", "cmake.define.WARPWRIGHT_SIMULATED=ALL"], check=True)
    return next(made.glob("*.whl"))


wheel = pathlib.Path(arguments[1]).resolve() if len(arguments) > 1 else built()
size = wheel.stat().st_size
names = zipfile.ZipFile(wheel).namelist()
installed = sum(entry.file_size for entry in zipfile.ZipFile(wheel).infolist())
print(f"{wheel.name}: {size / 1e6:.1f} MB, installed {installed / 1e6:.1f} MB, {len(names)} files")
tag = re.search(r"manylinux_2_(\d+)_x86_64", wheel.name)
here = int(os.confstr("CS_GNU_LIBC_VERSION").split(".")[-1])
expect("it is one for every Python from 3.10 on", "-py3-none-" in wheel.name)
expect("it runs on systems as old as manylinux_2_35", tag is not None and int(tag[1]) <= max(35, here if here > 36 else 0))
expect("it has at most 60 MB", size <= 60e6)
expect("the library is in it once", sum("libwarpwright" in name for name in names) == 1)
expect("no other library is in it", not any(name.endswith(".a") or ".libs/" in name for name in names))
expect("the warm call is in it", "warpwright/lib/_native.abi3.so" in names)

if bare is None:
    place = folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    python = prepared(place, ["numpy", "ml_dtypes", "pytest"])  # what the tests need beside the package
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True)
    start = [python]
    tests = shutil.copytree(root / "python" / "tests", place / "tests")  # away from the package of the checkout
    environment = {"HOME": str(place), "PATH": "/nonexistent"}
else:
    inside = pathlib.Path(tempfile.mkdtemp(prefix="wheel-", dir=bare))
    atexit.register(shutil.rmtree, inside, ignore_errors=True)
    seen = f"/{inside.name}"  # as its programs see it
    shutil.copytree(root / "python" / "tests", inside / "tests")
    shutil.copy(wheel, inside)
    shutil.copy("/etc/resolv.conf", bare / "etc")
    environment = {"HOME": seen, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    if certificates := os.environ.get("PIP_CERT"):
        shutil.copy(certificates, inside / "certificates.pem")
        environment["PIP_CERT"] = f"{seen}/certificates.pem"
    enter = ["unshare", "--mount", "bash", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$@"', str(bare), str(bare)]
    start = [*enter, f"{seen}/place/bin/python"]
    tests = f"{seen}/tests"
    subprocess.run([*enter, "python3", "-m", "venv", f"{seen}/place"], env=environment, check=True)
    subprocess.run([*start, "-m", "pip", "install", "--quiet", f"{seen}/{wheel.name}", "pytest"], env=environment, check=True)
    found = subprocess.run([*enter, "bash", "-c", "command -v g++ c++ clang++ gcc cc"], env=environment, capture_output=True)
    expect("the system has no compiler", not found.stdout)


def python_says(program):
    done = subprocess.run([*start, "-c", program], env=environment, cwd="/", capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()


listed = python_says("""
import json, subprocess, sys
devices = json.loads(subprocess.run([sys.executable, "-m", "warpwright", "devices", "--json"], capture_output=True, check=True).stdout)
print(*(len(s["kernels"]) for s in devices["simulators"][:3]), sum(t["name"] != "nvcc" for t in devices["toolchains"]))
""")
print(f"kernels of sim:sm80, sm90 and sm100 in it, compilers: {listed}")
expect("it lists the kernels of the simulators that it carries",
       re.fullmatch(r"[1-9]\d* [1-9]\d\d [1-9]\d* 0", listed) is not None)
refused = python_says("""
import numpy, warpwright
x = numpy.ones((64, 64), numpy.float32)
try:
    warpwright.gemm(x, x, plan="dense-64x48-c1-s3")
except warpwright.MissingError as error:
    print(error)
""")
print(refused)
expect("a kernel that it does not carry asks for g++",
       "is not compiled into this program: a C++20 compiler is needed" in refused and "install g++" in refused)
suite = subprocess.run([*start, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", str(tests)], env=environment, cwd="/",
                       text=True, stdout=subprocess.PIPE)
print(suite.stdout[-3000:])
expect("the NumPy tests pass", suite.returncode == 0 and re.search(r"\d\d passed", suite.stdout) is not None)
sys.exit(1 if failures else 0)
