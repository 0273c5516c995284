"""Modules whose products are warpwright's, with the names and state_dicts of those they stand for.

``Linear`` and ``MLP`` hold bf16, fp16 or fp32 weights; ``BlockwiseLinear``, ``BlockwiseMLP`` and ``Experts`` with
``narrow=True`` hold e4m3 with a factor for each 128 x 128, made when weights are loaded. What the kernels have no type for
is multiplied by torch.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor

from ._gemm import ACTIVATIONS
from ._quantize import BLOCK, Quantized, dequantize, quantize
from ._torch_layers import blockwise_linear, blockwise_mlp, experts_product, linear, swiglu_linear

__all__ = ["BlockwiseLinear", "BlockwiseMLP", "Experts", "Linear", "MLP"]

EVEN_ACTIVATIONS = tuple(word for word in ACTIVATIONS if word != "swiglu")  # that leave the columns as many as they are
SCALE_SUFFIX = "_scale_inv"  # of the factors of a weight in checkpoints that are quantized already


class Linear(torch.nn.Linear):
    """``torch.nn.Linear`` by ``warpwright.gemm``, which may apply an activation on the way.

    >>> import torch, warpwright.nn
    >>> layer = warpwright.nn.Linear(64, 48, activation="silu", dtype=torch.bfloat16)
    >>> layer(torch.ones(2, 3, 64, dtype=torch.bfloat16)).shape
    torch.Size([2, 3, 48])
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None, *,
                 activation: str = "none") -> None:
        super().__init__(in_features, out_features, bias, device, dtype)
        if activation not in EVEN_ACTIVATIONS:
            raise ValueError(f"activation: {activation!r} is not one of {', '.join(EVEN_ACTIVATIONS)}")
        self.activation = activation

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias, self.activation)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}{'' if self.activation == 'none' else f', activation={self.activation}'}"


