"""A mixture of experts of torch tensors, and its custom op."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from . import _abi, _torch_native, _torch_reference_moe
from ._simulate import simulated_target
from ._torch_describe import as_tensor, autocast_type, cast, is_distributed, is_watched, wants_gradient
from ._torch_launch import MOST_PLANS
from ._torch_moe_describe import Layer, Operands, Settings, describe, problem_of
from ._torch_transforms import refuse_vmap, register_autocast

WEIGHTS = 3  # operands that autocast casts: x and the weights of the experts
POINTERS = ("x", "w_gate_up", "w_down", "ids", "weights", "x_scales", "w_gate_up_scales", "w_down_scales",
            "shared_weights", "token_count", "out", "status")  # of Operands, in order

_plans: dict[Layer, _abi.MoePlan] = {}


def _in_simulator(t: Operands, settings: Settings, target: str) -> None:
    from . import _numpy_moe
    from ._torch_simulated import array_of

    describe(t, settings)
    if settings.sm_limit:
        raise ValueError("sm_limit: the simulator has as many SMs as the chip; leave it out")
    out = t.out.float().numpy()
    status = None if t.status is None else t.status.numpy()
    count = None if t.token_count is None else int(t.token_count.item()) & 0xffffffff
    _numpy_moe.moe(array_of(t.x), array_of(t.w_gate_up), array_of(t.w_down), array_of(t.topk_ids),
                   array_of(t.topk_weights), x_scale=array_of(t.x_scale), w_gate_up_scale=array_of(t.w_gate_up_scale),
                   w_down_scale=array_of(t.w_down_scale), shared=settings.shared,
                   shared_weights=array_of(t.shared_weights), token_count=count, out=out, status=status, target=target)
    t.out.copy_(torch.from_numpy(out))


def _on_gpu(t: Operands, settings: Settings) -> _abi.MoePlan:
    layer = describe(t, settings)
    with torch.cuda.device(t.x.device):
        plan = _plans.get(layer)
        if plan is None:
            plan = _abi.MoePlan(problem_of(layer))
            if len(_plans) >= MOST_PLANS:
                _plans.clear()
            _plans[layer] = plan
        q = _abi.new_moe_pointers()
        for name, tensor in zip(POINTERS, t):
            if tensor is not None:
                setattr(q, name, tensor.data_ptr())
        # torch's allocator keeps it, in the order of the stream and in the memory of a graph that is captured.
        workspace = torch.empty(plan.workspace_bytes, dtype=torch.uint8, device=t.x.device)
        if plan.workspace_bytes:
            q.workspace, q.workspace_bytes = workspace.data_ptr(), plan.workspace_bytes
        plan.run(q, torch.cuda.current_stream().cuda_stream)
    return plan


def launch(t: Operands, settings: Settings) -> Optional[_abi.MoePlan]:
    """Computes ``t.out`` where the tensors are; the plan, on a GPU."""
    kind = t.x.device.type
    if kind == "cuda":
        return _on_gpu(t, settings)
    if kind != "cpu":
        raise ValueError(f"x: it is on {t.x.device}; tensors on a GPU and on the CPU are taken")
    if (target := simulated_target()) is not None:
        _in_simulator(t, settings, target)
    else:
        _torch_reference_moe.moe(t, settings)
    return None


@torch.library.custom_op("warpwright::moe", mutates_args=("out", "status"))
def _op(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor,
        x_scale: Optional[Tensor], w_gate_up_scale: Optional[Tensor], w_down_scale: Optional[Tensor],
        shared_weights: Optional[Tensor], token_count: Optional[Tensor], out: Tensor, status: Optional[Tensor],
        shared: int, sm_limit: int) -> None:
    launch(Operands(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale, w_down_scale,
                    shared_weights, token_count, out, status), Settings(shared, sm_limit))


@_op.register_fake
def _(x: Tensor, w_gate_up: Tensor, w_down: Tensor, topk_ids: Tensor, topk_weights: Tensor, x_scale: Optional[Tensor],
      w_gate_up_scale: Optional[Tensor], w_down_scale: Optional[Tensor], shared_weights: Optional[Tensor],
      token_count: Optional[Tensor], out: Tensor, status: Optional[Tensor], shared: int, sm_limit: int) -> None:
    describe(Operands(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale, w_down_scale,
                      shared_weights, token_count, out, status), Settings(shared, sm_limit))


register_autocast("moe", _op, WEIGHTS)
refuse_vmap(_op, "moe: vmap does not go through it; give it the examples as rows")


def moe(x: Any, w_gate_up: Any, w_down: Any, topk_ids: Any, topk_weights: Any, x_scale: Any = None,
        w_gate_up_scale: Any = None, w_down_scale: Any = None, shared: int = 0, shared_weights: Any = None,
        token_count: Any = None, out: Any = None, status: Any = None, sm_limit: int = 0) -> Tensor:
    native = None
    if not torch.compiler.is_compiling():
        native = _torch_native.native()
        if native is not None:
            warm: Optional[Tensor] = native.moe(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale,
                                                w_down_scale, shared, shared_weights, token_count, out, status, sm_limit)
            if warm is not None:
                return warm
    call = (x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale, w_down_scale, shared, shared_weights,
            token_count, out, status, sm_limit)
    if is_distributed(x, w_gate_up, w_down, topk_ids, topk_weights):
        from . import _torch_parallel

        made: Tensor = _torch_parallel.moe(*call)
        return made
    x = as_tensor("x", x)
    wanted = autocast_type(x.device)
    x, w_gate_up, w_down = cast(x, wanted), cast(w_gate_up, wanted), cast(w_down, wanted)
    settings = Settings(int(shared), int(sm_limit))
    if wants_gradient(x, w_gate_up, w_down, topk_weights, shared_weights):
        unused = {"out": out, "x_scale": x_scale, "w_gate_up_scale": w_gate_up_scale, "w_down_scale": w_down_scale}
        for name, value in unused.items():
            if value is not None:
                raise ValueError(f"{name}: moe has no gradient with it; use torch.no_grad(), or leave it out")
        from . import _torch_moe_gradient

        learnt = _torch_moe_gradient.moe(x, w_gate_up, w_down, topk_ids, topk_weights, shared_weights, token_count,
                                         status, settings)
        if native is not None and wanted is None and not is_watched(x, w_gate_up, w_down, topk_ids, topk_weights):
            known = _plans.get(describe(Operands(x, w_gate_up, w_down, topk_ids, topk_weights, None, None, None,
                                                 shared_weights, token_count, learnt, status), settings))
            if known is not None:
                _torch_native.remember(native, _torch_native.MOE, call, known, tuple(learnt.shape), learnt.dtype,
                                       _torch_moe_gradient.learning(native, settings, token_count))
        return learnt
    if out is None:
        out = torch.empty(x.shape, dtype=torch.bfloat16, device=x.device)
    operands = Operands(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale, w_down_scale,
                        shared_weights, token_count, out, status)
    if is_watched(x, w_gate_up, w_down, topk_ids, topk_weights, out):
        _op(*operands, *settings)
    else:
        plan = launch(operands, settings)
        if native is not None and plan is not None and wanted is None:
            _torch_native.remember(native, _torch_native.MOE, call, plan, tuple(out.shape), out.dtype)
    given: Tensor = out
    return given
