"""Quantization of torch tensors on a Hopper GPU: the bits of the host, views, streams, torch.compile, graph capture."""

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
    pytest.skip("needs a Hopper GPU", allow_module_level=True)

import warpwright

KINDS = [("token", "e4m3"), ("token", "e5m2"), ("block", "e4m3"), ("block", "e5m2"), ("mx", "e4m3"), ("mx", "e5m2"),
         ("mx", "e2m1"), ("nvfp4", "e2m1")]


def make(rows, columns, dtype=torch.bfloat16):
    """Rows of very different size."""
    return (torch.randn(rows, columns, device="cuda") * 2.0**torch.randint(-9, 9, (rows, 1), device="cuda")).to(dtype)


def bits(x):
    return x.cpu().view(torch.uint8)


def same(got, want):
    assert torch.equal(bits(got.values), bits(want.values))
    assert torch.equal(bits(got.scales), bits(want.scales))
    assert float(got.tensor_scale) == float(want.tensor_scale)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("scheme, narrow", KINDS)
def test_bits_of_the_host(scheme, narrow, dtype):
    for rows, columns in ((200, 640), (1, 7168), (33, 70), (0, 64)):
        x = make(rows, columns, dtype)
        for layout in ("rows", "tiles" if scheme in ("mx", "nvfp4") else "columns"):
            got = warpwright.quantize(x, scheme, dtype=narrow, layout=layout)
            assert got.values.is_cuda and got.scales.is_cuda
            same(got, warpwright.quantize(x.cpu(), scheme, dtype=narrow, layout=layout))


def test_views_are_not_copied():
    x = make(256, 2048)
    for view in (x[:, 64:1088], x[::2], x[3:100, 1:1000]):
        got = warpwright.quantize(view, "token")
        same(got, warpwright.quantize(view.cpu(), "token"))
    view = x[:, 64:1088]
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    q = warpwright.quantize(view, "token")
    results = q.values.numel() + q.scales.numel() * 4
    assert torch.cuda.max_memory_allocated() - before < results + 4096
    same(warpwright.quantize(x.T, "token"), warpwright.quantize(x.T.cpu(), "token"))


def test_it_runs_on_the_current_stream():
    stream, x = torch.cuda.Stream(), torch.zeros(512, 512, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x.fill_(3)
        q = warpwright.quantize(x)
    stream.synchronize()
    assert ((warpwright.dequantize(q) - 3).abs() < 1e-5).all()


def test_a_tensor_scale_stays_on_the_device():
    x = make(64, 256)
    given = torch.full((), 0.25, device="cuda")
    q = warpwright.quantize(x, "nvfp4", tensor_scale=given)
    assert q.tensor_scale.is_cuda and float(q.tensor_scale) == 0.25
    same(q, warpwright.quantize(x.cpu(), "nvfp4", tensor_scale=0.25))
    assert warpwright.quantize(x, "nvfp4").tensor_scale.is_cuda


@pytest.mark.parametrize("scheme, narrow", [("token", "e4m3"), ("nvfp4", "e2m1")])
def test_compile_and_graphs(scheme, narrow):
    def layer(x):
        q = warpwright.quantize(torch.relu(x), scheme, dtype=narrow)
        return q.values, q.scales

    x = make(96, 512)
    want = layer(x)
    got = torch.compile(layer, fullgraph=True)(x)
    assert all(torch.equal(bits(g), bits(w)) for g, w in zip(got, want))

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = layer(x)
    x.copy_(make(96, 512))
    want = layer(x)
    graph.replay()
    torch.cuda.synchronize()
    assert all(torch.equal(bits(g), bits(w)) for g, w in zip(captured, want))


def test_opcheck():
    torch.library.opcheck(torch.ops.warpwright.quantize.default, (make(32, 64), "mx", "e2m1", "tiles", None))


def test_bad_input_gets_a_sentence():
    with pytest.raises(TypeError, match="x: its type is torch.float64"):
        warpwright.quantize(torch.zeros(4, 4, dtype=torch.float64, device="cuda"))
    with pytest.raises(ValueError, match="tensor_scale: one torch.float32 on cuda:0"):
        warpwright.quantize(make(4, 16), "nvfp4", tensor_scale=torch.zeros(2, device="cuda"))


def test_a_grouped_product_from_bf16_tensors():
    offsets = torch.tensor([0, 100, 300], device="cuda", dtype=torch.int32)
    x, w = torch.randn(300, 512, device="cuda").bfloat16(), torch.randn(2, 256, 512, device="cuda").bfloat16()
    a, b = warpwright.quantize(x, "token"), [warpwright.quantize(m, "block") for m in w]
    got = warpwright.grouped_gemm(a.values, torch.stack([m.values.view(torch.uint8) for m in b]).view(a.values.dtype),
                                  offsets=offsets, a_scale=a.scales, b_scale=torch.stack([m.scales for m in b]))
    want = torch.cat([x[:100].double() @ w[0].double().T, x[100:].double() @ w[1].double().T])
    assert float((got.double() - want).norm() / want.norm()) < 0.05
