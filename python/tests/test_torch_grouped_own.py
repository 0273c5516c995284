"""Epilogues of one's own in grouped products of torch tensors on the CPU: by torch, under torch.compile, and by the kernels
in the simulator."""

import pytest

torch = pytest.importorskip("torch")

import warpwright
from warpwright import _torch_grouped_describe

BF16 = torch.bfloat16
TEXT = "max(x, 0.5 * x) * row_bias + beta * row - column + 100 * batch"


@pytest.fixture(autouse=True)
def seed(library):
    torch.manual_seed(5)


def whole(*shape, dtype=BF16):
    return torch.randint(-3, 4, shape).to(dtype)


def meaning(x, bias, row, batch):
    x, row = x.float(), row.view(-1, 1)
    return torch.maximum(x, 0.5 * x) * bias + 0.5 * row - torch.arange(x.shape[1]) + 100 * batch


def contiguous():
    a, b, bias = whole(50, 64), whole(3, 24, 64), whole(50, 1, dtype=torch.float32)
    offsets, experts = torch.tensor([3, 20, 20, 21, 44], dtype=torch.int32), torch.tensor([2, 0, 1, 2], dtype=torch.int32)
    want = torch.zeros(50, 24)
    for group, expert in enumerate(experts.tolist()):
        rows = slice(int(offsets[group]), int(offsets[group + 1]))
        want[rows] = meaning(a[rows].float() @ b[expert].float().T, bias[rows], torch.arange(50)[rows], expert)
    return a, b, {"offsets": offsets, "experts": experts, "bias": bias, "out": torch.zeros(50, 24, dtype=BF16)}, want


@pytest.mark.parametrize("how", ["torch", "compile", "simulate"])
def test_rows_have_their_bias_and_their_expert(how):
    a, b, given, want = contiguous()

    def layer(a, b):
        return warpwright.grouped_gemm(a, b, epilogue=TEXT, beta=0.5, **given)

    if how == "compile":
        layer = torch.compile(layer, fullgraph=True, backend="aot_eager")
    if how == "simulate":
        with warpwright.simulate():
            got = layer(a, b)
    else:
        got = layer(a, b)
    torch.testing.assert_close(got, want.to(BF16), rtol=0, atol=0)


@pytest.mark.parametrize("simulated", [False, True])
def test_masked_groups_and_groups_along_k(simulated):
    a, b, counts = whole(3, 20, 64), whole(3, 16, 64), torch.tensor([20, 0, 7], dtype=torch.int32)
    bias = whole(3, 20, 1, dtype=torch.float32)

    def products():
        masked = warpwright.grouped_gemm(a, b, counts=counts, bias=bias, epilogue="x * row_bias + row")
        return masked, warpwright.grouped_gemm(a[0], b[0], depths=torch.tensor([8, 40, 40, 64], dtype=torch.int32),
                                               epilogue="x * 0.5 + row - batch")

    if simulated:
        with warpwright.simulate():
            masked, along_k = products()
    else:
        masked, along_k = products()
    row = torch.arange(60).view(3, 20, 1)
    for group, count in enumerate(counts.tolist()):
        want = (a[group].float() @ b[group].float().T) * bias[group] + row[group]
        torch.testing.assert_close(masked[group, :count], want[:count].to(BF16), rtol=0, atol=0)
    for group, (begin, end) in enumerate(((8, 40), (40, 40), (40, 64))):
        want = 0.5 * (a[0, :, begin:end].float() @ b[0, :, begin:end].float().T) + torch.arange(20).view(-1, 1) - group
        torch.testing.assert_close(along_k[group], want, rtol=0, atol=0)


def test_there_is_no_gradient():
    a, b, given, _ = contiguous()
    given["out"] = None
    with pytest.raises(ValueError, match="epilogue: one of your own has no gradient"):
        warpwright.grouped_gemm(a.requires_grad_(), b, epilogue=TEXT, beta=0.5, **given)
    with torch.no_grad():
        warpwright.grouped_gemm(a, b, epilogue=TEXT, beta=0.5, **given)


def test_the_text_and_its_number_are_part_of_what_a_plan_is_kept_by():
    a, b, given, _ = contiguous()
    operands = _torch_grouped_describe.Operands(a, b, given["offsets"], None, None, given["experts"], None, None,
                                                given["bias"], given["out"], None, None)
    settings = [_torch_grouped_describe.Settings("none", False, 0, 0, "", text, beta)
                for text, beta in (("x * row_bias + beta", 1.0), ("x * row_bias - beta", 1.0), ("x * row_bias + beta", 2.0))]
    products = [_torch_grouped_describe.describe(operands, s) for s in settings]
    assert len(set(products)) == 3
    problem = _torch_grouped_describe.problem_of(products[2])
    assert (problem.formula, problem.beta) == (b"x * row_bias + beta", 2.0)


@pytest.mark.parametrize("given, words", [
    ({"epilogue": "x * sigmod(x)"}, "sigmoid"), ({"epilogue": "x + c"}, "names c"), ({"epilogue": "x + bias"}, "none is given"),
    ({"bias": torch.zeros(4, 1)}, "only an epilogue"), ({"beta": 2.0}, "no epilogue"), ({"epilogue": ""}, "empty"),
    ({"epilogue": "x", "activation": "swiglu"}, "one sum at a time"),
])
def test_what_cannot_be_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        warpwright.grouped_gemm(whole(4, 8), whole(2, 8, 8), offsets=torch.tensor([0, 1, 4], dtype=torch.int32), **given)
