"""Where torch tensors on the CPU are multiplied: by torch, or by the kernels in the simulator."""

from __future__ import annotations

import contextlib
import contextvars
from typing import Iterator, Optional

_target: contextvars.ContextVar[Optional[str]] = contextvars.ContextVar("warpwright_simulated", default=None)


def simulated_target() -> Optional[str]:
    return _target.get()


@contextlib.contextmanager
def simulate(target: str = "sim:sm90") -> Iterator[None]:
    """Within it torch tensors on the CPU go through the kernels in the simulator ``target``.

    Outside of it they are multiplied by torch, by the same rules, so that a program runs where there is no GPU. In the
    simulator a product runs the instance that a GPU would run, thread by thread, and a mistake in the kernel raises
    ``WarpwrightError`` with the checker's report: products should be small. Tensors on a GPU are not concerned.

        with warpwright.simulate():
            y = warpwright.gemm(x, w, bias=bias, activation="silu")

    >>> import warpwright
    >>> with warpwright.simulate("sm90"):
    ...     pass
    Traceback (most recent call last):
    ValueError: target: 'sm90' is not a simulator; it must be 'sim:sm90', or another that begins with 'sim:'
    """
    if not isinstance(target, str) or not target.startswith("sim:"):
        raise ValueError(f"target: {target!r} is not a simulator; it must be 'sim:sm90', or another that begins with 'sim:'")
    before = _target.set(target)
    try:
        yield
    finally:
        _target.reset(before)
