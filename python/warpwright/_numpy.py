"""NumPy arrays in the simulator: what products of every kind share, and the plain one."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _formula, _tool
from ._gemm import result_columns
from ._errors import WarpwrightError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The word of a type, and what NumPy (with ml_dtypes) calls it.
ELEMENTS = {"bf16": "bfloat16", "fp16": "float16", "tf32": "float32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
RESULTS = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "e4m3": "float8_e4m3fn"}


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


def numbers(name: str, x: Any) -> NDArray[Any]:
    array = np.asarray(x)
    if array.dtype.kind not in "fiu" and "float" not in array.dtype.name:
        raise TypeError(f"{name}: an array of numbers is needed, not of {array.dtype}")
    return array


def result_array(out: Any, shape: tuple[int, ...], out_dtype: Any) -> tuple[NDArray[Any], str | None]:
    """The array that receives a result, and the word of the type that the kernel is asked for; none: its usual one."""
    word = None if out_dtype is None else type_word("out_dtype", out_dtype, RESULTS)
    wanted = np.dtype(np.float32) if word is None else numpy_type(word)
    if out is None:
        return np.zeros(shape, wanted), word
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out: a NumPy array is needed, not {type(out).__name__}")
    if word is None and out.dtype.name in (RESULTS["bf16"], RESULTS["fp16"]):
        word, wanted = type_word("out", out.dtype, RESULTS), out.dtype
    if out.shape != shape or out.dtype != wanted:
        extents = " x ".join(str(extent) for extent in shape)
        raise ValueError(f"out: an array of {wanted}, {extents}, is needed, not of {out.dtype}, {out.shape}")
    if not out.flags.writeable:
        raise ValueError("out: it is read-only")
    return out, word


def simulate(arguments: Sequence[str], files: dict[str, NDArray[Any]], target: str, out_word: str | None,
             plan: str | None, with_scales: bool = False) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Runs ``gemm`` of the tool on arrays in files; the elements of the result, in the type that the kernel wrote, and
    its factors, if there are some."""
    if not target.startswith("sim:"):
        raise ValueError(f"target: NumPy arrays are multiplied by a simulator, not by {target!r}")
    command = ["gemm", *arguments, "--target", target]
    if out_word:
        command += ["--out-dtype", out_word]
    if plan:
        command += ["--plan", plan]
    with tempfile.TemporaryDirectory() as folder:
        for name, array in files.items():
            path = os.path.join(folder, name)
            array.tofile(path)
            command += [f"--{name}", path]
        result = os.path.join(folder, "d")
        scales = os.path.join(folder, "d-scales")
        document = _tool.run(*command, "--d", result, *(("--d-scales", scales) if with_scales else ()))
        if not document["ok"]:
            raise WarpwrightError(document["report"])
        values = np.fromfile(result, numpy_type(document["out_dtype"]))
        return values, np.fromfile(scales, np.float32) if with_scales else None


def _operand_word(a: NDArray[Any], b: NDArray[Any]) -> str:
    own = {name: word for word, name in ELEMENTS.items() if word != "tf32"}
    words = [own.get(x.dtype.name, "bf16") for x in (a, b)]
    if words[0] != words[1]:
        raise TypeError(f"b: its type is {b.dtype}, that of a is {a.dtype}; dtype says what both are rounded to")
    return words[0]


def _fitting(name: str, x: Any, shape: tuple[int, ...], word: str) -> NDArray[Any]:
    """The array, broadcast to the shape, in the type of the word."""
    array = numbers(name, x)
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape), dtype=numpy_type(word))
    except ValueError:
        extents = " x ".join(str(extent) for extent in shape)
        raise ValueError(f"{name}: an array of {extents} is needed, not of shape {array.shape}") from None


def _bias(x: Any, batch: tuple[int, ...], m: int, n: int) -> tuple[str, NDArray[Any]]:
    """The word of the epilogue and the numbers: [n] is added to every row, [m, 1] to every column."""
    array = numbers("bias", x)
    if array.shape[-2:] == (m, 1):
        return "row_bias", _fitting("bias", array[..., 0], (*batch, m), "fp32")
    return "bias", _fitting("bias", array, (*batch, n), "fp32")


