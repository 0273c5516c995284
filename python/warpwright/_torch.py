"""The product of torch tensors, and the custom ops that torch.compile sees."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from . import _abi

DTYPES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32", torch.float8_e4m3fn: "e4m3",
          torch.float8_e5m2: "e5m2"}
NAMES = {name: dtype for dtype, name in DTYPES.items()}
OPERANDS = ("bf16", "fp16", "e4m3", "e5m2")
_plans: dict = {}


def _dtype(name: str, x: Tensor, allowed) -> str:
    word = DTYPES.get(x.dtype)
    if word not in allowed:
        raise TypeError(f"{name}: its type is {x.dtype}; {', '.join(str(NAMES[w]) for w in allowed)} are taken")
    return word


def _tensor(name: str, x, device=None) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: a torch tensor is needed, as the other operands are, not {type(x).__name__}")
    if device is not None and x.device != device:
        raise ValueError(f"{name}: it is on {x.device}, a is on {device}")
    return x


def _strides(x: Tensor):
    """Row, column and batch stride; those of extents of one are as if packed."""
    rows, columns = x.shape[-2:]
    row, column = x.stride()[-2:]
    if columns == 1:
        column = 1
    if rows == 1:
        row = columns if column == 1 else 1
    batch = x.stride(0) if x.dim() == 3 and x.shape[0] > 1 else _abi.PACKED
    return row, column, batch


def _operand(x: Tensor):
    """The tensor as the kernels can take it (a copy only if neither stride is 1), its major and its strides."""
    row, column, batch = _strides(x)
    if column == 1 and row >= x.shape[-1]:
        return x, _abi.MAJOR_K, row, batch
    if row == 1 and column >= x.shape[-2]:
        return x, _abi.MAJOR_MN, column, batch
    x = x.contiguous()
    return x, _abi.MAJOR_K, x.shape[-1], x.stride(0) if x.dim() == 3 else _abi.PACKED


def _result(name: str, x: Tensor, shape, types):
    """Row and batch stride of C, D and residual, which are row-major."""
    word = _dtype(name, x, types)
    if tuple(x.shape) != tuple(shape):
        raise ValueError(f"{name}: its shape is {tuple(x.shape)}, the product's is {tuple(shape)}")
    row, column, batch = _strides(x)
    if column != 1 and x.numel():
        raise ValueError(f"{name}: its last stride is {column}; rows must be contiguous")
    return word, row, batch


def _alignment(*tensors: Tensor) -> int:
    bits = 16
    for x in tensors:
        bits |= x.data_ptr()
    return bits & -bits


def _check(a, b):
    _tensor("a", a)
    _tensor("b", b, a.device)
    if a.dim() not in (2, 3) or b.dim() not in (2, 3):
        raise ValueError(f"a, b: two dimensions, or three with a batch, are taken, not {a.dim()} and {b.dim()}")
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"b: it has {b.shape[-1]} columns, a has {a.shape[-1]}; both are k")
    batch = max(a.shape[0] if a.dim() == 3 else 1, b.shape[0] if b.dim() == 3 else 1)
    for name, x in (("a", a), ("b", b)):
        if x.dim() == 3 and x.shape[0] not in (1, batch):
            raise ValueError(f"{name}: its batch is {x.shape[0]}, the other's {batch}")
    shape = (a.shape[-2], b.shape[-2])
    return shape if a.dim() == 2 and b.dim() == 2 else (batch, *shape)


def _out_dtype(a: Tensor, out_dtype):
    if out_dtype is None:
        return a.dtype if a.dtype in (torch.bfloat16, torch.float16) else torch.bfloat16
    if isinstance(out_dtype, str):
        if out_dtype not in NAMES:
            raise ValueError(f"out_dtype: {out_dtype!r} is not one of {', '.join(NAMES)}")
        return NAMES[out_dtype]
    return out_dtype


def _word(name: str, word: str, known: dict) -> int:
    if word not in known:
        raise ValueError(f"{name}: {word!r} is not one of {', '.join(known)}")
    return known[word]


def _scales(a_scale, b_scale, m: int, n: int, device):
    if a_scale is None and b_scale is None:
        return "none"
    if a_scale is None or b_scale is None:
        raise ValueError("a_scale, b_scale: both or none are given")
    for name, x in (("a_scale", a_scale), ("b_scale", b_scale)):
        _tensor(name, x, device)
        if x.dtype != torch.float32:
            raise TypeError(f"{name}: its type is {x.dtype}; torch.float32 is taken")
        if not x.is_contiguous():
            raise ValueError(f"{name}: factors must be contiguous")
    if a_scale.numel() == 1 and b_scale.numel() == 1:
        return "tensor"
    if a_scale.numel() == m and b_scale.numel() == n:
        return "row_column"
    raise ValueError(f"a_scale, b_scale: {a_scale.numel()} and {b_scale.numel()} factors; 1 and 1, or {m} and {n}")


def _run(a, b, out, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation,
         deterministic, sm_limit, plan) -> None:
    shape = tuple(out.shape)
    if a.device.type != "cuda":
        raise ValueError(f"a: it is on {a.device}; torch tensors are multiplied on a GPU, NumPy arrays in the simulator")
    a_type, b_type = _dtype("a", a, OPERANDS), _dtype("b", b, OPERANDS)
    a, a_major, a_stride, a_batch = _operand(a)
    b, b_major, b_stride, b_batch = _operand(b)
    if len(shape) == 3:  # one matrix for the whole batch
        a_batch = 0 if a.dim() == 2 or a.shape[0] == 1 else a_batch
        b_batch = 0 if b.dim() == 2 or b.shape[0] == 1 else b_batch
    d_type, d_stride, d_batch = _result("out", out, shape, ("bf16", "fp16", "fp32", "e4m3"))
    m, n = shape[-2:]
    c_key = res_key = bias_key = None
    if beta != 0:
        if c is None:
            raise ValueError(f"c: it is needed, beta is {beta}")
        c_key = _result("c", _tensor("c", c, a.device), shape, ("bf16", "fp16", "fp32"))
    if residual is not None:
        res_key = _result("residual", _tensor("residual", residual, a.device), shape, ("bf16", "fp16", "fp32"))
    if bias is not None:
        _tensor("bias", bias, a.device)
        kind = "per_column" if tuple(bias.shape) == (n,) else "per_row" if tuple(bias.shape) == (m, 1) else None
        if kind is None:
            raise ValueError(f"bias: its shape is {tuple(bias.shape)}; ({n},) is added to every row, ({m}, 1) to every column")
        if not bias.is_contiguous():
            raise ValueError("bias: it must be contiguous")
        bias_key = (kind, _dtype("bias", bias, ("bf16", "fp16", "fp32")))
    if out_scale is not None and (_tensor("out_scale", out_scale, a.device).numel() != 1 or
                                  out_scale.dtype != torch.float32):
        raise ValueError(f"out_scale: one torch.float32 is needed, not {out_scale.numel()} of {out_scale.dtype}")
    scaling = _scales(a_scale, b_scale, m, n, a.device)
    alignment = _alignment(a, b, out)
    key = (a.device.index, shape, a.shape[-1], a_type, a_major, a_stride, a_batch, b_type, b_major, b_stride, b_batch,
           d_type, d_stride, d_batch, alpha, beta, c_key, res_key, bias_key, activation, out_scale is not None, scaling,
           accumulation, deterministic, sm_limit, plan, alignment)
    with torch.cuda.device(a.device):
        found = _plans.get(key)
        if found is None:
            p = _abi.new_problem()
            p.m, p.n, p.k, p.batch = m, n, a.shape[-1], shape[0] if len(shape) == 3 else 1
            p.a = _abi.MatrixLayout(_abi.DTYPES[a_type], a_major, a_stride, a_batch)
            p.b = _abi.MatrixLayout(_abi.DTYPES[b_type], b_major, b_stride, b_batch)
            p.d = _abi.MatrixLayout(_abi.DTYPES[d_type], 0, d_stride, d_batch)
            p.alpha, p.beta, p.alignment, p.sm_limit = alpha, beta, alignment, sm_limit
            p.deterministic, p.scaling = int(deterministic), _abi.SCALINGS[scaling]
            p.accumulation = _word("accumulation", accumulation, _abi.ACCUMULATIONS)
            p.activation = _word("activation", activation, _abi.ACTIVATIONS)
            p.quantize = int(out_scale is not None)
            if c_key:
                p.c = _abi.MatrixLayout(_abi.DTYPES[c_key[0]], 0, *c_key[1:])
            if res_key:
                p.residual, p.residual_layout = 1, _abi.MatrixLayout(_abi.DTYPES[res_key[0]], 0, *res_key[1:])
            if bias_key:
                p.bias, p.bias_type = _abi.BIASES[bias_key[0]], _abi.DTYPES[bias_key[1]]
            if plan:
                p.plan = plan.encode()
            found = _plans[key] = _abi.Plan(p)
        q = _abi.new_pointers()
        q.a, q.b, q.d = a.data_ptr(), b.data_ptr(), out.data_ptr()
        for name, x in (("c", c if c_key else None), ("bias", bias), ("residual", residual), ("a_scales", a_scale),
                        ("b_scales", b_scale), ("d_scale", out_scale)):
            if x is not None:
                setattr(q, name, x.data_ptr())
        stream = torch.cuda.current_stream().cuda_stream
        if found.workspace_bytes:
            workspace = _workspace(found, stream)
            q.workspace, q.workspace_bytes = workspace.data_ptr(), found.workspace_bytes
        found.run(q, stream)


def _workspace(plan: _abi.Plan, stream: int) -> Tensor:
    """Zeroed once for each stream. One that is made during capture belongs to the graph, and is kept for it alone."""
    make = lambda: torch.zeros(plan.workspace_bytes, dtype=torch.uint8, device="cuda")
    if torch.cuda.is_current_stream_capturing():
        plan.workspaces.setdefault("captured", []).append(make())
        return plan.workspaces["captured"][-1]
    if stream not in plan.workspaces:
        plan.workspaces[stream] = make()
    return plan.workspaces[stream]


@torch.library.custom_op("warpwright::gemm_out", mutates_args=("out",))
def _gemm_out(a: Tensor, b: Tensor, out: Tensor, c: Optional[Tensor], alpha: float, beta: float, bias: Optional[Tensor],
              activation: str, residual: Optional[Tensor], a_scale: Optional[Tensor], b_scale: Optional[Tensor],
              out_scale: Optional[Tensor], accumulation: str, deterministic: bool, sm_limit: int, plan: str) -> None:
    _run(a, b, out, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation,
         deterministic, sm_limit, plan or None)


@_gemm_out.register_fake
def _(a, b, out, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation, deterministic,
      sm_limit, plan) -> None:
    _check(a, b)


@torch.library.custom_op("warpwright::gemm", mutates_args=())
def _gemm(a: Tensor, b: Tensor, out_dtype: torch.dtype, c: Optional[Tensor], alpha: float, beta: float,
          bias: Optional[Tensor], activation: str, residual: Optional[Tensor], a_scale: Optional[Tensor],
          b_scale: Optional[Tensor], out_scale: Optional[Tensor], accumulation: str, deterministic: bool, sm_limit: int,
          plan: str) -> Tensor:
    out = torch.empty(_check(a, b), dtype=out_dtype, device=a.device)
    _run(a, b, out, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation,
         deterministic, sm_limit, plan or None)
    return out


@_gemm.register_fake
def _(a, b, out_dtype, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation,
      deterministic, sm_limit, plan) -> Tensor:
    return torch.empty(_check(a, b), dtype=out_dtype, device=a.device)


def _keep_for_backward(ctx, inputs, output) -> None:
    a, b, _, c, alpha, beta, bias, activation, residual, a_scale, *_ = inputs
    if c is not None or bias is not None or activation != "none" or residual is not None or a_scale is not None:
        raise NotImplementedError("warpwright.gemm: a gradient is there for the plain product alpha * a @ b.T only")
    ctx.save_for_backward(a, b)
    ctx.alpha = alpha


def _backward(ctx, gradient):
    a, b = ctx.saved_tensors
    gradient = gradient.to(a.dtype)
    left = right = None
    if ctx.needs_input_grad[0]:
        left = gemm(gradient, b.transpose(-1, -2), alpha=ctx.alpha)
        left = left.sum(0) if left.dim() > a.dim() else left
    if ctx.needs_input_grad[1]:
        right = gemm(gradient.transpose(-1, -2), a.transpose(-1, -2), alpha=ctx.alpha)
        right = right.sum(0) if right.dim() > b.dim() else right
    return (left, right) + (None,) * 14


_gemm.register_autograd(_backward, setup_context=_keep_for_backward)


def gemm(a, b, *, out=None, c=None, alpha=1.0, beta=0.0, bias=None, activation="none", residual=None, a_scale=None,
         b_scale=None, out_dtype=None, out_scale=None, accumulation="fast", deterministic=False, sm_limit=0,
         plan=None) -> Tensor:
    shape = _check(a, b)
    alpha, beta = float(alpha), float(beta)
    rest = (c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale, accumulation, bool(deterministic),
            int(sm_limit))
    traced = torch.compiler.is_compiling() or (torch.is_grad_enabled() and (a.requires_grad or b.requires_grad))
    if out is None:
        dtype = _out_dtype(a, out_dtype)
        if traced:
            return _gemm(a, b, dtype, *rest, plan or "")
        out = torch.empty(shape, dtype=dtype, device=a.device)
        _run(a, b, out, *rest, plan)
        return out
    _tensor("out", out, a.device)
    if out_dtype is not None and _out_dtype(a, out_dtype) != out.dtype:
        raise ValueError(f"out_dtype: out is of {out.dtype}; leave out_dtype away, or let it be the same")
    if traced:
        _gemm_out(a, b, out, *rest, plan or "")
    else:
        _run(a, b, out, *rest, plan)
    return out
