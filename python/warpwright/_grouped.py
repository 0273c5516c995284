"""grouped_gemm(): products with blockwise factors, and products by groups of rows or columns with a matrix each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, overload

from . import _abi, _formula
from ._gemm import is_torch, plan_word
from ._warm import GROUPED, warm

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike, DTypeLike, NDArray

SCALE_BLOCK = 128
ACTIVATIONS = ("none", "swiglu")


@overload
def grouped_gemm(a: torch.Tensor, b: torch.Tensor, *, offsets: torch.Tensor | None = None,
                 counts: torch.Tensor | None = None, depths: torch.Tensor | None = None,
                 experts: torch.Tensor | None = None, index: torch.Tensor | None = None,
                 a_scale: torch.Tensor | None = None, b_scale: torch.Tensor | None = None,
                 bias: torch.Tensor | None = None, activation: str = "none", out: torch.Tensor | None = None, out_dtype: torch.dtype | str | None = None,
                 scales_out: torch.Tensor | None = None, accumulate: bool = False,
                 status: torch.Tensor | None = None, usual_rows: int = 0, sm_limit: int = 0,
                 plan: str | None = None, tuning: str | None = None, target: str | None = None,
                 epilogue: str | None = None, beta: float = 0.0) -> torch.Tensor: ...


@overload
def grouped_gemm(a: NDArray[Any], b: NDArray[Any], *, offsets: ArrayLike | None = None,
                 counts: ArrayLike | None = None, depths: ArrayLike | None = None, experts: ArrayLike | None = None,
                 index: ArrayLike | None = None, a_scale: NDArray[Any] | None = None,
                 b_scale: NDArray[Any] | None = None, bias: ArrayLike | None = None, activation: str = "none", out: NDArray[Any] | None = None,
                 out_dtype: DTypeLike | None = None, scales_out: NDArray[Any] | None = None, accumulate: bool = False,
                 usual_rows: int = 0, plan: str | None = None, target: str | None = None,
                 epilogue: str | None = None, beta: float = 0.0) -> NDArray[Any]: ...


@warm(GROUPED)
def grouped_gemm(a: Any, b: Any, *, offsets: Any = None, counts: Any = None, depths: Any = None, experts: Any = None,
                 index: Any = None, a_scale: Any = None, b_scale: Any = None, bias: Any = None,
                 activation: str = "none", out: Any = None, out_dtype: Any = None, scales_out: Any = None,
                 accumulate: bool = False, status: Any = None, usual_rows: int = 0, sm_limit: int = 0,
                 plan: str | None = None, tuning: str | None = None, target: str | None = None,
                 epilogue: str | None = None, beta: float = 0.0) -> Any:
    """``a @ b[group].T`` for the rows of every group: torch tensors on a GPU, on the current stream, or by torch on the
    CPU; NumPy arrays in the simulator.

    contiguous   ``a`` [m, k], ``b`` [matrices, n, k], ``offsets`` [groups + 1]: rows offsets[g] to offsets[g + 1]
                 are group g; any number, no alignment
    masked       ``a`` [groups, room, k], ``b`` [matrices, n, k], ``counts`` [groups]: the first counts[g] rows of a[g]
    along k      ``a`` [m, k], ``b`` [n, k], ``depths`` [groups + 1]: the result is [groups, m, n], each the sum over
                 the columns depths[g] to depths[g + 1], float32 unless ``out_dtype`` says otherwise. The gradient of
                 experts' weights
    one product  ``a`` [m, k], ``b`` [n, k] with blockwise factors and no table

    ``accumulate`` adds one product, or groups along k, to ``out``, which is float32. Matrices of bf16 may be stored the
    other way: give the transposed view of ``b`` [matrices, k, n], or along k those of ``a`` [k, m] and ``b`` [k, n].
    Nothing is copied.

    Operands are bf16, or float8_e4m3fn with fp32 factors as ``quantize`` makes them: ``a_scale`` [m, k / 128] (of
    'token'), ``b_scale`` [matrices, n / 128, k / 128] (of 'block') or [matrices, n, k / 128]. ``experts`` [groups]
    names the matrix of each group, negative for none; otherwise group g has matrix g. Rows of no group are not written:
    give ``out`` if they matter. ``index`` [m] gathers: row i of contiguous groups is row ``index[i]`` of ``a``, which
    then has any number of rows, each used as often as you like; the kernel fetches them from where they are.

    What happens to the sums:

    bias         [matrices, n], or [n] for all, fp32 or bf16
    activation   'none', or 'swiglu': ``b`` is [gate; up], and the result silu(gate) * up with n / 2 columns
    scales_out   fp32 [rows of the result, columns / 128]: receives the factors of a float8_e4m3fn result
    epilogue     an expression of your own, 'x * sigmoid(x) * row_bias', in the place of the activation, as in ``gemm``;
                 it may name x, bias or row_bias (``bias`` of shape [m, 1], or [groups, room, 1]), beta, row, column,
                 and batch: the number of the row's matrix, along k of the group. No gradient

    ``tuning='measure'`` is as for ``gemm``: of products with another number of rows each is measured.

    torch tensors have tables of int32, which stay on the device, and a gradient (bf16, without ``out``). A table that is
    not legal is clamped, never read or written beyond a matrix, and reported in ``status``, one int32.

        offsets = torch.tensor([0, 3, 7], device="cuda", dtype=torch.int32)
        d = warpwright.grouped_gemm(a, b, offsets=offsets)

    NumPy arrays run in the simulator ``target``, 'sim:sm90'. Tables are integers of any kind, and one that is not legal
    raises ValueError. Operands that are not float8_e4m3fn are rounded to bf16; the result is float32 unless ``out`` or
    ``out_dtype`` says otherwise. A mistake in the kernel raises ``WarpwrightError`` with the checker's report.

    Rows 0 to 2 by the first matrix and rows 3 to 6 by the second:

    >>> import numpy as np, warpwright
    >>> a, b = np.ones((7, 64)), np.stack([np.ones((8, 64)), np.full((8, 64), 2)])
    >>> warpwright.grouped_gemm(a, b, offsets=[0, 3, 7])[:, 0].tolist()
    [64.0, 64.0, 64.0, 128.0, 128.0, 128.0, 128.0]
    >>> warpwright.grouped_gemm(a, b, offsets=[0, 3, 8])
    Traceback (most recent call last):
    ValueError: offsets: element 2 is 8; it must be from 3 to 7

    Rows 1 and 0 by the first matrix, row 1 by the second:

    >>> x = np.stack([np.zeros(64), np.ones(64)])
    >>> warpwright.grouped_gemm(x, b, offsets=[0, 2, 3], index=[1, 0, 1])[:, 0].tolist()
    [64.0, 0.0, 128.0]

    Blockwise factors:

    >>> x, w = warpwright.quantize(np.ones((9, 256))), warpwright.quantize(np.ones((128, 256)), "block")
    >>> float(warpwright.grouped_gemm(x.values, w.values, a_scale=x.scales, b_scale=w.scales).max())
    256.0
    """
    if is_torch(a) or is_torch(b):
        if target not in (None, "gpu", "sm90"):
            raise ValueError(f"target: torch tensors are multiplied where they are, not by {target!r}; "
                             "simulate() sends those on the CPU through the simulator")
        if tuning is not None:
            plan = plan_word(plan, tuning)
        from . import _torch_grouped

        return _torch_grouped.grouped_gemm(a, b, offsets, counts, depths, experts, index, a_scale, b_scale, bias, activation, out, out_dtype,
                         scales_out, accumulate, status, usual_rows, sm_limit, plan, epilogue, beta)
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: {activation!r} is not one of {', '.join(ACTIVATIONS)}")
    unused = {"sm_limit": sm_limit or None, "status": status, "tuning": tuning}
    for name, value in unused.items():
        if value is not None:
            raise ValueError(f"{name}: the simulator multiplies NumPy arrays without it; leave it out")
    from . import _numpy_grouped

    return _numpy_grouped.grouped_gemm(a, b, offsets=offsets, counts=counts, depths=depths, experts=experts,
                                       index=index, a_scale=a_scale, b_scale=b_scale, bias=bias,
                                       activation=activation, out=out, out_dtype=out_dtype, scales_out=scales_out, accumulate=bool(accumulate),
                                       plan=plan, target=target or "sim:sm90", epilogue=epilogue, beta=float(beta))


def check_own(epilogue: str | None, beta: float, kind: int, bias: str | None, activation: str,
              accumulate: bool) -> None:
    """What may be combined with an epilogue of the user's own; ``bias`` is the word for how it is added."""
    names = _formula.names_of(epilogue)
    if epilogue is None:
        if beta != 0:
            raise ValueError(f"beta: it is {beta}, and there is no epilogue that names it")
        if bias == "row_bias":
            raise ValueError("bias: only an epilogue names one of each row; the other is [matrices, n] or [n]")
        return
    for name in ("c", "residual"):
        if name in names:
            raise ValueError(f"epilogue: it names {name}, and products by groups have none")
    if activation != "none":
        raise ValueError(f"activation: the epilogue stands in its place, and is given one sum at a time; {activation!r} "
                         "must be 'none'")
    if accumulate:
        raise ValueError("accumulate: an epilogue says what out is, and out is not added to")
    if kind == _abi.GROUPS_BY_DEPTH and (bias is not None or names & {"bias", "row_bias"}):
        raise ValueError("bias: groups along k have none")
    _formula.check_given(names, False, bias, False, beta)


