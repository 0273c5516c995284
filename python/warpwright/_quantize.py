"""From fp32 or bf16 to narrow elements with factors, in the forms the kernels take."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._gemm import is_torch


class Quantized(NamedTuple):
    """``values`` with one factor for every block: the element is ``values * scales`` (times ``tensor_scale``)."""

    values: Any
    scales: Any
    scheme: str
    tensor_scale: float = 1.0


LARGEST = 448.0  # of e4m3
TOKEN, BLOCK = "token", "block"
SCHEMES = {TOKEN: (1, 128), BLOCK: (128, 128), "tensor": None, "row": None}


def _blocks(extent: int, size: int) -> int:
    return -(-extent // size)


def quantize(x: Any, scheme: str = TOKEN) -> Quantized:
    """Quantizes a matrix to e4m3.

    token   one fp32 factor for 128 elements of a row: ``scales`` is [rows, columns / 128], rounded up
    block   one for 128 x 128: [rows / 128, columns / 128]
    row     one for a row: [rows]
    tensor  one for all: []

    torch tensors stay on their device; NumPy arrays give ml_dtypes.float8_e4m3fn. A block of zeros has factor 1.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: {scheme!r} is not one of {', '.join(SCHEMES)}")
    if not is_torch(x):
        x = np.asarray(x)
    if x.ndim != 2:
        raise ValueError(f"x: a matrix has two dimensions, not {x.ndim}")
    rows, columns = x.shape
    tall, wide = {"tensor": (max(rows, 1), max(columns, 1)), "row": (1, max(columns, 1))}.get(scheme) or SCHEMES[scheme]
    down, across = _blocks(rows, tall), _blocks(columns, wide)
    if is_torch(x):
        import torch

        wide_x = torch.zeros(down * tall, across * wide, dtype=torch.float32, device=x.device)
        wide_x[:rows, :columns] = x
        parts = wide_x.view(down, tall, across, wide)
        largest = parts.abs().amax(dim=(1, 3))
        scales = torch.where(largest > 0, largest / LARGEST, torch.ones_like(largest))
        values = (parts / scales[:, None, :, None]).clamp(-LARGEST, LARGEST).view(down * tall, across * wide)
        values = values[:rows, :columns].contiguous().to(torch.float8_e4m3fn)
    else:
        import ml_dtypes

        wide_x = np.zeros((down * tall, across * wide), np.float32)
        wide_x[:rows, :columns] = x
        parts = wide_x.reshape(down, tall, across, wide)
        largest = np.abs(parts).max(axis=(1, 3), initial=0)
        scales = np.where(largest > 0, largest / np.float32(LARGEST), np.float32(1)).astype(np.float32)
        values = np.clip(parts / scales[:, None, :, None], -LARGEST, LARGEST).reshape(down * tall, across * wide)
        values = values[:rows, :columns].astype(ml_dtypes.float8_e4m3fn)
    return Quantized(values, scales.reshape({"tensor": (), "row": (rows,)}.get(scheme, (down, across))), scheme)


def dequantize(q: Quantized) -> Any:
    """The elements with their factors, in fp32."""
    rows, columns = q.values.shape
    if is_torch(q.values):
        import torch

        values, repeat = q.values.to(torch.float32), lambda s, n, axis: s.repeat_interleave(n, dim=axis)
    else:
        values, repeat = np.asarray(q.values).astype(np.float32), lambda s, n, axis: np.repeat(s, n, axis=axis)
    if q.scheme == "tensor":
        return values * q.scales * q.tensor_scale
    if q.scheme == "row":
        return values * q.scales[:, None] * q.tensor_scale
    tall, wide = SCHEMES[q.scheme]
    factors = repeat(repeat(q.scales, tall, 0), wide, 1)[:rows, :columns]
    return values * factors * q.tensor_scale
