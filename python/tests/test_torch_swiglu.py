"""gemm(activation="swiglu") of torch tensors: b is [gate; up], and the result silu(gate) * up has half the columns."""

import gc
import weakref

import pytest

torch = pytest.importorskip("torch")

import warpwright
from warpwright import _torch, _torch_convert, _torch_describe

F = torch.nn.functional
BF16, NARROW = torch.bfloat16, torch.float8_e4m3fn
ONE, TWO = torch.tensor(0.5), torch.tensor(0.25)


@pytest.fixture(autouse=True)
def seed(library):
    torch.manual_seed(1)


def make(*shape, dtype=BF16):
    return torch.randn(*shape).to(dtype)


def close(got, want, tolerance=1e-2):
    got, want = got.detach(), want.detach()
    assert torch.isfinite(got.double()).all() and got.shape == want.shape
    assert float((got.double() - want.double()).norm()) <= tolerance * float(want.double().norm())


def gated(sums):
    gate, up = sums.chunk(2, -1)
    return F.silu(gate) * up


def reference(a, b, bias=None, residual=None, alpha=1.0):
    sums = alpha * (a.double() @ b.double().transpose(-1, -2))
    if bias is not None:
        sums = sums + bias.double()
    return gated(sums) if residual is None else gated(sums) + residual.double()


