"""The product of rows, a matrix and a bias where a gradient is wanted and nothing traces: most of what is trained.

Every argument of a function of autograd costs time, so this one has those three. A call like an earlier one is found by
compiled code (_torch_native.py), which hands it to autograd itself; then no line of Python runs before the backward pass.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple, Optional

import torch
from torch import Tensor

from . import _torch_native, _torch_reference
from ._torch import OWN_GRADIENT, activated, before_swiglu, gemm
from ._torch_describe import PLAIN, autocast_type
from ._torch_launch import MOST_PLANS

_A, _B, _BIAS, _ACTIVATION = 0, 1, 7, 8  # places in a call


class Kept(NamedTuple):
    """What the backward pass needs to know of the call, beside tensors."""

    alpha: float
    activation: str
    deterministic: bool
    bias: Optional[torch.dtype]


def _has_form(call: tuple[Any, ...]) -> bool:
    """Whether it is a product of the form above, of tensors, with a gradient that is known."""
    a, b, out, _, c, _, _, bias, activation, residual, a_scale, _, out_scale, *_, epilogue = call
    if activation not in OWN_GRADIENT or any(x is not None for x in (out, c, residual, a_scale, out_scale, epilogue)):
        return False
    if type(a) not in PLAIN or type(b) not in PLAIN or (bias is not None and type(bias) not in PLAIN):
        return False
    if b.dim() != 2 or a.dim() < 2 or (bias is not None and bias.dim() != 1):
        return False
    return bool(a.dim() == 2 or a.is_contiguous())


def _saved(call: tuple[Any, ...]) -> tuple[int, ...]:
    """The places of the tensors that the backward pass reads."""
    return (_A, _B, _BIAS) if call[_ACTIVATION] == "swiglu" and call[_BIAS] is not None else (_A, _B)


def _kept(call: tuple[Any, ...]) -> Kept:
    bias = call[_BIAS]
    return Kept(float(call[5]), call[_ACTIVATION], bool(call[14]), None if bias is None else bias.dtype)


def _turned(which: int, a: Tensor, b: Tensor, dtype: torch.dtype, alpha: float) -> Tensor:
    """The product of a, or its transposed view with bit 0, and of b, or its with bit 1."""
    native = None if torch.compiler.is_compiling() else _torch_native.native()
    if native is not None:
        made: Optional[Tensor] = native.turned_gemm(which, a, b, dtype, alpha)
        if made is not None:
            return made
    return gemm(a.t() if which & 1 else a, b.t() if which & 2 else b, None, dtype, None, alpha)


def _backward(kept: Kept, ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    a, b, *bias = ctx.saved_tensors
    alpha, activation, deterministic, bias_type = kept
    of_a, of_b, *of_bias = ctx.needs_input_grad
    rows, sums = a, gradient
    if a.dim() != 2:
        rows, sums = a.view(-1, a.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
    if activation == "swiglu":
        sums = before_swiglu(rows, b, bias[0] if bias else None, alpha, deterministic, sums)
    narrow = sums if sums.dtype == a.dtype else sums.to(a.dtype)
    left = right = added = None
    if of_a:
        left = _turned(2, narrow, b, a.dtype, alpha)
        left = left if a.dim() == 2 else left.view(a.shape)
    if of_b:
        right = _turned(3, narrow, rows, b.dtype, alpha)
    if of_bias and of_bias[0]:
        added = sums.sum(0, dtype=torch.float32).to(bias_type)
    return left, right, added, None


class Matrices(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, bias: Optional[Tensor], call: tuple[Any, ...]) -> Any:
        ctx.save_for_backward(*(call[place] for place in _saved(call)))
        ctx.kept = _kept(call)
        return gemm(*call)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _backward(ctx.kept, ctx, *gradients)


@functools.lru_cache(maxsize=MOST_PLANS)
def _apply_of(module: Any, kept: Kept) -> Callable[..., Any]:
    """The same with the forward pass of the compiled module, which is given no more than the tensors."""
    return _torch_native.differentiable(module, "Matrices", functools.partial(_backward, kept))


def learning(module: Any, call: tuple[Any, ...]) -> Optional[tuple[Any, ...]]:
    """What the compiled module keeps of the call, in the order of its Learning; None where it is of another form."""
    if not _has_form(call):
        return None
    inputs = (_A, _B) if call[_BIAS] is None else (_A, _B, _BIAS)
    return _apply_of(module, _kept(call)), inputs, _saved(call), False


def product(call: tuple[Any, ...]) -> Optional[Tensor]:
    """The product with its gradient, which one of its operands wants; None where it is another's."""
    activation, plain = call[_ACTIVATION], call
    if activation in _torch_reference.ACTIVATIONS and activation not in OWN_GRADIENT:
        plain = (*call[:_ACTIVATION], "none", *call[_ACTIVATION + 1:])
    if not _has_form(plain):
        return None
    if plain is not call:
        return activated(activation, gemm(*plain))
    a = call[_A]
    if autocast_type(a.device) or torch._C._len_torch_dispatch_stack() or a.is_meta or \
            torch._C._are_functorch_transforms_active():
        return None
    apply: Any = Matrices.apply  # torch gives it no types
    made: Tensor = apply(a, call[_B], call[_BIAS], call)
    return made
