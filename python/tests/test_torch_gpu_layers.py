"""What torch tensors on a Hopper GPU got last: layers of experts, swiglu, epilogues of one's own, gathered rows, operands
as they are stored, sums that are added to, measured choice, the compiled warm call; in graphs, compiled and on streams."""

import os

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
    pytest.skip("needs a Hopper GPU", allow_module_level=True)

import warpwright
import warpwright.nn
from warpwright import _torch_native

F = torch.nn.functional


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


def make(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


def close(got, want, tolerance=1e-2):
    want = want.detach().double()
    assert torch.isfinite(got.double()).all()
    assert float((got.detach().double() - want).norm()) <= tolerance * float(want.norm())


def captured(run):
    """A graph of what ``run`` does; it was called once before."""
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def gated(sums):
    gate, up = sums.chunk(2, -1)
    return F.silu(gate) * up


# ---- layers of experts


def layer(tokens=100, hidden=256, intermediate=128, experts=8, top_k=2):
    weights, ids = torch.topk(torch.softmax(torch.randn(tokens, experts, device="cuda"), -1), top_k)
    return (make(tokens, hidden), make(experts, 2 * intermediate, hidden) / hidden**0.5,
            make(experts, hidden, intermediate) / intermediate**0.5, ids, weights)


def experts_of(x, w_gate_up, w_down, ids, weights):
    x, w_gate_up, w_down = x.double(), w_gate_up.double(), w_down.double()
    out = torch.zeros_like(x)
    for e in range(w_down.shape[0]):
        token, place = (ids == e).nonzero(as_tuple=True)
        rows = gated(x[token] @ w_gate_up[e].T) @ w_down[e].T
        out = out.index_add(0, token, rows * weights[token, place].double()[:, None])
    return out


@pytest.mark.parametrize("tokens", [1, 64, 100, 1000])
def test_a_layer_of_experts(tokens):
    operands = layer(tokens)
    close(warpwright.moe(*operands), experts_of(*operands))
    assert torch.equal(warpwright.moe(*operands), warpwright.moe(*operands))


def test_a_layer_in_a_graph_reads_its_routing_again():
    x, w_gate_up, w_down, ids, weights = layer()
    out, count = torch.empty_like(x), torch.tensor([100], dtype=torch.int32, device="cuda")
    graph = captured(lambda: warpwright.moe(x, w_gate_up, w_down, ids, weights, token_count=count, out=out))
    for live in (100, 37, 0):
        x.copy_(make(*x.shape))
        ids.copy_(torch.randint(8, ids.shape, device="cuda"))
        count.fill_(live)
        out.fill_(7)
        graph.replay()
        torch.cuda.synchronize()
        close(out[:live], experts_of(x, w_gate_up, w_down, ids, weights)[:live])
        assert (out[live:] == 7).all()


def test_a_layer_that_was_never_called_is_captured():
    operands, out = layer(tokens=97, hidden=264), torch.empty(97, 264, device="cuda", dtype=torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        warpwright.moe(*operands, out=out)
    graph.replay()
    torch.cuda.synchronize()
    close(out, experts_of(*operands))


def test_a_layer_compiled_and_its_gradient():
    operands = layer()
    close(torch.compile(lambda *t: warpwright.moe(*t), fullgraph=True)(*operands), experts_of(*operands))
    x, w_gate_up, w_down, ids, weights = operands
    mine = [t.clone().requires_grad_() for t in (x, w_gate_up, w_down, weights)]
    wide = [t.double().requires_grad_() for t in (x, w_gate_up, w_down, weights)]
    dy = make(*x.shape)
    warpwright.moe(*mine[:3], ids, mine[3]).backward(dy)
    experts_of(*wide[:3], ids, wide[3]).backward(dy.double())
    for got, want in zip(mine, wide):
        close(got.grad, want.grad, 2e-2)


def test_layers_on_two_streams_do_not_share_their_workspace():
    problems = [layer(), layer()]
    want = [warpwright.moe(*p) for p in problems]
    streams = [torch.cuda.Stream() for _ in problems]
    torch.cuda.synchronize()
    for _ in range(50):
        got = []
        for p, stream in zip(problems, streams):
            with torch.cuda.stream(stream):
                got.append(warpwright.moe(*p))
        torch.cuda.synchronize()
        assert all(torch.equal(g, w) for g, w in zip(got, want))


# ---- swiglu of dense products, in all of its forms


@pytest.mark.parametrize("m", [1, 8, 16, 40, 64, 100, 333, 2048])
@pytest.mark.parametrize("n, k", [(64, 64), (2 * 688, 512), (2 * 1416, 1000), (28672, 4096)])
def test_swiglu(m, n, k):
    a, b = make(m, k), make(n, k) / k**0.5
    close(warpwright.gemm(a, b, activation="swiglu"), gated(a.float() @ b.float().T))


def test_swiglu_with_a_bias_a_residual_and_a_batch():
    a, b, bias, residual = make(3, 70, 256), make(3, 96, 256), make(96), make(3, 70, 48)
    sums = torch.einsum("bmk,bnk->bmn", a.double(), b.double()) + bias.double()
    close(warpwright.gemm(a, b, activation="swiglu", bias=bias, residual=residual), gated(sums) + residual.double())


def test_an_mlp_in_a_graph():
    mlp = warpwright.nn.MLP(512, 1376, device="cuda", dtype=torch.bfloat16)
    x, y = make(33, 512), None
    with torch.no_grad():
        y = mlp(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = mlp(x)
        x.copy_(make(33, 512))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(y, mlp(x))


# ---- epilogues of one's own


@pytest.mark.parametrize("m", [16, 300])
def test_an_epilogue_of_ones_own(m):
    a, b, bias = make(m, 256), make(520, 256), make(520)
    x = a.double() @ b.double().T + bias.double()
    close(warpwright.gemm(a, b, bias=bias, epilogue="30 * tanh((x + bias) / 30)"), 30 * torch.tanh(x / 30))


# ---- groups: rows that a table names, operands as they are stored, sums that are added to


def test_gathered_rows():
    a, b = make(50, 256), make(3, 136, 256)
    offsets = torch.tensor([0, 70, 70, 130], device="cuda", dtype=torch.int32)
    index = torch.randint(50, (130,), device="cuda", dtype=torch.int32)
    rows = a[index.long()].double()
    want = torch.cat([rows[:70] @ b[0].double().T, rows[70:] @ b[2].double().T])
    close(warpwright.grouped_gemm(a, b, offsets=offsets, index=index), want)


def test_matrices_stored_by_columns():
    a, b = make(130, 256), make(3, 256, 136)
    offsets = torch.tensor([0, 70, 70, 130], device="cuda", dtype=torch.int32)
    want = torch.cat([a[:70].double() @ b[0].double(), a[70:].double() @ b[2].double()])
    close(warpwright.grouped_gemm(a, b.transpose(1, 2), offsets=offsets), want)


def test_groups_along_k_stored_by_columns():
    a, b = make(200, 72), make(200, 136)
    depths = torch.tensor([0, 65, 65, 200], device="cuda", dtype=torch.int32)
    out = torch.ones(3, 72, 136, device="cuda")
    parts = [(0, 65), (65, 65), (65, 200)]
    want = torch.stack([a[f:t].double().T @ b[f:t].double() for f, t in parts])
    warpwright.grouped_gemm(a.T, b.T, depths=depths, out=out, accumulate=True)
    close(out, want + 1)


def test_one_blockwise_product_is_added_to():
    a, b = make(300, 512), make(256, 512)
    x, w = warpwright.quantize(a, "token"), warpwright.quantize(b, "block")
    product = warpwright.dequantize(x).double() @ warpwright.dequantize(w).double().T
    out = torch.ones(300, 256, device="cuda")
    warpwright.grouped_gemm(x.values, w.values, a_scale=x.scales, b_scale=w.scales, out=out, accumulate=True)
    close(out, product + 1)


# ---- choice by measurement, and the warm call


def test_a_measured_choice_leaves_the_result_of_one_run(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPWRIGHT_CACHE_DIR", str(tmp_path))
    a, b, c = make(333, 1024), make(520, 1024), make(333, 520)
    want = a.double() @ b.double().T + 0.5 * c.double()
    out = c.clone()
    warpwright.gemm(a, b, c=out, beta=0.5, out=out, tuning="measure")
    close(out, want)
    graph = captured(lambda: warpwright.gemm(a, b, tuning="measure"))
    graph.replay()
    torch.cuda.synchronize()


def test_the_warm_call_is_compiled_code():
    if os.environ.get("WARPWRIGHT_NATIVE") == "off":
        pytest.skip("it is switched off")
    assert hasattr(torch.Tensor, "__dlpack_c_exchange_api__"), f"torch {torch.__version__} has no exchange of DLPack"
    native = _torch_native.native()
    if native is None:
        pytest.skip("it was not built")
    a, b = make(64, 256), make(96, 256)
    want = warpwright.gemm(a, b)
    rest = (None, None, None, 1.0, 0.0, None, "none", None, None, None, None, "fast", False, 0, None, None)
    assert torch.equal(native.gemm(a, b, *rest), want)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.equal(native.gemm(a, b, *rest), want)
    graph, out = torch.cuda.CUDAGraph(), torch.empty_like(want)
    warpwright.gemm(a, b, out=out)
    with torch.cuda.graph(graph):
        assert native.gemm(a, b, out, *rest[1:]) is out
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, want)
