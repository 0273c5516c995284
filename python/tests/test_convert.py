"""convert() on small models of transformers with random weights, and on modules that it must not touch."""

import copy
import os
import re

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import warpwright

BF16 = torch.bfloat16
os.environ.setdefault("HF_HUB_OFFLINE", "1")
SMALL = {"vocab_size": 512, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 64}
FAMILIES = {
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, intermediate_size=256)),
    "llama with biases": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **SMALL, intermediate_size=256, mlp_bias=True, attention_bias=True)),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        **SMALL, intermediate_size=256, head_dim=32, tie_word_embeddings=True)),
    "mixtral": lambda: transformers.MixtralForCausalLM(transformers.MixtralConfig(
        **SMALL, intermediate_size=256, num_local_experts=4)),
    "qwen3_moe": lambda: transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(
        **SMALL, intermediate_size=256, moe_intermediate_size=128, num_experts=8, num_experts_per_tok=2, head_dim=32,
        mlp_only_layers=[1])),
    "qwen2_moe": lambda **more: transformers.Qwen2MoeForCausalLM(transformers.Qwen2MoeConfig(**{
        **SMALL, "intermediate_size": 256, "moe_intermediate_size": 128, "shared_expert_intermediate_size": 256,
        "num_experts": 8, "num_experts_per_tok": 2, "mlp_only_layers": [1], **more})),
}


@pytest.fixture(autouse=True)
def seed(library):
    torch.manual_seed(1)


def model_of(family, **more):
    model = FAMILIES[family](**more).eval()
    for parameter in model.parameters():  # and no buffers: those of positions stay in fp32, as from_pretrained has them
        parameter.data = parameter.data.to(BF16)
    # Weights of a trained model are larger than those a model begins with; noise then is not all there is.
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(2)
    return model


def tokens():
    return torch.arange(1, 25).view(2, 12) * 17 % 512


def logits(model):
    with torch.no_grad():
        return model(tokens()).logits.double()


def distance(got, want):
    return float((got - want).norm() / want.norm())


def bits(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def same_bits(left, right):
    return list(left) == list(right) and all(torch.equal(left[name], right[name]) for name in left)


def exact(family):
    return logits(model_of(family).float())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("precision, noise", [("bf16", 1.5), ("fp8-blockwise", None)])
def test_a_converted_model_says_the_same(family, precision, noise):
    model = model_of(family)
    modules, before, want = dict(model.named_modules()), bits(model), logits(model)
    torch.manual_seed(1)
    true = exact(family)
    report = warpwright.convert(model, precision)
    names = {change.name for change in report.replaced}
    assert "model.layers.0.self_attn.q_proj" in names and str(report).startswith("replaced")
    assert any(name.endswith(("mlp", "experts")) for name in names)
    got = logits(model)
    if noise is not None:  # as far from the truth as the model in bf16 is itself, and no farther
        assert distance(got, true) <= noise * distance(want, true) + 1e-3
    else:
        assert 1e-4 < distance(got, want) < 0.25
    after = model.state_dict()
    assert set(after) == set(before) and all(after[name].shape == before[name].shape for name in after)
    if precision == "bf16":
        assert all(torch.equal(after[name], before[name]) for name in before)
    with torch.no_grad():
        text = model.generate(tokens()[:1], max_new_tokens=5, do_sample=False, pad_token_id=0)
        assert text.shape == (1, 17)
    report.undo()
    assert dict(model.named_modules()).keys() == modules.keys()
    assert all(module is modules[name] for name, module in model.named_modules())
    assert same_bits(bits(model), before)
    assert torch.equal(logits(model), want)
    report.undo()  # nothing is left to do


@pytest.mark.parametrize("family", ["llama", "qwen3_moe", "qwen2_moe"])
@pytest.mark.parametrize("precision", ["bf16", "fp8-blockwise"])
def test_states_travel_in_both_directions(family, precision, tmp_path):
    model = model_of(family)
    other = model_of(family)
    plain = bits(other)
    assert not same_bits(bits(model), plain)  # random weights
    report = warpwright.convert(model, precision)
    model.load_state_dict(plain)
    reference = copy.deepcopy(other)
    warpwright.convert(reference, precision)
    assert torch.equal(logits(model), logits(reference))
    # Out of the converted model into a plain one, by hand and by files.
    other.load_state_dict(model.state_dict())
    model.save_pretrained(tmp_path)
    loaded = type(other).from_pretrained(tmp_path, dtype=BF16).eval()
    assert same_bits(bits(loaded), bits(other))
    if precision == "bf16":
        assert same_bits(bits(other), plain)
    assert distance(logits(loaded), logits(model)) < (0.02 if precision == "bf16" else 0.25)
    # And back to the bit.
    again = warpwright.convert(loaded, precision)
    assert len(again.replaced) == len(report.replaced)
    assert torch.equal(logits(loaded), logits(model))


@pytest.mark.parametrize("family", ["llama", "mixtral", "qwen2_moe"])
@pytest.mark.parametrize("precision", ["bf16", "fp8-blockwise"])
def test_compile(family, precision):
    torch._dynamo.reset()
    model = model_of(family)
    warpwright.convert(model, precision)
    want = logits(model)
    with torch.no_grad():
        got = torch.compile(model, fullgraph=True, backend="aot_eager")(tokens(), use_cache=False).logits
    assert distance(got.double(), want) < 2e-2


@pytest.mark.parametrize("family", ["qwen3_moe", "mixtral", "qwen2_moe"])
def test_a_converted_model_learns(family):
    model = model_of(family).train()
    plain = copy.deepcopy(model)
    warpwright.convert(model)
    losses = {}
    for name, each in (("model", model), ("plain", plain)):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.05)
        loss = each(tokens(), labels=tokens()).loss
        loss.backward()
        optimizer.step()
        losses[name] = float(loss.detach()), float(each(tokens(), labels=tokens()).loss.detach())
    assert losses["model"][1] < losses["model"][0]
    assert abs(losses["model"][1] - losses["plain"][1]) < 0.1 * (losses["plain"][0] - losses["plain"][1])
    gradients = {name: parameter.grad for name, parameter in plain.named_parameters()}
    compared = 0
    for name, parameter in model.named_parameters():
        if name in gradients and parameter.dim() > 1 and gradients[name] is not None:
            own = parameter.grad[:len(gradients[name])]  # a shared expert comes after the others
            assert distance(own.double(), gradients[name].double()) < 0.1, name
            compared += 1
    assert compared > 8


