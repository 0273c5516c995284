#!/usr/bin/env python3
"""The figures that the pages show, taken from docs/evidence: docs/figures.tsv and the numbers in the pages.

usage: figures.py          prints what differs from the evidence; exit 1 if anything does
       figures.py --write  writes the values of docs/figures.tsv anew, and the numbers in the pages

A line of docs/figures.tsv is a figure: its name, its value, the file in docs/evidence that it comes from, and phrases
of the pages that show it. In a phrase `#` stands for the number and `*` for anything else in a sentence or a cell;
wherever a page says such a phrase, the number must be the value. How a value is taken from its file is written below.
"""
import csv
import functools
import json
import math
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
EVIDENCE, TABLE = ROOT / "docs" / "evidence", ROOT / "docs" / "figures.tsv"
PAGES = [ROOT / "README.md", ROOT / "DESIGN.md", *sorted((ROOT / "docs").glob("*.md")), EVIDENCE / "README.md"]
NUMBER = r"(?<![\w.,])([-+]?\d+(?:,\d{3})*(?:\.\d+)?)(?!\w|[.,]\d)"


@functools.cache
def text(name):
    return (EVIDENCE / name).read_text()


@functools.cache
def document(name):
    return json.loads(text(name))


def passed(name):
    """The tests of a log; none if one of them failed."""
    if re.search(r"FAILED|# exit code [1-9]|\d+ failed", text(name)):
        return 0
    return sum(int(a or b) for a, b in re.findall(r"\[  PASSED  \] (\d+)|^(\d+) passed", text(name), flags=re.M))


def total(name, pattern):
    """The sum of what the pattern finds."""
    return sum(int(found) for found in re.findall(pattern, text(name), flags=re.M))


def ratios(*names, **wanted):
    return [row["ratio"] for name in names for row in document(name)["rows"]
            if all(row[key] == value for key, value in wanted.items())]


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def fp8_ratios():
    """The ratios of the run that had the plan of the table."""
    return [row["ratio"] for name in ("bench-fp8-torch.json", "bench-fp8-torch-first.json")
            for row in document(name)["rows"] if row["counts"] and (row["m"] == 4096) == ("first" in name)]


def sm80(mode):
    """The default order against the fastest peer: the rows have the ratio of the default's time to theirs."""
    rows = next(c["rows"] for c in document("sm80-sweep.json")["sittings"][-1]["comparisons"] if c["mode"] == mode)
    ours = next(row for row in rows if row["ratio_lo"] == row["ratio_hi"] == 1)
    peer = min((row for row in rows if row["name"].startswith("cutlass")), key=lambda row: row["us"])
    return ours, 1 / peer["ratio"]


def cycles_k(name, kernel):
    """Thousands of SM cycles at 4096^3 in a table of counters."""
    rows = csv.reader(line for line in text(name).splitlines() if not line.startswith("#"))
    return next(float(row[2]) for row in rows if row[0] == "4096x4096x4096" and row[1].startswith(kernel)) / 1e3


def seconds(pattern):
    """Of a new user's runs, in a bare system and in one with the packages."""
    return [float(found) for found in re.findall(pattern, text("fresh-user.txt"))]


CATALOGUE = {"instances": r"(\d+) instances", "clean": r"(\d+) clean", "rows": r"of (\d+) for a chip",
             "launched": r"chip (\d+) are launched", "launches": r"\((\d+) launches", "refused": r"(\d+) refused",
             "local memory": r"(\d+) with local", "registers": r"most (\d+) registers", "KiB": r"(\d+) KiB"}
CHIPS = ("sm_80 class", "sm_90", "sm_100 and sm_103", "gfx942 and gfx950")


def catalogue(chips, what):
    """From the sums of the table of all instances."""
    line = re.search(rf"^# {chips}: (.*)$", text("catalogue.tsv"), flags=re.M)[1]
    return int(re.search(CATALOGUE[what], line)[1])


def deepgemm(op, dtype="e4m3", **wanted):
    return ratios("bench-deepgemm.json", op=op, dtype=dtype, **wanted)


def three(value):
    return f"{value:.3f}"


def one(value):
    return f"{value:.1f}"


