"""The product of torch tensors, and the custom ops that torch.compile sees."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from . import _abi, _formula

DTYPES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32", torch.float8_e4m3fn: "e4m3",
          torch.float8_e5m2: "e5m2"}
NAMES = {name: dtype for dtype, name in DTYPES.items()}
OPERANDS = ("bf16", "fp16", "e4m3", "e5m2")
WIDE = ("bf16", "fp16", "fp32")
MOST_PLANS = 4096


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
    epilogue: str  # of the user's own; empty: none


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


_plans: dict[Product, _abi.Plan] = {}
_captured: list[Tensor] = []  # workspaces that belong to CUDA graphs


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


def is_traced(a: Tensor) -> bool:
    """Whether somebody looks at the call instead of running it: only a custom op is understood then."""
    return torch.compiler.is_compiling() or type(a) not in (Tensor, torch.nn.Parameter)


def _word(name: str, word: str, known: dict[str, int]) -> str:
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


def _operand(name: str, x: Tensor, batched: bool) -> tuple[Tensor, Layout]:
    """The tensor as the kernels can take it, a copy only if neither stride is 1, and its layout."""
    word = type_of(name, x, OPERANDS)
    row, column, batch = _strides(x)
    major, stride = _abi.MAJOR_K, row
    if column != 1 or row < x.shape[-1]:
        if row == 1 and column >= x.shape[-2]:
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


def _shape(a: Any, b: Any) -> tuple[int, ...]:
    """The shape of the product."""
    a = as_tensor("a", a)
    b = as_tensor("b", b, a.device)
    if a.dim() not in (2, 3) or b.dim() not in (2, 3):
        raise ValueError(f"a, b: two dimensions, or three with a batch, are taken, not {a.dim()} and {b.dim()}")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"b: it has {b.shape[-1]} columns, a has {a.shape[-1]}; both are k")
    if a.dim() == 2 and b.dim() == 2:
        return a.shape[0], b.shape[0]
    counts = [x.shape[0] for x in (a, b) if x.dim() == 3]
    batch = next((count for count in counts if count != 1), 1)
    for name, x in (("a", a), ("b", b)):
        if x.dim() == 3 and x.shape[0] not in (1, batch):
            raise ValueError(f"{name}: its batch is {x.shape[0]}, the other's {batch}")
    return batch, a.shape[-2], b.shape[-2]


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
    shape = _shape(x.a, x.b)
    batched = len(shape) == 3
    m, n = shape[-2:]
    batch = shape[0] if batched else 1
    for name, tensor in zip(Operands._fields, x):
        if tensor is not None:
            as_tensor(name, tensor, x.a.device)
    a, a_layout = _operand("a", x.a, batched)
    b, b_layout = _operand("b", x.b, batched)
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
    _word("accumulation", settings.accumulation, _abi.words("accumulation"))
    _word("activation", settings.activation, _abi.words("activation"))
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
    if s.plan:
        p.plan = s.plan.encode()
    if s.epilogue:
        p.formula = s.epilogue.encode()
    return p


def _workspace(plan: _abi.Plan, stream: int) -> Tensor:
    """Zeroed once for each stream. One that is made during capture belongs to the graph, and is kept for it alone."""
    def make() -> Tensor:
        return torch.zeros(plan.workspace_bytes, dtype=torch.uint8, device="cuda")

    is_capturing: Any = torch.cuda.is_current_stream_capturing  # torch gives it no types
    if is_capturing():
        _captured.append(make())
        return _captured[-1]
    if stream not in plan.workspaces:
        plan.workspaces[stream] = make()
    found: Tensor = plan.workspaces[stream]
    return found


def launch(x: Operands, settings: Settings) -> None:
    if x.a.device.type != "cuda":
        raise ValueError(
            f"a: it is on {x.a.device}; torch tensors are multiplied on a GPU, NumPy arrays in the simulator")
    x, product = describe(x, settings)
    with torch.cuda.device(x.a.device):
        plan = _plans.get(product)
        if plan is None:
            plan = _abi.Plan(problem_of(product))
            if len(_plans) >= MOST_PLANS:
                _plans.clear()
            _plans[product] = plan
        q = _abi.new_pointers()
        for name, tensor in (("a", x.a), ("b", x.b), ("d", x.out), ("c", x.c), ("bias", x.bias),
                             ("residual", x.residual), ("a_scales", x.a_scale), ("b_scales", x.b_scale),
                             ("d_scale", x.out_scale)):
            if tensor is not None:
                setattr(q, name, tensor.data_ptr())
        stream = torch.cuda.current_stream().cuda_stream
        if plan.workspace_bytes:
            q.workspace, q.workspace_bytes = _workspace(plan, stream).data_ptr(), plan.workspace_bytes
        plan.run(q, stream)


@torch.library.custom_op("warpwright::gemm_out", mutates_args=("out",))
def _gemm_out(a: Tensor, b: Tensor, out: Tensor, c: Optional[Tensor], alpha: float, beta: float, bias: Optional[Tensor],
              activation: str, residual: Optional[Tensor], a_scale: Optional[Tensor], b_scale: Optional[Tensor],
              out_scale: Optional[Tensor], accumulation: str, deterministic: bool, sm_limit: int, plan: str,
              epilogue: str) -> None:
    launch(Operands(a, b, out, c, bias, residual, a_scale, b_scale, out_scale),
           Settings(alpha, beta, activation, accumulation, deterministic, sm_limit, plan, epilogue))


@_gemm_out.register_fake
def _(a: Tensor, b: Tensor, out: Tensor, *rest: Any) -> None:
    _formula.names_of(rest[-1] or None)
    check_out(out, a, None, _shape(a, b))


@torch.library.custom_op("warpwright::gemm", mutates_args=())
def _gemm(a: Tensor, b: Tensor, out_dtype: torch.dtype, c: Optional[Tensor], alpha: float, beta: float,
          bias: Optional[Tensor], activation: str, residual: Optional[Tensor], a_scale: Optional[Tensor],
          b_scale: Optional[Tensor], out_scale: Optional[Tensor], accumulation: str, deterministic: bool, sm_limit: int,
          plan: str, epilogue: str) -> Tensor:
    out = torch.empty(_shape(a, b), dtype=out_dtype, device=a.device)
    launch(Operands(a, b, out, c, bias, residual, a_scale, b_scale, out_scale),
           Settings(alpha, beta, activation, accumulation, deterministic, sm_limit, plan, epilogue))
    return out


@_gemm.register_fake
def _(a: Tensor, b: Tensor, out_dtype: torch.dtype, *rest: Any) -> Tensor:
    _formula.names_of(rest[-1] or None)
    return torch.empty(_shape(a, b), dtype=out_dtype, device=a.device)


def _keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, _, c, alpha, beta, bias, activation, residual, a_scale, _, out_scale, *_, epilogue = inputs
    ctx.linear = activation == "none" and a_scale is None and out_scale is None and not epilogue
    if ctx.linear:
        ctx.save_for_backward(a, b)
        ctx.alpha, ctx.beta = alpha, beta
        ctx.shapes = [None if x is None else (x.shape, x.dtype) for x in (c, bias, residual)]


def _sum_to(x: Tensor, shape: Sequence[int]) -> Tensor:
    """The gradient of something that was used for a whole batch, or for every row or column."""
    while x.dim() > len(shape):
        x = x.sum(0)
    for axis, extent in enumerate(shape):
        if extent != x.shape[axis]:
            x = x.sum(axis, keepdim=True)
    return x


def _backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    if not ctx.linear:
        raise NotImplementedError("warpwright.gemm: with an activation, an epilogue or factors there is no gradient")
    a, b = ctx.saved_tensors
    narrow = gradient.to(a.dtype)
    left = right = None
    if ctx.needs_input_grad[0]:
        left = _sum_to(gemm(narrow, b.transpose(-1, -2), alpha=ctx.alpha), a.shape)
    if ctx.needs_input_grad[1]:
        right = _sum_to(gemm(narrow.transpose(-1, -2), a.transpose(-1, -2), alpha=ctx.alpha), b.shape)
    added: list[Optional[Tensor]] = []
    for place, factor, like in zip((3, 6, 8), (ctx.beta, 1.0, 1.0), ctx.shapes):
        wanted = like is not None and ctx.needs_input_grad[place]
        added.append((_sum_to(gradient.float(), like[0]) * factor).to(like[1]) if wanted else None)
    return (left, right, None, added[0], None, None, added[1], None, added[2]) + (None,) * 8


_gemm.register_autograd(_backward, setup_context=_keep_for_backward)


def gemm(a: Any, b: Any, *, out: Any = None, c: Any = None, alpha: float = 1.0, beta: float = 0.0, bias: Any = None,
         activation: str = "none", residual: Any = None, a_scale: Any = None, b_scale: Any = None,
         out_dtype: Any = None, out_scale: Any = None, accumulation: str = "fast", deterministic: bool = False,
         sm_limit: int = 0, plan: Optional[str] = None, epilogue: Optional[str] = None) -> Tensor:
    shape = _shape(a, b)
    alpha, beta, deterministic, sm_limit = float(alpha), float(beta), bool(deterministic), int(sm_limit)
    gradient = wants_gradient(a, b, c, bias, residual)
    _formula.check_text(epilogue)
    if epilogue and gradient:
        raise ValueError("epilogue: one of your own has no gradient; use torch.no_grad(), or detach the operands")
    settings = Settings(alpha, beta, activation, accumulation, deterministic, sm_limit, plan or "", epilogue or "")
    rest = (c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation, deterministic,
            sm_limit, plan or "", epilogue or "")
    if out is None:
        dtype = result_type(a, out_dtype)
        if gradient or is_traced(a):
            made: Tensor = _gemm(a, b, dtype, *rest)
            return made
        made = torch.empty(shape, dtype=dtype, device=a.device)
        launch(Operands(a, b, made, c, bias, residual, a_scale, b_scale, out_scale), settings)
        return made
    given = check_out(out, a, out_dtype, shape)
    if gradient:
        raise ValueError("out: a product into a given tensor has no gradient; use torch.no_grad(), or leave out away")
    if is_traced(a):
        _gemm_out(a, b, given, *rest)
    else:
        launch(Operands(a, b, given, c, bias, residual, a_scale, b_scale, out_scale), settings)
    return given