@pytest.mark.parametrize("family", ["llama", "qwen2_moe"])
def test_what_undo_puts_back_has_learnt_too(family):
    model = model_of(family)
    report = warpwright.convert(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01)
    want = bits(model)
    report.undo()
    assert same_bits(bits(model), {name: want[name] for name in bits(model)})


def test_a_shared_expert_joins_the_others():
    model = model_of("qwen2_moe")
    block, bytes_before = model.model.layers[0].mlp, memory_of(model)
    report = warpwright.convert(model)
    made = model.model.layers[0].mlp
    assert isinstance(made, warpwright.nn.MoE) and made.experts.gate_up_proj.shape == (8 + 2, 256, 128)
    assert made.gate is block.gate and memory_of(model) == bytes_before and memory_of(block.shared_expert) == 0
    assert [change.what for change in report.replaced if change.kind == "Qwen2MoeSparseMoeBlock"] == [
        "8 experts and the shared one by moe"]
    # What transformers records of a router is there still.
    with torch.no_grad():
        assert model(tokens(), output_router_logits=True).router_logits[0].shape == (24, 8)
    again = warpwright.convert(model)
    assert not again.replaced and "model.layers.0.mlp" in {change.name for change in again.left}


@pytest.mark.parametrize("more, leave, why", [
    ({"shared_expert_intermediate_size": 192}, (), "its shared expert is 192 wide, the others are 128: no multiple"),
    ({"hidden_act": "gelu"}, (), "experts: its activation is not silu"),
    ({}, ("*.shared_expert_gate",), "model.layers.0.mlp.shared_expert_gate is one of those to leave"),
])
def test_a_shared_expert_that_stays_beside_the_others(more, leave, why):
    model = model_of("qwen2_moe", **more)
    want = logits(model)
    report = warpwright.convert(model, leave=leave)
    said = {change.name: change.what for change in report.left}
    assert said["model.layers.0.mlp"] == f"its experts are not joined; {why}"
    replaced = {change.name for change in report.replaced}
    if "hidden_act" not in more:
        assert {"model.layers.0.mlp.experts", "model.layers.0.mlp.shared_expert"} <= replaced
    assert ("model.layers.0.mlp.shared_expert_gate" in replaced) == (not leave)
    assert distance(logits(model), want) < 2e-2


def memory_of(module):
    seen = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in module.parameters()}
    return sum(seen.values())


def test_the_report_speaks():
    model = model_of("qwen3")
    report = warpwright.convert(model, "fp8-blockwise")
    text = str(report)
    assert "model.layers.*.mlp" in text and "2 x Qwen3MLP: gate and up as one product" in text
    assert "lm_head" in text and "the output head stays as it is" in text
    assert repr(report).startswith("<Conversion to fp8-blockwise: ")
    again = warpwright.convert(model, "fp8-blockwise")
    already = [change.name for change in again.left if change.what == "it is warpwright's already"]
    assert not again.replaced and already == [change.name for change in report.replaced]


class Block(torch.nn.Module):
    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)


