"""The gradient of a grouped product of bf16: grouped products again, of other groups.

A group of rows has D = A @ B.T, so dA = dD @ B is a product by the same groups of rows, and dB = dD.T @ A sums over the
rows, which are groups along k. A group along k has dA.T = B.T @ dD.T for its columns, which are groups of rows.
"""

from __future__ import annotations

import functools
from typing import Any, Optional

import torch
from torch import Tensor

from . import _torch_grouped, _torch_native
from ._torch_grouped_describe import Operands, Settings, shape_of
from ._torch_launch import MOST_PLANS
from ._torch_transforms import refuse_vmap, register_autocast, register_gradient

BIAS = 9  # its place among the arguments of grouped_gemm
UNIT = 8  # elements of bf16 that the kernels move at once


def _room(a: Tensor, b: Tensor, offsets: Optional[Tensor], counts: Optional[Tensor], depths: Optional[Tensor],
          out_dtype: torch.dtype) -> Tensor:
    """For the result. Rows of no group have a gradient too: none."""
    return torch.zeros(shape_of(a, b, offsets, counts, depths, "none"), dtype=out_dtype, device=a.device)


def _computed(a: Tensor, b: Tensor, offsets: Optional[Tensor], counts: Optional[Tensor], depths: Optional[Tensor],
              experts: Optional[Tensor], bias: Optional[Tensor], out_dtype: torch.dtype, usual_rows: int, sm_limit: int,
              plan: str) -> Tensor:
    """What the op computes, by the short way of a call like one before."""
    return _torch_grouped.grouped_gemm(a, b, offsets, counts, depths, experts, bias=bias,
                                       out=_room(a, b, offsets, counts, depths, out_dtype), usual_rows=usual_rows,
                                       sm_limit=sm_limit, plan=plan or None)


@torch.library.custom_op("warpwright::grouped_product", mutates_args=())
def _product(a: Tensor, b: Tensor, offsets: Optional[Tensor], counts: Optional[Tensor], depths: Optional[Tensor],
             experts: Optional[Tensor], bias: Optional[Tensor], out_dtype: torch.dtype, usual_rows: int, sm_limit: int,
             plan: str) -> Tensor:
    out = _room(a, b, offsets, counts, depths, out_dtype)
    _torch_grouped.launch(Operands(a, b, offsets, counts, depths, experts, None, None, bias, out, None, None),
                          Settings("none", False, usual_rows, sm_limit, plan))
    return out


@_product.register_fake
def _(a: Tensor, b: Tensor, offsets: Optional[Tensor], counts: Optional[Tensor], depths: Optional[Tensor],
      experts: Optional[Tensor], bias: Optional[Tensor], out_dtype: torch.dtype, *rest: Any) -> Tensor:
    return torch.empty(shape_of(a, b, offsets, counts, depths, "none"), dtype=out_dtype, device=a.device)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, offsets, counts, depths, experts, bias, *_ = inputs
    ctx.save_for_backward(a, b, offsets, counts, depths, experts)
    ctx.bias = None if bias is None else (bias.shape, bias.dtype)


