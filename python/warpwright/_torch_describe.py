"""A product of torch tensors as the library is told of it: types, shapes, strides, and what is refused."""

from __future__ import annotations

import sys
from typing import Any, Mapping, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from . import _abi, _formula
from ._gemm import named_plan, result_columns, tuning_word

DTYPES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32", torch.float8_e4m3fn: "e4m3",
          torch.float8_e5m2: "e5m2"}
NAMES = {name: dtype for dtype, name in DTYPES.items()}
OPERANDS = ("bf16", "fp16", "e4m3", "e5m2")
WIDE = ("bf16", "fp16", "fp32")
PLAIN = (Tensor, torch.nn.Parameter)


class Layout(NamedTuple):
    """How a matrix lies in memory; strides count elements."""

    type: str
    major: int
    stride: int
    batch_stride: int

    def structure(self) -> _abi.MatrixLayout:
        return _abi.MatrixLayout(_abi.words("dtype")[self.type], self.major, self.stride, self.batch_stride)


class Operands(NamedTuple):
    """The tensors of a product."""

    a: Tensor
    b: Tensor
    out: Tensor
    c: Optional[Tensor]
    bias: Optional[Tensor]
    residual: Optional[Tensor]
    a_scale: Optional[Tensor]
    b_scale: Optional[Tensor]
    out_scale: Optional[Tensor]


class Settings(NamedTuple):
    """The rest of a call."""

    alpha: float
    beta: float
    activation: str
    accumulation: str
    deterministic: bool
    sm_limit: int
    plan: str
    epilogue: str  # the user's formula; empty: none


class Product(NamedTuple):
    """All that a plan depends on."""

    device: Optional[int]
    m: int
    n: int
    k: int
    batch: int
    a: Layout
    b: Layout
    d: Layout
    c: Optional[Layout]
    residual: Optional[Layout]
    bias: Optional[tuple[str, str]]  # which way it is added, and its type
    scaling: str
    quantize: bool
    alignment: int
    settings: Settings


def type_of(name: str, x: Tensor, allowed: Sequence[str]) -> str:
    word = DTYPES.get(x.dtype)
    if word is None or word not in allowed:
        raise TypeError(f"{name}: its type is {x.dtype}; {', '.join(str(NAMES[w]) for w in allowed)} are taken")
    return word


def as_tensor(name: str, x: Any, device: Optional[torch.device] = None) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: a torch tensor is needed, as the other operands are, not {type(x).__name__}")
    if device is not None and x.device != device:
        raise ValueError(f"{name}: it is on {x.device}, a is on {device}")
    return x


def result_type(a: Tensor, out_dtype: Any) -> torch.dtype:
    if out_dtype is None:
        return a.dtype if a.dtype in (torch.bfloat16, torch.float16) else torch.bfloat16
    if isinstance(out_dtype, str):
        if out_dtype not in NAMES:
            raise ValueError(f"out_dtype: {out_dtype!r} is not one of {', '.join(NAMES)}")
        return NAMES[out_dtype]
    if not isinstance(out_dtype, torch.dtype):
        raise TypeError(f"out_dtype: a torch.dtype or its name is needed, not {type(out_dtype).__name__}")
    return out_dtype


def check_out(out: Any, a: Tensor, out_dtype: Any, shape: tuple[int, ...]) -> Tensor:
    given = as_tensor("out", out, a.device)
    if tuple(given.shape) != shape:
        raise ValueError(f"out: its shape is {tuple(given.shape)}, the product's is {shape}")
    if out_dtype is not None and result_type(a, out_dtype) != given.dtype:
        raise ValueError(f"out_dtype: out is of {given.dtype}; leave out_dtype away, or let it be the same")
    return given


def wants_gradient(*tensors: Any) -> bool:
    return torch.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in tensors)


def is_watched(*tensors: Any) -> bool:
    """Whether somebody looks at a call, or runs it in his own way: only a custom op is understood then."""
    return (torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() > 0 or
            torch._C._are_functorch_transforms_active() or
            any(x is not None and (type(x) not in PLAIN or x.is_meta) for x in tensors))


