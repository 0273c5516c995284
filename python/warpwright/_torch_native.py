"""The warm call of gemm() in compiled code (python/native), where it was built and torch has what it needs."""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import os
import sysconfig
from typing import Any, Callable, Optional

import torch

from . import _abi
from ._torch_describe import PLAIN
from ._torch_launch import empty_strided, packed_strides

FILE = "_native.abi3.so"
CPU, CUDA = 1, 2  # as DLPack counts devices


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


def set_up(module: Any, device_type: int, current_device: Callable[[], int], make: Any, run: int) -> None:
    module.set_up(torch.Tensor.__dlpack_c_exchange_api__, PLAIN,
                  (torch.is_autocast_enabled, torch._C._len_torch_dispatch_stack,
                   torch._C._are_functorch_transforms_active),
                  torch.is_grad_enabled, torch.are_deterministic_algorithms_enabled, current_device, make,
                  _abi.raise_on, device_type, run)


@functools.lru_cache(maxsize=None)
def native() -> Optional[Any]:
    """The module, ready for tensors on a GPU; None: Python does it all."""
    if empty_strided is None or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        return None
    try:
        module = load()
        if module is not None:
            set_up(module, CUDA, torch._C._cuda_getDevice, empty_strided,
                   ctypes.cast(_abi.library().ww_plan_run, ctypes.c_void_p).value or 0)
        return module
    except (ImportError, ValueError, AttributeError):
        return None  # another Python or torch than it was built for


def remember(module: Any, call: tuple[Any, ...], plan: _abi.Plan, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """Plans with a workspace stay Python's: theirs belongs to a stream, or to a graph."""
    if not plan.workspace_bytes:
        module.remember(call, plan, plan.handle.value, plan.reads_c, tuple(shape), packed_strides(shape), dtype)
