"""A copy of examples/your_kernel with changes, under `check`: what the tests of kernels of your own share."""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "your_kernel"
HEADER, SOURCE = "row_norms.h", "row_norms.cpp"


@dataclasses.dataclass
class Checked:
    """What the tool said about a copy, and where its lines are."""
    code: int
    out: str
    err: str
    sources: dict  # the changed text by name of the file

    def document(self):
        return json.loads(self.out)

    def summary(self):
        """The last line on stderr."""
        return self.err.splitlines()[-1] if self.err else ""

    def line_of(self, text, file=HEADER):
        """The number of the only line of the copy that has the text."""
        lines = [i for i, line in enumerate(self.sources[file].splitlines(), 1) if text in line]
        assert len(lines) == 1, (text, lines)
        return lines[0]


def check(tool, *replacements, file=HEADER, command="check", arguments=(), **environment):
    """Runs the tool on a copy of the example in which each text, found once, is replaced by the other, in `file` unless
    a third word names another."""
    with tempfile.TemporaryDirectory() as folder:
        sources = {name: (EXAMPLE / name).read_text() for name in (HEADER, SOURCE)}
        for old, new, *named in replacements:
            where = named[0] if named else file
            assert sources[where].count(old) == 1, (old, sources[where].count(old))
            sources[where] = sources[where].replace(old, new)
        for name, text in sources.items():
            (pathlib.Path(folder) / name).write_text(text)
        result = subprocess.run([tool, command, SOURCE, *arguments], cwd=folder, capture_output=True, text=True,
                                timeout=240, env={**os.environ, **environment})
        left = sorted(os.listdir(folder))
    assert left == [SOURCE, HEADER] or command != "check", left
    return Checked(result.returncode, result.stdout, result.stderr, sources)


def in_parallel(calls):
    """The results of functions, by their key; compilers take most of the time."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        started = {key: pool.submit(call) for key, call in calls.items()}
        return {key: future.result() for key, future in started.items()}


def tool_of(arguments):
    """The tool's path, taken out of the arguments. Ends the test where there is no compiler."""
    tool = os.path.abspath(arguments.pop(1))
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        print("skipped: no C++ compiler is installed")
        sys.exit(77)
    return tool
