"""The short way into the public products: compiled code is asked first, with the arguments as they were given, so that a
call like one before binds no parameters that it does not name."""

from __future__ import annotations

import functools
from typing import Any, Callable


class Way:
    """Where compiled code is for a function."""

    def __init__(self) -> None:
        self.compiled: Any = None  # as soon as there is a call that it knows
        self.is_compiling: Callable[[], bool] = lambda: False


GEMM, GROUPED, MOE = WAYS = Way(), Way(), Way()  # as forms.h counts calls


def warm(way: Way) -> Callable[[Any], Any]:
    """The function, called where compiled code does not know the call."""
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            if not way.is_compiling() and way.compiled is not None:
                made = way.compiled(*given, **named)
                if made is not None:
                    return made
            return function(*given, **named)

        # What torch.compile traces when it comes to the call, so that it asks nothing that may have another answer later.
        call.__dict__["_torchdynamo_inline"] = function
        return call

    return decorate
