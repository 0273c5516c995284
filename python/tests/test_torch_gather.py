"""Rows that grouped_gemm() gathers, of torch tensors without a GPU: by torch, and by the kernels in the simulator."""

import contextlib

import pytest

torch = pytest.importorskip("torch")

import warpwright

INT = torch.int32


@pytest.fixture(autouse=True)
def seeded(library):
    torch.manual_seed(1)


def whole(*shape):
    return torch.randint(-3, 4, shape).bfloat16()


@pytest.mark.parametrize("simulated", [False, True])
def test_rows_are_gathered(simulated):
    a, b, offsets = whole(7, 64), whole(3, 16, 64), torch.tensor([1, 9, 9, 20], dtype=INT)
    index = torch.randint(0, 7, (21,), dtype=INT)
    index[4], index[12], index[0] = -1, 7, 99  # the last is no row of a group
    out, status = torch.full((21, 16), 9.0).bfloat16(), torch.zeros(1, dtype=INT)
    with warpwright.simulate() if simulated else contextlib.nullcontext():
        warpwright.grouped_gemm(a, b, offsets=offsets, index=index, out=out, status=status)
    rows = torch.cat([a, torch.zeros(1, 64).bfloat16()])[torch.where((index < 0) | (index > 6), 7, index).long()]
    assert torch.equal(out[1:9], (rows[1:9].float() @ b[0].float().T).bfloat16())
    assert torch.equal(out[9:20], (rows[9:20].float() @ b[2].float().T).bfloat16())
    assert (out[0] == 9).all() and (out[20] == 9).all() and int(status) == 64
    index[4], index[12] = 0, 0
    warpwright.grouped_gemm(a, b, offsets=offsets, index=index, out=out, status=status)
    assert int(status) == 0


def test_compiled_and_checked():
    a, b, offsets, index = whole(7, 64), whole(2, 16, 64), torch.tensor([0, 3, 5], dtype=INT), torch.arange(5, dtype=INT)
    run = torch.compile(lambda *t: warpwright.grouped_gemm(t[0], t[1], offsets=t[2], index=t[3]), fullgraph=True,
                        backend="aot_eager")
    assert torch.equal(run(a, b, offsets, index), warpwright.grouped_gemm(a, b, offsets=offsets, index=index))
    torch.library.opcheck(torch.ops.warpwright.grouped_gemm.default, (
        a, b, offsets, None, None, None, None, None, None, torch.zeros(5, 16).bfloat16(), None, None, index, "none", False,
        0, 0, ""))


def test_refusals():
    a, b, offsets, index = whole(7, 64), whole(2, 16, 64), torch.tensor([0, 3, 5], dtype=INT), torch.arange(5, dtype=INT)
    with pytest.raises(TypeError, match="index: its type is torch.int64"):
        warpwright.grouped_gemm(a, b, offsets=offsets, index=index.long())
    with pytest.raises(ValueError, match="index: only the rows of contiguous groups"):
        warpwright.grouped_gemm(a, b[0], depths=offsets, index=index)
    with pytest.raises(ValueError, match="gathered rows must be bf16"):
        warpwright.grouped_gemm(a, b, offsets=offsets, index=index, out_dtype=torch.float32)
    with pytest.raises(ValueError, match="index: grouped_gemm has no gradient with it"):
        warpwright.grouped_gemm(a.requires_grad_(), b, offsets=offsets, index=index)
