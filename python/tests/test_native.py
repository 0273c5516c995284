"""The warm calls in compiled code, on CPU tensors: a stand-in takes the place of the library's launch."""

import contextlib
import ctypes
import inspect
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

import warpwright
from warpwright import (
    _abi, _torch, _torch_describe, _torch_grouped, _torch_grouped_launch, _torch_launch, _torch_moe, _torch_native)
from warpwright._torch_native import GEMM, GROUPED, MOE

BF16 = torch.bfloat16
STRUCTURES = (_abi.Pointers, _abi.GroupedPointers, _abi.MoePointers)
FUNCTIONS = (_torch.gemm, _torch_grouped.grouped_gemm, _torch_moe.moe)


def given_to(function, *tensors, **named):
    """All arguments of a call, in the order of its function."""
    bound = inspect.signature(function).bind(*tensors, **named)
    bound.apply_defaults()
    return bound.args


def call(a, b, **named):
    return given_to(_torch.gemm, a, b, **named)


class Plan:
    def __init__(self, handle=4660, workspace_bytes=0, kept_bytes=0):
        self.handle, self.workspace_bytes, self.kept_bytes = ctypes.c_void_p(handle), workspace_bytes, kept_bytes
        self.workspaces = {}


@pytest.fixture
def native(library):
    module = _torch_native.load()
    if module is None or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("the compiled call was not built, or torch is older than its interface")
    module.launches, module.code, module.device, module.capturing = [], 0, 0, False

    def launcher(structure):
        def launch(plan, pointers, stream):
            p = pointers.contents
            module.launches.append({name: getattr(p, name) for name, _ in p._fields_} | {"plan": plan})
            return module.code

        return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(structure), ctypes.c_void_p)(launch)

    module.stand_ins = [launcher(structure) for structure in STRUCTURES]
    _torch_native.set_up(module, _torch_native.CPU, lambda: module.device, lambda: module.capturing,
                         torch._C._dynamo.guards._empty_strided_cpu,
                         tuple(ctypes.cast(function, ctypes.c_void_p).value for function in module.stand_ins))
    yield module
    module.forget()


def remembered(module, arguments, shape, dtype=BF16, which=GEMM, **more):
    plan = Plan(**more)
    _torch_native.remember(module, which, arguments, plan, shape, dtype)
    return plan


def test_a_call_like_one_before_is_launched(native):
    a, b, bias, residual = torch.randn(2, 3, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16), torch.randn(5), \
        torch.randn(2, 3, 5, dtype=BF16)
    given = call(a, b, bias=bias, residual=residual, activation="silu")
    assert native.gemm(*given) is None and not native.launches
    remembered(native, given, (2, 3, 5))
    d = native.gemm(*given)
    assert d.shape == (2, 3, 5) and d.dtype == BF16 and d.stride() == (15, 5, 1) and type(d) is torch.Tensor
    seen = native.launches.pop()
    assert seen["plan"] == 4660 and seen["size"] == ctypes.sizeof(_abi.Pointers)
    assert (seen["a"], seen["b"], seen["d"]) == (a.data_ptr(), b.data_ptr(), d.data_ptr())
    assert (seen["bias"], seen["residual"]) == (bias.data_ptr(), residual.data_ptr())
    assert seen["c"] is seen["a_scales"] is seen["d_scale"] is seen["workspace"] is None
    # Other tensors of the same form, parameters among them.
    other = torch.nn.Parameter(torch.randn(5, 8, dtype=BF16), requires_grad=False)
    assert native.gemm(*call(a.clone(), other, bias=bias, residual=residual, activation="silu")) is not None
    assert native.launches.pop()["b"] == other.data_ptr()


def test_swiglu_has_half_the_columns(native):
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(32, 8, dtype=BF16)
    given = call(a, b, activation="swiglu")
    remembered(native, given, (4, 16))
    assert native.gemm(*given).shape == (4, 16) and native.gemm(*call(a, b)) is None


