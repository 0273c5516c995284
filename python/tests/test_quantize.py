"""Quantization without a GPU: NumPy arrays, and torch tensors on the CPU where torch is there."""

import ml_dtypes
import numpy as np
import pytest

import warpwright

NARROW = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
LIBRARY_SCHEMES = [("mx", "e4m3"), ("mx", "e5m2"), ("mx", "e2m1"), ("nvfp4", "e2m1")]
# Half of the distance of two neighbours at the top of a block, over the largest element.
STEP = {"e4m3": 1 / 14, "e5m2": 1 / 7, "e2m1": 0.35}


@pytest.fixture
def x():
    rng = np.random.default_rng(2)
    return (rng.standard_normal((150, 300)) * 2.0**rng.integers(-20, 20, (150, 1))).astype(np.float32)


def largest(x, tall, wide):
    rows, columns = x.shape
    padded = np.zeros((-(-rows // tall) * tall, -(-columns // wide) * wide), np.float32)
    padded[:rows, :columns] = np.abs(x)
    most = padded.reshape(padded.shape[0] // tall, tall, -1, wide).max(axis=(1, 3))
    return most.repeat(tall, 0).repeat(wide, 1)[:rows, :columns]


@pytest.mark.parametrize("scheme, dtype, block", [
    ("token", "e4m3", (1, 128)), ("token", "e5m2", (1, 128)), ("block", "e4m3", (128, 128)), ("mx", "e4m3", (1, 32)),
    ("mx", "e5m2", (1, 32)), ("mx", "e2m1", (1, 32)), ("nvfp4", "e2m1", (1, 16)),
])
def test_elements_come_back_within_half_a_step(x, scheme, dtype, block):
    for layout in ("rows", "tiles" if scheme in ("mx", "nvfp4") else "columns"):
        q = warpwright.quantize(x, scheme, dtype=dtype, layout=layout)
        assert q.dtype == dtype and q.layout == layout
        # Factors of nvfp4 have a smallest one for the whole tensor.
        slack = 6 * q.tensor_scale / 1024 if scheme == "nvfp4" else 0
        assert (np.abs(warpwright.dequantize(q) - x) <= STEP[dtype] * largest(x, *block) + slack).all()


def test_tokens_and_blocks_have_the_factors_that_the_rule_says(x):
    q = warpwright.quantize(x, "token")
    np.testing.assert_array_equal(q.scales[:, 0], np.abs(x[:, :128]).max(axis=1) * np.float32(1 / 448))
    assert q.values.dtype == NARROW["e4m3"]
    by_columns = warpwright.quantize(x, "token", layout="columns")
    assert by_columns.scales.shape == (3, 152)
    np.testing.assert_array_equal(by_columns.scales[:, :150].T, q.scales)
    assert not by_columns.scales[:, 150:].any()


def test_what_is_not_finite_spoils_its_block_only(x):
    x[3, 200] = np.nan
    x[4, 10] = np.inf
    q = warpwright.quantize(x, "token")
    assert np.isnan(q.scales[3, 1]) and np.isinf(q.scales[4, 0])
    back = warpwright.dequantize(q)
    assert np.isnan(back[3, 128:256]).all() and np.isnan(back[4, :128]).all()
    assert np.isfinite(back[3, :128]).all() and np.isfinite(back[4, 128:]).all()


def test_tiny_numbers_and_zeros():
    q = warpwright.quantize(np.array([[1e-44, 0], [0, 0]], np.float32))
    assert q.scales[0, 0] == np.float32(2.0**-126) and q.scales[1, 0] == 1
    for scheme, dtype in LIBRARY_SCHEMES:
        q = warpwright.quantize(np.zeros((5, 34), np.float32), scheme, dtype=dtype)
        assert not warpwright.dequantize(q).any()


@pytest.mark.parametrize("scheme, dtype", LIBRARY_SCHEMES)
def test_sixteen_bit_arrays_give_what_the_same_numbers_in_fp32_give(x, scheme, dtype):
    for narrow in (ml_dtypes.bfloat16, np.float16):
        small = (x / 2**20).astype(narrow)
        a, b = warpwright.quantize(small, scheme, dtype=dtype), warpwright.quantize(small.astype(np.float32), scheme,
                                                                                    dtype=dtype)
        np.testing.assert_array_equal(a.values.view(np.uint8), b.values.view(np.uint8))
        np.testing.assert_array_equal(a.scales, b.scales)


def test_a_tensor_scale_may_be_given():
    x = np.arange(32, dtype=np.float32)[None]
    assert warpwright.quantize(x, "nvfp4", tensor_scale=0.5).tensor_scale == 0.5
    assert warpwright.quantize(x, "nvfp4").tensor_scale == np.float32(31) / np.float32(448 * 6)


@pytest.mark.parametrize("call, words", [
    (lambda x: warpwright.quantize(x, "token", dtype="e2m1"), ["dtype", "e2m1", "e4m3, e5m2"]),
    (lambda x: warpwright.quantize(x, "nvfp4", dtype="e4m3"), ["dtype", "e4m3", "e2m1"]),
    (lambda x: warpwright.quantize(x[:, :33], "mx", dtype="e2m1"), ["x:", "33", "even"]),
    (lambda x: warpwright.quantize(x, "token", layout="tiles"), ["layout", "tiles", "columns"]),
    (lambda x: warpwright.quantize(x, "row", layout="columns"), ["layout", "columns", "rows"]),
    (lambda x: warpwright.quantize(x, "mx", tensor_scale=1.0), ["tensor_scale", "nvfp4"]),
])
def test_bad_input_gets_a_sentence(x, call, words):
    with pytest.raises(ValueError) as caught:
        call(x)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("scheme, dtype", [("token", "e4m3"), ("block", "e5m2"), *LIBRARY_SCHEMES])
def test_torch_tensors_on_the_cpu_give_the_same_bits(x, scheme, dtype):
    torch = pytest.importorskip("torch")
    want = warpwright.quantize(x, scheme, dtype=dtype)
    wide = torch.zeros(150, 310)
    wide[:, 5:305] = torch.from_numpy(x)
    got = warpwright.quantize(wide[:, 5:305], scheme, dtype=dtype)
    np.testing.assert_array_equal(got.values.view(torch.uint8).numpy(), want.values.view(np.uint8))
    np.testing.assert_array_equal(got.scales.numpy(), want.scales)
    np.testing.assert_array_equal(warpwright.dequantize(got).numpy(), warpwright.dequantize(want))
