"""What can go wrong. A call that breaks a rule raises ValueError or TypeError with the sentence of the C++ error."""


class WarpwrightError(RuntimeError):
    """CUDA or a compiler failed on a legal call, or the checker found something wrong."""


class MissingError(WarpwrightError):
    """The machine lacks something: a driver, a GPU with kernels, a compiler, memory. The sentence says what."""


INVALID_ARGUMENT, UNSUPPORTED, MISSING, FAILED = 1, 2, 3, 4


def error_of(code: int, sentence: str) -> Exception:
    """The exception for a code of the C interface."""
    if code in (INVALID_ARGUMENT, UNSUPPORTED):
        return ValueError(sentence)
    return MissingError(sentence) if code == MISSING else WarpwrightError(sentence)
