"""What a warm call costs the host, in microseconds: warpwright beside torch, the least of many bursts.

With a GPU the calls are real, on small products, and the stream is drained between bursts. WARPWRIGHT_NATIVE=off leaves
the compiled part out. Without a GPU CPU tensors stand for those on one, a function that does nothing stands for the
launch, and torch multiplies 1 x 1.

Usage: host_cost.py
"""
import ctypes
import gc
import inspect
import pathlib
import sys
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import torch
import warpwright
import warpwright.nn
from warpwright import _torch, _torch_grouped, _torch_grouped_gradient, _torch_moe, _torch_moe_gradient, _torch_native, _torch_train

BURSTS, CALLS = 400, 50
GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
WORKSPACE = 1 << 16  # bytes, of plans that have one, where nothing is launched


def make(*shape):
    return torch.randn(*shape, device=DEVICE).bfloat16()


a, b, bias, out, layer = make(128, 256), make(64, 256), make(64), make(128, 64), warpwright.nn.Linear(
    256, 64, device=DEVICE, dtype=torch.bfloat16)
left, right = (a, b.T) if GPU else (make(1, 1), make(1, 1))
linear = torch.nn.Linear(right.shape[0], right.shape[1], device=DEVICE, dtype=torch.bfloat16)
w, offsets = make(4, 256, 256), torch.tensor([0, 30, 60, 90, 128], dtype=torch.int32, device=DEVICE)
odd, odd_b = make(128, 255), make(64, 255)  # rows that no TMA can address are copied first, to a workspace
split_a, split_b = make(16, 8192), make(64, 8192)  # few tiles that share their depth leave sums in a workspace
x, gate_up, down = make(16, 256), make(4, 256, 256), make(4, 256, 128)
ids, weights = torch.zeros(16, 2, dtype=torch.int64, device=DEVICE), torch.ones(16, 2, device=DEVICE)
learnt, right_learnt = b.clone().requires_grad_(), right.clone().requires_grad_()
bias_learnt, w_learnt, gate_up_learnt = (tensor.clone().requires_grad_() for tensor in (bias, w, gate_up))
CALLS_OF = {
    "torch.mm": lambda: torch.mm(left, right),
    "warpwright.gemm": lambda: warpwright.gemm(a, b),
    "warpwright.gemm, out": lambda: warpwright.gemm(a, b, out=out),
    "warpwright.gemm, bias and silu": lambda: warpwright.gemm(a, b, bias=bias, activation="silu"),
    "warpwright.gemm, rows copied": lambda: warpwright.gemm(odd, odd_b),
    "warpwright.gemm, few tiles": lambda: warpwright.gemm(split_a, split_b),
    "warpwright.grouped_gemm": lambda: warpwright.grouped_gemm(a, w, offsets=offsets),
    "warpwright.moe": lambda: warpwright.moe(x, gate_up, down, ids, weights),
    "torch.nn.Linear": lambda: linear(left),
    "warpwright.nn.Linear": lambda: layer(a),
}
class Nothing(torch.autograd.Function):
    """What autograd costs a function in Python."""

    @staticmethod
    def forward(ctx, x, y):
        return torch.empty_strided((1, 1), (1, 1)) if GPU else torch._C._dynamo.guards._empty_strided_cpu((1, 1), (1, 1), torch.bfloat16)

    @staticmethod
    def backward(ctx, gradient):
        return None, None


below_apply = super(torch.autograd.Function, Nothing).apply
WITH_GRADIENT = {
    "torch's Function.apply": lambda: Nothing.apply(left, right_learnt),
    "what is below it": lambda: below_apply(left, right_learnt),
    "torch.mm": lambda: torch.mm(left, right_learnt),
    "warpwright.gemm": lambda: warpwright.gemm(a, learnt),
    "warpwright.gemm, bias": lambda: warpwright.gemm(a, learnt, bias=bias_learnt),
    "warpwright.gemm, bias and silu": lambda: warpwright.gemm(a, learnt, bias=bias_learnt, activation="silu"),
    "warpwright.grouped_gemm": lambda: warpwright.grouped_gemm(a, w_learnt, offsets=offsets),
    "warpwright.moe": lambda: warpwright.moe(x, gate_up_learnt, down, ids, weights),
    "torch.nn.Linear": lambda: linear(left),
    "warpwright.nn.Linear": lambda: layer(a),
}


