"""warpwright: warp-specialized GPU matrix kernels, on the GPU and in a checking simulator.

One convention for operands everywhere: ``a`` is ``[m, k]``, ``b`` is ``[n, k]`` (as ``torch.nn.Linear`` stores its
weight), and the product is ``a @ b.T``, ``[m, n]``. Transposed views are taken as they are.

torch tensors on a GPU are multiplied there, on the current stream and without copies; those on the CPU by torch, by the
same rules. NumPy arrays are multiplied by the kernels in the simulator, which needs no GPU and reports every mistake in
their synchronization; ``simulate()`` sends torch tensors on the CPU there, too.
"""

import importlib
from typing import Any

from ._commands import bench, check, explain, schedule, trace, tune
from ._convert import convert
from ._errors import MissingError, WarpwrightError
from ._gemm import gemm
from ._grouped import grouped_gemm
from ._moe import moe
from ._quantize import Quantized, dequantize, quantize
from ._simulate import simulate
from ._tool import version

__all__ = [
    "MissingError", "Quantized", "WarpwrightError", "__version__", "bench", "check", "convert", "dequantize", "explain",
    "gemm", "grouped_gemm", "moe", "quantize", "schedule", "simulate", "trace", "tune",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # asks the tool, so only when somebody wants to know
        return version()
    if name in ("distributed", "nn"):  # need torch
        return importlib.import_module(f"warpwright.{name}")
    raise AttributeError(f"module 'warpwright' has no attribute {name!r}")
