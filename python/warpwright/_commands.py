"""Commands of the tool as functions: what they print with --json, as Python objects."""

from __future__ import annotations

import os
from typing import Any

from ._tool import Sizes, operand, options, run


def check(kernel: str, *, sizes: Sizes | None = None, seeds: int = 2) -> dict[str, Any]:
    """Runs a kernel in the simulator over sizes, landings and schedules.

    ``kernel`` is an instance, as ``explain`` names them, or a C++ source file that registers kernels of your own. The
    result has ``verdict`` (``clean``, ``failed`` or ``incomplete``), ``runs``, ``checks`` and, unless it is clean,
    ``report``.

    >>> import warpwright
    >>> warpwright.check("sm90/dense-64x64-c1-s4/bf16-nt", seeds=1)["verdict"]
    'clean'
    """
    return run("check", operand("kernel", kernel), *options(seeds=int(seeds), sizes=sizes))


def schedule(name: str, target: str) -> dict[str, Any]:
    """Verifies a schedule (``default``, ``ping-pong``, ``4-wave``, ``blocks`` or ``legacy/...``) for a target such as ``gfx950``.

    The result has ``entries``, ``ii``, ``mii``, ``proven`` and ``hazards``.

    >>> import warpwright
    >>> warpwright.schedule("ping-pong", "gfx950")["proven"]
    True
    """
    return run("schedule", "verify", operand("name", name), *options(target=target))


def explain(m: int, n: int, k: int, *, dtype: str = "bf16", target: str = "sm90", op: str | None = None,
            groups: int | None = None, batch: int | None = None, out_dtype: str | None = None,
            layout: str | None = None, alpha: float | None = None, beta: float | None = None,
            epilogue: str | None = None, scaling: str | None = None, plan: str | None = None) -> dict[str, Any]:
    """The plan for a product and why it is taken; needs no GPU.

    op           'dense', 'blockwise', 'grouped_contiguous', 'grouped_masked' or 'grouped_k', with ``groups``
    layout       'nt', 'nn', 'tn' or 'tt': of ``a`` and ``b``
    epilogue     words joined by '+': 'bias', 'row_bias', an activation, 'residual', 'quantize'
    scaling      factors of narrow operands: 'tensor', 'row_column', 'promoted', 'blockwise', ...

    >>> import warpwright
    >>> warpwright.explain(16, 4096, 4096)["kernel"]
    'skinny_gemm'
    """
    return run("explain", *options(m=m, n=n, k=k, dtype=dtype, target=target, op=op, groups=groups, batch=batch,
                                   out_dtype=out_dtype, layout=layout, alpha=alpha, beta=beta, epilogue=epilogue,
                                   scaling=scaling, plan=plan))


def trace(m: int | None = None, n: int | None = None, k: int | None = None, *,
          file: str | os.PathLike[str] | None = None, kernel: str | None = None,
          recording: str | os.PathLike[str] | None = None, html: str | os.PathLike[str] | None = None,
          perfetto: str | os.PathLike[str] | None = None, dtype: str | None = None, target: str | None = None,
          op: str | None = None, groups: int | None = None, batch: int | None = None, out_dtype: str | None = None,
          layout: str | None = None, alpha: float | None = None, beta: float | None = None,
          epilogue: str | None = None, scaling: str | None = None, plan: str | None = None,
          seed: int | None = None) -> dict[str, Any]:
    """Writes the timeline of a product, or of a kernel of your own, as a page and for Perfetto.

    For a product the arguments are those of ``explain``. ``file`` is a C++ source file that registers kernels, of which
    ``kernel`` names one; ``recording`` is what such a kernel has recorded on a GPU. ``html`` and ``perfetto`` name the
    files that are written; without them both are, into the current folder. The simulator's clock is the default;
    ``target`` 'sm90' measures on a GPU, 'both' shows both.

    >>> import os, tempfile, warpwright
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     document = warpwright.trace(64, 64, 64, html=os.path.join(folder, "gemm.html"))
    ...     os.path.getsize(document["html"]) > 10000
    True
    """
    named = () if file is None else (operand("file", file),)
    return run("trace", *named, *options(
        m=m, n=n, k=k, kernel=kernel, recording=recording, html=html, perfetto=perfetto, dtype=dtype, target=target,
        op=op, groups=groups, batch=batch, out_dtype=out_dtype, layout=layout, alpha=alpha, beta=beta,
        epilogue=epilogue, scaling=scaling, plan=plan, seed=seed))


def bench(*, suite: str | None = None, against: str | None = None, shapes: str | os.PathLike[str] | None = None,
          sizes: Sizes | None = None, random: int | None = None, draw: int | None = None, dtype: str | None = None,
          mode: str | None = None, plan: str | None = None, rounds: int | None = None, burst: float | None = None,
          max_seconds: float | None = None, finalists: int | None = None, serial: bool = False,
          constant_b: bool = False, every_plan: bool = False) -> dict[str, Any]:
    """Compares products on this GPU with another library, in pairs.

    suite        'dense', 'blockwise', 'grouped' or 'all'
    against      'cublaslt', 'torch' or 'deepgemm'
    sizes        (m, n, k), ...; or ``shapes``, a file; or ``random``, so many products drawn with the seed ``draw``
    mode         'sustained', 'cool' or 'both'

    Raises ``MissingError`` where there is no GPU.

        warpwright.bench(sizes=[(4096, 4096, 4096)], mode="sustained")["rows"]
    """
    return run("bench", *options(
        suite=suite, against=against, shapes=shapes, sizes=sizes, random=random, draw=draw, dtype=dtype, mode=mode,
        plan=plan, rounds=rounds, burst=burst, max_seconds=max_seconds, finalists=finalists, serial=serial,
        constant_b=constant_b, every_plan=every_plan))


def tune(*, op: str | None = None, groups: int | None = None, sizes: Sizes | None = None,
         shapes: str | os.PathLike[str] | None = None, random: int | None = None, draw: int | None = None,
         regret: bool = False, dtype: str | None = None, out: str | os.PathLike[str] | None = None,
         max_seconds: float | None = None, finalists: int | None = None, rounds: int | None = None,
         burst: float | None = None, ahead_only: bool = False) -> dict[str, Any]:
    """Measures plans on this GPU; ``out`` receives the table, which ``WARPWRIGHT_TUNED`` may name.

    sizes        (m, n, k), ...; or ``shapes``, a file; or ``random``, so many products drawn with the seed ``draw``
    regret       with ``random``: the choice beside the fastest plans
    ahead_only   only kernels that were compiled ahead

    Raises ``MissingError`` where there is no GPU.

        warpwright.tune(sizes=[(16, 4096, 4096)], out="tuned.tsv")
    """
    return run("tune", *options(
        op=op, groups=groups, sizes=sizes, shapes=shapes, random=random, draw=draw, regret=regret, dtype=dtype,
        out=out, max_seconds=max_seconds, finalists=finalists, rounds=rounds, burst=burst, ahead_only=ahead_only))
