"""From fp32, fp16 or bf16 to narrow elements with factors, in the forms the kernels take."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _abi
from ._gemm import is_torch


class Quantized(NamedTuple):
    """``values`` with one factor for every block: the element is ``values * scales`` (times ``tensor_scale``)."""

    values: Any
    scales: Any
    scheme: str
    tensor_scale: Any = 1.0
    dtype: str = "e4m3"
    layout: str = "rows"


LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}
SMALLEST = 2.0**-126  # no fp32 factor is smaller
TOKEN, BLOCK, MX, NVFP4 = "token", "block", "mx", "nvfp4"
# Rows and columns that share a factor; 0: all of them.
SCHEMES = {TOKEN: (1, 128), BLOCK: (128, 128), "tensor": (0, 0), "row": (1, 0), MX: (1, 32), NVFP4: (1, 16)}
DTYPES = {MX: ("e4m3", "e5m2", "e2m1"), NVFP4: ("e2m1",)}
TILE = (32, 4, 4)  # factors of 128 rows, by row % 32, row / 32 and column; four columns


def _blocks(extent: int, size: int) -> int:
    return -(-extent // size)


def _check(x: Any, scheme: str, dtype: str | None, layout: str, tensor_scale: Any) -> str:
    """The word of the elements' type."""
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: {scheme!r} is not one of {', '.join(SCHEMES)}")
    allowed = DTYPES.get(scheme, ("e4m3", "e5m2"))
    if dtype is not None and dtype not in allowed:
        raise ValueError(f"dtype: {dtype!r} is not one of {', '.join(allowed)}, which {scheme} has")
    if x.ndim != 2:
        raise ValueError(f"x: a matrix has two dimensions, not {x.ndim}")
    dtype = dtype or allowed[0]
    if dtype == "e2m1" and x.shape[1] % 2:
        raise ValueError(f"x: it has {x.shape[1]} columns; their number must be even, since two e2m1 share a byte")
    layouts = {TOKEN: ("rows", "columns"), BLOCK: ("rows", "columns"), MX: ("rows", "tiles"),
               NVFP4: ("rows", "tiles")}.get(scheme, ("rows",))
    if layout not in layouts:
        raise ValueError(f"layout: {layout!r} is not one of {', '.join(layouts)}, which the factors of {scheme} have")
    if tensor_scale is not None and scheme != NVFP4:
        raise ValueError(f"tensor_scale: only nvfp4 has a factor for the whole tensor, not {scheme}")
    return dtype


def scale_shape(rows: int, columns: int, scheme: str, layout: str) -> tuple[int, ...]:
    tall, wide = (extent or 1 for extent in SCHEMES[scheme])
    down, across = _blocks(rows, tall), _blocks(columns, wide)
    if layout == "columns":
        return across, _blocks(down, 4) * 4
    if layout == "tiles":
        return _blocks(down, 128), _blocks(across, 4), *TILE
    return down, across


def new_problem(rows: int, columns: int, stride: int, source: str, scheme: str, dtype: str, layout: str,
                given: bool) -> _abi.QuantizeProblem:
    p = _abi.new_quantize_problem()
    p.rows, p.columns, p.stride = rows, columns, stride
    p.source, p.kind, p.type = _abi.words("dtype")[source], _abi.words("quantization")[scheme], _abi.words("dtype")[dtype]
    p.layout, p.given_tensor_scale = _abi.words("scale_layout")[layout], int(given)
    return p


