"""Wrong calls with torch tensors: each gets a sentence that names the argument, and nothing is launched."""

import pytest

torch = pytest.importorskip("torch")

import warpwright
from test_torch_cpu import NARROW, make, stand_in  # noqa: F401, the last is a fixture of every test

INT = torch.zeros(3, dtype=torch.int32)
WRONG = [
    (lambda: warpwright.gemm(make(4, 8), make(4, 9)), ValueError, ["b:", "9", "8"]),
    (lambda: warpwright.gemm(make(4, 4), make(4)), ValueError, ["a, b:", "2 and 1"]),
    (lambda: warpwright.gemm(make(4), make(2, 4, 4)), ValueError, ["a:", "one row"]),
    (lambda: warpwright.gemm(make(2, 3, 4, 8), make(3, 2, 4, 8)), ValueError, ["b:", "(3, 2)", "(2, 3)"]),
    (lambda: warpwright.gemm(make(2, 4, 8), make(4, 8), residual=make(8, 4)), ValueError, ["residual", "(2, 4, 4)"]),
    (lambda: warpwright.gemm(make(2, 4, 8), make(4, 8), out=make(4, 2, 4).transpose(0, 1)), ValueError,
     ["out", "equally far"]),
    (lambda: warpwright.gemm(make(2, 4, 8), make(3, 4, 8)), ValueError, ["b:", "3", "2"]),
    (lambda: warpwright.gemm(make(4, 8, dtype=torch.int32), make(4, 8)), TypeError, ["a:", "int32"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8, dtype=torch.float16)), ValueError, ["b.type = fp16", "bf16"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), out=make(4, 5)), ValueError, ["out", "(4, 5)", "(4, 4)"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), out=make(4, 4).T[:, ::2].T), ValueError, ["out", "(2, 4)"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), out=make(4, 4).T), ValueError, ["out", "last stride is 4"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), out=make(4, 4), out_dtype="fp32"), ValueError, ["out_dtype"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), out=[1]), TypeError, ["out", "list"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), out_dtype="fp7"), ValueError, ["out_dtype", "fp7", "bf16"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), out_dtype=torch.int8), TypeError, ["out", "int8"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), dtype="fp16"), ValueError, ["dtype", "convert"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), activation="tanh"), ValueError, ["activation", "tanh", "silu"]),
    (lambda: warpwright.gemm(make(4, 8), make(40, 8), activation="swiglu"), ValueError, ["b", "40 rows", "swiglu", "16"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), accumulation="slow"), ValueError, ["accumulation", "slow"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), accumulation="promoted"), ValueError, ["promoted", "bf16"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), bias=make(5)), ValueError, ["bias", "(5,)"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), bias=[1]), TypeError, ["bias", "list"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), beta=2.0), ValueError, ["c:", "beta is 2.0"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), alpha=float("nan")), ValueError, ["alpha = nan"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), sm_limit=-1), ValueError, ["sm_limit = -1"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), a_scale=torch.ones(1)), ValueError, ["a_scale, b_scale"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), a_scale=torch.ones(1), b_scale=torch.ones(1)), ValueError,
     ["scaling = tensor", "bf16"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), target="sim:sm90"), ValueError, ["target", "sim:sm90"]),
    (lambda: warpwright.gemm(make(4, 8), 3), TypeError, ["b:", "int"]),
    (lambda: warpwright.gemm(3, make(4, 8)), TypeError, ["a:", "int"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue="x * sigmod(x)"), ValueError,
     ["epilogue, line 1, column 5: 'sigmod'", "'sigmoid'?\n  x * sigmod(x)\n      ^"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue=""), ValueError, ["epilogue", "empty"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue=abs), TypeError, ["epilogue", "function"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue="x", activation="relu"), ValueError,
     ["epilogue.activation = relu"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue="x + bias"), ValueError, ["bias: ", "none is given"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue="x", bias=make(4)), ValueError, ["bias", "not name it"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue="x + bias", bias=make(4, 1)), ValueError,
     ["bias", "none is given"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue="x + c"), ValueError, ["c: ", "none is given"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue="x", c=make(4, 4)), ValueError, ["c: ", "not name it"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), epilogue="x", beta=2.0), ValueError, ["beta: it is 2.0"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(4, 128)), ValueError, ["bf16", "gemm()"]),
    (lambda: warpwright.grouped_gemm([1], make(4, 128)), TypeError, ["a:", "list"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 128), offsets=torch.zeros(3)), TypeError,
     ["offsets", "float32"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 128), offsets=INT, counts=INT), ValueError, ["counts"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(8, 128), depths=INT.long()), TypeError, ["depths", "int64"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(8, 128), depths=INT, accumulate=True), ValueError,
     ["accumulate"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(8, 128), depths=INT, bias=make(8)), ValueError,
     ["by_depth", "bias"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 128), offsets=INT, accumulate=True, out=make(4, 8)),
     ValueError, ["accumulate"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 256)[:, :, ::2], offsets=INT), ValueError,
     ["b: matrices without gaps are needed, as they are or transposed; its strides are (2048, 256, 2)"]),
    (lambda: warpwright.grouped_gemm(make(128, 4).T, make(2, 8, 128), offsets=INT), ValueError,
     ["a: rows without gaps", "(1, 4)"]),
    (lambda: warpwright.grouped_gemm(make(8, 128), make(128, 8).T, depths=INT), ValueError,
     ["b_major = MN", "the same way"]),
    (lambda: warpwright.grouped_gemm(make(4, 128).to(NARROW), make(2, 128, 8).to(NARROW).transpose(1, 2), offsets=INT,
                                     a_scale=torch.ones(4, 1), b_scale=torch.ones(2, 1, 1)), ValueError,
     ["b_major = MN", "type = e4m3"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 128), offsets=INT, bias=make(3, 8)), ValueError,
     ["bias", "(3, 8)", "(2, 8)"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 128), offsets=INT, activation="relu"), ValueError,
     ["activation", "relu", "swiglu"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 256, 128), offsets=INT, out_dtype=NARROW), ValueError,
     ["scales_out", "factors"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 256, 128), offsets=INT, out_dtype=NARROW,
                                     scales_out=torch.zeros(4, 3)), ValueError, ["scales_out", "(4, 3)", "(4, 2)"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 64), offsets=INT), ValueError, ["b:", "64", "128"]),
    (lambda: warpwright.grouped_gemm(make(2, 4, 128), make(2, 8, 128), counts=INT), ValueError, ["counts", "3", "2"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 128), offsets=INT, out=make(4, 9)), ValueError,
     ["out", "(4, 9)", "(4, 8)"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 128), offsets=INT, out=3), TypeError, ["out", "int"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 8, 128), offsets=INT, out_dtype="fp16"), TypeError,
     ["out", "float16", "bfloat16"]),
    (lambda: warpwright.grouped_gemm(make(4, 128).to(NARROW), make(8, 128).to(NARROW)), ValueError, ["a_scale"]),
    (lambda: warpwright.grouped_gemm(make(4, 128).to(NARROW), make(8, 128).to(NARROW), a_scale=torch.ones(4, 2),
                                     b_scale=torch.ones(1, 1)), ValueError, ["a_scales.columns = 2", "1 columns"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 9, 128), offsets=INT), ValueError, ["n = 9"]),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_bad_input_gets_a_sentence(number):
    call, kind, words = WRONG[number]
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
