"""The gradient of moe(), without a GPU: against float64, by torch and by the kernels in the simulator, what is kept for
it, compiled, and models that learn by it. Random routings: test_torch_moe_random.py."""

import contextlib

import pytest

torch = pytest.importorskip("torch")

import warpwright

NAMES = ("x", "w_gate_up", "w_down", "topk_weights", "shared_weights")


@pytest.fixture(autouse=True)
def seeded(library):
    torch.manual_seed(1)
    torch._dynamo.reset()


def layer(tokens=12, hidden=64, intermediate=40, experts=6, top_k=2, shared=2):
    weights, ids = torch.topk(torch.softmax(torch.randn(tokens, experts - shared), -1), top_k)
    ids[3, 1], weights[5, 0] = 77, float("nan")
    leaves = (torch.randn(tokens, hidden).bfloat16(), (torch.randn(experts, 2 * intermediate, hidden) / 8).bfloat16(),
              (torch.randn(experts, hidden, intermediate) / 6).bfloat16(), weights, torch.rand(tokens, shared))
    return [t.requires_grad_() for t in leaves], ids


def run(leaves, ids, shared=2, **more):
    x, w_gate_up, w_down, weights, shared_weights = leaves
    return warpwright.moe(x, w_gate_up, w_down, ids, weights, shared=shared, shared_weights=shared_weights, **more)


def learn(leaves, y):
    (y.float() * torch.linspace(-1, 1, y.numel()).view(y.shape)).sum().backward()
    made = [t.grad for t in leaves]
    for t in leaves:
        t.grad = None
    return made


def wide_reference(leaves, ids, shared=2):
    x, w_gate_up, w_down, weights, shared_weights = leaves
    rows = []
    for t, row in enumerate(x):
        pairs = [(int(e), w) for e, w in zip(ids[t], weights[t]) if 0 <= e < len(w_down) - shared and not w.isnan()]
        pairs += [(len(w_down) - shared + i, w) for i, w in enumerate(shared_weights[t])]
        made = [w * (w_down[e] @ (torch.nn.functional.silu(gate) * up)) for e, w in pairs
                for gate, up in ((w_gate_up[e] @ row).chunk(2),)]
        rows.append(sum(made, row * 0))
    return torch.stack(rows)


@pytest.mark.parametrize("simulated", [False, True])
def test_gradients_are_those_of_float64(simulated):
    leaves, ids = layer()
    wide = [t.detach().double().requires_grad_() for t in leaves]
    want = learn(wide, wide_reference(wide, ids))
    with warpwright.simulate() if simulated else contextlib.nullcontext():
        status = torch.zeros(1, dtype=torch.int32)
        got = learn(leaves, run(leaves, ids, status=status))
    assert int(status) == 3
    for name, mine, other in zip(NAMES, got, want):
        other = torch.nan_to_num(other)
        assert float((mine.double() - other).norm()) < 1e-2 * float(other.norm()), name
        assert mine.dtype == (torch.float32 if "weights" in name else torch.bfloat16)
    assert got[3][3, 1] == 0 and got[3][5, 0] == 0  # a pair that is not there, a weight that is not a number


def test_the_same_bits_every_time_and_for_each_alone():
    leaves, ids = layer()
    together = learn(leaves, run(leaves, ids))
    for one, want in enumerate(together):
        alone = [t.detach().requires_grad_(i == one) for i, t in enumerate(leaves)]
        assert torch.equal(learn(alone, run(alone, ids))[one], want), NAMES[one]


def test_tokens_that_are_not_there():
    leaves, ids = layer()
    y = run(leaves, ids, token_count=torch.tensor([7], dtype=torch.int32))
    assert not y[7:].any()
    some = learn(leaves, y)
    fewer = [t.detach()[:7] if i in (0, 3, 4) else t.detach() for i, t in enumerate(leaves)]
    fewer = [t.requires_grad_() for t in fewer]
    y = run(fewer, ids[:7])
    (y.float() * torch.linspace(-1, 1, 12 * 64).view(12, 64)[:7]).sum().backward()
    for i, (mine, other) in enumerate(zip(some, fewer)):
        assert torch.equal(mine[:7] if i in (0, 3, 4) else mine, other.grad), NAMES[i]
        assert i in (1, 2) or not mine[7:].any()


def test_nothing_but_the_arguments_is_kept():
    leaves, ids = layer()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.data_ptr()) or t, lambda t: t):
        run(leaves, ids)
    assert set(kept) == {t.data_ptr() for t in (*leaves, ids)}


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(dynamic):
    compiled = torch.compile(run, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for tokens in (12, 9):
        leaves, ids = layer(tokens)
        y = run(leaves, ids)
        want = learn(leaves, y)
        # What is traced has no values: a look from the host would end it.
        again = compiled(leaves, ids)
        assert torch.equal(again, y)
        for name, mine, other in zip(NAMES, learn(leaves, again), want):
            assert torch.equal(mine, other), name


def test_autocast():
    leaves, ids = layer()
    want = learn(leaves, run(leaves, ids))
    wide = [t.detach().float().requires_grad_() for t in leaves]
    with torch.autocast("cpu", torch.bfloat16):
        y = run(wide, ids)
    assert y.dtype == torch.bfloat16
    for mine, other in zip(learn(wide, y), want):
        assert mine.dtype == torch.float32 and torch.equal(mine, other.float())


def test_no_tokens_and_no_second_gradient():
    leaves, ids = layer()
    none = [t.detach()[:0] if i in (0, 3, 4) else t.detach() for i, t in enumerate(leaves)]
    none = [t.requires_grad_() for t in none]
    run(none, ids[:0]).float().sum().backward()
    assert none[0].grad.shape == (0, 64) and not none[1].grad.any() and not none[2].grad.any()
    y = run(leaves, ids).float().square().sum()
    with pytest.raises((RuntimeError, ValueError, NotImplementedError)):
        (first,) = torch.autograd.grad(y, leaves[0], create_graph=True)
        torch.autograd.grad(first.float().sum(), leaves[0])


@pytest.mark.parametrize("simulated", [False, True])
def test_rows_of_no_expert_are_never_read(simulated):
    """Torch fills what is not written with NaN."""
    leaves, ids = layer()
    with warpwright.simulate() if simulated else contextlib.nullcontext():
        want = learn(leaves, run(leaves, ids))
        torch.use_deterministic_algorithms(True)
        try:
            assert torch.utils.deterministic.fill_uninitialized_memory and torch.empty(3).isnan().all()
            got = learn(leaves, run(leaves, ids))
        finally:
            torch.use_deterministic_algorithms(False)
    for name, mine, other in zip(NAMES, got, want):
        assert torch.equal(mine, other), name