CASES = {
    "plain": (make(40, 64), make(48, 64), {}),
    "bias, residual, alpha": (make(40, 64), make(48, 64), {"bias": make(48), "residual": make(40, 24), "alpha": 0.5}),
    "bias of rows": (make(40, 64), make(32, 64), {"bias": make(40, 1)}),
    "leading dimensions": (make(2, 3, 5, 64), make(48, 64), {"bias": make(48), "residual": make(2, 3, 5, 24)}),
    "one row": (make(64), make(48, 64), {}),
    "a batch": (make(3, 40, 64), make(3, 48, 64), {"residual": make(3, 40, 24)}),
    "a stored by columns": (make(64, 40).T, make(48, 64), {}),
    "b stored by columns": (make(40, 64), make(64, 48).T, {}),
    "rows of any length": (make(7, 21), make(16, 21), {}),
    "fp16": (make(40, 64, dtype=torch.float16), make(48, 64, dtype=torch.float16), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_silu_of_the_gates_times_the_ups(name):
    a, b, named = CASES[name]
    want = reference(a, b, **named)
    got = warpwright.gemm(a, b, activation="swiglu", **named)
    assert got.dtype == a.dtype
    close(got, want)
    wide = warpwright.gemm(a, b, activation="swiglu", out_dtype=torch.float32, **named)
    close(wide, want, 1e-5)
    out = torch.full(want.shape, 7.0)
    assert warpwright.gemm(a, b, activation="swiglu", out=out, **named) is out
    assert torch.equal(out, wide)


SAME = {
    "plain": lambda g: g(make(40, 64), make(48, 64)),
    "all": lambda g: g(make(40, 64), make(48, 64), bias=make(48), residual=make(40, 24), alpha=0.5, out_dtype="fp32"),
    "batch, bias of rows": lambda g: g(make(2, 40, 64), make(2, 32, 64), bias=make(40, 1)),
    "e4m3": lambda g: g(make(40, 64).to(NARROW), make(48, 64).to(NARROW), a_scale=ONE, b_scale=TWO),
    "e4m3 rows": lambda g: g(make(40, 64).to(NARROW), make(48, 64).to(NARROW), a_scale=torch.rand(40) + 0.5,
                             b_scale=torch.rand(48) + 0.5, out_dtype="fp32"),
    "to e4m3": lambda g: g(make(40, 64), make(64, 64), out_scale=ONE, out_dtype="e4m3"),
}


@pytest.mark.parametrize("name", SAME)
def test_the_cpu_gives_what_the_kernel_gives(name):
    def call():
        torch.manual_seed(2)
        return SAME[name](lambda *x, **named: warpwright.gemm(*x, activation="swiglu", **named))

    by_torch = call()
    with warpwright.simulate():
        by_kernel = call()
    assert by_torch.dtype == by_kernel.dtype and by_torch.shape == by_kernel.shape
    close(by_torch.float(), by_kernel.float(), 2e-2 if name == "to e4m3" else 3e-3)


def test_the_kernel_of_blackwell():
    a, b = make(40, 64), make(48, 64)
    with warpwright.simulate("sim:sm100"):
        close(warpwright.gemm(a, b, activation="swiglu"), reference(a, b))


WRONG = [
    (lambda: warpwright.gemm(make(4, 8), make(24, 8), activation="swiglu"), ["b: it has 24 rows", "multiple of 16"]),
    (lambda: warpwright.gemm(make(4, 8), make(15, 8), activation="swiglu"), ["b: it has 15 rows", "[gate; up]"]),
    (lambda: warpwright.gemm(make(4, 8), make(32, 8), activation="swiglu", beta=1.0, c=make(4, 16)), ["beta", "swiglu"]),
    (lambda: warpwright.gemm(make(4, 8), make(32, 8), activation="swiglu", residual=make(4, 32)),
     ["residual", "(4, 32)", "(4, 16)"]),
    (lambda: warpwright.gemm(make(4, 8), make(32, 8), activation="swiglu", out=make(4, 32)), ["out", "(4, 16)"]),
    (lambda: warpwright.gemm(make(4, 8), make(32, 8), activation="swiglu", bias=make(16)), ["bias", "(32,)"]),
    (lambda: warpwright.gemm(make(4, 8), make(32, 8), activation="swiglu", epilogue="2 * x"), ["epilogue", "activation"]),
    (lambda: warpwright.gemm(make(4, 8).requires_grad_(), make(32, 8), activation="swiglu", out_scale=ONE),
     ["out_scale", "gradient"]),
    (lambda: warpwright.nn.Linear(8, 32, activation="swiglu"), ["activation: 'swiglu'"]),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_calls_get_a_sentence(number):
    call, words = WRONG[number]
    with pytest.raises(ValueError) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_a_chip_without_it_says_so():
    with warpwright.simulate("sim:sm80"), pytest.raises(ValueError, match="swiglu: sm80 does not have it"):
        warpwright.gemm(make(40, 64), make(48, 64), activation="swiglu")


GRADIENTS = {
    "plain": ((24, 64), (48, 64), None, None),
    "all": ((24, 64), (48, 64), (48,), (24, 24)),
    "bias of rows": ((24, 64), (48, 64), (24, 1), None),
    "leading dimensions": ((2, 3, 64), (48, 64), (48,), (2, 3, 24)),
    "a batch": ((3, 24, 64), (3, 48, 64), (48,), (3, 24, 24)),
    "one b for a batch": ((3, 24, 64), (1, 48, 64), None, None),
}


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_float64(name, backend):
    leaves = [None if shape is None else make(*shape).requires_grad_() for shape in GRADIENTS[name]]
    wide = [None if x is None else x.detach().double().requires_grad_() for x in leaves]

    def loss(a, b, bias, residual):
        y = warpwright.gemm(a, b, bias=bias, residual=residual, alpha=0.25, activation="swiglu", out_dtype=torch.float32)
        return (y.sin() * y).sum()

    run = loss if backend is None else torch.compile(loss, fullgraph=True, backend=backend)
    run(*leaves).backward()
    want = reference(*wide, alpha=0.25)
    (want.sin() * want).sum().backward()
    for leaf, exact in zip(leaves, wide):
        if leaf is not None:
            assert leaf.grad.dtype == leaf.dtype
            close(leaf.grad, exact.grad, 6e-3)  # rounded to bf16, once before the products and once after them


def test_gradients_of_gradients():
    a, b = make(8, 64).requires_grad_(), make(32, 64).requires_grad_()
    x, w = (t.detach().double().requires_grad_() for t in (a, b))
    first, = torch.autograd.grad(warpwright.gemm(a, b, alpha=0.25, activation="swiglu", out_dtype=torch.float32).sum(), a,
                                 create_graph=True)
    exact, = torch.autograd.grad(reference(x, w, alpha=0.25).sum(), x, create_graph=True)
    first.float().square().sum().backward()
    exact.square().sum().backward()
    close(a.grad, x.grad, 2e-2)
    close(b.grad, w.grad, 2e-2)


def test_gates_and_ups_are_computed_again_and_not_kept(monkeypatch):
    seen, launch = [], _torch.launch
    monkeypatch.setattr(_torch, "launch", lambda x, s: (seen.append((s.activation, tuple(x.out.shape))), launch(x, s))[1])
    a, b = make(40, 64).requires_grad_(), make(48, 64).requires_grad_()
    y = warpwright.gemm(a, b, activation="swiglu")
    assert seen == [("swiglu", (40, 24))]
    assert [tuple(x.shape) for x in y.grad_fn.saved_tensors] == [(40, 64), (48, 64)]
    y.sum().backward()
    assert seen[1:] == [("none", (40, 48)), ("none", (40, 64)), ("none", (48, 64))]


def test_functional_transforms_and_vmap():
    a, b, bias = make(5, 24, 64), make(48, 64), make(48)
    many = torch.vmap(lambda x: warpwright.gemm(x, b, bias=bias, activation="swiglu"))(a)
    close(many, reference(a, b, bias))
    many = torch.vmap(lambda w: warpwright.gemm(a[0], w, activation="swiglu"), in_dims=2, out_dims=1)(
        torch.stack([b, 2 * b], 2))
    close(many, torch.stack([reference(a[0], b), reference(a[0], 2 * b)], 1))
    each = torch.vmap(lambda v: warpwright.gemm(a[0], b, bias=v, activation="swiglu"))(torch.stack([bias, -bias]))
    close(each, torch.stack([reference(a[0], b, bias), reference(a[0], b, -bias)]))
    own = torch.vmap(torch.func.grad(lambda x: warpwright.gemm(x, b, alpha=0.25, activation="swiglu").float().sum()))(a)
    x = a.double().requires_grad_()
    reference(x, b, alpha=0.25).sum().backward()
    close(own, x.grad)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_and_autocast(dynamic):
    def layer(x, w):
        return warpwright.gemm(x * 2, w, activation="swiglu") + 1

    compiled = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    w = make(48, 64)
    for rows in (40, 7):
        x = make(rows, 64)
        close(compiled(x, w), reference(2 * x, w) + 1)
    with torch.autocast("cpu", torch.bfloat16):
        x, w = torch.randn(40, 64), torch.randn(48, 64)
        got = warpwright.gemm(x, w, activation="swiglu")
    assert got.dtype == BF16
    close(got, reference(x, w))


def test_fakes_and_opcheck():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a, b = torch.empty(2, 32, 64, dtype=BF16), torch.empty(48, 64, dtype=BF16)
        assert warpwright.gemm(a, b, activation="swiglu").shape == (2, 32, 24)
        with pytest.raises(ValueError, match="b: it has 40 rows"):
            warpwright.gemm(a, torch.empty(40, 64, dtype=BF16), activation="swiglu")
    a, b, bias = make(32, 64), make(48, 64), make(48)
    rest = (None, 0.25, 0.0, bias, "swiglu", None, None, None, None, "fast", False, 0, "", "")
    grown = tuple(x.requires_grad_() if isinstance(x, torch.Tensor) else x for x in (a, b, torch.float32, *rest))
    torch.library.opcheck(torch.ops.warpwright.gemm.default, grown, rtol=2e-2, atol=2e-2)
    plain = tuple(x.detach() if isinstance(x, torch.Tensor) else x for x in (a, b, make(32, 24), *rest))
    torch.library.opcheck(torch.ops.warpwright.gemm_out.default, plain)


def test_a_b_whose_rows_have_gaps_is_not_copied_and_one_stored_by_columns_is():
    settings = _torch_describe.Settings(1.0, 0.0, "swiglu", "fast", False, 0, "", "")
    for b, copied in ((make(48, 64), False), (make(48, 80)[:, :64], False), (make(64, 48).T, True)):
        x, product = _torch_describe.describe(
            _torch_describe.Operands(make(8, 64), b, make(8, 24), *[None] * 6), settings)
        assert (x.b.data_ptr() != b.data_ptr()) == copied and product.n == 48


# The modules.


@pytest.fixture
def launches(monkeypatch):
    seen, launch = [], _torch.launch
    monkeypatch.setattr(_torch, "launch", lambda x, s: (seen.append(s.activation), launch(x, s))[1])
    return seen


@pytest.mark.parametrize("bias", [False, True])
def test_an_mlp_is_two_launches(launches, bias):
    mlp = warpwright.nn.MLP(64, 96, bias, dtype=BF16)
    gate, up = mlp.gate_up_proj.weight.chunk(2)
    gate_bias, up_bias = mlp.gate_up_proj.bias.chunk(2) if bias else (None, None)
    x = make(2, 5, 64)
    with torch.no_grad():
        got = mlp(x)
    assert launches == ["swiglu", "none"]
    want = F.linear(F.silu(F.linear(x, gate, gate_bias)) * F.linear(x, up, up_bias), mlp.down_proj.weight,
                    mlp.down_proj.bias)
    close(got, want, 2e-2)


@pytest.mark.parametrize("size, dtype, context", [
    (100, BF16, None), (96, torch.float32, None), (96, BF16, "sim:sm80")])
def test_an_mlp_that_no_kernel_has_is_computed_by_torch(launches, size, dtype, context):
    import contextlib

    mlp = warpwright.nn.MLP(64, size, dtype=dtype)
    x = make(3, 64, dtype=dtype)
    gate, up = mlp.gate_up_proj.weight.chunk(2)
    with torch.no_grad(), contextlib.nullcontext() if context is None else warpwright.simulate(context):
        got = mlp(x)
    assert "swiglu" not in launches
    close(got, F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), mlp.down_proj.weight), 2e-2)


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = (torch.nn.Linear(64, 96, True, dtype=BF16) for _ in range(2))
        self.down_proj, self.act_fn = torch.nn.Linear(96, 64, True, dtype=BF16), F.silu

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


def memory(model):
    gc.collect()
    return sum({x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in model.parameters()}.values())


def test_a_conversion_takes_no_memory_and_undo_gives_it_back(launches):
    model = torch.nn.Sequential(Gated(), Gated())
    x, before = make(3, 64), memory(model)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    originals = [module.gate_proj.weight for module in model]
    freed = [weakref.ref(weight.untyped_storage()) for weight in originals]
    with torch.no_grad():
        want = model(x)
    report = warpwright.convert(model)
    assert "gate and up as one product with swiglu" in str(report)
    assert memory(model) == before
    gc.collect()
    assert all(storage() is None for storage in freed)  # gates of before are views of the new memory
    first = model[0].gate_up_proj.weight
    assert originals[0].data_ptr() == first.data_ptr()
    with torch.no_grad():
        close(model(x), want, 2e-2)
    assert launches == ["swiglu", "none"] * 2
    made = [weakref.ref(module.gate_up_proj.weight) for module in model]
    del first
    report._undo.pop()()
    gc.collect()
    assert made[1]() is None and made[0]() is not None  # free before the next one is put back
    report.undo()
    gc.collect()
    assert made[0]() is None and memory(model) == before
    assert [module.gate_proj.weight for module in model] == originals
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert all(x.untyped_storage().nbytes() == x.numel() * x.element_size() for x in model.parameters())


def test_a_gpu_that_the_model_fills(monkeypatch):
    """The first allocation fails: the weights wait on the host."""
    parts = [torch.nn.Parameter(make(16, 8)) for _ in range(2)]
    want, empty, calls = torch.cat([x.detach() for x in parts]), torch.empty, []

    def full(*arguments, **named):
        calls.append(arguments)
        if len(calls) <= full.failures:
            raise torch.cuda.OutOfMemoryError("full")
        return empty(*arguments, **named)

    monkeypatch.setattr(torch, "empty", full)
    full.failures = 1
    whole = _torch_convert._join(parts)
    assert len(calls) == 2 and torch.equal(whole, want)
    assert [x.data_ptr() for x in parts] == [whole.data_ptr(), whole[16:].data_ptr()]
    calls.clear()
    full.failures = 2
    with pytest.raises(torch.cuda.OutOfMemoryError):
        _torch_convert._join(parts)
    assert torch.equal(torch.cat([x.detach() for x in parts]), want)
