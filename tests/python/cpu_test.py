"""The Python suite without a GPU and the package's types, in a virtual environment of the build tree.

Usage: cpu_test.py FOLDER TOOL LIBRARY. Exits 77 (skipped) where the packages it needs cannot be installed.
"""
import os
import pathlib
import subprocess
import sys

from environment import prepared

folder, tool, library = (pathlib.Path(argument) for argument in sys.argv[1:4])
root = pathlib.Path(__file__).resolve().parents[2]
python = prepared(folder, ["numpy", "ml_dtypes", "pytest", "mypy"])
environment = {**os.environ, "WARPWRIGHT_TOOL": str(tool), "WARPWRIGHT_LIBRARY": str(library),
               "PYTHONDONTWRITEBYTECODE": "1"}
suite = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(root / "python" / "tests")],
                       env=environment, cwd=root)
types = subprocess.run([python, "-m", "mypy", "--cache-dir", str(folder / "mypy"), "--no-error-summary"], cwd=root)
sys.exit(suite.returncode or types.returncode)
