"""Grouped products of NumPy arrays in the simulator: results, views, experts, out, error texts."""

import ml_dtypes
import numpy as np
import pytest

import warpwright

E4M3 = ml_dtypes.float8_e4m3fn


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def whole(rng, *shape):
    return rng.integers(-3, 4, shape).astype(np.float32)


def rounded(x):
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def quantized(x, scheme):
    """The parts of a batch of matrices, stacked."""
    if x.ndim == 2:
        q = warpwright.quantize(x, scheme)
        return q.values, q.scales, warpwright.dequantize(q)
    parts = [quantized(matrix, scheme) for matrix in x]
    return tuple(np.stack(list(part)) for part in zip(*parts))


def close(got, want, tolerance=8e-3):
    assert np.linalg.norm(got - want) <= tolerance * np.linalg.norm(want)


def test_contiguous_groups_of_bf16_are_exact(rng):
    a, b = whole(rng, 50, 64), whole(rng, 4, 24, 64)
    offsets = np.array([3, 20, 20, 21, 44])
    out = np.full((50, 24), 7, np.float32)
    assert warpwright.grouped_gemm(a, b, offsets=offsets, out=out) is out
    for g, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        np.testing.assert_array_equal(out[begin:end], rounded(a[begin:end] @ b[g].T))
    assert (out[:3] == 7).all() and (out[44:] == 7).all()


def test_masked_groups_of_bf16_are_exact(rng):
    a, b, counts = whole(rng, 3, 20, 64), whole(rng, 3, 16, 64), [20, 0, 7]
    out = warpwright.grouped_gemm(a, b, counts=counts, out_dtype="bf16")
    assert out.dtype == ml_dtypes.bfloat16 and out.shape == (3, 20, 16)
    for g, count in enumerate(counts):
        np.testing.assert_array_equal(out[g, :count].astype(np.float32), rounded(a[g, :count] @ b[g].T))
        assert not out[g, count:].any()


def test_groups_along_k_add_to_what_is_there(rng):
    a, b, depths = whole(rng, 16, 80), whole(rng, 24, 80), [5, 40, 40, 77]
    want = np.stack([a[:, begin:end] @ b[:, begin:end].T for begin, end in zip(depths, depths[1:])])
    first = warpwright.grouped_gemm(a, b, depths=depths)
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, want)
    warpwright.grouped_gemm(a, b, depths=depths, out=first, accumulate=True)
    np.testing.assert_array_equal(first, 2 * want)
    warpwright.grouped_gemm(a, b, depths=depths, out=first)
    np.testing.assert_array_equal(first, want)


def runs_of(monkeypatch):
    """The instances that the tool has run from now on."""
    from warpwright import _tool

    names, run = [], _tool.run

    def noted(*arguments):
        document = run(*arguments)
        names.append(document["instance"])
        return document

    monkeypatch.setattr(_tool, "run", noted)
    return names


def test_matrices_are_taken_as_they_are_stored(rng, monkeypatch):
    ran = runs_of(monkeypatch)
    a, b = whole(rng, 50, 72), whole(rng, 2, 72, 24)
    got = warpwright.grouped_gemm(a, b.transpose(0, 2, 1), offsets=[0, 20, 50])
    np.testing.assert_array_equal(got, rounded(np.concatenate([a[:20] @ b[0], a[20:] @ b[1]])))
    got = warpwright.grouped_gemm(a.reshape(2, 25, 72), b.transpose(0, 2, 1), counts=[25, 3], experts=[1, 0])
    np.testing.assert_array_equal(got[0], rounded(a[:25] @ b[1]))
    np.testing.assert_array_equal(got[1, :3], rounded(a[25:28] @ b[0]))
    x, y = whole(rng, 83, 16), whole(rng, 83, 24)
    got = warpwright.grouped_gemm(x.T, y.T, depths=[5, 40, 40, 77])
    np.testing.assert_array_equal(got, np.stack([x[i:j].T @ y[i:j] for i, j in ((5, 40), (40, 40), (40, 77))]))
    assert [name.split("/")[2].split("-")[1] for name in ran] == ["nn", "nn", "tn"]
    # What no kernel reads that way is copied: factors, rows that are not whole units, a result of another type.
    a, a_scale, left = quantized(rng.standard_normal((12, 128)), "token")
    b, b_scale, right = quantized(rng.standard_normal((2, 128, 128)), "block")
    turned = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    close(warpwright.grouped_gemm(a, turned, offsets=[0, 5, 12], a_scale=a_scale, b_scale=b_scale),
          np.concatenate([left[:5] @ right[0].T, left[5:] @ right[1].T]))
    got = warpwright.grouped_gemm(x[:, :12][:80].T, y[:80].T, depths=[0, 80])
    np.testing.assert_array_equal(got[0], x[:80, :12].T @ y[:80])
    assert "-nn" not in ran[3] and "-tn" not in ran[4]


