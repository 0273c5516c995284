#!/usr/bin/env python3
"""Says which files use a name of the standard library without including its header.

Another compiler, or the next release of the same one, has other includes inside its own headers, and such a file then
no longer compiles. A header counts when the file includes it, or when the header of the same name beside it does.
A braced list in a range-for or in std::max({..}) needs <initializer_list> though nobody names it.

Headers that NVRTC compiles say stdx:: and take everything from warpwright/core/std.h.
tools/std_names.txt is the table of names.
"""
import argparse
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("src", "include", "tests", "bench", "examples")
# Compiled for a device only, by compilers that bring their own headers.
DEVICE_ONLY = ("include/warpwright/machine/cuda/", "include/warpwright/machine/amdgcn/", "tests/amd/kernels/")
# Compiled by NVRTC too, which has no standard library.
KERNEL_ROOMS = tuple(f"include/warpwright/{room}/" for room in
                     ("core", "machine", "pipeline", "tile", "warp", "epilogue", "kernel", "schedule"))
STDX = "include/warpwright/core/std.h"
# The C library's names that are written without std:: as well; others are too often names of something else.
BARE = set("""memcpy memmove memset memcmp strlen strcmp strncmp strerror printf fprintf snprintf puts fputs fopen fclose
  fread fwrite fflush malloc calloc getenv strtol strtoll strtoul strtoull strtod abort
  size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t intptr_t""".split())
BRACED = re.compile(r"\bfor\s*\((?:[^;{}]*;)?[^;(){}]*[^:;]:\s*(\{)|\bauto\s+\w+\s*=\s*(\{)"
                    r"|\b(?:std|stdx)::(?:ranges::)?(?:max|min|minmax)\s*\(\s*(\{)")
QUALIFIED = re.compile(r"(?<![\w:])(?:::)?std::(?:(ranges)::)?(\w+)")
EXTENDED = re.compile(r"(?<![\w:])stdx::(\w+)")
WORD = re.compile(r"(?<![\w.])(?<!->)(?<!::)[A-Za-z_]\w*")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.M)
# Comments, then string and character literals; an apostrophe inside a number is none of them.
NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"([^\s()\\]{0,16})\(.*?\)\1"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r'|"(?:\\.|[^"\\\n])*"', re.S)


class Table:
    """tools/std_names.txt: for each name and macro its headers, and what a header brings along."""

    def __init__(self, path):
        self.names, self.macros, self.implies = {}, {}, {}
        for line in path.read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            head, _, rest = line.partition(" ")
            if rest.startswith("implies "):
                self.implies[head] = set(rest.split()[1:])
                continue
            names = self.macros if head.endswith("!") else self.names
            for word in rest.split():
                names.setdefault(word, []).append(head[:-1])
        self.headers = {h for hs in [*self.names.values(), *self.macros.values()] for h in hs}

    def closure(self, headers):
        """The C headers count as their C++ twins: <stdint.h> is <cstdint>."""
        found = {f"c{h[:-2]}" if h.endswith(".h") and f"c{h[:-2]}" in self.headers else h for h in headers}
        return found.union(*(self.implies.get(h, set()) for h in found))


def code_of(text):
    """The text with comments and literals blanked, every line where it was."""
    def blank(match):
        return "".join(c if c == "\n" else " " for c in match.group())
    return NOT_CODE.sub(blank, text)


@functools.cache
def includes_of(path):
    """The angled and the quoted includes of a file."""
    found = INCLUDE.findall(path.read_text())
    return {name for kind, name in found if kind == "<"}, [name for kind, name in found if kind == '"']


def resolve(path, name):
    for folder in (path.parent, ROOT / "src", ROOT / "include", ROOT / "tests"):
        if (folder / name).is_file():
            return (folder / name).resolve()
    return None


@functools.cache
def reaches_stdx(path):
    """Whether the file gets warpwright::uint32_t and its like from core/std.h, by our own includes only."""
    seen, open_ = set(), [path]
    while open_:
        current = open_.pop()
        if current in seen:
            continue
        seen.add(current)
        if current == ROOT / STDX:
            return True
        open_ += filter(None, (resolve(current, name) for name in includes_of(current)[1]))
    return False


def own_header(path):
    """foo.h for foo.cpp and foo_test.cpp, where the file includes it first."""
    quoted = includes_of(path)[1]
    if path.suffix != ".cpp" or not quoted:
        return None
    first = resolve(path, quoted[0])
    return first if first and first.stem in (path.stem, path.stem.removesuffix("_test")) else None


