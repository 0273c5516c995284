"""Warm calls whose operands want a gradient: compiled code hands them to autograd. A stand-in multiplies CPU tensors."""

import contextlib
import ctypes
import sys

import pytest

torch = pytest.importorskip("torch")

import warpwright
from test_native import GROUPED_CALLS, TABLE, call, given_to, native, remembered  # noqa: F401
from warpwright import _torch, _torch_grouped, _torch_grouped_launch, _torch_moe, _torch_native, _torch_train
from warpwright._torch_native import GEMM, GROUPED

BF16 = torch.bfloat16


def integers(*shape):
    return torch.randint(-3, 4, shape).to(BF16)


def at(address, like, shape, stride):
    """The tensor at an address."""
    count = 1 + sum((extent - 1) * step for extent, step in zip(shape, stride))
    bits = (ctypes.c_uint16 * count).from_address(address)
    return torch.frombuffer(bits, dtype=like).as_strided(shape, stride)


class Products(list):
    """The launches; each is made as the call says that its plan was remembered for."""

    def __init__(self):
        self.calls = {}

    def append(self, seen):
        super().append(seen)
        a, b, alpha, bias, activation = self.calls[seen["plan"]]
        x, y = (at(seen[name], BF16, t.shape, t.stride()).float() for name, t in (("a", a), ("b", b)))
        d = alpha * x.flatten(0, -2) @ y.T
        if bias is not None:
            d = d + at(seen["bias"], BF16, bias.shape, bias.stride()).float()
        if activation == "swiglu":
            gate, up = d.chunk(2, -1)
            d = torch.nn.functional.silu(gate) * up
        at(seen["d"], BF16, d.shape, d.stride()).copy_(d)


@pytest.fixture
def products(native, monkeypatch):  # noqa: F811
    native.launches = Products()
    monkeypatch.setattr(_torch_native, "native", lambda: native)
    return native


def know(module, a, b, **named):
    """As after a first call."""
    given = call(a, b, **named)
    number = len(module.launches.calls) + 1
    module.launches.calls[number] = (a.detach(), b.detach(), named.get("alpha", 1.0), named.get("bias"),
                                     named.get("activation", "none"))
    columns = b.shape[0] // 2 if named.get("activation") == "swiglu" else b.shape[0]
    with torch.no_grad():
        plan = type("Plan", (), {"handle": ctypes.c_void_p(number), "workspace_bytes": 0, "kept_bytes": 0})()
        _torch_native.remember(module, GEMM, given, plan, (*a.shape[:-1], columns), BF16, _torch_train.learning(module, given))


def know_all(module, a, b, alpha=1.0, **named):
    """Also the products of the backward pass."""
    know(module, a, b, alpha=alpha, **named)
    rows = a.detach().flatten(0, -2)
    d = torch.ones(rows.shape[0], b.shape[0], dtype=BF16)
    know(module, d, b.detach().t(), alpha=alpha, out_dtype=BF16)
    know(module, d.t(), rows.t(), alpha=alpha, out_dtype=BF16)


def wanted(a, b, bias, alpha, gradient):
    wide = [None if x is None else x.detach().double().requires_grad_() for x in (a, b, bias)]
    y = alpha * wide[0] @ wide[1].T + (0 if bias is None else wide[2])
    y.backward(gradient.double())
    return y, [None if x is None else x.grad for x in wide]