def backward_of(product, *operands):
    """The step of the backward pass alone, of a product of which both operands want a gradient."""
    made = product(*(x.clone().requires_grad_() for x in operands))
    step, gradient = made.grad_fn, torch.ones_like(made)
    run = step if "Mm" in step.name() else step.apply  # C++ is called, and what is written in Python is applied
    return lambda: (made, run(gradient))[1]


def stand_in():
    """Everything but the launch, for the calls above."""
    module = _torch_native.load()
    if module is None:
        sys.exit("the compiled part was not built: without it a GPU is needed")
    nothing = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value  # returns 0 for the plan 0
    none = torch._C._len_torch_dispatch_stack  # 0, at the cost of such a question
    _torch_native.set_up(module, _torch_native.CPU, none, none, torch._C._dynamo.guards._empty_strided_cpu,
                         (nothing,) * len(_torch_native.RUNS))

    class Plan:
        handle = types.SimpleNamespace(value=0)
        workspaces = {0: torch.zeros(WORKSPACE, dtype=torch.uint8)}

        def __init__(self, workspace_bytes=0, kept_bytes=0):
            self.workspace_bytes, self.kept_bytes = workspace_bytes, kept_bytes

    def remember(which, function, plan, shape, *tensors, **named):
        given = inspect.signature(function).bind(*tensors, **named)
        given.apply_defaults()
        if which == _torch_native.GEMM:
            learning = _torch_train.learning(module, given.args)
        elif which == _torch_native.GROUPED:
            learning = _torch_grouped_gradient.learning(module, None)
        else:
            learning = _torch_moe_gradient.learning(module, _torch_moe.Settings(0, 0), None)
        _torch_native.remember(module, which, given.args, plan, shape, torch.bfloat16, learning)

    def gemm(*tensors, plan=None, **named):
        remember(_torch_native.GEMM, _torch.gemm, plan or Plan(), (len(tensors[0]), 64), *tensors, **named)

    torch.cuda.is_current_stream_capturing = lambda: False
    gemm(a, b)
    gemm(a, b, out_dtype=torch.bfloat16)  # as the op says it, which is what compiled programs call
    gemm(a, b, out=out)
    gemm(a, b, bias=bias, activation="silu")
    gemm(a, layer.weight, bias=layer.bias)
    gemm(a, learnt, bias=bias)
    d, plan = torch.ones_like(out), Plan()  # of the backward pass, with the shapes of its results
    for shape, left, right in (((128, 256), d, b.T), ((64, 256), d.T, a.T)):
        remember(_torch_native.GEMM, _torch.gemm, plan, shape, left, right, out_dtype=torch.bfloat16)
    gemm(odd, odd_b, plan=Plan(WORKSPACE))
    gemm(split_a, split_b, plan=Plan(WORKSPACE, WORKSPACE))
    remember(_torch_native.GROUPED, _torch_grouped.grouped_gemm, Plan(), (128, 256), a, w, offsets)
    remember(_torch_native.MOE, _torch_moe.moe, Plan(WORKSPACE), (16, 256), x, gate_up, down, ids, weights)
    _torch_native.native = lambda: module


def measure(calls):
    for name, call in calls.items():
        for _ in range(20):
            call()
        least = float("inf")
        for _ in range(BURSTS):
            if GPU:
                torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            least = min(least, time.perf_counter() - begin)
        print(f"  {name:32}{least / CALLS * 1e6:6.2f} us")


gc.disable()
if not GPU:
    with torch.no_grad():
        stand_in()
print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if GPU else 'no GPU: nothing is launched'}, "
      f"{'compiled' if _torch_native.native() is not None else 'Python alone'}")
for title, context in (("inference_mode", torch.inference_mode), ("no_grad", torch.no_grad)):
    print(title)
    with context():
        measure(CALLS_OF)
print("with gradients enabled, of tensors that want none")
measure({name: call for name, call in CALLS_OF.items() if "Linear" not in name})
print("with a gradient, forward")
measure(WITH_GRADIENT)
print("compiled, no_grad")
by_torch, by_us = torch.compile(lambda x, y: torch.mm(x, y)), torch.compile(lambda x, y: warpwright.gemm(x, y))
with torch.no_grad():
    measure({"torch.mm": lambda: by_torch(left, right), "warpwright.gemm": lambda: by_us(a, b)})
print("with gradients of both operands, the step of the backward pass")
BACKWARD = {"torch.mm": backward_of(torch.mm, left, right), "warpwright.gemm": backward_of(warpwright.gemm, a, b)}
with torch.no_grad():
    measure(BACKWARD)
