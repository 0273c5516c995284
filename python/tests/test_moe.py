"""moe() of NumPy arrays in the simulator."""

import numpy as np
import pytest

import warpwright


def layer(tokens=20, hidden=64, intermediate=40, experts=5, top_k=2, seed=1):
    rng = np.random.default_rng(seed)
    weights = rng.random((tokens, top_k)).astype(np.float32)
    return (rng.standard_normal((tokens, hidden)), rng.standard_normal((experts, 2 * intermediate, hidden)) / 8,
            rng.standard_normal((experts, hidden, intermediate)) / 8, rng.integers(0, experts, (tokens, top_k)), weights)


def reference(x, w_gate_up, w_down, ids, weights):
    out = np.zeros_like(x)
    for t, j in np.ndindex(ids.shape):
        e = int(ids[t, j])
        if 0 <= e < len(w_down) and not np.isnan(weights[t, j]):
            gate, up = np.split(w_gate_up[e] @ x[t], 2)
            out[t] += weights[t, j] * (w_down[e] @ (gate / (1 + np.exp(-gate)) * up))
    return out


def close(got, want, tolerance=1e-2):
    assert np.linalg.norm(got - want) < tolerance * np.linalg.norm(want)


def test_a_layer():
    operands = layer()
    y = warpwright.moe(*operands)
    assert y.dtype == np.float32
    close(y, reference(*operands))


def test_wrong_tables_add_nothing():
    x, w_gate_up, w_down, ids, weights = layer()
    ids = ids.astype(np.int64)
    ids[3, 1], ids[4, 0], weights[5, 0] = 2**32, -1, np.nan
    status = np.full(1, 99, np.int32)
    close(warpwright.moe(x, w_gate_up, w_down, ids, weights, status=status), reference(x, w_gate_up, w_down, ids, weights))
    assert status[0] == 3


def test_tokens_that_are_not_there():
    operands = layer()
    out, status = np.full((20, 64), 7, np.float32), np.zeros(1, np.uint32)
    assert warpwright.moe(*operands, token_count=11, out=out, status=status) is out
    close(out[:11], reference(*operands)[:11])
    assert (out[11:] == 7).all() and status[0] == 0
    warpwright.moe(*operands, token_count=21, status=status)
    assert status[0] == 4


def test_fp8():
    x, w_gate_up, w_down, ids, weights = layer(hidden=128, intermediate=128, experts=2)
    tokens = warpwright.quantize(x.astype(np.float32), "token")
    matrices = [[warpwright.quantize(m.astype(np.float32), "block") for m in w] for w in (w_gate_up, w_down)]
    values, scales = ([np.stack([getattr(q, part) for q in of]) for of in matrices] for part in ("values", "scales"))
    y = warpwright.moe(tokens.values, *values, ids, weights, x_scale=tokens.scales, w_gate_up_scale=scales[0],
                       w_down_scale=scales[1])
    close(y, reference(x, w_gate_up, w_down, ids, weights), 0.1)


def test_experts_that_every_token_takes():
    x, w_gate_up, w_down, ids, weights = layer()
    ids = ids % 3
    every = np.broadcast_to([3, 4], (20, 2))
    factors = np.random.default_rng(2).random((20, 2)).astype(np.float32)
    for given in (None, factors):
        joined = np.concatenate([weights, np.ones((20, 2), np.float32) if given is None else given], 1)
        y = warpwright.moe(x, w_gate_up, w_down, ids, weights, shared=2, shared_weights=given)
        close(y, reference(x, w_gate_up, w_down, np.concatenate([ids, every], 1), joined))
    # Nobody chooses them.
    status = np.zeros(1, np.int32)
    ids[7, 0] = 3
    warpwright.moe(x, w_gate_up, w_down, ids, weights, shared=2, status=status)
    assert status[0] == 1


def test_no_tokens():
    x, w_gate_up, w_down, ids, weights = layer()
    assert warpwright.moe(x[:0], w_gate_up, w_down, ids[:0], weights[:0]).shape == (0, 64)


@pytest.mark.parametrize("change, error, words", [
    ({"w_down": np.ones((5, 64, 48))}, ValueError, "w_down: its shape is"),
    ({"w_gate_up": np.ones((5, 81, 64))}, ValueError, "w_gate_up: it has 81 rows"),
    ({"topk_ids": np.ones((20, 2))}, TypeError, "topk_ids: its type is float64"),
    ({"topk_weights": np.ones((20, 3))}, ValueError, "topk_weights: its shape is"),
    ({"x_scale": np.ones((20, 1), np.float32)}, ValueError, "x_scale: float8 operands have factors"),
    ({"x": np.ones((20, 60)), "w_gate_up": np.ones((5, 80, 60)), "w_down": np.ones((5, 60, 40))}, ValueError,
     "hidden = 60"),
    ({"target": "sim:sm80"}, ValueError, "'sim:sm90' and 'sim:sm100', not 'sim:sm80'"),
    ({"shared": 5}, ValueError, "shared: 5 experts for every token; there are 5"),
    ({"shared_weights": np.ones((20, 1))}, ValueError, "shared_weights: its shape is"),
])
def test_refusals(change, error, words):
    names = ("x", "w_gate_up", "w_down", "topk_ids", "topk_weights")
    with pytest.raises(error, match=words):
        warpwright.moe(**{**dict(zip(names, layer())), **change})
