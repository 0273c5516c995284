"""Products of tensors on the CPU, by torch: the rules, types and order of the kernels, in fp32.

It stands in for the kernels where there is no GPU, and is no faster than torch. Tests hold it to the kernels in the
simulator.
"""

from __future__ import annotations

import ctypes
from typing import Callable

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
    """Of gates and ups side by side."""
    gate, up = x.chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


def narrow(x: Tensor, dtype: torch.dtype) -> Tensor:
    """As the kernels convert: what is too large for 8 bits becomes the largest."""
    word = _torch_describe.DTYPES[dtype]
    if word in LARGEST:
        x = x.clamp(-LARGEST[word], LARGEST[word])
    return x.to(dtype)


def gemm(x: _torch_describe.Operands, settings: _torch_describe.Settings) -> None:
    x, product = _torch_describe.describe(x, settings)
    problem = _torch_describe.problem_of(product)
    _abi.raise_on(_abi.library().ww_gemm_validate(ctypes.byref(problem)))
    batch = x.out.shape[:-2]
    m, n = x.out.shape[-2:]
    # One rounding in each step, in this order.
    d = torch.matmul(x.a.float(), x.b.float().transpose(-1, -2)).expand(x.out.shape)
    if x.a_scale is not None and x.b_scale is not None:
        if product.scaling == "tensor":
            d = d * (x.a_scale.reshape(()) * x.b_scale.reshape(()))
        else:
            d = d * x.a_scale.reshape(*batch, m, 1) * x.b_scale.reshape(*batch, 1, n)
    d = d * problem.alpha
    if x.c is not None:
        d = (x.c.double() * problem.beta + d).float()
    if x.bias is not None:
        d = d + x.bias.float()
    d = activate(settings.activation, d)
    if x.residual is not None:
        d = d + x.residual.float()
    if x.out_scale is not None:
        d = d * x.out_scale.reshape(())
    x.out.copy_(narrow(d, x.out.dtype))
