"""Modules of warpwright.nn on the CPU: what they compute, their states, their gradients, and what they refuse."""

import copy
import doctest

import pytest

torch = pytest.importorskip("torch")

import warpwright

F = torch.nn.functional
BF16 = torch.bfloat16


@pytest.fixture(autouse=True)
def seed(library):
    torch.manual_seed(1)


def close(got, want, tolerance=1e-2):
    got, want = got.detach(), want.detach()
    assert torch.isfinite(got.double()).all() and got.shape == want.shape
    assert float((got.double() - want.double()).norm()) <= tolerance * float(want.double().norm())


def same_state(left, right):
    left, right = left.state_dict(), right.state_dict()
    assert list(left) == list(right)
    for name, value in left.items():
        assert value.dtype == right[name].dtype and torch.equal(value, right[name]), name


class Gated(torch.nn.Module):
    """As models have it."""

    def __init__(self, hidden, inner, bias=False, dtype=BF16):
        super().__init__()
        self.gate_proj = torch.nn.Linear(hidden, inner, bias, dtype=dtype)
        self.up_proj = torch.nn.Linear(hidden, inner, bias, dtype=dtype)
        self.down_proj = torch.nn.Linear(inner, hidden, bias, dtype=dtype)
        self.act_fn = torch.nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


def test_examples_of_the_docstrings():
    assert doctest.testmod(warpwright.nn).failed == 0


