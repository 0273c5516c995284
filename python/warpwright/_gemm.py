"""gemm(): torch tensors where they are, NumPy arrays in the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ._warm import GEMM, warm

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike, DTypeLike, NDArray

ACTIVATIONS = ("none", "relu", "gelu", "gelu_erf", "silu", "swiglu")
PAIRED_ROWS = 16  # of gates and ups: 8 of each lie in a unit of the kernels


# In the place of a plan's name: how one is found, of the words of `tuning`.
TUNED = {"measure": "<measure>", "ahead": "<ahead>"}


def plan_word(plan: str | None, tuning: str | None) -> str | None:
    """One object for both; a plan that is named is used as it is."""
    if tuning not in (None, "usual", *TUNED):
        raise ValueError(f"tuning: {tuning!r} is not one of usual, {', '.join(TUNED)}")
    return plan or TUNED.get(tuning or "usual")


def named_plan(plan: str | None) -> str | None:
    """The name, if there is one."""
    return None if not plan or plan in TUNED.values() else plan


def tuning_word(plan: str | None) -> str:
    """The word of `tuning` that it stands for."""
    return next((word for word, stands in TUNED.items() if plan == stands), "usual")


def result_columns(n: Any, activation: str) -> Any:
    """The columns of the result, for a ``b`` with n rows: swiglu makes one of a gate and an up."""
    if activation != "swiglu":
        return n
    if n % PAIRED_ROWS:
        raise ValueError(f"b: it has {n} rows; with swiglu it is [gate; up], and a multiple of {PAIRED_ROWS} is needed")
    return n // 2


def is_torch(x: Any) -> bool:
    return hasattr(x, "__torch_function__")


@overload
def gemm(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None, dtype: None = None,
         out_dtype: torch.dtype | str | None = None, c: torch.Tensor | None = None, alpha: float = 1.0,
         beta: float = 0.0, bias: torch.Tensor | None = None, activation: str = "none",
         residual: torch.Tensor | None = None, a_scale: torch.Tensor | None = None,
         b_scale: torch.Tensor | None = None, out_scale: torch.Tensor | None = None, accumulation: str = "fast",
         deterministic: bool = False, sm_limit: int = 0, plan: str | None = None,
         epilogue: str | None = None, tuning: str | None = None, target: str | None = None) -> torch.Tensor: ...


@overload
def gemm(a: NDArray[Any], b: NDArray[Any], *, out: NDArray[Any] | None = None, dtype: DTypeLike | None = None,
         out_dtype: DTypeLike | None = None, c: ArrayLike | None = None, alpha: float = 1.0, beta: float = 0.0,
         bias: ArrayLike | None = None, activation: str = "none", residual: ArrayLike | None = None,
         a_scale: ArrayLike | None = None, b_scale: ArrayLike | None = None, out_scale: ArrayLike | None = None,
         accumulation: str = "fast", deterministic: bool = False, plan: str | None = None,
         epilogue: str | None = None, target: str | None = None) -> NDArray[Any]: ...


@warm(GEMM)
def gemm(a: Any, b: Any, *, out: Any = None, dtype: Any = None, out_dtype: Any = None, c: Any = None,
         alpha: float = 1.0, beta: float = 0.0, bias: Any = None, activation: str = "none", residual: Any = None,
         a_scale: Any = None, b_scale: Any = None, out_scale: Any = None, accumulation: str = "fast",
         deterministic: bool = False, sm_limit: int = 0, plan: str | None = None, epilogue: str | None = None,
         tuning: str | None = None, target: str | None = None) -> Any:
    """``epilogue(alpha * a @ b.T + beta * c)``, ``a`` [..., m, k] and ``b`` [n, k], or both with leading dimensions.

    torch tensors (bf16, fp16, float8_e4m3fn, float8_e5m2) run on their GPU, on the current stream; on the CPU torch
    multiplies them by the same rules, or the kernels do, within ``simulate()``. Any strides are taken without a copy as
    long as one of the last two is 1. ``out`` receives the result; otherwise a tensor of
    ``out_dtype`` (the type of ``a``, bf16 for 8-bit types) is made.

    bias         [n], added to every row; ``[m, 1]``, added to every column
    activation   'none', 'relu', 'gelu' (tanh), 'gelu_erf', 'silu', or 'swiglu': ``b`` is [gate; up], n a multiple of
                 16, and the result silu(gate) * up with n / 2 columns; there is no beta * c then
    residual     [m, n], with swiglu [m, n / 2], added after the activation
    a_scale, b_scale   fp32 factors of 8-bit operands: one, or one for every row of ``a`` and of ``b``
    out_scale    fp32, one: the result is multiplied by it before it becomes e4m3
    accumulation 'fast', or 'promoted': 8-bit products are summed in fp32 every 128 elements
    deterministic  the same bits on any number of SMs
    sm_limit     SMs the kernel may occupy; 0: all
    plan         a plan by name, as ``explain`` prints it
    epilogue     a C++ expression that takes the place of beta * c, bias, activation and residual, such as
                 ``"30 * tanh(x / 30)"``; give those of c, bias, row_bias and residual that it names, and no others
    tuning       'measure': the first such call times the model's best plans on the GPU and keeps the fastest, also for
                 the next process. 'ahead': only kernels that are in the library, where one serves, so that no call waits
                 for a compiler; for extents that change all the time. Without it WARPWRIGHT_TUNING decides

    NumPy arrays run in the simulator ``target``: 'sim:sm90', the default, which runs the instance that a GPU would run,
    or 'sim:sm80', 'sim:sm100', ... for what those serve. An instance that was not compiled into the tool is compiled
    first, which takes seconds once. A mistake in the kernel raises ``WarpwrightError`` with the checker's report.

    dtype        what the operands are rounded to: 'bf16', 'fp16', 'tf32', 'e4m3' or a NumPy type. Without it their own
                 type where the kernels have it, else bf16
    out_dtype    what the kernel writes, and the type of the array: 'bf16', 'fp16' or 'fp32'. Without it the type of
                 ``out``, or a float32 array with what the kernel writes by default

    Raises ValueError or TypeError, with a sentence, for what cannot be multiplied; nothing is launched then.

    >>> import numpy as np, warpwright
    >>> a, b = np.eye(64), np.arange(32 * 64).reshape(32, 64) % 7
    >>> bool((warpwright.gemm(a, b) == b.T).all())
    True
    >>> warpwright.gemm(a, b, dtype="fp16", out_dtype="fp16", target="sim:sm100").dtype
    dtype('float16')
    >>> bool((warpwright.gemm(a, b, epilogue="column <= row ? 2 * x : 0") == np.tril(2 * b.T)).all())
    True
    >>> warpwright.gemm(a, b[:, :40])
    Traceback (most recent call last):
    ValueError: b: it has 40 columns, a has 64; both are k
    """
    if is_torch(a) or is_torch(b):
        if target not in (None, "gpu", "sm90"):
            raise ValueError(f"target: torch tensors are multiplied where they are, not by {target!r}; "
                             "simulate() sends those on the CPU through the simulator")
        if dtype is not None:
            raise ValueError("dtype: torch tensors are multiplied as they are; convert them, or leave it out")
        if tuning is not None:
            plan = plan_word(plan, tuning)
        from . import _torch

        return _torch.gemm(a, b, out, out_dtype, c, alpha, beta, bias, activation, residual, a_scale, b_scale, out_scale,
                         accumulation, deterministic, sm_limit, plan, epilogue)
    if sm_limit:
        raise ValueError("sm_limit: the simulator has as many SMs as the chip; leave it out")
    if tuning is not None:
        raise ValueError("tuning: the simulator measures nothing; leave it out")
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: {activation!r} is not one of {', '.join(ACTIVATIONS)}")
    from . import _numpy

    return _numpy.gemm(a, b, out=out, dtype=dtype, out_dtype=out_dtype, c=c, alpha=float(alpha), beta=float(beta),
                       bias=bias, activation=activation, residual=residual, a_scale=a_scale, b_scale=b_scale,
                       out_scale=out_scale, accumulation=accumulation, target=target or "sim:sm90", plan=plan,
                       epilogue=epilogue)
