"""What every process of test_distributed.py does: layers of experts over several ranks, against one process."""

import copy

import torch
import torch.distributed as dist
from distributed_gemm_cases import BF16, R, SUM, equal, mesh_of, placed, real_numbers, refused, spread
from distributed_nn_cases import close, whole
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import parallelize_module

import warpwright
import warpwright.distributed
import warpwright.nn
from warpwright.distributed import ExpertParallel, ExpertTensorParallel

TOKENS, HIDDEN, INNER, EXPERTS, CHOICES = 24, 64, 32, 8, 3


def layer_of(tokens=TOKENS, hidden=HIDDEN, inner=INNER, experts=EXPERTS, seed=1):
    x = real_numbers(tokens, hidden, seed=seed)
    first, second = real_numbers(experts, 2 * inner, hidden, seed=seed + 1), real_numbers(experts, hidden, inner, seed=seed + 2)
    scores = torch.softmax(real_numbers(tokens, experts, seed=seed + 3, dtype=torch.float32), -1)
    weights, ids = torch.topk(scores, CHOICES)
    return x, (first / 8).to(BF16), (second / 6).to(BF16), ids, weights


def cut(sizes, *tensors):
    """The rows of this rank."""
    return [t.split(sizes)[dist.get_rank()] for t in tensors]


def my_experts(world, *tensors):
    return [t.chunk(world)[dist.get_rank()].clone() for t in tensors]


