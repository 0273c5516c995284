"""Tensors as people have them: on the CPU, of any leading dimensions, fake, under autocast, vmap and compile; gradients.

Tensors on the CPU are multiplied by torch. What that gives is held to the kernels in the simulator.
"""

import pytest

torch = pytest.importorskip("torch")

import warpwright

F = torch.nn.functional
NARROW = torch.float8_e4m3fn


@pytest.fixture(autouse=True)
def seed(library):
    torch.manual_seed(1)


def whole(*shape, dtype=torch.bfloat16):
    return torch.randint(-3, 4, shape).to(dtype)


def make(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape).to(dtype)


def close(got, want, tolerance=1e-2):
    got, want = got.detach(), want.detach()
    assert torch.isfinite(got.double()).all() and got.shape == want.shape
    assert float((got.double() - want.double()).norm()) <= tolerance * float(want.double().norm())


HALF = torch.tensor(0.5)
SAME = {
    "plain": lambda g: g(whole(40, 64), whole(48, 64)),
    "fp16 to fp32": lambda g: g(whole(7, 24, dtype=torch.float16), whole(13, 24, dtype=torch.float16), out_dtype="fp32"),
    "alpha, beta": lambda g: g(whole(40, 64), whole(48, 64), alpha=0.5, beta=2.0, c=whole(40, 48)),
    "bias": lambda g: g(whole(40, 64), whole(48, 64), bias=whole(48, dtype=torch.float32), out_dtype="fp32"),
    "bias of rows": lambda g: g(whole(40, 64), whole(48, 64), bias=whole(40, 1)),
    "relu, residual": lambda g: g(whole(40, 64), whole(48, 64), activation="relu", residual=whole(40, 48)),
    "batch": lambda g: g(whole(3, 40, 64), whole(3, 48, 64)),
    "shared": lambda g: g(whole(3, 40, 64).transpose(0, 1), whole(48, 64)),
    "e4m3": lambda g: g(whole(40, 64).to(NARROW), whole(48, 64).to(NARROW), a_scale=HALF, b_scale=HALF),
    "e5m2 rows": lambda g: g(whole(40, 64).to(torch.float8_e5m2), whole(48, 64).to(torch.float8_e5m2),
                             a_scale=torch.full((40,), 0.5), b_scale=torch.full((48,), 4.0), out_dtype="fp32"),
    "batched rows": lambda g: g(whole(2, 40, 64).to(NARROW), whole(2, 48, 64).to(NARROW),
                                a_scale=torch.full((2, 40), 0.5), b_scale=torch.full((2, 48), 4.0)),
    "out scale": lambda g: g(whole(40, 64), whole(48, 64), out_scale=HALF, out_dtype="e4m3"),
    "epilogue": lambda g: g(whole(2, 40, 64), whole(48, 64), bias=whole(48), c=whole(2, 40, 48), beta=0.5,
                            epilogue="column <= row + batch ? x * bias : beta * c", out_dtype="fp32"),
    "epilogue of rows": lambda g: g(make(40, 64), make(48, 64), bias=make(40, 1), residual=make(40, 48),
                                    epilogue="tanh(x / 30) * 30 - row_bias * residual"),
    "silu": lambda g: g(make(40, 64), make(48, 64), activation="silu", bias=make(48)),
    "gelu": lambda g: g(make(40, 64), make(48, 64), activation="gelu", out_dtype="fp32"),
    "gelu_erf": lambda g: g(make(40, 64), make(48, 64), activation="gelu_erf", residual=make(40, 48)),
    "promoted": lambda g: g(make(40, 256).to(NARROW), make(48, 256).to(NARROW), accumulation="promoted",
                            a_scale=HALF, b_scale=HALF),
}


def both(call):
    torch.manual_seed(2)
    by_torch = call()
    torch.manual_seed(2)
    with warpwright.simulate():
        by_kernel = call()
    return by_torch, by_kernel