class Gated(torch.nn.Module):
    def __init__(self, act=torch.nn.functional.silu, twist=False, inner=256):
        super().__init__()
        self.gate_proj, self.up_proj = (torch.nn.Linear(128, inner, False, dtype=BF16) for _ in range(2))
        self.down_proj, self.act_fn, self.twist = torch.nn.Linear(inner, 128, False, dtype=BF16), act, twist

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(self.act_fn(up) * gate if self.twist else self.act_fn(gate) * up)


class Special(torch.nn.Linear):
    pass


class Adapter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.base_layer = linear()
        self.lora_A = torch.nn.ModuleDict({"default": torch.nn.Linear(128, 8, False)})


class Router(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(4, 128))


class Transposed(torch.nn.Module):
    """Experts of another form."""

    def __init__(self, hidden=128, inner=128):
        super().__init__()
        self.gate_up_proj = torch.nn.Parameter(torch.zeros(4, hidden, 2 * inner + 8, dtype=BF16))
        self.down_proj = torch.nn.Parameter(torch.zeros(4, inner, hidden, dtype=BF16))
        self.act_fn = torch.nn.SiLU()


def linear(k=128, n=256, dtype=BF16, **more):
    return torch.nn.Linear(k, n, dtype=dtype, **more)


def hooked():
    layer = linear()
    layer.register_forward_hook(lambda *arguments: None)
    return layer


def patched():
    layer = linear()
    layer.forward = lambda x: x
    return layer


LEFT = [
    (hooked, "bf16", "it has hooks"),
    (patched, "bf16", "its forward was replaced"),
    (lambda: Special(128, 256, dtype=BF16), "bf16", r"its class is .*Special, not torch.nn.Linear"),
    (lambda: torch.nn.utils.parametrizations.weight_norm(linear()), "bf16", "its class is .*Parametrized"),
    (lambda: linear(dtype=torch.float32), "bf16", r"its weight is of torch.float32; model.to\(torch.bfloat16\)"),
    (lambda: linear(device="meta"), "bf16", "on meta"),
    (Adapter, "bf16", "the base of an adapter"),
    (Router, "bf16", "no kind of module that is known, with a weight of 4 x 128"),
    (Transposed, "bf16", r"its shapes are \(4, 128, 264\)"),
    (lambda: linear(k=136), "fp8-blockwise", r"\[256, 136\]; multiples of 8 and 16"),
    (lambda: linear(n=64), "fp8-blockwise", "less than a block of 128 x 128"),
    (lambda: Gated(torch.nn.GELU()), "bf16", "its activation is not silu"),
    (lambda: Gated(twist=True), "bf16", "its forward does not compute"),
    (lambda: Gated(inner=208), "fp8-blockwise", "its intermediate size is 208"),
]


@pytest.mark.parametrize("number", range(len(LEFT)))
def test_what_is_left_and_why(number):
    make, precision, why = LEFT[number]
    inner = make()
    model = Block(inner=inner)
    report = warpwright.convert(model, precision)
    assert model.inner is inner
    assert any(re.search(why, change.what) for change in report.left), str(report)
    report.undo()
    assert model.inner is inner and not report.replaced


def test_linears_of_an_mlp_that_is_left_are_replaced():
    model = Block(mlp=Gated(torch.nn.GELU()))
    report = warpwright.convert(model)
    assert [change.name for change in report.replaced] == ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]
    assert [change.name for change in report.left] == ["mlp"]


def test_shared_modules_and_shared_weights():
    layer = linear(128, 128)
    model = Block(first=layer, second=layer, embedding=torch.nn.Embedding(128, 128, dtype=BF16), head=linear(128, 128))
    model.head.weight = model.embedding.weight
    report = warpwright.convert(model)
    assert model.first is model.second and isinstance(model.first, warpwright.nn.Linear)
    assert model.head.weight is model.embedding.weight  # still tied
    report.undo()
    assert model.first is model.second is layer
    report = warpwright.convert(model, "fp8-blockwise")
    assert type(model.head) is torch.nn.Linear and "its weight is shared with embedding" in str(report)


def test_names_to_leave():
    model = Block(one=linear(), two=linear(), block=Block(one=linear()))
    report = warpwright.convert(model, leave=["one", "block.*"])
    assert [change.name for change in report.replaced] == ["two"]
    assert {change.name for change in report.left} == {"one", "block.one"}


@pytest.mark.parametrize("call, kind, words", [
    (lambda: warpwright.convert(3), TypeError, "model: a torch.nn.Module is needed, not int"),
    (lambda: warpwright.convert(linear()), ValueError, "model: it is itself a Linear"),
    (lambda: warpwright.convert(Block(), "fp4"), ValueError, "precision: 'fp4' is not one of bf16, fp8-blockwise"),
])
def test_wrong_calls(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
