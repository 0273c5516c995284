"""Products of torch tensors on the CPU by the kernels in the simulator."""

from __future__ import annotations

from typing import Any, Optional

import ml_dtypes
import numpy as np
import torch
from torch import Tensor

from . import _abi, _numpy, _numpy_grouped, _torch_describe, _torch_grouped_describe
from ._gemm import named_plan
from ._torch_reference_grouped import clamped

# NumPy has no word for these types; they are handed over as bits of the same size.
BITS = {torch.bfloat16: (torch.int16, ml_dtypes.bfloat16), torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
        torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2)}


def array_of(x: Optional[Tensor]) -> Any:
    if x is None:
        return None
    if x.dtype not in BITS:
        return x.detach().contiguous().numpy()
    bits, element = BITS[x.dtype]
    return x.detach().contiguous().view(bits).numpy().view(element)


def stored(x: Tensor, major: int) -> Any:
    """An operand as it lies in memory."""
    return array_of(x) if major == _abi.MAJOR_K else array_of(x.transpose(-1, -2)).swapaxes(-1, -2)


def tensor_of(x: Any, dtype: torch.dtype) -> Tensor:
    if dtype not in BITS:
        return torch.from_numpy(x)
    bits, _ = BITS[dtype]
    return torch.from_numpy(x.view(np.int16 if bits == torch.int16 else np.uint8)).view(dtype)


def gemm(x: _torch_describe.Operands, settings: _torch_describe.Settings, target: str) -> None:
    x, product = _torch_describe.describe(x, settings)  # refuses what a GPU would refuse
    if settings.sm_limit:
        raise ValueError("sm_limit: the simulator has as many SMs as the chip; leave it out")
    batch = x.out.shape[:-2]
    a, b = (array_of(t.expand(*batch, *t.shape[-2:])) for t in (x.a, x.b))
    word = _torch_describe.DTYPES[x.out.dtype]

    def factors(scale: Optional[Tensor]) -> Any:
        if scale is not None and product.scaling == "row_column":
            scale = scale.reshape(*batch, -1)
        return array_of(scale)

    d = _numpy.gemm(a, b, out=None, dtype=product.a.type, out_dtype=word, c=array_of(x.c), alpha=settings.alpha,
                    beta=settings.beta, bias=array_of(x.bias), activation=settings.activation,
                    residual=array_of(x.residual), a_scale=factors(x.a_scale), b_scale=factors(x.b_scale),
                    out_scale=array_of(x.out_scale), accumulation=settings.accumulation, target=target,
                    plan=named_plan(settings.plan), epilogue=settings.epilogue or None)
    x.out.copy_(tensor_of(d, x.out.dtype))


def grouped_gemm(x: _torch_grouped_describe.Operands, settings: _torch_grouped_describe.Settings, target: str) -> None:
    product = _torch_grouped_describe.describe(x, settings)
    if settings.sm_limit:
        raise ValueError("sm_limit: the simulator has as many SMs as the chip; leave it out")
    faults, table = 0, None
    if product.kind != _abi.GROUPS_NONE:
        x, table, faults = clamped(x, product.kind, product.matrices)
    names = {_abi.GROUPS_CONTIGUOUS: "offsets", _abi.GROUPS_MASKED: "counts", _abi.GROUPS_BY_DEPTH: "depths"}
    tables = {name: array_of(table) if names.get(product.kind) == name else None for name in names.values()}
    out = array_of(x.out).copy()
    scales = None if x.scales_out is None else array_of(x.scales_out).copy()
    _numpy_grouped.grouped_gemm(
        stored(x.a, product.majors[0]), stored(x.b, product.majors[1]), **tables,
        experts=array_of(x.experts), index=array_of(x.index),
        a_scale=array_of(x.a_scale), b_scale=array_of(x.b_scale), bias=array_of(x.bias), activation=settings.activation, out=out,
        out_dtype=product.out, scales_out=scales, accumulate=settings.accumulate, plan=named_plan(settings.plan),
        target=target, epilogue=settings.epilogue or None, beta=settings.beta)
    x.out.copy_(tensor_of(out, x.out.dtype))
    if x.scales_out is not None:
        x.scales_out.copy_(tensor_of(scales, torch.float32))
    if x.status is not None:
        x.status.fill_(faults)
