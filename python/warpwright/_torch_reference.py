"""Products of tensors on the CPU, by torch: the rules, types and order of the kernels, in fp32.

It stands in for the kernels where there is no GPU, and is no faster than torch. Tests hold it to the kernels in the
simulator.
"""

from __future__ import annotations

import ctypes
from typing import Callable, Optional

import torch
from torch import Tensor

from . import _abi, _torch_describe
from ._quantize import LARGEST

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "gelu_erf": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}


def activate(word: str, x: Tensor) -> Tensor:
    return ACTIVATIONS[_torch_describe.known_word("activation", word, ACTIVATIONS)](x)


def swiglu(x: Tensor) -> Tensor:
    """SwiGLU of gates and ups side by side."""
    gate, up = x.chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


def narrow(x: Tensor, dtype: torch.dtype) -> Tensor:
    """As the kernels convert: what is too large for 8 bits becomes the largest."""
    word = _torch_describe.DTYPES[dtype]
    if word in LARGEST:
        x = x.clamp(-LARGEST[word], LARGEST[word])
    return x.to(dtype)


def _own_epilogue(x: _torch_describe.Operands, settings: _torch_describe.Settings, sums: Tensor) -> Tensor:
    """By the library, which computes the text with the bits of the kernels."""
    def wide(t: Optional[Tensor]) -> Optional[Tensor]:
        return None if t is None else t.detach().float().contiguous()

    made = sums.contiguous().clone()
    by_row = x.bias is not None and x.bias.dim() == 2
    tensors = [wide(t) for t in (x.c, None if by_row else x.bias, x.bias if by_row else None, x.residual)]
    c, bias, row_bias, residual = (None if t is None else t.data_ptr() for t in tensors)
    *batch, rows, columns = made.shape
    _abi.apply_formula(settings.epilogue, made.data_ptr(), batch[0] if batch else 1, rows, columns, c, bias, row_bias,
                       residual, settings.beta)
    return made


def gemm(x: _torch_describe.Operands, settings: _torch_describe.Settings) -> None:
    x, product = _torch_describe.describe(x, settings)
    problem = _torch_describe.problem_of(product)
    _abi.raise_on(_abi.library().ww_gemm_validate(ctypes.byref(problem)))
    batch = x.out.shape[:-2]
    m, n = product.m, product.n
    # One rounding in each step, in this order.
    d = torch.matmul(x.a.float(), x.b.float().transpose(-1, -2)).expand(*batch, m, n)
    if x.a_scale is not None and x.b_scale is not None:
        if product.scaling == "tensor":
            d = d * (x.a_scale.reshape(()) * x.b_scale.reshape(()))
        else:
            d = d * x.a_scale.reshape(*batch, m, 1) * x.b_scale.reshape(*batch, 1, n)
    d = d * problem.alpha
    if settings.epilogue:
        d = _own_epilogue(x, settings, d)
        x.out.copy_(narrow(d if x.out_scale is None else d * x.out_scale.reshape(()), x.out.dtype))
        return
    if x.c is not None:
        d = (x.c.double() * problem.beta + d).float()
    if x.bias is not None:
        d = d + x.bias.float()
    d = swiglu(d) if settings.activation == "swiglu" else activate(settings.activation, d)
    if x.residual is not None:
        d = d + x.residual.float()
    if x.out_scale is not None:
        d = d * x.out_scale.reshape(())
    x.out.copy_(narrow(d, x.out.dtype))
