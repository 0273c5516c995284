"""The warm calls in compiled code (python/native), where it was built and torch has what it needs."""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import sysconfig
from typing import Any, Callable, Optional, Union

import torch

from . import _abi
from ._torch_describe import PLAIN
from ._torch_launch import empty_strided, packed_strides, workspace
from ._warm import WAYS

FILE = "_native.abi3.so"
CPU, CUDA = 1, 2  # as DLPack counts devices
GEMM, GROUPED, MOE = range(3)  # as forms.h counts calls
for way in WAYS:  # what is traced has to reach the ops
    way.is_compiling = torch.compiler.is_compiling
RUNS = ("ww_plan_run", "ww_grouped_plan_run", "ww_moe_plan_run")


def load() -> Any:
    """The module, or None where it was not built, or is switched off by WARPWRIGHT_NATIVE=off."""
    if os.environ.get("WARPWRIGHT_NATIVE") == "off" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    named = os.environ.get("WARPWRIGHT_NATIVE")
    path = next((str(p) for p in ([named] if named else _abi.files("lib", FILE)) if os.path.isfile(p)), None)
    if path is None:
        return None
    loader = importlib.machinery.ExtensionFileLoader("warpwright._native", path)
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("warpwright._native", loader, origin=path))
    loader.exec_module(module)
    return module


def _parameters() -> Any:
    """The names of the arguments of each call, and what those are that are not given."""
    from . import _torch, _torch_grouped, _torch_moe

    calls = [inspect.signature(function).parameters for function in (
        _torch.gemm, _torch_grouped.grouped_gemm, _torch_moe.moe)]
    names = (tuple(sys.intern(name) for name in call) for call in calls)
    defaults = (tuple(None if x.default is x.empty else x.default for x in call.values()) for call in calls)
    return tuple(names), tuple(defaults)


def set_up(module: Any, device_type: int, current_device: Callable[[], int], is_capturing: Callable[[], bool], make: Any,
           runs: tuple[int, ...]) -> None:
    module.set_up(torch.Tensor.__dlpack_c_exchange_api__, PLAIN,
                  (torch.is_autocast_enabled, torch._C._len_torch_dispatch_stack,
                   torch._C._are_functorch_transforms_active),
                  torch.is_grad_enabled, torch._C._get_deterministic_algorithms, current_device, is_capturing, make,
                  torch.uint8, workspace, _abi.raise_on, device_type, runs, *_parameters())


@functools.lru_cache(maxsize=None)
def native() -> Optional[Any]:
    """The module, ready for tensors on a GPU; None: Python does it all."""
    if empty_strided is None or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        return None
    try:
        module = load()
        if module is not None:
            runs = (ctypes.cast(getattr(_abi.library(), name), ctypes.c_void_p).value or 0 for name in RUNS)
            set_up(module, CUDA, torch._C._cuda_getDevice, torch._C._cuda_isCurrentStreamCapturing, empty_strided,
                   tuple(runs))
        return module
    except (ImportError, ValueError, AttributeError):
        return None  # another Python or torch than it was built for


def differentiable(module: Any, name: str, backward: Callable[..., Any]) -> Callable[..., Any]:
    """What hands a call to autograd: a function of it whose forward pass is the module's. It is torch's own function
    below ``Function.apply``, which looks for a ``setup_context`` and for tensors of transforms: there are none."""
    function = type(name, (torch.autograd.Function,), {
        "forward": staticmethod(module.forward), "backward": staticmethod(backward)})
    below: Any = super(torch.autograd.Function, function)
    apply: Callable[..., Any] = below.apply
    return apply


def remember(module: Any, which: int, call: tuple[Any, ...], plan: Union[_abi.Plan, _abi.GroupedPlan, _abi.MoePlan],
             shape: tuple[int, ...], dtype: torch.dtype, learning: Optional[tuple[Any, ...]] = None) -> None:
    """``call`` has the arguments of the function in the order of forms.h; ``learning`` says how it gets a gradient."""
    WAYS[which].compiled = (module.gemm, module.grouped_gemm, module.moe)[which]
    module.remember(which, call, plan, plan.handle.value, plan.workspace_bytes, plan.kept_bytes, tuple(shape),
                    packed_strides(shape), dtype, learning)