@pytest.mark.parametrize("scheme", ["block", "token"])
def test_one_product_is_added_to_what_is_there(rng, scheme):
    a, a_scale, left = quantized(rng.standard_normal((20, 256)), "token")
    b, b_scale, right = quantized(rng.standard_normal((136, 256)), scheme)
    out = 100 * whole(rng, 20, 136)
    want = out + left @ right.T
    assert warpwright.grouped_gemm(a, b, a_scale=a_scale, b_scale=b_scale, out=out, accumulate=True) is out
    close(out, want, 1e-4)
    with pytest.raises(ValueError, match="out = bf16: D must be fp32 to be added to"):
        warpwright.grouped_gemm(a, b, a_scale=a_scale, b_scale=b_scale, out=out.astype(ml_dtypes.bfloat16),
                                accumulate=True)


@pytest.mark.parametrize("scheme", ["block", "token"])
def test_contiguous_groups_with_factors(rng, scheme):
    x, w = rng.standard_normal((30, 256)), rng.standard_normal((2, 136, 256))
    (a, a_scale, left), (b, b_scale, right) = quantized(x, "token"), quantized(w, scheme)
    got = warpwright.grouped_gemm(a, b, offsets=[0, 11, 30], a_scale=a_scale, b_scale=b_scale)
    close(got, np.concatenate([left[:11] @ right[0].T, left[11:] @ right[1].T]))


def test_masked_groups_with_factors(rng):
    (a, a_scale, left), (b, b_scale, right) = (quantized(rng.standard_normal(shape), scheme) for shape, scheme in
                                               (((2, 12, 144), "token"), ((2, 24, 144), "block")))
    got = warpwright.grouped_gemm(a, b, counts=[12, 5], a_scale=a_scale, b_scale=b_scale)
    close(got[0], left[0] @ right[0].T)
    close(got[1, :5], left[1, :5] @ right[1].T)


def test_groups_along_k_with_factors(rng):
    (a, a_scale, left), (b, b_scale, right) = (quantized(rng.standard_normal((rows, 384)), "token")
                                               for rows in (12, 24))
    got = warpwright.grouped_gemm(a, b, depths=[0, 128, 384], a_scale=a_scale, b_scale=b_scale)
    close(got[0], left[:, :128] @ right[:, :128].T)
    close(got[1], left[:, 128:] @ right[:, 128:].T)


