"""What works without a GPU: the simulator with NumPy arrays, quantization, the checker, schedules, error texts."""

import doctest
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import warpwright
from warpwright import _commands, _gemm, _grouped, _moe, _quantize, _simulate, _tool


def whole(rng, *shape):
    return rng.integers(-3, 4, shape).astype(np.float32)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("target", ["sim:sm80", "sim:sm90", "sim:sm100"])
def test_gemm_of_whole_numbers_is_exact(rng, target):
    a, b = whole(rng, 100, 64), whole(rng, 72, 64)
    got = warpwright.gemm(a, b, target=target)
    want = (a @ b.T).astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(got, want)


def test_gemm_rounds_its_operands_and_scales(rng):
    a, b = rng.standard_normal((64, 128)), rng.standard_normal((48, 128))
    narrow = lambda x: x.astype(np.float16).astype(np.float64)
    want = 0.5 * narrow(a) @ narrow(b).T
    got = warpwright.gemm(a, b, alpha=0.5, dtype="fp16", target="sim:sm100")
    assert np.linalg.norm(got - want) <= 2e-3 * np.linalg.norm(want)
    np.testing.assert_array_equal(got, warpwright.gemm(a.astype(np.float16), b.astype(np.float16), alpha=0.5,
                                                       target="sim:sm100"))


@pytest.mark.parametrize("dtype, out_dtype, target", [
    ("bf16", "bf16", "sim:sm90"), ("fp16", "fp32", "sim:sm90"), ("e5m2", "bf16", "sim:sm90"), ("fp8", None, "sim:sm90"),
    ("fp16", "fp16", "sim:sm100"), ("tf32", "fp32", "sim:sm100"),
    (ml_dtypes.bfloat16, "fp32", "sim:gfx950"), (np.float16, np.float16, "sim:sm100"), ("fp8", None, "sim:sm100"),
])
def test_dtype_is_of_the_operands_and_out_dtype_of_the_result(rng, dtype, out_dtype, target):
    a, b = whole(rng, 64, 64), whole(rng, 64, 64)
    got = warpwright.gemm(a, b, dtype=dtype, out_dtype=out_dtype, target=target)
    wanted = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp32": np.float32, None: np.float32}
    assert got.dtype == wanted.get(out_dtype, out_dtype)
    np.testing.assert_allclose(got.astype(np.float64), a @ b.T, rtol=2**-8)


def test_gemm_takes_views_and_out(rng):
    a, b = whole(rng, 64, 40), whole(rng, 64, 48)
    out = np.full((40, 48), np.nan, np.float32)
    got = warpwright.gemm(a.T, b.T, out=out)
    assert got is out
    np.testing.assert_array_equal(out, (a.T @ b).astype(ml_dtypes.bfloat16).astype(np.float32))
    narrow = np.zeros((40, 48), ml_dtypes.bfloat16)
    assert warpwright.gemm(a.T, b.T, out=narrow, out_dtype="bf16") is narrow
    np.testing.assert_array_equal(narrow.astype(np.float32), out)
    wide = np.zeros((40, 100), ml_dtypes.bfloat16)
    warpwright.gemm(a.T, b.T, out=wide[:, 1:97:2])  # out says the type, and may have gaps
    np.testing.assert_array_equal(wide[:, 1:97:2], narrow)
    assert not wide[:, ::2].any() and not wide[:, 97:].any()


def activated(x, activation):
    tanh = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return {"none": x, "relu": np.maximum(x, 0), "gelu": tanh, "silu": x / (1 + np.exp(-x))}[activation]


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "silu"])
def test_gemm_with_an_epilogue(rng, dtype, activation):
    narrow = np.float16 if dtype == "fp16" else ml_dtypes.bfloat16
    a, b = (rng.standard_normal((rows, 64)).astype(narrow) for rows in (40, 48))
    bias, residual = rng.standard_normal(48).astype(np.float32), rng.standard_normal((40, 48)).astype(narrow)
    got = warpwright.gemm(a, b, bias=bias, activation=activation, residual=residual, alpha=0.25)
    wide = [x.astype(np.float64) for x in (a, b, residual)]
    want = activated(0.25 * wide[0] @ wide[1].T + bias, activation) + wide[2]
    assert np.linalg.norm(got - want) <= 8e-3 * np.linalg.norm(want)


