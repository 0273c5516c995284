"""What every process of test_distributed.py does: modules and models by parallelize_module, against one process."""

import copy

import torch
import torch.distributed as dist
from distributed_gemm_cases import BF16, R, equal, mesh_of, placed, real_numbers, refused, spread, whole_numbers
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

import warpwright
import warpwright.nn

F = torch.nn.functional


def whole(x):
    return x.full_tensor() if isinstance(x, DTensor) else x


def close(got, want, roundings):
    """Within this many roundings to bf16 of the largest number."""
    got, want = whole(got).detach().double(), want.detach().double()
    assert got.shape == want.shape, (got.shape, want.shape)
    off, most = float((got - want).abs().max()), float(want.abs().max())
    assert off <= roundings * 2.0**-9 * most, f"they differ by {off} of {most}: {off / most * 512:.1f} roundings"


class Pair(torch.nn.Module):
    def __init__(self, activation="none", bias=True):
        super().__init__()
        self.first = warpwright.nn.Linear(64, 48, bias, dtype=BF16, activation=activation)
        self.second = warpwright.nn.Linear(48, 32, bias, dtype=BF16)
        with torch.no_grad():
            for i, p in enumerate(self.parameters()):
                p.copy_(whole_numbers(*p.shape, seed=i))

    def forward(self, x):
        return self.second(self.first(x))


def linears(world):
    """Columns, then rows, with and without sequence parallel: numbers that are exact, so that bits must be equal."""
    mesh = mesh_of(world)
    x, g = (whole_numbers(2, 8, 64) * (torch.arange(64) % 8 == 0)).to(BF16), whole_numbers(2, 8, 32, seed=9)
    for activation in ("none", "relu"):
        for bias in (True, False):
            one = Pair(activation, bias)
            mine = x.clone().requires_grad_()
            want = one(mine)
            want.backward(g)
            many = parallelize_module(copy.deepcopy(one), mesh, {"first": ColwiseParallel(), "second": RowwiseParallel()})
            placed(many.first.weight, Shard(0))
            placed(many.second.weight, Shard(1))
            theirs = x.clone().requires_grad_()
            got = many(theirs)
            equal(got, want.detach())
            got.backward(g)
            close(theirs.grad, mine.grad, 0)
            for p, q in zip(many.parameters(), one.parameters()):
                close(p.grad, q.grad, 0)
            # Each rank brings and gets a part of the sequence.
            plan = {"first": ColwiseParallel(input_layouts=Shard(1)), "second": RowwiseParallel(output_layouts=Shard(1))}
            many = parallelize_module(copy.deepcopy(one), mesh, plan)
            rank = dist.get_rank()
            part = x.chunk(world, 1)[rank].clone().requires_grad_()
            got = many(part)
            equal(got, want.detach().chunk(world, 1)[rank])
            got.backward(g.chunk(world, 1)[rank])
            close(part.grad, mine.grad.chunk(world, 1)[rank], 0)
            for p, q in zip(many.parameters(), one.parameters()):
                close(p.grad, q.grad, 0)


def rows_with_an_activation(world):
    """It is applied to whole sums, not to those of each rank."""
    mesh = mesh_of(world)
    layer = warpwright.nn.Linear(64, 48, dtype=BF16, activation="relu")
    with torch.no_grad():
        layer.weight.copy_(whole_numbers(48, 64))
        layer.bias.copy_(whole_numbers(48, seed=2))
    x = whole_numbers(6, 64, seed=3)
    want = layer(x)
    many = parallelize_module(copy.deepcopy(layer), mesh, RowwiseParallel(input_layouts=R))
    equal(many(x), want.detach())


def sequences(world):
    """SequenceParallel: whole weights, a part of the rows."""
    mesh = mesh_of(world)
    layer = warpwright.nn.Linear(64, 48, dtype=BF16)
    with torch.no_grad():
        layer.weight.copy_(whole_numbers(48, 64))
        layer.bias.copy_(whole_numbers(48, seed=2))
    x, g = whole_numbers(2, 8, 64, seed=3), whole_numbers(2, 8, 48, seed=4)
    want = layer(x)
    want.backward(g)
    many = parallelize_module(copy.deepcopy(layer), mesh, SequenceParallel())
    for p in many.parameters():
        p.grad = None
    got = many(spread(x, mesh, R))
    placed(got, Shard(1))
    equal(got, want.detach())
    got.backward(spread(g, mesh, Shard(1)))
    for p, q in zip(many.parameters(), layer.parameters()):
        equal(p.grad, q.grad)


