"""What the custom ops do under autocast, under vmap and where a gradient is wanted."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import torch
from torch import Tensor

from ._torch_describe import cast, is_watched

_make_library: Any = torch.library.Library  # torch gives it no types
_library: Any = _make_library("warpwright", "IMPL")
_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}


def register_autocast(name: str, op: Callable[..., Any], count: int = 2) -> None:
    """The first ``count`` arguments are operands, which autocast casts; the others keep their types, as factors must."""
    for device, key in _KEYS.items():
        def call(*given: Any, device: str = device, key: str = key) -> Any:
            wanted = torch.get_autocast_dtype(device)
            with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))):
                return op(*(cast(x, wanted) for x in given[:count]), *given[count:])

        _library.impl(name, call, key)


def register_gradient(op: Any, compute: Callable[..., Any], keep: Callable[..., None],
                      backward: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
    """The gradient of an op; returns what to call where one is wanted: the op where calls are traced, and otherwise
    ``compute`` as a plain function of autograd, which costs the host a third as much."""
    op.register_autograd(backward, setup_context=keep)

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            output = compute(*inputs)
            keep(ctx, inputs, output)
            return output

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return backward(ctx, *gradients)

    apply: Any = Plain.apply  # torch gives it no types

    def call(*inputs: Any) -> Any:
        watched = torch.compiler.is_compiling() or is_watched(*(x for x in inputs if isinstance(x, Tensor)))
        return op(*inputs) if watched else apply(*inputs)

    return call


def refuse_vmap(op: Any, sentence: str) -> None:
    def refused(info: Any, in_dims: Sequence[Optional[int]], *arguments: Any) -> Any:
        raise NotImplementedError(sentence)

    op.register_vmap(refused)


def _example(x: Any, dim: Optional[int], index: int) -> Any:
    return x if dim is None else x.select(dim, index)


def register_gemm_vmap(op: Any) -> None:
    """The mapped dimension becomes the batch of one product where the kernels can have it there; otherwise the examples
    are multiplied one after the other."""
    def mapped(info: Any, in_dims: Sequence[Optional[int]], *arguments: Any) -> tuple[Tensor, int]:
        count = info.batch_size
        a, b, dtype, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, *rest = arguments
        dims = list(in_dims)
        matrices = all(x.dim() - (dim is not None) == 2 for x, dim in ((a, dims[0]), (b, dims[1])))
        # Per place: bias, factors and the factor of the result have no batch of their own; an epilogue may count batches.
        if not matrices or any(dims[place] is not None for place in (6, 9, 10, 11)) or (
                a_scale is not None and a_scale.numel() != 1) or "batch" in rest[-1]:
            parts = [op(*(_example(x, dim, i) for x, dim in zip(arguments, dims))) for i in range(count)]
            return torch.stack(parts), 0

        def ahead(x: Any, dim: Optional[int]) -> Any:
            return x if x is None or dim is None else x.movedim(dim, 0)

        def whole(x: Any, dim: Optional[int]) -> Any:
            return x.expand(count, *x.shape) if x is not None and dim is None else ahead(x, dim)

        left, right = ahead(a, dims[0]), ahead(b, dims[1])
        if left.dim() == right.dim() == 2:  # only what is added is mapped
            left = left.expand(count, *left.shape)
        return op(left, right, dtype, whole(c, dims[3]), alpha, beta, bias, activation, whole(residual, dims[8]),
                  a_scale, b_scale, out_scale, *rest), 0

    op.register_vmap(mapped)
