"""What the modules of nn.py compute, as functions of tensors."""

from __future__ import annotations

import functools
from typing import Any, Optional

import torch
from torch import Tensor

from . import _torch, _torch_grouped, _torch_moe
from ._grouped import SCALE_BLOCK
from ._quantize import BLOCK, TOKEN, Quantized, dequantize, quantize
from ._gemm import PAIRED_ROWS
from ._simulate import simulated_target
from ._torch_describe import autocast_type, wants_gradient
from ._torch_reference import activate, swiglu
from ._torch_transforms import refuse_vmap, register_gradient
from ._warm import GEMM

SIXTEEN_BITS = (torch.bfloat16, torch.float16)


def is_served(x: Tensor, weight: Tensor) -> bool:
    """Whether the kernels have these types; torch multiplies others."""
    if x.device.type not in ("cuda", "cpu", "meta"):
        return False
    if autocast_type(x.device) is not None:
        return True
    return x.dtype == weight.dtype and x.dtype in SIXTEEN_BITS


def _again(x: Tensor, weight: Tensor, bias: Optional[Tensor], activation: str) -> Optional[Tensor]:
    """The product, if compiled code knows it: then it is served, and what follows need not be asked."""
    if torch.compiler.is_compiling() or GEMM.compiled is None:
        return None
    made: Optional[Tensor] = GEMM.compiled(x, weight, bias=bias, activation=activation)
    return made


def linear(x: Tensor, weight: Tensor, bias: Optional[Tensor], activation: str = "none") -> Tensor:
    if (made := _again(x, weight, bias, activation)) is not None:
        return made
    if is_served(x, weight):
        return _torch.gemm(x, weight, bias=bias, activation=activation)
    return activate(activation, torch.nn.functional.linear(x, weight, bias))


@functools.lru_cache(maxsize=None)
def _hopper_or_later(index: Optional[int]) -> bool:
    return torch.version.hip is None and torch.cuda.get_device_capability(index)[0] in (9, 10)


def _kernels_have_swiglu(kind: str, index: Optional[int]) -> bool:
    if kind == "cuda":
        return _hopper_or_later(index)
    return (simulated_target() or "sim:sm90") in ("sim:sm90", "sim:sm100")


# For torch.compile the answer is a constant. torch.compiler.assume_constant_result says it by the same word, but imports
# the whole compiler first, which takes seconds that most programs do not have to spend.
_kernels_have_swiglu.__dict__["_dynamo_marked_constant"] = True


def swiglu_is_served(x: Tensor, weight: Tensor) -> bool:
    """Whether one kernel makes silu(gate) * up: those of Hopper and Blackwell do."""
    return weight.shape[0] % PAIRED_ROWS == 0 and is_served(x, weight) and _kernels_have_swiglu(
        x.device.type, x.device.index)