def mlps(world):
    """A rank has the ups of its gates, the state is that of one process, and comes back."""
    mesh = mesh_of(world)
    x, g = real_numbers(2, 8, 64), real_numbers(2, 8, 64, seed=2)
    for bias in (False, True):
        one = warpwright.nn.MLP(64, 96, bias, dtype=BF16)
        mine = x.clone().requires_grad_()
        want = one(mine)
        want.backward(g)
        for plan in ({"gate_up_proj": ColwiseParallel(), "down_proj": RowwiseParallel()},
                     {"gate_up_proj": ColwiseParallel(use_local_output=False), "down_proj": RowwiseParallel()},
                     {"gate_up_proj": ColwiseParallel(output_layouts=R), "down_proj": RowwiseParallel(input_layouts=R)}):
            many = parallelize_module(copy.deepcopy(one), mesh, plan)
            assert many.gate_up_proj.weight.to_local().shape == (192 // world, 64) and many.gate_up_proj.blocks["weight"] == world
            for p in many.parameters():
                p.grad = None
            theirs = x.clone().requires_grad_()
            got = many(theirs)
            close(got, want, 2 * world)
            got.backward(g)
            close(theirs.grad, mine.grad, 2 * world)
            gradients = [warpwright._torch_parallel.from_blocks(whole(p.grad), 0, world) if "gate_up" in name else whole(p.grad)
                         for name, p in many.named_parameters()]
            for p, q in zip(gradients, one.parameters()):
                close(p, q.grad, 4 * world)
            state = many.state_dict()
            assert list(state) == list(one.state_dict())
            for name, value in one.state_dict().items():
                equal(state[name], value)
            placed(state["gate_proj.weight"], Shard(0))
            other = parallelize_module(warpwright.nn.MLP(64, 96, bias, dtype=BF16), mesh, plan)
            other.load_state_dict(state)
            for p, q in zip(other.parameters(), many.parameters()):
                equal(whole(p), whole(q).detach())
            equal(other(x), many(x).detach())
        # Sharded by hand, or not at all: the same result.
        for at in (R, Shard(0), Shard(1)):
            by_hand = copy.deepcopy(one)
            for layer in (by_hand.gate_up_proj, by_hand.down_proj):
                for name, p in list(layer.named_parameters()):
                    layer.register_parameter(name, torch.nn.Parameter(spread(p, mesh, at if p.dim() > 1 else R)))
            for of_x in (R, Shard(0), Shard(1)):
                close(by_hand(spread(x, mesh, of_x)), want, 2 * world)


def models(world):
    """A model of transformers, converted and then parallelized."""
    import transformers

    mesh = mesh_of(world)
    torch.manual_seed(1)
    config = transformers.LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=4)
    one = transformers.LlamaForCausalLM(config).to(BF16)
    many = copy.deepcopy(one)
    names = list(one.state_dict())
    for model in (one, many):
        report = warpwright.convert(model)
        assert len(report.replaced) == 11 and not report.left
    plan = {"lm_head": ColwiseParallel(output_layouts=R)}
    for i in range(2):
        layer = f"model.layers.{i}"
        plan.update({f"{layer}.self_attn.{name}_proj": ColwiseParallel() for name in "qkv"})
        plan.update({f"{layer}.self_attn.o_proj": RowwiseParallel(), f"{layer}.mlp.gate_up_proj": ColwiseParallel(),
                     f"{layer}.mlp.down_proj": RowwiseParallel()})
    many = parallelize_module(many, mesh, plan)
    tokens = torch.arange(32).view(2, 16) * 3 % 128
    results = []
    for model in (one, many):
        made = model(tokens, labels=tokens)
        made.loss.backward()
        results.append(made)
    close(results[1].logits, results[0].logits, 12)
    assert abs(float(results[1].loss.detach()) / float(results[0].loss.detach()) - 1) < 2e-2
    embedding = [model.model.embed_tokens.weight.grad.float() for model in (one, many)]
    assert float((embedding[1] - embedding[0]).norm()) < 3e-2 * float(embedding[0].norm())
    state = many.state_dict()
    assert sorted(state) == sorted(names)
    for name, value in one.state_dict().items():
        equal(state[name], value)


def compiled(world):
    """No graph break, forward and backward."""
    import warpwright.distributed  # noqa: F401  registers the rules before anything is traced

    mesh = mesh_of(world)
    x = real_numbers(2, 8, 64)
    for one, plan in ((Pair("relu"), {"first": ColwiseParallel(), "second": RowwiseParallel()}),
                      (warpwright.nn.MLP(64, 96, dtype=BF16),
                       {"gate_up_proj": ColwiseParallel(), "down_proj": RowwiseParallel()})):
        want = one(x)
        want.sum().backward()
        many = parallelize_module(copy.deepcopy(one), mesh, plan)
        many.zero_grad()
        y = torch.compile(many, backend="aot_eager", fullgraph=True)(x)
        close(y, want, 2 * world)
        y.sum().backward()
        for (name, p), q in zip(many.named_parameters(), one.parameters()):
            mine = whole(p.grad)
            close(warpwright._torch_parallel.from_blocks(mine, 0, world) if "gate_up" in name else mine, q.grad, 4 * world)


def refusals(world):
    mesh = mesh_of(world)
    for kind, sentence, call in (
            (ValueError, "intermediate_size = 9: the", lambda: parallelize_module(
                warpwright.nn.MLP(64, 9, dtype=BF16), mesh, {"gate_up_proj": ColwiseParallel()})),
            (TypeError, "weight: it is a Parameter, x is a DTensor", lambda: warpwright.nn.MLP(
                64, 96, dtype=BF16)(spread(real_numbers(4, 64), mesh, R)))):
        refused(kind, sentence, call)


CASES = {2: [linears, rows_with_an_activation, sequences, mlps, models, compiled, refusals],
         4: [linears, rows_with_an_activation, sequences, mlps, models]}
