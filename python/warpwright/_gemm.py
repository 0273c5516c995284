"""gemm(): torch tensors on the GPU, NumPy arrays in the simulator."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _tool
from ._errors import WarpwrightError

if TYPE_CHECKING:
    import torch
    from numpy.typing import DTypeLike, NDArray

# The word of a type, and what NumPy (with ml_dtypes) calls it.
ELEMENTS = {"bf16": "bfloat16", "fp16": "float16", "tf32": "float32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
RESULTS = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def is_torch(x: Any) -> bool:
    return type(x).__module__.split(".")[0] == "torch" or hasattr(x, "__torch_function__")


@overload
def gemm(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None, dtype: None = None,
         out_dtype: torch.dtype | str | None = None, c: torch.Tensor | None = None, alpha: float = 1.0,
         beta: float = 0.0, bias: torch.Tensor | None = None, activation: str = "none",
         residual: torch.Tensor | None = None, a_scale: torch.Tensor | None = None,
         b_scale: torch.Tensor | None = None, out_scale: torch.Tensor | None = None, accumulation: str = "fast",
         deterministic: bool = False, sm_limit: int = 0, plan: str | None = None,
         target: str | None = None) -> torch.Tensor: ...


@overload
def gemm(a: NDArray[Any], b: NDArray[Any], *, out: NDArray[Any] | None = None, dtype: DTypeLike | None = None,
         out_dtype: DTypeLike | None = None, alpha: float = 1.0, plan: str | None = None,
         target: str | None = None) -> NDArray[Any]: ...


def gemm(a: Any, b: Any, *, out: Any = None, dtype: Any = None, out_dtype: Any = None, c: Any = None,
         alpha: float = 1.0, beta: float = 0.0, bias: Any = None, activation: str = "none", residual: Any = None,
         a_scale: Any = None, b_scale: Any = None, out_scale: Any = None, accumulation: str = "fast",
         deterministic: bool = False, sm_limit: int = 0, plan: str | None = None, target: str | None = None) -> Any:
    """``epilogue(alpha * a @ b.T + beta * c)``, ``a`` [m, k] and ``b`` [n, k] (torch: or both with a leading batch).

    torch tensors (bf16, fp16, float8_e4m3fn, float8_e5m2) run on their Hopper GPU, on the current stream. Any strides
    are taken without a copy as long as one of the last two is 1. ``out`` receives the result; otherwise a tensor of
    ``out_dtype`` (the type of ``a``, bf16 for 8-bit types) is made.

    bias         [n], added to every row; ``[m, 1]``, added to every column
    activation   'none', 'relu', 'gelu' (tanh), 'gelu_erf' or 'silu'
    residual     [m, n], added after the activation
    a_scale, b_scale   fp32 factors of 8-bit operands: one, or one for every row of ``a`` and of ``b``
    out_scale    fp32, one: the result is multiplied by it before it becomes e4m3
    accumulation 'fast', or 'promoted': 8-bit products are summed in fp32 every 128 elements
    deterministic  the same bits on any number of SMs
    sm_limit     SMs the kernel may occupy; 0: all
    plan         a plan by name, as ``explain`` prints it

    NumPy arrays run in the simulator ``target`` ('sim:sm90', the default, 'sim:sm80', 'sim:sm100', ...), and a mistake
    in the kernel raises ``WarpwrightError`` with the checker's report.

    dtype        what the operands are rounded to: 'bf16', 'fp16', 'tf32', 'e4m3' or a NumPy type. Without it their own
                 type where the kernels have it, else bf16
    out_dtype    what the kernel writes, and the type of the array: 'bf16', 'fp16' or 'fp32'. Without it a float32
                 array with what the kernel writes by default

    Raises ValueError or TypeError, with a sentence, for what cannot be multiplied; nothing is launched then.

    >>> import numpy as np, warpwright
    >>> a, b = np.eye(64), np.arange(32 * 64).reshape(32, 64) % 7
    >>> bool((warpwright.gemm(a, b) == b.T).all())
    True
    >>> warpwright.gemm(a, b, dtype="fp16", out_dtype="fp16", target="sim:sm100").dtype
    dtype('float16')
    >>> warpwright.gemm(a, b[:, :40])
    Traceback (most recent call last):
    ValueError: b: it has 40 columns, a has 64; both are k
    """
    if is_torch(a) or is_torch(b):
        from . import _torch

        if target not in (None, "sm90"):
            raise ValueError(f"target: torch tensors are multiplied on the GPU, not by {target!r}")
        if dtype is not None:
            raise ValueError("dtype: torch tensors are multiplied as they are; convert them, or leave it out")
        return _torch.gemm(a, b, out=out, c=c, alpha=alpha, beta=beta, bias=bias, activation=activation,
                           residual=residual, a_scale=a_scale, b_scale=b_scale, out_dtype=out_dtype,
                           out_scale=out_scale, accumulation=accumulation, deterministic=deterministic,
                           sm_limit=sm_limit, plan=plan)
    unused = {"c": c, "bias": bias, "residual": residual, "a_scale": a_scale, "b_scale": b_scale,
              "out_scale": out_scale, "beta": beta or None, "activation": None if activation == "none" else activation,
              "accumulation": None if accumulation == "fast" else accumulation, "sm_limit": sm_limit or None}
    for name, value in unused.items():
        if value is not None:
            raise ValueError(f"{name}: the simulator multiplies NumPy arrays without an epilogue; leave it out")
    return _simulate(a, b, out, float(alpha), dtype, out_dtype, target or "sim:sm90", plan)


def type_word(name: str, wanted: Any, known: dict[str, str]) -> str:
    """The word for a type that is named or is a NumPy type."""
    if isinstance(wanted, str) and (word := {"fp8": "e4m3"}.get(wanted, wanted)) in known:
        return word
    try:
        spelled = np.dtype(wanted).name
    except TypeError:
        spelled = None
    for word, numpy_name in known.items():
        if spelled == numpy_name:
            return word
    raise ValueError(f"{name}: {wanted!r} is not one of {', '.join(known)}")


def numpy_type(word: str) -> np.dtype[Any]:
    import ml_dtypes  # gives NumPy the narrow types

    name = {**ELEMENTS, **RESULTS}[word]
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def matrix(name: str, x: Any) -> NDArray[Any]:
    array = np.asarray(x)
    if array.ndim != 2:
        raise ValueError(f"{name}: a matrix has two dimensions, not {array.ndim}")
    if array.dtype.kind not in "fiu" and "float" not in array.dtype.name:
        raise TypeError(f"{name}: an array of numbers is needed, not of {array.dtype}")
    return array


def _operand_word(a: NDArray[Any], b: NDArray[Any]) -> str:
    own = {name: word for word, name in ELEMENTS.items() if word != "tf32"}
    words = [own.get(x.dtype.name, "bf16") for x in (a, b)]
    if words[0] != words[1]:
        raise TypeError(f"b: its type is {b.dtype}, that of a is {a.dtype}; dtype says what both are rounded to")
    return words[0]


def _simulate(a: Any, b: Any, out: Any, alpha: float, dtype: Any, out_dtype: Any, target: str,
              plan: str | None) -> NDArray[Any]:
    if not target.startswith("sim:"):
        raise ValueError(f"target: NumPy arrays are multiplied by a simulator, not by {target!r}")
    a, b = matrix("a", a), matrix("b", b)
    word = _operand_word(a, b) if dtype is None else type_word("dtype", dtype, ELEMENTS)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"b: it has {b.shape[1]} columns, a has {a.shape[1]}; both are k")
    m, n, k = a.shape[0], b.shape[0], a.shape[1]
    out_word = None if out_dtype is None else type_word("out_dtype", out_dtype, RESULTS)
    result_type = np.dtype(np.float32) if out_word is None else numpy_type(out_word)
    if out is None:
        result = np.zeros((m, n), result_type)
    elif not isinstance(out, np.ndarray):
        raise TypeError(f"out: a NumPy array is needed, not {type(out).__name__}")
    elif out.shape != (m, n) or out.dtype != result_type:
        raise ValueError(f"out: an array of {result_type}, {m} x {n}, is needed, not of {out.dtype}, {out.shape}")
    else:
        result = out
    if 0 in (m, n):
        return result
    with tempfile.TemporaryDirectory() as folder:
        path = {name: os.path.join(folder, name) for name in ("a", "b", "d")}
        a.astype(numpy_type(word)).tofile(path["a"])
        b.astype(numpy_type(word)).tofile(path["b"])
        arguments = ["gemm", "--m", str(m), "--n", str(n), "--k", str(k), "--dtype", word, "--alpha", repr(alpha),
                     "--target", target, "--a", path["a"], "--b", path["b"], "--d", path["d"]]
        if out_word:
            arguments += ["--out-dtype", out_word]
        if plan:
            arguments += ["--plan", plan]
        document = _tool.run(*arguments)
        if not document["ok"]:
            raise WarpwrightError(document["report"])
        written = numpy_type(document["out_dtype"])
        result[...] = np.fromfile(path["d"], written).reshape(m, n).astype(result_type)
    return result