@pytest.mark.parametrize("target", ["sim:sm90", "sim:sm100"])
def test_gemm_with_swiglu(rng, target):
    a, b = (rng.standard_normal((rows, 64)).astype(ml_dtypes.bfloat16) for rows in (40, 48))
    more = {}
    if target == "sim:sm90":  # the others take no addends of your own
        more = {"bias": rng.standard_normal(48), "residual": rng.standard_normal((40, 24)).astype(ml_dtypes.bfloat16)}
    got = warpwright.gemm(a, b, activation="swiglu", alpha=0.25, target=target, **more)
    sums = 0.25 * a.astype(np.float64) @ b.T.astype(np.float64) + more.get("bias", 0)
    want = activated(sums[:, :24], "silu") * sums[:, 24:] + np.asarray(more.get("residual", 0), np.float64)
    assert got.shape == (40, 24) and np.linalg.norm(got - want) <= 8e-3 * np.linalg.norm(want)
    out = np.zeros((40, 24), np.float32)
    assert warpwright.gemm(a, b, activation="swiglu", target=target, out=out) is out


def test_gemm_adds_c_and_a_bias_of_rows(rng):
    a, b, c = whole(rng, 40, 64), whole(rng, 48, 64), whole(rng, 40, 48)
    rows = whole(rng, 40, 1)
    got = warpwright.gemm(a, b, c=c, beta=2.0, alpha=0.5, bias=rows, out_dtype="fp32")
    np.testing.assert_array_equal(got, 0.5 * a @ b.T + 2 * c + rows)


def test_gemm_of_batches(rng):
    a, b = whole(rng, 3, 40, 64), whole(rng, 3, 48, 64)
    got = warpwright.gemm(a, b, dtype="fp16", out_dtype="fp32")
    np.testing.assert_array_equal(got, a @ b.transpose(0, 2, 1))


@pytest.mark.parametrize("scheme", ["tensor", "row"])
def test_gemm_with_factors(rng, scheme):
    a, b = (warpwright.quantize(rng.standard_normal((rows, 128)).astype(np.float32), scheme) for rows in (40, 48))
    got = warpwright.gemm(a.values, b.values, a_scale=a.scales, b_scale=b.scales, accumulation="promoted")
    want = warpwright.dequantize(a).astype(np.float64) @ warpwright.dequantize(b).T.astype(np.float64)
    assert np.linalg.norm(got - want) <= 8e-3 * np.linalg.norm(want)


def test_gemm_quantizes_its_result(rng):
    a, b = whole(rng, 40, 64), whole(rng, 48, 64)
    got = warpwright.gemm(a, b, out_scale=0.5, out_dtype="e4m3")
    want = np.clip(0.5 * (a @ b.T), -448, 448).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


def test_gemm_of_any_extents(rng):
    for m, n, k in ((1, 1, 1), (7, 13, 5), (65, 71, 63)):
        a, b = whole(rng, m, k), whole(rng, n, k)
        np.testing.assert_array_equal(warpwright.gemm(a, b, out_dtype="fp32"), a @ b.T)
    assert not warpwright.gemm(np.zeros((8, 0)), np.zeros((16, 0))).any()


# What each means, in float64.
FORMULAS = {
    "x / (1 + exp(-1.702 * x))": lambda v: v["x"] / (1 + np.exp(-1.702 * v["x"])),
    "30 * tanh(x / 30)": lambda v: 30 * np.tanh(v["x"] / 30),
    "x > 0 ? x * x : 0": lambda v: np.maximum(v["x"], 0) ** 2,
    "column <= row ? x : -infinity": lambda v: np.where(np.tri(40, 48, dtype=bool), v["x"], -np.inf),
    "row_bias": lambda v: v["row_bias"] + 0 * v["x"],
    "float t = x * bias; return t + residual;": lambda v: v["x"] * v["bias"] + v["residual"],
    "x * sigmoid(x) * c - row_bias": lambda v: v["x"] / (1 + np.exp(-v["x"])) * v["c"] - v["row_bias"],
}


