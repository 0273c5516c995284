"""Products of torch tensors on their GPU: plans, workspaces, and a short way for a call like one that was made before."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from . import _abi
from ._torch_describe import PLAIN, Operands, Product, Settings, describe, problem_of

MOST_PLANS = 4096
NAMES_OF_POINTERS = ("a", "b", "d", "c", "bias", "residual", "a_scales", "b_scales", "d_scale")  # of Operands, in order

_plans: dict[Product, _abi.Plan] = {}


def workspace(plan: _abi.Plan, stream: int) -> Tensor:
    """Memory for a run on the current stream of the current device, to be held until the launch is on it.

    Sums, which are zeroed once, serve all runs on a stream. Copies of operands belong to one run, since another thread
    may launch between a copy and its product; and what is made during capture to the graph. Both are torch's to use
    again, in the order of the stream or in the memory of the graph.
    """
    is_capturing: Any = torch.cuda.is_current_stream_capturing  # torch gives it no types
    shared = plan.kept_bytes == plan.workspace_bytes and not is_capturing()
    found: Optional[Tensor] = plan.workspaces.get(stream) if shared else None
    if found is None:
        found = torch.empty(plan.workspace_bytes, dtype=torch.uint8, device="cuda")
        if plan.kept_bytes:
            found[:plan.kept_bytes].zero_()
        if shared:
            plan.workspaces[stream] = found
    return found


def _run(plan: _abi.Plan, pointers: _abi.Pointers, device: int) -> None:
    """On the current stream of the device, which is the current one."""
    stream = torch._C._cuda_getCurrentRawStream(device)
    if plan.workspace_bytes:
        held = workspace(plan, stream)
        pointers.workspace, pointers.workspace_bytes = held.data_ptr(), plan.workspace_bytes
    plan.run(pointers, stream)


def launch(x: Operands, settings: Settings) -> tuple[Operands, _abi.Plan]:
    """The tensors that the kernel was given, and its plan."""
    x, product = describe(x, settings)
    with torch.cuda.device(x.a.device):
        plan = _plans.get(product)
        if plan is None:
            plan = _abi.Plan(problem_of(product))
            if len(_plans) >= MOST_PLANS:
                _plans.clear()
                _ready.clear()
            _plans[product] = plan
        pointers = _abi.new_pointers()
        for name, tensor in zip(NAMES_OF_POINTERS, x):
            if tensor is not None:
                setattr(pointers, name, tensor.data_ptr())
        _run(plan, pointers, x.a.device.index)
    return x, plan


# A third of the time of the public functions; what torch.compile makes calls it, too.
empty_strided: Any = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", None)


def packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


class _Ready(NamedTuple):
    """What a call like an earlier one needs. A launch takes a pointer structure from the pool and puts it back, so that
    threads do not write into each other's."""

    plan: _abi.Plan
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    pool: list[tuple[_abi.Pointers, Any]]


_ready: dict[Any, _Ready] = {}


def facts(x: Optional[Tensor]) -> Any:
    return None if x is None else (x.dtype, x.shape, x.stride(), x.get_device())


def is_on_gpu(x: Tensor) -> bool:
    return bool(x.is_cuda)


def is_open(a: Any, *others: Any) -> bool:
    """Whether a call may go the short way: tensors on a GPU, nothing that traces it, and no gradient."""
    if type(a) not in PLAIN or not is_on_gpu(a):
        return False
    if (torch.is_autocast_enabled("cuda") or torch._C._len_torch_dispatch_stack() or
            torch._C._are_functorch_transforms_active()):
        return False
    gradients = torch.is_grad_enabled()
    if gradients and a.requires_grad:
        return False
    for x in others:
        if x is not None and (type(x) not in PLAIN or gradients and x.requires_grad):
            return False
    return True


def key_of(a: Any, b: Any, out: Any, out_dtype: Any, c: Any, alpha: float, beta: float, bias: Any, activation: str,
           residual: Any, a_scale: Any, b_scale: Any, out_scale: Any, accumulation: str, deterministic: bool,
           sm_limit: int, plan: Optional[str], epilogue: Optional[str]) -> Any:
    """All that such a call depends on but the addresses; None where it has to go another way."""
    if b is None or not is_open(a, b, out, bias, c, residual, a_scale, b_scale, out_scale):
        return None
    bits = a.data_ptr() | b.data_ptr()
    others: Any = None
    if c is not None or residual is not None or a_scale is not None or b_scale is not None or out_scale is not None:
        others = (facts(c), facts(residual), facts(a_scale), facts(b_scale), facts(out_scale))
    if out is not None:
        bits |= out.data_ptr()
    return (a.dtype, a.shape, a.stride(), a.get_device(), b.dtype, b.shape, b.stride(), b.get_device(), bits & 15,
            None if out is None else facts(out), out_dtype, alpha, beta, None if bias is None else facts(bias),
            activation, others, accumulation, deterministic, torch.are_deterministic_algorithms_enabled(), sm_limit,
            plan, epilogue)


def remember(key: Any, plan: _abi.Plan, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    if len(_ready) >= MOST_PLANS:
        _ready.clear()
    _ready[key] = _Ready(plan, shape, packed_strides(shape), dtype, [])


def again(key: Any, a: Tensor, b: Tensor, out: Optional[Tensor], c: Optional[Tensor], bias: Optional[Tensor],
          residual: Optional[Tensor], a_scale: Optional[Tensor], b_scale: Optional[Tensor],
          out_scale: Optional[Tensor]) -> Optional[Tensor]:
    """The product, if there was such a call before."""
    ready = _ready.get(key)
    if ready is None:
        return None
    plan, shape, strides, dtype, pool = ready
    device = a.get_device()
    is_current = device == torch._C._cuda_getDevice()
    if out is not None:
        d = out
    elif is_current and empty_strided is not None:
        d = empty_strided(shape, strides, dtype)
    else:
        d = a.new_empty(shape, dtype=dtype)
    try:
        both = pool.pop()
    except IndexError:
        made = _abi.new_pointers()
        both = made, ctypes.byref(made)
    pointers, reference = both
    pointers.a, pointers.b, pointers.d = a.data_ptr(), b.data_ptr(), d.data_ptr()
    if bias is not None:
        pointers.bias = bias.data_ptr()
    if c is not None:
        pointers.c = c.data_ptr()
    if residual is not None:
        pointers.residual = residual.data_ptr()
    if a_scale is not None and b_scale is not None:
        pointers.a_scales, pointers.b_scales = a_scale.data_ptr(), b_scale.data_ptr()
    if out_scale is not None:
        pointers.d_scale = out_scale.data_ptr()
    if plan.workspace_bytes or not is_current:
        with torch.cuda.device(device):
            _run(plan, pointers, device)
    else:
        code = plan.entry(plan.handle, reference, torch._C._cuda_getCurrentRawStream(device))
        if code:
            _abi.raise_on(code)
    pool.append(both)
    return d
