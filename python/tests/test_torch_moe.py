"""moe() of torch tensors without a GPU: by torch, and by the kernels in the simulator."""

import contextlib

import pytest

torch = pytest.importorskip("torch")

import warpwright


@pytest.fixture(autouse=True)
def seeded(library):
    torch.manual_seed(1)


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


def test_the_simulator_says_the_same():
    x, w_gate_up, w_down, ids, weights = layer()
    ids[0, 0], weights[2, 1] = 9, float("nan")
    results, words = [], []
    for simulated in (False, True):
        out, status = torch.full((6, 16), 7.0).bfloat16(), torch.zeros(1, dtype=torch.int32)
        count = torch.tensor([5], dtype=torch.int32)
        with warpwright.simulate() if simulated else contextlib.nullcontext():
            warpwright.moe(x, w_gate_up, w_down, ids, weights, token_count=count, out=out, status=status)
        assert (out[5] == 7).all()
        results.append(out.double())
        words.append(int(status))
    assert words == [3, 3]
    assert float((results[0] - results[1]).norm()) < 1e-2 * float(results[0].norm())


def test_fp8():
    x, w_gate_up, w_down, ids, weights = layer(hidden=128, intermediate=128)
    tokens = warpwright.quantize(x.float(), "token")
    up, down = ([warpwright.quantize(m.float(), "block") for m in w] for w in (w_gate_up, w_down))
    operands = (tokens.values, torch.stack([q.values for q in up]), torch.stack([q.values for q in down]), ids, weights)
    scales = {"x_scale": tokens.scales, "w_gate_up_scale": torch.stack([q.scales for q in up]),
              "w_down_scale": torch.stack([q.scales for q in down])}
    y = warpwright.moe(*operands, **scales)
    with warpwright.simulate():
        close = warpwright.moe(*operands, **scales)
    assert float((y.double() - close.double()).norm()) < 2e-2 * float(y.double().norm())


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
    with pytest.raises(ValueError, match="shared: 3 experts for every token; there are 3"):
        warpwright.moe(x, w_gate_up, w_down, ids, weights, shared=3)
    with pytest.raises(ValueError, match=r"shared_weights: its shape is \(6, 2\), \(6, 1\) is needed"):
        warpwright.moe(x, w_gate_up, w_down, ids, weights, shared=1, shared_weights=weights)
    with pytest.raises(TypeError, match="shared_weights: its type is torch.bfloat16"):
        warpwright.moe(x, w_gate_up, w_down, ids, weights, shared=2, shared_weights=weights.bfloat16())
    with pytest.raises(ValueError, match="out: moe has no gradient with it"):
        warpwright.moe(x.requires_grad_(), w_gate_up, w_down, ids, weights, out=torch.empty_like(x))
