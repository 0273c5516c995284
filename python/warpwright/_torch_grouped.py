"""Grouped products of torch tensors, and their custom op."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from . import _abi
from ._torch import DTYPES, _dtype, _tensor, _out_dtype

_plans: dict = {}


def _table(name: str, x, device, count=None) -> Tensor:
    _tensor(name, x, device)
    if x.dtype != torch.int32:
        raise TypeError(f"{name}: its type is {x.dtype}; torch.int32 is taken")
    if x.dim() > 1 or not x.is_contiguous():
        raise ValueError(f"{name}: a contiguous vector is needed, not one of shape {tuple(x.shape)}")
    if count is not None and x.numel() != count:
        raise ValueError(f"{name}: it has {x.numel()} elements, {count} are needed")
    return x


def _contiguous(name: str, x: Tensor) -> Tensor:
    if not x.is_contiguous():
        raise ValueError(f"{name}: rows without gaps are needed; its strides are {x.stride()}")
    return x


def _shape(a, b, offsets, counts):
    """The shape of the result, and how the rows are grouped."""
    _tensor("a", a)
    _tensor("b", b, a.device)
    if offsets is not None and counts is not None:
        raise ValueError("offsets, counts: one of them says how rows are grouped")
    wanted_a, wanted_b = (3, 3) if counts is not None else (2, 3) if offsets is not None else (2, 2)
    if a.dim() != wanted_a or b.dim() != wanted_b:
        raise ValueError(f"a, b: {wanted_a} and {wanted_b} dimensions are taken here, not {a.dim()} and {b.dim()}")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"b: it has {b.shape[-1]} columns, a has {a.shape[-1]}; both are k")
    kind = _abi.GROUPS_MASKED if counts is not None else (
        _abi.GROUPS_CONTIGUOUS if offsets is not None else _abi.GROUPS_NONE)
    return (*a.shape[:-1], b.shape[-2]), kind


def _run(a, b, offsets, counts, experts, a_scale, b_scale, out, status, usual_rows, sm_limit, plan) -> None:
    shape, kind = _shape(a, b, offsets, counts)
    if a.device.type != "cuda":
        raise ValueError(f"a: it is on {a.device}; a Hopper GPU is needed")
    word = _dtype("a", a, ("bf16", "e4m3"))
    if b.dtype != a.dtype:
        raise TypeError(f"b: its type is {b.dtype}, that of a is {a.dtype}")
    for name, x in (("a", a), ("b", b), ("out", out)):
        _contiguous(name, x)
    if tuple(out.shape) != shape:
        raise ValueError(f"out: its shape is {tuple(out.shape)}, the product's is {shape}")
    groups = a.shape[0] if kind == _abi.GROUPS_MASKED else max(0, offsets.numel() - 1) if kind else 1
    rows = None
    if kind == _abi.GROUPS_MASKED:
        rows = _table("counts", counts, a.device, groups)
    elif kind == _abi.GROUPS_CONTIGUOUS:
        rows = _table("offsets", offsets, a.device)
    if experts is not None:
        _table("experts", experts, a.device, groups)
    if status is not None:
        _table("status", status, a.device, 1)
    scale_shapes = [-1] * 4
    for i, (name, x) in enumerate((("a_scale", a_scale), ("b_scale", b_scale))):
        if (x is None) != (word == "bf16"):
            raise ValueError(f"{name}: float8 operands have factors, bf16 ones have none")
        if x is not None:
            _tensor(name, x, a.device)
            if x.dtype != torch.float32:
                raise TypeError(f"{name}: its type is {x.dtype}; torch.float32 is taken")
            _contiguous(name, x)
            scale_shapes[2 * i] = x.numel() // max(1, x.shape[-1])
            scale_shapes[2 * i + 1] = x.shape[-1]
    m = a.numel() // a.shape[-1] if a.shape[-1] else shape[0] * (shape[1] if kind == _abi.GROUPS_MASKED else 1)
    key = (a.device.index, kind, m, shape[-1], a.shape[-1], groups, b.shape[0], word, out.dtype, tuple(scale_shapes),
           usual_rows, sm_limit, plan)
    with torch.cuda.device(a.device):
        found = _plans.get(key)
        if found is None:
            p = _abi.new_grouped_problem()
            p.m, p.n, p.k, p.groups, p.group_count = m, shape[-1], a.shape[-1], kind, groups
            p.matrix_count = b.shape[0] if kind else 0
            p.usual_rows, p.sm_limit = usual_rows, sm_limit
            p.type, p.out = _abi.DTYPES[word], _abi.DTYPES[DTYPES[out.dtype]]
            p.a_scales_rows, p.a_scales_columns, p.b_scales_rows, p.b_scales_columns = scale_shapes
            if plan:
                p.plan = plan.encode()
            found = _plans[key] = _abi.GroupedPlan(p)
        q = _abi.new_grouped_pointers()
        for name, x in (("a", a), ("b", b), ("a_scales", a_scale), ("b_scales", b_scale), ("d", out), ("rows", rows),
                        ("matrices", experts), ("status", status)):
            if x is not None:
                setattr(q, name, x.data_ptr())
        found.run(q, torch.cuda.current_stream().cuda_stream)


@torch.library.custom_op("warpwright::grouped_gemm", mutates_args=("out", "status"))
def _op(a: Tensor, b: Tensor, offsets: Optional[Tensor], counts: Optional[Tensor], experts: Optional[Tensor],
        a_scale: Optional[Tensor], b_scale: Optional[Tensor], out: Tensor, status: Optional[Tensor], usual_rows: int,
        sm_limit: int, plan: str) -> None:
    _run(a, b, offsets, counts, experts, a_scale, b_scale, out, status, usual_rows, sm_limit, plan or None)


@_op.register_fake
def _(a, b, offsets, counts, experts, a_scale, b_scale, out, status, usual_rows, sm_limit, plan) -> None:
    _shape(a, b, offsets, counts)


def grouped_gemm(a, b, offsets, counts, experts, a_scale, b_scale, out, out_dtype, status, usual_rows, sm_limit,
                 plan) -> Tensor:
    shape, _ = _shape(a, b, offsets, counts)
    if out is None:
        out = torch.empty(shape, dtype=_out_dtype(a, out_dtype), device=a.device)
    elif out_dtype is not None and _out_dtype(a, out_dtype) != _tensor("out", out, a.device).dtype:
        raise ValueError(f"out_dtype: out is of {out.dtype}; leave out_dtype away, or let it be the same")
    if out.dtype not in (torch.bfloat16, torch.float32):
        raise TypeError(f"out: its type is {out.dtype}; torch.bfloat16 is taken, for one product torch.float32 too")
    arguments = (a, b, offsets, counts, experts, a_scale, b_scale, out, status, int(usual_rows), int(sm_limit))
    if torch.compiler.is_compiling():
        _op(*arguments, plan or "")
    else:
        _run(*arguments, plan)
    return out
