#!/usr/bin/env python3
"""Draws the measured ratios of docs/evidence as SVG pictures, and prints the tables of docs/performance.md.

usage: plot_bench.py FOLDER    writes bench-dense.svg, bench-fp8.svg, bench-blockwise.svg and bench-random.svg into FOLDER
       plot_bench.py --tables  prints the tables

A dot is peer time over our time, to the right of 1 ours is faster; the bar through it is the interval of the rounds.
"""
import html
import json
import math
import pathlib
import sys

EVIDENCE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "evidence"
WIDTH, LEFT, RIGHT, TOP, ROW = 980, 190, 250, 74, 17
COLOURS = {"sustained": "#0969da", "cool": "#bc4c00"}
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"


def rows_of(name):
    document = json.loads((EVIDENCE / name).read_text())
    return document if isinstance(document, list) else document["rows"]


def by_shape(row):
    return row["m"], row["n"], row["k"]


def dense_rows():
    return sorted(rows_of("bench-dense-sustained.json") + rows_of("bench-dense-cool.json"), key=by_shape)


def fp8_rows():
    """The rows that count (sustained over 50 us, cool below), of the run that had the plan of the table."""
    rows = [r for r in rows_of("bench-fp8-torch.json") if r["counts"] and r["m"] != 4096]
    rows += [r for r in rows_of("bench-fp8-torch-first.json") if r["counts"] and r["m"] == 4096]
    return sorted(rows, key=by_shape)


def blockwise_rows():
    return sorted((r for r in rows_of("bench-deepgemm.json") if r["op"] == "blockwise"), key=by_shape)


def shape_text(row):
    return f"{row['m']} x {row['n']} x {row['k']}"


def geomean(rows):
    return math.exp(sum(math.log(r["ratio"]) for r in rows) / len(rows))


def picture(title, peer, rows):
    least, most = min(r.get("ratio_lo", r["ratio"]) for r in rows), max(r.get("ratio_hi", r["ratio"]) for r in rows)
    step = 0.1 if most - least < 1 else 0.2
    low, high = step * math.floor(min(0.9, least) / step), step * math.ceil(max(1.1, most) / step)
    span = WIDTH - LEFT - RIGHT
    height = TOP + ROW * len(rows) + 46
    at = lambda ratio: LEFT + span * (ratio - low) / (high - low)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           f'font-family="{FONT}" font-size="11" fill="#1f2328">',
           f"<title>{html.escape(title)}</title>",
           f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="16" fill="#ffffff" stroke="#d0d7de"/>',
           f'<text x="24" y="30" font-size="14" font-weight="bold">{html.escape(title)}</text>']
    legend = 24
    for mode, colour in COLOURS.items():
        part = [r for r in rows if r.get("mode", "sustained") == mode]
        if not part:
            continue
        text = f"{mode if 'mode' in part[0] else 'graph replay'}: {len(part)} rows, geometric mean {geomean(part):.2f}, " \
               f"least {min(r['ratio'] for r in part):.3f}"
        out.append(f'<circle cx="{legend + 5}" cy="47" r="4" fill="{colour}"/><text x="{legend + 14}" y="51">{text}</text>')
        legend += 400
    bottom = TOP + ROW * len(rows)
    for i in range(round((high - low) / step) + 1):
        ratio = low + i * step
        strong = abs(ratio - 1) < 1e-9
        out.append(f'<path d="M{at(ratio):.1f} {TOP - 6}V{bottom + 4}" stroke="{"#57606a" if strong else "#d8dee4"}"/>'
                   f'<text x="{at(ratio):.1f}" y="{bottom + 18}" text-anchor="middle">{ratio:.1f}</text>')
    out.append(f'<text x="{LEFT + span / 2:.1f}" y="{bottom + 35}" text-anchor="middle" fill="#57606a">'
               f"time of {html.escape(peer)} over ours</text>")
    out.append(f'<text x="{WIDTH - RIGHT + 100}" y="{TOP - 10}" text-anchor="end" fill="#57606a">ours us</text>'
               f'<text x="{WIDTH - 24}" y="{TOP - 10}" text-anchor="end" fill="#57606a">{html.escape(peer)} us</text>')
    for i, row in enumerate(rows):
        y = TOP + ROW * i + ROW / 2
        colour = COLOURS[row.get("mode", "sustained")]
        if i % 2 == 0:
            out.append(f'<rect x="16" y="{y - ROW / 2:.1f}" width="{WIDTH - 32}" height="{ROW}" fill="#f6f8fa" '
                       f'style="mix-blend-mode:multiply"/>')
        out.append(f'<text x="{LEFT - 14}" y="{y + 4:.1f}" text-anchor="end">{shape_text(row)}</text>')
        if "ratio_lo" in row:
            out.append(f'<path d="M{at(row["ratio_lo"]):.1f} {y:.1f}H{at(row["ratio_hi"]):.1f}" stroke="{colour}" '
                       f'stroke-width="2" opacity="0.5"/>')
        out.append(f'<circle cx="{at(row["ratio"]):.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
                   f'<text x="{WIDTH - RIGHT + 100}" y="{y + 4:.1f}" text-anchor="end">{row["us"]:.1f}</text>'
                   f'<text x="{WIDTH - 24}" y="{y + 4:.1f}" text-anchor="end">{row["peer_us"]:.1f}</text>')
    return "\n".join(out) + "\n</svg>\n"


