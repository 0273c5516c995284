"""Modules whose products are warpwright's, with the names and state_dicts of those they stand for.

``Linear`` and ``MLP`` hold bf16, fp16 or fp32 weights, ``Experts`` and ``MoE`` bf16 ones; ``BlockwiseLinear``,
``BlockwiseMLP``, and those two with ``narrow=True``, hold e4m3 with a factor for each 128 x 128, made when weights are loaded. What the kernels have no type for
is multiplied by torch.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

import torch
from torch import Tensor

from ._gemm import ACTIVATIONS
from ._quantize import BLOCK, Quantized, dequantize, quantize
from ._torch_describe import is_distributed
from ._torch_layers import blockwise_linear, blockwise_mlp, experts_product, linear, swiglu_linear

__all__ = ["BlockwiseLinear", "BlockwiseMLP", "Experts", "GatedLinear", "Linear", "MLP", "MoE"]

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


class GatedLinear(Linear):
    """``silu(gate(x)) * up(x)``, the weight being [gate; up].

    Sharded by ``ColwiseParallel``, a parameter has a [gate; up] for each rank, one after the other: ``blocks`` says how
    many.
    """

    blocks: Mapping[str, int] = {}

    def register_parameter(self, name: str, param: Any) -> None:
        # That is how torch's styles hand over the DTensor that they made of a parameter.
        if is_distributed(param) and name not in self.blocks:
            from ._torch_parallel import paired

            param, blocks = paired(param)
            self.blocks = {**self.blocks, name: blocks}
        super().register_parameter(name, param)

    def forward(self, input: Tensor) -> Tensor:
        if is_distributed(input, self.weight):
            from ._torch_parallel import gated_linear

            made: Tensor = gated_linear(input, self.weight, self.bias, self.blocks)
            return made
        return swiglu_linear(input, self.weight, self.bias)


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
        blocks = getattr(module.gate_up_proj, "blocks", {}).get(kind, 1)
        both = state_dict.pop(f"{prefix}gate_up_proj.{kind}", None)
        if both is not None:
            parts = both.chunk(2) if blocks == 1 else both.unflatten(0, (blocks, 2, -1)).unbind(1)
            for name, part in zip(("gate_proj", "up_proj"), parts):
                state_dict[f"{prefix}{name}.{kind}"] = part if blocks == 1 else part.flatten(0, 1)


def _join_on_load(module: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
    for kind in ("weight", "weight" + SCALE_SUFFIX, "bias"):
        blocks = getattr(module.gate_up_proj, "blocks", {}).get(kind, 1)
        names = [f"{prefix}{name}.{kind}" for name in ("gate_proj", "up_proj")]
        if all(name in state_dict for name in names):
            parts = [state_dict.pop(name) for name in names]
            state_dict[f"{prefix}gate_up_proj.{kind}"] = torch.cat(parts) if blocks == 1 else torch.stack(
                [part.unflatten(0, (blocks, -1)) for part in parts], 1).flatten(0, 2)


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
                         GatedLinear(hidden_size, 2 * intermediate_size, bias, device, dtype),
                         Linear(intermediate_size, hidden_size, bias, device, dtype))

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.down_proj(self.gate_up_proj(x))
        return made


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
    """The experts of a mixture, by ``warpwright.moe``: ``gate_up_proj`` [experts, 2 * intermediate, hidden],
    ``down_proj`` [experts, hidden, intermediate], and for each row the numbers and weights of its experts. ``narrow``: in
    e4m3. ``shared``: this many more, after the others, that every row takes, with ``shared_weights`` or 1."""

    gate_up_proj: Any
    down_proj: Any
    blocks = 1  # of gates and ups, one for each rank that has a part of every expert
    spread: Any = None  # what ranks that share the experts do

    def __init__(self, num_experts: int, hidden_size: int, intermediate_size: int, device: Any = None,
                 dtype: Optional[torch.dtype] = None, *, narrow: bool = False, shared: int = 0) -> None:
        super().__init__(dtype)
        unit = 128 if narrow else 8
        if hidden_size % unit or intermediate_size % unit:
            raise ValueError(f"hidden_size = {hidden_size}, intermediate_size = {intermediate_size}: multiples of "
                             f"{unit} are needed")
        self.num_experts, self.hidden_dim, self.intermediate_dim = num_experts, hidden_size, intermediate_size
        self.narrow, self.shared = narrow, shared
        shapes = {"gate_up_proj": (num_experts + shared, 2 * intermediate_size, hidden_size),
                  "down_proj": (num_experts + shared, hidden_size, intermediate_size)}
        for name, shape in shapes.items():
            if narrow:
                self._add(name, shape, device)
            else:
                made = torch.empty(shape, dtype=self.wide, device=device)
                self.register_parameter(name, torch.nn.Parameter(made.normal_(std=hidden_size**-0.5)))

    def forward(self, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor,
                shared_weights: Optional[Tensor] = None) -> Tensor:
        if self.spread is not None:
            spread: Tensor = self.spread(self, hidden_states, top_k_index, top_k_weights, shared_weights)
            return spread
        if is_distributed(hidden_states, self.gate_up_proj):
            from ._torch_parallel import experts

            made: Tensor = experts(hidden_states, top_k_index, top_k_weights, self.gate_up_proj, self.down_proj, self.blocks,
                                   self.shared, shared_weights)
            return made
        first, second = (self.get_buffer(f"{name}_scale") if self.narrow else None for name in ("gate_up_proj", "down_proj"))
        return experts_product(hidden_states, top_k_index, top_k_weights, self.gate_up_proj, first, self.down_proj, second,
                               self.shared, shared_weights)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        key = f"{prefix}gate_up_proj"
        if self.blocks > 1:
            from ._torch_parallel import from_blocks, in_order

            destination[key] = in_order(destination[key].detach(), 1, self.blocks, from_blocks)
        for name in self.names if self.spread is not None else ():
            destination[prefix + name] = self.spread.to_state(destination[prefix + name])

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        key = f"{prefix}gate_up_proj"
        given = {name: x for name, x in state_dict.items() if name.startswith(prefix)}
        if self.blocks > 1 and key in given:
            from ._torch_parallel import in_order, to_blocks

            state_dict[key] = in_order(given[key], 1, self.blocks, to_blocks)
        for name in self.names if self.spread is not None else ():
            for part in (prefix + name, prefix + name + SCALE_SUFFIX):
                if part in given:
                    state_dict[part] = self.spread.of_state(given[part])
        super()._load_from_state_dict(state_dict, prefix, *rest)
        state_dict.update(given)

    def extra_repr(self) -> str:
        kind = "e4m3" if self.narrow else str(self.gate_up_proj.dtype)
        more = f" and {self.shared} for all" if self.shared else ""
        return f"{self.num_experts} experts{more}, {self.hidden_dim}, {self.intermediate_dim}, {kind}"


SHARED = "shared_expert."


def _part_shared(module: Any, state_dict: dict[str, Any], prefix: str, local_metadata: Any) -> None:
    """The experts of all rows are one wide MLP in the state."""
    shared = module.experts.shared
    names = [f"{prefix}experts.{name}" for name in ("gate_up_proj", "down_proj")]
    if not shared or any(name not in state_dict for name in names):
        return
    (chosen_first, first), (chosen_second, second) = (state_dict[name].tensor_split([-shared]) for name in names)
    state_dict[names[0]], state_dict[names[1]] = chosen_first, chosen_second
    if is_distributed(first):
        from ._torch_parallel import everywhere

        first, second = everywhere(first), everywhere(second)
    gates, ups = first.chunk(2, 1)
    for name, part in (("gate_proj", gates.flatten(0, 1)), ("up_proj", ups.flatten(0, 1)),
                       ("down_proj", second.transpose(0, 1).flatten(1))):
        state_dict[f"{prefix}{SHARED}{name}.weight"] = part


def _join_shared(module: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
    shared = module.experts.shared
    for suffix in ("", SCALE_SUFFIX):
        own = [f"{prefix}experts.{name}{suffix}" for name in ("gate_up_proj", "down_proj")]
        wide = [f"{prefix}{SHARED}{name}.weight{suffix}" for name in ("gate_proj", "up_proj", "down_proj")]
        if not shared or any(name not in state_dict for name in (*own, *wide)):
            continue
        gates, ups, down = (state_dict.pop(name) for name in wide)
        first = torch.cat([x.unflatten(0, (shared, -1)) for x in (gates, ups)], 1)
        second = down.unflatten(1, (shared, -1)).transpose(0, 1)
        for name, more in zip(own, (first, second)):
            have = state_dict[name]
            if is_distributed(have):
                from ._torch_parallel import everywhere

                whole: Any = torch.cat([everywhere(have), everywhere(more)])
                state_dict[name] = whole.redistribute(placements=have.placements)
                continue
            bits = torch.uint8 if have.element_size() == 1 else have.dtype
            state_dict[name] = torch.cat([have.view(bits), more.to(have.dtype).view(bits)]).view(have.dtype)


class MoE(torch.nn.Module):
    """A mixture of experts with its router: softmax over all experts, the ``top_k`` best of them, whose weights have the
    sum 1 unless ``norm_topk_prob`` is False.

    ``shared``: this many more experts, which every row takes, in the same launches; ``shared_gate``: times
    sigmoid(shared_expert_gate(x)). ``narrow``: the experts in e4m3, without a gradient.

    The state has the names and shapes of Mixtral, Qwen3-MoE and Qwen2-MoE: ``gate.weight``, ``experts.gate_up_proj``,
    ``experts.down_proj``, and ``shared_expert.gate_proj.weight`` and its like, an MLP ``shared`` times as wide.

    >>> import torch, warpwright.nn
    >>> layer = warpwright.nn.MoE(64, 32, num_experts=8, top_k=2, shared=1, dtype=torch.bfloat16)
    >>> layer(torch.ones(2, 3, 64, dtype=torch.bfloat16)).shape
    torch.Size([2, 3, 64])
    >>> tuple(layer.experts.gate_up_proj.shape), tuple(layer.state_dict()["experts.gate_up_proj"].shape)
    ((9, 64, 64), (8, 64, 64))
    """

    def __init__(self, hidden_size: int, intermediate_size: int, num_experts: int, top_k: int, device: Any = None,
                 dtype: Optional[torch.dtype] = None, *, shared: int = 0, shared_gate: bool = False,
                 norm_topk_prob: bool = True, narrow: bool = False) -> None:
        super().__init__()
        if not 0 < top_k <= num_experts:
            raise ValueError(f"top_k = {top_k}: of {num_experts} experts it must be from 1 to {num_experts}")
        if shared_gate and not shared:
            raise ValueError("shared_gate: it is the gate of shared experts, and there are none")
        self.top_k, self.norm_topk_prob = top_k, norm_topk_prob
        self.gate: Any = torch.nn.Linear(hidden_size, num_experts, False, device, dtype or torch.bfloat16)
        self.experts = Experts(num_experts, hidden_size, intermediate_size, device, dtype, narrow=narrow, shared=shared)
        self.shared_expert_gate = torch.nn.Linear(hidden_size, 1, False, device,
                                                  dtype or torch.bfloat16) if shared_gate else None
        untyped: Any = self
        untyped.register_state_dict_post_hook(_part_shared)
        untyped.register_load_state_dict_pre_hook(_join_shared)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])
        routed: Any = self.gate(rows)
        if isinstance(routed, tuple):  # a router of transformers, which has weighed the experts already
            _, weights, index = routed
        else:
            weights, index = torch.topk(torch.softmax(routed, -1, torch.float32), self.top_k)
            if self.norm_topk_prob:
                weights = weights / weights.sum(-1, keepdim=True)
        everybody = None
        if self.shared_expert_gate is not None:
            everybody = torch.sigmoid(self.shared_expert_gate(rows)).expand(-1, self.experts.shared)
        y: Tensor = self.experts(rows, index, weights, everybody)
        return y.view(x.shape)

    def extra_repr(self) -> str:
        return f"top_k={self.top_k}, norm_topk_prob={self.norm_topk_prob}"
