"""A grouped product of torch tensors as the library is told of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from . import _abi
from ._gemm import named_plan, tuning_word
from ._grouped import SCALE_BLOCK, check_own, kind_of, result_shape
from ._torch_describe import as_tensor, check_out, type_of


class Operands(NamedTuple):
    """The tensors of a grouped product."""

    a: Tensor
    b: Tensor
    offsets: Optional[Tensor]
    counts: Optional[Tensor]
    depths: Optional[Tensor]
    experts: Optional[Tensor]
    a_scale: Optional[Tensor]
    b_scale: Optional[Tensor]
    bias: Optional[Tensor]
    out: Tensor
    scales_out: Optional[Tensor]
    status: Optional[Tensor]
    index: Optional[Tensor] = None  # type: ignore[assignment]  # a method of tuples, which nobody calls here


class Settings(NamedTuple):
    """The rest of a call."""

    activation: str
    accumulate: bool
    usual_rows: int
    sm_limit: int
    plan: str
    epilogue: str = ""
    beta: float = 0.0


class Product(NamedTuple):
    """All that a plan depends on."""

    device: Optional[int]
    kind: int
    m: int
    n: int
    k: int
    groups: int
    matrices: int
    type: str
    out: str
    scales: tuple[int, int, int, int]  # rows and columns of those of a and of b
    b_scale_rows: int
    bias: Optional[tuple[str, bool, str]]  # its type, whether all matrices share it, and the word for how it is added
    a_rows: Optional[int]  # of which rows are gathered; None: all, as they are
    majors: tuple[int, int]  # how a and b are stored
    settings: Settings


def _table(name: str, x: Tensor, count: Optional[int] = None) -> Tensor:
    if x.dtype != torch.int32:
        raise TypeError(f"{name}: its type is {x.dtype}; torch.int32 is taken")
    if x.dim() > 1 or not x.is_contiguous():
        raise ValueError(f"{name}: a contiguous vector is needed, not one of shape {tuple(x.shape)}")
    if count is not None and x.numel() != count:
        raise ValueError(f"{name}: it has {x.numel()} elements, {count} are needed")
    return x


def _contiguous(name: str, x: Tensor) -> None:
    if not x.is_contiguous():
        raise ValueError(f"{name}: rows without gaps are needed; its strides are {x.stride()}")


def _major(name: str, x: Tensor) -> int:
    """Of matrices one after the other: stored as they are, or transposed."""
    if x.is_contiguous():
        return _abi.MAJOR_K
    if not x.transpose(-1, -2).is_contiguous():
        raise ValueError(f"{name}: matrices without gaps are needed, as they are or transposed; its strides are "
                         f"{x.stride()}")
    return _abi.MAJOR_MN


def shape_of(a: Any, b: Any, offsets: Any, counts: Any, depths: Any, activation: str,
             index: Any = None) -> tuple[int, ...]:
    """The shape of the result."""
    a = as_tensor("a", a)
    b = as_tensor("b", b, a.device)
    kind = kind_of(offsets, counts, depths)
    numbers = as_tensor("depths", depths).numel() if depths is not None else 0
    gathered = as_tensor("index", index).numel() if index is not None else None
    return result_shape(a.shape, b.shape, kind, numbers, activation, gathered)


def _scales(x: Operands, word: str) -> tuple[int, int, int, int]:
    shapes = []
    for name, scale in (("a_scale", x.a_scale), ("b_scale", x.b_scale)):
        if (scale is None) != (word == "bf16"):
            raise ValueError(f"{name}: float8 operands have factors, bf16 ones have none")
        if scale is None:
            shapes += [-1, -1]
            continue
        if scale.dtype != torch.float32:
            raise TypeError(f"{name}: its type is {scale.dtype}; torch.float32 is taken")
        if scale.dim() < 2:
            raise ValueError(f"{name}: factors of blocks are a matrix, not of shape {tuple(scale.shape)}")
        _contiguous(name, scale)
        shapes += [math.prod(scale.shape[:-1]), scale.shape[-1]]
    return shapes[0], shapes[1], shapes[2], shapes[3]


def _b_scale_rows(x: Operands) -> int:
    """Rows of a matrix that share a factor: one, or a whole block."""
    return 1 if x.b_scale is not None and x.b_scale.dim() > 1 and x.b_scale.shape[-2] == x.b.shape[-2] else SCALE_BLOCK


def _bias(bias: Tensor, b: Tensor, rows: tuple[int, ...]) -> tuple[str, bool, str]:
    word = type_of("bias", bias, ("fp32", "bf16"))
    n = b.shape[-2]
    if tuple(bias.shape) == (*rows, 1):
        _contiguous("bias", bias)
        return word, False, "row_bias"
    wanted = (b.shape[0], n) if b.dim() == 3 else (n,)
    if tuple(bias.shape) not in (wanted, (n,)):
        raise ValueError(f"bias: its shape is {tuple(bias.shape)}; {wanted} is taken, or ({n},) for all matrices")
    _contiguous("bias", bias)
    return word, bias.dim() == 1 and b.dim() == 3, "bias"


def _check_scales_out(x: Operands, out_word: str) -> None:
    if (x.scales_out is not None) != (out_word == "e4m3"):
        raise ValueError("scales_out: a float8_e4m3fn result needs it for its factors, others have none")
    if x.scales_out is None:
        return
    wanted = (*x.out.shape[:-1], x.out.shape[-1] // SCALE_BLOCK)
    if x.scales_out.dtype != torch.float32:
        raise TypeError(f"scales_out: its type is {x.scales_out.dtype}; torch.float32 is taken")
    if tuple(x.scales_out.shape) != wanted:
        raise ValueError(f"scales_out: its shape is {tuple(x.scales_out.shape)}, {wanted} is needed")
    _contiguous("scales_out", x.scales_out)


def describe(x: Operands, settings: Settings) -> Product:
    """Checks a call; it can be launched as soon as the tensors are on a GPU."""
    shape = shape_of(x.a, x.b, x.offsets, x.counts, x.depths, settings.activation, x.index)
    kind = kind_of(x.offsets, x.counts, x.depths)
    for name, tensor in zip(Operands._fields, x):
        if tensor is not None:
            as_tensor(name, tensor, x.a.device)
    word = type_of("a", x.a, ("bf16", "e4m3"))
    if x.b.dtype != x.a.dtype:
        raise TypeError(f"b: its type is {x.b.dtype}, that of a is {x.a.dtype}")
    out_word = type_of("out", x.out, ("bf16", "fp32", "e4m3"))
    if kind != _abi.GROUPS_BY_DEPTH:
        _contiguous("a", x.a)
    _contiguous("out", x.out)
    check_out(x.out, x.a, None, shape)
    _check_scales_out(x, out_word)
    groups = 1
    if x.counts is not None:
        groups = x.a.shape[0]
        _table("counts", x.counts, groups)
    elif x.offsets is not None:
        groups = max(0, _table("offsets", x.offsets).numel() - 1)
    elif x.depths is not None:
        groups = max(0, _table("depths", x.depths).numel() - 1)
    if x.experts is not None:
        _table("experts", x.experts, groups)
    if x.status is not None:
        _table("status", x.status, 1)
    rows = math.prod(x.a.shape[:-1]) if x.index is None else _table("index", x.index).numel()
    bias = _bias(x.bias, x.b, shape[:-1]) if x.bias is not None else None
    check_own(settings.epilogue or None, settings.beta, kind, bias[2] if bias else None, settings.activation,
              settings.accumulate)
    return Product(x.a.device.index, kind, rows, x.b.shape[-2], x.a.shape[-1], groups,
                   x.b.shape[0] if x.b.dim() == 3 else 0, word, out_word, _scales(x, word), _b_scale_rows(x),
                   bias, None if x.index is None else x.a.shape[0],
                   (_major("a", x.a), _major("b", x.b)), settings)


def problem_of(product: Product) -> _abi.GroupedProblem:
    s = product.settings
    p = _abi.new_grouped_problem()
    p.m, p.n, p.k, p.groups = product.m, product.n, product.k, product.kind
    p.group_count, p.matrix_count = product.groups, product.matrices
    p.usual_rows, p.sm_limit = s.usual_rows, s.sm_limit
    p.type, p.out = _abi.words("dtype")[product.type], _abi.words("dtype")[product.out]
    p.a_scales_rows, p.a_scales_columns, p.b_scales_rows, p.b_scales_columns = product.scales
    p.b_scale_rows, p.activation, p.accumulate = product.b_scale_rows, _abi.words("activation")[s.activation], int(s.accumulate)
    p.a_major, p.b_major = product.majors
    if product.bias:
        p.bias, p.bias_type = _abi.words("bias")[product.bias[2]], _abi.words("dtype")[product.bias[0]]
        p.shared_bias = int(product.bias[1])
    if product.a_rows is not None:
        p.gathered, p.a_rows = 1, product.a_rows
    if s.epilogue:
        p.formula, p.beta = s.epilogue.encode(), s.beta
    if (named := named_plan(s.plan)) is not None:
        p.plan = named.encode()
    p.tuning = _abi.words("tuning")[tuning_word(s.plan)]
    return p
