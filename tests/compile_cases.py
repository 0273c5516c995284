"""Programs that must compile, and programs that must be refused with a certain sentence."""
import argparse
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77


def compiler_of(description):
    return options_of(description).compiler


def options_of(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--only", action="append", default=[], help="a case by its name; several times for several")
    return parser.parse_args()


def run_cases(compiler, programs, flags=("-fsyntax-only",), suffix=".cpp"):
    """Of (name, text, sentence); no sentence: it compiles. Returns the exit code of the test."""
    passed = failed = 0
    only = options_of("").only
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / f"case{suffix}"
        for name, text, want in programs:
            if only and name not in only:
                continue
            source.write_text(text)
            try:
                run = subprocess.run([compiler, "-std=c++20", *flags, f"-I{ROOT / 'include'}", str(source)],
                                     capture_output=True, text=True, check=False)
            except FileNotFoundError:
                print(f"{compiler} is not installed")
                return SKIPPED
            good = run.returncode == 0 if want is None else run.returncode != 0 and want in run.stderr
            print(f"{'ok  ' if good else 'FAIL'} {name}" + ("" if good else f"\n{run.stderr[:800]}"))
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