@pytest.mark.parametrize("text", FORMULAS)
def test_gemm_with_an_epilogue_of_ones_own(rng, text):
    a, b = (rng.standard_normal((rows, 64)).astype(ml_dtypes.bfloat16) for rows in (40, 48))
    values = {"bias": rng.standard_normal(48), "row_bias": rng.standard_normal((40, 1)),
              "residual": rng.standard_normal((40, 48)), "c": rng.standard_normal((40, 48))}
    values = {name: x.astype(np.float32).astype(float) for name, x in values.items()}
    values["x"] = 0.5 * a.astype(float) @ b.astype(float).T
    given = {name.replace("row_", ""): x for name, x in values.items() if name != "x" and re.search(rf"\b{name}\b", text)}
    got = warpwright.gemm(a, b, alpha=0.5, epilogue=text, out_dtype="fp32", **given)
    np.testing.assert_allclose(got, FORMULAS[text](values), rtol=2e-6, atol=1e-5)


def test_an_epilogue_of_ones_own_is_quantized(rng):
    a, b = whole(rng, 40, 64), whole(rng, 48, 64)
    got = warpwright.gemm(a, b, epilogue="max(x, -x)", out_scale=0.5, out_dtype="e4m3")
    want = np.clip(0.5 * abs(a @ b.T), -448, 448).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


def test_gemm_without_rows():
    assert warpwright.gemm(np.zeros((0, 8)), np.zeros((5, 8))).shape == (0, 5)