def test_out_c_and_factors(native):
    a, b, c, out = (torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16), torch.randn(4, 5, dtype=BF16),
                    torch.empty(4, 5, dtype=BF16))
    given = call(a, b, out=out, c=c, beta=2.0)
    remembered(native, given, (4, 5))
    assert native.gemm(*given) is out
    assert native.launches.pop()["c"] == c.data_ptr()
    one = torch.ones(1)
    given = call(a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn), a_scale=one, b_scale=one, out_scale=one)
    remembered(native, given, (4, 5), torch.float8_e4m3fn)
    assert native.gemm(*given).dtype == torch.float8_e4m3fn
    seen = native.launches.pop()
    assert seen["a_scales"] == seen["b_scales"] == seen["d_scale"] == one.data_ptr()


def test_every_difference_goes_another_way(native):
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    remembered(native, call(a, b), (4, 5))
    assert native.gemm(*call(a, b)) is not None
    base = torch.randn(200, dtype=BF16)
    shifted = base[1:33].view(4, 8)
    assert shifted.data_ptr() % 16 and not a.data_ptr() % 16
    different = [
        call(a[:3], b), call(a, b[:4]), call(a.half(), b), call(torch.randn(8, 4, dtype=BF16).T, b), call(shifted, b),
        call(a, b, bias=torch.randn(5)), call(a, b, out=torch.empty(4, 5, dtype=BF16)), call(a, b, out_dtype="fp32"),
        call(a, b, alpha=0.5), call(a, b, activation="silu"), call(a, b, deterministic=True), call(a, b, sm_limit=4),
        call(a, b, plan="x"), call(a, b, epilogue="x"), call(a, b, accumulation="promoted"), call(a[None], b), call(3, b), call(a, None),
        call(a.to("meta"), b), call(a.clone().requires_grad_(), b), call(a, [1]),
        call(a.as_subclass(type("Mine", (torch.Tensor,), {})), b)]
    native.launches.clear()
    for number, given in enumerate(different):
        assert native.gemm(*given) is None, number
    assert not native.launches
    # An equal value of another object is the same setting.
    assert native.gemm(*call(a, b, alpha=float("1.0"), activation="".join(["no", "ne"]))) is not None


def test_who_looks_at_calls_gets_them(native):
    from torch.utils._python_dispatch import TorchDispatchMode

    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    remembered(native, call(a, b), (4, 5))
    with TorchDispatchMode():
        assert native.gemm(*call(a, b)) is None
    seen = []
    torch.vmap(lambda x: (seen.append(native.gemm(*call(x, b))), x)[1])(a[None])
    assert seen == [None]
    torch.set_autocast_enabled("cuda", True)  # as torch.autocast does where there is a GPU
    try:
        assert native.gemm(*call(a, b)) is None
    finally:
        torch.set_autocast_enabled("cuda", False)
    torch.use_deterministic_algorithms(True)
    try:
        assert native.gemm(*call(a, b)) is None
    finally:
        torch.use_deterministic_algorithms(False)
    native.device = 1  # another one than that of the tensors
    assert native.gemm(*call(a, b)) is None
    native.device = 0
    grad = a.clone().requires_grad_()
    assert native.gemm(*call(grad, b)) is None
    with torch.no_grad():
        assert native.gemm(*call(grad, b)) is not None
    native.forget()
    assert native.gemm(*call(a, b)) is None


@pytest.fixture
def workspaces(monkeypatch):
    """The calls that Python makes."""
    made = []
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *shape, device, **named: (
        made.append(empty(*shape, **named).fill_(7)), made[-1])[1] if device == "cuda" else empty(*shape, device=device, **named))
    return made