def _group_of_rows(rows: int, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """The group of each row, and whether it has one."""
    row = torch.arange(rows, device=offsets.device, dtype=offsets.dtype)
    group = torch.bucketize(row, offsets[1:], right=True)
    has_group = (row >= offsets[0]) & (group < offsets.numel() - 1)
    return group.clamp(max=max(offsets.numel() - 2, 0)), has_group


def _of_matrices(of_groups: Tensor, experts: Optional[Tensor], matrices: int) -> Tensor:
    """The sums over the groups that share a matrix."""
    if experts is None:
        return of_groups
    used = (experts >= 0).to(of_groups.dtype).view(-1, *[1] * (of_groups.dim() - 1))
    out = of_groups.new_zeros(matrices, *of_groups.shape[1:])
    return out.index_add(0, experts.clamp(min=0).long(), of_groups * used)


def _turned(x: Tensor) -> Tensor:
    """x.T with rows without gaps, which zeros fill up to whole units."""
    return torch.nn.functional.pad(x.T.contiguous(), (0, -x.shape[0] % UNIT))


def matrices_gradient(gradient: Tensor, a: Tensor, offsets: Tensor, sm_limit: int = 0) -> Tensor:
    """[groups, n, k] of rows one after the other, fp32: sums over the rows of each group."""
    # The kernels take both as they lie, if there is more than one row and rows are whole units.
    if gradient.shape[0] > 1 and gradient.shape[1] % UNIT == 0 and a.shape[1] % UNIT == 0:
        return _torch_grouped.grouped_gemm(gradient.T, a.T, depths=offsets, sm_limit=sm_limit)
    return _torch_grouped.grouped_gemm(_turned(gradient), _turned(a), depths=offsets, sm_limit=sm_limit)


def _by_columns(x: Tensor, matrices: Tensor, depths: Tensor) -> Tensor:
    """x.T times the transposed matrix of each of its rows; zero where a row has no group."""
    depth, columns = -x.shape[0] % UNIT, -matrices.shape[1] % UNIT
    rows = _turned(x)
    wide = torch.nn.functional.pad(matrices.contiguous(), (0, depth, 0, columns))
    out = torch.zeros(rows.shape[0], wide.shape[1], dtype=x.dtype, device=x.device)
    _torch_grouped.grouped_gemm(rows, wide, offsets=depths, out=out)
    return out[:, :matrices.shape[1]]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    a, b, offsets, counts, depths, experts = ctx.saved_tensors
    narrow = gradient.to(a.dtype).contiguous()
    left = right = added = None
    if depths is not None:
        if ctx.needs_input_grad[0]:
            left = _by_columns(b, narrow, depths).T.contiguous()
        if ctx.needs_input_grad[1]:
            right = _by_columns(a, narrow.transpose(1, 2), depths).T.contiguous()
        return (left, right) + (None,) * 9
    rows = a.shape[-2]
    of_bias = ctx.bias is not None and ctx.needs_input_grad[6]
    # Rows of no group count as zero. Where they lie before the first group and after the last one no product reads them.
    all_used = counts is None and experts is None
    flat, used = narrow, a
    if counts is None:
        table = offsets
        if of_bias or not all_used:
            group, has_group = _group_of_rows(rows, offsets)
    else:
        # Slots as rows one after the other.
        groups = a.shape[0]
        table = torch.arange(0, (groups + 1) * rows, rows, device=a.device, dtype=torch.int32)
        row = torch.arange(groups * rows, device=a.device, dtype=torch.int32)
        group = torch.div(row, rows, rounding_mode="floor").long()
        has_group = row - group * rows < counts[group]
    if experts is not None:
        has_group = has_group & (experts[group] >= 0)
    if of_bias or not all_used:
        flat = torch.where(has_group[:, None], narrow.reshape(-1, narrow.shape[-1]), narrow.new_zeros(()))
    if ctx.needs_input_grad[0]:
        left = torch.zeros_like(a, memory_format=torch.contiguous_format)
        _torch_grouped.grouped_gemm(flat.view(narrow.shape), b.transpose(1, 2), offsets=offsets,
                                    counts=counts, experts=experts, out=left)
    if ctx.needs_input_grad[1]:
        if not all_used:
            used = torch.where(has_group[:, None], a.reshape(-1, a.shape[-1]), a.new_zeros(()))
        right = _of_matrices(matrices_gradient(flat, used, table), experts, b.shape[0]).to(b.dtype)
    if of_bias:
        wide = flat.float()
        if len(ctx.bias[0]) == 1:
            added = wide.sum(0).to(ctx.bias[1])
        else:
            sums = wide.new_zeros(table.numel() - 1, wide.shape[1]).index_add(0, group, wide)
            added = _of_matrices(sums, experts, b.shape[0]).to(ctx.bias[1])
    return (left, right, None, None, None, None, added) + (None,) * 4


_differentiable = register_gradient(_product, _computed, _keep, _backward)
register_autocast("grouped_product", _product)
refuse_vmap(_product, "grouped_gemm: vmap does not go through it; its groups are what a mapped dimension would be")


def _backward_of(bias: Any, ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    ctx.bias = bias
    return _backward(ctx, gradient)


@functools.lru_cache(maxsize=MOST_PLANS)
def _apply_of(module: Any, bias: Any) -> Any:
    return _torch_native.differentiable(module, "Groups", functools.partial(_backward_of, bias))


def learning(module: Any, bias: Optional[Tensor]) -> tuple[Any, ...]:
    """What the compiled module keeps of a call, in the order of its Learning: the tensors are its first six and the bias,
    in the order of the op. Rows of no group are not written."""
    apply = _apply_of(module, None if bias is None else (bias.shape, bias.dtype))
    return apply, (*range(6), BIAS), tuple(range(6)), True


def grouped_gemm(a: Tensor, b: Tensor, offsets: Optional[Tensor], counts: Optional[Tensor], depths: Optional[Tensor],
                 experts: Optional[Tensor], bias: Optional[Tensor], out_dtype: torch.dtype, usual_rows: int,
                 sm_limit: int, plan: str) -> Tensor:
    made: Tensor = _differentiable(a, b, offsets, counts, depths, experts, bias, out_dtype, usual_rows, sm_limit, plan)
    return made
