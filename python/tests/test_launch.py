"""The short way of calls like one before, in Python: CPU tensors in the place of those on a GPU, a stand-in for plans."""

import contextlib
import ctypes

import pytest

torch = pytest.importorskip("torch")

import warpwright
from warpwright import _abi, _torch_describe, _torch_grouped_launch, _torch_launch, _torch_native

BF16 = torch.bfloat16


@pytest.fixture
def plans(library, monkeypatch):
    made = []

    class Plan:
        """Multiplies what it is pointed to, as its problem says."""

        def __init__(self, problem):
            self.problem, self.runs, self.code = problem, [], 0
            self.workspace_bytes, self.kept_bytes, self.workspaces, self.handle = 0, 0, {}, ctypes.c_void_p(1)
            self.entry = lambda handle, reference, stream: self.take(reference._obj, stream)
            made.append(self)

        def take(self, pointers, stream):
            self.runs.append(({name: getattr(pointers, name) for name, _ in pointers._fields_}, stream))
            return self.code

        def run(self, pointers, stream):
            _abi.raise_on(self.take(pointers, stream))

    monkeypatch.setattr(_abi, "Plan", Plan)
    monkeypatch.setattr(_abi, "GroupedPlan", Plan)
    monkeypatch.setattr(_torch_launch, "is_on_gpu", lambda x: True)
    monkeypatch.setattr(_torch_launch, "empty_strided", torch._C._dynamo.guards._empty_strided_cpu)
    monkeypatch.setattr(_torch_native, "native", lambda: None)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: -1, raising=False)  # the number of a CPU
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 7, raising=False)
    monkeypatch.setattr(torch.cuda, "device", lambda device: contextlib.nullcontext())
    for kept in (_torch_launch._plans, _torch_launch._ready, _torch_grouped_launch._plans, _torch_grouped_launch._ready):
        kept.clear()
    yield made
    for kept in (_torch_launch._plans, _torch_launch._ready, _torch_grouped_launch._plans, _torch_grouped_launch._ready):
        kept.clear()


@pytest.fixture
def described(monkeypatch):
    """How often a call was looked at from the beginning."""
    count, describe = [], _torch_describe.describe
    monkeypatch.setattr(_torch_launch, "describe", lambda x, s: (count.append(1), describe(x, s))[1])
    grouped = _torch_grouped_launch.describe
    monkeypatch.setattr(_torch_grouped_launch, "describe", lambda x, s: (count.append(1), grouped(x, s))[1])
    return count


def make(*shape, dtype=BF16):
    return torch.randn(*shape).to(dtype)


def test_a_second_call_is_not_looked_at_again(plans, described):
    a, b, bias, c, residual = make(2, 3, 8), make(5, 8), make(5), make(2, 3, 5), make(2, 3, 5)
    named = {"bias": bias, "c": c, "beta": 2.0, "residual": residual, "activation": "silu"}
    for _ in range(3):
        d = warpwright.gemm(a, b, **named)
        assert d.shape == (2, 3, 5) and d.dtype == BF16 and d.is_contiguous()
        seen, stream = plans[0].runs[-1]
        assert (seen["a"], seen["b"], seen["d"], seen["c"], seen["bias"], seen["residual"]) == tuple(
            x.data_ptr() for x in (a, b, d, c, bias, residual)) and stream == 7
    assert len(described) == 1 and len(plans) == 1 and len(plans[0].runs) == 3
    out = make(2, 3, 5)
    assert warpwright.gemm(a, b, out=out) is out and warpwright.gemm(a, b, out=out) is out
    assert plans[1].runs[-1][0]["d"] == out.data_ptr() and plans[1].runs[-1][0]["c"] is None and len(described) == 2


def test_swiglu_has_half_the_columns(plans, described):
    a, b, bias = make(2, 3, 8), make(32, 8), make(32)
    for _ in range(3):
        assert warpwright.gemm(a, b, bias=bias, activation="swiglu").shape == (2, 3, 16)
    assert len(described) == 1 and plans[0].problem.n == 32
    assert plans[0].problem.activation == _abi.words("activation")["swiglu"]


