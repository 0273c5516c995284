"""warpwright: warp-specialized GPU matrix kernels, on the GPU and in a checking simulator.

One convention for operands everywhere: ``a`` is ``[m, k]``, ``b`` is ``[n, k]`` (as ``torch.nn.Linear`` stores its
weight), and the product is ``a @ b.T``, ``[m, n]``. Transposed views are taken as they are.

torch tensors on a GPU are multiplied there, on the current stream and without copies. NumPy arrays are
multiplied by the same kernels in the simulator, which needs no GPU and reports every mistake in their
synchronization.
"""

from ._errors import MissingError, WarpwrightError
from ._gemm import gemm
from ._grouped import grouped_gemm
from ._moe import moe
from ._quantize import Quantized, dequantize, quantize
from ._tool import check, explain, schedule, version

__all__ = [
    "MissingError", "Quantized", "WarpwrightError", "__version__", "check", "dequantize", "explain", "gemm",
    "grouped_gemm", "moe", "quantize", "schedule",
]


def __getattr__(name: str) -> str:
    if name == "__version__":  # asks the tool, so only for who wants to know
        return version()
    raise AttributeError(f"module 'warpwright' has no attribute {name!r}")
