"""The gradient of products by groups on the CPU, by torch and by the kernels in the simulator."""

import contextlib

import pytest

torch = pytest.importorskip("torch")

import warpwright


@pytest.fixture(autouse=True)
def seeded(library):
    torch.manual_seed(1)


def close(got, want):
    assert float((got.detach().double() - want.detach()).norm()) <= 2e-2 * float(want.detach().norm())


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
def test_rows_of_no_group_have_no_part_in_it(simulated, with_bias):
    a, b, offsets = torch.randn(24, 64).bfloat16(), torch.randn(2, 40, 64).bfloat16(), torch.tensor([3, 10, 14], dtype=torch.int32)
    gradient = torch.randn(24, 40).bfloat16()
    for x in (a, gradient):
        x[:3] = x[14:] = float("nan")
    bias = torch.randn(2, 40).bfloat16() if with_bias else None
    for x in (a, b, bias):
        if x is not None:
            x.requires_grad_()
    with warpwright.simulate() if simulated else contextlib.nullcontext():
        y = warpwright.grouped_gemm(a, b, offsets=offsets, bias=bias)
        y.backward(gradient)
    for x in (y, a.grad):
        assert not x[:3].any() and not x[14:].any()
    for i, rows in enumerate((slice(3, 10), slice(10, 14))):
        wide = gradient[rows].double()
        close(a.grad[rows], wide @ b[i].double())
        close(b.grad[i], wide.T @ a[rows].double())
        if with_bias:
            close(bias.grad[i], wide.sum(0))
