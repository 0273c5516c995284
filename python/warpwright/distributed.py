"""Beyond one GPU, on ``torch.distributed``: a layer of experts that are spread over ranks, and styles for
``parallelize_module``.

``gemm``, ``moe`` and the modules of ``warpwright.nn`` take DTensors, and ``ColwiseParallel``, ``RowwiseParallel`` and
``SequenceParallel`` of torch take the modules; importing this module registers how. torch calls that registration
experimental.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import torch
import torch.distributed as dist
import torch.distributed.tensor as dt
from torch import Tensor
from torch.distributed.tensor.parallel import ParallelStyle

from . import _torch_moe, _torch_parallel, nn
from ._moe import check_shapes
from ._quantize import TOKEN, quantize
from ._torch_describe import autocast_type, cast, wants_gradient
from ._torch_parallel import FACTORS, check_divides, in_order, to_blocks
from ._torch_sharding import R

__all__ = ["ExpertParallel", "ExpertTensorParallel", "moe"]


def _sent(x: Tensor, send: Sequence[int], receive: Sequence[int], group: Any) -> Tensor:
    """Rows to every rank and from every rank. They travel as bytes, which every backend can send."""
    rows = x.contiguous().view(torch.uint8)
    out = torch.empty((sum(receive), rows.shape[1]), dtype=torch.uint8, device=x.device)
    dist.all_to_all_single(out, rows, list(receive), list(send), group=group)
    return out.view(x.dtype)


class _Exchange(torch.autograd.Function):
    """The gradient of rows that were sent comes back the same way."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, send: Sequence[int], receive: Sequence[int], group: Any) -> Any:
        ctx.way = receive, send, group
        return _sent(x, send, receive, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _sent(gradients[0], *ctx.way), None, None, None


def _picked(rows: Tensor, index: Tensor) -> Tensor:
    """Row ``index[i]`` for each i; zeros where there is no such row."""
    if rows.shape[0] == 0:
        return rows.new_zeros(index.shape[0], rows.shape[1])
    found = rows[index.clamp(max=rows.shape[0] - 1)]
    return torch.where((index < rows.shape[0])[:, None], found, found.new_zeros(()))


class _Way(NamedTuple):
    """Which rows a rank sends. Pair p is one of token p // choices; a number that no pair or row has means none."""

    send: list[int]  # rows to each rank
    receive: list[int]  # and from it
    pairs: Tensor  # [rows]: the pair of each
    slots: Tensor  # [pairs]: the row of each
    ids: Tensor  # [rows that are received]: which of this rank's experts, or none


class _Spread(torch.autograd.Function):
    """The rows that are sent. The gradient adds the pairs of a token in their order."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, pairs: Tensor, slots: Tensor, choices: int) -> Any:
        ctx.save_for_backward(slots)
        ctx.like = x.shape[0], choices, x.dtype
        return _picked(x, torch.div(pairs, choices, rounding_mode="floor"))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        slots, = ctx.saved_tensors
        tokens, choices, dtype = ctx.like
        of_pairs = _picked(gradients[0], slots)
        return of_pairs.view(tokens, choices, of_pairs.shape[1]).float().sum(1).to(dtype), None, None, None


class _Collected(torch.autograd.Function):
    """The row that came back of each pair."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, pairs: Tensor, slots: Tensor) -> Any:
        ctx.save_for_backward(pairs)
        return _picked(rows, slots)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _picked(gradients[0], *ctx.saved_tensors), None, None


def _announced(w_gate_up: Tensor, w_down: Tensor, rows: Tensor, capacity: int,
               group: Any) -> tuple[list[int], list[int]]:
    """How many rows go to each rank and come from it. With the numbers go the sizes of the experts and the capacity, so
    that ranks which do not agree find out, all of them, before they wait for rows that never come."""
    sizes = torch.tensor([w_gate_up.shape[0], w_down.shape[1], w_down.shape[2], int(w_gate_up.dtype == torch.bfloat16),
                          capacity], dtype=torch.int64, device=rows.device)
    mine = torch.cat([sizes.expand(rows.shape[0], 5), rows[:, None]], 1).contiguous()
    theirs = torch.empty_like(mine)
    dist.all_to_all_single(theirs, mine, group=group)
    sent, received = torch.stack([mine, theirs]).tolist()

    def words(rank: int) -> str:
        experts, hidden, inner, wide, *_ = received[rank]
        return f"rank {rank} has {experts} of {hidden} -> {inner} in {'bf16' if wide else 'e4m3'}"

    for rank, line in enumerate(received):
        if line[:4] != received[0][:4]:
            raise ValueError(f"w_gate_up, w_down: {words(0)}, {words(rank)}; all ranks have equally many experts of one size")
        if line[4] != received[0][4]:
            raise ValueError(f"capacity: rank 0 gives {received[0][4] or None}, rank {rank} {line[4] or None}; all ranks "
                             "give the same")
    return [line[5] for line in sent], [line[5] for line in received]


def _way_of_all(expert: Tensor, w_gate_up: Tensor, w_down: Tensor, mine: int, ranks: int, group: Any) -> _Way:
    """Every pair is sent, so the host reads how many there are for each rank. ``expert`` is that of each pair, beyond the
    last one for none."""
    experts, device = mine * ranks, expert.device
    order = torch.argsort(expert, stable=True)
    counts = torch.searchsorted(expert[order], torch.arange(experts + 1, device=device)).diff()
    send, receive = _announced(w_gate_up, w_down, counts.view(ranks, mine).sum(1), 0, group)
    theirs = torch.empty_like(counts)
    dist.all_to_all_single(theirs, counts, group=group)
    rows = sum(send)
    pairs = order[:rows]
    slots = torch.full_like(expert, rows).scatter_(0, pairs, torch.arange(rows, device=device))
    ids = torch.arange(mine, device=device).repeat(ranks).repeat_interleave(theirs, output_size=sum(receive))
    return _Way(send, receive, pairs, slots, ids)


_agreed: set[tuple[Any, ...]] = set()  # what the ranks of a group were found to agree about


def _way_of_some(expert: Tensor, w_gate_up: Tensor, w_down: Tensor, mine: int, ranks: int, capacity: int,
                 group: Any) -> _Way:
    """This many rows go to each rank, whether there are pairs for them or not, and the host need not know."""
    experts, device, count = mine * ranks, expert.device, expert.shape[0]
    ranks_of: Any = group or dist.group.WORLD
    key = (ranks_of.group_name, tuple(w_gate_up.shape), w_gate_up.dtype, capacity)
    is_capturing: Any = torch.cuda.is_current_stream_capturing  # torch gives it no types
    if key not in _agreed and not (device.type == "cuda" and is_capturing()):
        _announced(w_gate_up, w_down, torch.full((ranks,), capacity, device=device), capacity, group)
        _agreed.add(key)
    order = torch.argsort(expert, stable=True)
    starts = torch.searchsorted(expert[order], torch.arange(0, experts + 1, mine, device=device))
    source = starts[:-1, None] + torch.arange(capacity, device=device)
    none = order.new_full((1,), count)
    pairs = torch.where(source < starts[1:, None], torch.cat([order, none])[source.clamp(max=count)], none).view(-1)
    rank = torch.div(expert, mine, rounding_mode="floor")
    position = torch.empty_like(order).scatter_(0, order, torch.arange(count, device=device)) - starts[rank]
    slots = torch.where((expert < experts) & (position < capacity), rank * capacity + position, ranks * capacity)
    nobody = w_gate_up.shape[0]
    wanted = torch.where(pairs < count, torch.cat([expert, none])[pairs] % mine, nobody)
    rows = [capacity] * ranks
    return _Way(rows, rows, pairs, slots, _sent(wanted[:, None], rows, rows, group)[:, 0])


def _check(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor, shared: int,
           shared_weights: Optional[Tensor]) -> None:
    check_shapes(x.shape, w_gate_up.shape, w_down.shape, topk_ids.shape, topk_weights.shape, shared,
                 None if shared_weights is None else shared_weights.shape)
    for name, t in (("w_gate_up", w_gate_up), ("w_down", w_down), ("topk_ids", topk_ids), ("topk_weights", topk_weights)):
        if t.device != x.device:
            raise ValueError(f"{name}: it is on {t.device}, x is on {x.device}")
        if name[0] == "w" and t.dtype != x.dtype:
            raise TypeError(f"{name}: its type is {t.dtype}, that of x is {x.dtype}")
    if topk_ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"topk_ids: its type is {topk_ids.dtype}; torch.int32 and torch.int64 are taken")


