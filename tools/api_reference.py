#!/usr/bin/env python3
"""Writes docs/api/: the public names of the headers with their comments, a page for each subject.

  tools/api_reference.py            write the pages
  tools/api_reference.py --check    say what is not up to date, and which public names have no comment
"""
import pathlib
import re
import sys
import textwrap

import header_reader

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ROOT / "include" / "warpwright"
PAGES = ROOT / "docs" / "api"

# Page, title, what it is for, headers.
SUBJECTS = [
    ("gemm", "Dense products", "One product D = epilogue(alpha A B^T + beta C) from C++.", ["gemm.h", "status.h"]),
    ("grouped", "Products by groups and with blockwise scales", "Mixtures of experts, and FP8 with factors for blocks.",
     ["grouped.h", "tile/group_mode.h", "tile/group_table.h"]),
    ("moe", "A layer of experts", "Routing, both products and the sum of a mixture-of-experts layer in one call.", ["moe.h"]),
    ("quantize", "Quantization", "Matrices to narrow elements with scale factors.", ["quantize.h", "core/block_scaling.h"]),
    ("words", "Types and other words", "Element types, layouts, activations: the words that problems are made of.",
     ["core/dtype.h", "core/layout.h", "epilogue/config.h"]),
    ("c", "The C interface", "The same from C, and from languages that call C.", ["c_api.h"]),
    ("check", "Your own kernel under the checker", "Registering a kernel, its arrays and its expected results.",
     ["check.h", "check_gpu.h"]),
    ("launch", "Launching and recording", "Your own kernel from your own host code, with or without timestamps.",
     ["launch.h", "record_launch.h", "record_fetch.h", "record_file.h"]),
    ("simulator", "The simulator", "Running a kernel on the CPU from a program of your own.",
     ["sim/simulator.h", "sim/addresses.h"]),
    ("plan", "The block plan and addresses", "Roles, regions and barriers of a block; typed addresses.",
     ["core/block_plan.h", "core/address.h", "core/tensor_box.h"]),
    ("linear", "Linear handles", "What must be handed back exactly once.",
     ["core/linear.h", "core/linear_overlap.h", "core/linear_owned.h"]),
    ("rings", "Rings", "Producers, consumers and what handing a stage on means.",
     ["pipeline/ring.h", "pipeline/handoff.h", "pipeline/position.h", "pipeline/producer_consumer.h", "pipeline/init.h",
      "pipeline/bulk_store.h", "pipeline/warp_group_barrier.h"]),
    ("tiles-in-flight", "Input and output tile pipelines", "The rings of Blackwell kernels, and tensor memory.",
     ["pipeline/input_tile.h", "pipeline/payload.h", "pipeline/output_tile.h", "pipeline/output_config.h",
      "pipeline/output_stage.h", "pipeline/output_per_k.h", "pipeline/tmem_allocation.h"]),
    ("warp", "Warps and their roles", "Who owns tensor memory, which warp does what, ranks and peers.",
     ["warp/mma_warp.h", "warp/epilogue_warp.h", "warp/output_warp.h", "warp/warp_types.h", "warp/warp_role.h",
      "warp/kernel_context.h"]),
    ("tile", "Which tile next", "Rasters, shares of the depth, persistent walks, cluster launch control.",
     ["tile/config.h", "tile/raster.h", "tile/paired_raster.h", "tile/split.h", "tile/source.h", "tile/persistent.h",
      "tile/clc.h"]),
    ("group-tiles", "Which tile of which group", "Walks over the tiles of groups.",
     ["tile/groups.h", "tile/group_scheduler.h", "tile/grouped_raster.h", "tile/group_faults.h"]),
    ("schedule", "Schedules", "Software pipelines: declare, compile, prove, draw.",
     ["schedule/registry.h", "schedule/access.h", "schedule/cost.h", "schedule/body.h", "schedule/target.h",
      "schedule/pipeline.h", "schedule/block.h", "schedule/program.h", "schedule/proof.h", "schedule/timeline.h",
      "schedule/timeline_svg.h"]),
    ("convert", "Conversion of values", "Packing, rounding and unpacking of narrow elements.",
     ["tile/convert.h", "tile/convert_fp4.h"]),
]