def random_rows():
    return sorted(rows_of("bench-random-31001.json"), key=by_shape)


def is_addressable(row):
    """Whether the TMA can address the rows of all three matrices: multiples of 16 bytes."""
    return row["n"] % 8 == 0 and row["k"] % 8 == 0


def scatter(title, peer, rows):
    """Ratios over the rows of A, on logarithmic axes."""
    width, height, left, right, top, bottom = 980, 360, 80, 30, 78, 62
    kinds = [("rows that the TMA can address", "#0969da", [r for r in rows if is_addressable(r)]),
             ("other depths or widths", "#bc4c00", [r for r in rows if not is_addressable(r)])]
    low, high = min(0.5, min(r["ratio"] for r in rows)), max(2.0, max(r["ratio"] for r in rows))
    most = max(r["m"] for r in rows)
    across = lambda m: left + (width - left - right) * math.log(m) / math.log(most * 1.2)
    up = lambda ratio: height - bottom - (height - top - bottom) * math.log(ratio / low) / math.log(high / low)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           f'font-family="{FONT}" font-size="11" fill="#1f2328">',
           f"<title>{html.escape(title)}</title>",
           f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="16" fill="#ffffff" stroke="#d0d7de"/>',
           f'<text x="24" y="30" font-size="14" font-weight="bold">{html.escape(title)}</text>']
    for ratio in (r for r in (0.5, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0) if r <= high):
        out.append(f'<path d="M{left} {up(ratio):.1f}H{width - right}" stroke="{"#57606a" if ratio == 1 else "#d8dee4"}"/>'
                   f'<text x="{left - 8}" y="{up(ratio) + 4:.1f}" text-anchor="end">{ratio:.1f}</text>')
    for power in range(int(math.log2(most)) + 1):
        out.append(f'<text x="{across(2 ** power):.1f}" y="{height - bottom + 18}" text-anchor="middle">{2 ** power}</text>')
    out.append(f'<text x="{width / 2:.1f}" y="{height - 18}" text-anchor="middle" fill="#57606a">rows of A (m)</text>'
               f'<text x="20" y="{height / 2:.1f}" transform="rotate(-90 20 {height / 2:.1f})" text-anchor="middle" '
               f'fill="#57606a">time of {html.escape(peer)} over ours</text>')
    legend = 24
    for name, colour, part in kinds:
        text = f"{name}: {len(part)}, geometric mean {geomean(part):.2f}, least {min(r['ratio'] for r in part):.2f}"
        out.append(f'<circle cx="{legend + 5}" cy="47" r="4" fill="{colour}"/><text x="{legend + 14}" y="51">{text}</text>')
        legend += 460
        for row in part:
            out.append(f'<circle cx="{across(row["m"]):.1f}" cy="{up(row["ratio"]):.1f}" r="5" fill="{colour}" '
                       f'fill-opacity="0.75"><title>{shape_text(row)}: {row["ratio"]:.3f}</title></circle>')
    return "\n".join(out) + "\n</svg>\n"


def table(rows):
    lines = ["| m x n x k | mode | us | peer us | ratio | plan |", "|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {shape_text(r)} | {r['mode']} | {r['us']:.1f} | {r['peer_us']:.1f} | "
                     f"{r['ratio']:.3f} | `{r['plan']}` |")
    return "\n".join(lines)


def main():
    pictures = {
        "bench-dense.svg": ("Dense bf16 against cuBLASLt 13.1 on one H200", "cuBLASLt", dense_rows()),
        "bench-fp8.svg": ("Dense e4m3 against torch._scaled_mm on one H200", "torch", fp8_rows()),
        "bench-blockwise.svg": ("Blockwise e4m3 against DeepGEMM on one H200", "DeepGEMM", blockwise_rows()),
    }
    if sys.argv[1:] == ["--tables"]:
        for title, _, rows in pictures.values():
            print(f"{title}\n\n{table(rows)}\n")
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        folder = pathlib.Path(sys.argv[1])
        for name, (title, peer, rows) in pictures.items():
            (folder / name).write_text(picture(title, peer, rows))
        (folder / "bench-random.svg").write_text(
            scatter("Random bf16 products against cuBLASLt on one H200, by the library's choice", "cuBLASLt", random_rows()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