def swiglu_linear(x: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    """silu(gate) * up, the weight being [gate; up], by one launch where the kernels have it."""
    if (made := _again(x, weight, bias, "swiglu")) is not None:
        return made
    if swiglu_is_served(x, weight):
        return _torch.gemm(x, weight, bias=bias, activation="swiglu")
    gate, up = linear(x, weight, bias).chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


def narrow_type(x: Tensor) -> torch.dtype:
    """The type of the result of a product of narrow operands."""
    return autocast_type(x.device) or x.dtype


def _blockwise(x: Tensor, values: Tensor, scales: Tensor, bias: Optional[Tensor], dtype: torch.dtype) -> Tensor:
    q = quantize(x, TOKEN)
    wide = None if dtype == torch.bfloat16 else torch.float32
    y = _torch_grouped.grouped_gemm(q.values, values, a_scale=q.scales, b_scale=scales, bias=bias, out_dtype=wide)
    return y.to(dtype)


@torch.library.custom_op("warpwright::blockwise_linear", mutates_args=())
def _op(x: Tensor, values: Tensor, scales: Tensor, bias: Optional[Tensor], dtype: torch.dtype) -> Tensor:
    return _blockwise(x, values, scales, bias, dtype)


@_op.register_fake
def _(x: Tensor, values: Tensor, scales: Tensor, bias: Optional[Tensor], dtype: torch.dtype) -> Tensor:
    return torch.empty(x.shape[0], values.shape[0], dtype=dtype, device=x.device)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, values, scales, bias, _ = inputs
    ctx.save_for_backward(values, scales)
    ctx.dtypes = x.dtype, None if bias is None else bias.dtype


def _backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    """The gradient of x goes through the weights as they are, as if x had not been rounded."""
    values, scales = ctx.saved_tensors
    dtype, bias_dtype = ctx.dtypes
    left = added = None
    if ctx.needs_input_grad[0]:
        weight = dequantize(Quantized(values, scales, BLOCK)).to(torch.bfloat16)
        left = _torch.gemm(gradient.to(torch.bfloat16), weight.T).to(dtype)
    if bias_dtype is not None and ctx.needs_input_grad[3]:
        added = gradient.float().sum(0).to(bias_dtype)
    return left, None, None, added, None


_differentiable = register_gradient(_op, _blockwise, _keep, _backward)
refuse_vmap(_op, "blockwise linear: vmap does not go through it; give it the examples as rows")


def blockwise_linear(x: Tensor, values: Tensor, scales: Tensor, bias: Optional[Tensor]) -> Tensor:
    """x, rounded to e4m3 with a factor for each 1 x 128, by a weight with one for each 128 x 128."""
    run: Any = _differentiable if wants_gradient(x, bias) else _blockwise
    y: Tensor = run(x.reshape(-1, x.shape[-1]), values, scales, bias, narrow_type(x))
    return y.view(*x.shape[:-1], values.shape[0])


def blockwise_mlp(x: Tensor, gate_up: Tensor, gate_up_scales: Tensor, gate_up_bias: Optional[Tensor], down: Tensor,
                  down_scales: Tensor, down_bias: Optional[Tensor]) -> Tensor:
    """Between its two products everything stays in 8 bits: the first one's kernel quantizes what it writes."""
    if wants_gradient(x, gate_up_bias, down_bias):
        sums = blockwise_linear(x, gate_up, gate_up_scales, gate_up_bias)
        return blockwise_linear(swiglu(sums.float()).to(sums.dtype), down, down_scales, down_bias)
    q = quantize(x.reshape(-1, x.shape[-1]), TOKEN)
    dtype, inner = narrow_type(x), gate_up.shape[0] // 2
    between = torch.empty(q.values.shape[0], inner // SCALE_BLOCK, dtype=torch.float32, device=x.device)
    h = _torch_grouped.grouped_gemm(q.values, gate_up, a_scale=q.scales, b_scale=gate_up_scales, bias=gate_up_bias,
                                    activation="swiglu", out_dtype=torch.float8_e4m3fn, scales_out=between)
    y = _torch_grouped.grouped_gemm(h, down, a_scale=between, b_scale=down_scales, bias=down_bias,
                                    out_dtype=None if dtype == torch.bfloat16 else torch.float32).to(dtype)
    return y.view(*x.shape[:-1], down.shape[0])


def experts_product(x: Tensor, index: Tensor, weights: Tensor, gate_up: Tensor, gate_up_scales: Optional[Tensor],
                    down: Tensor, down_scales: Optional[Tensor], shared: int = 0,
                    shared_weights: Optional[Tensor] = None) -> Tensor:
    """The weighted sum of what the chosen experts, and the ``shared`` last ones, make of each row of x: ``index`` and
    ``weights`` are [rows, choices]. With scales the matrices are e4m3."""
    dtype = narrow_type(x)
    weights = weights.float().contiguous()
    everybody = None if shared_weights is None else shared_weights.float().contiguous()
    if gate_up_scales is None or down_scales is None:
        return _torch_moe.moe(x.contiguous(), gate_up, down, index.contiguous(), weights, shared=shared,
                              shared_weights=everybody).to(dtype)
    if wants_gradient(x, weights, everybody):
        raise ValueError("x: experts in 8 bits have no gradient; use torch.no_grad()")
    q = quantize(x, TOKEN)
    return _torch_moe.moe(q.values, gate_up, down, index.contiguous(), weights, x_scale=q.scales,
                          w_gate_up_scale=gate_up_scales, w_down_scale=down_scales, shared=shared,
                          shared_weights=everybody).to(dtype)
