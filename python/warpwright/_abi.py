"""libwarpwright.so through its C interface (include/warpwright/c_api.h)."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from typing import Any, Iterator

from ._errors import MissingError, error_of

MAJOR_K, MAJOR_MN = 0, 1
PACKED = -(2**63)
INVALID_ARGUMENT = 1


def _pointers(*names: str) -> list[tuple[str, type[ctypes.c_void_p]]]:
    return [(name, ctypes.c_void_p) for name in names]


class MatrixLayout(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("major", ctypes.c_int32), ("stride", ctypes.c_int64),
                ("batch_stride", ctypes.c_int64)]


class Problem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("batch", ctypes.c_int64), ("a", MatrixLayout), ("b", MatrixLayout), ("c", MatrixLayout),
                ("d", MatrixLayout), ("alpha", ctypes.c_float), ("beta", ctypes.c_float), ("scaling", ctypes.c_int32),
                ("accumulation", ctypes.c_int32), ("bias", ctypes.c_int32), ("bias_type", ctypes.c_int32),
                ("bias_batch_stride", ctypes.c_int64), ("activation", ctypes.c_int32), ("residual", ctypes.c_int32),
                ("residual_layout", MatrixLayout), ("quantize", ctypes.c_int32), ("alignment", ctypes.c_int32),
                ("sm_limit", ctypes.c_int32), ("deterministic", ctypes.c_int32), ("dependent", ctypes.c_int32),
                ("b_is_constant", ctypes.c_int32), ("plan", ctypes.c_char_p), ("block_scaling", ctypes.c_int32),
                ("formula", ctypes.c_char_p), ("tuning", ctypes.c_int32)]


class Pointers(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64),
                *_pointers("a", "b", "c", "d", "bias", "residual", "a_scales", "b_scales", "d_scale", "workspace"),
                ("workspace_bytes", ctypes.c_size_t), *_pointers("a_block_scales", "b_block_scales")]


class GroupedProblem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("m", ctypes.c_int64), ("n", ctypes.c_int64), ("k", ctypes.c_int64),
                ("group_count", ctypes.c_int64), ("matrix_count", ctypes.c_int64), ("usual_rows", ctypes.c_int64),
                ("groups", ctypes.c_int32), ("type", ctypes.c_int32), ("out", ctypes.c_int32),
                ("sm_limit", ctypes.c_int32), ("a_scales_rows", ctypes.c_int64), ("a_scales_columns", ctypes.c_int64),
                ("b_scales_rows", ctypes.c_int64), ("b_scales_columns", ctypes.c_int64), ("plan", ctypes.c_char_p),
                ("b_scale_rows", ctypes.c_int32), ("activation", ctypes.c_int32), ("bias", ctypes.c_int32),
                ("bias_type", ctypes.c_int32), ("shared_bias", ctypes.c_int32), ("accumulate", ctypes.c_int32),
                ("scaling", ctypes.c_int32), ("out_scaling", ctypes.c_int32), ("clamped_swiglu", ctypes.c_int32),
                ("gathered", ctypes.c_int32), ("a_rows", ctypes.c_int64), ("a_major", ctypes.c_int32),
                ("b_major", ctypes.c_int32), ("tuning", ctypes.c_int32), ("beta", ctypes.c_float),
                ("formula", ctypes.c_char_p)]


class GroupedPointers(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64),
                *_pointers("a", "b", "a_scales", "b_scales", "d", "rows", "matrices", "status", "bias", "d_scales",
                           "a_block_scales", "b_block_scales", "d_block_scales"),
                ("a_block_rows", ctypes.c_int64), ("d_block_rows", ctypes.c_int64), *_pointers("matrix_alpha", "index")]


class MoeProblem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("tokens", ctypes.c_int64), ("hidden", ctypes.c_int64),
                ("intermediate", ctypes.c_int64), ("experts", ctypes.c_int64), ("top_k", ctypes.c_int64),
                ("type", ctypes.c_int32), ("id_bytes", ctypes.c_int32), ("sm_limit", ctypes.c_int32),
                ("gate_up_plan", ctypes.c_char_p), ("down_plan", ctypes.c_char_p), ("shared", ctypes.c_int64)]


class MoePointers(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64),
                *_pointers("x", "w_gate_up", "w_down", "ids", "weights", "out", "token_count", "status", "x_scales",
                           "w_gate_up_scales", "w_down_scales", "workspace"),
                ("workspace_bytes", ctypes.c_size_t), *_pointers("shared_weights")]


class QuantizeProblem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("rows", ctypes.c_int64), ("columns", ctypes.c_int64),
                ("stride", ctypes.c_int64), ("source", ctypes.c_int32), ("kind", ctypes.c_int32),
                ("type", ctypes.c_int32), ("layout", ctypes.c_int32), ("given_tensor_scale", ctypes.c_int32),
                ("on_host", ctypes.c_int32)]


GROUPS_NONE, GROUPS_CONTIGUOUS, GROUPS_MASKED, GROUPS_BY_DEPTH = 0, 1, 2, 3
STRUCTURES = {"ww_matrix_layout": MatrixLayout, "ww_gemm_problem": Problem, "ww_gemm_pointers": Pointers,
              "ww_grouped_problem": GroupedProblem, "ww_grouped_pointers": GroupedPointers,
              "ww_moe_problem": MoeProblem, "ww_moe_pointers": MoePointers, "ww_quantize_problem": QuantizeProblem}


def files(folder: str, name: str) -> Iterator[pathlib.Path]:
    """Where an installed or built file may be: in the package, in a build tree."""
    package = pathlib.Path(__file__).resolve().parent
    yield package / folder / name
    for build in ("release", "gpu", "dev", "release-nocuda"):
        yield package.parents[1] / "build" / build / folder / name


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    named = os.environ.get("WARPWRIGHT_LIBRARY")
    candidates = [pathlib.Path(named)] if named else list(files("lib", "libwarpwright.so"))
    path = next((p for p in candidates if p.is_file()), None)
    if path is None:
        raise MissingError(f"{named or 'libwarpwright.so'} was not found; WARPWRIGHT_LIBRARY names the library")
    try:
        c = ctypes.CDLL(str(path))
    except OSError as error:
        raise MissingError(f"{path} cannot be loaded: {error}") from None
    c.ww_last_error.restype = c.ww_version.restype = c.ww_plan_name.restype = ctypes.c_char_p
    c.ww_plan_explanation.restype = c.ww_words.restype = ctypes.c_char_p
    c.ww_plan_workspace_bytes.restype = c.ww_plan_kept_bytes.restype = ctypes.c_size_t
    c.ww_grouped_plan_name.restype = c.ww_grouped_plan_explanation.restype = ctypes.c_char_p
    c.ww_moe_plan_explanation.restype = ctypes.c_char_p
    c.ww_moe_plan_workspace_bytes.restype = ctypes.c_size_t
    for function in (c.ww_plan_name, c.ww_plan_explanation, c.ww_plan_workspace_bytes, c.ww_plan_kept_bytes, c.ww_plan_destroy,
                     c.ww_moe_plan_explanation, c.ww_moe_plan_workspace_bytes, c.ww_moe_plan_destroy,
                     c.ww_grouped_plan_name, c.ww_grouped_plan_explanation, c.ww_grouped_plan_destroy):
        function.argtypes = [ctypes.c_void_p]
    c.ww_grouped_plan_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(GroupedPointers), ctypes.c_void_p]
    c.ww_moe_plan_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(MoePointers), ctypes.c_void_p]
    c.ww_plan_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Pointers), ctypes.c_void_p]
    problem = Problem()
    c.ww_gemm_problem_init(ctypes.byref(problem))
    if problem.size != ctypes.sizeof(Problem):
        raise MissingError(f"{path} has another interface than this package; build both from one source")
    c.ww_formula_names.restype = ctypes.c_char_p
    return c


@functools.lru_cache(maxsize=None)
def words(table: str) -> dict[str, int]:
    """The words of a table of the library (include/warpwright/core/words.h) and their values."""
    pairs = (pair.split("=") for pair in library().ww_words(table.encode()).decode().split())
    return {word: int(value) for word, value in pairs}


def raise_on(code: int) -> None:
    if code:
        raise error_of(code, library().ww_last_error().decode())


@functools.lru_cache(maxsize=256)
def formula_names(text: str) -> frozenset[str]:
    """The operands that a formula names; a mistake in it raises ValueError with its line and column."""
    names = library().ww_formula_names(text.encode())
    if names is None:
        raise_on(INVALID_ARGUMENT)
    return frozenset(names.decode().split())


def apply_formula(text: str, x: int, batch: int, rows: int, columns: int, c: int | None, bias: int | None,
                  row_bias: int | None, residual: int | None, beta: float) -> None:
    """Applies a formula, in place, to fp32 sums at an address in host memory."""
    apply = library().ww_formula_apply
    extent, address = ctypes.c_int64, ctypes.c_void_p
    apply.argtypes = [ctypes.c_char_p, address, extent, extent, extent, address, address, address, address,
                      ctypes.c_float]
    raise_on(apply(text.encode(), x, batch, rows, columns, c, bias, row_bias, residual, beta))


def apply_formula_to_group(text: str, x: int, rows: int, columns: int, first_row: int, batch: int, bias: int | None,
                           row_bias: int | None, beta: float) -> None:
    """The same of what one group has, whose first row and number in ``batch`` are given."""
    apply = library().ww_formula_apply_group
    extent, address = ctypes.c_int64, ctypes.c_void_p
    apply.argtypes = [ctypes.c_char_p, address, extent, extent, extent, extent, address, address, ctypes.c_float]
    raise_on(apply(text.encode(), x, rows, columns, first_row, batch, bias, row_bias, beta))


def new_problem() -> Problem:
    problem = Problem()
    library().ww_gemm_problem_init(ctypes.byref(problem))
    return problem


def new_pointers() -> Pointers:
    pointers = Pointers()
    library().ww_gemm_pointers_init(ctypes.byref(pointers))
    return pointers


def new_grouped_problem() -> GroupedProblem:
    problem = GroupedProblem()
    library().ww_grouped_problem_init(ctypes.byref(problem))
    return problem


def new_grouped_pointers() -> GroupedPointers:
    pointers = GroupedPointers()
    library().ww_grouped_pointers_init(ctypes.byref(pointers))
    return pointers


def new_moe_problem() -> MoeProblem:
    problem = MoeProblem()
    library().ww_moe_problem_init(ctypes.byref(problem))
    return problem


def new_moe_pointers() -> MoePointers:
    pointers = MoePointers()
    library().ww_moe_pointers_init(ctypes.byref(pointers))
    return pointers


def new_quantize_problem() -> QuantizeProblem:
    problem = QuantizeProblem()
    library().ww_quantize_problem_init(ctypes.byref(problem))
    return problem


def quantize(problem: QuantizeProblem, source: int, values: int, scales: int, tensor_scale: int | None,
             stream: int | None) -> None:
    """Addresses in device memory, or in host memory for a problem on the host."""
    run = library().ww_quantize
    run.argtypes = [ctypes.POINTER(QuantizeProblem)] + [ctypes.c_void_p] * 5
    raise_on(run(ctypes.byref(problem), source, values, scales, tensor_scale, stream))


class GroupedPlan:
    """A grouped product whose kernel was chosen; it belongs to the device that was current."""

    workspace_bytes = kept_bytes = 0

    def __init__(self, problem: GroupedProblem):
        self.handle = ctypes.c_void_p()
        self.destroy = library().ww_grouped_plan_destroy
        raise_on(library().ww_grouped_plan_create(ctypes.byref(problem), ctypes.byref(self.handle)))

    @property
    def name(self) -> str:
        """Another one, once it was measured."""
        return str(library().ww_grouped_plan_name(self.handle).decode())

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.destroy(self.handle)

    def run(self, pointers: GroupedPointers, stream: int) -> None:
        raise_on(library().ww_grouped_plan_run(self.handle, ctypes.byref(pointers), stream))


class MoePlan:
    """A mixture of experts whose kernels were chosen; it belongs to the device that was current."""

    kept_bytes = 0

    def __init__(self, problem: MoeProblem):
        self.handle = ctypes.c_void_p()
        self.destroy = library().ww_moe_plan_destroy
        raise_on(library().ww_moe_plan_create(ctypes.byref(problem), ctypes.byref(self.handle)))
        self.workspace_bytes = library().ww_moe_plan_workspace_bytes(self.handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.destroy(self.handle)

    def run(self, pointers: MoePointers, stream: int) -> None:
        raise_on(library().ww_moe_plan_run(self.handle, ctypes.byref(pointers), stream))


class Plan:
    """A product that was validated and whose kernel was chosen; it belongs to the device that was current."""

    def __init__(self, problem: Problem):
        self.handle = ctypes.c_void_p()
        self.destroy = library().ww_plan_destroy  # still there when the interpreter takes modules apart
        raise_on(library().ww_plan_create(ctypes.byref(problem), ctypes.byref(self.handle)))
        self.workspace_bytes = library().ww_plan_workspace_bytes(self.handle)
        self.kept_bytes = library().ww_plan_kept_bytes(self.handle)
        self.workspaces: dict[int, Any] = {}  # a tensor for each stream
        self.entry = library().ww_plan_run  # for callers that have filled a structure themselves

    @property
    def name(self) -> str:
        """Another one, once it was measured."""
        return str(library().ww_plan_name(self.handle).decode())

    @property
    def explanation(self) -> str:
        return str(library().ww_plan_explanation(self.handle).decode())

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.destroy(self.handle)

    def run(self, pointers: Pointers, stream: int) -> None:
        raise_on(library().ww_plan_run(self.handle, ctypes.byref(pointers), stream))
