"""The tool: how it is found and run, and its sentences in the words of Python."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import subprocess
from typing import Any, Iterable, Sequence, Union

from ._abi import files
from ._errors import MissingError, WarpwrightError

USAGE, MISSING = 2, 3
Sizes = Iterable[Sequence[int]]
Option = Union[str, int, float, bool, os.PathLike[str], Sizes, None]
# Options whose argument has another name in Python.
ARGUMENTS = {"a-scales": "a_scale", "b-scales": "b_scale", "d-scales": "scales_out"}


@functools.lru_cache(maxsize=None)
def _path() -> str:
    named = os.environ.get("WARPWRIGHT_TOOL")
    candidates = [pathlib.Path(named)] if named else [*files("bin", "warpwright"), *files("bin", "warpwright-tool")]
    for path in candidates:
        if path.is_file():
            return str(path)
    raise MissingError("the tool of warpwright was not found; WARPWRIGHT_TOOL names it")


def in_python(sentence: str) -> str:
    """A sentence of the tool in the words of Python: arguments instead of options, and no name of a command.

    >>> in_python("warpwright gemm: --a-scales and --out-scale: only sim:sm90 takes them.")
    'a_scale and out_scale: only sim:sm90 takes them.'
    """
    sentence = re.sub(r"^warpwright( [a-z]+)+: ", "", sentence)
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)",
                  lambda found: ARGUMENTS.get(found[1], found[1].replace("-", "_")), sentence)


def options(**named: Option) -> list[str]:
    """The options of a command; None and False: not given."""
    arguments: list[str] = []
    for name, value in named.items():
        if value is None or value is False:
            continue
        arguments.append("--" + name.replace("_", "-"))
        if value is True:
            continue
        if isinstance(value, (str, int, float, os.PathLike)):
            arguments.append(str(value))
        else:
            arguments.append(",".join("x".join(str(int(extent)) for extent in size) for size in value))
    return arguments


def operand(name: str, value: Any) -> str:
    """A kernel or a file; what looks like an option is none."""
    text = os.fspath(value)
    if not isinstance(text, str) or text.startswith("-") or not text:
        raise ValueError(f"{name}: {value!r} is neither an instance nor a file")
    return text


def run(*arguments: str) -> dict[str, Any]:
    """Runs the tool with --json and returns its document. Bad input raises ValueError with the tool's sentence."""
    result = subprocess.run([_path(), *arguments, "--json"], capture_output=True, text=True, check=False)
    # Not the notes on what is compiled the first time.
    sentence = "\n".join(line for line in result.stderr.splitlines() if not line.startswith("Compiling ")).strip()
    sentence = in_python(sentence)
    if result.returncode == USAGE:
        raise ValueError(sentence)
    if result.returncode == MISSING:
        raise MissingError(sentence)
    try:
        document: dict[str, Any] = json.loads(result.stdout)
    except json.JSONDecodeError:
        raise WarpwrightError(sentence or f"the tool ended with {result.returncode}") from None
    if isinstance(document.get("error"), dict):
        raise WarpwrightError(sentence)
    return document


@functools.lru_cache(maxsize=None)
def version() -> str:
    text = subprocess.run([_path(), "--version"], capture_output=True, text=True, check=True).stdout
    return text.split()[-1]


def main() -> None:
    """The command ``warpwright`` and ``python -m warpwright``: the tool itself."""
    import sys

    try:
        path = _path()
    except MissingError as error:
        print(error, file=sys.stderr)
        sys.exit(MISSING)
    os.execv(path, [path, *sys.argv[1:]])