def quantize(x: Any, scheme: str = TOKEN, *, dtype: str | None = None, layout: str = "rows",
             tensor_scale: Any = None) -> Quantized:
    """Quantizes a matrix.

    token   one fp32 factor for 128 elements of a row: ``scales`` is [rows, columns / 128], rounded up
    block   one for 128 x 128: [rows / 128, columns / 128]
    row     one for a row: [rows]
    tensor  one for all: []
    mx      one ue8m0 factor for 32 elements of a row: [rows, columns / 32]
    nvfp4   one ue4m3 factor for 16 elements of a row: [rows, columns / 16], and ``tensor_scale``, which may be given

    ``dtype`` is e4m3 or e5m2, of mx e2m1 too, of nvfp4 e2m1 alone. Two e2m1 share a byte of uint8 values
    [rows, columns / 2], the even column in the low half; 8-bit factors are uint8 codes. ``layout`` "columns" gives the
    factors of tokens and blocks as [columns / 128, rows], padded with zeros to a multiple of 4 rows; "tiles" gives
    those of mx and nvfp4 in the tiles of the Blackwell kernels.

    torch tensors on a GPU are quantized there, on the current stream, read once and without copies where the
    last stride is 1; the bits are those of the host. NumPy arrays give ml_dtypes. A block of zeros has factor 1, or the
    smallest there is.

    >>> import numpy as np, warpwright
    >>> x = np.arange(-300, 300, dtype=np.float32).reshape(2, 300)
    >>> q = warpwright.quantize(x, "token")
    >>> q.values.dtype, q.scales.shape, float(q.scales[0, 0] * 448)
    (dtype(float8_e4m3fn), (2, 3), 300.0)
    >>> warpwright.quantize(x, "mx", dtype="e2m1").values.shape
    (2, 150)
    >>> warpwright.quantize(x, "nvfp4", layout="columns")
    Traceback (most recent call last):
    ValueError: layout: 'columns' is not one of rows, tiles, which the factors of nvfp4 have
    """
    torch_tensor = is_torch(x)
    if not torch_tensor:
        x = np.asarray(x)
    dtype = _check(x, scheme, dtype, layout, tensor_scale)
    if torch_tensor:
        # What the library quantizes; its own table of words cannot be asked here, torch.compile traces this function.
        if x.device.type == "cuda" and scheme in (TOKEN, BLOCK) or scheme in DTYPES:
            from . import _torch_quantize

            return Quantized(*_torch_quantize.quantize(x, scheme, dtype, layout, tensor_scale), dtype, layout)
    elif scheme in DTYPES:
        return _numpy_by_library(x, scheme, dtype, layout, tensor_scale)
    values, scales = by_parts(x, scheme, dtype)
    if layout == "columns":
        scales = _by_columns(scales)
    return Quantized(values, scales, scheme, 1.0, dtype, layout)


def _by_columns(scales: Any) -> Any:
    rows = scales.shape[0]
    if is_torch(scales):
        import torch

        return torch.nn.functional.pad(scales.T, (0, -rows % 4)).contiguous()
    return np.ascontiguousarray(np.pad(scales.T, ((0, 0), (0, -rows % 4))))


def by_parts(x: Any, scheme: str, dtype: str) -> tuple[Any, Any]:
    """Values and factors by operations on whole arrays; the bits are those of the library."""
    rows, columns = x.shape
    tall, wide = (extent or max(whole, 1) for extent, whole in zip(SCHEMES[scheme], x.shape))
    down, across = _blocks(rows, tall), _blocks(columns, wide)
    top = LARGEST[dtype]
    wide_x: Any
    scales: Any
    if is_torch(x):
        import torch

        wide_x = torch.zeros(down * tall, across * wide, dtype=torch.float32, device=x.device)
        wide_x[:rows, :columns] = x
        parts = wide_x.view(down, tall, across, wide)
        largest = parts.abs().amax(dim=(1, 3))
        exact = largest * torch.tensor(1 / top, dtype=torch.float32, device=x.device)
        scales = torch.where(largest == 0, torch.ones_like(largest), exact.clamp(min=SMALLEST))
        values = (parts * scales.reciprocal()[:, None, :, None]).clamp(-top, top).view(down * tall, across * wide)
        narrow = torch.float8_e4m3fn if dtype == "e4m3" else torch.float8_e5m2
        values = values[:rows, :columns].contiguous().to(narrow)
    else:
        import ml_dtypes

        wide_x = np.zeros((down * tall, across * wide), np.float32)
        wide_x[:rows, :columns] = x
        parts = wide_x.reshape(down, tall, across, wide)
        largest = np.abs(parts).max(axis=(1, 3), initial=0)
        exact = np.maximum(largest * np.float32(1 / top), np.float32(SMALLEST))
        scales = np.where(largest == 0, np.float32(1), exact).astype(np.float32)
        with np.errstate(invalid="ignore"):  # an infinite element spoils its block
            scaled = parts * (np.float32(1) / scales)[:, None, :, None]
        values = np.clip(scaled, -top, top).reshape(down * tall, across * wide)[:rows, :columns]
        values = values.astype(ml_dtypes.float8_e4m3fn if dtype == "e4m3" else ml_dtypes.float8_e5m2)
    return values, scales.reshape({"tensor": (), "row": (rows,)}.get(scheme, (down, across)))