@pytest.mark.parametrize("call, words", [
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 9))), ["b:", "9", "8"]),
    (lambda: warpwright.gemm(np.zeros(4), np.zeros((4, 4))), ["a:", "two dimensions"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), bias=np.zeros(5)), ["bias", "4", "(5,)"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), activation="tanh"), ["'tanh'", "relu"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), residual=np.zeros((3, 4))), ["residual", "4 x 4"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((24, 8)), activation="swiglu"), ["b:", "24 rows", "16"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((32, 8)), activation="swiglu", residual=np.zeros((4, 32))),
     ["residual", "4 x 16"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((32, 8)), activation="swiglu", c=np.zeros((4, 16)), beta=1.0),
     ["beta", "swiglu"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((32, 8)), activation="swiglu", target="sim:sm80"),
     ["swiglu", "sm80"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), epilogue="x * sigmod(x)"),
     ["epilogue, line 1, column 5: 'sigmod'", "'sigmoid'?\n  x * sigmod(x)\n      ^"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), epilogue=""), ["epilogue", "empty"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), epilogue="x + bias"), ["bias", "none is given"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), epilogue="x + bias", bias=np.zeros((4, 1))),
     ["bias", "none is given"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), epilogue="x", residual=np.zeros((4, 4))),
     ["residual", "does not name it"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), epilogue="x", c=np.zeros((4, 4))), ["c:", "name it"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), epilogue="x", beta=2.0), ["beta", "2.0"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), epilogue="x", activation="relu"), ["activation"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), a_scale=1.0), ["a_scale, b_scale", "both"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), accumulation="slow"), ["accumulation", "slow"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), sm_limit=4), ["sm_limit", "simulator"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), tuning="measure"), ["tuning", "simulator"]),
    (lambda: warpwright.gemm(np.zeros((2, 4, 8)), np.zeros((3, 4, 8))), ["b:", "(3, 4, 8)"]),
    (lambda: warpwright.gemm(np.zeros((8, 8)), np.zeros((8, 8)), target="sim:sm100", bias=np.zeros(8)),
     ["sim:sm90"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), out_dtype="int7"), ["out_dtype", "int7", "bf16"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), dtype="int7"), ["dtype", "int7", "bf16"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), dtype=np.int32), ["dtype", "int32", "bf16"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), beta=1.0), ["c:", "beta"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), out=np.zeros((4, 4))), ["out", "float32", "float64"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), target="sm90"), ["target", "sm90"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), target="sim:sm99"), ["target", "sm99"]),
    (lambda: warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), out=np.zeros((4, 5), np.float32)), ["out", "4 x 4"]),
    (lambda: warpwright.gemm(np.zeros((8, 8)), np.zeros((8, 8)), plan="no_such"), ["no_such", "nearest"]),
    (lambda: warpwright.gemm(np.zeros((8, 8)), np.zeros((8, 8)), dtype="tf32"), ["tf32", "bf16"]),
    (lambda: warpwright.gemm(np.full((8, 8), np.nan), np.zeros((8, 8))), ["a, b:", "nan"]),
    (lambda: warpwright.gemm(np.full((8, 8), 9e3), np.full((8, 8), 9e3), dtype="fp16", target="sim:sm100",
                             out_dtype="fp16"), ["a, b:", "65504", "fp16"]),
    (lambda: warpwright.gemm(np.zeros((8, 8)), np.zeros((8, 8)), out=np.broadcast_to(np.float32(0), (8, 8))),
     ["out:", "read-only"]),
    (lambda: warpwright.quantize(np.zeros((4, 8)), "row7"), ["scheme", "row7", "token"]),
    (lambda: warpwright.quantize(np.zeros(8)), ["x:", "two dimensions"]),
    (lambda: warpwright.check("no_such_kernel"), ["no_such_kernel", "nearest"]),
    (lambda: warpwright.schedule("ping-pong", "gfx942"), ["ping-pong", "gfx942"]),
    (lambda: warpwright.explain(-1, 8, 8), ["m:", "-1"]),
    (lambda: warpwright.explain(8, 8, 8, epilogue="tanh"), ["epilogue", "tanh", "silu"]),
    (lambda: warpwright.explain(8, 8, 8, target="sm99"), ["target:", "sm99"]),
    (lambda: warpwright.check("--list"), ["kernel:", "'--list'"]),
    (lambda: warpwright.check("sm90/dense-64x64-c1-s4/bf16-nt", sizes=[(1, 2)]), ["sizes:", "1x2"]),
    (lambda: warpwright.check("sm90/dense-64x64-c1-s4/bf16-nt", seeds=-1), ["seeds:", "-1"]),
    (lambda: warpwright.schedule("ping-pong", "gfx1"), ["target:", "gfx1"]),
    (lambda: warpwright.gemm(np.zeros((8, 8)), np.zeros((8, 8)), activation="relu+silu"), ["activation:", "relu+silu"]),
    (lambda: warpwright.gemm(np.zeros((8, 8)), np.zeros((8, 8)), activation="bias"), ["activation:", "bias"]),
    (lambda: warpwright.gemm(np.zeros((8, 8)), np.zeros((8, 8)), alpha=float("nan")), ["alpha:", "nan"]),
    (lambda: warpwright.gemm(np.zeros((8, 8)), np.zeros((8, 8)), a_scale=1.0, b_scale=1.0), ["scaling = tensor"]),
    (lambda: warpwright.gemm(np.zeros((5000, 5000)), np.zeros((5000, 5000))), ["m = 5000", "2^33"]),
    (lambda: warpwright.trace(8), ["n is required"]),
    (lambda: warpwright.trace(8, 8, 8, target="gpu"), ["target:", "gpu"]),
    (lambda: warpwright.trace(file="--help"), ["file:", "'--help'"]),
    (lambda: warpwright.trace(file="none.cpp"), ["none.cpp", "file"]),
    (lambda: warpwright.bench(suite="sparse"), ["suite:", "sparse", "dense"]),
    (lambda: warpwright.bench(sizes=[(8, 8)]), ["sizes 8x8", "MxNxK"]),
    (lambda: warpwright.bench(against="deepgemm"), ["against deepgemm", "suite blockwise"]),
    (lambda: warpwright.tune(), ["shapes, sizes and random", "one of them"]),
    (lambda: warpwright.tune(random=0), ["random:", "0"]),
])
def test_bad_input_gets_a_sentence_in_words_of_python(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    said = str(caught.value).replace("'--list'", "").replace("'--help'", "")  # what was written, in quotation marks
    assert "--" not in said and not said.startswith("warpwright ")


def test_what_needs_a_gpu_says_so(monkeypatch):
    monkeypatch.setenv("WARPWRIGHT_CUDA", "off")
    for call in (lambda: warpwright.bench(sizes=[(8, 8, 8)]), lambda: warpwright.tune(sizes=[(8, 8, 8)])):
        with pytest.raises(warpwright.MissingError, match="needs CUDA") as caught:
            call()
        assert "--" not in str(caught.value)


def test_the_module_is_the_tool():
    package = str(pathlib.Path(warpwright.__file__).parents[1])
    said = subprocess.run([sys.executable, "-m", "warpwright", "--version"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": package})
    assert said.returncode == 0 and said.stdout.split()[-1] == warpwright.__version__
    wrong = subprocess.run([sys.executable, "-m", "warpwright", "gem"], capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": package})
    assert wrong.returncode == 2 and "gemm" in wrong.stderr


def test_trace_writes_what_it_is_told(tmp_path):
    both = warpwright.trace(64, 64, 64, html=tmp_path / "a.html", perfetto=tmp_path / "a.json", dtype="fp16")
    assert both["instance"].endswith("/fp16-nt") and both["ok"]
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "a.json"}


def test_operands_of_the_wrong_kind_are_refused():
    with pytest.raises(TypeError, match="a:"):
        warpwright.gemm(np.array([["x"]]), np.zeros((1, 1)))
    with pytest.raises(TypeError, match="b: its type is float16, that of a is bfloat16"):
        warpwright.gemm(np.zeros((4, 8), ml_dtypes.bfloat16), np.zeros((4, 8), np.float16))
    with pytest.raises(TypeError, match="out: a NumPy array is needed, not list"):
        warpwright.gemm(np.zeros((4, 8)), np.zeros((4, 8)), out=[1])


@pytest.mark.parametrize("scheme, scales", [("token", (130, 3)), ("block", (2, 3)), ("row", (130,)), ("tensor", ())])
def test_quantize(rng, scheme, scales):
    x = rng.standard_normal((130, 300)).astype(np.float32)
    q = warpwright.quantize(x, scheme)
    assert q.values.dtype == ml_dtypes.float8_e4m3fn and q.scales.shape == scales
    back = warpwright.dequantize(q)
    assert np.abs(back - x).max() <= np.abs(x).max() / 16
    assert np.linalg.norm(back - x) <= 0.04 * np.linalg.norm(x)


def test_quantize_keeps_zeros():
    q = warpwright.quantize(np.zeros((3, 130), np.float32))
    assert (q.scales == 1).all() and (warpwright.dequantize(q) == 0).all()


def test_check_is_clean_on_a_shipped_kernel():
    little = warpwright.check("sm90/dense-64x64-c1-s4/bf16-nt", sizes=[(64, 64, 64)], seeds=1)
    assert little["verdict"] == "incomplete" and little["kernels"][0]["too_few_phases"]
    result = warpwright.check("sm90/dense-64x64-c1-s4/bf16-nt", seeds=1)
    assert result["verdict"] == "clean" and result["runs"] > 3


def test_schedule_is_proven():
    result = warpwright.schedule("ping-pong", "gfx950")
    assert result["proven"] is True and result["ii"] >= result["mii"] and result["hazards"] == []


def test_explain_names_the_plan():
    plan = warpwright.explain(4096, 4096, 4096)
    assert plan["smem_bytes"] > 0 and plan["reason"]
    assert plan["instance"] == f"sm90/{plan['plan']}/bf16-nt"


@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="an example's kernel needs a compiler")
def test_examples_of_the_docstrings():
    count = 0
    for module in (_commands, _gemm, _grouped, _moe, _quantize, _simulate, _tool):
        result = doctest.testmod(module)
        assert result.failed == 0
        count += result.attempted
    assert count >= 24


def test_every_name_has_a_docstring_and_full_annotations():
    for name in warpwright.__all__:
        value = getattr(warpwright, name)
        if callable(value):
            assert value.__doc__, name
        if inspect.isfunction(value):
            signature = inspect.signature(value)
            assert signature.return_annotation is not inspect.Signature.empty, name
            for parameter in signature.parameters.values():
                assert parameter.annotation is not inspect.Parameter.empty, f"{name}: {parameter}"
    assert (pathlib.Path(warpwright.__file__).parent / "py.typed").exists()


def test_version():
    assert warpwright.__version__.count(".") == 2
