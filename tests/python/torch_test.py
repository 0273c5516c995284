"""torch without a GPU: the Python suite with torch and transformers, the package's types with those of torch, the
programs of the pages. torch is large, so `test --full` runs this.

Usage: torch_test.py FOLDER TOOL LIBRARY. WARPWRIGHT_TORCH_PYTHON names an interpreter that has the packages; otherwise
they are installed into FOLDER. Exits 77 (skipped) where that is not possible.
"""
import os
import pathlib
import re
import subprocess
import sys

from environment import prepared

folder, tool, library = (pathlib.Path(argument) for argument in sys.argv[1:4])
root = pathlib.Path(__file__).resolve().parents[2]
given = os.environ.get("WARPWRIGHT_TORCH_PYTHON")
python = given or prepared(folder, ["torch", "transformers", "numpy", "ml_dtypes", "pytest", "mypy"])
environment = {**os.environ, "WARPWRIGHT_TOOL": str(tool), "WARPWRIGHT_LIBRARY": str(library), "HF_HUB_OFFLINE": "1",
               "PYTHONPATH": str(root / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
failures = []


def run(what, *arguments):
    done = subprocess.run([python, *arguments], env=environment, cwd=root, text=True, stdout=subprocess.PIPE)
    if done.returncode:
        print(done.stdout)
        failures.append(what)
    return done.stdout


def words_of(line):
    """As the test of the pages compares: without numbers and the width of columns."""
    return re.sub(r"\s+", " ", re.sub(r"\d[\d.,]*", "#", line)).strip()


tests = sorted(str(path) for path in (root / "python" / "tests").glob("test_*.py")
               if "importorskip" in path.read_text())
run("the suite", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--show-capture=no", *tests)
run("mypy", "-m", "mypy", "--cache-dir", str(pathlib.Path(folder).with_name("torch-mypy")), "--no-error-summary")



def shown_whole(name, page_name, *launcher):
    """A page shows the program whole, and what it prints."""
    program = root / "examples" / name
    page = (root / "docs" / page_name).read_text()
    if program.read_text().partition("\n")[2] not in page:
        failures.append(f"{name} is not shown whole in docs/{page_name}")
    shown = {words_of(line) for line in page.splitlines()}
    for line in run(name, "-B", *launcher, str(program)).splitlines():
        if words_of(line) not in shown:
            failures.append(f"docs/{page_name} does not show: {line}")


shown_whole("replace_linears/replace_linears.py", "replace-linears.md")
environment["OMP_NUM_THREADS"] = "1"  # of several processes
for ranks, name in ((2, "tensor_parallel.py"), (4, "expert_parallel.py")):
    shown_whole(name, "several-gpus.md", "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}")

# Programs of pages that need torch and no GPU.
count = 0
for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
    for block in re.findall(r"^```python\n(.*?)^```", path.read_text(), flags=re.M | re.S):
        if "torch" in block and '"cuda"' not in block:
            count += 1
            run(f"a program of {path.name}:\n{block}", "-B", "-c", block)
if count < 2:
    failures.append(f"only {count} programs of pages need torch and no GPU")
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