def test_tuning_is_part_of_the_problem(plans, described):
    a, b, offsets = make(40, 128), make(64, 128), torch.tensor([0, 40], dtype=torch.int32)
    measure, usual, ahead = (_abi.words("tuning")[word] for word in ("measure", "usual", "ahead"))
    for _ in range(2):
        warpwright.gemm(a, b, tuning="measure")
        warpwright.gemm(a, b)
        warpwright.gemm(a, b, plan="dense-64x64-c1-s4", tuning="measure")
        warpwright.grouped_gemm(a, b[None], offsets=offsets, tuning="measure")
        warpwright.gemm(a, b, tuning="ahead")
    assert len(plans) == len(described) == 5
    assert [plan.problem.tuning for plan in plans] == [measure, usual, usual, measure, ahead]
    assert [plan.problem.plan for plan in plans] == [None, None, b"dense-64x64-c1-s4", None, None]
    with pytest.raises(ValueError, match="tuning: 'often' is not one of usual, measure, ahead"):
        warpwright.gemm(a, b, tuning="often")


def test_what_differs_is(plans, described):
    a, b = make(4, 8), make(5, 8)
    calls = [lambda: warpwright.gemm(a, b), lambda: warpwright.gemm(a[:3], b), lambda: warpwright.gemm(a.half(), b.half()),
             lambda: warpwright.gemm(make(8, 4).T, b), lambda: warpwright.gemm(a, b, alpha=0.5),
             lambda: warpwright.gemm(a, b, out_dtype="fp32"), lambda: warpwright.gemm(a, b, sm_limit=4),
             lambda: warpwright.gemm(a, b, bias=make(5)), lambda: warpwright.gemm(a, b, bias=make(5, dtype=torch.float32))]
    for call in calls:
        call()
    assert len(described) == len(plans) == len(calls)
    for call in calls:
        call()
    assert len(described) == len(calls)
    warpwright.gemm(make(4, 16)[:, ::2], b)  # is copied, each time
    warpwright.gemm(make(4, 16)[:, ::2], b)
    assert len(described) == len(calls) + 2


def test_a_failure_of_a_warm_launch_is_said(plans):
    a, b = make(4, 8), make(5, 8)
    warpwright.gemm(a, b)
    plans[0].code = 4
    with pytest.raises(warpwright.WarpwrightError):
        warpwright.gemm(a, b)
    plans[0].code = 0
    assert warpwright.gemm(a, b).shape == (4, 5)


def test_a_workspace_belongs_to_its_stream(plans, monkeypatch):
    capturing = False
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: capturing)
    made = []  # they are kept here, so that no two have one address
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *shape, device=None, **named: (
        made.append(empty(*shape, **named).fill_(7)), made[-1])[1] if device == "cuda" else empty(*shape, device=device, **named))
    a, b = make(4, 8), make(5, 8)
    warpwright.gemm(a, b)
    plans[0].workspace_bytes = plans[0].kept_bytes = 64

    def used(*streams):
        del plans[0].runs[:]
        for stream in streams:
            monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device, stream=stream: stream, raising=False)
            warpwright.gemm(a, b)
        return [seen["workspace"] for seen, _ in plans[0].runs]

    first = used(7, 7, 8, 7)
    assert first[0] == first[1] == first[3] != first[2] and len(made) == 2 and not any(x.any() for x in made)
    capturing = True
    assert not {*used(7, 7, 8)} & {*first} and len(made) == 5 and len(plans[0].workspaces) == 2
    capturing = False
    assert used(8, 7) == [first[2], first[0]] and len(made) == 5
    # Copies of operands belong to a run: another thread may launch on this stream between a copy and its product.
    plans[0].kept_bytes = 16
    assert len({*used(7, 7), *first}) == 4 and len(made) == 7
    assert all(not x[:16].any() and (x[16:] == 7).all() for x in made[5:])


def test_groups(plans, described):
    a, b, bias = make(40, 128), make(2, 64, 128), make(2, 64)
    offsets, experts = (torch.tensor(x, dtype=torch.int32) for x in ([0, 10, 40], [1, 0]))
    for _ in range(3):
        d = warpwright.grouped_gemm(a, b, offsets=offsets, experts=experts, bias=bias)
        assert d.shape == (40, 64) and d.dtype == BF16
        seen, stream = plans[0].runs[-1]
        assert (seen["a"], seen["b"], seen["d"], seen["rows"], seen["matrices"], seen["bias"]) == tuple(
            x.data_ptr() for x in (a, b, d, offsets, experts, bias)) and stream == 7
    assert len(described) == 1 and len(plans) == 1
    out = torch.zeros(2, 64, 64)
    for _ in range(2):
        assert warpwright.grouped_gemm(a.T.contiguous()[:64, :40], make(64, 40), depths=offsets, out=out,
                                       accumulate=True) is out
    warpwright.grouped_gemm(a[:20].contiguous(), b, offsets=offsets)
    warpwright.grouped_gemm(a, b, offsets=offsets, activation="swiglu")
    assert len(plans) == 4 and len(described) == 4