def test_sums_are_kept_for_a_stream(native, workspaces, monkeypatch):
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: native.capturing)
    plan = remembered(native, call(a, b), (4, 5), workspace_bytes=64, kept_bytes=64)
    for _ in range(3):
        assert native.gemm(*call(a, b)) is not None
    assert len(workspaces) == 1 and not workspaces[0].any()  # zeroed
    used = [(seen["workspace"], seen["workspace_bytes"]) for seen in native.launches]
    assert used == [(workspaces[0].data_ptr(), 64)] * 3
    # A captured run gets memory that no other run has, and that is not kept.
    native.capturing = True
    for _ in range(2):
        assert native.gemm(*call(a, b)) is not None
    assert len(workspaces) == 3 and [x.data_ptr() for x in workspaces[1:]] == [
        seen["workspace"] for seen in native.launches[3:]]
    native.capturing = False
    assert native.gemm(*call(a, b)) is not None and native.launches[-1]["workspace"] == workspaces[0].data_ptr()
    assert list(plan.workspaces.values()) == [workspaces[0]]
    # Another call with the same plan shares it.
    given = call(a, b, out=torch.empty(4, 5, dtype=BF16, device="cpu"))
    _torch_native.remember(native, GEMM, given, plan, (4, 5), BF16)
    assert native.gemm(*given) is not None and native.launches[-1]["workspace"] == workspaces[0].data_ptr()


def test_copies_belong_to_a_run(native, workspaces, monkeypatch):
    """Two threads that launch on one stream: the copies of one must not lie where those of the other do."""
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: native.capturing)
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    remembered(native, call(a, b), (4, 5), workspace_bytes=1 << 20)
    assert native.gemm(*call(a, b)) is not None
    assert native.launches[-1]["workspace"] and native.launches[-1]["workspace_bytes"] == 1 << 20 and not workspaces
    # With sums before them: these are zero, and all of it is new.
    native.forget()
    plan = remembered(native, call(a, b), (4, 5), workspace_bytes=64, kept_bytes=16)
    for count in (1, 2):
        assert native.gemm(*call(a, b)) is not None and len(workspaces) == count
        assert not workspaces[-1][:16].any() and bool((workspaces[-1][16:] == 7).all())
        assert native.launches[-1]["workspace"] == workspaces[-1].data_ptr()
    assert not plan.workspaces


def test_a_workspace_that_cannot_be_had(native, monkeypatch):
    def full(*shape, **named):
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch, "empty", full)
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    remembered(native, call(a, b), (4, 5), workspace_bytes=64, kept_bytes=64)
    with pytest.raises(torch.OutOfMemoryError, match="full"):
        native.gemm(*call(a, b))
    assert not native.launches


E4M3 = torch.float8_e4m3fn
TABLE = torch.tensor([0, 3, 8], dtype=torch.int32)


def grouped(*shape, dtype=BF16):
    return torch.randn(*shape).to(dtype)


GROUPED_CALLS = {  # the arguments, the result's shape and type, and where the structure has each tensor
    "contiguous": ({"a": grouped(8, 16), "b": grouped(2, 32, 16), "offsets": TABLE, "experts": TABLE[:2].clone(),
                    "bias": torch.randn(2, 32), "status": TABLE[:1].clone()}, (8, 32), BF16),
    "gathered": ({"a": grouped(5, 16), "b": grouped(2, 32, 16), "offsets": TABLE,
                  "index": torch.arange(8, dtype=torch.int32) % 5, "activation": "swiglu"}, (8, 16), BF16),
    "masked": ({"a": grouped(2, 4, 16), "b": grouped(2, 32, 16), "counts": TABLE[:2].clone()}, (2, 4, 32), BF16),
    "own": ({"a": grouped(8, 16), "b": grouped(2, 32, 16), "offsets": TABLE, "bias": torch.randn(8, 1),
             "epilogue": "x * row_bias + beta", "beta": 2.0}, (8, 32), BF16),
    "along k": ({"a": grouped(24, 8), "b": grouped(32, 8), "depths": TABLE, "accumulate": True,
                 "out": torch.zeros(2, 24, 32)}, (2, 24, 32), torch.float32),
    "blockwise": ({"a": grouped(8, 128, dtype=E4M3), "b": grouped(2, 256, 128, dtype=E4M3), "offsets": TABLE,
                   "a_scale": torch.ones(8, 1), "b_scale": torch.ones(2, 2, 1), "activation": "swiglu", "out_dtype": E4M3,
                   "scales_out": torch.empty(8, 1)}, (8, 128), E4M3),
}
WHERE = {"a": "a", "b": "b", "offsets": "rows", "counts": "rows", "depths": "rows", "experts": "matrices", "bias": "bias",
         "status": "status", "index": "index", "a_scale": "a_scales", "b_scale": "b_scales", "scales_out": "d_scales"}


