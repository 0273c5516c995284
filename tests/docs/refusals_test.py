"""docs/refusals.md has every sentence with which a problem, a plan or a configuration is refused, under the heading that
explains it, and no sentence that nothing says.

Usage: refusals_test.py [--print]   --print: the sentences of the sources
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "refusals.md"
# Where problems and plans are refused: "argument = value: rule." And where configurations are: "kernel: rule".
PROBLEMS = [*(ROOT / "src" / "problem").glob("*.*"), *(ROOT / "src" / "api").glob("*.*"), *(ROOT / "src" / "choice").glob("*.*"),
            *(ROOT / "src" / "launch").glob("*.*"), ROOT / "src" / "catalog" / "instance.cpp"]
HEADERS = ROOT / "include" / "warpwright"
CONFIGURATIONS = [*(HEADERS / "kernel").rglob("config.h"), HEADERS / "epilogue" / "config.h",
                  HEADERS / "core" / "block_scaling.h"]


def literals(text):
    """String literals, those that follow each other joined."""
    text = re.sub(r"^\s*(//|#).*$|\s//\s.*$", "", text, flags=re.M)
    text = re.sub(r'"\s*\n\s*"', "", text)
    return re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)


def sentences():
    found = {}
    for paths, pattern in ((PROBLEMS, r"([^:]{1,60}: |it )\S.*\.|the host has no memory.*"),
                           (CONFIGURATIONS, r"[a-z_0-9]+( [a-z]+)?: \S.*")):
        for path in sorted(paths):
            for literal in literals(path.read_text()):
                if re.fullmatch(pattern, literal) and len(literal) > 12:
                    found.setdefault(literal, path.relative_to(ROOT).as_posix())
    return found


def shown(page):
    """{sentence: heading}"""
    found, heading = {}, ""
    for line in page.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif entry := re.fullmatch(r"- `` ?(.*?) ?``|- `(.*)`", line):
            found[entry[1] or entry[2]] = heading
    return found


def main(arguments):
    said = sentences()
    if arguments == ["--print"]:
        print("\n".join(said))
        return 0
    page = shown(PAGE.read_text())
    failures = [f"{where}: '{sentence}' has no entry in docs/refusals.md" for sentence, where in said.items()
                if sentence not in page]
    failures += [f"docs/refusals.md: nothing says '{sentence}'" for sentence in page if sentence not in said]
    lines = PAGE.read_text().splitlines()
    failures += [f"docs/refusals.md: '{line}' stands twice" for line in sorted(set(lines))
                 if line.startswith(("- `", "## ")) and lines.count(line) > 1]
    for failure in failures:
        print("FAIL", failure)
    print(f"{len(said)} sentences, {len(set(page.values()))} headings, {len(failures)} failures")
    return 1 if failures or len(said) < 200 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
