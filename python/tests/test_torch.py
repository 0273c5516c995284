"""torch tensors on a Hopper GPU: results, strides, streams, torch.compile, graph capture, gradients, error texts."""

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9:
    pytest.skip("needs a Hopper GPU", allow_module_level=True)

import warpwright


def make(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(dtype)


def close(got, want, tolerance=1e-2):
    want = want.double()
    assert torch.isfinite(got.double()).all()
    assert float((got.double() - want).norm() / want.norm()) < tolerance


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(512, 768, 1024), (1, 4096, 4096), (100, 60, 72), (33, 17, 51)])
def test_matches_float64(dtype, shape):
    m, n, k = shape
    a, b = make(m, k, dtype=dtype), make(n, k, dtype=dtype)
    close(warpwright.gemm(a, b), a.double() @ b.double().T)


def test_whole_numbers_are_exact():
    a = torch.randint(-3, 4, (300, 256), device="cuda").bfloat16()
    b = torch.randint(-3, 4, (200, 256), device="cuda").bfloat16()
    assert torch.equal(warpwright.gemm(a, b, out_dtype=torch.float32), a.float() @ b.float().T)


def test_strided_and_transposed_views_are_not_copied():
    big = make(512, 2048)
    a, b = big[:, 64:1088], make(1024, 640).T
    close(warpwright.gemm(a, b), a.double() @ b.double().T)
    out = torch.full((512, 1024), float("nan"), device="cuda", dtype=torch.bfloat16)
    view = out[:, :640]
    assert warpwright.gemm(a, b, out=view) is view
    close(view, a.double() @ b.double().T)
    assert out[:, 640:].isnan().all()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    warpwright.gemm(a, b, out=view)
    assert torch.cuda.max_memory_allocated() == before


def test_a_view_without_a_stride_of_one_is_copied():
    a, b = make(64, 256)[:, ::2], make(64, 128)
    close(warpwright.gemm(a, b), a.double() @ b.double().T)


def test_batches_and_shared_operands():
    a, b = make(4, 128, 256), make(4, 96, 256)
    close(warpwright.gemm(a, b), torch.einsum("bmk,bnk->bmn", a.double(), b.double()))
    close(warpwright.gemm(a, b[0]), torch.einsum("bmk,nk->bmn", a.double(), b[0].double()))


def test_epilogue():
    a, b, c = make(256, 512), make(384, 512), make(256, 384)
    bias, residual = make(384, dtype=torch.float32), make(256, 384)
    got = warpwright.gemm(a, b, c=c, alpha=0.5, beta=2.0, bias=bias, activation="relu", residual=residual)
    want = torch.relu(0.5 * a.double() @ b.double().T + 2 * c.double() + bias.double()) + residual.double()
    close(got, want)


def test_epilogues_of_ones_own():
    a, b, residual = make(600, 512), make(384, 512), make(600, 384)
    x = a.double() @ b.double().T
    for text, want, given in (
            ("x / (1 + exp(-1.702 * x))", x * torch.sigmoid(1.702 * x), {}),
            ("30 * tanh(x / 30)", 30 * torch.tanh(x / 30), {}),
            ("x > 0 ? x * x : 0", torch.relu(x).square(), {}),
            ("column <= row ? x : -1", torch.where(torch.ones_like(x).tril().bool(), x, -1.0), {}),
            ("x * sigmoid(x) * residual", torch.nn.functional.silu(x) * residual.double(), {"residual": residual})):
        close(warpwright.gemm(a, b, epilogue=text, out_dtype=torch.float32, **given), want, 1e-5)
        close(warpwright.gemm(a[:16], b, epilogue=text, **{k: v[:16] for k, v in given.items()}), want[:16])


def test_fp8_with_factors():
    x, w = torch.randn(256, 512, device="cuda"), torch.randn(384, 512, device="cuda")
    a, b = warpwright.quantize(x, "row"), warpwright.quantize(w, "row")
    want = warpwright.dequantize(a).double() @ warpwright.dequantize(b).double().T
    close(warpwright.gemm(a.values, b.values, a_scale=a.scales, b_scale=b.scales), want)
    a, b = warpwright.quantize(x, "tensor"), warpwright.quantize(w, "tensor")
    want = warpwright.dequantize(a).double() @ warpwright.dequantize(b).double().T
    close(warpwright.gemm(a.values, b.values, a_scale=a.scales, b_scale=b.scales, accumulation="promoted"), want)


def test_fp8_batches_have_factors_of_their_own():
    a, b = make(3, 64, 256, dtype=torch.float8_e4m3fn), make(3, 96, 256, dtype=torch.float8_e4m3fn)
    rows, columns = torch.rand(3, 64, device="cuda"), torch.rand(3, 96, device="cuda")
    want = a.double() @ b.double().transpose(1, 2) * rows[:, :, None] * columns[:, None, :]
    close(warpwright.gemm(a, b, a_scale=rows, b_scale=columns), want)