@pytest.mark.parametrize("kind", GROUPED_CALLS)
def test_grouped_products(native, kind):
    named, shape, dtype = GROUPED_CALLS[kind]
    given = given_to(_torch_grouped.grouped_gemm, **named)
    assert native.grouped_gemm(*given) is None
    remembered(native, given, shape, dtype, GROUPED)
    for context in (contextlib.nullcontext, torch.no_grad, torch.inference_mode):
        with context():
            d = native.grouped_gemm(*given)
        assert d.shape == shape and d.dtype == dtype and d.is_contiguous()
        assert d.is_inference() == (context is torch.inference_mode and "out" not in named)
    seen = native.launches[-1]
    wanted = {field: named[name].data_ptr() for name, field in WHERE.items() if name in named}
    assert wanted | {"d": d.data_ptr(), "size": ctypes.sizeof(_abi.GroupedPointers), "plan": 4660} == {
        name: value for name, value in seen.items() if value}
    assert ("out" in named) == (d is named.get("out"))
    # Another table of the same form is the same call; another number of rows, or another setting, is not.
    table = next(name for name in ("offsets", "counts", "depths") if name in named)
    other = {**named, table: named[table].clone()}
    assert native.grouped_gemm(*given_to(_torch_grouped.grouped_gemm, **other)) is not None
    assert native.launches[-1]["rows"] == other[table].data_ptr()
    for different in ({"a": named["a"][:-1]}, {"sm_limit": 3}, {"plan": "x"}, {"usual_rows": 2}, {table: None},
                      {table: named[table][:-1]}, {"out_dtype": torch.float64}, {"b": None}):
        assert native.grouped_gemm(*given_to(_torch_grouped.grouped_gemm, **{**named, **different})) is None
    if dtype == BF16:
        graded = {**named, "b": named["b"].clone().requires_grad_()}
        assert native.grouped_gemm(*given_to(_torch_grouped.grouped_gemm, **graded)) is None


def layer_of(dtype=BF16, ids=torch.int64):
    return {"x": grouped(6, 128, dtype=dtype), "w_gate_up": grouped(3, 256, 128, dtype=dtype),
            "w_down": grouped(3, 128, 128, dtype=dtype), "topk_ids": torch.zeros(6, 2, dtype=ids),
            "topk_weights": torch.ones(6, 2)}