def is_distributed(*tensors: Any) -> bool:
    """Whether one of them is a DTensor; there are none before its module is imported."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and any(isinstance(x, module.DTensor) for x in tensors)


def autocast_type(device: torch.device) -> Optional[torch.dtype]:
    """What autocast asks for where the tensors are; None where it is off."""
    if device.type not in ("cpu", "cuda") or not torch.is_autocast_enabled(device.type):
        return None
    return torch.get_autocast_dtype(device.type)


def cast(x: Any, wanted: Optional[torch.dtype]) -> Any:
    """As autocast casts operands: 8-bit ones stay, they were made on purpose."""
    castable = isinstance(x, Tensor) and x.dtype in (torch.bfloat16, torch.float16, torch.float32)
    return x.to(wanted) if wanted is not None and castable else x


def known_word(name: str, word: str, known: Mapping[str, Any]) -> str:
    if word not in known:
        raise ValueError(f"{name}: {word!r} is not one of {', '.join(known)}")
    return word


def _strides(x: Tensor) -> tuple[int, int, int]:
    """Row, column and batch stride; those of extents of one are as if packed."""
    rows, columns = x.shape[-2:]
    row, column = x.stride()[-2:]
    if columns <= 1:
        column = 1
    if rows <= 1:
        row = columns if column == 1 else 1
    batch = x.stride(0) if x.dim() == 3 and x.shape[0] > 1 else _abi.PACKED
    return row, column, batch


def _operand(name: str, x: Tensor, batched: bool, rows_only: bool = False) -> tuple[Tensor, Layout]:
    """The tensor as the kernels can take it, a copy only if neither stride is 1, or the last is not with ``rows_only``,
    and its layout."""
    word = type_of(name, x, OPERANDS)
    row, column, batch = _strides(x)
    major, stride = _abi.MAJOR_K, row
    if column != 1 or row < x.shape[-1]:
        if row == 1 and column >= x.shape[-2] and not rows_only:
            major, stride = _abi.MAJOR_MN, column
        else:
            x = x.contiguous()
            stride, _, batch = _strides(x)
    if batched and (x.dim() == 2 or x.shape[0] == 1):
        batch = 0  # one matrix for the whole batch
    return x, Layout(word, major, stride, batch)


def _result(name: str, x: Tensor, shape: tuple[int, ...], types: Sequence[str]) -> Layout:
    """Of C, D and residual, which are row-major."""
    word = type_of(name, x, types)
    if tuple(x.shape) != shape:
        raise ValueError(f"{name}: its shape is {tuple(x.shape)}, the product's is {shape}")
    row, column, batch = _strides(x)
    if column != 1 and x.numel():
        raise ValueError(f"{name}: its last stride is {column}; rows must be contiguous")
    return Layout(word, _abi.MAJOR_K, row, batch)


def product_shape(a: Any, b: Any, activation: str) -> tuple[int, ...]:
    """The shape of the result."""
    a = as_tensor("a", a)
    b = as_tensor("b", b, a.device)
    if a.dim() not in (2, 3) or b.dim() not in (2, 3):
        raise ValueError(f"a, b: two dimensions, or three with a batch, are taken, not {a.dim()} and {b.dim()}")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"b: it has {b.shape[-1]} columns, a has {a.shape[-1]}; both are k")
    columns = result_columns(b.shape[-2], activation)
    if a.dim() == 2 and b.dim() == 2:
        return a.shape[0], columns
    counts = [x.shape[0] for x in (a, b) if x.dim() == 3]
    batch = next((count for count in counts if count != 1), 1)
    for name, x in (("a", a), ("b", b)):
        if x.dim() == 3 and x.shape[0] not in (1, batch):
            raise ValueError(f"{name}: its batch is {x.shape[0]}, the other's {batch}")
    return batch, a.shape[-2], columns


def _bias(bias: Tensor, m: int, n: int) -> tuple[str, str]:
    kind = "bias" if tuple(bias.shape) == (n,) else "row_bias" if tuple(bias.shape) == (m, 1) else None
    if kind is None:
        raise ValueError(
            f"bias: its shape is {tuple(bias.shape)}; ({n},) is added to every row, ({m}, 1) to every column")
    if not bias.is_contiguous():
        raise ValueError("bias: it must be contiguous")
    return kind, type_of("bias", bias, WIDE)


def _scaling(a_scale: Optional[Tensor], b_scale: Optional[Tensor], m: int, n: int) -> str:
    if a_scale is None and b_scale is None:
        return "none"
    if a_scale is None or b_scale is None:
        raise ValueError("a_scale, b_scale: both or none are given")
    for name, x in (("a_scale", a_scale), ("b_scale", b_scale)):
        if x.dtype != torch.float32:
            raise TypeError(f"{name}: its type is {x.dtype}; torch.float32 is taken")
        if not x.is_contiguous():
            raise ValueError(f"{name}: factors must be contiguous")
    counts = a_scale.numel(), b_scale.numel()
    if counts == (1, 1):
        return "tensor"
    if counts == (m, n):
        return "row_column"
    raise ValueError(f"a_scale, b_scale: {counts[0]} and {counts[1]} factors; 1 and 1, or {m} and {n}")


def _alignment(*tensors: Tensor) -> int:
    bits = 16
    for x in tensors:
        bits |= x.data_ptr()
    return bits & -bits


def describe(x: Operands, settings: Settings) -> tuple[Operands, Product]:
    """Checks a call; what is returned can be launched as soon as the tensors are on a GPU."""
    known_word("activation", settings.activation, _abi.words("activation"))
    shape = product_shape(x.a, x.b, settings.activation)
    batched = len(shape) == 3
    m, n = x.a.shape[-2], x.b.shape[-2]
    batch = shape[0] if batched else 1
    for name, tensor in zip(Operands._fields, x):
        if tensor is not None:
            as_tensor(name, tensor, x.a.device)
    a, a_layout = _operand("a", x.a, batched)
    b, b_layout = _operand("b", x.b, batched, rows_only=settings.activation == "swiglu")
    d_layout = _result("out", x.out, shape, (*WIDE, "e4m3"))
    bias = _bias(x.bias, m, n) if x.bias is not None else None
    if settings.epilogue:
        _formula.check_given(_formula.names_of(settings.epilogue), x.c is not None, bias[0] if bias else None,
                             x.residual is not None, settings.beta)
    elif settings.beta != 0 and x.c is None:
        raise ValueError(f"c: it is needed, beta is {settings.beta}")
    c = x.c if settings.epilogue or settings.beta != 0 else None
    if x.out_scale is not None and (x.out_scale.numel() != 1 or x.out_scale.dtype != torch.float32):
        raise ValueError(f"out_scale: one torch.float32 is needed, not {x.out_scale.numel()} of {x.out_scale.dtype}")
    known_word("accumulation", settings.accumulation, _abi.words("accumulation"))
    product = Product(
        x.a.device.index, m, n, x.a.shape[-1], batch, a_layout, b_layout, d_layout,
        _result("c", c, shape, WIDE) if c is not None else None,
        _result("residual", x.residual, shape, WIDE) if x.residual is not None else None,
        bias, _scaling(x.a_scale, x.b_scale, m * batch, n * batch), x.out_scale is not None,
        _alignment(a, b, x.out), settings)
    return x._replace(a=a, b=b, c=c), product


def problem_of(product: Product) -> _abi.Problem:
    s = product.settings
    p = _abi.new_problem()
    p.m, p.n, p.k, p.batch = product.m, product.n, product.k, product.batch
    p.a, p.b, p.d = product.a.structure(), product.b.structure(), product.d.structure()
    p.alpha, p.beta, p.alignment, p.sm_limit = s.alpha, s.beta, product.alignment, s.sm_limit
    p.deterministic, p.scaling = int(s.deterministic), _abi.words("scaling")[product.scaling]
    p.accumulation, p.activation = _abi.words("accumulation")[s.accumulation], _abi.words("activation")[s.activation]
    p.quantize = int(product.quantize)
    if product.c:
        p.c = product.c.structure()
    if product.residual:
        p.residual, p.residual_layout = 1, product.residual.structure()
    if product.bias:
        p.bias, p.bias_type = _abi.words("bias")[product.bias[0]], _abi.words("dtype")[product.bias[1]]
    if (named := named_plan(s.plan)) is not None:
        p.plan = named.encode()
    p.tuning = _abi.words("tuning")[tuning_word(s.plan)]
    if s.epilogue:
        p.formula = s.epilogue.encode()
    return p
