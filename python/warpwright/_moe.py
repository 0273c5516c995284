"""moe(): a mixture of experts, from the choice of each token's experts to the sum of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, overload

from ._gemm import is_torch
from ._warm import MOE, warm

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike, NDArray

SCALE_BLOCK = 128


@overload
def moe(x: torch.Tensor, w_gate_up: torch.Tensor, w_down: torch.Tensor, topk_ids: torch.Tensor,
        topk_weights: torch.Tensor, *, x_scale: torch.Tensor | None = None,
        w_gate_up_scale: torch.Tensor | None = None, w_down_scale: torch.Tensor | None = None, shared: int = 0,
        shared_weights: torch.Tensor | None = None, token_count: torch.Tensor | None = None, out: torch.Tensor | None = None, status: torch.Tensor | None = None,
        sm_limit: int = 0, target: str | None = None) -> torch.Tensor: ...


@overload
def moe(x: NDArray[Any], w_gate_up: NDArray[Any], w_down: NDArray[Any], topk_ids: ArrayLike, topk_weights: ArrayLike,
        *, x_scale: NDArray[Any] | None = None, w_gate_up_scale: NDArray[Any] | None = None,
        w_down_scale: NDArray[Any] | None = None, shared: int = 0, shared_weights: ArrayLike | None = None,
        token_count: int | None = None, out: NDArray[Any] | None = None, status: NDArray[Any] | None = None, sm_limit: int = 0, target: str | None = None) -> NDArray[Any]: ...


@warm(MOE)
def moe(x: Any, w_gate_up: Any, w_down: Any, topk_ids: Any, topk_weights: Any, *, x_scale: Any = None,
        w_gate_up_scale: Any = None, w_down_scale: Any = None, shared: int = 0, shared_weights: Any = None,
        token_count: Any = None, out: Any = None, status: Any = None, sm_limit: int = 0, target: str | None = None) -> Any:
    """The sum over a token's experts of weight * w_down[e] @ (silu(gate) * up), where [gate; up] = w_gate_up[e] @ x:
    torch tensors on a Hopper or Blackwell GPU, on the current stream, or on the CPU by torch; NumPy arrays, and torch
    tensors within ``simulate()``, in the simulator.

    x             [tokens, hidden]
    w_gate_up     [experts, 2 * intermediate, hidden]: the gates, then the ups
    w_down        [experts, hidden, intermediate]
    topk_ids      [tokens, top_k], int32 or int64: the experts of each token
    topk_weights  [tokens, top_k], fp32

    Operands are bf16, or float8_e4m3fn with fp32 factors as ``quantize`` makes them: ``x_scale`` [tokens, hidden / 128]
    (of 'token'), ``w_gate_up_scale`` and ``w_down_scale`` with one for each 128 x 128 of a matrix (of 'block'). The
    result is bf16, and float32 for NumPy arrays. Rows are counted and gathered on the device, the host looks at
    nothing, and the same input gives the same bits; a call can be captured in a graph, and compiled.

    A pair whose expert does not exist, or whose weight is not a number, adds nothing. ``status``, one int32, then has the
    bits 1 (experts), 2 (weights) and 4 (``token_count`` is more than there are tokens). ``token_count``, one int32 on
    the device, says how many tokens are valid; the other rows of ``out`` are not written.

    ``shared``: this many matrices, the last ones, are experts that every token takes besides those of ``topk_ids``, in the same
    launches; ``shared_weights`` [tokens, shared], fp32, are their weights, 1 if they are not given.

    torch tensors of bf16 have a gradient with respect to x, the matrices and the weights, without ``out``. It keeps the
    arguments and nothing else, and makes gates and ups again.

    >>> import numpy as np, warpwright
    >>> x, up, down = np.ones((3, 8)), np.ones((2, 16, 8)), np.ones((2, 8, 8))
    >>> down[1] *= 2
    >>> warpwright.moe(x, up, down, [[0], [1], [7]], [[1.0], [0.5], [1.0]])[:, 0].tolist()
    [512.0, 512.0, 0.0]
    """
    if is_torch(x) or is_torch(w_gate_up):
        if target not in (None, "gpu", "sm90", "sm100"):
            raise ValueError(f"target: torch tensors are multiplied on the GPU, not by {target!r}")
        from . import _torch_moe

        return _torch_moe.moe(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale, w_gate_up_scale, w_down_scale, shared,
                         shared_weights, token_count, out, status, sm_limit)
    if sm_limit:
        raise ValueError("sm_limit: the simulator runs NumPy arrays without it; leave it out")
    from . import _numpy_moe

    return _numpy_moe.moe(x, w_gate_up, w_down, topk_ids, topk_weights, x_scale=x_scale,
                          w_gate_up_scale=w_gate_up_scale, w_down_scale=w_down_scale, shared=int(shared),
                          shared_weights=shared_weights, token_count=token_count, out=out, status=status, target=target or "sim:sm90")


def check_shapes(x: Sequence[int], w_gate_up: Sequence[int], w_down: Sequence[int], ids: Sequence[int],
                 weights: Sequence[int], shared: int, shared_weights: Sequence[int] | None) -> None:
    """Whether operands of these shapes belong together."""
    for name, shape, dimensions in (("x", x, 2), ("w_gate_up", w_gate_up, 3), ("w_down", w_down, 3),
                                    ("topk_ids", ids, 2), ("topk_weights", weights, 2)):
        if len(shape) != dimensions:
            raise ValueError(f"{name}: {dimensions} dimensions are needed, not {len(shape)}")
    (tokens, hidden), (experts, two, _) = x, w_gate_up
    if two % 2:
        raise ValueError(f"w_gate_up: it has {two} rows for an expert; half of them are gates, half ups")
    for name, shape, wanted in (("w_gate_up", w_gate_up, (experts, two, hidden)),
                                ("w_down", w_down, (experts, hidden, two // 2)),
                                ("topk_ids", ids, (tokens, ids[1])), ("topk_weights", weights, tuple(ids))):
        if tuple(shape) != wanted:
            raise ValueError(f"{name}: its shape is {tuple(shape)}, {wanted} is needed")
    if ids[1] < 1:
        raise ValueError("topk_ids: a token has at least one expert")
    if shared and not 0 < shared < experts:
        raise ValueError(f"shared: {shared} experts for every token; there are {experts}, and one is left to choose")
    if shared_weights is not None and (not shared or tuple(shared_weights) != (tokens, shared)):
        raise ValueError(f"shared_weights: its shape is {tuple(shared_weights)}, {(tokens, shared)} is needed, and none "
                         "where no expert is shared")


def scale_shapes(x: Sequence[int], w_gate_up: Sequence[int],
                 w_down: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """The shapes of the factors of float8 operands."""
    def blocks(extent: int) -> int:
        return -(-extent // SCALE_BLOCK)

    return {"x_scale": (x[0], blocks(x[1])),
            "w_gate_up_scale": (w_gate_up[0], blocks(w_gate_up[1]), blocks(w_gate_up[2])),
            "w_down_scale": (w_down[0], blocks(w_down[1]), blocks(w_down[2]))}
