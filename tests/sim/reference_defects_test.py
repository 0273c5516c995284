#!/usr/bin/env python3
"""What docs/reference-defects.md and docs/reference-methods.md claim is so: every test, compile case and mutant that
they name is run, and what they say about the shape of the kernels is looked up in them.

usage: reference_defects_test.py FOLDER_OF_TEST_PROGRAMS [--compiler C++]

A proof in the tables is `file` `what`: a test of a *_test.cpp, a case of a *_cases.py, a mutant ("M57") of
tests/mutants, a claim below of this file, or, of methods only, a text that the compiler of a *_test.cpp checks."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# `file` `test or text`
PROOF = re.compile(r"`([^`]+/[^`]+\.[a-z]+)` `([^`]+)`")
LONGEST = 500
KERNELS = sorted((ROOT / "include/warpwright/kernel").rglob("*.h"))
BLACKWELL = [k for k in KERNELS if "sm100" in k.parts]
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def rows(name):
    """The cells of each row of each table, without heads and rules."""
    for line in (ROOT / "docs" / name).read_text().splitlines():
        if line.startswith("|") and not re.match(r"\|[\s:|-]+$", line):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def calls(text, name):
    """The arguments of each call of a member function in a source."""
    for match in re.finditer(rf"\.{name}\(", text):
        depth, at = 1, match.end()
        while depth > 0 and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield text[match.end():at - 1]


# What no test of a program can show. Each function names what is wrong, or nothing.
def no_kernel_file_is_longer_than_500_lines():
    return [k.name for k in KERNELS if len(k.read_text().splitlines()) > LONGEST]


def no_kernel_reads_a_clock():
    return [k.name for k in KERNELS if re.search(r"\b(clock_cycles|global_timer_ns)\b", k.read_text())]


def one_loop_over_accumulators_on_blackwell():
    loops = [k.name for k in BLACKWELL if re.search(r"\bEpilogueWarp(Context)?<", k.read_text())]
    return [] if loops == ["epilogue_loop.h"] else loops


def counts_of_barriers_are_derived():
    """A count, and who arrives how often, is 0, 1 or an expression without a number of warps or threads in it."""
    wrong = []
    for source in [*BLACKWELL, *sorted((ROOT / "include/warpwright/warp").glob("*.h")),
                   *sorted((ROOT / "include/warpwright/pipeline").glob("*.h")),
                   *sorted((ROOT / "include/warpwright/tile").glob("*.h"))]:
        text = re.sub(r"//[^\n]*|\[\d+\]", "", source.read_text())
        for name in ("barrier", "named_barrier", "role"):
            for arguments in calls(text, name):
                if arguments.startswith('"') and re.search(r"(?<![\w.\"])(?!0\b|1\b)\d+\b", arguments):
                    wrong.append(f"{source.name}: {name}({arguments})")
    return wrong


def every_wait_for_a_barrier_has_the_hint():
    """The one wait of the machine takes a hint unless it is told otherwise, and no kernel or ring tells it."""
    words = (ROOT / "include/warpwright/machine/cuda/mbarrier.h").read_text()
    waits = re.findall(r"template <([^>]*)>\s*WW_FN void mbarrier_wait\(", words)
    wrong = [] if waits and all(re.search(r"Suspend \w+ = Suspend::hint", w) for w in waits) else ["mbarrier.h"]
    rooms = [*KERNELS, *(ROOT / "include/warpwright/pipeline").glob("*.h"), *(ROOT / "include/warpwright/tile").glob("*.h")]
    return wrong + [f.name for f in rooms if "Suspend::" in f.read_text()]


CLAIMS = [no_kernel_file_is_longer_than_500_lines, no_kernel_reads_a_clock, one_loop_over_accumulators_on_blackwell,
          counts_of_barriers_are_derived, every_wait_for_a_barrier_has_the_hint]


class Proofs:
    """What was named, collected so that each program runs once."""

    def __init__(self):
        self.tests, self.cases, self.claims = {}, {}, {}

    def add(self, where, file, text):
        path = ROOT / file
        if not path.is_file():
            check(False, f"{where}: there is no {file}")
            return
        test = re.fullmatch(r"(\w+)\.(\w+)", text)
        if test and path.name.endswith("_test.cpp"):
            program = f"test_{path.parent.name}_{path.name.removesuffix('_test.cpp')}"
            self.tests.setdefault(program, {}).setdefault((test[1], test[2]), []).append(where)
        elif path.name == "prove_kernels.py":
            # Leaks planted in kernels have tests of their own (linear.leaks*).
            check(f'"{text}"' in path.read_text(), f"{where}: {file} plants no {text}")
        elif path.name.endswith("_cases.py"):
            self.cases.setdefault(path, {}).setdefault(text, []).append(where)
        elif path.parent.name == "mutants" and re.fullmatch(r'"M[\w.]+"', text):
            mutant = text.strip('"').replace(".", "_")
            self.tests.setdefault("test_mutants_corpus", {}).setdefault(("Corpus", mutant), []).append(where)
        elif path == pathlib.Path(__file__).resolve():
            self.claims.setdefault(text.replace(" ", "_"), []).append(where)
        else:
            # A text in a test program: it was compiled, so a static_assert in it holds.
            check(path.name.endswith("_test.cpp") and "tests" in path.parts and
                  re.sub(r"\s+", " ", text) in re.sub(r"\s+", " ", path.read_text()), f"{where}: {file} has no {text}")

    def run(self, programs, compiler):
        for program, tests in sorted(self.tests.items()):
            self.run_program(programs / program, tests)
        for script, names in sorted(self.cases.items()):
            self.run_cases(script, names, compiler)
        known = {claim.__name__: claim for claim in CLAIMS}
        for name, wheres in self.claims.items():
            if name not in known:
                check(False, f"{wheres[0]}: there is no claim {name}")
                continue
            wrong = known[name]()
            check(not wrong, f"{wheres[0]}: {name.replace('_', ' ')}: {wrong}")

    @staticmethod
    def run_program(path, tests):
        if not path.is_file():
            check(False, f"{path.name} was not built")
            return
        listed, suite = [], ""
        for line in subprocess.run([path, "--gtest_list_tests"], capture_output=True, text=True).stdout.splitlines():
            if not line.startswith(" "):
                suite = line.split("#")[0].strip()
            else:
                listed.append(suite + line.split("#")[0].strip())
        wanted = []
        for (suite, name), wheres in tests.items():
            # All tests of a suite with parameters; in the corpus the one mutant.
            pattern = rf"(\w+/)?{suite}\.({name}|{name}/\w+|\w+/{name})"
            found = [test for test in listed if re.fullmatch(pattern, test)]
            check(found, f"{wheres[0]}: {path.name} has no {suite}.{name}")
            wanted += found
        done = subprocess.run([path, f"--gtest_filter={':'.join(wanted)}"], capture_output=True, text=True)
        passed = set(re.findall(r"\[       OK \] ([\w./]+)", done.stdout))
        for (suite, name), wheres in tests.items():
            missed = [t for t in wanted if re.search(rf"\b{suite}\b.*\b{name}\b", t) and t not in passed]
            check(not missed, f"{wheres[0]}: {path.name} {missed} did not pass")

    @staticmethod
    def run_cases(script, names, compiler):
        only = [part for name in names for part in ("--only", name)]
        done = subprocess.run([sys.executable, "-B", script, "--compiler", compiler, *only], capture_output=True,
                              text=True)
        for name, wheres in names.items():
            check(f"ok   {name}\n" in done.stdout, f"{wheres[0]}: {script.name} {name}: {done.stdout}{done.stderr}")


def collect(proofs, where, cell):
    named = PROOF.findall(cell)
    check(named, f"{where}: names no proof")
    check(len(named) == len([part for part in cell.split("; ") if part]), f"{where}: a proof is not `file` `test`")
    for file, text in named:
        proofs.add(where, file, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--compiler", default="g++")
    options = parser.parse_args()
    proofs, numbers, methods = Proofs(), [], 0
    for cells in rows("reference-defects.md"):
        if cells[0].isdigit():
            numbers.append(int(cells[0]))
            check(len(cells) == 4 and all(cells), f"defect {cells[0]}: four cells, none empty")
            collect(proofs, f"defect {cells[0]}", cells[-1])
    check(numbers == list(range(1, 34)), f"the defects are not numbered 1 to 33: {numbers}")
    for cells in rows("reference-methods.md"):
        if cells[-1] == "where" or cells[0].startswith("**"):
            continue
        methods += 1
        collect(proofs, f"method {cells[0]}", cells[-1])
    check(methods > 30, f"only {methods} methods")
    proofs.run(options.programs, options.compiler)
    for failure in failures:
        print(failure)
    tests = sum(len(t) for t in proofs.tests.values())
    cases = sum(len(c) for c in proofs.cases.values())
    print(f"{len(numbers)} defects, {methods} methods: {tests} tests, {cases} compile cases and {len(proofs.claims)} "
          f"claims run, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
