"""Quantization of torch tensors by the library, and its custom op."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from . import _abi
from ._quantize import NVFP4, new_problem, scale_shape
from ._torch_describe import DTYPES, is_watched
from ._torch_transforms import refuse_vmap

VALUES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e2m1": torch.uint8}


def _empty(x: Tensor, scheme: str, dtype: str, layout: str) -> tuple[Tensor, Tensor, Tensor]:
    rows, columns = x.shape
    values = torch.empty(rows, columns // 2 if dtype == "e2m1" else columns, dtype=VALUES[dtype], device=x.device)
    narrow = torch.uint8 if scheme in ("mx", NVFP4) else torch.float32
    scales = torch.empty(scale_shape(rows, columns, scheme, layout), dtype=narrow, device=x.device)
    return values, scales, torch.empty(1 if scheme == NVFP4 else 0, dtype=torch.float32, device=x.device)


def _run(x: Tensor, scheme: str, dtype: str, layout: str, given: Optional[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    if x.stride(1) != 1 or (x.shape[0] > 1 and x.stride(0) < x.shape[1]):
        x = x.contiguous()
    values, scales, tensor = _empty(x, scheme, dtype, layout)
    if given is not None:
        tensor.copy_(given.reshape(1))
    stride = x.stride(0) if x.shape[0] > 1 else x.shape[1]
    p = new_problem(x.shape[0], x.shape[1], stride, DTYPES[x.dtype], scheme, dtype, layout, given is not None)
    pointers = (x.data_ptr(), values.data_ptr(), scales.data_ptr(), tensor.data_ptr() if scheme == NVFP4 else None)
    if x.device.type == "cuda":
        with torch.cuda.device(x.device):
            _abi.quantize(p, *pointers, torch.cuda.current_stream().cuda_stream)
    else:
        p.on_host = 1
        _abi.quantize(p, *pointers, None)
    return values, scales, tensor


@torch.library.custom_op(
    "warpwright::quantize", mutates_args=(),
    schema="(Tensor x, str scheme, str dtype, str layout, Tensor? tensor_scale) -> (Tensor, Tensor, Tensor)")
def _op(x: Tensor, scheme: str, dtype: str, layout: str,
        tensor_scale: Optional[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    return _run(x, scheme, dtype, layout, tensor_scale)


@_op.register_fake
def _(x: Tensor, scheme: str, dtype: str, layout: str,
      tensor_scale: Optional[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    return _empty(x, scheme, dtype, layout)


refuse_vmap(_op, "quantize: vmap does not go through it; quantize the matrices one by one, or their rows as one matrix")


def quantize(x: Tensor, scheme: str, dtype: str, layout: str, tensor_scale: Any) -> tuple[Tensor, Tensor, str, Any]:
    if DTYPES.get(x.dtype) not in ("bf16", "fp16", "fp32"):
        raise TypeError(f"x: its type is {x.dtype}; torch.bfloat16, torch.float16 and torch.float32 are taken")
    if x.device.type not in ("cuda", "cpu", "meta"):
        raise ValueError(f"x: it is on {x.device}; tensors on a GPU and on the CPU are quantized")
    if tensor_scale is not None:
        if not isinstance(tensor_scale, Tensor):
            tensor_scale = torch.full((1,), float(tensor_scale), dtype=torch.float32, device=x.device)
        if tensor_scale.numel() != 1 or tensor_scale.dtype != torch.float32 or tensor_scale.device != x.device:
            raise ValueError(f"tensor_scale: one torch.float32 on {x.device} is needed, not {tensor_scale.numel()} of "
                             f"{tensor_scale.dtype} on {tensor_scale.device}")
    run = _op if is_watched(x) else _run
    values, scales, tensor = run(x, scheme, dtype, layout, tensor_scale)
    return values, scales, scheme, tensor if scheme == NVFP4 else 1.0