class _Narrow(torch.nn.Module):
    """A module with weights in e4m3: buffers NAME and NAME_scale. Their state is that of the weights they came from:
    NAME in ``wide``, which is quantized when it is loaded; to the same bits, if ``wide`` is what it was made of."""

    def __init__(self, wide: Optional[torch.dtype]) -> None:
        super().__init__()
        self.wide = wide or torch.bfloat16
        self.names: list[str] = []

    def _add(self, name: str, shape: tuple[int, ...], device: Any) -> None:
        *lead, n, k = shape
        scales = (*lead, -(-n // 128), -(-k // 128))
        self.names.append(name)
        self.register_buffer(name, torch.zeros(shape, dtype=torch.float8_e4m3fn, device=device))
        self.register_buffer(f"{name}_scale", torch.ones(scales, dtype=torch.float32, device=device))

    @torch.no_grad()
    def set_weight(self, name: str, weight: Tensor) -> None:
        """Quantizes a weight."""
        values, scales = self.get_buffer(name), self.get_buffer(f"{name}_scale")
        if weight.shape != values.shape:
            raise ValueError(f"{name}: its shape is {tuple(weight.shape)}, {tuple(values.shape)} is needed")
        matrices = [quantize(matrix.to(values.device), BLOCK) for matrix in weight.reshape(-1, *weight.shape[-2:])]
        for i, q in enumerate(matrices):
            values.view(torch.uint8).view(-1, *values.shape[-2:])[i] = q.values.view(torch.uint8)
            scales.view(-1, *scales.shape[-2:])[i] = q.scales
        self.wide = weight.dtype

    def get_weight(self, name: str) -> Tensor:
        """What the products use, in the type that it was made of."""
        values, scales = self.get_buffer(name), self.get_buffer(f"{name}_scale")
        if values.dim() == 2:
            wide: Tensor = dequantize(Quantized(values, scales, BLOCK)).to(self.wide)
            return wide
        return torch.stack([dequantize(Quantized(v, s, BLOCK)).to(self.wide) for v, s in zip(values, scales)])

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        # Casts are for wide numbers: elements and factors go along as bits.
        bits = {name: torch.uint8 if name in self.names else torch.int32 for name in self._buffers}
        types = {name: self.get_buffer(name).dtype for name in bits}
        for name, like in bits.items():
            self._buffers[name] = self.get_buffer(name).view(like)
        try:
            apply: Any = super()._apply  # torch gives it no types
            return apply(fn, recurse)
        finally:
            for name, dtype in types.items():
                self._buffers[name] = self.get_buffer(name).view(dtype)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name in self.names:
            destination[prefix + name] = self.get_weight(name)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        taken: dict[str, Any] = {}
        for name in self.names:
            key = prefix + name
            weight, scales = state_dict.pop(key, None), state_dict.pop(key + SCALE_SUFFIX, None)
            taken.update({key: weight} if weight is not None else {})
            if weight is None:
                missing_keys.append(key)
            elif scales is None and weight.dtype == torch.float8_e4m3fn:
                error_msgs.append(f"{key}: it is of float8_e4m3fn, and {key}{SCALE_SUFFIX} with its factors is missing")
            elif scales is not None:
                with torch.no_grad():
                    self.get_buffer(name).view(torch.uint8).copy_(weight.view(torch.uint8))
                    self.get_buffer(f"{name}_scale").copy_(scales)
            else:
                try:
                    self.set_weight(name, weight)
                except ValueError as error:
                    error_msgs.append(prefix + str(error))
        # The rest as ever; its buffers are none of the state's business.
        untyped: Any = self
        own, untyped._buffers = untyped._buffers, {}
        try:
            super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                                          error_msgs)
        finally:
            untyped._buffers = own
        state_dict.update(taken)


class BlockwiseLinear(_Narrow):
    """``torch.nn.Linear`` with a weight in e4m3; what comes in is quantized on the way, a factor for each 1 x 128."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Optional[torch.dtype] = None) -> None:
        super().__init__(dtype)
        if in_features % 16 or out_features % 8:
            raise ValueError(f"in_features = {in_features}, out_features = {out_features}: multiples of 16 and of 8 "
                             "are needed, since rows are moved in units of 16 bytes")
        self.in_features, self.out_features = in_features, out_features
        self._add("weight", (out_features, in_features), device)
        self.bias = torch.nn.Parameter(torch.zeros(out_features, dtype=self.wide, device=device)) if bias else None

    def forward(self, input: Tensor) -> Tensor:
        bias = self.bias if self.bias is None or self.bias.dtype != torch.float16 else self.bias.float()
        return blockwise_linear(input, self.get_buffer("weight"), self.get_buffer("weight_scale"), bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def _split_on_save(module: Any, state_dict: dict[str, Any], prefix: str, local_metadata: Any) -> None:
    for kind in ("weight", "bias"):
        both = state_dict.pop(f"{prefix}gate_up_proj.{kind}", None)
        if both is not None:
            state_dict[f"{prefix}gate_proj.{kind}"], state_dict[f"{prefix}up_proj.{kind}"] = both.chunk(2)


def _join_on_load(module: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
    for kind in ("weight", "weight" + SCALE_SUFFIX, "bias"):
        parts = [f"{prefix}{name}.{kind}" for name in ("gate_proj", "up_proj")]
        if all(part in state_dict for part in parts):
            state_dict[f"{prefix}gate_up_proj.{kind}"] = torch.cat([state_dict.pop(part) for part in parts])


class _GatedMLP(torch.nn.Module):
    """down(silu(gate(x)) * up(x)): gates and ups are one weight, and two in the state."""

    gate_up_proj: Any
    down_proj: Any

    def __init__(self, hidden_size: int, intermediate_size: int, gate_up_proj: torch.nn.Module,
                 down_proj: torch.nn.Module) -> None:
        super().__init__()
        self.hidden_size, self.intermediate_size = hidden_size, intermediate_size
        self.gate_up_proj, self.down_proj = gate_up_proj, down_proj
        untyped: Any = self
        untyped.register_state_dict_post_hook(_split_on_save)
        untyped.register_load_state_dict_pre_hook(_join_on_load)


class MLP(_GatedMLP):
    """The gated MLP of Llama and its like: ``down(silu(gate(x)) * up(x))``, gates, ups and what is made
    of them by one kernel, or by one product and torch where the GPU's kernels have no swiglu.

    The state has ``gate_proj.weight``, ``up_proj.weight`` and ``down_proj.weight``.

    >>> import torch, warpwright.nn
    >>> mlp = warpwright.nn.MLP(64, 96, dtype=torch.bfloat16)
    >>> sorted(mlp.state_dict()), tuple(mlp.gate_up_proj.weight.shape)
    (['down_proj.weight', 'gate_proj.weight', 'up_proj.weight'], (192, 64))
    """

    def __init__(self, hidden_size: int, intermediate_size: int, bias: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(hidden_size, intermediate_size,
                         Linear(hidden_size, 2 * intermediate_size, bias, device, dtype),
                         Linear(intermediate_size, hidden_size, bias, device, dtype))

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.gate_up_proj, self.down_proj
        return linear(swiglu_linear(x, first.weight, first.bias), second.weight, second.bias)


class BlockwiseMLP(_GatedMLP):
    """``MLP`` with weights in e4m3; between its products everything stays in 8 bits."""

    def __init__(self, hidden_size: int, intermediate_size: int, bias: bool = False, device: Any = None,
                 dtype: Optional[torch.dtype] = None) -> None:
        if intermediate_size % 128:
            raise ValueError(f"intermediate_size = {intermediate_size}: it must be a multiple of 128, since gates, ups "
                             "and what lies between the products have a factor for each 128")
        super().__init__(hidden_size, intermediate_size,
                         BlockwiseLinear(hidden_size, 2 * intermediate_size, bias, device, dtype),
                         BlockwiseLinear(intermediate_size, hidden_size, bias, device, dtype))

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.gate_up_proj, self.down_proj
        return blockwise_mlp(x, first.weight, first.weight_scale, first.bias, second.weight, second.weight_scale,
                             second.bias)


class Experts(_Narrow):
    """The experts of a mixture: ``gate_up_proj`` [experts, 2 * intermediate, hidden], ``down_proj`` [experts, hidden,
    intermediate], and for each row the numbers and weights of its experts. ``narrow``: in e4m3."""

    gate_up_proj: Any
    down_proj: Any

    def __init__(self, num_experts: int, hidden_size: int, intermediate_size: int, device: Any = None,
                 dtype: Optional[torch.dtype] = None, *, narrow: bool = False) -> None:
        super().__init__(dtype)
        unit = 128 if narrow else 8
        if hidden_size % (16 if narrow else 8) or intermediate_size % unit:
            raise ValueError(f"hidden_size = {hidden_size}, intermediate_size = {intermediate_size}: multiples of "
                             f"{16 if narrow else 8} and of {unit} are needed")
        self.num_experts, self.hidden_dim, self.intermediate_dim = num_experts, hidden_size, intermediate_size
        self.narrow = narrow
        shapes = {"gate_up_proj": (num_experts, 2 * intermediate_size, hidden_size),
                  "down_proj": (num_experts, hidden_size, intermediate_size)}
        for name, shape in shapes.items():
            if narrow:
                self._add(name, shape, device)
            else:
                made = torch.empty(shape, dtype=self.wide, device=device)
                self.register_parameter(name, torch.nn.Parameter(made.normal_(std=hidden_size**-0.5)))

    def forward(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
        first, second = (self.get_buffer(f"{name}_scale") if self.narrow else None for name in ("gate_up_proj", "down_proj"))
        return experts_product(hidden_states, top_k_index, top_k_weights, self.gate_up_proj, first, self.down_proj, second)

    def extra_repr(self) -> str:
        kind = "e4m3" if self.narrow else str(self.gate_up_proj.dtype)
        return f"{self.num_experts} experts, {self.hidden_dim}, {self.intermediate_dim}, {kind}"
