"""Which modules of a model are replaced, by what, and why the others are left."""

from __future__ import annotations

import fnmatch
import re
from typing import Any, Callable, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from . import nn
from ._torch_layers import SIXTEEN_BITS

F = torch.nn.functional
PRECISIONS = ("bf16", "fp8-blockwise")
GATED = ("gate_proj", "up_proj", "down_proj")
BLOCK_OF_EXPERTS = ("gate", "experts", "shared_expert", "shared_expert_gate")
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
BLOCK = 128


class Change(NamedTuple):
    """One module: its name in the model, its class, and what was done to it, or why nothing was."""

    name: str
    kind: str
    what: str


class Conversion:
    """What ``convert`` did. ``str()`` of it is for people; ``undo()`` puts the modules back."""

    def __init__(self, precision: str) -> None:
        self.precision = precision
        self.replaced: list[Change] = []
        self.left: list[Change] = []
        self._undo: list[Callable[[], None]] = []

    def undo(self) -> None:
        """Puts the very modules back that were there, with the weights as they are now; fp8 ones as they were."""
        while self._undo:
            self._undo.pop()()
        self.replaced = []

    def __str__(self) -> str:
        lines = []
        for title, changes in (("replaced", self.replaced), ("left", self.left)):
            count = "no module" if not changes else "1 module" if len(changes) == 1 else f"{len(changes)} modules"
            lines.append(f"{title} {count}" + (f" ({self.precision})" if title == "replaced" else ""))
            rows: dict[tuple[str, str, str], int] = {}
            for change in changes:  # layers that are alike share a line
                key = (re.sub(r"\b\d+\b", "*", change.name), change.kind, change.what)
                rows[key] = rows.get(key, 0) + 1
            width = max((len(name) for name, _, _ in rows), default=0)
            lines += [f"  {name:{width}}  {f'{n} x ' if n > 1 else ''}{kind}: {what}"
                      for (name, kind, what), n in rows.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Conversion to {self.precision}: {len(self.replaced)} replaced, {len(self.left)} left>"


def _own_tensors(module: torch.nn.Module) -> list[Tensor]:
    return [x for x in (*module._parameters.values(), *module._buffers.values()) if x is not None]


def _untouchable(module: torch.nn.Module) -> Optional[str]:
    """Why a module of a known kind cannot be replaced, whatever by."""
    if any(getattr(module, hooks, None) for hooks in HOOKS):
        return "it has hooks, which would be lost"
    if "forward" in module.__dict__ or hasattr(module, "_hf_hook"):
        return "its forward was replaced by another"
    if hasattr(module, "parametrizations"):
        return "its weight is parametrized"
    for x in _own_tensors(module):
        if type(x) not in (Tensor, torch.nn.Parameter):
            return f"its weight is of {type(x).__name__}"
        if x.is_meta:
            return "its weights are on meta; load them first"
        if x.dim() > 1 and x.dtype not in SIXTEEN_BITS:
            if x.is_floating_point() and x.element_size() > 2:
                return f"its weight is of {x.dtype}; model.to(torch.bfloat16) gives a type that the kernels have"
            return f"its weight is quantized already ({x.dtype})"
    return None


def _is_silu(module: torch.nn.Module) -> bool:
    found = [getattr(module, name, None) for name in ("act_fn", "act", "activation_fn", "activation")]
    function = next((x for x in found if x is not None), None)
    if not callable(function):
        return False
    x = torch.linspace(-4, 4, 9)
    try:
        y = function(x)
    except Exception:  # whatever somebody's activation may throw
        return False
    return isinstance(y, Tensor) and y.shape == x.shape and bool(torch.allclose(y, F.silu(x), atol=1e-5))


def _computes(module: Any, want: Callable[..., Tensor], *inputs: Any) -> bool:
    """Whether the module's forward gives what it is taken for, on a few rows."""
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            got = module(*inputs)
    except Exception:  # another signature, say
        return False
    finally:
        module.train(training)
    if not isinstance(got, Tensor):
        return False
    with torch.no_grad():
        wanted = want(*inputs)
    return bool(got.shape == wanted.shape and
                (got.double() - wanted.double()).norm() <= 2e-2 * wanted.double().norm() + 1e-6)


def _join(parts: Sequence[Tensor]) -> Tensor:
    """Weights one above the other, in new memory; they become views of it, and theirs is free for the next ones."""
    shape = (sum(x.shape[0] for x in parts), *parts[0].shape[1:])
    dtype, device = parts[0].dtype, parts[0].device
    try:
        whole = torch.empty(shape, dtype=dtype, device=device)
    except torch.cuda.OutOfMemoryError:
        # The model fills the GPU. Its weights wait in the host's memory while theirs becomes the new.
        for x in parts:
            x.data = x.data.cpu()
        try:
            whole = torch.empty(shape, dtype=dtype, device=device)
        except torch.cuda.OutOfMemoryError:
            for x in parts:
                x.data = x.data.to(device)
            raise
    begin = 0
    for x in parts:
        rows = whole[begin:begin + x.shape[0]]
        rows.copy_(x.data)
        x.data = rows
        begin += x.shape[0]
    return whole


class _Converter:
    def __init__(self, model: torch.nn.Module, precision: str, leave: tuple[str, ...]) -> None:
        self.model, self.narrow, self.leave = model, precision == "fp8-blockwise", leave
        self.report = Conversion(precision)
        self.users: dict[int, list[str]] = {}
        for name, module in model.named_modules():
            for x in module._parameters.values():
                if x is not None:
                    self.users.setdefault(id(x), []).append(name)
        find_head = getattr(model, "get_output_embeddings", None)
        self.head = find_head() if callable(find_head) else None
        self.made: dict[int, torch.nn.Module] = {}

    # Linears.

    def why_not_linear(self, name: str, parent: Any, module: Any) -> Optional[str]:
        kind = type(module)
        if kind is not torch.nn.Linear:
            named = f"{kind.__module__}.{kind.__qualname__}"
            return "it is warpwright's already" if isinstance(module, (nn.Linear, nn.BlockwiseLinear)) else \
                f"its class is {named}, not torch.nn.Linear"
        if any(attribute.startswith("lora_") for attribute in (*parent.__dict__, *parent._modules)):
            return f"it is the base of an adapter ({type(parent).__name__})"
        why = _untouchable(module)
        if why is not None or not self.narrow:
            return why
        if module is self.head:
            return "the output head stays as it is"
        shared = [user for user in self.users[id(module.weight)] if user != name]
        if shared:
            return f"its weight is shared with {shared[0]}"
        k, n = module.in_features, module.out_features
        if k % 16 or n % 8:
            return f"its weight is [{n}, {k}]; multiples of 8 and 16 are needed"
        if min(n, k) < BLOCK:
            return f"its weight is [{n}, {k}], less than a block of {BLOCK} x {BLOCK} that shares a factor"
        return None

    def new_linear(self, module: Any) -> Any:
        has_bias, weight = module.bias is not None, module.weight
        if not self.narrow:
            made: Any = nn.Linear(module.in_features, module.out_features, has_bias, "meta", weight.dtype)
            made.weight, made.bias = weight, module.bias
            return made
        made = nn.BlockwiseLinear(module.in_features, module.out_features, has_bias, weight.device, weight.dtype)
        made.set_weight("weight", weight.detach())
        made.bias = module.bias
        return made

    def undo_narrow(self, original: Any, made: Any) -> None:
        original.to(next(made.buffers()).device)

    # Gated MLPs.

    def why_not_mlp(self, name: str, module: Any) -> Optional[str]:
        children = {child: x for child, x in module._modules.items() if x is not None}
        if not _is_silu(module):
            return "its activation is not silu"
        others = [child for child, x in children.items() if child not in GATED and (_own_tensors(x) or x._modules or (
            isinstance(x, torch.nn.Dropout) and x.p > 0))]
        if others or _own_tensors(module):
            return f"it has more than gate, up and down: {', '.join(others) or 'weights of its own'}"
        for child in GATED:
            why = self.why_not_linear(f"{name}.{child}", module, children[child])
            if why is not None:
                return f"{child}: {why}"
        gate, up, down = (children[child] for child in GATED)
        if not gate.weight.shape == up.weight.shape == down.weight.shape[::-1]:
            return "the shapes of gate, up and down do not fit together"
        if len({x.bias is None for x in (gate, up, down)}) > 1:
            return "some of gate, up and down have a bias, others none"
        if len({x.weight.dtype for x in (gate, up, down)}) > 1:
            return "the types of gate, up and down differ"
        if any(len(self.users[id(x.weight)]) > 1 for x in (gate, up)):
            return "its gates or ups are shared with another module"
        if self.narrow and gate.out_features % BLOCK:
            return f"its intermediate size is {gate.out_features}, no multiple of {BLOCK}"
        why = _untouchable(module)
        if why is not None:
            return why
        x = torch.randn(3, gate.in_features, dtype=gate.weight.dtype, device=gate.weight.device)
        if not _computes(module, lambda t: F.linear(
                F.silu(F.linear(t, gate.weight, gate.bias)) * F.linear(t, up.weight, up.bias), down.weight,
                down.bias), x):
            return "its forward does not compute down(silu(gate(x)) * up(x))"
        return None

    def new_mlp(self, module: Any) -> Any:
        gate, up, down = (module._modules[child] for child in GATED)
        kind: Any = nn.BlockwiseMLP if self.narrow else nn.MLP
        weight, has_bias = gate.weight, gate.bias is not None
        made = kind(gate.in_features, gate.out_features, has_bias, weight.device if self.narrow else "meta",
                    weight.dtype)
        made.down_proj = self.new_linear(down)
        first = made.gate_up_proj
        if self.narrow:
            first.set_weight("weight", torch.cat([gate.weight.detach(), up.weight.detach()]))
        else:
            # The modules that undo() puts back share the memory, and what is learnt.
            first.weight = torch.nn.Parameter(_join([gate.weight, up.weight]), weight.requires_grad)
        if has_bias:
            first.bias = torch.nn.Parameter(torch.cat([gate.bias.detach(), up.bias.detach()]), gate.bias.requires_grad)
        return made

    def undo_mlp(self, original: Any, made: Any) -> None:
        if self.narrow:
            return self.undo_narrow(original, made.gate_up_proj)
        for kind in ("weight", "bias"):
            both = getattr(made.gate_up_proj, kind)
            if both is not None:
                for child, part in zip(GATED, both.data.chunk(2)):
                    getattr(original._modules[child], kind).data = part.clone()

    # Experts.

    def why_not_experts(self, module: Any) -> Optional[str]:
        first, second = module._parameters["gate_up_proj"], module._parameters["down_proj"]
        if sum(x.dim() > 1 for x in _own_tensors(module)) != 2 or any(_own_tensors(x) for x in module.children()):
            return "it has more than gate_up_proj and down_proj"
        count, inner, hidden = first.shape[0], first.shape[1] // 2, first.shape[2]
        if tuple(second.shape) != (count, hidden, inner):
            return f"its shapes are {tuple(first.shape)} and {tuple(second.shape)}: not [experts, 2 x inner, hidden] " \
                   "and [experts, hidden, inner]"
        if not _is_silu(module):
            return "its activation is not silu"
        if getattr(module, "_is_expert_parallel", False):
            return "its experts are spread over several devices"
        why = _untouchable(module)
        if why is not None:
            return why
        if first.dtype != torch.bfloat16:
            return f"its weights are of {first.dtype}; products by groups are of torch.bfloat16"
        unit = BLOCK if self.narrow else 8
        if hidden % unit or inner % unit:
            return f"its experts are {inner} x {hidden}; multiples of {unit} are needed"
        x = torch.randn(4, hidden, dtype=first.dtype, device=first.device)
        index = torch.arange(8, device=first.device).view(4, 2) % count
        weights = torch.rand(4, 2, device=first.device).to(first.dtype)

        def want(x: Tensor, index: Tensor, weights: Tensor) -> Tensor:
            rows = []
            for row, chosen, factors in zip(x, index.tolist(), weights):
                gates_ups = [F.linear(row, first[e]).chunk(2) for e in chosen]
                rows.append(sum((factor * F.linear(F.silu(gate) * up, second[e])
                                 for factor, e, (gate, up) in zip(factors, chosen, gates_ups)), row * 0))
            return torch.stack(rows)

        return None if _computes(module, want, x, index, weights) else \
            "its forward does not take rows, numbers of experts and weights, and sum what the experts make of them"

    def new_experts(self, module: Any) -> Any:
        first, second = module.gate_up_proj, module.down_proj
        count, inner, hidden = first.shape[0], first.shape[1] // 2, first.shape[2]
        made: Any = nn.Experts(count, hidden, inner, first.device if self.narrow else "meta", first.dtype,
                               narrow=self.narrow)
        if self.narrow:
            made.set_weight("gate_up_proj", first.detach())
            made.set_weight("down_proj", second.detach())
        else:
            made.gate_up_proj, made.down_proj = first, second
        return made

    # Blocks of a router, experts, and an expert for every row that is a factor of the others in size.

    def why_not_block(self, name: str, module: Any) -> Optional[str]:
        inside = [f"{name}.{inner}" for inner, _ in module.named_modules() if inner]
        kept = next((x for x in inside if any(fnmatch.fnmatchcase(x, pattern) for pattern in self.leave)), None)
        if kept is not None:
            return f"{kept} is one of those to leave"
        experts, wide, gate = (module._modules[child] for child in ("experts", "shared_expert", "shared_expert_gate"))
        for child, why in (("experts", self.why_not_experts(experts)), ("shared_expert", self.why_not_mlp(f"{name}.shared_expert", wide)),
                           ("shared_expert_gate", _untouchable(gate)), ("gate", _untouchable(module.gate)), ("", _untouchable(module))):
            if why is not None:
                return f"{child}: {why}" if child else why
        if any(len(self.users[id(x)]) > 1 for part in (experts, wide) for x in part.parameters()):
            return "its experts are shared with another module"
        others = [child for child in module._modules if child not in BLOCK_OF_EXPERTS]
        if others or _own_tensors(module):
            return f"it has more than {', '.join(BLOCK_OF_EXPERTS)}"
        if wide.gate_proj.bias is not None or gate.bias is not None or gate.out_features != 1:
            return "its shared expert has a bias, or its gate more than one row"
        inner, many = experts.down_proj.shape[2], wide.gate_proj.out_features
        if many % inner or wide.gate_proj.in_features != experts.down_proj.shape[1]:
            return f"its shared expert is {many} wide, the others are {inner}: no multiple"
        if wide.gate_proj.weight.dtype != experts.gate_up_proj.dtype:
            return "the types of its experts differ"
        x = torch.randn(1, 3, wide.gate_proj.in_features, dtype=wide.gate_proj.weight.dtype, device=wide.gate_proj.weight.device)

        def want(x: Tensor) -> Tensor:
            rows = x.flatten(0, 1)
            _, weights, index = module.gate(rows)
            made: Tensor = experts(rows, index, weights) + torch.sigmoid(gate(rows)) * wide(rows)
            return made.view(x.shape)

        try:
            return None if _computes(module, want, x) else "its forward does not add its experts and sigmoid(gate) times the shared one"
        except Exception:  # of a router that returns something else
            return "its router does not return logits, weights and numbers of experts"

    def new_block(self, module: Any) -> Any:
        experts, wide = module.experts, module.shared_expert
        (count, hidden, inner), like = experts.down_proj.shape, experts.gate_up_proj
        shared = wide.gate_proj.out_features // inner
        made: Any = nn.MoE(hidden, inner, count, 1, like.device if self.narrow else "meta", like.dtype, shared=shared,
                           shared_gate=True, narrow=self.narrow)
        made.gate, made.shared_expert_gate = module.gate, module.shared_expert_gate
        parts = [x.weight.detach().unflatten(0, (shared, inner)) for x in (wide.gate_proj, wide.up_proj)]
        both = {"gate_up_proj": torch.cat(parts, 1),
                "down_proj": wide.down_proj.weight.detach().unflatten(1, (shared, inner)).transpose(0, 1)}
        for name, more in both.items():
            own = experts.get_parameter(name)
            if self.narrow:
                made.experts.set_weight(name, torch.cat([own.detach(), more]))
            else:
                setattr(made.experts, name, torch.nn.Parameter(_join([own, more]), own.requires_grad))
        if not self.narrow:  # all of it is in the new memory
            for x in wide.parameters():
                x.data = x.data.new_empty(0)
        return made

    def undo_block(self, original: Any, made: Any) -> None:
        if self.narrow:
            return self.undo_narrow(original, made.experts)
        shared, wide = made.experts.shared, original.shared_expert
        (first, more), (second, most) = (getattr(made.experts, name).data.tensor_split([-shared])
                                         for name in ("gate_up_proj", "down_proj"))
        original.experts.gate_up_proj.data, original.experts.down_proj.data = first.clone(), second.clone()
        gates, ups = more.chunk(2, 1)
        wide.gate_proj.weight.data, wide.up_proj.weight.data = gates.flatten(0, 1), ups.flatten(0, 1)
        wide.down_proj.weight.data = most.transpose(0, 1).flatten(1)

    # The walk.

    def replace(self, name: str, parent: Any, child: str, module: Any, make: Callable[[Any], Any], what: str,
                put_back: Optional[Callable[[Any, Any], None]]) -> None:
        made = self.made.get(id(module))
        if made is None:
            made = make(module).train(module.training)
            self.made[id(module)] = made
        parent._modules[child] = made
        self.report.replaced.append(Change(name, type(module).__name__, what))

        def undo(made: torch.nn.Module = made) -> None:
            parent._modules[child] = module
            if put_back is not None:
                put_back(module, made)
            self.made.pop(id(module), None)  # so that its memory is free before the next one needs some

        self.report._undo.append(undo)

    def leave_it(self, name: str, module: Any, why: str) -> None:
        self.report.left.append(Change(name, type(module).__name__, why))

    def visit(self, name: str, parent: Any, child: str, module: Any) -> None:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in self.leave):
            return self.leave_it(name, module, "its name is one of those to leave")
        narrow = self.narrow
        parameters = module._parameters
        if isinstance(module, (nn.Linear, nn._Narrow, nn._GatedMLP, nn.MoE)):
            return self.leave_it(name, module, "it is warpwright's already")
        if all(module._modules.get(child) is not None for child in BLOCK_OF_EXPERTS):
            why = self.why_not_block(name, module)
            if why is None:
                count = module.experts.down_proj.shape[0]
                return self.replace(name, parent, child, module, self.new_block,
                                    f"{count} experts and the shared one by moe", self.undo_block)
            self.leave_it(name, module, f"its experts are not joined; {why}")
        elif all(child in module._modules for child in GATED):
            why = self.why_not_mlp(name, module)
            if why is None:
                what = "gate and up as one product with swiglu" + (", e4m3 up to the end" if narrow else "")
                return self.replace(name, parent, child, module, self.new_mlp, what, self.undo_mlp)
            self.leave_it(name, module, why)  # its linears may do
        elif all(parameters.get(key) is not None and parameters[key].dim() == 3 for key in ("gate_up_proj", "down_proj")):
            why = self.why_not_experts(module)
            if why is None:
                return self.replace(name, parent, child, module, self.new_experts,
                                    f"{module.gate_up_proj.shape[0]} experts by moe",
                                    self.undo_narrow if narrow else None)
            return self.leave_it(name, module, why)
        elif isinstance(module, torch.nn.Linear):
            why = self.why_not_linear(name, parent, module)
            if why is None:
                what = f"e4m3 with a factor for each {BLOCK} x {BLOCK}" if narrow else "the same weights by gemm"
                return self.replace(name, parent, child, module, self.new_linear, what,
                                    self.undo_narrow if narrow else None)
            self.leave_it(name, module, why)
        elif not isinstance(module, (torch.nn.Embedding, torch.nn.modules.conv._ConvNd)):
            wide = [x for x in _own_tensors(module) if x.dim() > 1]
            if wide:
                shape = " x ".join(str(extent) for extent in wide[0].shape)
                self.leave_it(name, module, f"no kind of module that is known, with a weight of {shape}")
        for below, inner in list(module._modules.items()):
            if inner is not None:
                self.visit(f"{name}.{below}" if name else below, module, below, inner)


def convert_model(model: torch.nn.Module, precision: str, leave: tuple[str, ...]) -> Conversion:
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model: a torch.nn.Module is needed, not {type(model).__name__}")
    if precision not in PRECISIONS:
        raise ValueError(f"precision: {precision!r} is not one of {', '.join(PRECISIONS)}")
    if isinstance(model, torch.nn.Linear) or all(child in model._modules for child in GATED):
        raise ValueError(f"model: it is itself a {type(model).__name__}, which can only be replaced within another module")
    converter = _Converter(model, precision, leave)
    for name, module in list(model._modules.items()):
        if module is not None:
            converter.visit(name, model, name, module)
    return converter.report
