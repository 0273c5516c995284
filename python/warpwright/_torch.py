"""The product of torch tensors, and the custom ops that torch.compile sees."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import torch
from torch import Tensor

from . import _formula, _torch_launch, _torch_native, _torch_reference
from ._simulate import simulated_target
from ._torch_describe import (
    Operands, Settings, as_tensor, autocast_type, cast, check_out, is_distributed, is_watched, product_shape, result_type,
    wants_gradient)
from ._torch_fold import fold, operands
from ._torch_transforms import refuse_vmap, register_autocast, register_gemm_vmap, register_gradient


ACTIVATION = 4  # its place after the first three arguments of the ops
OWN_GRADIENT = ("none", "swiglu")  # activations that the op's gradient goes through


def launch(x: Operands, settings: Settings) -> None:
    """Computes ``x.out`` where the tensors are."""
    kind = x.a.device.type
    if kind == "cuda":
        _torch_launch.launch(x, settings)
    elif kind != "cpu":
        raise ValueError(f"a: it is on {x.a.device}; tensors on a GPU and on the CPU are multiplied")
    elif (target := simulated_target()) is not None:
        from . import _torch_simulated

        _torch_simulated.gemm(x, settings, target)
    else:
        with torch.autocast("cpu", enabled=False):  # operands were cast already; it would round the sums, too
            _torch_reference.gemm(x, settings)


def known(call: tuple[Any, ...]) -> tuple[Any, Optional[Tensor]]:
    """The product, if there was a call like this one, which lists the arguments of gemm(); and what the next one is known by."""
    native = _torch_native.native()
    if native is not None:
        made: Optional[Tensor] = native.gemm(*call)
        if made is not None:
            return None, made
    key = _torch_launch.key_of(*call)
    if key is None:
        return None, None
    a, b, out, _, c, _, _, bias, _, residual, a_scale, b_scale, out_scale, *_ = call
    return key, _torch_launch.again(key, a, b, out, c, bias, residual, a_scale, b_scale, out_scale)


def first(key: Any, call: tuple[Any, ...], x: Operands, settings: Settings, shape: tuple[int, ...]) -> None:
    """Computes ``x.out``; the next call is known by the key, if there is one."""
    if key is None:
        launch(x, settings)
        return
    taken, chosen = _torch_launch.launch(x, settings)
    a, b, _, _, c, _, _, _, _, residual, *_ = call
    # What had to be copied has another address than the next call's tensors would say.
    if all(mine is None or theirs is None or mine.data_ptr() == theirs.data_ptr()
           for mine, theirs in zip((a, b, c, residual), (taken.a, taken.b, taken.c, taken.residual))):
        _torch_launch.remember(key, chosen, shape, x.out.dtype)
        native = _torch_native.native()
        if native is not None:
            from . import _torch_train

            _torch_native.remember(native, _torch_native.GEMM, call, chosen, shape, x.out.dtype,
                                   _torch_train.learning(native, call))


def _known_or_new(out: Optional[Tensor], call: tuple[Any, ...]) -> Tensor:
    """What an op computes. Its tensors have the dimensions of the kernels, and no gradient is wanted within it."""
    key, made = known(call)
    if made is not None:
        return made
    (a, b, _, dtype, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation, deterministic,
     sm_limit, plan, epilogue) = call
    if out is None:
        out = torch.empty(product_shape(a, b, activation), dtype=dtype, device=a.device)
    first(key, call, Operands(a, b, out, c, bias, residual, a_scale, b_scale, out_scale),
          Settings(alpha, beta, activation, accumulation, deterministic, sm_limit, plan or "", epilogue or ""),
          tuple(out.shape))
    return out


@torch.library.custom_op("warpwright::gemm_out", mutates_args=("out",))
def _gemm_out(a: Tensor, b: Tensor, out: Tensor, c: Optional[Tensor], alpha: float, beta: float, bias: Optional[Tensor],
              activation: str, residual: Optional[Tensor], a_scale: Optional[Tensor], b_scale: Optional[Tensor],
              out_scale: Optional[Tensor], accumulation: str, deterministic: bool, sm_limit: int, plan: str,
              epilogue: str) -> None:
    _known_or_new(out, (a, b, out, None, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation,
                        deterministic, sm_limit, plan or None, epilogue or None))


@_gemm_out.register_fake
def _(a: Tensor, b: Tensor, out: Tensor, *rest: Any) -> None:
    _formula.names_of(rest[-1] or None)
    check_out(out, a, None, product_shape(a, b, rest[ACTIVATION]))


@torch.library.custom_op("warpwright::gemm", mutates_args=())
def _gemm(a: Tensor, b: Tensor, out_dtype: torch.dtype, c: Optional[Tensor], alpha: float, beta: float,
          bias: Optional[Tensor], activation: str, residual: Optional[Tensor], a_scale: Optional[Tensor],
          b_scale: Optional[Tensor], out_scale: Optional[Tensor], accumulation: str, deterministic: bool, sm_limit: int,
          plan: str, epilogue: str) -> Tensor:
    return _known_or_new(None, (a, b, None, out_dtype, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale,
                                accumulation, deterministic, sm_limit, plan or None, epilogue or None))


@_gemm.register_fake
def _(a: Tensor, b: Tensor, out_dtype: torch.dtype, *rest: Any) -> Tensor:
    _formula.names_of(rest[-1] or None)
    return torch.empty(product_shape(a, b, rest[ACTIVATION]), dtype=out_dtype, device=a.device)


def _keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, _, c, alpha, beta, bias, activation, residual, a_scale, _, out_scale, *_, deterministic, _, _, epilogue = inputs
    ctx.activation = activation
    ctx.known = activation in OWN_GRADIENT and a_scale is None and out_scale is None and not epilogue
    if ctx.known:
        paired = activation == "swiglu"
        ctx.save_for_backward(a, b, *([bias] if paired and bias is not None else []))
        ctx.alpha, ctx.beta, ctx.deterministic = alpha, beta, deterministic
        ctx.shapes = [None if x is None else (x.shape, x.dtype) for x in (c, bias, residual)]


def _sum_to(x: Tensor, shape: Sequence[int], dtype: Optional[torch.dtype] = None) -> Tensor:
    """The gradient of something that was used for a whole batch, or for every row or column; sums are of ``dtype``."""
    ahead = x.dim() - len(shape)
    axes = [axis for axis in range(x.dim()) if axis < ahead or x.shape[axis] != shape[axis - ahead]]
    return x.sum(axes, dtype=dtype).reshape(tuple(shape)) if axes else x


def before_swiglu(a: Tensor, b: Tensor, bias: Optional[Tensor], alpha: float, deterministic: bool,
                   gradient: Tensor) -> Tensor:
    """The gradient of gates and ups, which one product computes again: kept, they would be twice the result."""
    sums = gemm(a, b, alpha=alpha, bias=bias, out_dtype=torch.float32, deterministic=deterministic)
    gate, up = sums.chunk(2, -1)
    wide = gradient * up  # in fp32, as gates and ups are
    if torch.is_grad_enabled():  # somebody wants the gradient of this one, which torch's step for SiLU has not
        share = torch.sigmoid(gate)
        of_gate = wide * share * (1 + gate * (1 - share))
    else:
        of_gate = torch.ops.aten.silu_backward(wide, gate)
    return torch.cat([of_gate, gradient * torch.nn.functional.silu(gate)], -1)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    if not ctx.known:
        raise NotImplementedError("warpwright::gemm: the op has no gradient with an epilogue, factors or an activation but "
                                  "swiglu; warpwright.gemm has one with every activation")
    a, b, *more = ctx.saved_tensors
    wanted = ctx.needs_input_grad
    sums = gradient
    if ctx.activation == "swiglu":
        sums = before_swiglu(a, b, more[0] if more else None, ctx.alpha, ctx.deterministic, gradient)
    narrow = sums.to(a.dtype)
    left = right = None
    if wanted[0]:
        left = _sum_to(gemm(narrow, b.transpose(-1, -2), alpha=ctx.alpha, out_dtype=a.dtype), a.shape)
    if wanted[1]:
        right = _sum_to(gemm(narrow.transpose(-1, -2), a.transpose(-1, -2), alpha=ctx.alpha, out_dtype=b.dtype),
                        b.shape)
    added: list[Optional[Tensor]] = []
    for place, factor, like, behind in zip((3, 6, 8), (ctx.beta, 1.0, 1.0), ctx.shapes, (sums, sums, gradient)):
        given = like is not None and wanted[place]
        wide = _sum_to(behind.float() if factor != 1 else behind, like[0], torch.float32) if given else None
        added.append(None if wide is None else (wide if factor == 1 else wide * factor).to(like[1]))
    return (left, right, None, added[0], None, None, added[1], None, added[2]) + (None,) * 8


def _computed(a: Tensor, b: Tensor, out_dtype: torch.dtype, *rest: Any) -> Tensor:
    """What the op computes, by the short way of a call like one before."""
    *settings, plan, epilogue = rest
    whole: Any = gemm
    made: Tensor = whole(a, b, None, out_dtype, *settings, plan or None, epilogue or None)
    return made


_differentiable = register_gradient(_gemm, _computed, _keep_for_backward, _backward)


register_autocast("gemm", _gemm)
register_autocast("gemm_out", _gemm_out)
register_gemm_vmap(_gemm)
refuse_vmap(_gemm_out, "out: vmap gives every example a result of its own; give none")


class _Transformed(torch.autograd.Function):
    """The op for torch.func: its transforms go through functions of this form alone."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*inputs: Any) -> Any:
        return _gemm(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _keep_for_backward(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _backward(ctx, *gradients)


def _op(*arguments: Any) -> Tensor:
    transformed = not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()
    apply: Any = _Transformed.apply
    made: Tensor = apply(*arguments) if transformed else _differentiable(*arguments)
    return made


def activated(activation: str, sums: Tensor, residual: Optional[Tensor] = None) -> Tensor:
    """What follows the sums where a gradient goes through it: torch computes types of 16 bits in fp32 and rounds once, so
    an activation alone is one kernel."""
    if residual is None and sums.dtype in (torch.bfloat16, torch.float16):
        return _torch_reference.activate(activation, sums)
    wide = _torch_reference.activate(activation, sums.float())
    return (wide if residual is None else wide + residual).to(sums.dtype)


def _with_gradient(x: Operands, dtype: torch.dtype, activation: str, rest: tuple[Any, ...]) -> Tensor:
    """The sums by an op that has a gradient, and what follows them by torch, which knows its own. The gradient of swiglu
    is the op's."""
    (accumulation, deterministic, sm_limit, plan, alpha, beta) = rest
    if activation in OWN_GRADIENT and (activation == "none" or (x.a_scale is None and x.out_scale is None)):
        return _op(x.a, x.b, dtype, x.c, alpha, beta, x.bias, activation, x.residual, x.a_scale, x.b_scale, x.out_scale,
                   accumulation, deterministic, sm_limit, plan, "")
    if x.a_scale is not None or x.out_scale is not None:
        raise ValueError("a_scale, b_scale, out_scale: with factors there is no gradient; use torch.no_grad()")
    sums = _op(x.a, x.b, dtype, x.c, alpha, beta, x.bias, "none", None, None, None, None, accumulation, deterministic,
               sm_limit, plan, "")
    return activated(activation, sums, x.residual)


def gemm(a: Any, b: Any, out: Any = None, out_dtype: Any = None, c: Any = None, alpha: float = 1.0, beta: float = 0.0,
         bias: Any = None, activation: str = "none", residual: Any = None, a_scale: Any = None, b_scale: Any = None,
         out_scale: Any = None, accumulation: str = "fast", deterministic: bool = False, sm_limit: int = 0,
         plan: Optional[str] = None, epilogue: Optional[str] = None) -> Tensor:
    call = (a, b, out, out_dtype, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation,
            deterministic, sm_limit, plan, epilogue)
    key = None
    if not torch.compiler.is_compiling():
        key, made = known(call)
        if made is not None:
            return made
        if wants_gradient(a, b, bias):
            from . import _torch_train

            if (trained := _torch_train.product(call)) is not None:
                return trained
    if is_distributed(a, b, c, bias, residual):
        from . import _torch_sharding

        return _torch_sharding.gemm(a, b, out, out_dtype, c, alpha, beta, bias, activation, residual, a_scale, b_scale,
                                    out_scale, accumulation, deterministic, sm_limit, plan, epilogue)
    device = as_tensor("a", a).device
    for name, tensor in (("b", b), ("c", c), ("bias", bias), ("residual", residual), ("a_scale", a_scale),
                         ("b_scale", b_scale), ("out_scale", out_scale)):
        if tensor is not None or name == "b":
            as_tensor(name, tensor, device)
    wanted = autocast_type(device)
    a, b = cast(a, wanted), cast(b, wanted)
    _formula.check_text(epilogue)
    folded = fold(a, b, bias, b_scale, activation, epilogue)
    dtype = result_type(a, out_dtype)
    if out is not None:
        dtype = check_out(out, a, out_dtype, folded.shape).dtype
    x = operands(folded, out, c, bias, residual, a_scale, b_scale, out_scale)
    alpha, beta, sm_limit, plan = float(alpha), float(beta), int(sm_limit), plan or ""
    deterministic = bool(deterministic) or torch.are_deterministic_algorithms_enabled()
    epilogue = epilogue or ""
    if wants_gradient(a, b, c, bias, residual):
        if epilogue:
            raise ValueError("epilogue: one of your own has no gradient; use torch.no_grad(), or detach the operands")
        if out is not None:
            raise ValueError(
                "out: a product into a given tensor has no gradient; use torch.no_grad(), or give none")
        return _with_gradient(x, dtype, activation,
                              (accumulation, deterministic, sm_limit, plan, alpha, beta)).view(folded.shape)
    if is_watched(a, b, c, bias, residual):
        rest = (x.c, alpha, beta, bias, activation, x.residual, a_scale, b_scale, out_scale, accumulation,
                deterministic, sm_limit, plan, epilogue)
        if out is not None:
            _gemm_out(x.a, x.b, x.out, *rest)
            return as_tensor("out", out)
        watched: Tensor = _gemm(x.a, x.b, dtype, *rest)
        return watched.view(folded.shape)
    settings = Settings(alpha, beta, activation, accumulation, deterministic, sm_limit, plan, epilogue)
    result = out if out is not None else torch.empty(folded.shape, dtype=dtype, device=x.a.device)
    if out is None:
        x = x._replace(out=result.view(folded.inner))
    first(key, call, x, settings, folded.shape)
    return as_tensor("out", result)
