"""moe() of torch tensors without a GPU: a stand-in computes what the library would be given."""

import ctypes

import pytest

torch = pytest.importorskip("torch")

import warpwright
from warpwright import _abi, _torch_moe


def compute(t, sm_limit):
    layer = _torch_moe.describe(t, sm_limit)
    p = _torch_moe.problem_of(layer)
    _abi.raise_on(_abi.library().ww_moe_validate(ctypes.byref(p)))
    assert (p.tokens, p.hidden) == tuple(t.x.shape) and p.id_bytes == t.topk_ids.element_size()
    sums = torch.zeros(t.x.shape, dtype=torch.float64)
    for token in range(p.tokens):
        for j in range(p.top_k):
            e = int(t.topk_ids[token, j])
            gate, up = (t.w_gate_up[e].double() @ t.x[token].double()).chunk(2)
            sums[token] += float(t.topk_weights[token, j]) * (t.w_down[e].double() @ (torch.nn.functional.silu(gate) * up))
    t.out.copy_(sums)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    try:
        _abi.library()
    except warpwright.MissingError as error:
        pytest.skip(str(error))
    torch.manual_seed(1)
    monkeypatch.setattr(_torch_moe, "launch", compute)


def layer(tokens=6, hidden=16, intermediate=8, experts=3, top_k=2):
    weights, ids = torch.topk(torch.softmax(torch.randn(tokens, experts), -1), top_k)
    return (torch.randn(tokens, hidden).bfloat16(), torch.randn(experts, 2 * intermediate, hidden).bfloat16(),
            torch.randn(experts, hidden, intermediate).bfloat16(), ids, weights)


def test_a_layer():
    operands = layer()
    y = warpwright.moe(*operands)
    assert y.dtype == torch.bfloat16 and y.shape == (6, 16)
    narrow = (*operands[:3], operands[3].int(), operands[4])
    assert torch.equal(y, warpwright.moe(*narrow))
    out = torch.empty_like(y)
    assert warpwright.moe(*operands, out=out) is out and torch.equal(out, y)


def test_compiled():
    operands = layer()
    compiled = torch.compile(lambda *t: warpwright.moe(*t), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*operands), warpwright.moe(*operands))


def test_refusals():
    x, w_gate_up, w_down, ids, weights = layer()
    with pytest.raises(TypeError, match="topk_weights: its type is torch.bfloat16"):
        warpwright.moe(x, w_gate_up, w_down, ids, weights.bfloat16())
    with pytest.raises(TypeError, match="topk_ids: its type is torch.int16"):
        warpwright.moe(x, w_gate_up, w_down, ids.short(), weights)
    with pytest.raises(ValueError, match="w_down: its shape is"):
        warpwright.moe(x, w_gate_up, w_down[:, :8].contiguous(), ids, weights)
    with pytest.raises(ValueError, match="no gradient"):
        warpwright.moe(x.requires_grad_(), w_gate_up, w_down, ids, weights)
