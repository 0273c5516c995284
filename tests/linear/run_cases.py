#!/usr/bin/env python3
"""Compiles every case of cases.py and checks that the compiler accepts or refuses it, and with which sentence.

usage: run_cases.py --compiler CXX [--prove] [--cuda] [--cuda-path DIR] [--only REGEX] [-I DIR ...]

Correct programs are compiled together with all warnings as errors. Wrong ones are compiled without any warning flag, so
that the headers alone must refuse them, and the first error must be the expected one. --prove adds the proving pass
over the correct programs and over the wrong ones that it can refuse. --cuda, with clang, runs the cases as device code.

exit status: 0 all passed, 1 some failed, 77 the compiler is not here
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools")]

import prove  # noqa: E402
from cases import CASES, NVCC, Case  # noqa: E402

SKIPPED = 77
INCLUDES = ["-I", str(ROOT / "include"), "-I", str(HERE)]
NVCC_FLAGS = ["-std=c++20", "--expt-relaxed-constexpr", "-gencode", "arch=compute_90a,code=sm_90a"]
# The frames that belong to the test's own pipe, not to the case.
LIBRARY = (*prove.LIBRARY, r"case_base\.h$")


def program(cases):
    """Each case is a function in a file of its own name, so that every message can be attributed."""
    text = '#include "case_base.h"\n'
    for case in cases:
        text += (f'#line 1 "case_{case.name}"\nKERNEL void case_{case.name}(int* out, int c) '
                 f"{{ Pipe pipe; (void)pipe; (void)out; (void)c;\n{case.code}\n}}\n")
    return text


class Suite:
    def __init__(self, compiler, family, extra, folder):
        self.compiler, self.family, self.extra, self.folder = compiler, family, extra, Path(folder)
        self.passed = self.failed = 0

    def report(self, case, stage, problem, remark=""):
        if problem:
            self.failed += 1
        else:
            self.passed += 1
        print(f"{'FAIL' if problem else 'ok  '} {case.name:5} {stage:6} {case.title}"
              + (f": {problem}" if problem else f": {remark}" if remark else ""), flush=True)

    def write(self, cases):
        source = self.folder / ("case.cu" if self.family == NVCC else "case.cpp")
        source.write_text(program(cases))
        return str(source)

    def compile(self, cases, flags):
        return self.compile_file(self.write(cases), flags)

    def compile_file(self, source, flags):
        output = [] if "-fsyntax-only" in flags else ["-o", str(self.folder / "case.o")]
        command = [self.compiler, *flags, *self.extra, *INCLUDES, *output, source]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              env=dict(os.environ, LC_ALL="C"))
        return done.returncode, done.stderr + done.stdout

    def positive_flags(self):
        if self.family == NVCC:
            return [*NVCC_FLAGS, "-Werror", "all-warnings", "-c"]
        return ["-std=c++20", "-Wall", "-Wextra", "-Werror", *self.front_end_only()]

    def front_end_only(self):
        # g++ looks for a missing return only when it compiles for good.
        return ["-fsyntax-only"] if self.family == "clang" else ["-c"]

    def accept(self, cases):
        code, log = self.compile(cases, self.positive_flags())
        for case in cases:
            problem = ""
            if code:  # together they failed: find out which
                code_alone, log = self.compile([case], self.positive_flags())
                problem = code_alone and "must compile, but: " + first_error(log)
            self.report(case, "types", problem)

    def refuse(self, cases):
        if self.family == NVCC:
            logs = self.errors_by_case(cases)
        for case in cases:
            if self.family == NVCC:
                log = logs.get(case.name, "")
                refused = bool(log)
            else:
                code, log = self.compile([case], ["-std=c++20", *self.front_end_only()])
                refused = code != 0
            expected, error = case.sentence(self.family), first_error(log)
            if not refused:
                self.report(case, "types", "must not compile, but does")
            elif not re.search(expected, "\n".join(errors(log)) if expected.startswith("(?s)") else error):
                self.report(case, "types", f"refused for another reason: {error}")
            else:
                self.report(case, "types", "", error)

    def lint(self, source):
        """A whole kernel file, as the consumed analysis of clang sees it in CUDA mode."""
        code, log = self.compile_file(str(source), self.positive_flags())
        self.report(Case("L", source.name, ""), "types", code and "must compile, but: " + first_error(log))

    def errors_by_case(self, cases):
        """nvcc goes on after an error, so all cases share one compilation; each message names the case it is about."""
        _, log = self.compile(cases, [*NVCC_FLAGS, "-ptx"])
        logs = {}
        for block in re.split(r"^(?=\S.*?\(\d+\): (?:error|warning|catastrophic))", log, flags=re.M):
            if not re.match(r".*?\(\d+\): (?:error|catastrophic)", block):
                continue
            names = set(re.findall(r"\bcase_(\w+)\b", re.sub(r"case_base", "", block)))
            if len(names) != 1:
                self.failed += 1
                print(f"FAIL an error that belongs to no single case: {block.strip()}")
            for name in names:
                logs[name] = logs.get(name, "") + block
        return logs

    def prove(self, cases):
        flags = [*self.extra, *INCLUDES] + (["--expt-relaxed-constexpr"] if self.family == NVCC else [])
        try:
            violations = prove.prove(self.write(cases), self.compiler, flags)
        except prove.CompileError as error:
            self.failed += 1
            print(f"FAIL the proving pass does not compile: {error}")
            return
        for case in cases:
            found = [v for v in violations if re.search(rf"\bcase_{case.name}\b", v.function)]
            frames = [v.user_frame(LIBRARY) for v in found if v.rule == case.rule]
            placed = [f for f in frames if Path(f.file).name == f"case_{case.name}"]
            rules = ", ".join(sorted({v.rule for v in found})) or "nothing"
            if not case.rule:
                self.report(case, "proof", found and f"must be proven, but {rules} is reported")
            elif not placed:
                self.report(case, "proof", f"must be {case.rule} at a line of the case, but {rules} is reported")
            else:
                self.report(case, "proof", "", f"linear: {prove.SENTENCES[case.rule]}")


def errors(log):
    return re.findall(r"error[^:\n]*: (.*)", log)


def first_error(log):
    return next(iter(errors(log)), "no error message")


def cuda_folder(given):
    if given:
        return given
    nvcc = prove.find_nvcc()
    return str(Path(nvcc).resolve().parents[1]) if nvcc else None


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0],
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True, help="g++, clang++-22 or nvcc, by name or path")
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--cuda", action="store_true", help="clang only: compile the cases as device code")
    parser.add_argument("--cuda-path", help="CUDA toolkit for --cuda; otherwise that of nvcc")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose whole name matches")
    parser.add_argument("-I", dest="includes", action="append", default=[])
    options = parser.parse_args()

    family = prove.family(options.compiler)
    compiler = prove.find_nvcc(options.compiler) if family == NVCC else shutil.which(options.compiler)
    if not compiler:
        print(f"skipped: {options.compiler} was not found")
        return SKIPPED
    extra = [flag for folder in options.includes for flag in ("-I", folder)]
    if options.cuda:
        toolkit = cuda_folder(options.cuda_path)
        if not toolkit:
            print("skipped: no CUDA toolkit was found")
            return SKIPPED
        extra += ["-x", "cuda", f"--cuda-path={toolkit}", "--cuda-gpu-arch=sm_90a", "--cuda-device-only",
                  "-Wno-unknown-cuda-version"]

    chosen = [case for case in CASES if not options.only or re.fullmatch(options.only, case.name)]
    good = [case for case in chosen if case.accepted_by(family)]
    bad = [case for case in chosen if case.sentence(family)]
    # A case that is a type error has nothing to prove. In device code nvcc's types refuse more of them than g++'s.
    provable = [case for case in chosen
                if not (case.first or case.rule) or case.rule and (family != NVCC or NVCC in case.proof)]
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(compiler, family, extra, folder)
        suite.accept(good)
        suite.refuse(bad)
        if options.cuda and not options.only:
            suite.lint(HERE / "sass_ring_typed.cu")
        if options.prove and provable:
            suite.prove(provable)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