class Entry:
    """Declarations that share a comment."""

    def __init__(self, declaration):
        self.declarations = [declaration]

    @property
    def names(self):
        return list(dict.fromkeys(name for d in self.declarations for name in d.names))

    @property
    def comment(self):
        return self.declarations[0].comment or ([self.declarations[0].trailing] if self.declarations[0].trailing else [])

    def takes(self, other, reader):
        """Whether the next one stands below without a blank line and a comment of its own, or is an overload."""
        last = self.declarations[-1]
        if set(other.names) & set(last.names) and other.kind == last.kind:
            return True
        between = reader.text[last.end:other.begin]
        directly = not re.search(r"\n\s*\n", between) and "#" not in between
        return directly and not other.comment and "type" not in (other.kind, last.kind)


def entries_of(header):
    reader = header_reader.Reader((HEADERS / header).read_text())
    found = []
    # Macros are part of the C interface only; what the others define is for the headers themselves.
    macros = reader.macros() if header == "c_api.h" else []
    for declaration in sorted([*reader.declarations(), *macros], key=lambda d: d.begin):
        if found and found[-1].takes(declaration, reader):
            found[-1].declarations.append(declaration)
        else:
            found.append(Entry(declaration))
    return reader.file_comment(), found


def prose(lines):
    """A comment as Markdown: lines that are set in are code or lists, the rest are paragraphs."""
    out, paragraph, code = [], [], []

    def flush():
        if paragraph:
            out.append(" ".join(paragraph))
            paragraph.clear()
        if code:
            out.append("```cpp\n" + "\n".join(line[2:] for line in code) + "\n```")
            code.clear()

    for line in [*lines, ""]:
        if line.startswith("  ") and line.strip():
            if paragraph:
                flush()
            code.append(line)
        elif line.strip() == "":
            flush()
        else:
            if code:
                flush()
            paragraph.append(escaped(line.strip()))
    return "\n\n".join(out)


def escaped(text):
    """The text with what Markdown would take for marks escaped, outside of backticks."""
    parts = text.split("`")
    marks = r"([*<>\[\]#|\\]|(?<!\w)_|_(?!\w))"  # Markdown leaves an underscore inside of a word alone
    return "`".join(part if i % 2 else re.sub(marks, r"\\\1", part) for i, part in enumerate(parts))


def tables():
    """{table of core/words.h: (comment, [(name, NAME, value, word)])}"""
    text = (HEADERS / "core" / "words.h").read_text()
    rows = r'X\((\w+), (\w+), (\d+), "(\w+)"\)'
    return {found[1]: re.findall(rows, found[2])
            for found in re.finditer(r"^#define (WW_\w+)\(X\)((?:[^\n]*\\\n)*[^\n]*)", text, flags=re.M)}


def spelt_out(text, words, prefixes):
    """An enumeration that a table makes, with its values."""
    if found := re.fullmatch(r"WW_WORDS\((\w+), (\w+), (\w+)\)", text):
        values = ", ".join(f"{name} = {value}" for name, _, value, _ in words[found[3]])
        return f"enum class {found[1]} : uint8_t {{ {values} }};\n" \
               f"inline constexpr {found[1]} {found[2]}[];  // all of them\n" \
               f"constexpr const char* name({found[1]} value);"
    if found := re.search(r"\{ (\w+)\((WW_C_\w+)\) \}", text):
        values = ", ".join(f"{prefixes[found[2]]}{name} = {value}" for _, name, value, _ in words[found[1]])
        return text.replace(found[0], "{ " + values + " }")
    return text


def code_of(entry, words, prefixes):
    texts = []
    for i, d in enumerate(entry.declarations):
        text = spelt_out(d.text.strip(), words, prefixes)
        if i and d.comment:
            text = "\n".join("// " + line for line in d.comment) + "\n" + text
        if d.trailing and not (i == 0 and not d.comment):
            text += "  // " + d.trailing
        if i and d.kind == "type":
            text = "\n" + text
        texts.append(text)
    return "\n".join(texts)


def wrapped(code):
    """With the lists of enumerations broken into lines."""
    return "\n".join("\n".join(textwrap.wrap(line, 118, subsequent_indent="    ", break_on_hyphens=False))
                     if len(line) > 120 and " = " in line and "{" in line else line for line in code.splitlines())


def anchor(seen, name):
    base = re.sub(r"[^\w-]", "", name) or "operator"
    seen[base] = seen.get(base, 0) + 1
    return base if seen[base] == 1 else f"{base}-{seen[base]}"


