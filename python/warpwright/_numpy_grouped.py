"""Grouped products of NumPy arrays in the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _formula
from ._grouped import SCALE_BLOCK, check_own, kind_of, result_shape
from ._numpy import numbers, numpy_type, result_array, simulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPERATIONS = {_abi.GROUPS_NONE: "blockwise", _abi.GROUPS_CONTIGUOUS: "grouped_contiguous",
              _abi.GROUPS_MASKED: "grouped_masked", _abi.GROUPS_BY_DEPTH: "grouped_k"}


# For operands that are stored [k, rows]: this many bf16 elements are moved together.
TURNED_UNIT = 8


def _word(name: str, x: NDArray[Any]) -> str:
    if x.dtype.name == "float8_e4m3fn":
        return "e4m3"
    if x.dtype.name == "bfloat16" or x.dtype.kind in "iu" or x.dtype.name in ("float32", "float64"):
        return "bf16"
    raise TypeError(f"{name}: its type is {x.dtype}; bfloat16 and float8_e4m3fn are taken, and float32 is rounded")


def _integers(name: str, x: Any, count: int | None = None) -> NDArray[np.int32]:
    array = np.asarray(x)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name}: its type is {array.dtype}; integers are taken")
    if array.ndim != 1:
        raise ValueError(f"{name}: a vector is needed, not one of shape {array.shape}")
    if count is not None and array.size != count:
        raise ValueError(f"{name}: it has {array.size} elements, {count} are needed")
    return array.clip(-2**31, 2**31 - 1).astype(np.int32)


def _check_table(name: str, table: NDArray[np.int32], most: int, ordered: bool, unit: int) -> None:
    least = 0
    for i, value in enumerate(table.tolist()):
        if not least <= value <= most:
            raise ValueError(f"{name}: element {i} is {value}; it must be from {least} to {most}")
        if value % unit:
            raise ValueError(f"{name}: element {i} is {value}; groups along k of e4m3 begin at multiples of {unit}")
        least = value if ordered else 0


def _scale(name: str, scale: Any, *shapes: tuple[int, ...]) -> NDArray[Any]:
    array = np.asarray(scale)
    if array.dtype != np.float32:
        raise TypeError(f"{name}: its type is {array.dtype}; float32 is taken")
    if array.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{name}: its shape is {array.shape}, {wanted} is needed")
    return array


def _bias(bias: Any, b: NDArray[Any], rows: tuple[int, ...]) -> tuple[str, NDArray[Any]]:
    """The word of the epilogue and the numbers in fp32, for every matrix or for every row of the result."""
    array, n = numbers("bias", bias), b.shape[-2]
    if array.shape == (*rows, 1):
        return "row_bias", np.ascontiguousarray(array, np.float32)
    wanted = (b.shape[0], n) if b.ndim == 3 else (n,)
    if array.shape not in (wanted, (n,)):
        raise ValueError(f"bias: its shape is {array.shape}; {wanted} is taken, or ({n},) for all matrices")
    return "bias", np.ascontiguousarray(np.broadcast_to(array, wanted), np.float32)


def _scales_out(scales: Any, shape: tuple[int, ...], word: str | None) -> None:
    if (scales is not None) != (word == "e4m3"):
        raise ValueError("scales_out: a float8_e4m3fn result needs it for its factors, others have none")
    if scales is not None:
        if not isinstance(scales, np.ndarray) or not scales.flags.writeable:
            raise TypeError("scales_out: a NumPy array that can be written is needed")
        _scale("scales_out", scales, (*shape[:-1], shape[-1] // SCALE_BLOCK))


def _is_turned(x: NDArray[Any]) -> bool:
    """Matrices that are stored [k, rows]."""
    return x.swapaxes(-1, -2).flags.c_contiguous and not x.flags.c_contiguous


def _layout(a: NDArray[Any], b: NDArray[Any], kind: int, word: str, plain: bool) -> str:
    """How the kernel is given the operands: as they lie, if there is one for it; otherwise they are copied."""
    if word != "bf16" or not plain or not _is_turned(b) or b.shape[-2] % TURNED_UNIT:
        return "nt"
    if kind != _abi.GROUPS_BY_DEPTH:
        return "nn"
    return "tn" if _is_turned(a) and a.shape[-2] % TURNED_UNIT == 0 else "nt"


def grouped_gemm(a: Any, b: Any, *, offsets: Any, counts: Any, depths: Any, experts: Any, index: Any,
                 a_scale: Any, b_scale: Any, bias: Any, activation: str, out: Any, out_dtype: Any, scales_out: Any, accumulate: bool,
                 plan: str | None, target: str, epilogue: str | None, beta: float) -> NDArray[Any]:
    a, b = numbers("a", a), numbers("b", b)
    kind = kind_of(offsets, counts, depths)
    by_depth, has_matrices = kind == _abi.GROUPS_BY_DEPTH, kind in (_abi.GROUPS_CONTIGUOUS, _abi.GROUPS_MASKED)
    name, table = next(((n, t) for n, t in (("offsets", offsets), ("counts", counts), ("depths", depths))
                        if t is not None), ("", None))
    if table is not None:
        table = _integers(name, table)
    if index is not None:
        index = _integers("index", index)
    shape = result_shape(a.shape, b.shape, kind, 0 if table is None else table.size, activation,
                         None if index is None else index.size)
    word = _word("a", a)
    if _word("b", b) != word:
        raise TypeError(f"b: its type is {b.dtype}, that of a is {a.dtype}")
    for scale_name, scale in (("a_scale", a_scale), ("b_scale", b_scale)):
        if (scale is None) != (word == "bf16"):
            raise ValueError(f"{scale_name}: float8 operands have factors, bf16 ones have none")
    if kind == _abi.GROUPS_NONE and word == "bf16":
        raise ValueError("a: one product of bf16 has no factors and no groups; gemm() multiplies it")
    if accumulate and has_matrices:
        raise ValueError("accumulate: only one product, or groups along k, add to out")
    if accumulate and out is None:
        raise ValueError("accumulate: it adds to out, which is not given")

    rows, n, k = int(np.prod(a.shape[:-1])) if index is None else index.size, b.shape[-2], a.shape[-1]
    groups = 1
    if table is not None:
        groups = a.shape[0] if kind == _abi.GROUPS_MASKED else max(0, table.size - 1)
        if kind == _abi.GROUPS_MASKED:
            _integers("counts", table, groups)
        most = {_abi.GROUPS_MASKED: a.shape[-2], _abi.GROUPS_BY_DEPTH: k}.get(kind, rows)
        if index is not None:
            _check_table("index", index, a.shape[0] - 1, False, 1)
        _check_table(name, table, most, kind != _abi.GROUPS_MASKED, SCALE_BLOCK if by_depth and word == "e4m3" else 1)
    if experts is not None:
        if not has_matrices:
            raise ValueError("experts: only groups of rows have a matrix each")
        experts = _integers("experts", experts, groups)
        if experts.size and experts.max() >= b.shape[0]:
            raise ValueError(f"experts: element {experts.argmax()} is {experts.max()}; b has {b.shape[0]} matrices")
    elif has_matrices and b.shape[0] != groups:
        raise ValueError(f"b: it has {b.shape[0]} matrices for {groups} groups; experts names the matrix of each")
    result, out_word = result_array(out, shape, out_dtype)
    _scales_out(scales_out, shape, out_word)

    arguments = ["--op", OPERATIONS[kind], "--m", str(rows), "--n", str(n), "--k", str(k), "--groups", str(groups),
                 "--dtype", word]
    usual_out = out_word in (None, "fp32" if by_depth else "bf16")
    plain = usual_out and bias is None and index is None and activation == "none" and epilogue is None
    layout = _layout(a, b, kind, word, plain)
    arguments += ["--layout", layout]
    files = {"a": (a if layout[0] == "n" else a.T).astype(numpy_type(word)),
             "b": (b if layout[1] == "t" else b.swapaxes(-1, -2)).astype(numpy_type(word))}
    if word == "e4m3":
        blocks = -(-k // SCALE_BLOCK)
        by_rows = (*b.shape[:-1], blocks)
        by_blocks = (*b.shape[:-2], -(-n // SCALE_BLOCK), blocks)
        files["a-scales"] = _scale("a_scale", a_scale, (*a.shape[:-1], blocks))
        files["b-scales"] = _scale("b_scale", b_scale, *((by_rows,) if by_depth else (by_blocks, by_rows)))
        if files["b-scales"].shape != by_blocks and not by_depth:
            arguments += ["--scaling", "blockwise_rows"]
    if table is not None:
        files["table"] = table
    if index is not None:
        arguments += ["--a-rows", str(a.shape[0])]
        files["index"] = index
    if experts is not None:
        files["experts"] = experts
    words, how = [], None
    if bias is not None:
        how, files["bias"] = _bias(bias, b, shape[:-1])
        words.append(how)
    if activation != "none":
        words.append(activation)
    check_own(epilogue, beta, kind, how, activation, accumulate)
    if epilogue is not None:
        arguments += ["--epilogue", _formula.option(epilogue), "--beta", repr(beta)]
    elif words:
        arguments += ["--epilogue", "+".join(words)]
    if accumulate:
        files["c"] = result.astype(np.float32)
        if not by_depth:
            arguments += ["--beta", "1"]
            out_word = out_word or "fp32"
    if result.size == 0 or groups == 0:
        return result
    product, scales = simulate(arguments, files, target, out_word, plan, scales_out is not None)
    written = _written(kind, shape, table, experts)
    result[written] = product.reshape(shape).astype(result.dtype)[written]
    if scales_out is not None and scales is not None:
        scales_out[written] = scales.reshape(scales_out.shape)[written]
    return result


def _written(kind: int, shape: tuple[int, ...], table: Any, experts: Any) -> NDArray[np.bool_]:
    """Which rows of the result belong to a group that has a matrix."""
    rows = np.full(shape[:-1], kind in (_abi.GROUPS_NONE, _abi.GROUPS_BY_DEPTH))
    if kind == _abi.GROUPS_MASKED:
        for group, count in enumerate(table):
            rows[group, :count] = experts is None or experts[group] >= 0
    elif kind == _abi.GROUPS_CONTIGUOUS:
        for group, (begin, end) in enumerate(zip(table, table[1:])):
            rows[begin:end] = experts is None or experts[group] >= 0
    return rows
