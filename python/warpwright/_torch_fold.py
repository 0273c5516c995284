"""Leading dimensions: operands of any shape as the two or three dimensions that the kernels have."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

from torch import Tensor

from ._gemm import result_columns
from ._torch_describe import Operands, as_tensor


class Folded(NamedTuple):
    """The shape of the result, that of the product that is computed, and its tensors; ``out`` and others are None."""

    shape: tuple[int, ...]
    inner: tuple[int, ...]
    a: Tensor
    b: Tensor


def _is_one_matrix(x: Tensor) -> bool:
    """Whether the rows of all matrices of a batch are as far apart as those within one."""
    return bool(x.shape[0] == 1 or x.stride(0) == x.stride(1) * x.shape[1])


def _rows_fold(a: Tensor, b: Tensor, bias: Optional[Tensor], b_scale: Optional[Tensor], epilogue: Optional[str]) -> bool:
    """Whether the leading dimensions of a can become rows of one matrix, which is the faster product."""
    if epilogue and ("row" in epilogue or "batch" in epilogue):
        return False  # it means those of each matrix
    if bias is not None and bias.dim() == 2:
        return False  # it is added to the columns of every matrix
    if b_scale is not None and b_scale.numel() not in (1, b.shape[0]):
        return False  # factors of every matrix
    return a.dim() > 3 or _is_one_matrix(a)


def fold(a: Any, b: Any, bias: Any, b_scale: Any, activation: str, epilogue: Optional[str]) -> Folded:
    """As ``torch.nn.functional.linear`` takes them: [..., k] by [n, k]; or two batches of one shape."""
    a = as_tensor("a", a)
    b = as_tensor("b", b, a.device)
    if a.dim() == 0 or b.dim() < 2:
        raise ValueError(f"a, b: a row or more, and a matrix, are needed, not {a.dim()} and {b.dim()} dimensions")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"b: it has {b.shape[-1]} columns, a has {a.shape[-1]}; both are k")
    n, k = b.shape[-2], b.shape[-1]
    columns = result_columns(n, activation)
    if b.dim() == 2:
        shape = (*a.shape[:-1], columns)
        if a.dim() == 2:
            return Folded(shape, shape, a, b)
        if a.dim() == 1 or _rows_fold(a, b, bias, b_scale, epilogue):
            rows = math.prod(a.shape[:-1])
            return Folded(shape, (rows, columns), a.reshape(rows, k), b)
        if a.dim() == 3:
            return Folded(shape, shape, a, b)
        count = math.prod(a.shape[:-2])
        return Folded(shape, (count, a.shape[-2], columns), a.reshape(count, a.shape[-2], k), b)
    if a.dim() == 1:
        raise ValueError(f"a: it is one row; b then is a matrix, not of {b.dim()} dimensions")
    ahead, behind = tuple(a.shape[:-2]), tuple(b.shape[:-2])
    batches = math.prod(ahead), math.prod(behind)
    if ahead != behind and 1 not in batches:
        place, short = ("", "") if a.dim() > 3 or b.dim() > 3 else (f"{batches[1]}", f"{batches[0]}")
        raise ValueError(f"b: its batch is {place or behind}, the other's {short or ahead}")
    lead = behind if batches[0] == 1 and (batches[1] != 1 or len(behind) > len(ahead)) else ahead
    count = max(batches) if 0 not in batches else 0
    shape = (*lead, a.shape[-2], columns)
    return Folded(shape, (count, a.shape[-2], columns), a if a.dim() < 4 else a.reshape(batches[0], *a.shape[-2:]),
                  b if b.dim() < 4 else b.reshape(batches[1], n, k))


def _inner(name: str, x: Any, folded: Folded, may_copy: bool) -> Any:
    if x is None or folded.shape == folded.inner:
        return x
    given = as_tensor(name, x, folded.a.device)
    if tuple(given.shape) != folded.shape:
        raise ValueError(f"{name}: its shape is {tuple(given.shape)}, the product's is {folded.shape}")
    if may_copy:
        return given.reshape(folded.inner)
    try:
        return given.view(folded.inner)
    except RuntimeError:
        raise ValueError(f"{name}: its strides are {given.stride()}; rows of all leading dimensions must be equally far "
                         "apart") from None


def operands(folded: Folded, out: Any, c: Any, bias: Any, residual: Any, a_scale: Any, b_scale: Any,
             out_scale: Any) -> Operands:
    """The tensors in the dimensions of the product. ``out`` may be None still."""
    return Operands(folded.a, folded.b, _inner("out", out, folded, False), _inner("c", c, folded, True), bias,
                    _inner("residual", residual, folded, True), a_scale, b_scale, out_scale)