@pytest.mark.parametrize("shape", [(4, 8), (2, 3, 8), (2, 1, 3, 8)])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("who", [(True, True, True), (True, False, False), (False, True, False), (False, False, True)])
def test_gradients(products, shape, with_bias, who):
    operands = [integers(*shape), integers(5, 8), integers(5) if with_bias else None]
    if not any(x is not None and asked for x, asked in zip(operands, who)):
        return
    know_all(products, operands[0], operands[1], alpha=0.5, **({"bias": operands[2]} if with_bias else {}))
    a, b, bias = (x if x is None else x.requires_grad_(asked) for x, asked in zip(operands, who))
    y = warpwright.gemm(a, b, bias=bias, alpha=0.5)
    assert len(products.launches) == 1 and y.requires_grad and y.is_leaf is False and type(y) is torch.Tensor
    gradient = integers(*y.shape)
    y.backward(gradient)
    # Nothing was multiplied but by launches: one for each matrix that has a gradient.
    assert len(products.launches) == 1 + who[0] + who[1]
    want, gradients = wanted(a, b, bias, 0.5, gradient)
    assert torch.equal(y.double(), want)
    for x, asked, grad in zip((a, b, bias), who, gradients):
        if x is not None and asked:
            assert x.grad.dtype == BF16 and x.grad.shape == x.shape and torch.equal(x.grad.double(), grad)
        elif x is not None:
            assert x.grad is None


def test_without_a_gradient_the_same_call_is_plain(products):
    a, b = integers(4, 8), integers(5, 8).requires_grad_()
    know(products, a, b)
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            assert warpwright.gemm(a, b).grad_fn is None
    assert warpwright.gemm(a, b).grad_fn.name() == "MatricesBackward"
    assert warpwright.gemm(a, b.detach()).grad_fn is None and len(products.launches) == 4


@pytest.mark.parametrize("with_bias", [False, True])
def test_swiglu(products, with_bias):
    a, b, bias = torch.randn(4, 8).to(BF16), torch.randn(32, 8).to(BF16), torch.randn(32).to(BF16) if with_bias else None
    named = {"bias": bias, "activation": "swiglu"}
    know(products, a, b, **named)
    operands = [x.requires_grad_() for x in (a, b, bias) if x is not None]
    y = warpwright.gemm(a, b, **named)
    assert len(products.launches) == 1 and len(y.grad_fn.saved_tensors) == len(operands)
    gradient = torch.randn(4, 16).to(BF16)
    y.backward(gradient)
    wide = [x.detach().double().requires_grad_() for x in operands]
    gate, up = (wide[0] @ wide[1].T + sum(wide[2:])).chunk(2, -1)
    (torch.nn.functional.silu(gate) * up).backward(gradient.double())
    for x, want in zip(operands, wide):
        assert float((x.grad.double() - want.grad).norm()) < 2e-2 * float(want.grad.norm())


@pytest.mark.parametrize("word", ["relu", "gelu", "gelu_erf", "silu"])
def test_an_activation_is_torch_s(products, word):
    """The kernel writes the sums; what torch makes of them is rounded once, as if it were made in fp32."""
    a, b, bias = torch.randn(4, 8).to(BF16), torch.randn(5, 8).to(BF16), torch.randn(5).to(BF16)
    know_all(products, a, b, bias=bias)
    b.requires_grad_()
    y = warpwright.gemm(a, b, bias=bias, activation=word)
    assert len(products.launches) == 1
    sums = warpwright.gemm(a, b, bias=bias).detach().requires_grad_()
    want = _torch._torch_reference.activate(word, sums.float()).to(BF16)
    assert torch.equal(y, want)
    gradient = torch.randn(4, 5).to(BF16)
    y.backward(gradient)
    want.backward(gradient)
    assert torch.equal(b.grad, warpwright.gemm(sums.grad.t(), a.t()))


def test_what_is_changed_before_the_backward_pass_is_noticed(products):
    a, b = integers(4, 8), integers(5, 8).requires_grad_()
    know_all(products, a, b)
    y = warpwright.gemm(a, b)
    a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    # The result may be changed: nobody reads it again.
    y = warpwright.gemm(a, b)
    y.mul_(2)
    y.backward(torch.ones_like(y))
    assert torch.equal(b.grad.double(), 2 * torch.ones(4, 5).double().T @ a.double())


def test_a_graph_serves_once_or_is_kept(products):
    a, b = integers(4, 8), integers(5, 8).requires_grad_()
    know_all(products, a, b)
    y = warpwright.gemm(a, b)
    gradient = integers(4, 5)
    first, = torch.autograd.grad(y, b, gradient, retain_graph=True)
    second, = torch.autograd.grad(y, b, gradient)
    assert torch.equal(first, second)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y, b, gradient)