@pytest.mark.parametrize("narrow", [False, True])
def test_layers_of_experts(native, narrow):
    named = layer_of(E4M3 if narrow else BF16, torch.int32 if narrow else torch.int64)
    names = {"x": "x", "w_gate_up": "w_gate_up", "w_down": "w_down", "topk_ids": "ids", "topk_weights": "weights"}
    if narrow:
        named |= {"x_scale": torch.ones(6, 1), "w_gate_up_scale": torch.ones(3, 2, 1), "w_down_scale": torch.ones(3, 1, 1)}
        names |= {"x_scale": "x_scales", "w_gate_up_scale": "w_gate_up_scales", "w_down_scale": "w_down_scales"}
    else:
        named |= {"shared": 1, "shared_weights": torch.ones(6, 1), "token_count": TABLE[1:2].clone(),
                  "status": TABLE[:1].clone()}
        names |= {"shared_weights": "shared_weights", "token_count": "token_count", "status": "status"}
    given = given_to(_torch_moe.moe, **named)
    assert native.moe(*given) is None
    remembered(native, given, (6, 128), BF16, MOE, workspace_bytes=4096)
    out = native.moe(*given)
    assert out.shape == (6, 128) and out.dtype == BF16
    seen = native.launches.pop()
    wanted = {field: named[name].data_ptr() for name, field in names.items()}
    assert wanted | {"out": out.data_ptr(), "size": ctypes.sizeof(_abi.MoePointers), "workspace_bytes": 4096, "plan": 4660,
                     "workspace": seen["workspace"]} == {name: value for name, value in seen.items() if value}
    assert seen["workspace"]
    for different in ({"sm_limit": 2}, {"shared": 2}, {"topk_ids": named["topk_ids"].short()}, {"w_down": None},
                      {"x": named["x"][:5]}):
        assert native.moe(*given_to(_torch_moe.moe, **{**named, **different})) is None
    if not narrow:
        graded = {**named, "topk_weights": named["topk_weights"].clone().requires_grad_()}
        assert native.moe(*given_to(_torch_moe.moe, **graded)) is None
    given = given_to(_torch_moe.moe, **named, out=torch.empty(6, 128, dtype=BF16))
    assert native.moe(*given) is None


def test_the_calls_are_told_apart(native):
    """The same tensors in another function are another call."""
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    remembered(native, call(a, b), (4, 5))
    assert native.grouped_gemm(*given_to(_torch_grouped.grouped_gemm, a, b)) is None
    with pytest.raises(ValueError, match="3: no such call"):
        native.remember(3, call(a, b), None, 1, 0, 0, (4, 5), (5, 1), BF16)
    assert native.remember(GROUPED, call(a, b), None, 1, 0, 0, (4, 5), (5, 1), BF16) is None  # of another function


@pytest.mark.parametrize("which", [GEMM, GROUPED, MOE])
def test_a_setting_that_cannot_be_compared(native, which):
    class Odd:
        def __eq__(self, other):
            native.forget()
            raise KeyError("odd")

    names = ({"a": grouped(4, 8), "b": grouped(5, 8)}, GROUPED_CALLS["contiguous"][0], layer_of())[which]
    function, warm = FUNCTIONS[which], (native.gemm, native.grouped_gemm, native.moe)[which]
    for _ in range(3):
        remembered(native, given_to(function, **names), (4, 5), BF16, which)
    assert warm(*given_to(function, **names, sm_limit=Odd())) is None and not native.launches


def test_a_failure_arrives_as_its_exception(native, monkeypatch):
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    remembered(native, call(a, b), (4, 5))
    native.code = 3
    with pytest.raises(warpwright.MissingError):
        native.gemm(*call(a, b))
    native.code = 0
    assert native.gemm(*call(a, b)) is not None


def test_nothing_is_kept_that_should_go(native):
    import weakref

    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    plan = Plan()
    _torch_native.remember(native, GEMM, call(a, b), plan, (4, 5), BF16)
    before = sys.getrefcount(None) - sys.getrefcount(None), sys.getrefcount(plan), sys.getrefcount(a)
    for _ in range(1000):
        native.gemm(*call(a, b))
        native.gemm(*call(a[:2], b))
    assert (0, sys.getrefcount(plan), sys.getrefcount(a)) == before
    made = weakref.ref(native.gemm(*call(a, b)))
    assert made() is None
    count = sys.getrefcount(plan)
    native.forget()
    assert sys.getrefcount(plan) == count - 1
    for rows in range(5000):  # more than it keeps
        _torch_native.remember(native, GEMM, call(torch.empty(rows + 1, 8, dtype=BF16), b), plan, (rows + 1, 5), BF16)