@pytest.mark.parametrize("name", SAME)
def test_the_cpu_gives_what_the_kernel_gives(name):
    by_torch, by_kernel = both(lambda: SAME[name](warpwright.gemm))
    assert by_torch.dtype == by_kernel.dtype and by_torch.shape == by_kernel.shape
    if name in ("silu", "gelu", "gelu_erf", "promoted", "epilogue of rows"):
        close(by_torch, by_kernel, 3e-3)
    else:
        assert torch.equal(by_torch.float(), by_kernel.float())


def ints(*values):
    return torch.tensor(values, dtype=torch.int32)


def factors(*shape):
    return 2.0 ** torch.randint(-1, 2, shape)


def into(scale, *arguments, **named):
    """A result with its factors."""
    out = warpwright.grouped_gemm(*arguments, scales_out=scale, out_dtype="e4m3", **named)
    return torch.cat([out.float(), scale], -1)


def filled(*shape, **named):
    """Rows of no group keep what they had."""
    return warpwright.grouped_gemm(out=torch.full(shape, 7.0, dtype=torch.bfloat16), **named)


GROUPS = {
    "contiguous": lambda: filled(70, 64, a=whole(70, 128), b=whole(3, 64, 128), offsets=ints(4, 30, 30, 66)),
    "experts": lambda: filled(70, 64, a=whole(70, 128), b=whole(2, 64, 128), offsets=ints(0, 7, 30, 70),
                              experts=ints(1, -1, 0), bias=whole(2, 64)),
    "masked": lambda: filled(3, 35, 64, a=whole(3, 35, 128), b=whole(3, 64, 128), counts=ints(35, 0, 10),
                             bias=whole(64, dtype=torch.float32)),
    "along k": lambda: warpwright.grouped_gemm(whole(35, 128), whole(64, 128), depths=ints(0, 30, 30, 128)),
    "accumulated": lambda: warpwright.grouped_gemm(whole(35, 128), whole(64, 128), depths=ints(0, 50, 128),
                                                   out=whole(2, 35, 64, dtype=torch.float32), accumulate=True),
    "stored [k, n]": lambda: filled(70, 64, a=whole(70, 128), b=whole(3, 128, 64).transpose(1, 2),
                                    offsets=ints(4, 30, 30, 66)),
    "masked and stored [k, n]": lambda: filled(3, 35, 64, a=whole(3, 35, 128), b=whole(3, 128, 64).transpose(1, 2),
                                               counts=ints(35, 0, 10)),
    "along k and stored [k, m]": lambda: warpwright.grouped_gemm(whole(131, 40).T, whole(131, 64).T,
                                                                 depths=ints(0, 30, 30, 130)),
    "one product added": lambda: warpwright.grouped_gemm(whole(40, 256).to(NARROW), whole(256, 256).to(NARROW),
                                                         a_scale=factors(40, 2), b_scale=factors(2, 2),
                                                         out=whole(40, 256, dtype=torch.float32), accumulate=True),
    "blockwise": lambda: warpwright.grouped_gemm(whole(40, 256).to(NARROW), whole(256, 256).to(NARROW),
                                                 a_scale=factors(40, 2), b_scale=factors(2, 2)),
    "blockwise rows": lambda: filled(40, 64, a=whole(40, 256).to(NARROW), b=whole(2, 64, 256).to(NARROW),
                                     offsets=ints(0, 10, 40), a_scale=factors(40, 2), b_scale=factors(2, 64, 2)),
    "quantized": lambda: into(torch.zeros(40, 2), whole(40, 256).to(NARROW), whole(256, 256).to(NARROW),
                              a_scale=factors(40, 2), b_scale=factors(2, 2)),
    "a table that is clamped": lambda: filled(40, 64, a=whole(40, 128), b=whole(2, 64, 128),
                                              offsets=ints(0, 60, 2147483647), experts=ints(1, 5)),
    "swiglu": lambda: warpwright.grouped_gemm(make(40, 128), make(2, 128, 128), offsets=ints(0, 10, 40),
                                              activation="swiglu", bias=make(2, 128)),
    "swiglu quantized": lambda: into(torch.zeros(2, 20, 1), make(2, 20, 256).to(NARROW), make(2, 256, 256).to(NARROW),
                                     counts=ints(20, 20), a_scale=factors(2, 20, 2), b_scale=factors(2, 2, 2),
                                     activation="swiglu"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_on_the_cpu_give_what_the_kernel_gives(name):
    by_torch, by_kernel = both(GROUPS[name])
    assert by_torch.dtype == by_kernel.dtype
    if name.startswith("swiglu"):
        close(by_torch, by_kernel, 2e-2 if "quantized" in name else 3e-3)
    else:
        assert torch.equal(by_torch, by_kernel)


def test_only_within_the_context_is_anything_simulated(monkeypatch):
    from warpwright import _numpy

    calls = []
    monkeypatch.setattr(_numpy, "simulate", lambda *arguments: calls.append(1))
    warpwright.gemm(whole(8, 8), whole(8, 8))
    assert not calls
    with warpwright.simulate("sim:sm80"), pytest.raises(TypeError):  # the stand-in does not return a pair
        warpwright.gemm(whole(8, 8), whole(8, 8))
    assert calls == [1]
    warpwright.gemm(whole(8, 8), whole(8, 8))
    assert calls == [1]


@pytest.mark.parametrize("target", ["sim:sm80", "sim:sm100", "sim:gfx950"])
def test_other_chips(target):
    a, b = whole(64, 64), whole(64, 64)
    want = warpwright.gemm(a, b)
    with warpwright.simulate(target):
        assert torch.equal(warpwright.gemm(a, b), want)


LEADING = [(96,), (1, 96), (7, 96), (2, 3, 96), (2, 3, 4, 96), (0, 5, 96), (2, 0, 96)]


@pytest.mark.parametrize("shape", LEADING)
def test_any_leading_dimensions_as_linear_has_them(shape):
    x, w, bias = whole(*shape), whole(40, 96), whole(40)
    want = F.linear(x.float(), w.float(), bias.float())
    got = warpwright.gemm(x, w, bias=bias, out_dtype="fp32")
    assert got.shape == want.shape and torch.equal(got, want)
    c, residual = whole(*want.shape), whole(*want.shape)
    out = torch.zeros(want.shape)
    assert warpwright.gemm(x, w, bias=bias, c=c, beta=2.0, residual=residual, out=out) is out
    assert torch.equal(out, want + 2 * c + residual)


@pytest.mark.parametrize("view", [
    lambda: whole(3, 2, 96).transpose(0, 1), lambda: whole(2, 5, 4, 96)[:, ::2], lambda: whole(2, 96, 3).transpose(1, 2),
    lambda: whole(2, 3, 5, 96).transpose(1, 2), lambda: whole(1, 3, 96).expand(4, 3, 96), lambda: whole(2, 3, 192)[..., ::2]])
def test_leading_dimensions_of_views(view):
    x, w = view(), whole(40, 96)
    assert torch.equal(warpwright.gemm(x, w, out_dtype="fp32"), F.linear(x.float(), w.float()))
    rows = whole(x.shape[-2], 1)
    assert torch.equal(warpwright.gemm(x, w, bias=rows, out_dtype="fp32"), F.linear(x.float(), w.float()) + rows)


def test_batches_of_several_dimensions():
    for left, right in (((2, 3, 4, 8), (2, 3, 5, 8)), ((2, 3, 4, 8), (1, 1, 5, 8)), ((4, 8), (2, 3, 5, 8)),
                        ((1, 4, 8), (2, 3, 5, 8)), ((1, 1, 4, 8), (3, 5, 8)), ((2, 3, 4, 8), (5, 8))):
        a, b = whole(*left), whole(*right)
        want = a.float() @ b.float().transpose(-1, -2)
        got = warpwright.gemm(a, b, out_dtype="fp32")
        assert torch.equal(got.reshape(want.shape), want)


def test_factors_of_rows_go_with_leading_dimensions():
    a, b = whole(2, 5, 64).to(NARROW), whole(48, 64).to(NARROW)
    rows, columns = factors(2, 5), factors(48)
    want = (a.float() @ b.float().T) * rows[..., None] * columns
    assert torch.equal(warpwright.gemm(a, b, a_scale=rows, b_scale=columns, out_dtype="fp32"), want)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    x, w, bias = torch.randn(2, 8, 64), torch.randn(48, 64, requires_grad=True), torch.randn(48)
    with pytest.raises(TypeError, match="a: its type is torch.float32"):
        warpwright.gemm(x, w)
    with torch.autocast("cpu", dtype):
        y = warpwright.gemm(x, w, bias=bias)
        assert y.dtype == dtype
        close(y, F.linear(x.to(dtype), w.to(dtype), bias.to(dtype)))
        direct = torch.ops.warpwright.gemm(x[0], w, dtype, None, 1.0, 0.0, bias, "none", *[None] * 4, "fast", False, 0, "", "")
        assert torch.equal(direct, y[0])
        with torch.no_grad():  # the sums are not rounded on the way to the bias
            assert torch.equal(warpwright.gemm(x, w, bias=bias), y)
        with torch.autocast("cpu", enabled=False), pytest.raises(TypeError, match="float32"):
            warpwright.gemm(x, w)
        one = torch.ones(1)
        narrow = warpwright.gemm(x[0].to(NARROW), w.detach().to(NARROW), a_scale=one, b_scale=one)
        assert narrow.dtype == torch.bfloat16  # 8-bit operands stay
    y.float().sum().backward()
    assert w.grad.dtype == torch.float32
    close(w.grad, torch.ones(16, 48).T @ x.reshape(16, 64))


def test_autocast_of_groups_and_under_compile():
    a, b = torch.randn(20, 128), torch.randn(2, 64, 128)

    def layer(a, b):
        with torch.autocast("cpu", torch.bfloat16):
            return warpwright.grouped_gemm(a, b, offsets=ints(0, 5, 20)), warpwright.gemm(a, b[0], activation="silu")

    want = torch.cat([a[:5] @ b[0].T, a[5:] @ b[1].T])
    torch._dynamo.reset()
    for run in (layer, torch.compile(layer, fullgraph=True, backend="aot_eager")):
        groups, plain = run(a, b)
        assert groups.dtype == plain.dtype == torch.bfloat16
        close(groups, want, 2e-2)
        close(plain, F.silu(a @ b[0].T), 2e-2)


def test_vmap():
    vmap = torch.vmap
    x, w, bias, c = whole(5, 7, 64), whole(5, 48, 64), whole(5, 48), whole(5, 7, 48)
    gemm = lambda *a, **k: warpwright.gemm(*a, out_dtype=torch.float32, **k)
    times = lambda a, b: a.float() @ b.float().transpose(-1, -2)
    assert torch.equal(vmap(gemm)(x, w), times(x, w))
    assert torch.equal(vmap(gemm, in_dims=(0, None))(x, w[0]), times(x, w[0]))
    assert torch.equal(vmap(gemm, in_dims=(None, 1))(x[0], w.transpose(0, 1)), times(x[0], w))
    assert torch.equal(vmap(lambda a, b, r: gemm(a, b, residual=r), in_dims=(None, None, 2), out_dims=2)(
        x[0], w[0], c.movedim(0, 2)), (times(x[0], w[0]) + c).movedim(0, 2))
    assert torch.equal(vmap(lambda a, b: gemm(a, b, bias=bias[0], c=c[0], beta=2.0), in_dims=(0, None))(x, w[0]),
                       times(x, w[0]) + bias[0] + 2 * c[0])
    counted = vmap(lambda a: gemm(a, w[0], epilogue="x + 100 * batch + row"), in_dims=0)(x)
    assert torch.equal(counted, times(x, w[0]) + torch.arange(7)[:, None])  # the batch of each example is 0
    # A bias of each example, and batches of batches, are multiplied one after the other.
    assert torch.equal(vmap(lambda a, b, v: gemm(a, b, bias=v))(x, w, bias), times(x, w) + bias[:, None])
    y = whole(2, 3, 7, 64)
    assert torch.equal(vmap(vmap(gemm, in_dims=(0, None)), in_dims=(0, None))(y, w[0]), times(y, w[0]))


def test_moe_sees_shapes():
    x, first, second = make(6, 64), make(3, 128, 64), make(3, 64, 64)
    ids, weights = torch.zeros(6, 2, dtype=torch.int32), torch.rand(6, 2)
    layer = [t.to("meta") for t in (x, first, second, ids, weights)]
    assert warpwright.moe(*layer).shape == (6, 64) and warpwright.moe(*layer).is_meta
    learnt = warpwright.moe(*layer[:4], layer[4].requires_grad_())
    assert learnt.shape == (6, 64) and learnt.requires_grad
    with pytest.raises(ValueError, match="w_down: its shape is"):
        warpwright.moe(*layer[:2], layer[2][:, :32].contiguous(), *layer[3:])


def test_what_vmap_does_not_serve_says_so():
    x, w = whole(5, 20, 128), whole(2, 64, 128)
    with pytest.raises(NotImplementedError, match="grouped_gemm: vmap does not go through"):
        torch.vmap(lambda a: warpwright.grouped_gemm(a, w, offsets=ints(0, 5, 20)))(x)
    with pytest.raises(NotImplementedError, match="out: vmap"):
        torch.vmap(lambda a, out: warpwright.gemm(a, w[0], out=out))(x, torch.empty(5, 20, 64, dtype=x.dtype))


def test_meta_and_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    x, w = whole(2, 8, 128), whole(64, 128)
    a, b = x.to("meta"), w.to("meta")
    y = warpwright.gemm(a, b, activation="silu")
    assert y.device.type == "meta" and y.shape == (2, 8, 64) and y.dtype == torch.bfloat16
    assert warpwright.gemm(a, b, out=torch.empty(2, 8, 64, device="meta")).dtype == torch.float32
    with pytest.raises(ValueError, match="both are k"):
        warpwright.gemm(a, b[:, :64])
    groups = warpwright.grouped_gemm(a[0], b[None], offsets=ints(0, 8).to("meta"))
    assert groups.device.type == "meta" and groups.shape == (8, 64)
    q = warpwright.quantize(b, "block")
    assert q.values.dtype == NARROW and q.values.device.type == "meta" and q.scales.shape == (1, 1)
    assert warpwright.quantize(b, "mx").scales.shape == (64, 4)
    with FakeTensorMode() as mode:
        f, g = mode.from_tensor(x), mode.from_tensor(w)
        assert warpwright.gemm(f, g).shape == (2, 8, 64)
        assert warpwright.quantize(f[0], "mx").values.shape == (8, 128)
        assert warpwright.quantize(f[0], "token").scales.shape == (8, 1)


def test_a_mode_sees_the_op():
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Watch():
        warpwright.gemm(whole(4, 8), whole(4, 8))
    assert "warpwright.gemm.default" in seen


def test_deterministic_algorithms_are_asked_for(monkeypatch):
    from warpwright import _torch

    asked = []
    monkeypatch.setattr(_torch, "launch", lambda x, settings: asked.append(settings.deterministic))
    warpwright.gemm(whole(4, 8), whole(4, 8))
    torch.use_deterministic_algorithms(True)
    try:
        warpwright.gemm(whole(4, 8), whole(4, 8))
    finally:
        torch.use_deterministic_algorithms(False)
    warpwright.gemm(whole(4, 8), whole(4, 8), deterministic=True)
    assert asked == [False, True, True]


REST = (1.0, 0.0, None, "none", None, None, None, None, "fast", False, 0, "", "")


def test_opcheck_of_every_op():
    import warpwright._torch_grouped_gradient  # noqa: F401, registers its op
    import warpwright._torch_layers  # noqa: F401, too
    import warpwright._torch_moe_gradient  # noqa: F401
    import warpwright._torch_quantize  # noqa: F401

    import warpwright.distributed  # noqa: F401  which has ops of its own

    ops, loose = torch.ops.warpwright, {"rtol": 2e-2, "atol": 2e-2}
    a, b, c = make(32, 64), make(48, 64), make(32, 48)
    offsets, experts = ints(0, 10, 40), ints(1, 0)
    layer = (make(6, 16), make(4, 32, 16), make(4, 16, 16), torch.randint(0, 4, (6, 2)), torch.rand(6, 2))
    calls = {
        "gemm": [(a.clone().requires_grad_(), b.clone().requires_grad_(), torch.bfloat16, None, *REST),
                 (a, b, torch.float32, c, 0.5, 2.0, make(48), "gelu", c, None, None, None, "fast", True, 0, "", ""),
                 (a[None], b, torch.bfloat16, None, *REST)],
        "gemm_out": [(a, b, make(32, 48), None, *REST)],
        "sharded_gemm": [(a.clone().requires_grad_(), b.clone().requires_grad_(), torch.bfloat16, None, *REST)],
        "sharded_gemm_weight_gradient": [(c, a, torch.float32, 1.0, False)],
        "grouped_gemm": [(make(40, 128), make(2, 128, 128), offsets, None, None, experts, None, None, make(2, 128),
                          make(40, 64), None, ints(0), None, "swiglu", False, 0, 0, "", "", 0.0),
                         (make(40, 128), make(64, 128), None, None, ints(0, 50, 128), *[None] * 4,
                          torch.zeros(2, 40, 64), None, None, None, "none", True, 0, 0, "", "", 0.0)],
        "grouped_product": [(make(40, 128).requires_grad_(), make(2, 64, 128).requires_grad_(), offsets, None, None,
                             None, None, torch.bfloat16, 0, 0, "")],
        "blockwise_linear": [(make(40, 128).requires_grad_(), make(256, 128).to(NARROW), torch.ones(2, 1),
                              make(256).requires_grad_(), torch.bfloat16)],
        "moe": [(*layer, None, None, None, torch.rand(6, 1), ints(5), make(6, 16), ints(0), 1, 0)],
        "moe_layer": [(*(t.clone().requires_grad_() for t in layer[:3]), layer[3], layer[4].clone().requires_grad_(),
                       torch.rand(6, 1).requires_grad_(), ints(5), 1, 0), (*layer, None, None, 0, 0)],
        "quantize": [(make(40, 128), "mx", "e4m3", "rows", None), (make(40, 128), "nvfp4", "e2m1", "tiles", None),
                     (make(40, 300), "token", "e4m3", "rows", None), (make(200, 300), "block", "e5m2", "columns", None)],
    }
    registered = {op.split("::")[1].split(".")[0] for op in torch._C._dispatch_get_all_op_names()
                  if op.startswith("warpwright::")}
    assert set(calls) == registered
    for name, arguments in calls.items():
        for each in arguments:
            options = {} if name == "quantize" else dict(loose)
            if name == "blockwise_linear":  # torch cannot compare float8 before and after
                options["test_utils"] = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
            torch.library.opcheck(getattr(ops, name).default, each, **options)


def block(x, w, b, bias, offsets, experts):
    y = warpwright.gemm(x.unflatten(0, (2, -1)), w, bias=bias, activation="gelu")
    z = warpwright.grouped_gemm(y.flatten(0, 1), b, offsets=offsets, experts=experts, activation="swiglu")
    q = warpwright.quantize(z, "token")
    return warpwright.gemm(x, w) + 1, z * 2, q.values.float(), q.scales


@pytest.mark.parametrize("dynamic, backend", [(False, "aot_eager"), (True, "aot_eager"), (True, "inductor")])
def test_compile_without_a_break(dynamic, backend):
    torch._dynamo.reset()
    w, b, bias = make(128, 64), make(2, 256, 128), make(128)
    run = torch.compile(block, fullgraph=True, dynamic=dynamic, backend=backend)
    for rows in (40, 16):
        x = make(rows, 64)
        arguments = (x, w, b, bias, ints(0, 10, rows), ints(1, 0))
        for got, want in zip(run(*arguments), block(*arguments)):
            close(got, want, 2e-2)


ACTIVATIONS = {"relu": torch.relu, "gelu": lambda x: F.gelu(x, approximate="tanh"), "gelu_erf": F.gelu, "silu": F.silu}


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_through_an_activation(activation, backend):
    leaves = [make(2, 30, 128), make(96, 128), make(96), make(2, 30, 96), make(2, 30, 96)]
    leaves[0] = leaves[0] * 0.1
    leaves = [x.requires_grad_() for x in leaves]
    wide = [x.detach().double().requires_grad_() for x in leaves]

    def loss(a, b, bias, residual, c):
        y = warpwright.gemm(a, b, bias=bias, activation=activation, residual=residual, c=c, alpha=0.5, beta=0.25,
                            out_dtype="fp32")
        return y.square().sum()

    torch._dynamo.reset()
    (loss if backend is None else torch.compile(loss, fullgraph=True, backend=backend))(*leaves).backward()
    a, b, bias, residual, c = wide
    (ACTIVATIONS[activation](0.5 * a @ b.T + 0.25 * c + bias) + residual).square().sum().backward()
    for leaf, want in zip(leaves, wide):
        assert leaf.grad.dtype == leaf.dtype
        close(leaf.grad, want.grad, 1e-2)


def test_gradient_of_whole_numbers_is_exact():
    a, b = whole(6, 16).requires_grad_(), whole(8, 16).requires_grad_()
    warpwright.gemm(a, b, activation="relu", out_dtype="fp32").sum().backward()
    x, y = (t.detach().double().requires_grad_() for t in (a, b))
    torch.relu(x @ y.T).sum().backward()
    assert torch.equal(a.grad.double(), x.grad) and torch.equal(b.grad.double(), y.grad)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_gradient_through_swiglu(backend):
    leaves = [x.requires_grad_() for x in (0.1 * make(30, 128), make(2, 192, 128), make(2, 192))]
    wide = [x.detach().double().requires_grad_() for x in leaves]
    offsets = ints(0, 11, 30)

    def loss(a, b, bias):
        return warpwright.grouped_gemm(a, b, offsets=offsets, bias=bias, activation="swiglu").float().square().sum()

    torch._dynamo.reset()
    (loss if backend is None else torch.compile(loss, fullgraph=True, backend=backend))(*leaves).backward()
    a, b, bias = wide
    sums = torch.cat([a[:11] @ b[0].T + bias[0], a[11:] @ b[1].T + bias[1]])
    gate, up = sums.chunk(2, 1)
    (F.silu(gate) * up).square().sum().backward()
    for leaf, want in zip(leaves, wide):
        close(leaf.grad, want.grad, 2e-2)


def test_functional_transforms():
    a, b = whole(6, 16), whole(8, 16)
    gradient = torch.func.grad(lambda x: warpwright.gemm(x, b, out_dtype="fp32").sum())(a)
    assert torch.equal(gradient.float(), b.float().sum(0).expand(6, 16))
    # Gradients of each example.
    x = whole(5, 6, 16)
    loss = lambda w, x: warpwright.gemm(x, w, activation="relu", out_dtype="fp32").sum()
    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(b, x)
    for i in range(5):
        w = b.clone().requires_grad_()
        loss(w, x[i]).backward()
        assert torch.equal(each[i], w.grad)


def test_status_of_a_table_on_the_cpu():
    a, b, status = whole(40, 128), whole(2, 64, 128), ints(-1)
    for table, experts, fault in (((0, 10, 40), (1, 0), 0), ((0, 30, 20), (1, 0), 1), ((0, 30, 50), (1, -1), 2),
                                  ((0, 10, 40), (1, 2), 4)):
        warpwright.grouped_gemm(a, b, offsets=ints(*table), experts=ints(*experts), status=status)
        assert int(status) == fault


def test_tensors_elsewhere_are_refused():
    class Elsewhere:
        type, index = "mps", 0

    from warpwright import _torch, _torch_describe

    x = _torch_describe.Operands(*[None] * 9)._replace(a=type("T", (), {"device": Elsewhere()})())
    with pytest.raises(ValueError, match="a: it is on .*; tensors on a GPU and on the CPU"):
        _torch.launch(x, None)