def test_hooks(products):
    a, b = integers(4, 8).requires_grad_(), integers(5, 8).requires_grad_()
    know_all(products, a, b)
    packed, seen = [], []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: (packed.append(x), x.clone())[1], lambda x: x):
        y = warpwright.gemm(a, b)
    assert len(packed) == 2
    y.register_hook(lambda gradient: (seen.append("result"), 2 * gradient)[1])
    y.grad_fn.register_hook(lambda made, given: seen.append("function"))
    b.register_post_accumulate_grad_hook(lambda x: seen.append("leaf"))
    gradient = integers(4, 5)
    y.backward(gradient)
    assert seen == ["result", "function", "leaf"]
    assert torch.equal(b.grad.double(), 2 * gradient.double().T @ a.detach().double())


@pytest.mark.parametrize("shape", [(4, 8), (2, 3, 8)])
@pytest.mark.parametrize("warm", [False, True])
def test_a_gradient_of_a_gradient(products, monkeypatch, shape, warm):
    a, b = integers(*shape).requires_grad_(), integers(5, 8).requires_grad_()
    if warm:
        know_all(products, a, b)
    else:
        monkeypatch.setattr(_torch_native, "native", lambda: None)
    y = warpwright.gemm(a, b)
    assert len(products.launches) == warm
    gradient = integers(*y.shape).requires_grad_()
    made = torch.autograd.grad(y, (a, b), gradient, create_graph=True)
    (made[0].float().square().sum() + made[1].float().square().sum()).backward()
    wide = [x.detach().double().requires_grad_() for x in (a, b, gradient)]
    z = wide[0] @ wide[1].T
    made = torch.autograd.grad(z, wide[:2], wide[2], create_graph=True)
    (made[0].square().sum() + made[1].square().sum()).backward()
    for x, want in zip((a, b, gradient), wide):
        assert float((x.grad.double() - want.grad).norm()) <= 1e-2 * float(want.grad.norm())


def test_checkpoints(products):
    from torch.utils.checkpoint import checkpoint

    a, b = integers(4, 8), integers(5, 8).requires_grad_()
    know_all(products, a, b)
    y = checkpoint(lambda x: warpwright.gemm(x, b), a, use_reentrant=False)
    y.backward(torch.ones_like(y))
    assert len(products.launches) == 3 and torch.equal(b.grad.double(), torch.ones(5, 4).double() @ a.double())


def test_others_go_another_way(products):
    """What has no gradient here, or one that Python makes."""
    a, b, learnt = integers(4, 8), integers(5, 8), integers(5, 8).requires_grad_()
    more = integers(4, 5)
    for named in ({"out": more}, {"c": more, "beta": 2.0}, {"residual": more}, {"epilogue": "relu(x)"},
                  {"bias": torch.ones(4, 1)}, {"activation": "silu"}):
        given = call(a, b, **named)
        assert _torch_train.learning(products, given) is None
        remembered(products, given, (4, 5))
        products.launches.calls[4660] = (a, b, 1.0, None, "none")
        assert products.gemm(*given) is not None
        assert products.gemm(*call(a, learnt, **named)) is None
    assert _torch_train.learning(products, call(a.t(), b)) is not None
    for x, y in ((integers(2, 4, 8), integers(2, 5, 8)), (integers(3, 2, 8).transpose(0, 1), b), (a[0], b)):
        assert _torch_train.learning(products, call(x, y)) is None
    named, shape, dtype = GROUPED_CALLS["contiguous"]
    given = given_to(_torch_grouped.grouped_gemm, **named)
    with pytest.raises(ValueError, match="no such place"):
        products.remember(GROUPED, given, None, 1, 0, 0, shape, shape, dtype, (print, (99,), (), False))
    with pytest.raises(TypeError):
        products.remember(GROUPED, given, None, 1, 0, 0, shape, shape, dtype, (print, 1, 2, False))