def test_quantized_result():
    a, b = make(256, 512), make(384, 512)
    scale = torch.tensor(0.25, device="cuda")
    got = warpwright.gemm(a, b, out_dtype=torch.float8_e4m3fn, out_scale=scale)
    assert got.dtype == torch.float8_e4m3fn
    close(got, 0.25 * (a.double() @ b.double().T), 5e-2)


@pytest.mark.parametrize("plan", ["dense-128x128-splitk4", "dense-128x128-streamk"])
def test_plans_with_a_workspace(plan):
    a, b = make(512, 4096), make(512, 4096)
    want = a.double() @ b.double().T
    streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
    for _ in range(3):
        for stream in streams:
            stream.wait_stream(torch.cuda.default_stream())
            with torch.cuda.stream(stream):
                got = warpwright.gemm(a, b, plan=plan)
            stream.synchronize()
            close(got, want)
    out = torch.empty(512, 512, device="cuda", dtype=torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        warpwright.gemm(a, b, out=out, plan=plan)
    for _ in range(3):
        out.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        close(out, want)


def test_empty():
    assert warpwright.gemm(make(0, 64), make(32, 64)).shape == (0, 32)
    assert (warpwright.gemm(make(16, 0), make(32, 0)) == 0).all()


def test_current_stream():
    stream = torch.cuda.Stream()
    a, b = make(2048, 2048), make(2048, 2048)
    assert (warpwright.gemm(a, b) != 0).any()  # the plan is there when the stream begins to sleep
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        a.mul_(0)
        out = warpwright.gemm(a, b)
    stream.synchronize()
    assert (out == 0).all()


def test_compile():
    def layer(x, w, bias):
        return warpwright.gemm(x * 2, w, bias=bias, activation="silu") + 1

    x, w, bias = make(128, 256), make(64, 256), make(64)
    compiled = torch.compile(layer, fullgraph=True)
    close(compiled(x, w, bias), layer(x, w, bias))
    out = torch.empty(128, 64, device="cuda", dtype=torch.bfloat16)

    def into(x, w, out):
        warpwright.gemm(x, w, out=out)
        return out * 2

    close(torch.compile(into, fullgraph=True)(x, w, out), 2 * (x.double() @ w.double().T))


def test_compile_with_graphs_and_dynamic_shapes():
    def layer(x, w):
        return warpwright.gemm(torch.relu(x), w).float().sum(dim=1)

    w = make(64, 256)
    for how in ({"mode": "reduce-overhead"}, {"dynamic": True}):
        compiled = torch.compile(layer, fullgraph=True, **how)
        for rows in (128, 128, 128, 96):
            x = make(rows, 256)
            close(compiled(x, w).clone(), layer(x, w))


def test_compile_of_groups():
    a, b = make(70, 256), make(2, 128, 256)
    offsets = torch.tensor([0, 30, 70], device="cuda", dtype=torch.int32)

    def layer(a, b, offsets):
        return warpwright.grouped_gemm(a * 2, b, offsets=offsets) + 1

    want = torch.cat([2 * a[:30].double() @ b[0].double().T, 2 * a[30:].double() @ b[1].double().T]) + 1
    close(torch.compile(layer, fullgraph=True)(a, b, offsets), want)


def test_opcheck():
    a, b = make(32, 64).requires_grad_(), make(48, 64).requires_grad_()
    rest = (1.0, 0.0, None, "none", None, None, None, None, "fast", False, 0, "", "")
    torch.library.opcheck(torch.ops.warpwright.gemm.default, (a, b, torch.bfloat16, None, *rest), rtol=2e-2, atol=2e-2)
    torch.library.opcheck(torch.ops.warpwright.gemm_out.default, (a.detach(), b.detach(), make(32, 48), None, *rest))


def test_graph_capture():
    a, b = make(256, 512), make(384, 512)
    out = torch.empty(256, 384, device="cuda", dtype=torch.bfloat16)
    warpwright.gemm(a, b, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        warpwright.gemm(a, b, out=out)
    a.copy_(make(256, 512))
    out.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    close(out, a.double() @ b.double().T)


def test_graph_capture_of_groups():
    a, b = make(70, 256), make(2, 128, 256)
    offsets = torch.tensor([0, 30, 70], device="cuda", dtype=torch.int32)
    out = warpwright.grouped_gemm(a, b, offsets=offsets)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        warpwright.grouped_gemm(a, b, offsets=offsets, out=out)
    offsets.copy_(torch.tensor([0, 50, 70]))
    out.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    close(out, torch.cat([a[:50].double() @ b[0].double().T, a[50:].double() @ b[1].double().T]))


@pytest.mark.parametrize("shapes", [((64, 128), (96, 128)), ((3, 64, 128), (96, 128))])
def test_gradient(shapes):
    a, b = (make(*shape).requires_grad_() for shape in shapes)
    warpwright.gemm(a, b).float().square().sum().backward()
    x, y = (t.detach().double().requires_grad_() for t in (a, b))
    (x @ y.T).square().sum().backward()
    close(a.grad, x.grad, 2e-2)
    close(b.grad, y.grad, 2e-2)


def test_gradient_of_a_layer_with_a_bias():
    def layer(x, w, bias):
        return warpwright.gemm(torch.relu(x), w, bias=bias).float().square().sum()

    tensors = [make(64, 128), make(96, 128), make(96)]
    x, w, bias = wide = [t.double().requires_grad_() for t in tensors]
    (torch.relu(x) @ w.T + bias).square().sum().backward()
    for run in (layer, torch.compile(layer, fullgraph=True)):
        leaves = [t.clone().requires_grad_() for t in tensors]
        run(*leaves).backward()
        for leaf, want in zip(leaves, wide):
            close(leaf.grad, want.grad, 2e-2)


def test_gradient_of_groups():
    def reference(a, b, tables):
        if "depths" in tables:
            return torch.stack([a[:, i:j] @ b[:, i:j].T for i, j in zip(tables["depths"], tables["depths"][1:])])
        parts = list(zip(tables["offsets"], tables["offsets"][1:]))
        return torch.cat([a[i:j] @ b[g].T for g, (i, j) in enumerate(parts)])

    for shapes, tables in ((((70, 128), (2, 64, 128)), {"offsets": [0, 30, 70]}),
                           (((64, 256), (96, 256)), {"depths": [0, 100, 256]})):
        leaves = [make(*shape).requires_grad_() for shape in shapes]
        wide = [x.detach().double().requires_grad_() for x in leaves]
        table = {name: torch.tensor(cuts, device="cuda", dtype=torch.int32) for name, cuts in tables.items()}
        warpwright.grouped_gemm(*leaves, **table).float().square().sum().backward()
        reference(*wide, tables).square().sum().backward()
        for leaf, want in zip(leaves, wide):
            close(leaf.grad, want.grad, 2e-2)


def test_an_extent_that_is_marked_dynamic():
    layer = torch.compile(lambda x, w: warpwright.gemm(torch.relu(x), w) * 2, fullgraph=True)
    w = make(64, 256)
    for rows in (128, 33, 200):
        x = make(rows, 256)
        torch._dynamo.mark_dynamic(x, 0)
        close(layer(x, w), 2 * (torch.relu(x).double() @ w.double().T))


@pytest.mark.parametrize("call, kind, words", [
    (lambda: warpwright.gemm(make(4, 8), make(4, 9)), ValueError, ["b:", "9", "8"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8).cpu()), ValueError, ["b:", "cpu", "cuda"]),
    (lambda: warpwright.gemm(make(4, 8).cpu(), make(4, 8)), ValueError, ["b:", "cuda", "cpu"]),
    (lambda: warpwright.gemm(make(4, 8, dtype=torch.int32), make(4, 8)), TypeError, ["a:", "int32"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8, dtype=torch.float16)), ValueError, ["b"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), out=make(4, 5)), ValueError, ["out", "(4, 5)", "(4, 4)"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), activation="tanh"), ValueError, ["activation", "tanh"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), bias=make(5)), ValueError, ["bias", "(5,)"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), plan="nonsense"), ValueError, ["nonsense"]),
    (lambda: warpwright.gemm(make(4, 8), make(4, 8), target="sim:sm90"), ValueError, ["target", "sim:sm90"]),
    (lambda: warpwright.gemm(make(4, 8), 3), TypeError, ["b:", "int"]),
])
def test_bad_input_gets_a_sentence(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    torch.cuda.synchronize()


def test_blockwise_product():
    x, w = torch.randn(200, 512, device="cuda"), torch.randn(384, 512, device="cuda")
    a, b = warpwright.quantize(x, "token"), warpwright.quantize(w, "block")
    want = warpwright.dequantize(a).double() @ warpwright.dequantize(b).double().T
    close(warpwright.grouped_gemm(a.values, b.values, a_scale=a.scales, b_scale=b.scales), want)


@pytest.mark.parametrize("dtype", ["bf16", "e4m3"])
def test_contiguous_groups(dtype):
    sizes = [100, 0, 37, 300]
    offsets = torch.tensor([0, 100, 100, 137, 437], device="cuda", dtype=torch.int32)
    x, w = torch.randn(450, 256, device="cuda"), torch.randn(4, 384, 256, device="cuda")
    out = torch.full((450, 384), 7.0, device="cuda", dtype=torch.bfloat16)
    factors = {}
    if dtype == "bf16":
        a, b = x.bfloat16(), w.bfloat16()
        left, right = a.double(), b.double()
    else:
        q, r = warpwright.quantize(x, "token"), [warpwright.quantize(m, "block") for m in w]
        a, b = q.values, torch.stack([m.values.view(torch.uint8) for m in r]).view(torch.float8_e4m3fn)
        factors = {"a_scale": q.scales, "b_scale": torch.stack([m.scales for m in r])}
        left, right = warpwright.dequantize(q).double(), torch.stack([warpwright.dequantize(m) for m in r]).double()
    warpwright.grouped_gemm(a, b, offsets=offsets, out=out, **factors)
    begin = 0
    for g, size in enumerate(sizes):
        if size:
            close(out[begin:begin + size], left[begin:begin + size] @ right[g].T)
        begin += size
    assert (out[begin:] == 7).all(), "rows of no group are not written"


def test_masked_groups():
    a, b = make(3, 64, 256), make(3, 128, 256)
    counts = torch.tensor([64, 0, 10], device="cuda", dtype=torch.int32)
    a[2, 10:] = float("nan")
    out = warpwright.grouped_gemm(a, b, counts=counts)
    close(out[0], a[0].double() @ b[0].double().T)
    close(out[2, :10], a[2, :10].double() @ b[2].double().T)


def test_groups_with_a_bias_and_swiglu():
    x, w, bias = make(70, 256), make(2, 256, 256), make(2, 256)
    offsets = torch.tensor([0, 30, 70], device="cuda", dtype=torch.int32)

    def sums(a, b):
        return torch.cat([a[:30].double() @ b[0].double().T + bias[0], a[30:].double() @ b[1].double().T + bias[1]])

    def gated(values):
        gate, up = values.chunk(2, 1)
        return torch.nn.functional.silu(gate) * up

    close(warpwright.grouped_gemm(x, w, offsets=offsets, bias=bias, activation="swiglu"), gated(sums(x, w)))
    q, r = warpwright.quantize(x, "token"), [warpwright.quantize(m, "block") for m in w]
    a, b = q.values, torch.stack([m.values.view(torch.uint8) for m in r]).view(torch.float8_e4m3fn)
    factors = {"a_scale": q.scales, "b_scale": torch.stack([m.scales for m in r])}
    want = sums(warpwright.dequantize(q), torch.stack([warpwright.dequantize(m) for m in r]))
    close(warpwright.grouped_gemm(a, b, offsets=offsets, bias=bias, **factors), want)
    close(warpwright.grouped_gemm(a, b, offsets=offsets, bias=bias, activation="swiglu", **factors), gated(want))
    scales = torch.zeros(70, 1, device="cuda")
    narrow = warpwright.grouped_gemm(a, b, offsets=offsets, bias=bias, activation="swiglu",
                                     out_dtype=torch.float8_e4m3fn, scales_out=scales, **factors)
    close(narrow.double() * scales, gated(want), 5e-2)


def test_groups_along_k():
    a, b = make(128, 512), make(256, 512)
    cuts = [0, 100, 100, 412, 512]
    depths = torch.tensor(cuts, device="cuda", dtype=torch.int32)
    want = torch.stack([a[:, i:j].double() @ b[:, i:j].double().T for i, j in zip(cuts, cuts[1:])])
    got = warpwright.grouped_gemm(a, b, depths=depths)
    close(got, want)
    warpwright.grouped_gemm(a, b, depths=depths, out=got, accumulate=True)
    close(got, 2 * want)


def test_a_bad_table_is_reported():
    a, b = make(64, 256), make(2, 128, 256)
    status = torch.zeros(1, device="cuda", dtype=torch.int32)
    warpwright.grouped_gemm(a, b, offsets=torch.tensor([0, 70, 60], device="cuda", dtype=torch.int32), status=status)
    assert int(status) != 0


@pytest.mark.parametrize("call, kind, words", [
    (lambda: warpwright.grouped_gemm(make(4, 128), make(4, 128)), ValueError, ["bf16"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 4, 128), offsets=torch.zeros(3, device="cuda")), TypeError,
     ["offsets", "float32"]),
    (lambda: warpwright.grouped_gemm(make(4, 128), make(2, 4, 64), offsets=torch.zeros(3, device="cuda").int()),
     ValueError, ["b:", "64", "128"]),
])
def test_bad_groups_get_a_sentence(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
