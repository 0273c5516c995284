"""The gradient of a mixture of experts of bf16: products by groups again.

A pair p of token t and expert e, of weight w, has [gate; up] = W1 @ x[t] and h = silu(gate) * up, and adds w * W2 @ h to
y[t]. With s = W2.T @ dy[t]:

    dw        = <h, s>             so that W2 @ h need not be kept or made again
    dW2      += dy[t] (w h).T      a sum over the rows of an expert: groups along k
    d[gate; up] = w * s * d swiglu
    dW1      += d[gate; up] x[t].T groups along k
    dx[t]    += W1.T @ d[gate; up]

From the forward pass come the arguments and nothing else. The tables are made anew by torch, and [gate; up] by the first
product, which gathers its rows; all that has the order of the experts lives within this file's backward pass. The host
looks at nothing, and every sum has one order. What is between the products is plain torch, which torch.compile fuses.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from . import _torch_moe, _torch_native
from ._torch_grouped import grouped_gemm
from ._torch_grouped_gradient import matrices_gradient
from ._torch_launch import MOST_PLANS
from ._torch_moe import WEIGHTS
from ._torch_moe_describe import Operands, Settings, all_pairs, describe
from ._torch_transforms import refuse_vmap, register_autocast, register_gradient


TENSORS = (0, 1, 2, 3, 4, 9, 10)  # places among the arguments of moe()


def _room(x: Tensor, token_count: Optional[Tensor]) -> tuple[Tensor, Tensor]:
    """For the result and the status. Rows of tokens that are not there have a gradient too: none."""
    out = torch.zeros_like(x) if token_count is not None else torch.empty_like(x)
    return out, torch.empty(1, dtype=torch.int32, device=x.device)


def _operands(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor,
              shared_weights: Optional[Tensor], token_count: Optional[Tensor], out: Tensor, status: Tensor) -> Operands:
    return Operands(x, w_gate_up, w_down, topk_ids, topk_weights, None, None, None, shared_weights, token_count, out,
                    status)


def _computed(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor,
              shared_weights: Optional[Tensor], token_count: Optional[Tensor], shared: int,
              sm_limit: int) -> tuple[Tensor, Tensor]:
    """What the op computes, by the short way of a call like one before."""
    out, status = _room(x, token_count)
    _torch_moe.moe(x, w_gate_up, w_down, topk_ids, topk_weights, None, None, None, shared, shared_weights, token_count, out,
                   status, sm_limit)
    return out, status


@torch.library.custom_op("warpwright::moe_layer", mutates_args=())
def _layer(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor,
           shared_weights: Optional[Tensor], token_count: Optional[Tensor], shared: int,
           sm_limit: int) -> tuple[Tensor, Tensor]:
    out, status = _room(x, token_count)
    _torch_moe.launch(_operands(x, w_gate_up, w_down, topk_ids, topk_weights, shared_weights, token_count, out, status),
                      Settings(shared, sm_limit))
    return out, status


@_layer.register_fake
def _(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor,
      shared_weights: Optional[Tensor], token_count: Optional[Tensor], shared: int,
      sm_limit: int) -> tuple[Tensor, Tensor]:
    out, status = _room(x, token_count)
    describe(_operands(x, w_gate_up, w_down, topk_ids, topk_weights, shared_weights, token_count, out, status),
             Settings(shared, sm_limit))
    return out, status


class Tables(NamedTuple):
    """Pairs in the order of their experts, each in the order of the tokens; those that add nothing come last.

    Unlike the kernel's, they leave out pairs whose weight is not a number, too: the gradient knows nothing of them.
    """

    token: Tensor  # [pairs], int32: that of a row
    weight: Tensor  # [pairs, 1]: that of a row; of no meaning at the end
    slots: Tensor  # [tokens, pairs of a token]: the row of a pair
    nothing: Tensor  # of the same shape: the pairs that add nothing
    offsets: Tensor  # [experts + 1], int32


def tables_of(ids: Tensor, weights: Tensor, token_count: Optional[Tensor], experts: int) -> Tables:
    """``ids`` and ``weights`` are those of all pairs."""
    tokens, each = ids.shape
    nothing = (ids < 0) | (ids >= experts) | (weights != weights)
    if token_count is not None:
        # The number has no sign: one below zero is more than there is room for.
        row = torch.arange(tokens, dtype=torch.int32, device=ids.device)
        nothing = nothing | ((row >= token_count.reshape(1)) & (token_count.reshape(1) >= 0))[:, None]
    key = ids.to(torch.int32, copy=True).masked_fill_(nothing, experts).reshape(-1)
    ordered, order = torch.sort(key, stable=True)
    bounds = torch.arange(experts + 1, dtype=torch.int32, device=ids.device)
    offsets = torch.searchsorted(ordered, bounds, out_int32=True)
    rows = torch.arange(order.numel(), dtype=order.dtype, device=ids.device)
    slots = torch.empty_like(order).scatter_(0, order, rows)
    token = torch.div(order, each, rounding_mode="floor").int()
    weight = weights.reshape(-1)[order][:, None]
    return Tables(token, weight, slots.view(tokens, each), nothing, offsets)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs[:7])
    ctx.shared, ctx.sm_limit = inputs[7:]
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Optional[Tensor], ...]:
    x, w_gate_up, w_down, topk_ids, topk_weights, shared_weights, token_count = ctx.saved_tensors
    of_x, of_gate_up, of_down, _, of_weights, of_shared, *_ = ctx.needs_input_grad
    experts, top_k, sm_limit = w_down.shape[0], topk_ids.shape[1], ctx.sm_limit
    ids, weights = topk_ids, topk_weights
    if ctx.shared:
        ids, weights = all_pairs(topk_ids, topk_weights, shared_weights, experts, ctx.shared)
    tables = tables_of(ids, weights, token_count, experts)
    dy = gradient.to(x.dtype).contiguous()
    index, weight, offsets = tables.token, tables.weight, tables.offsets

    def by_rows(a: Tensor, matrices: Tensor, rows: Optional[Tensor], make: Any = torch.empty) -> Tensor:
        # Rows of no expert are not written, so they may be anything; no product reads them.
        out = make(index.numel(), matrices.shape[1], dtype=x.dtype, device=x.device)
        return grouped_gemm(a, matrices, offsets=offsets, index=rows, out=out, sm_limit=sm_limit)

    def over_rows(left: Tensor, right: Tensor) -> Tensor:
        return matrices_gradient(left, right, offsets, sm_limit).to(x.dtype)

    # Between the products every step is made in fp32; of what is bf16 there torch makes no copy.
    narrow_gate, up = by_rows(x, w_gate_up, index).chunk(2, -1)
    gate = narrow_gate.float()
    silu = torch.nn.functional.silu(gate)
    h = silu * up
    dx = d_gate_up = d_down = d_weights = d_shared = None
    # The kernels read matrices the other way round as they lie, but gather no rows then; the rows are fewer.
    dy = dy[index]
    if of_down:
        d_down = over_rows(dy, (weight * h).to(x.dtype))
    if of_x or of_gate_up or of_weights or of_shared:
        s = by_rows(dy, w_down.transpose(1, 2), None)
        if of_weights or of_shared:
            of_pairs = (h * s).sum(-1)[tables.slots].masked_fill_(tables.nothing, 0)
            d_weights = of_pairs[:, :top_k].contiguous() if of_weights else None
            d_shared = of_pairs[:, top_k:].contiguous() if of_shared else None
        if of_x or of_gate_up:
            ds = weight * s
            d_both = x.new_empty(index.numel(), w_gate_up.shape[1])
            d_gate, d_up = d_both.chunk(2, -1)
            d_gate.copy_(torch.ops.aten.silu_backward(ds * up, gate))
            d_up.copy_(ds * silu)
            if of_gate_up:
                d_gate_up = over_rows(d_both, x[index])
            if of_x:
                rows = by_rows(d_both, w_gate_up.transpose(1, 2), None, torch.zeros)
                dx = rows[tables.slots].sum(1, dtype=torch.float32).to(x.dtype)
    return dx, d_gate_up, d_down, None, d_weights, d_shared, None, None, None


_differentiable = register_gradient(_layer, _computed, _keep, _backward)
register_autocast("moe_layer", _layer, WEIGHTS)
refuse_vmap(_layer, "moe: vmap does not go through it; give it the examples as rows")


def _backward_of(settings: Settings, ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    ctx.shared, ctx.sm_limit = settings
    return _backward(ctx, gradient, None)


@functools.lru_cache(maxsize=MOST_PLANS)
def _apply_of(module: Any, settings: Settings) -> Any:
    return _torch_native.differentiable(module, "Layer", functools.partial(_backward_of, settings))


def learning(module: Any, settings: Settings, token_count: Optional[Tensor]) -> tuple[Any, ...]:
    """What the compiled module keeps of a call, in the order of its Learning: the tensors, in the order of the op. Rows of
    tokens that are not there are not written."""
    return _apply_of(module, settings), TENSORS, TENSORS, token_count is not None


def moe(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor,
        shared_weights: Optional[Tensor], token_count: Optional[Tensor], status: Optional[Tensor],
        settings: Settings) -> Tensor:
    made: tuple[Tensor, Tensor] = _differentiable(x, w_gate_up, w_down, topk_ids, topk_weights, shared_weights,
                                                  token_count, *settings)
    if status is not None:
        status.copy_(made[1])
    return made[0]