def test_forward_is_a_part_of_the_call(products):
    with pytest.raises(RuntimeError, match="forward: it is a part of gemm"):
        products.forward(object(), integers(4, 8))
    a, b = integers(4, 8), integers(5, 8)
    learning = _torch_train.learning(products, call(a, b))
    with pytest.raises(RuntimeError, match="forward: it is a part of gemm"):
        learning[0](a, b.requires_grad_())


def test_a_failure_arrives_as_its_exception(products):
    a, b = integers(4, 8), integers(5, 8).requires_grad_()
    know(products, a, b)
    products.code = 3
    with pytest.raises(warpwright.MissingError):
        warpwright.gemm(a, b)
    products.code = 0
    assert warpwright.gemm(a, b).requires_grad


def test_a_call_within_a_call(products, monkeypatch):
    """Between the call and its forward pass something else may call: what is collected as garbage, for one."""
    a, b, x = integers(4, 8), integers(5, 8).requires_grad_(), integers(4, 8)
    know(products, a, b, alpha=2.0)
    learning, inner = _torch_train.learning, []

    def with_another(module, given):
        apply, *rest = learning(module, given)
        return (lambda *inputs: (inner.append(warpwright.gemm(x, b, alpha=2.0)), apply(*inputs))[1], *rest)

    monkeypatch.setattr(_torch_train, "learning", with_another)
    know(products, a, b)
    y = warpwright.gemm(a, b)
    assert len(products.launches) == 2 and len(inner) == 1
    assert torch.equal(y.double(), a.double() @ b.detach().double().T)
    assert torch.equal(inner[0].double(), 2 * x.double() @ b.detach().double().T)


def test_nothing_is_kept_that_should_go(products):
    import weakref

    a, b = integers(4, 8), integers(5, 8).requires_grad_()
    know_all(products, a, b)
    gradient = integers(4, 5)
    for context in (contextlib.nullcontext, torch.no_grad):
        before = sys.getrefcount(a), sys.getrefcount(b), sys.getrefcount(gradient)
        with context():
            for _ in range(300):
                y = warpwright.gemm(a, b)
                if y.requires_grad:
                    torch.autograd.grad(y, b, gradient)
        gone = weakref.ref(y)
        del y
        assert gone() is None and (sys.getrefcount(a), sys.getrefcount(b), sys.getrefcount(gradient)) == before


def learnt(named, *names):
    return {key: x.clone().requires_grad_() if key in names else x for key, x in named.items()}


GROUPS = {
    "contiguous": {"a": integers(8, 16), "b": integers(2, 32, 16), "offsets": TABLE, "experts": TABLE[:2].clone().clamp(max=1),
                   "bias": torch.randn(2, 32)},
    "masked": {"a": integers(2, 4, 16), "b": integers(2, 32, 16), "counts": TABLE[1:].clone().clamp(max=4)},
    "along k": {"a": integers(24, 8), "b": integers(32, 8), "depths": TABLE},
    "one bias": {"a": integers(8, 16), "b": integers(2, 32, 16), "offsets": TABLE, "bias": integers(32)},
}
PLAN = type("Plan", (), {"handle": ctypes.c_void_p(1), "workspace_bytes": 0, "kept_bytes": 0})()


def same_gradients(function, named, names, launches):
    """The first call goes through Python, the second does not; the backward pass is the same. Without a GPU the launch
    writes nothing, and what it should have written is zero."""
    results = []
    for _ in range(2):
        operands = learnt(named, *names)
        count = len(launches)
        y = function(**operands)
        results.append((y, len(launches) - count, operands))
        y.backward(torch.ones_like(y))
    (first, none, by_python), (second, one, by_module) = results
    assert (none, one) == (0, 1) and first.shape == second.shape and first.dtype == second.dtype
    for name in names:
        assert torch.equal(by_python[name].grad, by_module[name].grad), name
        assert by_module[name].grad.shape == named[name].shape and by_module[name].grad.any()
    with torch.no_grad():
        assert not function(**named).requires_grad and len(launches) == count + 2
    return second


