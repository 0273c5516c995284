#!/usr/bin/env python3
"""Draws a timeline file of `./warpwright trace --perfetto FILE` (or demo) as an SVG picture.

usage: timeline_svg.py TIMELINE.json PICTURE.svg [--cta N] [--from US] [--to US]
"""
import argparse
import html
import json

COLOURS = {"load": "#4c78a8", "mma": "#f58518", "store": "#54a24b", "compute": "#f58518", "epilogue": "#54a24b", "scheduler": "#b279a2",
           "TMA": "#72b7b2", "TMA store": "#9ecae9", "tensor core": "#e45756"}
WIDTH, LEFT, ROW = 1180, 190, 20


def colour(track):
    for name, value in sorted(COLOURS.items(), key=lambda item: -len(item[0])):
        if name in track:
            return value
    return "#bab0ac"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("timeline")
    parser.add_argument("picture")
    parser.add_argument("--cta", type=int, default=0)
    parser.add_argument("--from", dest="begin", type=float)
    parser.add_argument("--to", dest="end", type=float)
    options = parser.parse_args()
    with open(options.timeline, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    order = {(e["pid"], e["tid"]): e["args"]["sort_index"] for e in events if e.get("name") == "thread_sort_index"}
    pids = sorted(p for p, name in processes.items() if name.lower().startswith("cta"))
    pid = pids[options.cta]
    spans = [e for e in events if e.get("ph") == "X" and e["pid"] == pid]
    begin = options.begin if options.begin is not None else min(e["ts"] for e in spans)
    end = options.end if options.end is not None else max(e["ts"] + e["dur"] for e in spans)
    rows = sorted({(pid, e["tid"]) for e in spans}, key=lambda key: order.get(key, key[1]))
    scale = (WIDTH - LEFT - 10) / (end - begin)
    height = ROW * len(rows) + 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for i, key in enumerate(rows):
        y = 10 + ROW * i
        track = tracks.get(key, str(key[1]))
        out.append(f'<text x="8" y="{y + 13}">{html.escape(track)}</text>')
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y + ROW - 2}" y2="{y + ROW - 2}" stroke="#eee"/>')
        for e in spans:
            if e["tid"] != key[1] or e["ts"] + e["dur"] < begin or e["ts"] > end:
                continue
            x0, x1 = max(e["ts"], begin), min(e["ts"] + e["dur"], end)
            waits = "wait" in e.get("cat", "") or e["name"].startswith("wait")
            fill = "#f2f2f2" if waits else colour(track)
            out.append(f'<rect x="{LEFT + (x0 - begin) * scale:.1f}" y="{y}" width="{max((x1 - x0) * scale, 0.6):.1f}" height="{ROW - 5}" '
                       f'fill="{fill}" stroke="{"#ccc" if waits else "none"}" stroke-width="0.4"><title>{html.escape(e["name"])}</title></rect>')
    y = 10 + ROW * len(rows) + 12
    steps = 8
    for i in range(steps + 1):
        t = begin + (end - begin) * i / steps
        out.append(f'<text x="{LEFT + (t - begin) * scale:.0f}" y="{y}" text-anchor="{"start" if i == 0 else "end" if i == steps else "middle"}">{t:.1f} us</text>')
    out.append(f'<text x="{LEFT}" y="{y + 22}">{html.escape(processes[pid])}: coloured = working, grey = waiting (simulated time)</text></svg>')
    with open(options.picture, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