def check(path, table):
    """(line, what is used, the headers that would do) for each header that the file lacks."""
    relative = path.relative_to(ROOT).as_posix()
    code = code_of(path.read_text())
    # The names in #include <...> are not code.
    code = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", code, flags=re.M)
    in_kernel = relative.startswith(KERNEL_ROOMS)
    present = set(includes_of(path)[0])
    own = own_header(path)
    if own:
        present |= includes_of(own)[0]
    stdx = reaches_stdx(path)
    ours = set(re.findall(r"using std::(\w+);", (ROOT / STDX).read_text())) if stdx else set()
    provided = table.closure(includes_of(ROOT / STDX)[0])
    present = table.closure(present)
    findings = {}

    def need(position, what, headers):
        if headers and not present.intersection(headers):
            line = code.count("\n", 0, position) + 1
            findings.setdefault(headers[0], (line, what, headers))

    for match in QUALIFIED.finditer(code):
        ranges, name = match.groups()
        if name == "ranges":
            continue
        headers = table.names.get(name)
        if headers is None:
            line = code.count("\n", 0, match.start()) + 1
            findings.setdefault(match.group(), (line, match.group(), []))
            continue
        # In a kernel room the host compiler takes these from core/std.h as well.
        if in_kernel and stdx and provided.intersection(headers):
            continue
        need(match.start(), f"std::{'ranges::' if ranges else ''}{name}", headers)
    if stdx:
        for match in EXTENDED.finditer(code):
            headers = table.names.get(match.group(1), ["a header of its own"])
            if not provided.intersection(headers):
                need(match.start(), match.group(), headers)
    for match in WORD.finditer(code):
        name = match.group()
        if name in table.macros:
            if in_kernel and stdx and provided.intersection(table.macros[name]):
                continue
            need(match.start(), name, table.macros[name])
        elif name in BARE and name not in ours and not (stdx and in_kernel):
            need(match.start(), name, table.names[name])
    for match in BRACED.finditer(code):
        if not (in_kernel and stdx):
            need(match.start(match.lastindex), "a braced list", ["initializer_list"])
    # <vector>, once it is there, stands for <initializer_list>.
    for first, (_, _, headers) in list(findings.items()):
        if table.closure(findings.keys() - {first}).intersection(headers):
            del findings[first]
    return sorted(findings.values(), key=lambda finding: finding[0])


def is_cpp_header(line):
    """<vector>, or <nlohmann/json.hpp>: the group that clang-format sorts together, after <unistd.h>."""
    match = re.match(r"#include <([^>]+)>", line)
    return match is not None and not match.group(1).endswith(".h")


def insert(path, headers):
    """Puts the includes where clang-format would: after the own header and C headers, sorted."""
    lines = path.read_text().split("\n")
    new = sorted(f"#include <{h}>" for h in headers)
    # The first group of C++ headers that no #if surrounds.
    depth, group, others = 0, [], []
    for i, line in enumerate(lines):
        depth += bool(re.match(r"\s*#\s*if", line)) - bool(re.match(r"\s*#\s*endif", line))
        if depth == 0 and line.startswith("#include"):
            others.append(i)
            if is_cpp_header(line) and (not group or i == group[-1] + 1):
                group.append(i)
    if group:
        merged = sorted({re.match(r"#include <[^>]+>", x).group(): x for x in [*new, *(lines[i] for i in group)]}.values())
        lines[group[0]:group[-1] + 1] = merged
    else:
        c_headers = [i for i in others if lines[i].startswith("#include <")]
        own = own_header(path)
        if c_headers:
            at = c_headers[-1] + 1
        elif own and others:
            at = others[0] + 1
        elif others:
            lines[others[0]:others[0]] = [*new, ""]
            path.write_text("\n".join(lines))
            return
        else:
            at = next((i for i, x in enumerate(lines) if x == "#pragma once"), None)
            if at is None:
                at = next(i for i, x in enumerate(lines) if not x.startswith("//")) - 1
            at += 1
        block = new if lines[at - 1] == "#pragma once" else ["", *new]
        lines[at:at] = [*block, ""] if at < len(lines) and lines[at] else block
    path.write_text("\n".join(lines))


def select(paths):
    """The files that are host code."""
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (".cpp", ".h") and name.startswith(tuple(f"{f}/" for f in FOLDERS)) \
                and not name.startswith(DEVICE_ONLY):
            yield path


def sentence(what, headers):
    if not headers:
        return f"{what} is not in tools/std_names.txt; add it to the line of its header"
    choice = f" (or {', '.join(f'<{h}>' for h in headers[1:4])})" if headers[1:] else ""
    return f"{what} needs #include <{headers[0]}>{choice}"


def files_below(arguments):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *FOLDERS], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split()
    wanted = [pathlib.Path(a).resolve() for a in arguments]
    for path in select(ROOT / name for name in sorted(listed)):
        if path.is_file() and (not wanted or any(path == w or w in path.parents for w in wanted)):
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files and folders; everything without them")
    parser.add_argument("--fix", action="store_true", help="put the missing includes in")
    arguments = parser.parse_args()
    table = Table(ROOT / "tools" / "std_names.txt")
    count = 0
    for path in files_below(arguments.paths):
        relative = path.relative_to(ROOT).as_posix()
        missing = []
        for line, what, headers in check(path, table):
            count += 1
            missing += headers[:1]
            if not (arguments.fix and headers):
                print(f"{relative}:{line}: {sentence(what, headers)}")
        if arguments.fix and missing:
            insert(path, missing)
            print(f"{relative}: {' '.join(f'<{h}>' for h in missing)}")
    return 1 if count and not arguments.fix else 0


if __name__ == "__main__":
    sys.exit(main())