def build():
    """({page: text}, names without a comment)"""
    subjects, where, words = [], {}, tables()
    covered = {header for _, _, _, headers in SUBJECTS for header in headers}
    missing = [f"{name} is on no page: add it to SUBJECTS" for name in sorted(
        path.relative_to(HEADERS).as_posix() for folder in ("", "pipeline", "tile", "warp")
        for path in (HEADERS / folder).glob("*.h")) if name not in covered]
    prefixes = dict(re.findall(r"#define (WW_C_\w+)\([^)]*\) (\w+?)##NAME", (HEADERS / "c_api.h").read_text()))
    for page, title, purpose, headers in SUBJECTS:
        seen, parts = {}, []
        for header in headers:
            comment, entries = entries_of(header)
            if not comment:
                missing.append(f"{header} does not say what it is for")
            listed = []
            for entry in entries:
                if not entry.comment:
                    d = entry.declarations[0]
                    missing.append(f"{header}:{d.line}: {', '.join(entry.names)} has no comment")
                anchors = [anchor(seen, name) for name in entry.names]
                for name, place in zip(entry.names, anchors, strict=True):
                    where.setdefault(name, []).append((page, place))
                listed.append((entry, anchors))
            parts.append((header, comment, listed))
        subjects.append((page, title, purpose, parts))
    made = "This page is made from the comments of the headers by `tools/api_reference.py`; edit those."
    pages = {}
    for page, title, purpose, parts in subjects:
        out = [f"# {title}", f"{purpose} {made}"]
        for header, comment, listed in parts:
            out.append(f"## {header}")
            out.append(f"[`#include <warpwright/{header}>`](../../include/warpwright/{header})")
            out.append(prose(comment))
            for entry, anchors in listed:
                marks = "".join(f'<a id="{a}"></a>' for a in anchors)
                out.append(f"### {marks}{', '.join(f'`{name}`' for name in entry.names)}")
                if entry.comment:
                    out.append(prose(entry.comment))
                code = wrapped(code_of(entry, words, prefixes))
                out.append(f"```{'c' if header == 'c_api.h' else 'cpp'}\n{code}\n```")
                found = re.findall(r"(?:\b(\w+)::)?\b([A-Za-z_]\w+)\b", re.sub(r"//.*|/\*.*?\*/", "", code))
                used = dict.fromkeys((space, w) for space, w in found if w in where and w not in entry.names and
                                     (w[0].isupper() and not w.isupper() or w.startswith("ww_")))
                links = dict.fromkeys(link(where[w], page, space, w) for space, w in used)
                if links:
                    out.append("Uses " + ", ".join(links) + ".")
        pages[f"{page}.md"] = "\n\n".join(part for part in out if part) + "\n"
    rows = [f"| [{page}.md]({page}.md) | {purpose} |" for page, _, purpose, _ in subjects]
    names = [f"[`{name}`]({page}.md#{place})" for name in sorted(where, key=lambda n: (n.lower(), n))
             for page, place in where[name]]
    pages["README.md"] = "\n".join([
        "# API reference", "",
        f"{made} A test compares the pages with the headers, and fails where a public name has no comment. The words of "
        "the machine are in [vocabulary.md](../vocabulary.md), Python is in [python.md](../python.md).", "",
        "| page | what |", "|---|---|", *rows, "", "## All names", "", " · ".join(names)]) + "\n"
    return pages, missing


def link(places, page, space, name):
    """To the page of its namespace, to this page, or to the first that has the name."""
    named = [p for p in places if p[0] == space] or [p for p in places if p[0] == page]
    target, place = (named or places)[0]
    return f"[`{name}`]({'' if target == page else target + '.md'}#{place})"


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    pages, missing = build()
    wrong = list(missing)
    if arguments:
        there = {path.name for path in PAGES.glob("*.md")}
        wrong += [f"docs/api/{name} is not made from any header" for name in sorted(there - pages.keys())]
        for name, text in pages.items():
            if name not in there or (PAGES / name).read_text() != text:
                wrong.append(f"docs/api/{name} is not what the headers say; run tools/api_reference.py")
    else:
        PAGES.mkdir(exist_ok=True)
        for name, text in pages.items():
            (PAGES / name).write_text(text)
    for line in wrong:
        print(line)
    names = pages["README.md"].count("](") - len(SUBJECTS) - 2
    print(f"{len(pages)} pages, {names} names, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