def _numpy_by_library(x: np.ndarray, scheme: str, dtype: str, layout: str, tensor_scale: Any) -> Quantized:
    import ml_dtypes

    words = {np.dtype(np.float32): "fp32", np.dtype(np.float16): "fp16", np.dtype(ml_dtypes.bfloat16): "bf16"}
    if x.dtype not in words:
        x = x.astype(np.float32)
    x = np.ascontiguousarray(x)
    rows, columns = x.shape
    values = np.empty((rows, columns // 2 if dtype == "e2m1" else columns), np.uint8)
    scales = np.empty(scale_shape(rows, columns, scheme, layout), np.uint8)
    tensor = np.array([1.0 if tensor_scale is None else tensor_scale], np.float32)
    p = new_problem(rows, columns, 0, words[x.dtype], scheme, dtype, layout, tensor_scale is not None)
    p.on_host = 1
    _abi.quantize(p, x.ctypes.data, values.ctypes.data, scales.ctypes.data, tensor.ctypes.data, None)
    if dtype != "e2m1":
        values = values.view(ml_dtypes.float8_e4m3fn if dtype == "e4m3" else ml_dtypes.float8_e5m2)
    return Quantized(values, scales, scheme, float(tensor[0]) if scheme == NVFP4 else 1.0, dtype, layout)


_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def _ue4m3() -> np.ndarray:
    codes = np.arange(256)
    exponent, fraction = codes >> 3 & 15, codes & 7
    values = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0**(exponent - 10.0))
    return np.where(codes & 127 == 127, np.nan, values).astype(np.float32)


def _ue8m0() -> np.ndarray:
    return np.append(2.0**(np.arange(255) - 127.0), np.nan).astype(np.float32)


def _look_up(table: np.ndarray, codes: Any) -> Any:
    if not is_torch(codes):
        return table[codes]
    import torch

    return torch.from_numpy(table).to(codes.device)[codes.long()]


def dequantize(q: Quantized) -> Any:
    """The elements with their factors, in fp32.

    >>> import numpy as np, warpwright
    >>> warpwright.dequantize(warpwright.quantize(np.array([[448, 32, 1, 0]], np.float32), "row")).tolist()
    [[448.0, 32.0, 1.0, 0.0]]
    """
    torch_tensor = is_torch(q.values)
    if torch_tensor:
        import torch

        repeat: Any = lambda s, n, axis: s.repeat_interleave(n, dim=axis)
    else:
        repeat = lambda s, n, axis: np.repeat(s, n, axis=axis)
    if q.dtype == "e2m1":
        low, high = _look_up(_E2M1, q.values & 15), _look_up(_E2M1, q.values >> 4)
        pairs = torch.stack((low, high), 2) if torch_tensor else np.stack((low, high), 2)
        values = pairs.reshape(q.values.shape[0], 2 * q.values.shape[1])
    elif torch_tensor:
        values = q.values.to(torch.float32)
    else:
        values = np.asarray(q.values).astype(np.float32)
    rows, columns = values.shape
    if q.scheme == "tensor":
        return values * q.scales * q.tensor_scale
    if q.scheme == "row":
        return values * q.scales[:, None] * q.tensor_scale
    tall, wide = SCHEMES[q.scheme]
    scales = q.scales
    if q.layout == "columns":
        scales = scales.T
    elif q.layout == "tiles":
        down, across = scales.shape[:2]
        order = (0, 3, 2, 1, 4)
        scales = (scales.permute(order) if torch_tensor else scales.transpose(order)).reshape(down * 128, across * 4)
    scales = scales[:_blocks(rows, tall), :_blocks(columns, wide)]
    if q.scheme in DTYPES:
        scales = _look_up(_ue8m0() if q.scheme == MX else _ue4m3(), scales)
    factors = repeat(repeat(scales, tall, 0), wide, 1)[:rows, :columns]
    if torch_tensor:
        return values * factors * q.tensor_scale
    with np.errstate(invalid="ignore"):  # zero times infinity
        return values * factors * q.tensor_scale
