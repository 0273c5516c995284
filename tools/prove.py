#!/usr/bin/env python3
"""Proves that no path of a program breaks the rules of linear handles.

usage: prove.py [--compiler CXX] [--kernel] [--library PATTERN] SOURCE [compiler flags ...]

Compiles SOURCE with -DWW_LINEAR_MODE=1, in which every rule is a check that calls an undefined function, with the
optimizer on. A check that was deleted is unreachable, which is the proof. Each one that survived is printed with the
line of the program that can reach it, found by climbing the chain of inlined calls out of the library's headers.

--kernel adds the flags for a whole kernel, as the catalogue writes it. A .cu file is compiled with nvcc (from PATH, CUDA_HOME or CUDA_PATH), any other with g++; --compiler takes a name or a
path of nvcc, g++ or clang++. Nothing is linked and the output is thrown away: never ship this build.

exit status: 0 proven, 1 violations, 2 could not compile
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PREFIX = "warpwright_linear_"
SENTENCES = {
    "not_released": "a handle left its scope without release()",
    "released_twice": "release() was called twice on one handle",
    "used_after_release": "a handle was used after its release()",
    "overwritten_while_live": "a handle was overwritten before its release()",
}
# A whole kernel is proven when all of it is one function. g++ compiles it for the simulator, whose words are calls into
# a library: without exceptions they cannot leave a scope early, and with these limits nothing is left out of line
# because it is large. Warnings are as always; no check is turned off. nvcc inlines device code anyway.
KERNEL_FLAGS = {
    "gcc": ["-x", "c++", "-fno-exceptions"] + [part for name, value in (
        ("max-inline-insns-single", 10**6), ("max-inline-insns-auto", 10**6), ("early-inlining-insns", 10**6),
        ("max-early-inliner-iterations", 20), ("large-function-insns", 10**7), ("large-function-growth", 10**5),
        ("large-unit-insns", 10**7), ("inline-unit-growth", 10**5), ("large-stack-frame", 10**6),
        ("large-stack-frame-growth", 10**5)) for part in ("--param", f"{name}={value}")],
    "nvcc": ["--expt-relaxed-constexpr"],
    "clang": ["-x", "c++", "-fno-exceptions"],
}
# The rooms whose lines are not the user's: a violation is reported at the first frame outside of them.
LIBRARY = (r"warpwright/(core|machine|pipeline|warp)/",)


@dataclass(frozen=True)
class Frame:
    file: str
    line: int
    column: int

    def __str__(self):
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Violation:
    rule: str
    function: str
    frames: tuple  # innermost first

    def user_frame(self, library=LIBRARY):
        """The innermost frame outside the library; the outermost one where everything is the library's."""
        own = (f for f in self.frames if not any(re.search(p, f.file) for p in library))
        return next(own, self.frames[-1])


class CompileError(Exception):
    pass


def find_nvcc(name="nvcc"):
    found = shutil.which(name)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if not found and variable in os.environ:
            found = shutil.which(name, path=os.path.join(os.environ[variable], "bin"))
    return found


def family(compiler):
    name = Path(compiler).name
    return "nvcc" if name.startswith("nvcc") else "clang" if "clang" in name else "gcc"


def run(command):
    environment = dict(os.environ, LC_ALL="C")
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)


