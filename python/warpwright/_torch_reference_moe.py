"""A mixture of experts of tensors on the CPU, by torch, by the rules of the kernels."""

from __future__ import annotations

import ctypes
from typing import Optional

import torch
from torch import Tensor

from . import _abi
from ._moe import SCALE_BLOCK
from ._torch_moe_describe import Operands, Settings, all_pairs, describe, problem_of

# Bits of a status word (RouteFault in include/warpwright/kernel/sm90/moe/config.h).
EXPERT_OUT_OF_RANGE, WEIGHT_NOT_A_NUMBER, TOKENS_OUT_OF_RANGE = 1, 2, 4


def _scaled(x: Tensor, scale: Optional[Tensor], rows: int) -> Tensor:
    if scale is None:
        return x.double()
    factors = scale.double().repeat_interleave(rows, -2).repeat_interleave(SCALE_BLOCK, -1)
    return x.double() * factors[..., :x.shape[-2], :x.shape[-1]]


def moe(t: Operands, settings: Settings) -> None:
    layer = describe(t, settings)
    _abi.raise_on(_abi.library().ww_moe_validate(ctypes.byref(problem_of(layer))))
    there = layer.tokens if t.token_count is None else int(t.token_count.item()) & 0xffffffff
    live = min(there, layer.tokens)
    ids, weights = all_pairs(t.topk_ids[:live], t.topk_weights[:live],
                             None if t.shared_weights is None else t.shared_weights[:live], layer.experts,
                             settings.shared)
    real = ~weights.isnan()
    x = _scaled(t.x, t.x_scale, 1)
    sums = torch.zeros((live, layer.hidden), dtype=torch.float64)
    for e in range(layer.experts):
        tokens, pair = torch.nonzero((ids == e) & real, as_tuple=True)
        if not tokens.numel():
            continue
        w_gate_up = _scaled(t.w_gate_up[e], None if t.w_gate_up_scale is None else t.w_gate_up_scale[e], SCALE_BLOCK)
        w_down = _scaled(t.w_down[e], None if t.w_down_scale is None else t.w_down_scale[e], SCALE_BLOCK)
        gate, up = (x[tokens] @ w_gate_up.T).chunk(2, -1)
        h = torch.nn.functional.silu(gate) * up
        if layer.type == "e4m3":
            blocks = h.reshape(tokens.numel(), -1, SCALE_BLOCK)
            scale = blocks.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 448
            h = ((blocks / scale).to(torch.float8_e4m3fn).double() * scale).flatten(1)
        else:
            h = h.bfloat16().double()
        rows = (h @ w_down.T).bfloat16().double()
        sums.index_add_(0, tokens, rows * weights[tokens, pair].double()[:, None])
    t.out[:live] = sums.to(t.out.dtype)
    if t.status is not None:
        faults = EXPERT_OUT_OF_RANGE if bool((ids == layer.experts).any()) else 0
        faults |= 0 if bool(real.all()) else WEIGHT_NOT_A_NUMBER
        t.status.fill_(faults | (TOKENS_OUT_OF_RANGE if there > layer.tokens else 0))
