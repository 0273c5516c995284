"""grouped_gemm(): products with blockwise factors, and products by groups of rows with a matrix each (torch)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._gemm import is_torch

if TYPE_CHECKING:
    import torch


def grouped_gemm(a: torch.Tensor, b: torch.Tensor, *, offsets: torch.Tensor | None = None,
                 counts: torch.Tensor | None = None, depths: torch.Tensor | None = None,
                 experts: torch.Tensor | None = None, a_scale: torch.Tensor | None = None,
                 b_scale: torch.Tensor | None = None, bias: torch.Tensor | None = None, activation: str = "none",
                 out: torch.Tensor | None = None, out_dtype: torch.dtype | str | None = None,
                 scales_out: torch.Tensor | None = None, accumulate: bool = False,
                 status: torch.Tensor | None = None, usual_rows: int = 0, sm_limit: int = 0,
                 plan: str | None = None) -> torch.Tensor:
    """``a @ b[group].T`` for the rows of every group, on a Hopper GPU and on the current stream.

    contiguous   ``a`` [m, k], ``b`` [matrices, n, k], ``offsets`` [groups + 1]: rows offsets[g] to offsets[g + 1]
                 are group g; any number, no alignment
    masked       ``a`` [groups, room, k], ``b`` [matrices, n, k], ``counts`` [groups]: the first counts[g] rows of a[g]
    along k      ``a`` [m, k], ``b`` [n, k], ``depths`` [groups + 1]: the result is [groups, m, n], each the sum over
                 the columns depths[g] to depths[g + 1], float32 unless ``out_dtype`` says otherwise; ``accumulate``
                 adds to ``out``. The gradient of experts' weights
    one product  ``a`` [m, k], ``b`` [n, k] with blockwise factors and no table

    Operands are bf16, or float8_e4m3fn with fp32 factors as ``quantize`` makes them: ``a_scale`` [m, k / 128] (of
    'token'), ``b_scale`` [matrices, n / 128, k / 128] (of 'block') or [matrices, n, k / 128]. Tables are int32 and stay
    on the device. ``experts`` [groups] names the matrix of each group, negative for none; otherwise group g has matrix
    g. Rows of no group are not written: give ``out`` if they matter.

    bias         [matrices, n], or [n] for all, fp32 or bf16
    activation   'none', or 'swiglu': ``b`` is [gate; up], and the result silu(gate) * up with n / 2 columns
    scales_out   fp32 [rows of the result, columns / 128]: receives the factors of a float8_e4m3fn result

    A table that is not legal is clamped, never read or written beyond a matrix, and said in ``status``, one int32.

    Rows 0 to 2 by the first matrix and rows 3 to 6 by the second:

        offsets = torch.tensor([0, 3, 7], device="cuda", dtype=torch.int32)
        d = warpwright.grouped_gemm(a, b, offsets=offsets)
    """
    if not is_torch(a):
        raise TypeError(f"a: a torch tensor on a Hopper GPU is needed, not {type(a).__name__}")
    from . import _torch_grouped

    return _torch_grouped.grouped_gemm(a, b, offsets=offsets, counts=counts, depths=depths, experts=experts,
                                       a_scale=a_scale, b_scale=b_scale, bias=bias, activation=activation, out=out,
                                       out_dtype=out_dtype, scales_out=scales_out, accumulate=accumulate,
                                       status=status, usual_rows=usual_rows, sm_limit=sm_limit, plan=plan)