def from_ptx(text):
    """Violations in PTX that was made with -lineinfo."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', text, re.M))
    token = re.compile(
        r"^\s*(?:\.\w+\s+)*\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(?P<head>[\w$]+)"
        r"|^\s*\.loc\s+(?P<loc>\d+\s+\d+\s+\d+)(?:,\s*function_name\s+[^,]+,\s*inlined_at\s+(?P<at>\d+\s+\d+\s+\d+))?"
        r"|\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?" + PREFIX + r"(?P<rule>\w+)", re.M)
    function, here, outer = "", None, {}
    for m in token.finditer(text):
        if m["head"]:
            function, here, outer = m["head"], None, {}
        elif m["loc"]:
            # An inlined_at names a location that an earlier .loc of this function described: the latest one counts.
            here = tuple(m["loc"].split())
            outer[here] = tuple(m["at"].split()) if m["at"] else None
        else:
            chain, at = [], here
            while at and at not in chain:
                chain.append(at)
                at = outer.get(at)
            frames = [Frame(files.get(f, "?"), int(line), int(column)) for f, line, column in chain]
            yield Violation(m["rule"], function, tuple(frames) or (Frame("?", 0, 0),))


def from_gcc(text):
    """Violations in what g++ prints about calls of functions that have the error attribute."""
    inlined, function = [], ""
    for line in text.splitlines():
        if m := re.search(r"\bIn (?:.*?)function '(.+)'[,:]", line):
            inlined, function = [], m[1]
        elif m := re.match(r"\s+inlined from '(.+)' at (.+?):(\d+):(\d+)[,:]", line):
            function = m[1]
            inlined.append(Frame(m[2], int(m[3]), int(m[4])))
        elif m := re.match(r"(.+?):(\d+):(\d+): (?:fatal )?error: (.*)", line):
            call = re.search(r"call to '[\w:]*" + PREFIX + r"(\w+)' declared with attribute error", m[4])
            if not call:
                raise CompileError(text)
            yield Violation(call[1], function, (Frame(m[1], int(m[2]), int(m[3])), *inlined))


def from_llvm(text):
    """Violations in LLVM IR that was made with line tables."""
    nodes = dict(re.findall(r"^(![0-9]+) = (?:distinct )?(!DI\w+\(.*\))$", text, re.M))

    def value(node, key):
        m = re.search(rf'\b{key}: ("[^"]*"|[!\w.]+)', nodes.get(node, ""))
        return m[1].strip('"') if m else None

    def frame(location):
        scope = value(location, "scope")
        while scope and not value(scope, "file"):
            scope = value(scope, "scope")
        file = value(scope, "file") if scope else None
        name = os.path.join(value(file, "directory") or "", value(file, "filename") or "?") if file else "?"
        return Frame(name, int(value(location, "line") or 0), int(value(location, "column") or 0))

    function = ""
    for line in text.splitlines():
        if m := re.match(r'define .*?@"?([\w$.]+)"?\(', line):
            function = m[1]
        elif m := re.search(r"\b(?:call|invoke) .*@" + PREFIX + r"(\w+)\(", line):
            location = re.search(r"!dbg (![0-9]+)", line)
            frames, at = [], location and location[1]
            while at:
                frames.append(frame(at))
                at = value(at, "inlinedAt")
            yield Violation(m[1], function, tuple(frames) or (Frame("?", 0, 0),))


def prove(source, compiler, flags):
    """The list of violations in SOURCE; raises CompileError where it cannot be compiled."""
    base = [compiler, "-std=c++20", "-DWW_LINEAR_MODE=1"]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "proof"
        kind = family(compiler)
        if kind == "nvcc":
            if not any(re.match(r"-(arch|gencode)|--(gpu-architecture|generate-code)", f) for f in flags):
                flags = ["-gencode", "arch=compute_90a,code=sm_90a", *flags]
            # -rdc: the undefined functions are meant to be somewhere else.
            command = [*base, "-ptx", "-lineinfo", "-rdc=true", *flags, "-o", str(output), str(source)]
        elif kind == "clang":
            command = [*base, "-O2", "-gline-tables-only", "-S", "-emit-llvm", *flags, "-o", str(output), str(source)]
        else:
            # Without folding of identical functions, which would forget where their calls came from.
            command = [*base, "-O2", "-fno-ipa-icf", "-c", "-fdiagnostics-plain-output", *flags, "-o", str(output),
                       str(source)]
        done = run(command)
        if kind == "gcc":
            found = list(from_gcc(done.stderr))
            if done.returncode and not found:
                raise CompileError(done.stderr)
        elif done.returncode:
            raise CompileError(done.stderr + done.stdout)
        else:
            found = (from_ptx if kind == "nvcc" else from_llvm)(output.read_text(errors="replace"))
        return list(dict.fromkeys(found))


def describe(violation, library):
    user = violation.user_frame(library)
    lines = [f"{user}: error: linear: {SENTENCES.get(violation.rule, violation.rule)}, in {violation.function}"]
    position = violation.frames.index(user)
    lines += [f"    called from {frame}" for frame in violation.frames[position + 1:]]
    lines += [f"    by way of {frame}" for frame in reversed(violation.frames[:position])]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0],
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", help="nvcc, g++ or clang++, by name or path")
    parser.add_argument("--kernel", action="store_true", help="SOURCE is a whole kernel of the catalogue")
    parser.add_argument("--library", action="append", default=[], metavar="PATTERN",
                        help="regular expression of further files whose lines are not the user's")
    parser.add_argument("source")
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    compiler = options.compiler or ("nvcc" if options.source.endswith(".cu") else "g++")
    path = find_nvcc(compiler) if family(compiler) == "nvcc" else shutil.which(compiler)
    if not path:
        print(f"prove: {compiler} was not found", file=sys.stderr)
        return 2
    try:
        more = KERNEL_FLAGS[family(path)] if options.kernel else []
        violations = prove(options.source, path, [*more, *options.flags])
    except CompileError as error:
        print(f"{error}prove: {options.source} could not be compiled", file=sys.stderr)
        return 2
    for violation in violations:
        print(describe(violation, (*LIBRARY, *options.library)))
    count = len(violations)
    print(f"prove: {options.source}: " + (f"{count} violation{'s' if count > 1 else ''}" if count else "proven"))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
