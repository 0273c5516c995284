"""Grouped products of tensors on the CPU, by torch, with what the kernels do to a table that is not legal."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from . import _abi
from ._grouped import SCALE_BLOCK
from ._quantize import TOKEN, by_parts
from ._torch_grouped_describe import Operands, Product, Settings, describe, problem_of
from ._torch_reference import swiglu

# Bits of a status word (include/warpwright/tile/group_table.h).
OFFSETS_DECREASE, ROWS_OUT_OF_RANGE, MATRIX_OUT_OF_RANGE, DEPTH_UNALIGNED, INDEX_OUT_OF_RANGE = 1, 2, 4, 32, 64


class Part(NamedTuple):
    """What one group has: rows of a, or columns of both operands; and where the result begins."""

    begin: int
    end: int
    matrix: int


def _unsigned(value: int) -> int:
    return value & 0xFFFFFFFF


def parts_of(table: Tensor, kind: int, extent: int, unit: int, experts: Optional[Tensor],
             matrices: int) -> tuple[list[Optional[Part]], int]:
    """A part for each group, None for one that is skipped, and the faults of the table. ``extent`` is what there is:
    rows, columns, or the room of a slot."""
    faults = 0
    values = [_unsigned(value) for value in table.tolist()]
    if any(value > extent for value in values):
        faults |= ROWS_OUT_OF_RANGE
    if any(min(value, extent) % unit for value in values):
        faults |= DEPTH_UNALIGNED
    ends = [min(value, extent) // unit * unit for value in values]
    if kind == _abi.GROUPS_MASKED:
        spans = [(0, end) for end in ends]
    else:
        spans, reached = [], ends[0] if ends else 0
        for end in ends[1:]:
            if end < reached:
                faults |= OFFSETS_DECREASE
            spans.append((reached, max(reached, end)))
            reached = max(reached, end)
    of_groups = range(len(spans)) if experts is None else experts.tolist()
    parts: list[Optional[Part]] = []
    for (begin, end), matrix in zip(spans, of_groups):
        if kind == _abi.GROUPS_BY_DEPTH:
            matrix = 0
        elif matrix >= matrices:
            faults |= MATRIX_OUT_OF_RANGE
        parts.append(Part(begin, end, matrix) if 0 <= matrix < max(matrices, 1) else None)
    return parts, faults


def _with_factors(x: Tensor, scale: Optional[Tensor], rows_each: int) -> Tensor:
    wide = x.float()
    if scale is None:
        return wide
    factors = scale.repeat_interleave(rows_each, -2).repeat_interleave(SCALE_BLOCK, -1)
    return wide * factors[..., :x.shape[-2], :x.shape[-1]]


def _extent(x: Operands) -> int:
    """What the table counts: columns, rows, or rows that are gathered."""
    return int(x.a.shape[-1] if x.depths is not None else x.a.shape[-2] if x.index is None else x.index.numel())


def gathered(index: Tensor, rows: int, parts: list[Optional[Part]]) -> tuple[Tensor, int]:
    """The rows of the table where those that are not there become ``rows``, and the fault; rows that no group has are
    not looked up."""
    outside = (index < 0) | (index >= rows)
    used = any(bool(outside[part.begin:part.end].any()) for part in parts if part is not None)
    return torch.where(outside, rows, index).long(), INDEX_OUT_OF_RANGE if used else 0


def with_zero_row(x: Tensor) -> Tensor:
    return torch.cat([x, x.new_zeros(1, *x.shape[1:])]) if x.element_size() > 1 else torch.cat(
        [x.view(torch.uint8), x.view(torch.uint8).new_zeros(1, *x.shape[1:])]).view(x.dtype)


def grouped_gemm(x: Operands, settings: Settings) -> None:
    product: Product = describe(x, settings)
    problem = problem_of(product)
    _abi.raise_on(_abi.library().ww_grouped_validate(ctypes.byref(problem)))
    a = _with_factors(x.a, x.a_scale, 1)
    b = _with_factors(x.b, x.b_scale, product.b_scale_rows)

    def own_epilogue(sums: Tensor, matrix: int, first: int, here: Any, batch: int) -> Tensor:
        """By the library, which computes the text with the bits of the kernels."""
        made = sums.contiguous().clone()
        bias = row_bias = None
        if x.bias is not None and product.bias is not None:
            by_row = product.bias[2] == "row_bias"
            mine = x.bias[here] if by_row else x.bias if x.bias.dim() == 1 else x.bias[matrix]
            mine = mine.detach().float().contiguous()
            bias, row_bias = (None, mine) if by_row else (mine, None)
        _abi.apply_formula_to_group(settings.epilogue, made.data_ptr(), made.shape[0], made.shape[1], first, batch,
                                    None if bias is None else bias.data_ptr(),
                                    None if row_bias is None else row_bias.data_ptr(), settings.beta)
        return made

    # `first` is the row of D in which they begin, `here` where the biases of rows lie.
    def finish(sums: Tensor, matrix: int, rows: Tensor, scales: Optional[Tensor], first: int = 0, here: Any = ...,
               batch: Optional[int] = None) -> None:
        if settings.epilogue:
            sums = own_epilogue(sums, matrix, first, here, matrix if batch is None else batch)
        elif x.bias is not None:
            sums = sums + (x.bias if x.bias.dim() == 1 else x.bias[matrix]).float()
        if settings.activation == "swiglu":
            sums = swiglu(sums)
        if scales is None:
            rows.copy_(sums + rows if settings.accumulate else sums)
        else:
            values, factors = by_parts(sums, TOKEN, "e4m3")
            rows.copy_(values)
            scales.copy_(factors)

    table = next((t for t in (x.offsets, x.counts, x.depths) if t is not None), None)
    faults = 0
    if table is None:
        finish(a @ b.T, 0, x.out, x.scales_out)
    else:
        unit = SCALE_BLOCK if x.depths is not None and x.a_scale is not None else 1
        parts, faults = parts_of(table, product.kind, _extent(x), unit, x.experts, product.matrices)
        if x.index is not None:
            rows_of_a, fault = gathered(x.index, x.a.shape[0], parts)
            a, faults = with_zero_row(a)[rows_of_a], faults | fault
        for group, part in enumerate(parts):
            if x.depths is not None and part is not None:
                finish(a[:, part.begin:part.end] @ b[:, part.begin:part.end].T, 0, x.out[group], None, batch=group)
            elif part is not None and part.end > part.begin:
                rows = slice(part.begin, part.end)
                here = (group, rows) if x.counts is not None else rows
                first = part.begin + (group * x.a.shape[-2] if x.counts is not None else 0)
                finish(a[here] @ b[part.matrix].T, part.matrix, x.out[here],
                       None if x.scales_out is None else x.scales_out[here], first, here)
    if x.status is not None:
        x.status.fill_(faults)


def clamped(x: Operands, kind: int, matrices: int) -> tuple[Operands, Tensor, int]:
    """The operands with the experts and gathered rows as the kernels take them, the table, and the faults of what was
    given."""
    table = next(t for t in (x.offsets, x.counts, x.depths) if t is not None)
    extent = _extent(x)
    unit = SCALE_BLOCK if x.depths is not None and x.a_scale is not None else 1
    parts, faults = parts_of(table, kind, extent, unit, x.experts, matrices)
    legal = table.clone()
    if faults & ~MATRIX_OUT_OF_RANGE:
        values = [min(_unsigned(v), extent) // unit * unit for v in table.tolist()]
        if kind != _abi.GROUPS_MASKED:
            for i in range(1, len(values)):
                values[i] = max(values[i], values[i - 1])
        legal = torch.tensor(values, dtype=torch.int32)
    if any(part is None for part in parts):
        x = x._replace(experts=torch.tensor([-1 if part is None else part.matrix for part in parts], dtype=torch.int32))
    if x.index is not None:
        rows_of_a, fault = gathered(x.index, x.a.shape[0], parts)
        # One row more, of zeros, for those that are not there.
        x = x._replace(a=with_zero_row(x.a), a_scale=None if x.a_scale is None else with_zero_row(x.a_scale),
                       index=rows_of_a.int())
        faults |= fault
    return x, legal, faults
