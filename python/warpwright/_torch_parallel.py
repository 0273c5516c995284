"""Layers whose weights are DTensors: which part of the work each rank does, by the same code as on one GPU.

Gates and ups lie one above the other in a weight, [gate; up]. Cut in two, one rank would have gates alone. A weight that
ranks share is therefore kept in blocks: [gate; up] of the first rank, then of the second, and so on.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import torch
import torch.distributed.tensor as dt
from torch import Tensor

from . import _torch_moe
from ._torch_layers import experts_product, swiglu_linear
from ._torch_sharding import R, SUM, check_distributed, is_shard


def to_blocks(x: Any, dim: int, blocks: int) -> Any:
    """From [gates; ups] to this many [gates; ups] one after the other."""
    return x.unflatten(dim, (2, blocks, -1)).transpose(dim, dim + 1).flatten(dim, dim + 2)


def from_blocks(x: Any, dim: int, blocks: int) -> Any:
    return x.unflatten(dim, (blocks, 2, -1)).transpose(dim, dim + 1).flatten(dim, dim + 2)


def ranks_along(mesh: Any, placements: Sequence[Any], dim: int) -> int:
    """How many ranks share a dimension of a DTensor."""
    ranks = 1
    for i, placement in enumerate(placements):
        if is_shard(placement, dim):
            ranks *= mesh.size(i)
    return ranks


def everywhere(x: Any) -> Any:
    return x.redistribute(placements=[R] * len(x.placements))


@torch.no_grad()
def in_order(x: Any, dim: int, blocks: int, order: Callable[[Any, int, int], Any]) -> Any:
    """A DTensor with its gates and ups in another order, placed as it was. Every rank sees it whole on the way."""
    if x.is_meta or blocks == 1:
        return x
    whole = order(everywhere(x).to_local(), dim, blocks)
    made = dt.DTensor.from_local(whole, x.device_mesh, [R] * len(x.placements), run_check=False)
    return made.redistribute(placements=x.placements)


def check_divides(what: str, size: int, ranks: int) -> None:
    if size % ranks:
        raise ValueError(f"{what} = {size}: the {ranks} ranks that share it need a part of equal size each")


def paired(parameter: Any) -> tuple[Any, int]:
    """A parameter of gates and ups in the order that its ranks need, and of how many blocks it is."""
    blocks = ranks_along(parameter.device_mesh, parameter.placements, 0)
    check_divides("intermediate_size", parameter.shape[0] // 2, blocks)
    return torch.nn.Parameter(in_order(parameter.detach(), 0, blocks, to_blocks), parameter.requires_grad), blocks


def _local(x: Any, placements: Sequence[Any], gradient: Sequence[Any]) -> Any:
    if x is None:
        return None
    return x.redistribute(placements=placements).to_local(grad_placements=gradient)


def _global(y: Tensor, mesh: Any, placements: Sequence[Any], shape: Sequence[int]) -> Any:
    stride = [1]
    for extent in reversed(shape[1:]):
        stride.insert(0, stride[0] * extent)
    return dt.DTensor.from_local(y.contiguous(), mesh, placements, run_check=False, shape=torch.Size(shape),
                                 stride=tuple(stride))


def _in_blocks(x: Any, dim: int, blocks: int, ranks: int) -> Any:
    """A weight that is in ``blocks`` as ``ranks`` need it. Where these differ, every rank looks at all of it."""
    if x is None or blocks == ranks:
        return x
    x = everywhere(x)
    x = x if blocks == 1 else from_blocks(x, dim, blocks)
    return x if ranks == 1 else to_blocks(x, dim, ranks)


def gated_linear(x: Any, weight: Any, bias: Any, blocks: Mapping[str, int]) -> Any:
    """``swiglu_linear`` of DTensors, weight and bias in this many blocks: each rank has columns of its own, or rows."""
    check_distributed(x=x, weight=weight, bias=bias)
    x_at, w_at, out_at, x_gradient, w_gradient = [], [], [], [], []
    for of_x, of_weight in zip(x.placements, weight.placements):
        by_columns = is_shard(of_weight, 0)
        by_rows = not by_columns and of_x.is_shard() and of_x.dim < x.dim() - 1
        x_at.append(of_x if by_rows else R)
        w_at.append(of_weight if by_columns else R)
        out_at.append(dt.Shard(x.dim() - 1) if by_columns else of_x if by_rows else R)
        x_gradient.append(SUM if by_columns else x_at[-1])
        w_gradient.append(SUM if by_rows else w_at[-1])
    ranks = ranks_along(weight.device_mesh, w_at, 0)
    parts = [_local(_in_blocks(t, 0, blocks.get(name, 1), ranks), w_at, w_gradient)
             for name, t in (("weight", weight), ("bias", bias))]
    y = swiglu_linear(_local(x, x_at, x_gradient), *parts)
    return _global(y, x.device_mesh, out_at, (*x.shape[:-1], weight.shape[0] // 2))


Layer = Callable[..., Tensor]
FACTORS = ("x_scale", "w_gate_up_scale", "w_down_scale")


def layer_of_experts(layer: Layer, x: Any, ids: Any, weights: Any, gate_up: Any, down: Any, everybody: Any,
                     blocks: int = 1, factors: Sequence[Any] = (None, None, None)) -> Any:
    """``layer(x, ids, weights, gate_up, down, everybody, *factors)`` of DTensors: each rank has tokens of its own, or a part of the
    intermediate size of every expert. Experts that are spread over ranks are gathered; ``ExpertParallel`` does not."""
    names = ("x", "topk_ids", "topk_weights", "w_gate_up", "w_down", "shared_weights", *FACTORS)
    check_distributed(**dict(zip(names, (x, ids, weights, gate_up, down, everybody, *factors))))
    x_at, first_at, second_at, out_at, x_gradient, gradients = [], [], [], [], [], []
    inner = down.shape[2]
    wide = factors[0] is None
    for i, (of_x, of_first, of_second) in enumerate(zip(x.placements, gate_up.placements, down.placements)):
        by_inner = wide and (is_shard(of_first, 1) or is_shard(of_second, 2)) and inner % x.device_mesh.size(i) == 0
        by_tokens = not by_inner and is_shard(of_x, 0)
        x_at.append(of_x if by_tokens else R)
        first_at.append(dt.Shard(1) if by_inner else R)
        second_at.append(dt.Shard(2) if by_inner else R)
        out_at.append(SUM if by_inner else x_at[-1])
        x_gradient.append(SUM if by_inner else x_at[-1])
        gradients.append(SUM if by_tokens else None)
    ranks = ranks_along(x.device_mesh, first_at, 1)
    whole = [R] * len(x_at)
    gate_up = _in_blocks(gate_up, 1, blocks, ranks)

    def of_weight(t: Any, at: Sequence[Any]) -> Any:
        return _local(t, at, [p if g is None else g for p, g in zip(at, gradients)])

    y = layer(_local(x, x_at, x_gradient), _local(ids, x_at, x_at), _local(weights, x_at, x_gradient),
              of_weight(gate_up, first_at), of_weight(down, second_at), _local(everybody, x_at, x_gradient),
              _local(factors[0], x_at, x_at),
              *(_local(t, whole, whole) for t in factors[1:]))
    return _global(y, x.device_mesh, out_at, x.shape)


def _contiguous(*tensors: Any) -> list[Any]:
    return [None if t is None else t.contiguous() for t in tensors]


def moe(x: Any, w_gate_up: Any, w_down: Any, topk_ids: Any, topk_weights: Any, x_scale: Any, w_gate_up_scale: Any,
        w_down_scale: Any, shared: int, shared_weights: Any, token_count: Any, out: Any, status: Any,
        sm_limit: int) -> Any:
    """``warpwright.moe`` of DTensors."""
    for name, value in (("token_count", token_count), ("out", out), ("status", status)):
        if value is not None:
            raise ValueError(f"{name}: a layer of DTensors has none; leave it out")

    def layer(x: Tensor, ids: Tensor, weights: Tensor, gate_up: Tensor, down: Tensor, everybody: Any, *scales: Any) -> Tensor:
        given = _contiguous(x, gate_up, down, ids, weights, *scales)
        one: Any = _torch_moe.moe
        made: Tensor = one(*given, shared, *_contiguous(everybody), sm_limit=sm_limit)
        return made

    return layer_of_experts(layer, x, topk_ids, topk_weights, w_gate_up, w_down, shared_weights,
                            factors=(x_scale, w_gate_up_scale, w_down_scale))


def experts(x: Any, index: Any, weights: Any, gate_up: Any, down: Any, blocks: int, shared: int, everybody: Any) -> Any:
    """``experts_product`` of DTensors, gates and ups in ``blocks``."""
    def layer(x: Tensor, ids: Tensor, weights: Tensor, gate_up: Tensor, down: Tensor, everybody: Any, *_: Any) -> Tensor:
        return experts_product(x, ids, weights, gate_up.contiguous(), None, down.contiguous(), None, shared, everybody)

    return layer_of_experts(layer, x, index, weights, gate_up, down, everybody, blocks)