@pytest.mark.parametrize("dtype", [BF16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_is_a_linear(dtype, bias):
    theirs = torch.nn.Linear(64, 48, bias, dtype=dtype)
    ours = warpwright.nn.Linear(64, 48, bias, dtype=dtype)
    assert isinstance(ours, torch.nn.Linear)
    ours.load_state_dict(theirs.state_dict())
    same_state(ours, theirs)
    x = torch.randn(2, 5, 64, dtype=dtype)
    assert ours(x).dtype == dtype
    close(ours(x), theirs(x))
    for layer in (ours, theirs):
        layer(x).double().square().sum().backward()
    for mine, other in zip(ours.parameters(), theirs.parameters()):
        close(mine.grad, other.grad)
    with torch.autocast("cpu", BF16):
        if dtype != torch.float64:
            close(ours(x), theirs(x))


def test_linear_applies_its_activation():
    layer, x = warpwright.nn.Linear(64, 48, activation="gelu", dtype=BF16), torch.randn(5, 64, dtype=BF16)
    wide = F.gelu(F.linear(x.double(), layer.weight.double(), layer.bias.double()), approximate="tanh")
    close(layer(x), wide)
    close(layer.float()(x.float()), wide)
    with pytest.raises(ValueError, match="activation: 'tanh' is not one of"):
        warpwright.nn.Linear(8, 8, activation="tanh")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind, tolerance", [("MLP", 1e-2), ("BlockwiseMLP", 8e-2)])
def test_mlp(kind, tolerance, bias):
    theirs = Gated(128, 256, bias)
    ours = getattr(warpwright.nn, kind)(128, 256, bias, dtype=BF16)
    ours.load_state_dict(theirs.state_dict())
    assert list(ours.state_dict()) and set(ours.state_dict()) == set(theirs.state_dict())
    x = torch.randn(2, 5, 128, dtype=BF16)
    want = copy.deepcopy(theirs).double()(x.double())
    with torch.no_grad():
        close(ours(x), want, tolerance)
    left, right = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours(left).float().square().sum().backward()
    theirs(right).float().square().sum().backward()
    close(left.grad, right.grad, 2 * tolerance)
    if kind == "MLP":
        both = torch.cat([theirs.gate_proj.weight.grad, theirs.up_proj.weight.grad])
        close(ours.gate_up_proj.weight.grad, both, 2e-2)
        theirs.load_state_dict(ours.state_dict())
        same = copy.deepcopy(theirs)
        ours.load_state_dict(same.state_dict())
        for name, value in ours.state_dict().items():
            assert torch.equal(value, same.state_dict()[name])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_mlp_of_other_types(dtype):
    theirs, x = Gated(64, 96, dtype=dtype), torch.randn(5, 64, dtype=dtype)
    ours = warpwright.nn.MLP(64, 96, dtype=dtype)
    ours.load_state_dict(theirs.state_dict())
    with torch.no_grad():
        assert ours(x).dtype == dtype
        close(ours(x), theirs(x))
        with torch.autocast("cpu", BF16):
            close(ours(x.float()), theirs.float()(x.float()), 2e-2)


def test_a_narrow_state_is_that_of_the_wide_weights_and_comes_back_to_the_bit():
    theirs = torch.nn.Linear(384, 256, dtype=BF16)
    ours = warpwright.nn.BlockwiseLinear(384, 256, dtype=BF16)
    ours.load_state_dict(theirs.state_dict())
    state = ours.state_dict()
    assert set(state) == {"weight", "bias"} and state["weight"].dtype == BF16
    close(state["weight"], theirs.weight, 4e-2)
    again = warpwright.nn.BlockwiseLinear(384, 256, dtype=BF16)
    again.load_state_dict(state)
    assert torch.equal(again.weight.view(torch.uint8), ours.weight.view(torch.uint8))
    assert torch.equal(again.weight_scale, ours.weight_scale)
    theirs.load_state_dict(state)  # a plain model takes it, too
    # A checkpoint that is quantized already.
    direct = warpwright.nn.BlockwiseLinear(384, 256, dtype=BF16)
    direct.load_state_dict({"weight": ours.weight, "weight_scale_inv": ours.weight_scale, "bias": ours.bias})
    assert torch.equal(direct.weight.view(torch.uint8), ours.weight.view(torch.uint8))
    with pytest.raises(RuntimeError, match="weight_scale_inv with its factors is missing"):
        direct.load_state_dict({"weight": ours.weight, "bias": ours.bias})
    with pytest.raises(RuntimeError, match=r"Missing key\(s\).*weight"):
        direct.load_state_dict({"bias": ours.bias})
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\).*extra"):
        direct.load_state_dict({**state, "extra": torch.zeros(1)})
    with pytest.raises(RuntimeError, match=r"its shape is \(8, 8\), \(256, 384\) is needed"):
        direct.load_state_dict({**state, "weight": torch.zeros(8, 8)})


def test_narrow_weights_are_moved_but_not_cast():
    layer = warpwright.nn.BlockwiseMLP(128, 256, dtype=BF16)
    layer.gate_up_proj.set_weight("weight", torch.randn(512, 128, dtype=BF16))
    bits = layer.gate_up_proj.weight.view(torch.uint8).clone()
    for move in (lambda m: m.to(torch.float32), lambda m: m.half(), lambda m: m.bfloat16().cpu(), copy.deepcopy):
        layer = move(layer)
        assert layer.gate_up_proj.weight.dtype == torch.float8_e4m3fn
        assert layer.gate_up_proj.weight_scale.dtype == torch.float32
        assert torch.equal(layer.gate_up_proj.weight.view(torch.uint8), bits)
    assert layer.to("meta").gate_up_proj.weight.is_meta


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_narrow_layers_take_other_types(dtype):
    weight, x = torch.randn(256, 128), torch.randn(3, 128, dtype=dtype)
    layer = warpwright.nn.BlockwiseLinear(128, 256, bias=True, dtype=dtype)
    layer.set_weight("weight", weight.to(dtype))
    assert layer(x).dtype == dtype
    close(layer(x), F.linear(x.float(), weight), 6e-2)


def experts_reference(x, index, weights, gate_up, down):
    rows = []
    for row, chosen, factors in zip(x, index, weights):
        made = [down[e] @ (F.silu(g) * u) for e in chosen for g, u in ((gate_up[e] @ row).chunk(2),)]
        rows.append(sum(f * y for f, y in zip(factors, made)))
    return torch.stack(rows)


@pytest.mark.parametrize("narrow, tolerance", [(False, 1e-2), (True, 8e-2)])
def test_experts(narrow, tolerance):
    layer = warpwright.nn.Experts(5, 128, 256, dtype=BF16, narrow=narrow)
    first, second = 0.1 * torch.randn(5, 512, 128).to(BF16), 0.1 * torch.randn(5, 128, 256).to(BF16)
    layer.load_state_dict({"gate_up_proj": first, "down_proj": second})
    x, index = torch.randn(12, 128).to(BF16), torch.stack([torch.randperm(4)[:2] for _ in range(12)])  # one has no row
    weights = torch.rand(12, 2)
    want = experts_reference(x.double(), index.tolist(), weights.double(), first.double(), second.double())
    with torch.no_grad():
        close(layer(x, index, weights), want, tolerance)
        torch._dynamo.reset()
        close(torch.compile(layer, fullgraph=True, backend="aot_eager")(x, index, weights), want, tolerance)
    x.requires_grad_()
    if narrow:
        with pytest.raises(ValueError, match="no gradient"):
            layer(x, index, weights)
        return
    layer(x, index, weights).float().square().sum().backward()
    wide = [t.detach().double().requires_grad_() for t in (x, first, second)]
    experts_reference(wide[0], index.tolist(), weights.double(), wide[1], wide[2]).square().sum().backward()
    for mine, other in zip((x, layer.gate_up_proj, layer.down_proj), wide):
        close(mine.grad, other.grad, 2e-2)


class Sparse(torch.nn.Module):
    """A layer with shared experts like that of Qwen2-MoE."""

    def __init__(self, hidden, inner, experts, top_k, shared_inner):
        super().__init__()
        self.top_k = top_k
        self.gate = torch.nn.Linear(hidden, experts, False, dtype=BF16)
        self.experts = torch.nn.Module()
        self.experts.gate_up_proj = torch.nn.Parameter(0.1 * torch.randn(experts, 2 * inner, hidden).to(BF16))
        self.experts.down_proj = torch.nn.Parameter(0.1 * torch.randn(experts, hidden, inner).to(BF16))
        self.shared_expert = Gated(hidden, shared_inner)
        self.shared_expert_gate = torch.nn.Linear(hidden, 1, False, dtype=BF16)

    def forward(self, x):
        weights, index = torch.topk(torch.softmax(self.gate(x), -1), self.top_k)
        weights = weights / weights.sum(-1, keepdim=True)
        first, second = self.experts.gate_up_proj, self.experts.down_proj
        made = [(F.silu(g) * u) @ second[e].T for e in range(len(first)) for g, u in ((x @ first[e].T).chunk(2, -1),)]
        chosen = torch.stack(made, 1).gather(1, index[..., None].expand(-1, -1, x.shape[-1]))
        shared = torch.sigmoid(self.shared_expert_gate(x)) * self.shared_expert(x)
        return (chosen * weights[..., None]).sum(1) + shared


@pytest.mark.parametrize("narrow, tolerance", [(False, 1e-2), (True, 8e-2)])
def test_moe_with_shared_experts(narrow, tolerance):
    theirs = Sparse(128, 128, 4, 2, 256)
    ours = warpwright.nn.MoE(128, 128, 4, 2, dtype=BF16, shared=2, shared_gate=True, narrow=narrow)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(12, 128, dtype=BF16)
    wide = copy.deepcopy(theirs).double()
    with torch.no_grad():
        close(ours(x.view(3, 4, 128)).view(12, 128), wide(x.double()), tolerance)
    state = ours.state_dict()
    assert set(state) == set(theirs.state_dict())
    assert all(state[name].shape == value.shape for name, value in theirs.state_dict().items())
    again = Sparse(128, 128, 4, 2, 256)
    again.load_state_dict(state)
    if narrow:
        return
    same_state(again, theirs)
    left, right = x.clone().requires_grad_(), x.double().requires_grad_()
    ours(left).float().square().sum().backward()
    wide(right).square().sum().backward()
    close(left.grad, right.grad, 2e-2)
    close(ours.gate.weight.grad, wide.gate.weight.grad, 4e-2)
    close(ours.shared_expert_gate.weight.grad, wide.shared_expert_gate.weight.grad, 4e-2)
    gates, ups = ours.experts.gate_up_proj.grad[4:].chunk(2, 1)
    close(gates.flatten(0, 1), wide.shared_expert.gate_proj.weight.grad, 2e-2)
    close(ups.flatten(0, 1), wide.shared_expert.up_proj.weight.grad, 2e-2)
    close(ours.experts.down_proj.grad[:4], wide.experts.down_proj.grad, 2e-2)
    torch._dynamo.reset()
    run = torch.compile(ours, fullgraph=True, backend="aot_eager")
    assert torch.equal(run(x), ours(x))


def test_moe_is_the_layer_of_models():
    transformers = pytest.importorskip("transformers")
    from transformers.models.qwen2_moe.modeling_qwen2_moe import Qwen2MoeSparseMoeBlock
    from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

    sizes = {"hidden_size": 128, "moe_intermediate_size": 64, "num_experts": 6, "num_experts_per_tok": 2}
    second = transformers.Qwen2MoeConfig(**sizes, shared_expert_intermediate_size=128, norm_topk_prob=False)
    third = transformers.Qwen3MoeConfig(**sizes, norm_topk_prob=True)
    x = torch.randn(2, 6, 128, dtype=BF16)
    for theirs, more in ((Qwen2MoeSparseMoeBlock(second), {"shared": 2, "shared_gate": True, "norm_topk_prob": False}),
                         (Qwen3MoeSparseMoeBlock(third), {})):
        for parameter in theirs.parameters():
            parameter.data = (0.1 * torch.randn(parameter.shape)).to(BF16)
        ours = warpwright.nn.MoE(128, 64, 6, 2, dtype=BF16, **more)
        ours.load_state_dict(theirs.state_dict())
        got = ours.state_dict()
        assert set(got) == set(theirs.state_dict())
        assert all(torch.equal(got[name], value) for name, value in theirs.state_dict().items())
        with torch.no_grad():
            close(ours(x), theirs.float()(x.float()), 2e-2)


def test_moe_refuses():
    with pytest.raises(ValueError, match="top_k = 5: of 4 experts it must be from 1 to 4"):
        warpwright.nn.MoE(64, 64, 4, 5)
    with pytest.raises(ValueError, match="shared_gate: it is the gate of shared experts"):
        warpwright.nn.MoE(64, 64, 4, 2, shared_gate=True)


@pytest.mark.parametrize("make, words", [
    (lambda: warpwright.nn.BlockwiseLinear(100, 256), "in_features = 100"),
    (lambda: warpwright.nn.BlockwiseMLP(128, 200), "intermediate_size = 200"),
    (lambda: warpwright.nn.Experts(2, 128, 100, narrow=True), "intermediate_size = 100"),
    (lambda: warpwright.nn.Experts(2, 100, 128), "hidden_size = 100"),
])
def test_shapes_that_no_kernel_has(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("kind", ["MLP", "BlockwiseMLP"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(kind, dynamic):
    torch._dynamo.reset()
    layer = getattr(warpwright.nn, kind)(128, 256, dtype=BF16)
    layer.load_state_dict(Gated(128, 256).state_dict())
    run = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for rows in (4, 9):
        x = torch.randn(2, rows, 128, dtype=BF16)
        with torch.no_grad():
            close(run(x), layer(x), 2e-2)
        y = x.clone().requires_grad_()
        run(y).float().sum().backward()
        assert torch.isfinite(y.grad).all()


@pytest.mark.parametrize("kind", ["MLP", "BlockwiseMLP"])
def test_the_kernels_compute_it(kind):
    layer = getattr(warpwright.nn, kind)(128, 128, dtype=BF16)
    layer.load_state_dict(Gated(128, 128).state_dict())
    x = torch.randn(2, 20, 128, dtype=BF16)
    with torch.no_grad():
        by_torch = layer(x)
        with warpwright.simulate():
            by_kernel = layer(x)
    close(by_torch, by_kernel, 1e-2 if kind == "MLP" else 3e-2)