def sizes_of(world):
    """Equal parts, unequal ones, and a rank that has no token at all."""
    some = [TOKENS - 3 * (world - 1), *[3] * (world - 1)]
    return [TOKENS // world] * world, some, [0, *[TOKENS // (world - 1)] * (world - 1)]


def forward(world):
    """The bits of one process, with whatever tokens the ranks have, twice."""
    x, first, second, ids, weights = layer_of()
    want = warpwright.moe(x, first, second, ids, weights)
    for sizes in sizes_of(world):
        for kind in (torch.int32, torch.int64):
            mine = cut(sizes, x, ids.to(kind), weights)
            for _ in range(2):
                got = warpwright.distributed.moe(mine[0], *my_experts(world, first, second), *mine[1:])
                equal(got, want.split(sizes)[dist.get_rank()])


def routing(world):
    """All tokens to one expert, and pairs that are wrong: they add nothing."""
    x, first, second, ids, weights = layer_of()
    sizes = [TOKENS // world] * world
    everything = torch.full_like(ids, EXPERTS - 1)
    wrong, no_number = ids.clone(), weights.clone()
    wrong[::3, 0], wrong[1::4, 1] = -1, EXPERTS + 5
    no_number[::5, 2] = torch.nan
    for index, factors in ((everything, weights), (wrong, weights), (ids, no_number), (wrong, no_number),
                           (torch.full_like(ids, -7), weights)):
        want = warpwright.moe(x, first, second, index, factors)
        mine = cut(sizes, x, index, factors)
        equal(warpwright.distributed.moe(mine[0], *my_experts(world, first, second), *mine[1:]),
              want.split(sizes)[dist.get_rank()])


def narrow(world):
    """Experts in 8 bits: rows travel as bytes with their factors."""
    x, first, second, ids, weights = layer_of(hidden=128, inner=128)
    q = warpwright.quantize(x)
    pairs = [[warpwright.quantize(matrix, "block") for matrix in weight] for weight in (first, second)]
    values = [torch.stack([p.values.view(torch.uint8) for p in of]).view(torch.float8_e4m3fn) for of in pairs]
    scales = [torch.stack([p.scales for p in of]) for of in pairs]
    want = warpwright.moe(q.values, *values, ids, weights, x_scale=q.scales, w_gate_up_scale=scales[0],
                          w_down_scale=scales[1])
    for sizes in sizes_of(world):
        mine = cut(sizes, q.values.view(torch.uint8), q.scales, ids, weights)
        bits = [v.view(torch.float8_e4m3fn) for v in my_experts(world, *(v.view(torch.uint8) for v in values))]
        mine_scales = my_experts(world, *scales)
        got = warpwright.distributed.moe(mine[0].view(torch.float8_e4m3fn), *bits, *mine[2:], x_scale=mine[1],
                                         w_gate_up_scale=mine_scales[0], w_down_scale=mine_scales[1])
        equal(got, want.split(sizes)[dist.get_rank()])


def for_all_tokens(world):
    """Experts that every token takes are on every rank; the bits are those of one process, and there is a gradient."""
    x, first, second, ids, weights = layer_of()
    more, most = (t[:2] for t in layer_of(seed=20)[1:3])
    everybody = torch.rand(TOKENS, 2)
    everybody[3, 1] = torch.nan
    for given in (None, everybody):
        want = warpwright.moe(x, torch.cat([first, more]), torch.cat([second, most]), ids, weights, shared=2,
                              shared_weights=given)
        for sizes in sizes_of(world):
            mine = cut(sizes, x, ids, weights, everybody)
            mats = [torch.cat(pair).requires_grad_() for pair in zip(my_experts(world, first, second), (more, most))]
            rows = mine[0].clone().requires_grad_()
            got = warpwright.distributed.moe(rows, *mats, *mine[1:3], shared=2,
                                             shared_weights=None if given is None else mine[3])
            equal(got.detach(), want.split(sizes)[dist.get_rank()])
            got.sum().backward()
            assert all(torch.isfinite(m.grad).all() for m in mats) and rows.grad.shape == rows.shape


def with_capacity(world):
    """A fixed number of rows for each rank: the same bits as long as it is enough, gradients too, and no look from the
    host after the first call."""
    x, first, second, ids, weights = layer_of()
    gradient = real_numbers(TOKENS, HIDDEN, seed=9)
    wrong, no_number = ids.clone(), weights.clone()
    wrong[::3, 0], no_number[1::5, 2] = EXPERTS + 5, torch.nan
    looks = []
    tolist = torch.Tensor.tolist
    for index, factors in ((ids, weights), (ids % (EXPERTS // world), weights), (wrong, no_number)):
        want = warpwright.moe(x, first, second, index, factors)
        for sizes in sizes_of(world):
            mine = cut(sizes, x, index, factors)
            made = []
            for capacity in (None, TOKENS * CHOICES, TOKENS * CHOICES):
                rows, of_pairs = mine[0].clone().requires_grad_(), mine[2].clone().requires_grad_()
                mats = [t.requires_grad_() for t in my_experts(world, first, second)]
                status = torch.full((1,), 77, dtype=torch.int32)
                torch.Tensor.tolist = lambda t, capacity=capacity: (looks.append(capacity), tolist(t))[1]
                y = warpwright.distributed.moe(rows, *mats, mine[1], of_pairs, capacity=capacity, status=status)
                torch.Tensor.tolist = tolist
                equal(y.detach(), want.split(sizes)[dist.get_rank()])
                assert int(status) == int((mine[1] >= EXPERTS).any()) + 2 * int(mine[2].isnan().any())
                y.backward(gradient.split(sizes)[dist.get_rank()])
                made.append([rows.grad, of_pairs.grad, *(m.grad for m in mats)])
            for got in made[1:]:
                for a, b in zip(got, made[0]):
                    equal(a, b)
    assert looks.count(None) == 9 and len(looks) == 10  # one for all calls with a capacity


def with_too_little(world):
    """Pairs beyond the capacity add nothing: the last ones of each rank, in the order of their experts."""
    x, first, second, ids, weights = layer_of()
    sizes = [TOKENS // world] * world
    capacity, each = 4, EXPERTS // world
    kept = ids.clone()
    for begin in range(0, TOKENS, TOKENS // world):
        mine = [(int(kept[t, c]), t, c) for t in range(begin, begin + TOKENS // world) for c in range(CHOICES)]
        for rank in range(world):
            for _, t, c in sorted(pair for pair in mine if pair[0] // each == rank)[capacity:]:
                kept[t, c] = -1
    assert (kept < 0).any() and (kept >= 0).any()
    want = warpwright.moe(x, first, second, kept, weights)
    mine = cut(sizes, x, ids, weights)
    status = torch.zeros((), dtype=torch.int32)
    rows = mine[0].clone().requires_grad_()
    got = warpwright.distributed.moe(rows, *my_experts(world, first, second), *mine[1:], capacity=capacity, status=status)
    equal(got.detach(), want.split(sizes)[dist.get_rank()])
    assert int(status) == 8 * bool((cut(sizes, kept)[0] < 0).any())
    got.sum().backward()
    # What one process has where these pairs are not there.
    all_rows = x.clone().requires_grad_()
    warpwright.moe(all_rows, first, second, kept, weights).sum().backward()
    close(rows.grad, all_rows.grad.split(sizes)[dist.get_rank()], 8)


def in_one_process(x, first, second, ids, weights, gradient):
    """By warpwright.nn.Experts."""
    layer = warpwright.nn.Experts(*first.shape[:1], x.shape[1], second.shape[2], dtype=BF16)
    with torch.no_grad():
        layer.gate_up_proj.copy_(first)
        layer.down_proj.copy_(second)
    x, weights = x.clone().requires_grad_(), weights.clone().requires_grad_()
    y = layer(x, ids, weights)
    y.backward(gradient)
    return layer, y.detach(), x.grad, weights.grad


def backward(world):
    """Gradients of tokens, of weights of pairs and of experts: what one process has, but for the rounding. A pair's
    gradient is rounded to bf16 times its weight, and once more on its way back: five times in all, and in one process
    three times. A rank without tokens, and experts without tokens, take part."""
    x, first, second, ids, weights = layer_of()
    gradient = real_numbers(TOKENS, HIDDEN, seed=9)
    for index in (ids, ids % (EXPERTS // world)):  # the second: all experts are the first rank's
        layer, want, x_gradient, weights_gradient = in_one_process(x, first, second, index, weights, gradient)
        for sizes in sizes_of(world):
            kept = []
            for _ in range(2):
                mine = cut(sizes, x, index, weights)
                rows, factors = mine[0].clone().requires_grad_(), mine[2].clone().requires_grad_()
                mats = [t.requires_grad_() for t in my_experts(world, first, second)]
                y = warpwright.distributed.moe(rows, *mats, mine[1], factors)
                y.backward(gradient.split(sizes)[dist.get_rank()])
                kept.append([y.detach(), rows.grad, factors.grad, *(m.grad for m in mats)])
            for a, b in zip(*kept):
                equal(a, b)
            if sizes[dist.get_rank()]:
                for got, all_of_it in zip(kept[0][:3], (want, x_gradient, weights_gradient)):
                    close(got, all_of_it.split(sizes)[dist.get_rank()], 8)
            for got, all_of_it in zip(kept[0][3:], (layer.gate_up_proj.grad, layer.down_proj.grad)):
                part = all_of_it.chunk(world)[dist.get_rank()]
                if part.abs().max() == 0:
                    assert got.abs().max() == 0
                else:
                    close(got, part, 8)


def styles(world):
    """parallelize_module with ExpertParallel and ExpertTensorParallel: results, gradients and the state."""
    mesh = mesh_of(world)
    x, first, second, ids, weights = layer_of()
    gradient = real_numbers(TOKENS, HIDDEN, seed=9)
    one, want, x_gradient, weights_gradient = in_one_process(x, first, second, ids, weights, gradient)
    sizes = [TOKENS // world] * world
    for style, by_tokens, at in ((ExpertParallel(), True, 0), (ExpertParallel(input_layouts=R), False, 0),
                                 (ExpertParallel(capacity=TOKENS * CHOICES), True, 0),
                                 (ExpertTensorParallel(), False, 1),
                                 (ExpertTensorParallel(input_layouts=Shard(0), output_layouts=Shard(0)), True, 1)):
        many = parallelize_module(copy.deepcopy(one), mesh, style)
        many.zero_grad()
        assert many.gate_up_proj.to_local().numel() == first.numel() // world
        parts = cut(sizes, x, ids, weights, gradient, want, x_gradient, weights_gradient) if by_tokens else (
            x, ids, weights, gradient, want, x_gradient, weights_gradient)
        rows, factors = parts[0].clone().requires_grad_(), parts[2].clone().requires_grad_()
        y = many(rows, parts[1], factors)
        close(y, parts[4], 2 * world)
        y.backward(parts[3])
        close(rows.grad, parts[5], 8 * world)
        close(factors.grad, parts[6], 8 * world)
        order = warpwright._torch_parallel.from_blocks if many.blocks > 1 else lambda t, *rest: t
        close(order(whole(many.gate_up_proj.grad), 1, many.blocks), one.gate_up_proj.grad, 8 * world)
        close(many.down_proj.grad, one.down_proj.grad, 8 * world)
        state = many.state_dict()
        for name, value in one.state_dict().items():
            equal(state[name], value)
        other = parallelize_module(warpwright.nn.Experts(EXPERTS, HIDDEN, INNER, dtype=BF16), mesh, style)
        other.load_state_dict(state)
        placed(other.gate_up_proj, Shard(at))
        equal(other(parts[0], parts[1], parts[2]), many(parts[0], parts[1], parts[2]).detach())
        for name, value in state.items():
            equal(other.state_dict()[name], whole(value))


def narrow_styles(world):
    """Experts in 8 bits, spread over the ranks; their state is that of one process."""
    mesh = mesh_of(world)
    x, first, second, ids, weights = layer_of(hidden=128, inner=128)
    one = warpwright.nn.Experts(EXPERTS, 128, 128, narrow=True)
    one.load_state_dict({"gate_up_proj": first, "down_proj": second})
    sizes = [TOKENS // world] * world
    with torch.no_grad():
        want = one(x, ids, weights)
        for style, by_tokens in ((ExpertParallel(), True), (ExpertParallel(input_layouts=R), False),
                                 (ExpertParallel(capacity=TOKENS * CHOICES), True)):
            many = parallelize_module(copy.deepcopy(one), mesh, style)
            assert many.gate_up_proj.shape[0] == EXPERTS // world
            parts = cut(sizes, x, ids, weights, want) if by_tokens else (x, ids, weights, want)
            close(many(*parts[:3]), parts[3], 2)
            state = many.state_dict()
            for name, value in one.state_dict().items():
                equal(state[name], value)
            for given in (state, one.state_dict()):
                other = parallelize_module(warpwright.nn.Experts(EXPERTS, 128, 128, narrow=True), mesh, style)
                other.load_state_dict(given)
                equal(other(*parts[:3]), many(*parts[:3]))


def mixtures(world):
    """warpwright.nn.MoE, with its router on every rank."""
    mesh = mesh_of(world)
    x, gradient = real_numbers(4, 6, HIDDEN), real_numbers(4, 6, HIDDEN, seed=2)
    for shared, style in ((0, ExpertParallel(input_layouts=R)), (0, ExpertTensorParallel()), (2, ExpertTensorParallel())):
        one = warpwright.nn.MoE(HIDDEN, INNER, EXPERTS, 2, dtype=BF16, shared=shared, shared_gate=bool(shared))
        many = parallelize_module(copy.deepcopy(one), mesh, {"experts": style})
        made = []
        for layer in (one, many):
            rows = x.clone().requires_grad_()
            y = layer(rows)
            y.backward(gradient)
            made.append((y, rows.grad, layer.gate.weight.grad))
        for got, want in zip(made[1], made[0]):
            close(got, want, 8 * world)
        state = many.state_dict()
        assert list(state) == list(one.state_dict())
        for name, value in one.state_dict().items():
            equal(state[name], value)
        other = parallelize_module(warpwright.nn.MoE(HIDDEN, INNER, EXPERTS, 2, dtype=BF16, shared=shared,
                                                     shared_gate=bool(shared)), mesh, {"experts": style})
        other.load_state_dict(state)
        equal(other(x).detach(), many(x).detach())


def models(world):
    """A mixture of transformers, converted; tokens are the same on all ranks, experts are not."""
    import transformers

    mesh = mesh_of(world)
    torch.manual_seed(1)
    config = transformers.MixtralConfig(vocab_size=128, hidden_size=64, intermediate_size=32, num_hidden_layers=2,
                                        num_attention_heads=4, num_key_value_heads=4, num_local_experts=EXPERTS)
    one = transformers.MixtralForCausalLM(config).to(BF16)
    many = copy.deepcopy(one)
    for model in (one, many):
        assert sum(change.kind == "MixtralExperts" for change in warpwright.convert(model).replaced) == 2
    parallelize_module(many, mesh, {f"model.layers.{i}.mlp.experts": ExpertParallel(input_layouts=R) for i in range(2)})
    tokens = torch.arange(32).view(2, 16) * 3 % 128
    made = []
    for model in (one, many):
        result = model(tokens, labels=tokens)
        result.loss.backward()
        made.append((result.logits, model.model.embed_tokens.weight.grad.float()))
    close(made[1][0], made[0][0], 12)
    assert float((made[1][1] - made[0][1]).norm()) < 3e-2 * float(made[0][1].norm())


def layers_of_dtensors(world):
    """warpwright.moe and warpwright.nn.Experts by tokens, by the intermediate size, and from any other placement."""
    mesh = mesh_of(world)
    x, first, second, ids, weights = layer_of()
    want = warpwright.moe(x, first, second, ids, weights)
    for of_x, of_first, of_second, of_out in ((R, R, R, R), (Shard(0), R, R, Shard(0)), (R, Shard(1), Shard(2), SUM),
                                              (Shard(0), Shard(1), Shard(2), SUM), (R, Shard(0), Shard(0), R),
                                              (Shard(1), R, Shard(1), R), (R, R, Shard(2), SUM)):
        parts = [spread(t, mesh, at) for t, at in ((x, of_x), (first, of_first), (second, of_second), (ids, R), (weights, R))]
        got = warpwright.moe(*parts)
        placed(got, of_out)
        if of_out == SUM:
            close(got, want, 2 * world)
        else:
            equal(got, want)
    gradient = real_numbers(TOKENS, HIDDEN, seed=9)
    one, _, x_gradient, weights_gradient = in_one_process(x, first, second, ids, weights, gradient)
    for of_x, of_first, of_second in ((Shard(0), R, R), (R, Shard(1), Shard(2)), (R, Shard(0), Shard(0))):
        many = copy.deepcopy(one)
        many.gate_up_proj = torch.nn.Parameter(spread(first, mesh, of_first))
        many.down_proj = torch.nn.Parameter(spread(second, mesh, of_second))
        rows, factors = spread(x, mesh, of_x, gradient=True), spread(weights, mesh, R, gradient=True)
        y = many(rows, spread(ids, mesh, R), factors)
        y.redistribute(placements=[R]).backward(spread(gradient, mesh, R))
        for got, all_of_it in ((rows.grad, x_gradient), (factors.grad, weights_gradient),
                               (many.gate_up_proj.grad, one.gate_up_proj.grad), (many.down_proj.grad, one.down_proj.grad)):
            close(got, all_of_it, 8 * world)


def refusals(world):
    mesh, rank = mesh_of(world), dist.get_rank()
    x, first, second, ids, weights = layer_of()
    mats = my_experts(world, first, second)
    call = warpwright.distributed.moe
    # What only one rank does wrong is reported on all.
    fewer = [m[:len(m) - (rank == world - 1)] for m in mats]
    refused(ValueError, f"w_gate_up, w_down: rank 0 has {EXPERTS // world} of 64 -> 32 in bf16, rank {world - 1} has "
            f"{EXPERTS // world - 1} of 64 -> 32 in bf16; all ranks have equally many experts of one size",
            lambda: call(x, *fewer, ids, weights))
    wide = layer_of(hidden=72) if rank == 0 else layer_of()
    refused(ValueError, f"rank 0 has {EXPERTS // world} of 72 -> 32 in bf16, rank 1 has {EXPERTS // world} of 64 -> 32",
            lambda: call(wide[0], *my_experts(world, *wide[1:3]), ids, weights))
    refused(ValueError, "capacity: rank 0 gives 40, rank 1 41; all ranks give the same",
            lambda: call(x, *mats, ids, weights, capacity=40 + rank))
    refused(ValueError, "capacity: rank 0 gives 50, rank 1 None; all ranks give the same",
            lambda: call(x, *mats, ids, weights, capacity=50 if rank != 1 else None))
    for capacity in (0, -3, 2.5, "all"):
        refused(ValueError, f"capacity: {capacity!r} rows for each rank; a whole number from 1 on is needed, or None",
                lambda capacity=capacity: call(x, *mats, ids, weights, capacity=capacity))
    refused(ValueError, "status: one torch.int32 on cpu is needed, not 2 of torch.int64 on cpu",
            lambda: call(x, *mats, ids, weights, status=torch.zeros(2, dtype=torch.int64)))
    refused(ValueError, "w_gate_up: its shape is", lambda: call(x[:, :32], *mats, ids, weights))
    refused(TypeError, "topk_ids: its type is torch.float32", lambda: call(x, *mats, ids.float(), weights))
    experts = warpwright.nn.Experts(5, 64, 32, dtype=BF16)
    refused(ValueError, f"num_experts = 5: the {world} ranks that share it need a part of equal size each",
            lambda: parallelize_module(experts, mesh, ExpertParallel()))
    odd = warpwright.nn.Experts(4, 64, 32, dtype=BF16)
    odd.intermediate_dim = 33
    refused(ValueError, "intermediate_size = 33: the", lambda: parallelize_module(odd, mesh, ExpertTensorParallel()))
    refused(TypeError, "ExpertParallel: it is for warpwright.nn.Experts, not for Linear",
            lambda: parallelize_module(torch.nn.Linear(8, 8), mesh, ExpertParallel()))
    refused(ValueError, "input_layouts: S(1) is not one of Shard(0), Replicate()", lambda: ExpertParallel(input_layouts=Shard(1)))
    refused(ValueError, "ExpertParallel: 1 of these experts are for all tokens", lambda: parallelize_module(
        warpwright.nn.Experts(4, 64, 32, dtype=BF16, shared=1), mesh, ExpertParallel()))
    whole_layer = warpwright.nn.Experts(4, 128, 128, narrow=True)
    refused(ValueError, "ExpertTensorParallel: experts in 8 bits are not cut",
            lambda: parallelize_module(whole_layer, mesh, ExpertTensorParallel()))
    once = parallelize_module(warpwright.nn.Experts(4, 64, 32, dtype=BF16), mesh, ExpertParallel())
    refused(ValueError, "ExpertParallel: these experts are spread over ranks already",
            lambda: parallelize_module(once, mesh, ExpertParallel()))
    parts = [spread(t, mesh, R) for t in (x, first, second, ids, weights)]
    refused(TypeError, "w_down: it is a Tensor, x is a DTensor", lambda: warpwright.moe(*parts[:2], second, *parts[3:]))
    refused(ValueError, "status: a layer of DTensors has none",
            lambda: warpwright.moe(*parts, status=torch.zeros(1, dtype=torch.int32)))


CASES = {2: [forward, routing, narrow, backward, with_capacity, with_too_little, for_all_tokens, styles, narrow_styles, mixtures,
             models, layers_of_dtensors, refusals],
         4: [forward, routing, backward, with_capacity, with_too_little, for_all_tokens, styles, mixtures, models,
             layers_of_dtensors, refusals]}
