"""torch.compile over modules and converted models: one graph, compiled once for all numbers of rows; what a program pays
that never compiles."""

import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import warpwright.nn
from warpwright import _torch_layers

BF16 = torch.bfloat16
PACKAGE = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def fresh(library):
    torch._dynamo.reset()
    torch.manual_seed(1)


class Counting:
    """A backend that says how often it was asked to compile."""

    def __init__(self):
        from torch._dynamo.backends.debugging import aot_eager

        self.count, self.backend = 0, aot_eager

    def __call__(self, graph, inputs, **more):
        self.count += 1
        return self.backend(graph, inputs, **more)


LAYERS = {
    "linear": lambda: warpwright.nn.Linear(128, 64, activation="silu", dtype=BF16),
    "mlp": lambda: warpwright.nn.MLP(128, 256, dtype=BF16),
    "experts": lambda: warpwright.nn.MoE(128, 64, 4, 2, dtype=BF16),
    "experts and shared ones": lambda: warpwright.nn.MoE(128, 64, 4, 2, dtype=BF16, shared=2, shared_gate=True),
    "linear in 8 bits": lambda: warpwright.nn.BlockwiseLinear(128, 128),
    "mlp in 8 bits": lambda: warpwright.nn.BlockwiseMLP(128, 256),
    "experts in 8 bits": lambda: warpwright.nn.MoE(128, 128, 4, 2, narrow=True),
}


def layer_of(kind):
    layer = LAYERS[kind]()
    for module in layer.modules():
        for name in getattr(module, "names", ()) if getattr(module, "narrow", True) else ():  # weights in 8 bits are zeros at first
            module.set_weight(name, torch.randn(module.get_buffer(name).shape).to(BF16) / 8)
    return layer


def same(got, want):
    assert got.shape == want.shape and float((got.double() - want.double()).norm()) <= 2e-2 * float(want.double().norm())


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("kind", LAYERS)
def test_batches_of_any_size_are_compiled_once(kind, dynamic):
    layer, backend = layer_of(kind), Counting()
    run = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend=backend)
    with torch.no_grad():
        for number, (batch, rows) in enumerate(((2, 3), (4, 5), (3, 16), (7, 2), (2, 33))):
            x = torch.randn(batch, rows, 128, dtype=BF16)
            same(run(x), layer(x))
            # Left to itself torch takes the first sizes for constants, and learns from the second.
            if number == (0 if dynamic else 1):
                graphs = backend.count
    assert backend.count == graphs > 0


@pytest.mark.parametrize("kind", ["linear", "mlp", "experts", "experts and shared ones"])
def test_training_is_compiled_once(kind):
    layer, backend = layer_of(kind), Counting()
    run = torch.compile(layer, fullgraph=True, dynamic=True, backend=backend)
    counts = []
    for rows in (6, 10, 9):
        gradients = []
        for each in (layer, run):
            layer.zero_grad()
            x = torch.randn(rows, 128, generator=torch.Generator().manual_seed(rows)).to(BF16).requires_grad_()
            each(x).float().square().sum().backward()
            gradients.append([x.grad, *(p.grad for p in layer.parameters())])
        for got, want in zip(gradients[1], gradients[0]):
            same(got, want)
        counts.append(backend.count)
    assert counts[0] == counts[-1] > 0


@pytest.mark.parametrize("family", ["llama", "qwen2_moe"])
@pytest.mark.parametrize("precision", ["bf16", "fp8-blockwise"])
def test_a_converted_model_is_compiled_once(family, precision):
    transformers = pytest.importorskip("transformers")
    small = {"vocab_size": 128, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
             "max_position_embeddings": 64, "intermediate_size": 256}
    model = (transformers.LlamaForCausalLM(transformers.LlamaConfig(**small)) if family == "llama" else
             transformers.Qwen2MoeForCausalLM(transformers.Qwen2MoeConfig(
                 **small, moe_intermediate_size=128, shared_expert_intermediate_size=256, num_experts=4, num_experts_per_tok=2)))
    model = model.to(BF16).eval()
    warpwright.convert(model, precision)
    backend = Counting()
    run = torch.compile(model, fullgraph=True, dynamic=True, backend=backend)
    counts = []
    with torch.no_grad():
        for batch, length in ((2, 5), (3, 9), (5, 12)):
            tokens = torch.arange(batch * length).view(batch, length) * 7 % 128
            same(run(tokens, use_cache=False).logits, model(tokens, use_cache=False).logits)
            counts.append(backend.count)
    assert counts[0] == counts[-1] > 0


def in_a_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stderr


def test_the_compiler_is_imported_by_those_who_use_it():
    """Seconds, of a program that imports the modules, uses them and trains."""
    in_a_process("import sys, torch, warpwright.nn, warpwright.distributed\n"
                 "layer, x = warpwright.nn.MLP(64, 96, dtype=torch.bfloat16), torch.ones(2, 64, dtype=torch.bfloat16)\n"
                 "layer(x).sum().backward()\n"
                 "warpwright.convert(torch.nn.Sequential(torch.nn.Linear(64, 64, dtype=torch.bfloat16)))\n"
                 "assert 'torch._dynamo' not in sys.modules")


def test_torch_marks_constants_as_we_do():
    asked = torch.compiler.assume_constant_result(lambda: 1)
    assert asked.__dict__.items() <= _torch_layers._kernels_have_swiglu.__dict__.items() and asked.__dict__
