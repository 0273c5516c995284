"""The command line tool as functions: what it prints with --json, as Python objects."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
from typing import Any, Iterable, Sequence

from ._abi import files
from ._errors import MissingError, WarpwrightError

USAGE, MISSING = 2, 3


@functools.lru_cache(maxsize=None)
def _path() -> str:
    named = os.environ.get("WARPWRIGHT_TOOL")
    candidates = [pathlib.Path(named)] if named else [*files("bin", "warpwright"), *files("bin", "warpwright-tool")]
    for path in candidates:
        if path.is_file():
            return str(path)
    raise MissingError("the tool of warpwright was not found; WARPWRIGHT_TOOL names it")


def run(*arguments: str) -> dict[str, Any]:
    """Runs the tool with --json and returns its document. Bad input raises ValueError with the tool's sentence."""
    result = subprocess.run([_path(), *arguments, "--json"], capture_output=True, text=True, check=False)
    # Not the notes on what is compiled the first time.
    sentence = "\n".join(line for line in result.stderr.splitlines() if not line.startswith("Compiling ")).strip()
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


def check(kernel: str, *, sizes: Iterable[Sequence[int]] | None = None, seeds: int = 2) -> dict[str, Any]:
    """Runs a kernel in the simulator over sizes, landings and schedules.

    ``kernel`` is an instance, as ``check --list`` names them, or any other that can be compiled, or a C++ source file
    that registers kernels of your own. The result has
    ``verdict`` (``clean``, ``failed`` or ``incomplete``), ``runs``, ``checks`` and, unless it is clean, ``report``.

    >>> import warpwright
    >>> warpwright.check("sm90/dense-64x64-c1-s4/bf16-nt", seeds=1)["verdict"]
    'clean'
    """
    arguments = ["check", str(kernel), "--seeds", str(int(seeds))]
    if sizes is not None:
        arguments += ["--sizes", ",".join("x".join(str(int(extent)) for extent in size) for size in sizes)]
    return run(*arguments)


def schedule(name: str, target: str) -> dict[str, Any]:
    """Verifies a schedule (``default``, ``ping-pong``, ``4-wave``, ``blocks`` or ``legacy/...``) for a target such as ``gfx950``.

    The result has ``entries``, ``ii``, ``mii``, ``proven`` and ``hazards``.

    >>> import warpwright
    >>> warpwright.schedule("ping-pong", "gfx950")["proven"]
    True
    """
    return run("schedule", "verify", name, "--target", target)


def explain(m: int, n: int, k: int, *, dtype: str = "bf16", target: str = "sm90", **options: Any) -> dict[str, Any]:
    """The plan for a product and why it is taken; needs no GPU. Further options are those of ``warpwright explain``.

    >>> import warpwright
    >>> warpwright.explain(16, 4096, 4096)["kernel"]
    'skinny_gemm'
    """
    arguments = ["explain", "--m", str(m), "--n", str(n), "--k", str(k), "--dtype", dtype, "--target", target]
    for key, value in options.items():
        arguments += ["--" + key.replace("_", "-"), str(value)]
    return run(*arguments)


def main() -> None:
    """The command ``warpwright``: the tool itself."""
    import sys

    try:
        path = _path()
    except MissingError as error:
        print(error, file=sys.stderr)
        sys.exit(MISSING)
    os.execv(path, [path, *sys.argv[1:]])