def test_threads(native):
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    pairs = [(a.clone(), b.clone()) for _ in range(4)]
    remembered(native, call(a, b), (4, 5))
    wrong = []

    def work(x, y):
        for _ in range(300):
            if native.gemm(*call(x, y)) is None:
                wrong.append(1)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(native.launches) == 1200
    known = {(x.data_ptr(), y.data_ptr()) for x, y in pairs}
    assert {(seen["a"], seen["b"]) for seen in native.launches} == known


def test_gemm_takes_this_way(native, monkeypatch):
    """From the first call, by Python, to the second: with CPU tensors in the place of those on a GPU."""
    a, b = torch.randn(2, 3, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    plan, launched = Plan(), []

    def launch(x, settings):
        launched.append(x)
        return _torch_describe.describe(x, settings)[0], plan

    monkeypatch.setattr(_torch_native, "native", lambda: native)
    monkeypatch.setattr(_torch_launch, "key_of", lambda *arguments: ("key",))
    monkeypatch.setattr(_torch_launch, "again", lambda *arguments: None)
    monkeypatch.setattr(_torch_launch, "remember", lambda *arguments: None)
    monkeypatch.setattr(_torch_launch, "launch", launch)
    assert warpwright.gemm(a, b).shape == (2, 3, 5) and len(launched) == 1
    assert warpwright.gemm(a, b).shape == (2, 3, 5) and len(launched) == 1 and len(native.launches) == 1
    warpwright.gemm(torch.randn(2, 3, 16, dtype=BF16)[..., ::2], b)  # had to be copied: not remembered
    warpwright.gemm(torch.randn(2, 3, 16, dtype=BF16)[..., ::2], b)
    assert len(launched) == 3 and len(native.launches) == 1
    assert _torch.gemm(a, b).shape == (2, 3, 5) and len(native.launches) == 2


def test_grouped_products_and_layers_take_this_way(native, monkeypatch):
    """As the one above, from the public functions."""
    named, shape, dtype = GROUPED_CALLS["contiguous"]
    plan, launched = Plan(), []
    monkeypatch.setattr(_torch_native, "native", lambda: native)
    monkeypatch.setattr(_torch_grouped_launch, "key_of", lambda *arguments: ("key",))
    monkeypatch.setattr(_torch_grouped_launch, "again", lambda *arguments: None)
    monkeypatch.setattr(_torch_grouped_launch, "remember", lambda *arguments: None)
    monkeypatch.setattr(_torch_grouped_launch, "launch", lambda x, settings: (launched.append(x), plan)[1])
    for _ in range(3):
        assert warpwright.grouped_gemm(**named).shape == shape
    assert len(launched) == 1 and len(native.launches) == 2
    layer = layer_of()
    monkeypatch.setattr(_torch_moe, "launch", lambda x, settings: (launched.append(x), Plan(workspace_bytes=4096))[1])
    for _ in range(3):
        assert warpwright.moe(**layer).shape == (6, 128)
    assert len(launched) == 2 and len(native.launches) == 4
    # A layer that learns goes this way on its way forward.
    layer["topk_weights"].requires_grad_()
    for _ in range(3):
        warpwright.moe(**layer)
    assert len(launched) == 3 and len(native.launches) == 6
    a, b = torch.randn(2, 4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16).requires_grad_()
    remembered(native, call(a, b.detach()), (2, 4, 5))
    native.launches.clear()
    assert warpwright.gemm(a, b).requires_grad and len(native.launches) == 1


def test_a_process_ends_in_peace(native):
    """What is remembered is Python's, which is gone before the module is."""
    code = f"import sys; sys.path[:0] = {sys.path!r}\nimport test_native as t\nimport ctypes, torch\n" \
           "from warpwright import _torch_native as n\nm = n.load()\n" \
           "n.set_up(m, n.CPU, lambda: 0, lambda: 0, torch._C._dynamo.guards._empty_strided_cpu, (1, 1, 1))\n" \
           "a, b = torch.ones(4, 8), torch.ones(5, 8)\nn.remember(m, 0, t.call(a, b), t.Plan(), (4, 5), torch.float32)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
