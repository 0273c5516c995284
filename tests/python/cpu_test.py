"""The Python suite without a GPU and the package's types, in a virtual environment of the build tree.

Usage: cpu_test.py FOLDER TOOL LIBRARY. Exits 77 (skipped) where the packages it needs cannot be installed.
"""
import os
import pathlib
import subprocess
import sys
import venv

folder, tool, library = (pathlib.Path(argument) for argument in sys.argv[1:4])
root = pathlib.Path(__file__).resolve().parents[2]
python = folder / "bin" / "python"
packages = ["numpy", "ml_dtypes", "pytest", "mypy"]


def ready():
    imports = "import numpy, ml_dtypes, pytest, mypy"
    return python.exists() and subprocess.run([python, "-c", imports], capture_output=True).returncode == 0


if not ready():
    try:
        venv.create(folder, with_pip=True, clear=True)
    except subprocess.CalledProcessError:
        print("a virtual environment with pip could not be made; Debian's python3-venv makes it possible")
        sys.exit(77)
    installed = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
    if installed.returncode:
        print("the packages could not be installed:", *packages)
        sys.exit(77)

environment = {**os.environ, "WARPWRIGHT_TOOL": str(tool), "WARPWRIGHT_LIBRARY": str(library),
               "PYTHONDONTWRITEBYTECODE": "1"}
suite = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(root / "python" / "tests")],
                       env=environment, cwd=root)
types = subprocess.run([python, "-m", "mypy", "--cache-dir", str(folder / "mypy"), "--no-error-summary"], cwd=root)
sys.exit(suite.returncode or types.returncode)
