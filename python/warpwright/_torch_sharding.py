"""Products of DTensors: how each of their dimensions may be sharded, registered with torch.

``register_sharding`` of torch is experimental. The op here takes leading dimensions as they are, since a view that joins
them would gather what is sharded along the second one; every rank folds its own part.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

import torch
import torch.distributed.tensor as dt
from torch import Tensor
from torch.distributed.tensor.experimental import register_sharding

from . import _formula, _torch
from ._torch_describe import autocast_type, cast, result_type, wants_gradient
from ._torch_reference import activate, swiglu

WIDE = (torch.bfloat16, torch.float16, torch.float32)  # results that can be added up


@torch.library.custom_op("warpwright::sharded_gemm", mutates_args=())
def _product(a: Tensor, b: Tensor, out_dtype: torch.dtype, c: Optional[Tensor], alpha: float, beta: float,
             bias: Optional[Tensor], activation: str, residual: Optional[Tensor], a_scale: Optional[Tensor],
             b_scale: Optional[Tensor], out_scale: Optional[Tensor], accumulation: str, deterministic: bool,
             sm_limit: int, plan: str, epilogue: str) -> Tensor:
    return _torch.gemm(a, b, None, out_dtype, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale,
                       accumulation, deterministic, sm_limit, plan or None, epilogue or None)


@_product.register_fake
def _(a: Tensor, b: Tensor, out_dtype: torch.dtype, *rest: Any) -> Tensor:
    *settings, plan, epilogue = rest
    with torch.no_grad():
        whole: Any = _torch.gemm
        made: Tensor = whole(a, b, None, out_dtype, *settings, plan or None, epilogue or None)
        return made


@torch.library.custom_op("warpwright::sharded_gemm_weight_gradient", mutates_args=())
def _weight_gradient(gradient: Tensor, a: Tensor, out_dtype: torch.dtype, alpha: float, deterministic: bool) -> Tensor:
    """[n, k], the sum over all rows of both."""
    rows, columns = gradient.reshape(-1, gradient.shape[-1]), a.reshape(-1, a.shape[-1])
    return _torch.gemm(rows.T, columns.T, None, out_dtype, alpha=alpha, deterministic=deterministic)


@_weight_gradient.register_fake
def _(gradient: Tensor, a: Tensor, out_dtype: torch.dtype, alpha: float, deterministic: bool) -> Tensor:
    return a.new_empty(gradient.shape[-1], a.shape[-1], dtype=out_dtype)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, _, c, alpha, beta, bias, _, residual, *_ = inputs
    ctx.save_for_backward(a, b)
    ctx.alpha, ctx.beta, ctx.deterministic = alpha, beta, inputs[13]
    ctx.shapes = [None if x is None else (x.shape, x.dtype) for x in (c, bias, residual)]


def _backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    a, b = ctx.saved_tensors
    narrow = gradient.to(a.dtype)
    left = right = None
    product: Any = gemm if isinstance(a, dt.DTensor) else _torch.gemm  # of a rank alone
    if ctx.needs_input_grad[0]:
        left = product(narrow, b.transpose(-1, -2), alpha=ctx.alpha, out_dtype=a.dtype, deterministic=ctx.deterministic)
        left = _torch._sum_to(left, a.shape)
    if ctx.needs_input_grad[1] and b.dim() == 2:
        right = _weight_gradient(narrow, a, b.dtype, ctx.alpha, ctx.deterministic)
    elif ctx.needs_input_grad[1]:
        right = product(narrow.transpose(-1, -2), a.transpose(-1, -2), alpha=ctx.alpha, out_dtype=b.dtype,
                     deterministic=ctx.deterministic)
        right = _torch._sum_to(right, b.shape)
    added: list[Optional[Tensor]] = []
    for place, factor, like in zip((3, 6, 8), (ctx.beta, 1.0, 1.0), ctx.shapes):
        wanted = like is not None and ctx.needs_input_grad[place]
        added.append((_torch._sum_to(gradient.float(), like[0]) * factor).to(like[1]) if wanted else None)
    return (left, right, None, added[0], None, None, added[1], None, added[2]) + (None,) * 8


_product.register_autograd(_backward, setup_context=_keep)


# The rules: for one dimension of a mesh, what the result is where the operands are placed so.

R, SUM = dt.Replicate(), dt.Partial()
Rule = tuple[list[Any], list[Any]]


def _factors_dim(scale: Any, lead: Sequence[int], extent: int) -> Optional[int]:
    """Which dimension of factors counts rows; None where it cannot be told."""
    if tuple(scale.shape[:len(lead)]) == tuple(lead) and scale.ndim > len(lead) and scale.shape[len(lead)] == extent:
        return len(lead)
    return None


def _is_many(scale: Any) -> bool:
    return scale is not None and scale.shape.numel() != 1


def _product_rules(a: Any, b: Any, out_dtype: Any, c: Any, alpha: float, beta: float, bias: Any, activation: str,
                   residual: Any, a_scale: Any, b_scale: Any, out_scale: Any, accumulation: str, deterministic: bool,
                   sm_limit: int, plan: str, epilogue: str) -> list[Rule]:
    names = _formula.names_of(epilogue or None)
    ahead, behind = tuple(a.shape[:-2]), tuple(b.shape[:-2])
    lead = ahead if b.ndim == 2 or len(ahead) >= len(behind) and torch.Size(ahead).numel() != 1 else behind
    last = a.ndim - 1 if b.ndim == 2 else len(lead) + 1  # of the result

    def rule(out: Any, *, a_is: Any = R, b_is: Any = R, same: Any = R, bias_is: Any = R, a_scale_is: Any = R,
             b_scale_is: Any = R) -> Rule:
        """``same``: of what has the shape of the result."""
        def of(x: Any, placement: Any) -> Any:
            return None if x is None else placement

        return [out], [a_is, b_is, None, of(c, same), None, None, of(bias, bias_is), None, of(residual, same),
                       of(a_scale, a_scale_is), of(b_scale, b_scale_is), of(out_scale, R), *[None] * 5]

    def of_factors(scale: Any, ahead: Sequence[int], extent: int) -> Any:
        dim = _factors_dim(scale, ahead, extent) if _is_many(scale) else None
        return R if dim is None else dt.Shard(dim)

    rules = [rule(R)]
    for i in range(len(lead)):
        own = [dt.Shard(i) if x == lead else R for x in (ahead, behind)]
        factors = [_is_many(scale) and (scale is not b_scale or b.ndim > 2) for scale in (a_scale, b_scale)]
        told = all(not many or tuple(scale.shape[:len(lead)]) == lead for many, scale in zip(factors, (a_scale, b_scale)))
        if "batch" not in names and told:
            rules.append(rule(dt.Shard(i), a_is=own[0], b_is=own[1], same=dt.Shard(i),
                              a_scale_is=dt.Shard(i) if factors[0] else R, b_scale_is=dt.Shard(i) if factors[1] else R))
    if a.ndim > 1 and "row" not in names:
        factors_are = of_factors(a_scale, lead, a.shape[-2])
        if not _is_many(a_scale) or factors_are != R:
            rules.append(rule(dt.Shard(last - 1), a_is=dt.Shard(a.ndim - 2), same=dt.Shard(last - 1),
                              bias_is=dt.Shard(0) if bias is not None and bias.ndim == 2 else R, a_scale_is=factors_are))
    if activation != "swiglu" and "column" not in names:  # whose gates and ups lie far apart
        factors_are = of_factors(b_scale, behind if b.ndim > 2 else (), b.shape[-2])
        if not _is_many(b_scale) or factors_are != R:
            rules.append(rule(dt.Shard(last), b_is=dt.Shard(b.ndim - 2), same=dt.Shard(last),
                              bias_is=dt.Shard(0) if bias is not None and bias.ndim == 1 else R, b_scale_is=factors_are))
    if activation == "none" and not epilogue and out_scale is None and out_dtype in WIDE:
        # Nothing but sums: what is added must be a summand too, so that it is added once.
        rules.append(rule(SUM, a_is=dt.Shard(a.ndim - 1), b_is=dt.Shard(b.ndim - 1), same=SUM, bias_is=SUM))
    return rules


def _weight_gradient_rules(gradient: Any, a: Any, *rest: Any) -> list[Rule]:
    nothing: list[Any] = [None] * len(rest)
    rows = [([SUM], [dt.Shard(i), dt.Shard(i), *nothing]) for i in range(a.ndim - 1)]
    return [([R], [R, R, *nothing]), *rows, ([dt.Shard(0)], [dt.Shard(a.ndim - 1), R, *nothing]),
            ([dt.Shard(1)], [R, dt.Shard(a.ndim - 1), *nothing])]


_register: Any = register_sharding  # torch gives it no types
_register([torch.ops.warpwright.gemm.default, torch.ops.warpwright.sharded_gemm.default])(_product_rules)
_register(torch.ops.warpwright.sharded_gemm_weight_gradient.default)(_weight_gradient_rules)


class _Once(torch.autograd.Function):
    """What every rank has, as a summand of the first one along some dimensions of the mesh. torch would divide it."""

    @staticmethod
    def forward(ctx: Any, x: Any, dims: tuple[int, ...]) -> Any:
        mine = all(x.device_mesh.get_local_rank(dim) == 0 for dim in dims)
        local = x.to_local()
        placements = [SUM if i in dims else p for i, p in enumerate(x.placements)]
        return dt.DTensor.from_local(local.clone() if mine else torch.zeros_like(local), x.device_mesh, placements,
                                     run_check=False, shape=x.shape, stride=x.stride())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0], None


def is_shard(placement: Any, dim: int) -> bool:
    return isinstance(placement, dt.Shard) and placement.dim == dim


def _as_summand(x: Any, dims: tuple[int, ...]) -> Any:
    still = tuple(dim for dim in dims if not x.placements[dim].is_partial())
    if not still:
        return x
    whole = x.redistribute(placements=[R if i in still else p for i, p in enumerate(x.placements)])
    once: Any = _Once.apply  # torch gives it no types
    return once(whole, still)


def check_distributed(**tensors: Any) -> None:
    """Whether all are DTensors of one mesh."""
    given = {name: x for name, x in tensors.items() if x is not None}
    known = next(name for name, x in given.items() if isinstance(x, dt.DTensor))
    mesh = given[known].device_mesh
    for name, x in given.items():
        if not isinstance(x, dt.DTensor):
            raise TypeError(f"{name}: it is a {type(x).__name__}, {known} is a DTensor; "
                            "torch.distributed.tensor.distribute_tensor makes one of it")
        if x.device_mesh != mesh:
            raise ValueError(f"{name}: its mesh is {x.device_mesh}, that of {known} is {mesh}")


def gemm(a: Any, b: Any, out: Any = None, out_dtype: Any = None, c: Any = None, alpha: float = 1.0, beta: float = 0.0,
         bias: Any = None, activation: str = "none", residual: Any = None, a_scale: Any = None, b_scale: Any = None,
         out_scale: Any = None, accumulation: str = "fast", deterministic: bool = False, sm_limit: int = 0,
         plan: Optional[str] = None, epilogue: Optional[str] = None) -> Tensor:
    """``_torch.gemm`` of DTensors. The cheapest rule decides how the result is placed."""
    if out is not None:
        raise ValueError("out: a product of DTensors makes its result, whose placement follows from theirs; give none")
    check_distributed(a=a, b=b, c=c, bias=bias, residual=residual, a_scale=a_scale, b_scale=b_scale, out_scale=out_scale)
    if bias is not None and tuple(bias.shape) not in ((b.shape[-2],), (*a.shape[-2:-1], 1)):
        raise ValueError(f"bias: its shape is {tuple(bias.shape)}; ({b.shape[-2]},) is added to every row, "
                         f"({', '.join(str(x) for x in (*a.shape[-2:-1], 1))}) to every column")
    wanted = autocast_type(a.device)
    a, b = cast(a, wanted), cast(b, wanted)
    _formula.check_text(epilogue)
    dtype = result_type(a, out_dtype)
    deterministic = bool(deterministic) or torch.are_deterministic_algorithms_enabled()
    rest = accumulation, deterministic, int(sm_limit), plan or ""
    gradient = wants_gradient(a, b, c, bias, residual)
    if gradient and epilogue:
        raise ValueError("epilogue: one of your own has no gradient; use torch.no_grad(), or detach the operands")
    if gradient and (a_scale is not None or out_scale is not None):
        raise ValueError("a_scale, b_scale, out_scale: with factors there is no gradient; use torch.no_grad()")
    deep = tuple(i for i, (p, q) in enumerate(zip(a.placements, b.placements))
                 if is_shard(p, a.dim() - 1) and is_shard(q, b.dim() - 1))
    in_parts = bool(deep) and out_scale is None and not epilogue and dtype in WIDE
    if activation != "none" and (gradient or in_parts):
        # An activation is applied to whole sums alone, so what is added before it is added here.
        sums: Any = gemm(a, b, None, torch.float32 if in_parts else dtype, c, alpha, beta, bias, "none", None, a_scale,
                         b_scale, None, *rest[:3], plan)
        whole = sums.float().redistribute(placements=[R if p.is_partial() else p for p in sums.placements])
        wide = swiglu(whole) if activation == "swiglu" else activate(activation, whole)
        result: Tensor = (wide if residual is None else wide + residual).to(dtype)
        return result
    if in_parts:
        c, bias, residual = (None if x is None else _as_summand(x, deep) for x in (c, bias, residual))
    try:
        made: Tensor = _product(a, b, dtype, c, float(alpha), float(beta), bias, activation, residual, a_scale, b_scale,
                                out_scale, *rest, epilogue or "")
    except RuntimeError as error:  # torch's own, where shapes are refused while it looks for a rule
        if isinstance(error.__cause__, (TypeError, ValueError)):
            raise error.__cause__ from None
        raise
    return made
