"""The warm call in compiled code, on CPU tensors: a stand-in takes the place of the library's launch."""

import ctypes
import threading

import pytest

torch = pytest.importorskip("torch")

import warpwright
from warpwright import _abi, _torch, _torch_describe, _torch_launch, _torch_native

BF16 = torch.bfloat16
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_abi.Pointers), ctypes.c_void_p)
NAMES = ("a", "b", "out", "out_dtype", "c", "alpha", "beta", "bias", "activation", "residual", "a_scale", "b_scale",
         "out_scale", "accumulation", "deterministic", "sm_limit", "plan", "epilogue")
USUAL = {"out_dtype": None, "alpha": 1.0, "beta": 0.0, "activation": "none", "accumulation": "fast",
         "deterministic": False, "sm_limit": 0, "plan": None, "epilogue": None}


def call(a, b, **named):
    return tuple({**USUAL, "a": a, "b": b, **named}.get(name) for name in NAMES)


class Plan:
    def __init__(self, handle=4660, workspace_bytes=0, reads_c=False):
        self.handle, self.workspace_bytes, self.reads_c = ctypes.c_void_p(handle), workspace_bytes, reads_c


@pytest.fixture
def native(library):
    module = _torch_native.load()
    if module is None or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("the compiled call was not built, or torch is older than its interface")
    module.launches, module.code, module.device = [], 0, 0

    def launch(plan, pointers, stream):
        p = pointers.contents
        module.launches.append({name: getattr(p, name) for name, _ in p._fields_} | {"plan": plan})
        return module.code

    module.stand_in = LAUNCH(launch)
    _torch_native.set_up(module, _torch_native.CPU, lambda: module.device, torch._C._dynamo.guards._empty_strided_cpu,
                         ctypes.cast(module.stand_in, ctypes.c_void_p).value)
    yield module
    module.forget()


def remembered(module, arguments, shape, dtype=BF16, **more):
    _torch_native.remember(module, arguments, Plan(**more), shape, dtype)


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
    for reads in (True, False):
        native.forget()
        given = call(a, b, out=out, c=c, beta=2.0 if reads else 0.0)
        remembered(native, given, (4, 5), reads_c=reads)
        assert native.gemm(*given) is out
        assert native.launches.pop()["c"] == (c.data_ptr() if reads else None)
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


def test_plans_with_a_workspace_stay_with_python(native):
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    remembered(native, call(a, b), (4, 5), workspace_bytes=64)
    assert native.gemm(*call(a, b)) is None


def test_a_failure_arrives_as_its_exception(native, monkeypatch):
    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    remembered(native, call(a, b), (4, 5))
    native.code = 3
    with pytest.raises(warpwright.MissingError):
        native.gemm(*call(a, b))
    native.code = 0
    assert native.gemm(*call(a, b)) is not None


def test_nothing_is_kept_that_should_go(native):
    import sys
    import weakref

    a, b = torch.randn(4, 8, dtype=BF16), torch.randn(5, 8, dtype=BF16)
    plan = Plan()
    _torch_native.remember(native, call(a, b), plan, (4, 5), BF16)
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
        _torch_native.remember(native, call(torch.empty(rows + 1, 8, dtype=BF16), b), plan, (rows + 1, 5), BF16)


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
