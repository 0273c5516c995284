"""Grouped products of torch tensors, and their custom op."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from . import _formula, _torch_grouped_launch, _torch_native, _torch_reference_grouped
from ._simulate import simulated_target
from ._torch_describe import autocast_type, cast, check_out, is_watched, result_type, wants_gradient
from ._torch_grouped_describe import Operands, Settings, shape_of
from ._torch_reference import swiglu
from ._torch_transforms import refuse_vmap, register_autocast

def launch(x: Operands, settings: Settings) -> None:
    """Computes ``x.out`` where the tensors are."""
    kind = x.a.device.type
    if kind == "cuda":
        _torch_grouped_launch.launch(x, settings)
    elif kind != "cpu":
        raise ValueError(f"a: it is on {x.a.device}; tensors on a GPU and on the CPU are multiplied")
    elif (target := simulated_target()) is not None:
        from . import _torch_simulated

        _torch_simulated.grouped_gemm(x, settings, target)
    else:
        with torch.autocast("cpu", enabled=False):  # operands were cast already; it would round the sums, too
            _torch_reference_grouped.grouped_gemm(x, settings)


@torch.library.custom_op("warpwright::grouped_gemm", mutates_args=("out", "scales_out", "status"))
def _op(a: Tensor, b: Tensor, offsets: Optional[Tensor], counts: Optional[Tensor], depths: Optional[Tensor],
        experts: Optional[Tensor], a_scale: Optional[Tensor], b_scale: Optional[Tensor], bias: Optional[Tensor],
        out: Tensor, scales_out: Optional[Tensor], status: Optional[Tensor], index: Optional[Tensor], activation: str,
        accumulate: bool, usual_rows: int, sm_limit: int, plan: str, epilogue: str, beta: float) -> None:
    launch(Operands(a, b, offsets, counts, depths, experts, a_scale, b_scale, bias, out, scales_out, status, index),
           Settings(activation, accumulate, usual_rows, sm_limit, plan, epilogue, beta))


@_op.register_fake
def _(a: Tensor, b: Tensor, offsets: Optional[Tensor], counts: Optional[Tensor], depths: Optional[Tensor],
      experts: Optional[Tensor], a_scale: Optional[Tensor], b_scale: Optional[Tensor], bias: Optional[Tensor],
      out: Tensor, scales_out: Optional[Tensor], status: Optional[Tensor], index: Optional[Tensor], activation: str,
      *rest: Any) -> None:
    _formula.names_of(rest[-2] or None)
    check_out(out, a, None, shape_of(a, b, offsets, counts, depths, activation, index))


register_autocast("grouped_gemm", _op)
refuse_vmap(_op, "grouped_gemm: vmap does not go through it; its groups are what a mapped dimension would be")


def grouped_gemm(a: Any, b: Any, offsets: Any = None, counts: Any = None, depths: Any = None, experts: Any = None,
                 index: Any = None, a_scale: Any = None, b_scale: Any = None, bias: Any = None,
                 activation: str = "none", out: Any = None, out_dtype: Any = None, scales_out: Any = None,
                 accumulate: bool = False, status: Any = None, usual_rows: int = 0, sm_limit: int = 0,
                 plan: Optional[str] = None, epilogue: Optional[str] = None, beta: float = 0.0) -> Tensor:
    key = native = None
    if not torch.compiler.is_compiling():
        native = _torch_native.native()
        if native is not None:
            warm: Optional[Tensor] = native.grouped_gemm(a, b, offsets, counts, depths, experts, index, a_scale, b_scale, bias,
                                                         activation, out, out_dtype, scales_out, accumulate, status,
                                                         usual_rows, sm_limit, plan, epilogue, beta)
            if warm is not None:
                return warm
        call = (a, b, offsets, counts, depths, experts, index, a_scale, b_scale, bias, activation, out, out_dtype,
                scales_out, accumulate, status, usual_rows, sm_limit, plan, epilogue, beta)
        tensors = (a, b, offsets, counts, depths, experts, a_scale, b_scale, bias, out, scales_out, status, index)
        key = _torch_grouped_launch.key_of(tensors, (activation, accumulate, usual_rows, sm_limit, plan, out_dtype, epilogue, beta))
        if key is not None:
            made = _torch_grouped_launch.again(key, tensors)
            if made is not None:
                return made
    wanted = autocast_type(a.device) if isinstance(a, Tensor) else None
    a, b = cast(a, wanted), cast(b, wanted)
    shape = shape_of(a, b, offsets, counts, depths, activation, index)
    usual = torch.float32 if depths is not None else None
    _formula.check_text(epilogue)
    if wants_gradient(a, b, bias):
        if epilogue is not None or beta != 0:
            raise ValueError("epilogue: one of your own has no gradient; use torch.no_grad(), or detach the operands")
        unused = {"out": out, "scales_out": scales_out, "status": status, "a_scale": a_scale, "b_scale": b_scale,
                  "index": index}
        for name, value in unused.items():
            if value is not None:
                raise ValueError(f"{name}: grouped_gemm has no gradient with it; use torch.no_grad(), or leave it out")
        from . import _torch_grouped_gradient

        dtype = result_type(a, out_dtype or usual)
        if activation == "swiglu":  # torch knows the gradient of what follows the sums
            sums = grouped_gemm(a, b, offsets, counts, depths, experts, bias=bias, out_dtype=dtype, usual_rows=usual_rows,
                                sm_limit=sm_limit, plan=plan)
            return swiglu(sums.float()).to(dtype)
        sums = _torch_grouped_gradient.grouped_gemm(a, b, offsets, counts, depths, experts, bias, dtype,
                                                    int(usual_rows), int(sm_limit), plan or "")
        if native is not None and wanted is None and not is_watched(a, b, bias, offsets, counts, depths):
            known = _torch_grouped_launch.plan_of(
                Operands(a, b, offsets, counts, depths, experts, None, None, bias, sums, None, None, None),
                Settings(activation, False, int(usual_rows), int(sm_limit), plan or ""))
            if known is not None:
                _torch_native.remember(native, _torch_native.GROUPED, call, known, tuple(sums.shape), sums.dtype,
                                       _torch_grouped_gradient.learning(native, bias))
        return sums
    if out is None:
        if accumulate:
            raise ValueError("accumulate: it adds to out, which is not given")
        out = torch.empty(shape, dtype=result_type(a, out_dtype or usual), device=a.device)
    given = check_out(out, a, out_dtype, shape)
    operands = Operands(a, b, offsets, counts, depths, experts, a_scale, b_scale, bias, given, scales_out, status, index)
    settings = Settings(activation, bool(accumulate), int(usual_rows), int(sm_limit), plan or "", epilogue or "",
                        float(beta))
    if is_watched(a, b, bias, given, offsets, counts, depths):
        _op(*operands, *settings)
    elif key is None:
        launch(operands, settings)
    else:
        chosen = _torch_grouped_launch.launch(operands, settings)
        _torch_grouped_launch.remember(key, chosen, given)
        if native is not None:
            _torch_native.remember(native, _torch_native.GROUPED, call, chosen, tuple(given.shape), given.dtype)
    return given