@pytest.mark.parametrize("scheme", ["block", "token"])
@pytest.mark.parametrize("rows", [3, 20])
def test_one_product_with_factors(rng, rows, scheme):
    (a, a_scale, left), (b, b_scale, right) = (quantized(rng.standard_normal((extent, 300 // 16 * 16)), scheme)
                                               for extent, scheme in ((rows, "token"), (136, scheme)))
    close(warpwright.grouped_gemm(a, b, a_scale=a_scale, b_scale=b_scale), left @ right.T)


def test_experts_name_the_matrices(rng):
    a, b = whole(rng, 24, 64), whole(rng, 5, 8, 64)
    out = np.full((24, 8), 9, np.float32)
    warpwright.grouped_gemm(a, b, offsets=[0, 8, 12, 24], experts=[4, -1, 2], out=out)
    np.testing.assert_array_equal(out[:8], rounded(a[:8] @ b[4].T))
    assert (out[8:12] == 9).all()
    np.testing.assert_array_equal(out[12:], rounded(a[12:] @ b[2].T))
    masked = warpwright.grouped_gemm(a.reshape(3, 8, 64), b[:1], counts=[2, 8, 8], experts=[0, 0, -1])
    np.testing.assert_array_equal(masked[1], rounded(a[8:16] @ b[0].T))
    assert not masked[2].any()


def test_rows_are_gathered(rng):
    a, b, index = whole(rng, 11, 64), whole(rng, 3, 24, 64), rng.integers(0, 11, 30)
    out = np.full((30, 24), 7, np.float32)
    warpwright.grouped_gemm(a, b, offsets=[2, 12, 12, 29], index=index, out=out)
    np.testing.assert_array_equal(out[2:12], rounded(a[index[2:12]] @ b[0].T))
    np.testing.assert_array_equal(out[12:29], rounded(a[index[12:29]] @ b[2].T))
    assert (out[:2] == 7).all() and (out[29] == 7).all()
    (q, scales, left), (w, w_scales, right) = quantized(rng.standard_normal((9, 128)), "token"), quantized(
        rng.standard_normal((2, 256, 128)), "block")
    factors = np.zeros((30, 1), np.float32)
    got = warpwright.grouped_gemm(q, w, offsets=[0, 11, 30], index=index % 9, a_scale=scales, b_scale=w_scales,
                                  activation="swiglu", out_dtype="e4m3", scales_out=factors)
    rows = left[index % 9]
    gate, up = np.split(np.concatenate([rows[:11] @ right[0].T, rows[11:] @ right[1].T]), 2, -1)
    close(got.astype(np.float32) * factors, gate / (1 + np.exp(-gate)) * up, 4e-2)


def test_views_are_taken(rng):
    a, b = whole(rng, 64, 30), whole(rng, 2, 64, 16)
    out = np.zeros((16, 30), np.float32).T
    warpwright.grouped_gemm(a.T, b.transpose(0, 2, 1), offsets=np.int64([0, 10, 30]), out=out)
    np.testing.assert_array_equal(out[:10], rounded(a.T[:10] @ b[0]))


def test_nothing_to_do():
    assert warpwright.grouped_gemm(np.zeros((0, 64)), np.zeros((1, 8, 64)), offsets=[0, 0]).shape == (0, 8)
    assert warpwright.grouped_gemm(np.zeros((4, 64)), np.zeros((0, 8, 64)), offsets=[0]).shape == (4, 8)
    assert warpwright.grouped_gemm(np.zeros((4, 64)), np.zeros((8, 64)), depths=[]).shape == (0, 4, 8)
    assert not warpwright.grouped_gemm(np.ones((4, 0)), np.ones((1, 8, 0)), offsets=[0, 4]).any()


A, B = np.zeros((4, 128)), np.zeros((2, 8, 128))
NARROW = np.zeros((4, 128), E4M3), np.zeros((8, 128), E4M3)
ONE = np.ones((4, 1), np.float32), np.ones((1, 1), np.float32)


@pytest.mark.parametrize("call, kind, words", [
    (lambda: warpwright.grouped_gemm(A, A), ValueError, ["a:", "gemm()"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2]), ValueError, ["b:", "2 matrices", "1 groups", "experts"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2.5, 4]), TypeError, ["offsets", "float64", "integers"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[[0, 2, 4]]), ValueError, ["offsets", "vector", "(1, 3)"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 3, 2]), ValueError, ["offsets", "element 2 is 2", "3 to 4"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[-1, 3, 4]), ValueError, ["offsets", "element 0 is -1"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 3, 2**40]), ValueError, ["offsets", "element 2", "3 to 4"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], counts=[1]), ValueError, ["offsets, counts, depths"]),
    (lambda: warpwright.grouped_gemm(A, B, counts=[1, 2]), ValueError, ["a, b:", "3 and 3", "2 and 3"]),
    (lambda: warpwright.grouped_gemm(A.reshape(2, 2, 128), B, counts=[1]), ValueError, ["counts", "1", "2 are needed"]),
    (lambda: warpwright.grouped_gemm(A.reshape(2, 2, 128), B, counts=[1, 3]), ValueError, ["counts", "is 3", "0 to 2"]),
    (lambda: warpwright.grouped_gemm(A, B[:, :, :64], offsets=[0, 2, 4]), ValueError, ["b:", "64", "128"]),
    (lambda: warpwright.grouped_gemm(A, B[:, :5], offsets=[0, 2, 4]), ValueError, ["n = 5"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], experts=[0, 2]), ValueError, ["experts", "is 2"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 3], index=[0, 1, 4]), ValueError,
     ["index", "element 2 is 4", "0 to 3"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 3], index=[0.0, 1, 2]), TypeError, ["index", "float64"]),
    (lambda: warpwright.grouped_gemm(A, A, depths=[0, 4], index=[0]), ValueError, ["index", "contiguous groups"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 3], index=[0, 1, 2], out_dtype="fp32"), ValueError,
     ["gathered rows must be bf16"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], experts=[0]), ValueError, ["experts", "1 el", "2 are"]),
    (lambda: warpwright.grouped_gemm(A, A, depths=[0, 4], experts=[0]), ValueError, ["experts", "groups of rows"]),
    (lambda: warpwright.grouped_gemm(A, A, depths=[0, 4], accumulate=True), ValueError, ["accumulate", "out"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], accumulate=True), ValueError, ["accumulate", "along k"]),
    (lambda: warpwright.grouped_gemm(*NARROW, a_scale=ONE[0], b_scale=ONE[1], accumulate=True), ValueError,
     ["accumulate", "out"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], bias=A), ValueError,
     ["bias", "(4, 128)", "(2, 8)"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], activation="swiglu"), ValueError, ["n / 2 = 4"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], out_dtype="e4m3"), ValueError, ["scales_out", "needs"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], scales_out=ONE[0]), ValueError, ["scales_out", "none"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], activation="relu"), ValueError, ["relu", "swiglu"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], out=np.zeros((4, 9), np.float32)), ValueError,
     ["out", "4 x 8", "(4, 9)"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], out=3), TypeError, ["out", "int"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], out_dtype="fp32"), ValueError, ["fp32", "bf16"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], target="sm90"), ValueError, ["target", "sm90"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], target="sim:sm80"), ValueError, ["target", "sim:sm80"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], plan="none"), ValueError, ["plan = none"]),
    (lambda: warpwright.grouped_gemm(A.astype(np.float16), B, offsets=[0, 2, 4]), TypeError, ["a:", "float16"]),
    (lambda: warpwright.grouped_gemm(A, B.astype(E4M3), offsets=[0, 2, 4]), TypeError, ["b:", "e4m3", "float64"]),
    (lambda: warpwright.grouped_gemm(np.array([["x"]]), B, offsets=[0]), TypeError, ["a:", "numbers"]),
    (lambda: warpwright.grouped_gemm(*NARROW), ValueError, ["a_scale", "factors"]),
    (lambda: warpwright.grouped_gemm(A, B, offsets=[0, 2, 4], b_scale=ONE[0]), ValueError, ["b_scale", "bf16"]),
    (lambda: warpwright.grouped_gemm(*NARROW, a_scale=ONE[0], b_scale=ONE[0]), ValueError,
     ["b_scale", "(4, 1)", "(1, 1) or (8, 1)"]),
    (lambda: warpwright.grouped_gemm(*NARROW, a_scale=np.ones((4, 1)), b_scale=ONE[1]), TypeError,
     ["a_scale", "float64", "float32"]),
    (lambda: warpwright.grouped_gemm(*NARROW, depths=[0, 100], a_scale=ONE[0], b_scale=np.ones((8, 1), np.float32)),
     ValueError, ["depths", "100", "128"]),
    (lambda: warpwright.grouped_gemm(np.full((4, 128), np.inf), B + 1, offsets=[0, 2, 4]), ValueError, ["inf"]),
])
def test_bad_input_gets_a_sentence(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_an_epilogue_of_ones_own_of_rows_and_of_matrices(rng):
    a, b = whole(rng, 50, 64), whole(rng, 3, 24, 64)
    offsets, experts = [3, 20, 20, 21, 44], [2, 0, 1, 2]
    per_row, per_column = whole(rng, 50, 1), whole(rng, 3, 24)
    out = warpwright.grouped_gemm(a, b, offsets=offsets, experts=experts, bias=per_row, beta=0.5,
                                  epilogue="max(x, 0.5 * x) * row_bias + beta * row - column + 100 * batch")
    column = np.arange(24)
    for begin, end, expert in zip(offsets, offsets[1:], experts):
        x, row = a[begin:end] @ b[expert].T, np.arange(begin, end)[:, None]
        want = np.maximum(x, 0.5 * x) * per_row[begin:end] + 0.5 * row - column + 100 * expert
        np.testing.assert_array_equal(out[begin:end], rounded(want))
    out = warpwright.grouped_gemm(a, b, offsets=offsets, experts=experts, bias=per_column, epilogue="x * bias")
    np.testing.assert_array_equal(out[21:44], rounded((a[21:44] @ b[2].T) * per_column[2]))


def test_an_epilogue_of_ones_own_of_masked_groups_and_along_k(rng):
    a, b, counts = whole(rng, 3, 20, 64), whole(rng, 3, 16, 64), [20, 0, 7]
    bias = whole(rng, 3, 20, 1)
    out = warpwright.grouped_gemm(a, b, counts=counts, bias=bias, epilogue="x * row_bias + row")
    row = np.arange(60).reshape(3, 20, 1)
    for g, count in enumerate(counts):
        want = (a[g] @ b[g].T) * bias[g] + row[g]
        np.testing.assert_array_equal(out[g, :count], rounded(want[:count]))
    a, b, depths = whole(rng, 16, 80), whole(rng, 24, 80), [5, 40, 40, 77]
    out = warpwright.grouped_gemm(a, b, depths=depths, epilogue="x * 0.5 + row - batch")
    for g, (begin, end) in enumerate(zip(depths, depths[1:])):
        want = 0.5 * (a[:, begin:end] @ b[:, begin:end].T) + np.arange(16)[:, None] - g
        np.testing.assert_array_equal(out[g], want)


def test_an_epilogue_of_ones_own_with_blockwise_factors(rng):
    a, b = rng.standard_normal((40, 256)), rng.standard_normal((128, 256))
    (x, xs, wide_a), (w, ws, wide_b) = quantized(a, "token"), quantized(b, "block")
    close(warpwright.grouped_gemm(x, w, a_scale=xs, b_scale=ws, epilogue="tanh(x / 8)"), np.tanh(wide_a @ wide_b.T / 8))


@pytest.mark.parametrize("given, words", [
    ({"epilogue": "x * sigmod(x)"}, ["line 1, column 5", "sigmoid"]),
    ({"epilogue": "x + c"}, ["names c", "none"]),
    ({"epilogue": "x + bias"}, ["bias", "none is given"]),
    ({"epilogue": "x", "bias": np.zeros((4, 1))}, ["row_bias", "name it"]),
    ({"bias": np.zeros((4, 1))}, ["only an epilogue"]),
    ({"epilogue": "x", "beta": 2.0}, ["beta", "2.0"]),
    ({"beta": 2.0}, ["beta", "no epilogue"]),
    ({"epilogue": "x", "activation": "swiglu"}, ["activation", "swiglu"]),
])
def test_an_epilogue_of_ones_own_is_refused(given, words):
    with pytest.raises(ValueError) as caught:
        warpwright.grouped_gemm(np.zeros((4, 8)), np.zeros((2, 8, 8)), offsets=[0, 1, 4], **given)
    for word in words:
        assert word in str(caught.value)