def kind_of(offsets: Any, counts: Any, depths: Any) -> int:
    """What the groups are, by the table that is given."""
    if sum(table is not None for table in (offsets, counts, depths)) > 1:
        raise ValueError("offsets, counts, depths: one of them says what the groups are")
    if counts is not None:
        return _abi.GROUPS_MASKED
    if depths is not None:
        return _abi.GROUPS_BY_DEPTH
    return _abi.GROUPS_NONE if offsets is None else _abi.GROUPS_CONTIGUOUS


def result_shape(a: Sequence[int], b: Sequence[int], kind: int, numbers: int, activation: str,
                 gathered: int | None = None) -> tuple[int, ...]:
    """The shape of the result of operands of these shapes; ``numbers`` are in the table, ``gathered`` rows in the
    index."""
    if gathered is not None and kind != _abi.GROUPS_CONTIGUOUS:
        raise ValueError("index: only the rows of contiguous groups are gathered; offsets says where those begin")
    wanted_a = 3 if kind == _abi.GROUPS_MASKED else 2
    wanted_b = 3 if kind in (_abi.GROUPS_MASKED, _abi.GROUPS_CONTIGUOUS) else 2
    if len(a) != wanted_a or len(b) != wanted_b:
        raise ValueError(f"a, b: {wanted_a} and {wanted_b} dimensions are taken here, not {len(a)} and {len(b)}")
    if a[-1] != b[-1]:
        raise ValueError(f"b: it has {b[-1]} columns, a has {a[-1]}; both are k")
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: {activation!r} is not one of {', '.join(ACTIVATIONS)}")
    columns = b[-2] // 2 if activation == "swiglu" else b[-2]
    if kind == _abi.GROUPS_BY_DEPTH:
        return max(0, numbers - 1), a[0], columns
    return (*(a[:-1] if gathered is None else (gathered,)), columns)