SUSTAINED, COOL, DEEPGEMM = "bench-dense-sustained.json", "bench-dense-cool.json", "bench-deepgemm.json"
TABLES, RANDOM = "gpu-tests-grouped_random.txt", "gpu-tests-random.txt"
VALUES = {
    "equal instances": lambda: len(re.findall(r"OK \] \S+equals_the_simulator", text("gpu-tests-examples.txt"))),
    "example tests": lambda: len(re.findall(r"^\[       OK \]", text("gpu-tests-examples.txt"), flags=re.M)),
    "api tests": lambda: passed("gpu-tests-api.txt"),
    "mma.sync tests": lambda: passed("gpu-tests-mma_sync.txt"),
    "torch tests": lambda: passed("gpu-tests-python.txt"),
    "record tests": lambda: passed("gpu-tests-record.txt"),
    "quantized matrices": lambda: total("gpu-tests-quantize.txt", r"^(\d+) random matrices"),
    "random products": lambda: total(RANDOM, r"^random products: (\d+) products"),
    "edge products": lambda: total(RANDOM, r"^edges of tiles: (\d+) products"),
    "dense launches": lambda: total(RANDOM, r"^(\d+) launches of"),
    "launched plans": lambda: total(RANDOM, r"^\d+ launches of (\d+) plans"),
    "random tables": lambda: total(TABLES, r"^random tables: (\d+) "),
    "grouped launches": lambda: total(TABLES, r"^(\d+) launches of"),
    "sanitized examples": lambda: len(re.findall(r"^\w+ +\d+ +\d+ +\d+ +\d+$", text("sanitizer.txt"), flags=re.M)),
    "sanitized grouped tests": lambda: total("sanitizer-grouped.txt", r"^memcheck +(\d+) tests passed"),
    "dense sustained rows": lambda: len(ratios(SUSTAINED)),
    "dense cool rows": lambda: len(ratios(COOL)),
    "dense rows": lambda: len(ratios(SUSTAINED, COOL)),
    "dense mean": lambda: three(mean(ratios(SUSTAINED, COOL))),
    "dense sustained mean": lambda: three(mean(ratios(SUSTAINED))),
    "dense sustained least": lambda: three(min(ratios(SUSTAINED))),
    "dense cool mean": lambda: three(mean(ratios(COOL))),
    "dense cool least": lambda: three(min(ratios(COOL))),
    "dense rows at 0.98": lambda: sum(ratio >= 0.98 for ratio in ratios(SUSTAINED, COOL)),
    "4096 cubed sustained": lambda: three(*ratios(SUSTAINED, m=4096, n=4096, k=4096)),
    "8192 cubed sustained": lambda: three(*ratios(SUSTAINED, m=8192, n=8192, k=8192)),
    "fp8 mean": lambda: f"{mean(fp8_ratios()):.2f}",
    "fp8 least": lambda: three(min(fp8_ratios())),
    "blockwise shapes": lambda: len(deepgemm("blockwise")),
    "blockwise mean": lambda: three(mean(deepgemm("blockwise"))),
    "blockwise least": lambda: three(min(deepgemm("blockwise"))),
    "blockwise one row": lambda: f"{mean(deepgemm('blockwise', m=1)):.2f}",
    "blockwise 128 rows": lambda: f"{mean(deepgemm('blockwise', m=128)):.2f}",
    "blockwise 4096 rows": lambda: f"{mean(deepgemm('blockwise', m=4096)):.2f}",
    "same choice": lambda: sum(row["chosen"] == row["plan"] for row in document(DEEPGEMM)["rows"]),
    "deepgemm rows": lambda: len(document(DEEPGEMM)["rows"]),
    "contiguous bf16": lambda: three(mean(deepgemm("grouped_contiguous", "bf16"))),
    "contiguous e4m3": lambda: three(mean(deepgemm("grouped_contiguous"))),
    "masked bf16": lambda: three(mean(deepgemm("grouped_masked", "bf16"))),
    "masked e4m3": lambda: three(mean(deepgemm("grouped_masked"))),
    "along k bf16": lambda: three(mean(deepgemm("grouped_k", "bf16"))),
    "along k e4m3": lambda: three(mean(deepgemm("grouped_k"))),
    "grouped least": lambda: three(min(row["ratio"] for row in document(DEEPGEMM)["rows"]
                                       if row["op"] in ("grouped_contiguous", "grouped_masked"))),
    "predicted rows": lambda: document("prediction.json")["summary"]["rows"],
    "predicted error": lambda: one(100 * document("prediction.json")["summary"]["median"]),
    "predicted within 10 %": lambda: document("prediction.json")["summary"]["within 10 %"],
    "predicted longest": lambda: round(max(row["us"] for row in document("prediction.json")["rows"])),
    "predicted cycles": lambda: one(next(
        row["cycles"] for row in document("prediction.json")["rows"]
        if row["plan"] == "dense-128x256-c2-s4" and row["m"] == row["n"] == row["k"] == 4096) / 1e3),
    "mma.sync sustained": lambda: three(sm80("sustained")[1]),
    "mma.sync cool": lambda: three(sm80("cool")[1]),
    "mma.sync TFLOP/s": lambda: round(sm80("sustained")[0]["tflops"]),
    "twin ratio": lambda: three(document("twin.json")["sizes"][0]["by_hand_over_shipped"]),
    "twin shipped instructions": lambda: str(document("twin.json")["instructions"]["shipped"]),
    "twin instructions by hand": lambda: str(document("twin.json")["instructions"]["by_hand"]),
    "twin cycles": lambda: one(document("twin.json")["executed"]["shipped"]["cycles_avg"] / 1e3),
    "earlier cycles": lambda: one(cycles_k("ncu.csv", "void warpwright")),
    "cuBLASLt cycles": lambda: one(cycles_k("ncu.csv", "nvjet")),
    "mutants caught": lambda: document("mutants.json")["caught"],
    "mutant entries": lambda: document("mutants.json")["entries"],
    "clean instances": lambda: int(text("check-catalogue.txt").rsplit("# ", 1)[1].split()[0]),
    "shared depth rows": lambda: int(re.search(r"^shared depth: (\d+) rows", text("sm100-split.txt"), flags=re.M)[1]),
    "shared depth near": lambda: int(re.search(r"^shared depth: \d+ rows, (\d+)", text("sm100-split.txt"), flags=re.M)[1]),
    "shared depth regret": lambda: re.search(r"geometric mean ([\d.]+)", text("sm100-split.txt"))[1],
    **{f"{chips} {what}": functools.partial(catalogue, chips, what) for chips in CHIPS for what in CATALOGUE},
    "foundation runs": lambda: document("check-200-seeds.json")["runs"],
    "Blackwell runs": lambda: document("check-200-seeds-sm100.json")["runs"],
    "demo in a bare system": lambda: round(seconds(r"demo: exit code 0, [\d.]+ s, ([\d.]+) s of processor")[-1]),
    "demo of 0.1 in a bare system": lambda: round(seconds(r"demo: exit code 0, [\d.]+ s, ([\d.]+) s of processor")[0]),
    "demo again": lambda: one(seconds(r"again: [\d.]+ s, ([\d.]+) s of processor")[-1]),
    "pip install": lambda: round(seconds(r"installation: exit code 0, ([\d.]+) s")[0]),
}


