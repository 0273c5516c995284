"""gemm(): torch tensors on the GPU, NumPy arrays in the simulator."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from . import _tool
from ._errors import WarpwrightError


def is_torch(x: Any) -> bool:
    return type(x).__module__.split(".")[0] == "torch" or hasattr(x, "__torch_function__")


def gemm(a: Any, b: Any, *, out: Any = None, c: Any = None, alpha: float = 1.0, beta: float = 0.0, bias: Any = None,
         activation: str = "none", residual: Any = None, a_scale: Any = None, b_scale: Any = None,
         out_dtype: Any = None, out_scale: Any = None, accumulation: str = "fast", deterministic: bool = False,
         sm_limit: int = 0, plan: str | None = None, target: str | None = None) -> Any:
    """``epilogue(alpha * a @ b.T + beta * c)``, ``a`` [m, k] and ``b`` [n, k] (or both with a leading batch).

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

    NumPy arrays run in the simulator ``target`` ('sim:sm90', the default, or 'sim:sm100'): ``out_dtype`` there is the
    type that the operands are rounded to ('bf16', 'fp16', 'e4m3'), the result is float32, and a mistake in the kernel
    raises ``WarpwrightError`` with the checker's report.

    Raises ValueError or TypeError, with a sentence, for what cannot be multiplied; nothing is launched then.
    """
    if is_torch(a) or is_torch(b):
        from . import _torch

        if target not in (None, "sm90"):
            raise ValueError(f"target: torch tensors are multiplied on the GPU, not by {target!r}")
        return _torch.gemm(a, b, out=out, c=c, alpha=alpha, beta=beta, bias=bias, activation=activation,
                           residual=residual, a_scale=a_scale, b_scale=b_scale, out_dtype=out_dtype,
                           out_scale=out_scale, accumulation=accumulation, deterministic=deterministic,
                           sm_limit=sm_limit, plan=plan)
    used = {"c": c, "bias": bias, "residual": residual, "a_scale": a_scale, "b_scale": b_scale, "out_scale": out_scale}
    for name, value in used.items():
        if value is not None:
            raise ValueError(f"{name}: the simulator multiplies without an epilogue; leave it out")
    if activation != "none" or beta != 0:
        raise ValueError("activation, beta: the simulator multiplies without an epilogue; leave them out")
    return _simulate(a, b, out, alpha, "bf16" if out_dtype is None else out_dtype, target or "sim:sm90", plan)


def _simulate(a: Any, b: Any, out: Any, alpha: float, dtype: str, target: str, plan: str | None) -> np.ndarray:
    import ml_dtypes

    types = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "e4m3": ml_dtypes.float8_e4m3fn}
    if dtype not in types:
        raise ValueError(f"out_dtype: {dtype!r} is not one of {', '.join(types)}")
    if not target.startswith("sim:"):
        raise ValueError(f"target: NumPy arrays are multiplied by a simulator, not by {target!r}")
    a, b = np.asarray(a), np.asarray(b)
    for name, x in (("a", a), ("b", b)):
        if x.ndim != 2:
            raise ValueError(f"{name}: a matrix has two dimensions, not {x.ndim}")
        if x.dtype.kind not in "fiuV" or x.dtype.kind == "V" and "float" not in x.dtype.name:
            raise TypeError(f"{name}: an array of numbers is needed, not of {x.dtype}")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"b: it has {b.shape[1]} columns, a has {a.shape[1]}; both are k")
    m, n, k = a.shape[0], b.shape[0], a.shape[1]
    if out is not None and (out.shape != (m, n) or out.dtype != np.float32):
        raise ValueError(f"out: a float32 array of {m} x {n} is needed, not {out.dtype} of {out.shape}")
    result = np.zeros((m, n), np.float32) if out is None else out
    if 0 in (m, n):
        return result
    result_type = np.dtype(ml_dtypes.bfloat16 if dtype == "e4m3" else types[dtype])
    with tempfile.TemporaryDirectory() as folder:
        path = {name: os.path.join(folder, name) for name in ("a", "b", "d")}
        a.astype(types[dtype]).tofile(path["a"])
        b.astype(types[dtype]).tofile(path["b"])
        arguments = ["gemm", "--m", str(m), "--n", str(n), "--k", str(k), "--dtype", dtype, "--alpha", repr(float(alpha)),
                     "--target", target, "--a", path["a"], "--b", path["b"], "--d", path["d"]]
        if plan:
            arguments += ["--plan", plan]
        document = _tool.run(*arguments)
        if not document["ok"]:
            raise WarpwrightError(document["report"])
        result[...] = np.fromfile(path["d"], result_type).reshape(m, n).astype(np.float32)
    return result
