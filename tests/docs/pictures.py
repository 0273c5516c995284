#!/usr/bin/python3
"""The pictures of the documentation: README.md as a reader sees it, and the timeline's page at 512^3 and 2048^3, light and
dark, and of a launch that was recorded on an H200.

As a test it makes them all in a folder of its own and looks at what they show: nothing of README.md is cut off, every
picture of it is there, the pages have bars, and the pictures in the repository have the same size. Fonts and browsers
differ, so no pixels are compared.

Usage: pictures.py TOOL [--write]   --write: into docs/images and docs/evidence, after a look at what changed
Exits 77 (skipped) where chromium, its driver, selenium or markdown-it is not installed.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
WRITE = "--write" in sys.argv
sys.argv = [a for a in sys.argv if a != "--write"]

from browser import TOOL, start  # noqa: E402, which ends the program where there is no browser
try:
    from markdown_it import MarkdownIt
except ImportError:
    print("markdown-it is not installed for this Python")
    sys.exit(77)
try:
    from PIL import Image
except ImportError:
    Image = None

TOOL = os.path.abspath(TOOL)
IMAGES, EVIDENCE = ROOT / "docs" / "images", ROOT / "docs" / "evidence"
SMALL = ["--m", "512", "--n", "512", "--k", "512", "--target", "sim:sm90", "--plan", "dense-128x256-c2-s4"]
LARGE = ["--m", "2048", "--n", "2048", "--k", "2048", "--target", "sim:sm90"]
# Picture, what is traced, the colours, the size of the window, and what is done on the page first.
PAGES = [
    (IMAGES / "timeline.png", SMALL, "light", (1500, 990), "show('0-1')"),
    (EVIDENCE / "timeline-512-dark.png", SMALL, "dark", (1500, 990), "show('0-1')"),
    (EVIDENCE / "timeline-2048.png", LARGE, "light", (1500, 990), ""),
    (IMAGES / "timeline-2048-dark.png", LARGE, "dark", (1500, 990), ""),
    (IMAGES / "timeline-measured.png", ["--recording", "gemm_sm90-512.record"], "light", (1500, 990), "show('0')"),
]
README = EVIDENCE / "readme.png"
# What GitHub does to a page, as far as a picture needs it.
STYLE = """
body { width: 830px; margin: 24px auto; font: 16px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; color: #1f2328; background: #fff }
h1, h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em }
table { border-collapse: collapse; width: 100% } td, th { border: 1px solid #d1d9e0; padding: 6px 13px; text-align: left }
tr:nth-child(2n) { background: #f6f8fa } img { max-width: 100% } a { color: #0969da }
pre { background: #f6f8fa; padding: 16px; border-radius: 6px; overflow: auto; line-height: 1.45 }
code { font: 13px "DejaVu Sans Mono", monospace; background: #eff1f3; padding: .2em .4em; border-radius: 6px }
pre code { background: none; padding: 0; font-size: 12.5px }
"""
SHOW = """
const show = (ctas) => { const box = document.getElementById('ctas'); box.value = ctas; box.onchange(); };
"""


def rendered(page):
    text = MarkdownIt("commonmark", {"html": True}).enable("table").render(page.read_text())
    return (f'<!doctype html><meta charset="utf-8"><title>{page.name}</title><base href="file://{page.parent}/">'
            f"<style>{STYLE}</style>{text}")


def save(browser, file):
    browser.save_screenshot(str(file))
    if Image:
        with_few_colours(Image.open(file).convert("RGB")).save(file, optimize=True)


def with_few_colours(picture):
    """The 256 colours that fill most of a picture are enough, and take a third of the bytes; others get the nearest."""
    every = [colour for _, colour in sorted(picture.getcolors(1 << 24), reverse=True)]
    kept = every[:256]
    place = {colour: i for i, colour in enumerate(kept)}
    for colour in every[256:]:
        place[colour] = min(range(256), key=lambda i: sum((a - b) ** 2 for a, b in zip(kept[i], colour)))
    small = Image.new("P", picture.size)
    small.putpalette([part for colour in kept for part in colour])
    small.putdata([place[colour] for colour in picture.getdata()])
    return small


def size_of(file):
    """Width and height from the head of a PNG."""
    head = file.read_bytes()[:24]
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def picture_of_readme(browser, folder, file):
    """What is wrong with the page as a reader sees it."""
    html = folder / "readme.html"
    html.write_text(rendered(ROOT / "README.md"))
    browser.set_window_size(900, 1000)
    browser.get(f"file://{html}")
    missing = browser.execute_script("return [...document.images].filter((i) => !i.naturalWidth).map((i) => i.src)")
    cut = browser.execute_script("return [...document.querySelectorAll('pre, table')].filter((e) => e.scrollWidth > e.clientWidth + 1)"
                                 ".map((e) => e.textContent.trim().slice(0, 60))")
    tall = browser.execute_script("return document.documentElement.scrollHeight")
    browser.set_window_size(900, tall + 150)  # with the frame of a window, which is not there
    save(browser, file)
    return [f"README.md: no picture {m}" for m in missing] + [f"README.md: a reader sees only a part of '{c}'" for c in cut]


def picture_of_page(browser, html, colours, size, script, file):
    """What is wrong with a timeline's page."""
    browser.set_window_size(*size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": colours}]})
    browser.get(f"file://{html}")
    browser.execute_script(SHOW + script)
    bars, ready = browser.execute_script("const d = timeline.drawn(); return [d.bars + d.slices, timeline.ready]")
    save(browser, file)
    print(f"{file.name}: {timeline_size(browser)} bars, {os.path.getsize(html) / 1e6:.1f} MB, ready after {ready:.0f} ms, "
          f"{os.path.getsize(file) // 1000} KB", flush=True)
    return [] if bars > 100 else [f"{file.name}: it shows {bars} bars"]


def timeline_size(browser):
    return browser.execute_script("return timeline.size()")


def main():
    failures, pages = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder, browser = pathlib.Path(name), start("--hide-scrollbars")
        try:
            for file, arguments, colours, size, script in PAGES:
                key = tuple(arguments)
                if key not in pages:
                    pages[key] = folder / f"page{len(pages)}.html"
                    subprocess.run([TOOL, "trace", *arguments, "--html", pages[key]], check=True, capture_output=True,
                                   cwd=EVIDENCE)
                made = file if WRITE else folder / file.name
                failures += picture_of_page(browser, pages[key], colours, size, script, made)
                if file.exists() and size_of(file) != size_of(made):
                    failures.append(f"{file.name}: it is {size_of(file)}, a new one is {size_of(made)}; make it with --write")
            made = README if WRITE else folder / README.name
            failures += picture_of_readme(browser, folder, made)
            for file in (README, *(file for file, *_ in PAGES)):
                if not file.exists():
                    failures.append(f"{file.relative_to(ROOT)} is missing; make it with --write")
        finally:
            browser.quit()
    for failure in failures:
        print("FAIL", failure)
    print(f"{len(PAGES) + 1} pictures, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
