"""User-defined epilogues: which operands a text names."""

from __future__ import annotations

import re
from typing import Any

from . import _abi


def check_text(epilogue: Any) -> None:
    """What can be known without the library, also while torch.compile traces."""
    if epilogue is None:
        return
    if not isinstance(epilogue, str):
        raise TypeError(f"epilogue: a text is needed, not {type(epilogue).__name__}")
    if not epilogue or "\0" in epilogue:
        raise ValueError("epilogue: the text is empty" if not epilogue else "epilogue: it has a character of code 0")


def names_of(epilogue: Any) -> frozenset[str]:
    """What the text names; nothing without one. A text that cannot be read raises ValueError."""
    check_text(epilogue)
    return frozenset() if epilogue is None else _abi.formula_names(epilogue)


def option(epilogue: str) -> str:
    """As the tool takes it: words joined by '+' are something else there, and in brackets they are an expression."""
    return f"({epilogue})" if re.fullmatch(r"[a-z0-9_+]+", epilogue) else epilogue


def check_given(names: frozenset[str], c: bool, bias: str | None, residual: bool, beta: float) -> None:
    """``bias`` is the word for how it is added. What is named must be given, and the other way round."""
    for name, given in (("c", c), ("bias", bias == "bias"), ("row_bias", bias == "row_bias"), ("residual", residual)):
        what = name if name != "row_bias" else "bias: as [m, 1] it is row_bias"
        if given and name not in names:
            raise ValueError(f"{what}: it is given, and the epilogue does not name it")
        if name in names and not given:
            raise ValueError(f"{what}: the epilogue names it, and none is given")
    if beta != 0 and "beta" not in names:
        raise ValueError(f"beta: it is {beta}, and the epilogue does not name it")
