"""A mixture of experts of NumPy arrays in the simulator."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _tool
from ._errors import WarpwrightError
from ._moe import check_shapes, scale_shapes
from ._numpy import numbers, numpy_type, result_array

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _word(name: str, x: NDArray[Any]) -> str:
    if x.dtype.name == "float8_e4m3fn":
        return "e4m3"
    if x.dtype.name == "bfloat16" or x.dtype.kind in "iu" or x.dtype.name in ("float32", "float64"):
        return "bf16"
    raise TypeError(f"{name}: its type is {x.dtype}; bfloat16 and float8_e4m3fn are taken, and float32 is rounded")


def moe(x: Any, w_gate_up: Any, w_down: Any, topk_ids: Any, topk_weights: Any, *, x_scale: Any, w_gate_up_scale: Any,
        w_down_scale: Any, shared: int, shared_weights: Any, token_count: Any, out: Any, status: Any, target: str) -> NDArray[Any]:
    if target not in ("sim:sm90", "sim:sm100"):
        raise ValueError(f"target: NumPy arrays go through the simulators 'sim:sm90' and 'sim:sm100', not {target!r}")
    x, gate_up, down = numbers("x", x), numbers("w_gate_up", w_gate_up), numbers("w_down", w_down)
    ids, weights = np.asarray(topk_ids), numbers("topk_weights", topk_weights)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"topk_ids: its type is {ids.dtype}; integers are taken")
    everybody = None if shared_weights is None else numbers("shared_weights", shared_weights)
    check_shapes(x.shape, gate_up.shape, down.shape, ids.shape, weights.shape, shared,
                 None if everybody is None else everybody.shape)
    word = _word("x", x)
    for name, array in (("w_gate_up", gate_up), ("w_down", down)):
        if _word(name, array) != word:
            raise TypeError(f"{name}: its type is {array.dtype}, that of x is {x.dtype}")
    files = {"x": x.astype(numpy_type(word)), "w_gate_up": gate_up.astype(numpy_type(word)),
             "w_down": down.astype(numpy_type(word)), "ids": ids.astype(np.int64),
             "weights": weights.astype(np.float32)}
    given = {"x_scale": x_scale, "w_gate_up_scale": w_gate_up_scale, "w_down_scale": w_down_scale}
    for name, shape in scale_shapes(x.shape, gate_up.shape, down.shape).items():
        if (given[name] is None) != (word == "bf16"):
            raise ValueError(f"{name}: float8 operands have factors, bf16 ones have none")
        if given[name] is None:
            continue
        scale = np.asarray(given[name])
        if scale.dtype != np.float32:
            raise TypeError(f"{name}: its type is {scale.dtype}; float32 is taken")
        if scale.shape != shape:
            raise ValueError(f"{name}: its shape is {scale.shape}, {shape} is needed")
        files[name + "s"] = scale
    if everybody is not None:
        files["shared_weights"] = everybody.astype(np.float32)
    if token_count is not None:
        files["token_count"] = np.asarray([token_count]).clip(0, 2**32 - 1).astype(np.uint32)
    if status is not None and (not isinstance(status, np.ndarray) or status.size != 1 or status.dtype.kind not in "iu"):
        raise ValueError("status: an array of one integer is needed")
    result, _ = result_array(out, x.shape, None)
    if x.shape[0] == 0:
        if status is not None:
            status[...] = 0
        return result
    command = ["moe", "--tokens", str(x.shape[0]), "--experts", str(gate_up.shape[0]), "--top-k", str(ids.shape[1]),
               "--hidden", str(x.shape[1]), "--intermediate", str(down.shape[2]), "--dtype", word, "--id-bytes", "8",
               *(["--shared", str(shared)] if shared else []), "--target", target]
    with tempfile.TemporaryDirectory() as folder:
        for name, array in files.items():
            np.ascontiguousarray(array).tofile(os.path.join(folder, name))
        document = _tool.run(*command, "--operands", folder)
        if not document["ok"]:
            raise WarpwrightError(document["report"])
        product = np.fromfile(os.path.join(folder, "out"), numpy_type("bf16")).reshape(x.shape)
    there = x.shape[0] if token_count is None else min(x.shape[0], max(0, int(token_count)))
    result[:there] = product[:there].astype(result.dtype)
    if status is not None:
        status[...] = document["status"]
    return result
