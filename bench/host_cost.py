"""What a warm call costs the host, in microseconds: warpwright beside torch, the least of many bursts.

With a GPU the calls are real, on small products, and the stream is drained between bursts. WARPWRIGHT_NATIVE=off leaves
the compiled part out. Without a GPU CPU tensors stand for those on one, a function that does nothing stands for the
launch, and torch multiplies 1 x 1.

Usage: host_cost.py
"""
import ctypes
import gc
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import torch
import warpwright
import warpwright.nn
from warpwright import _torch_native

BURSTS, CALLS = 400, 50
GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"


def make(*shape):
    return torch.randn(*shape, device=DEVICE).bfloat16()


a, b, bias, out, layer = make(128, 256), make(64, 256), make(64), make(128, 64), warpwright.nn.Linear(
    256, 64, device=DEVICE, dtype=torch.bfloat16)
left, right = (a, b.T) if GPU else (make(1, 1), make(1, 1))
linear = torch.nn.Linear(right.shape[0], right.shape[1], device=DEVICE, dtype=torch.bfloat16)
w, offsets = make(4, 256, 256), torch.tensor([0, 30, 60, 90, 128], dtype=torch.int32, device=DEVICE)
CALLS_OF = {
    "torch.mm": lambda: torch.mm(left, right),
    "warpwright.gemm": lambda: warpwright.gemm(a, b),
    "warpwright.gemm, out": lambda: warpwright.gemm(a, b, out=out),
    "warpwright.gemm, bias and silu": lambda: warpwright.gemm(a, b, bias=bias, activation="silu"),
    "torch.nn.Linear": lambda: linear(left),
    "warpwright.nn.Linear": lambda: layer(a),
}
if GPU:
    CALLS_OF["warpwright.grouped_gemm"] = lambda: warpwright.grouped_gemm(a, w, offsets=offsets)


def stand_in():
    """Everything but the launch, for the calls above."""
    module = _torch_native.load()
    if module is None:
        sys.exit("the compiled part was not built: without it a GPU is needed")
    nothing = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value  # returns 0 for the plan 0
    _torch_native.set_up(module, _torch_native.CPU, torch._C._len_torch_dispatch_stack,
                         torch._C._dynamo.guards._empty_strided_cpu, nothing)
    rest = (None, None, None, None, "fast", False, 0, None, None)
    for call in ((a, b, None, None, None, 1.0, 0.0, None, "none", *rest),
                 (a, b, out, None, None, 1.0, 0.0, None, "none", *rest),
                 (a, b, None, None, None, 1.0, 0.0, bias, "silu", *rest),
                 (a, layer.weight, None, None, None, 1.0, 0.0, layer.bias, "none", *rest)):
        module.remember(call, None, 0, False, (128, 64), (64, 1), torch.bfloat16)
    _torch_native.native = lambda: module


gc.disable()
with torch.no_grad():
    if not GPU:
        stand_in()
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if GPU else 'no GPU: nothing is launched'}, "
          f"{'compiled' if _torch_native.native() is not None else 'Python alone'}")
    for name, call in CALLS_OF.items():
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
        print(f"{name:32}{least / CALLS * 1e6:6.2f} us")