def shown(value):
    return value if isinstance(value, str) else f"{value:,}"


def read_table():
    """(name, value, file, phrases) of every line."""
    lines = [line.split("\t") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return [(name, value, file, phrases) for name, value, file, *phrases in lines]


def pattern(phrase):
    out = ""
    for part in re.split(r"([#*]|\s+)", phrase):
        out += NUMBER if part == "#" else r"[^|\n]*?" if part == "*" else r"\s+" if part.isspace() else re.escape(part)
    return re.compile(out)


def numbers(phrase, words):
    """(line, begin, end, number) of every place where the words say the phrase."""
    return [(words.count("\n", 0, found.start(1)) + 1, *found.span(1), found[1])
            for found in pattern(phrase).finditer(words)]


def differences(write=False):
    """Sentences about the table and the pages that are not as the evidence has it."""
    table, pages = read_table(), {page: page.read_text() for page in PAGES}
    names, found, lines = [name for name, *_ in table], [], []
    found += [f"docs/figures.tsv: {name} has no rule in tools/figures.py" for name in names if name not in VALUES]
    found += [f"docs/figures.tsv lacks {name}" for name in VALUES if name not in names]
    for name, value, file, phrases in table:
        if not (EVIDENCE / file).exists():
            found.append(f"docs/figures.tsv: {name} comes from {file}, which is not in docs/evidence")
            continue
        right = shown(VALUES[name]()) if name in VALUES else value
        if value != right:
            found.append(f"docs/figures.tsv: {name} is {right} in {file}, not {value}")
        for phrase in phrases:
            if not any(numbers(phrase, words) for words in pages.values()):
                found.append(f"docs/figures.tsv: no page says '{phrase}'")
            for page, words in pages.items():
                for line, begin, end, number in reversed(numbers(phrase, words)):
                    if number != right:
                        found.append(f"{page.relative_to(ROOT)}:{line}: {name} is {right}, not {number}")
                        pages[page] = pages[page][:begin] + right + pages[page][end:]
        lines.append("\t".join((name, right, file, *phrases)))
    if write:
        comments = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
        TABLE.write_text("\n".join(comments + lines) + "\n")
        for page, words in pages.items():
            page.write_text(words)
    return found


def main():
    if sys.argv[1:] not in ([], ["--write"]):
        sys.exit(__doc__)
    found = differences(write=bool(sys.argv[1:]))
    for sentence in found:
        print(sentence)
    return 1 if found and not sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
