"""grouped_gemm(): products with blockwise factors, and products by groups of rows with a matrix each (torch)."""

from __future__ import annotations

from typing import Any

from ._gemm import is_torch


def grouped_gemm(a: Any, b: Any, *, offsets: Any = None, counts: Any = None, experts: Any = None, a_scale: Any = None,
                 b_scale: Any = None, out: Any = None, out_dtype: Any = None, status: Any = None, usual_rows: int = 0,
                 sm_limit: int = 0, plan: str | None = None) -> Any:
    """``a @ b[group].T`` for the rows of every group, on a Hopper GPU and on the current stream.

    contiguous   ``a`` [m, k], ``b`` [matrices, n, k], ``offsets`` [groups + 1]: rows offsets[g] to offsets[g + 1]
                 are group g; any number, no alignment
    masked       ``a`` [groups, room, k], ``b`` [matrices, n, k], ``counts`` [groups]: the first counts[g] rows of a[g]
    one product  ``a`` [m, k], ``b`` [n, k] with blockwise factors, neither offsets nor counts

    Operands are bf16, or float8_e4m3fn with fp32 factors as ``quantize`` makes them: ``a_scale`` [m, k / 128] (of
    'token'), ``b_scale`` [matrices, n / 128, k / 128] (of 'block'). Tables are int32 and stay on the device.
    ``experts`` [groups] names the matrix of each group, negative for none; otherwise group g has matrix g. Rows of no
    group are not written: give ``out`` if they matter.

    A table that is not legal is clamped, never read or written beyond a matrix, and said in ``status``, one int32.
    """
    if not is_torch(a):
        raise TypeError("a: a torch tensor on a Hopper GPU is needed")
    from . import _torch_grouped

    return _torch_grouped.grouped_gemm(a, b, offsets, counts, experts, a_scale, b_scale, out, out_dtype, status,
                                       usual_rows, sm_limit, plan)
