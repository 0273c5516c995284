"""A mixture of experts of torch tensors, and its custom op."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from . import _abi
from ._moe import SCALE_BLOCK, check_shapes, scale_shapes
from ._simulate import simulated_target
from ._torch_describe import as_tensor, check_out, is_watched, type_of, wants_gradient
from ._torch_launch import MOST_PLANS
from ._torch_transforms import refuse_vmap


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
    token_count: Optional[Tensor]
    out: Tensor
    status: Optional[Tensor]


class Layer(NamedTuple):
    """All that a plan depends on."""

    device: Optional[int]
    tokens: int
    hidden: int
    intermediate: int
    experts: int
    top_k: int
    type: str
    id_bytes: int
    sm_limit: int


_plans: dict[Layer, _abi.MoePlan] = {}


def _one(name: str, x: Optional[Tensor]) -> None:
    if x is not None and (x.dtype != torch.int32 or x.numel() != 1):
        raise ValueError(f"{name}: one torch.int32 is needed, not {x.numel()} of {x.dtype}")


def describe(t: Operands, sm_limit: int) -> Layer:
    """Checks a call; it can be launched as soon as the tensors are on a GPU."""
    for name, tensor in zip(Operands._fields, t):
        if tensor is None:
            continue
        as_tensor(name, tensor)
        if tensor.device != t.x.device:
            raise ValueError(f"{name}: it is on {tensor.device}, x is on {t.x.device}")
        if not tensor.is_contiguous():
            raise ValueError(f"{name}: rows without gaps are needed; its strides are {tensor.stride()}")
    check_shapes(t.x.shape, t.w_gate_up.shape, t.w_down.shape, t.topk_ids.shape, t.topk_weights.shape)
    word = type_of("x", t.x, ("bf16", "e4m3"))
    for name, tensor in (("w_gate_up", t.w_gate_up), ("w_down", t.w_down)):
        if tensor.dtype != t.x.dtype:
            raise TypeError(f"{name}: its type is {tensor.dtype}, that of x is {t.x.dtype}")
    if t.topk_ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"topk_ids: its type is {t.topk_ids.dtype}; torch.int32 and torch.int64 are taken")
    if t.topk_weights.dtype != torch.float32:
        raise TypeError(f"topk_weights: its type is {t.topk_weights.dtype}; torch.float32 is taken")
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
                 t.topk_ids.shape[1], word, t.topk_ids.element_size(), sm_limit)


def problem_of(layer: Layer) -> _abi.MoeProblem:
    p = _abi.new_moe_problem()
    p.tokens, p.hidden, p.intermediate = layer.tokens, layer.hidden, layer.intermediate
    p.experts, p.top_k, p.type = layer.experts, layer.top_k, _abi.words("dtype")[layer.type]
    p.id_bytes, p.sm_limit = layer.id_bytes, layer.sm_limit
    return p


def _scaled(x: Tensor, scale: Optional[Tensor], rows: int) -> Tensor:
    if scale is None:
        return x.double()
    factors = scale.double().repeat_interleave(rows, -2).repeat_interleave(SCALE_BLOCK, -1)
    return x.double() * factors[..., :x.shape[-2], :x.shape[-1]]


def _on_cpu(t: Operands, sm_limit: int) -> None:
    """By torch, by the rules of the kernels."""
    layer = describe(t, sm_limit)
    _abi.raise_on(_abi.library().ww_moe_validate(ctypes.byref(problem_of(layer))))
    there = layer.tokens if t.token_count is None else int(t.token_count.item()) & 0xffffffff
    live = min(there, layer.tokens)
    ids, weights = t.topk_ids[:live], t.topk_weights[:live]
    legal, real = (ids >= 0) & (ids < layer.experts), ~weights.isnan()
    x, w_gate_up = _scaled(t.x, t.x_scale, 1), _scaled(t.w_gate_up, t.w_gate_up_scale, SCALE_BLOCK)
    w_down = _scaled(t.w_down, t.w_down_scale, SCALE_BLOCK)
    sums = torch.zeros((live, layer.hidden), dtype=torch.float64)
    for e in range(layer.experts):
        tokens, pair = torch.nonzero((ids == e) & real, as_tuple=True)
        if not tokens.numel():
            continue
        gate, up = (x[tokens] @ w_gate_up[e].T).chunk(2, -1)
        h = torch.nn.functional.silu(gate) * up
        if layer.type == "e4m3":
            blocks = h.reshape(tokens.numel(), -1, SCALE_BLOCK)
            scale = blocks.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 448
            h = ((blocks / scale).to(torch.float8_e4m3fn).double() * scale).flatten(1)
        else:
            h = h.bfloat16().double()
        rows = (h @ w_down[e].T).bfloat16().double()
        sums.index_add_(0, tokens, rows * weights[tokens, pair].double()[:, None])
    t.out[:live] = sums.to(t.out.dtype)
    if t.status is not None:
        t.status.fill_(int(not bool(legal.all())) + 2 * int(not bool(real.all())) + 4 * int(there > layer.tokens))


def _in_simulator(t: Operands, sm_limit: int, target: str) -> None:
    from . import _numpy_moe
    from ._torch_simulated import array_of

    describe(t, sm_limit)
    if sm_limit:
        raise ValueError("sm_limit: the simulator has as many SMs as the chip; leave it out")
    out = t.out.float().numpy()
    status = None if t.status is None else t.status.numpy()
    count = None if t.token_count is None else int(t.token_count.item()) & 0xffffffff
    _numpy_moe.moe(array_of(t.x), array_of(t.w_gate_up), array_of(t.w_down), array_of(t.topk_ids),
                   array_of(t.topk_weights), x_scale=array_of(t.x_scale), w_gate_up_scale=array_of(t.w_gate_up_scale),
                   w_down_scale=array_of(t.w_down_scale), token_count=count, out=out, status=status, target=target)
    t.out.copy_(torch.from_numpy(out))


def launch(t: Operands, sm_limit: int) -> None:
    """Computes ``t.out`` where the tensors are."""
    kind = t.x.device.type
    if kind == "cuda":
        _on_gpu(t, sm_limit)
    elif kind != "cpu":
        raise ValueError(f"x: it is on {t.x.device}; tensors on a GPU and on the CPU are taken")
    elif (target := simulated_target()) is not None:
        _in_simulator(t, sm_limit, target)
    else:
        _on_cpu(t, sm_limit)


def _on_gpu(t: Operands, sm_limit: int) -> None:
    layer = describe(t, sm_limit)
    with torch.cuda.device(t.x.device):
        plan = _plans.get(layer)
        if plan is None:
            plan = _abi.MoePlan(problem_of(layer))
            if len(_plans) >= MOST_PLANS:
                _plans.clear()
            _plans[layer] = plan
        q = _abi.new_moe_pointers()
        for name, tensor in (("x", t.x), ("w_gate_up", t.w_gate_up), ("w_down", t.w_down), ("ids", t.topk_ids),
                             ("weights", t.topk_weights), ("out", t.out), ("token_count", t.token_count),
                             ("status", t.status), ("x_scales", t.x_scale), ("w_gate_up_scales", t.w_gate_up_scale),
                             ("w_down_scales", t.w_down_scale)):
            if tensor is not None:
                setattr(q, name, tensor.data_ptr())
        # torch's allocator keeps it, in the order of the stream and in the memory of a graph that is captured.
        workspace = torch.empty(plan.workspace_bytes, dtype=torch.uint8, device=t.x.device)
        if plan.workspace_bytes:
            q.workspace, q.workspace_bytes = workspace.data_ptr(), plan.workspace_bytes
        plan.run(q, torch.cuda.current_stream().cuda_stream)


@torch.library.custom_op("warpwright::moe", mutates_args=("out", "status"))
def _op(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor,
        x_scale: Optional[Tensor], w_gate_up_scale: Optional[Tensor], w_down_scale: Optional[Tensor],
        token_count: Optional[Tensor], out: Tensor, status: Optional[Tensor], sm_limit: int) -> None:
    launch(Operands(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale, w_down_scale, token_count,
                    out, status), sm_limit)


@_op.register_fake
def _(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor,
      x_scale: Optional[Tensor], w_gate_up_scale: Optional[Tensor], w_down_scale: Optional[Tensor],
      token_count: Optional[Tensor], out: Tensor, status: Optional[Tensor], sm_limit: int) -> None:
    describe(Operands(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale, w_down_scale,
                      token_count, out, status), sm_limit)


refuse_vmap(_op, "moe: vmap does not go through it; give it the examples as rows")


def moe(x: Any, w_gate_up: Any, w_down: Any, topk_ids: Any, topk_weights: Any, *, x_scale: Any, w_gate_up_scale: Any,
        w_down_scale: Any, token_count: Any, out: Any, status: Any, sm_limit: int) -> Tensor:
    x = as_tensor("x", x)
    if wants_gradient(x, w_gate_up, w_down, topk_weights):
        raise ValueError("x, w_gate_up, w_down, topk_weights: moe has no gradient; use torch.no_grad()")
    if out is None:
        out = torch.empty(x.shape, dtype=torch.bfloat16, device=x.device)
    operands = Operands(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale, w_down_scale,
                        token_count, out, status)
    if is_watched(x, w_gate_up, w_down, topk_ids, topk_weights, out):
        _op(*operands, int(sm_limit))
    else:
        launch(operands, int(sm_limit))
    given: Tensor = out
    return given
