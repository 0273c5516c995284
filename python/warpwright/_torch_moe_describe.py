"""A mixture of experts of torch tensors as the library is told of it."""

from __future__ import annotations

from typing import NamedTuple, Optional

import torch
from torch import Tensor

from . import _abi
from ._moe import check_shapes, scale_shapes
from ._torch_describe import as_tensor, check_out, type_of


class Operands(NamedTuple):
    """The tensors of a layer."""

    x: Tensor
    w_gate_up: Tensor
    w_down: Tensor
    topk_ids: Tensor
    topk_weights: Tensor
    x_scale: Optional[Tensor]
    w_gate_up_scale: Optional[Tensor]
    w_down_scale: Optional[Tensor]
    shared_weights: Optional[Tensor]
    token_count: Optional[Tensor]
    out: Tensor
    status: Optional[Tensor]


class Settings(NamedTuple):
    """The rest of a call."""

    shared: int
    sm_limit: int


class Layer(NamedTuple):
    """All that a plan depends on."""

    device: Optional[int]
    tokens: int
    hidden: int
    intermediate: int
    experts: int  # those that every token takes among them
    top_k: int
    type: str
    id_bytes: int
    settings: Settings


def _one(name: str, x: Optional[Tensor]) -> None:
    if x is not None and (x.dtype != torch.int32 or x.numel() != 1):
        raise ValueError(f"{name}: one torch.int32 is needed, not {x.numel()} of {x.dtype}")


def describe(t: Operands, settings: Settings) -> Layer:
    """Checks a call; it can be launched as soon as the tensors are on a GPU."""
    for name, tensor in zip(Operands._fields, t):
        if tensor is None:
            continue
        as_tensor(name, tensor)
        if tensor.device != t.x.device:
            raise ValueError(f"{name}: it is on {tensor.device}, x is on {t.x.device}")
        if not tensor.is_contiguous():
            raise ValueError(f"{name}: rows without gaps are needed; its strides are {tensor.stride()}")
    check_shapes(t.x.shape, t.w_gate_up.shape, t.w_down.shape, t.topk_ids.shape, t.topk_weights.shape, settings.shared,
                 None if t.shared_weights is None else t.shared_weights.shape)
    word = type_of("x", t.x, ("bf16", "e4m3"))
    for name, tensor in (("w_gate_up", t.w_gate_up), ("w_down", t.w_down)):
        if tensor.dtype != t.x.dtype:
            raise TypeError(f"{name}: its type is {tensor.dtype}, that of x is {t.x.dtype}")
    if t.topk_ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"topk_ids: its type is {t.topk_ids.dtype}; torch.int32 and torch.int64 are taken")
    for name, weights in (("topk_weights", t.topk_weights), ("shared_weights", t.shared_weights)):
        if weights is not None and weights.dtype != torch.float32:
            raise TypeError(f"{name}: its type is {weights.dtype}; torch.float32 is taken")
    for name, shape in scale_shapes(t.x.shape, t.w_gate_up.shape, t.w_down.shape).items():
        scale = getattr(t, name)
        if (scale is None) != (word == "bf16"):
            raise ValueError(f"{name}: float8 operands have factors, bf16 ones have none")
        if scale is not None and (scale.dtype != torch.float32 or tuple(scale.shape) != shape):
            raise ValueError(f"{name}: torch.float32 of shape {shape} is needed, not {scale.dtype} of {tuple(scale.shape)}")
    _one("token_count", t.token_count)
    _one("status", t.status)
    if t.out.dtype != torch.bfloat16:
        raise TypeError(f"out: its type is {t.out.dtype}; torch.bfloat16 is taken")
    check_out(t.out, t.x, None, tuple(t.x.shape))
    return Layer(t.x.device.index, t.x.shape[0], t.x.shape[1], t.w_down.shape[2], t.w_down.shape[0],
                 t.topk_ids.shape[1], word, t.topk_ids.element_size(), settings)


def problem_of(layer: Layer) -> _abi.MoeProblem:
    p = _abi.new_moe_problem()
    p.tokens, p.hidden, p.intermediate = layer.tokens, layer.hidden, layer.intermediate
    p.experts, p.top_k, p.type = layer.experts, layer.top_k, _abi.words("dtype")[layer.type]
    p.id_bytes, p.sm_limit, p.shared = layer.id_bytes, layer.settings.sm_limit, layer.settings.shared
    return p


def all_pairs(ids: Tensor, weights: Tensor, shared_weights: Optional[Tensor], experts: int,
              shared: int) -> tuple[Tensor, Tensor]:
    """The expert and the weight of every pair, those that every token takes after the chosen ones; ``experts`` for one
    that does not exist."""
    chosen = torch.where((ids >= 0) & (ids < experts - shared), ids, experts)
    if not shared:
        return chosen, weights
    everybody = torch.arange(experts - shared, experts, dtype=ids.dtype, device=ids.device).expand(ids.shape[0], shared)
    if shared_weights is None:
        shared_weights = weights.new_ones(ids.shape[0], shared)
    return torch.cat([chosen, everybody], 1), torch.cat([weights, shared_weights], 1)