def _scaling(a_scale: Any, b_scale: Any, batch: tuple[int, ...], m: int, n: int,
             files: dict[str, NDArray[Any]]) -> str | None:
    if (a_scale is None) != (b_scale is None):
        raise ValueError("a_scale, b_scale: both or none")
    if a_scale is None:
        return None
    a_array, b_array = numbers("a_scale", a_scale), numbers("b_scale", b_scale)
    if a_array.size == 1 and b_array.size == 1:
        files["a-scales"], files["b-scales"] = (x.reshape(1).astype(np.float32) for x in (a_array, b_array))
        return "tensor"
    files["a-scales"] = _fitting("a_scale", a_array, (*batch, m), "fp32")
    files["b-scales"] = _fitting("b_scale", b_array, (*batch, n), "fp32")
    return "row_column"


def gemm(a: Any, b: Any, *, out: Any, dtype: Any, out_dtype: Any, c: Any, alpha: float, beta: float, bias: Any,
         activation: str, residual: Any, a_scale: Any, b_scale: Any, out_scale: Any, accumulation: str, target: str,
         plan: str | None, epilogue: str | None) -> NDArray[Any]:
    a, b = numbers("a", a), numbers("b", b)
    for name, x in (("a", a), ("b", b)):
        if x.ndim not in (2, 3):
            raise ValueError(f"{name}: a matrix has two dimensions, a batch three, not {x.ndim}")
    if a.ndim != b.ndim or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"b: its shape is {b.shape}, that of a {a.shape}; both are matrices, or batches of one length")
    word = _operand_word(a, b) if dtype is None else type_word("dtype", dtype, ELEMENTS)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"b: it has {b.shape[-1]} columns, a has {a.shape[-1]}; both are k")
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not np.isfinite(value):
            raise ValueError(f"{name}: {value} is not a finite number")
    batch, m, n, k = a.shape[:-2], a.shape[-2], b.shape[-2], a.shape[-1]
    shape = (*batch, m, result_columns(n, activation))
    result, out_word = result_array(out, shape, out_dtype)
    if 0 in result.shape:
        return result
    arguments = ["--m", str(m), "--n", str(n), "--k", str(k), "--dtype", word, "--alpha", repr(alpha)]
    if batch:
        arguments += ["--batch", str(batch[0])]
    files = {"a": a.astype(numpy_type(word)), "b": b.astype(numpy_type(word))}
    # C and the residual have the type of the result, bf16 beside one of 8 bits.
    written = out_word or {"e4m3": "bf16", "e5m2": "bf16", "tf32": "fp32"}.get(word, word)
    addend = "bf16" if written in ("e4m3", "e5m2") else written
    words = []
    names = _formula.names_of(epilogue)
    if epilogue is not None:
        if c is not None:
            files["c"] = _fitting("c", c, shape, addend)
        arguments += ["--beta", repr(beta)]
        words.append(_formula.option(epilogue))
    elif c is not None or beta:
        if c is None:
            raise ValueError("c: beta is not 0, so it is needed")
        arguments += ["--beta", repr(beta)]
        if beta:
            files["c"] = _fitting("c", c, shape, addend)
    kind = None
    if bias is not None:
        kind, files["bias"] = _bias(bias, batch, m, n)
        words += [] if epilogue else [kind]
    if epilogue is not None:
        _formula.check_given(names, c is not None, kind, residual is not None, beta)
        if activation != "none":
            raise ValueError(f"activation: the epilogue stands in its place; {activation}(x) in it is the same")
    elif activation != "none":
        words.append(activation)
    if residual is not None:
        words += [] if epilogue else ["residual"]
        files["residual"] = _fitting("residual", residual, shape, addend)
    if out_scale is not None:
        words.append("quantize")
        files["out-scale"] = _fitting("out_scale", out_scale, (1,), "fp32")
    if words:
        arguments += ["--epilogue", "+".join(words)]
    scaling = [x for x in (_scaling(a_scale, b_scale, batch, m, n, files),
                           "promoted" if accumulation == "promoted" else None) if x]
    if accumulation not in ("fast", "promoted"):
        raise ValueError(f"accumulation: {accumulation!r} is not 'fast' or 'promoted'")
    if scaling:
        arguments += ["--scaling", "+".join(scaling)]
    values, _ = simulate(arguments, files, target, out_word, plan)
    result[...] = values.reshape(result.shape).astype(result.dtype)
    return result
