"""The rooms of DESIGN.md hold: every #include "..." of src/ and include/ is one that the table allows, rooms do not
include each other in a circle, no folder is crowded, and instances of kernels are lines of a catalogue, not files.

Usage: rooms_test.py [--print]   --print: what each room includes now, as rows of the table
"""
import pathlib
import re
import sys
import tempfile

SUFFIXES = (".h", ".cpp", ".cu", ".cuh", ".hip", ".c", ".def", ".inc")
MOST_FILES = 40
# A device source this short only names an instance of a kernel.
STUB_LINES = 12
COMPILED = (".cubin", ".fatbin", ".ptx", ".o", ".co", ".so", ".a")

# What broke a rule when the rule was made. These lists only get shorter.
KNOWN_INCLUDES = set()
KNOWN_CROWDED = set()


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_table(page):
    """{room: what it may include} from the table of DESIGN.md whose head has the columns "room" and "may include"."""
    lines = page.read_text().splitlines()
    table, columns = {}, None
    for line in lines:
        if not line.startswith("|"):
            if table:
                break
            columns = None
        elif columns is None:
            head = cells(line)
            columns = (head.index("room"), head.index("may include")) if {"room", "may include"} <= set(head) else ()
        elif columns and not set(line) <= set("|-: "):
            row = cells(line)
            room, allowed = row[columns[0]], row[columns[1]]
            names = re.fullmatch(r"`([\w/]+)`", room)
            wanted = re.findall(r"`([\w/]+)`", allowed)
            if not names or (allowed != "-" and ", ".join(f"`{w}`" for w in wanted) != allowed):
                sys.exit(f"FAIL DESIGN.md: this row is not `room` | ... | `room`, `room` or -: {line}")
            table[names[1]] = set(wanted)
    return table


class House:
    def __init__(self, root):
        self.root = root
        self.table = read_table(root / "DESIGN.md")
        self.failures = []
        self.found = {}

    def fail(self, sentence):
        self.failures.append(sentence)

    def room(self, path):
        """The row that a file belongs to: the longest folder that the table names."""
        folder = path.relative_to(self.root).parent
        while folder.as_posix() not in self.table and folder != folder.parent:
            folder = folder.parent
        return folder.as_posix() if folder.as_posix() in self.table else None

    def resolve(self, path, name):
        for folder in (path.parent, self.root / "src", self.root / "include", self.root / "tests"):
            if (folder / name).is_file():
                return (folder / name).resolve()
        return None

    def check_folders(self, files):
        """Every folder directly below src/ and include/warpwright/ is a room; every room is a folder."""
        for path in files:
            parts = path.relative_to(self.root).parts
            depth = 3 if parts[0] == "include" else 2
            if len(parts) > depth and "/".join(parts[:depth]) not in self.table:
                self.fail(f"{'/'.join(parts[:depth])}/ is not in the table of rooms in DESIGN.md")
        for room, allowed in self.table.items():
            if not (self.root / room).is_dir():
                self.fail(f"DESIGN.md: the room {room} does not exist")
            for other in allowed - self.table.keys():
                self.fail(f"DESIGN.md: {room} may include {other}, which is not a row of the table")

    def check_includes(self, files):
        for path in files:
            room = self.room(path)
            if room is None or path.suffix not in SUFFIXES:
                continue
            self.found.setdefault(room, set())
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
                target = match and self.resolve(path, match[1])
                # What is made by the build, or written into a string, is in no room.
                if not target:
                    continue
                other = self.room(target)
                self.found[room].add(other)
                if other == room or other in self.table[room] or (room, other) in KNOWN_INCLUDES:
                    continue
                where = other or target.relative_to(self.root).parent.as_posix()
                self.fail(f"{path.relative_to(self.root)}:{number}: {room} must not include {where} (\"{match[1]}\"); "
                          f"the row of {room} in DESIGN.md does not name it")

    def check_circles(self):
        """The table itself must be free of circles: then no includes that it allows can make one."""
        done, path = set(), []

        def visit(room):
            if room in path:
                circle = [*path[path.index(room):], room]
                self.fail(f"DESIGN.md: rooms include each other in a circle: {' -> '.join(circle)}")
            elif room not in done:
                path.append(room)
                for other in sorted(self.table.get(room, ())):
                    visit(other)
                path.pop()
                done.add(room)

        for room in sorted(self.table):
            visit(room)

    def check_sizes(self, files):
        count = {}
        for path in files:
            folder = path.relative_to(self.root).parent.as_posix()
            count[folder] = count.get(folder, 0) + 1
            name = path.relative_to(self.root)
            if path.suffix in COMPILED:
                self.fail(f"{name} is compiled code, which the build makes")
            elif path.suffix in (".cu", ".hip") and folder.startswith("src/") \
                    and len(path.read_text().splitlines()) < STUB_LINES:
                self.fail(f"{name} only names an instance of a kernel; instances are lines of the catalogue")
        for folder, files_in_it in sorted(count.items()):
            if files_in_it > MOST_FILES and folder not in KNOWN_CROWDED:
                self.fail(f"{folder}/ has {files_in_it} files, more than {MOST_FILES}: split the room")

    def check(self):
        if len(self.table) < 2:
            self.fail("DESIGN.md has no table with the columns 'room' and 'may include'")
            return
        files = sorted(p for top in ("src", "include") for p in (self.root / top).rglob("*")
                       if p.is_file() and "__pycache__" not in p.parts)
        self.check_folders(files)
        self.check_includes(files)
        self.check_circles()
        self.check_sizes(files)


# A small house in which everything is wrong, and a word of each report.
PLANTED = {
    "DESIGN.md": "| room | may include |\n|---|---|\n| `src/a` | `src/b` |\n| `src/b` | `src/a` |\n| `src/c` | - |\n"
                 "| `src/gone` | - |\n| `include/warpwright` | - |\n",
    "src/a/one.h": "#include \"b/two.h\"\n",
    "src/b/two.h": "#include \"a/one.h\"\n",
    "src/c/three.cpp": "#include <vector>\n\n#include \"a/one.h\"\n",
    "src/d/four.cpp": "",
    "src/c/stub.cu": "#include \"c/instance.cuh\"\n",
    "src/c/image.cubin": "",
    **{f"src/a/{i}.h": "" for i in range(MOST_FILES)},
}
REPORTED = ["src/c/three.cpp:3: src/c must not include src/a", "src/d/ is not in the table", "src/gone does not exist",
            "src/a -> src/b -> src/a", "src/a/ has 41 files", "src/c/stub.cu only names an instance",
            "src/c/image.cubin is compiled code"]


def finds_what_is_planted():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        (root / "include" / "warpwright").mkdir(parents=True)
        for name, text in PLANTED.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        house = House(root)
        house.check()
    said = "\n".join(house.failures)
    return len(house.failures) == len(REPORTED) and all(sentence in said for sentence in REPORTED) or print(said)


def main(arguments):
    if not finds_what_is_planted():
        print("FAIL the test does not find what is wrong in a small house")
        return 1
    house = House(pathlib.Path(__file__).resolve().parents[2])
    house.check()
    if arguments == ["--print"]:
        for room in house.table:
            others = sorted(filter(None, house.found.get(room, set()) - {room}))
            print(f"| `{room}` | {', '.join(f'`{other}`' for other in others) or '-'} |")
        return 0
    for failure in dict.fromkeys(house.failures):
        print("FAIL", failure)
    print(f"{len(house.table)} rooms, {len(dict.fromkeys(house.failures))} failures")
    return 1 if house.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