@pytest.mark.parametrize("kind", GROUPS)
def test_groups(native, monkeypatch, kind):  # noqa: F811
    named = GROUPS[kind]
    monkeypatch.setattr(_torch_native, "native", lambda: native)
    monkeypatch.setattr(_torch_grouped_launch, "plan_of", lambda x, settings: PLAN)
    names = ("a", "b", "bias") if "bias" in named else ("a", "b")
    y = same_gradients(warpwright.grouped_gemm, named, names, native.launches)
    assert not y.any() and y.grad_fn.name() == "GroupsBackward" and y.is_contiguous()
    if "depths" not in named:  # what swiglu makes of them is torch's
        count = len(native.launches)
        for more in (0, 1):
            assert warpwright.grouped_gemm(**learnt(named, "b"), activation="swiglu").requires_grad
            assert len(native.launches) == count + more


@pytest.mark.parametrize("more", [{}, {"shared": 1, "shared_weights": torch.rand(6, 1), "token_count": torch.tensor([5], dtype=torch.int32),
                                      "status": torch.zeros(1, dtype=torch.int32)}])
def test_layers(native, monkeypatch, more):  # noqa: F811
    named = {"x": torch.randn(6, 128).to(BF16), "w_gate_up": torch.randn(3, 256, 128).to(BF16) / 8,
             "w_down": torch.randn(3, 128, 128).to(BF16) / 8, "topk_ids": torch.randint(0, 2, (6, 2)), "topk_weights": torch.rand(6, 2)}
    monkeypatch.setattr(_torch_native, "native", lambda: native)
    monkeypatch.setattr(_torch_moe, "_plans", type("Plans", (), {"get": lambda self, layer: PLAN})())
    names = ("x", "w_gate_up", "w_down", "topk_weights") + (("shared_weights",) if more else ())
    y = same_gradients(warpwright.moe, named | more, names, native.launches)
    assert y.grad_fn.name() == "LayerBackward" and native.launches[-1]["out"]
    assert not (more and y.any())
    if more:
        assert native.launches[-1]["status"] == more["status"].data_ptr()


def test_what_is_compiled_gets_the_op(products):
    """Whoever has called it before, and however: a module does not call the public function."""
    torch._dynamo.reset()
    a, b = integers(4, 8), integers(5, 8)
    know(products, a, b)
    run = torch.compile(lambda x, y: 2 * warpwright.gemm(x, y), fullgraph=True, backend="eager")
    assert torch.equal(run(a, b).double(), 2 * a.double() @ b.double().T) and not products.launches


def test_what_is_compiled_is_launched_the_short_way(products):
    """The op, which a compiled program calls, says the type of the result."""
    a, b = integers(4, 8), integers(5, 8)
    know(products, a, b, out_dtype=BF16)
    op = torch.ops.warpwright.gemm.default
    made = op(a, b, BF16, None, 1.0, 0.0, None, "none", None, None, None, None, "fast", False, 0, "", "")
    assert torch.equal(made.double(), a.double() @ b.double().T) and len(products.launches) == 1


def test_names_of_arguments(products):
    a, b, bias = integers(4, 8), integers(5, 8), integers(5)
    know(products, a, b, bias=bias, alpha=2.0)
    for _ in range(2):
        assert products.gemm(a, b, bias=bias, alpha=2.0) is not None and products.gemm(b=b, alpha=2.0, a=a, bias=bias) is not None
    for positional, named in (((a, b), {"bias": bias}), ((a,), {"bias": bias, "alpha": 2.0}), ((a, b, None), {"bias": bias, "alpha": 2.0}),
                              ((), {}), ((a, b), {"bias": bias, "alpha": 2.0, "colour": 1}),
                              ((a, b), {"a": a, "bias": bias, "alpha": 2.0})):
        assert products.gemm(*positional, **named) is None
    # What is wrong is said by the function.
    for given, named, sentence in (((a,), {}, "missing 1 required positional argument: 'b'"),
                                   ((a, b, bias), {}, "takes 2 positional arguments"),
                                   ((a, b), {"colour": 1}, "unexpected keyword argument 'colour'")):
        with pytest.raises(TypeError, match=sentence):
            warpwright.gemm(*given, **named)