def _of_local_experts(rows: Tensor, ids: Tensor, w_gate_up: Tensor, w_down: Tensor, scales: Sequence[Any]) -> Tensor:
    """What the expert of each row makes of it."""
    if rows.shape[0] == 0:
        if wants_gradient(rows, w_gate_up, w_down):  # all ranks take part in the way back
            return rows @ w_gate_up[0, :0].T @ w_down[0, :, :0].T
        return rows.new_zeros(0, w_down.shape[1], dtype=torch.bfloat16)
    ones = torch.ones(ids.shape[0], 1, dtype=torch.float32, device=rows.device)
    return _torch_moe.moe(rows, w_gate_up.contiguous(), w_down.contiguous(), ids[:, None].contiguous(), ones,
                          **dict(zip(FACTORS, scales)))


def _added(total: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
    """Rounded once, as the kernels add with fma; in the double of their reference on the CPU nothing is lost."""
    return (total.double() + rows.double() * weight.double()).to(total.dtype)


def moe(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor, *,
        group: Optional[dist.ProcessGroup] = None, x_scale: Optional[Tensor] = None,
        w_gate_up_scale: Optional[Tensor] = None, w_down_scale: Optional[Tensor] = None, shared: int = 0,
        shared_weights: Optional[Tensor] = None, capacity: Optional[int] = None,
        status: Optional[Tensor] = None) -> Tensor:
    """``warpwright.moe`` with the experts spread over the ranks of ``group``, all ranks by default.

    x             [tokens, hidden]: this rank's tokens, as many as it has, or none
    w_gate_up     [experts / ranks, 2 * intermediate, hidden]: this rank's experts. Those of the first rank have the
                  numbers from 0, then come those of the second
    w_down        [experts / ranks, hidden, intermediate]
    topk_ids      [tokens, top_k], int32 or int64: numbers among all experts
    topk_weights  [tokens, top_k]

    The last ``shared`` matrices of every rank are not experts that tokens are sent to: each rank's tokens take those of their rank,
    with ``shared_weights`` [tokens, shared] or 1.

    Every pair of a token and an expert is sent to the rank that has the expert, computed there by ``warpwright.moe`` and
    sent back. The rank of the token adds its pairs up in the order of ``topk_ids``: the same input gives the same bits,
    whatever the number of ranks. Pairs with an expert that does not exist or a weight that is not a number add
    nothing and are not sent.

    There is a gradient in bf16. All ranks of the group make the call, and all or none want gradients. The numbers of rows
    are read by the host, once in a call, so that it cannot be captured in a graph.

    With ``capacity`` it can: every rank sends this many rows to every other, filled up with rows of no token, and no host
    looks but in the first such call, which sees whether the ranks agree. Pairs beyond it, the last ones of the last experts of
    a rank, add nothing; ``tokens * top_k`` is enough for all. ``status``, one int32, gets the bits 1 (experts) and 2
    (weights) of ``warpwright.moe``, and 8 where this rank had more pairs for one than the capacity.
    """
    _check(x, w_gate_up, w_down, topk_ids, topk_weights, shared, shared_weights)
    if capacity is not None and (not isinstance(capacity, int) or capacity < 1):
        raise ValueError(f"capacity: {capacity!r} rows for each rank; a whole number from 1 on is needed, or None")
    if status is not None and (status.dtype != torch.int32 or status.numel() != 1 or status.device != x.device):
        raise ValueError(f"status: one torch.int32 on {x.device} is needed, not {status.numel()} of {status.dtype} on "
                         f"{status.device}")
    if x_scale is not None and wants_gradient(x, w_gate_up, w_down, topk_weights):
        raise ValueError("x_scale: experts in 8 bits have no gradient; use torch.no_grad()")
    tokens, choices = topk_ids.shape
    mine, ranks = w_gate_up.shape[0] - shared, dist.get_world_size(group)
    experts = mine * ranks

    flat = topk_ids.reshape(-1).long()
    real = ~topk_weights.detach().isnan().reshape(-1)
    there = (flat >= 0) & (flat < experts)
    expert = torch.where(there & real, flat, experts)
    if capacity is None:
        way = _way_of_all(expert, w_gate_up, w_down, mine, ranks, group)
    else:
        way = _way_of_some(expert, w_gate_up, w_down, mine, ranks, capacity, group)
    taken = way.slots < way.pairs.shape[0]
    if status is not None:
        faults = ((~there, 1), (~real, 2), ((expert < experts) & ~taken, 8))
        status.copy_(torch.stack([found.any() * bit for found, bit in faults]).sum().reshape(status.shape))

    exchange: Any = _Exchange.apply  # torch gives it no types
    send, receive = way.send, way.receive
    scale: Optional[Tensor] = None
    if x_scale is not None:
        spread = torch.div(way.pairs, choices, rounding_mode="floor")
        rows = _sent(_picked(x.view(torch.uint8), spread), send, receive, group).view(x.dtype)
        scale = _sent(_picked(x_scale, spread), send, receive, group)
    else:
        of_pairs: Any = _Spread.apply
        rows = exchange(of_pairs(x, way.pairs, way.slots, choices), send, receive, group)
    scales = w_gate_up_scale, w_down_scale
    y = _of_local_experts(rows, way.ids, w_gate_up, w_down, (scale, *scales))
    back: Tensor = exchange(y, receive, send, group)

    collected: Any = _Collected.apply
    of_tokens: Tensor = collected(back, way.pairs, way.slots).view(tokens, choices, back.shape[1])
    weights = torch.where(taken.view(tokens, choices), topk_weights, topk_weights.new_zeros(()))
    total = of_tokens.new_zeros(tokens, of_tokens.shape[2], dtype=torch.float64 if x.device.type == "cpu" else torch.float32)
    for choice in range(choices):
        total = _added(total, of_tokens[:, choice], weights[:, choice, None])
    for i in range(shared):
        ids = torch.full((tokens,), mine + i, dtype=torch.int64, device=x.device)
        y = _of_local_experts(x, ids, w_gate_up, w_down, (x_scale, *scales))
        weight = y.new_ones(tokens, 1) if shared_weights is None else shared_weights[:, i, None]
        real = ~weight.isnan()
        total = _added(total, torch.where(real, y, y.new_zeros(())), torch.where(real, weight, weight.new_zeros(())))
    return total.to(back.dtype)


class ExpertParallel(ParallelStyle):
    """For ``parallelize_module``: a ``warpwright.nn.Experts`` whose experts are spread over the ranks of a mesh.

    input_layouts   ``Shard(0)``: every rank brings tokens of its own, as in data and sequence parallel. ``Replicate()``:
                    all bring the same, of which each takes its part, and all get the whole result
    capacity        as for ``moe``

        parallelize_module(model, mesh, {"model.layers.0.mlp.experts": ExpertParallel()})

    In the state the parameters are DTensors, sharded along the experts.
    """

    def __init__(self, *, input_layouts: Any = None, capacity: Optional[int] = None) -> None:
        super().__init__()
        self.input_layouts, self.capacity = input_layouts or dt.Shard(0), capacity
        if self.input_layouts not in (dt.Shard(0), R):
            raise ValueError(f"input_layouts: {self.input_layouts} is not one of Shard(0), Replicate()")

    def _apply(self, module: torch.nn.Module, device_mesh: Any) -> torch.nn.Module:
        experts = _as_experts(module, "ExpertParallel")
        if experts.shared:
            raise ValueError(f"ExpertParallel: {experts.shared} of these experts are for all tokens, and have no rank of their "
                             "own; make them a warpwright.nn.MLP beside the others, as convert(leave=['*.shared_expert_gate']) does, or use "
                             "ExpertTensorParallel")
        check_divides("num_experts", experts.num_experts, device_mesh.size())
        for name in ("gate_up_proj", "down_proj"):
            _distribute(experts, name, device_mesh, dt.Shard(0), self.src_data_rank)
        experts.spread = _SpreadExperts(device_mesh, self.input_layouts, self.capacity)
        return experts


class ExpertTensorParallel(ParallelStyle):
    """For ``parallelize_module``: a ``warpwright.nn.Experts`` of which every rank has a part of each expert, columns of its
    gates and ups and rows of its downs. Every rank sees all tokens, and the results are added up.

    input_layouts, output_layouts   of the tokens, ``Replicate()`` by default; ``Shard(0)``: every rank has tokens of its own
    use_local_output                whether the result is a plain tensor, True by default
    """

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        super().__init__()
        self.input_layouts, self.output_layouts = input_layouts or R, output_layouts or R
        self.use_local_output = use_local_output

    def _apply(self, module: torch.nn.Module, device_mesh: Any) -> torch.nn.Module:
        experts = _as_experts(module, "ExpertTensorParallel")
        if experts.narrow:
            raise ValueError("ExpertTensorParallel: experts in 8 bits are not cut; ExpertParallel spreads them")
        ranks = device_mesh.size()
        check_divides("intermediate_size", experts.intermediate_dim, ranks)
        for name, dim in (("gate_up_proj", 1), ("down_proj", 2)):
            _distribute(experts, name, device_mesh, dt.Shard(dim), self.src_data_rank)
        first = experts.gate_up_proj
        ordered = in_order(first.detach(), 1, ranks, to_blocks)
        experts.gate_up_proj = torch.nn.Parameter(ordered, first.requires_grad)
        experts.blocks = ranks
        experts.spread = _CutExperts(device_mesh, self.input_layouts, self.output_layouts, self.use_local_output)
        return experts


def _as_experts(module: torch.nn.Module, style: str) -> nn.Experts:
    if not isinstance(module, nn.Experts):
        raise TypeError(f"{style}: it is for warpwright.nn.Experts, not for {type(module).__name__}; warpwright.convert "
                        "makes one of the experts of a model")
    if module.spread is not None:
        raise ValueError(f"{style}: these experts are spread over ranks already")
    return module


def _distribute(module: nn.Experts, name: str, mesh: Any, placement: Any, source: Optional[int]) -> None:
    if not module.narrow:
        parameter = module.get_parameter(name)
        made = dt.distribute_tensor(parameter.detach(), mesh, [placement], src_data_rank=source)
        module.register_parameter(name, torch.nn.Parameter(made, parameter.requires_grad))
        return
    for buffer in (name, f"{name}_scale"):  # as bytes, and kept as plain tensors
        whole = module.get_buffer(buffer)
        made = dt.distribute_tensor(whole.view(torch.uint8), mesh, [placement], src_data_rank=source)
        module.register_buffer(buffer, made.to_local().view(whole.dtype))


class _SpreadExperts:
    """The forward of ``Experts`` after ``ExpertParallel``."""

    def __init__(self, mesh: Any, layout: Any, capacity: Optional[int]) -> None:
        self.mesh, self.layout, self.capacity = mesh, layout, capacity

    def to_state(self, weight: Tensor) -> Any:
        """This rank's weights in 8 bits, as they stand in a state."""
        return dt.DTensor.from_local(weight, self.mesh, [dt.Shard(0)], run_check=False)

    def of_state(self, weight: Any) -> Tensor:
        if not isinstance(weight, dt.DTensor):
            weight = dt.DTensor.from_local(weight, self.mesh, [R], run_check=False)
        local: Tensor = weight.redistribute(placements=[dt.Shard(0)]).to_local()
        return local

    def __call__(self, module: Any, x: Any, index: Any, weights: Any, everybody: None) -> Any:
        placements = x.placements if isinstance(x, dt.DTensor) else None
        shape = x.shape
        if placements is not None:
            x, index, weights = (self._mine(t if isinstance(t, dt.DTensor) else self._placed(t, R))
                                 for t in (x, index, weights))
        elif self.layout == R:
            x, index, weights = (self._mine(self._placed(t, R)) for t in (x, index, weights))
        y = self._of_my_tokens(module, x, index, weights)
        if placements is None and self.layout != R:
            return y
        whole = dt.DTensor.from_local(y, self.mesh, [dt.Shard(0)], run_check=False, shape=shape, stride=(shape[1], 1))
        if placements is None:
            return whole.redistribute(placements=[R]).to_local()
        return whole.redistribute(placements=[R if p.is_partial() else p for p in placements])

    def _placed(self, x: Tensor, placement: Any) -> Any:
        return dt.DTensor.from_local(x, self.mesh, [placement], run_check=False)

    def _mine(self, x: Any) -> Any:
        return x.redistribute(placements=[dt.Shard(0)]).to_local()

    def _of_my_tokens(self, module: Any, x: Tensor, index: Tensor, weights: Tensor) -> Tensor:
        group = self.mesh.get_group()
        if not module.narrow:
            first, second = module.gate_up_proj.to_local(), module.down_proj.to_local()
            rows = cast(x, autocast_type(x.device))
            return moe(rows, first, second, index, weights.float(), group=group, capacity=self.capacity).to(rows.dtype)
        if wants_gradient(x):
            raise ValueError("x: experts in 8 bits have no gradient; use torch.no_grad()")
        scales = [module.get_buffer(f"{name}_scale") for name in ("gate_up_proj", "down_proj")]
        if x.shape[0]:
            q = quantize(x, TOKEN)
            values, factors = q.values, q.scales
        else:
            values = x.to(torch.float8_e4m3fn)
            factors = torch.empty(0, scales[0].shape[2], dtype=torch.float32, device=x.device)
        return moe(values, module.gate_up_proj, module.down_proj, index, weights.float(), group=group, x_scale=factors,
                   w_gate_up_scale=scales[0], w_down_scale=scales[1], capacity=self.capacity).to(x.dtype)


class _CutExperts:
    """The forward of ``Experts`` after ``ExpertTensorParallel``."""

    def __init__(self, mesh: Any, input_layout: Any, output_layout: Any, use_local_output: bool) -> None:
        self.mesh, self.input_layout, self.output_layout = mesh, input_layout, output_layout
        self.use_local_output = use_local_output

    def __call__(self, module: Any, *inputs: Any) -> Any:
        x, index, weights, everybody = (t if t is None or isinstance(t, dt.DTensor) else dt.DTensor.from_local(
            t.contiguous(), self.mesh, [self.input_layout], run_check=False) for t in inputs)
        y = _torch_parallel.experts(x, index, weights, module.gate_up_proj, module.down_proj, module.blocks, module.shared,
                                    everybody)
        y = y.redistribute(placements=[self.output_layout])
        return y.to_local() if self.use_local_output else y
