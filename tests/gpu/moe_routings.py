"""Random routings of moe(), its result and its gradients, against float64: experts with all tokens or none, single tokens,
experts that do not exist, weights that are not numbers, tokens that are not there, experts that every token takes.

Usage: moe_routings.py [--count N] [--first I] [--device cuda|cpu|simulator] [--gradient-every N] [--fp8-every N]
                       [--launches N]

The same number is the same case everywhere. --launches: then so many launches of the first twenty layers beside a stream
that others keep busy, each with the bits that it has alone. Exits 0 when all are right, 1 when one is wrong, 3 where there is no GPU.
"""
import argparse
import contextlib
import pathlib
import sys
import time
from typing import NamedTuple, Optional

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import warpwright  # noqa: E402

KINDS = ("uniform", "skewed", "one", "half", "bad", "count")
EXPERTS, WEIGHTS, TOKENS = 1, 2, 4  # bits of the status word
TOLERANCE = {False: 1.2e-2, True: 8e-2}  # of bf16, of e4m3: sums of products of rounded factors
NARROW = "float8_e4m3fn"


class Case(NamedTuple):
    """A layer and what its status is."""

    words: str
    x: torch.Tensor
    w_gate_up: torch.Tensor
    w_down: torch.Tensor
    ids: torch.Tensor
    weights: torch.Tensor
    shared: int
    shared_weights: Optional[torch.Tensor]
    token_count: Optional[torch.Tensor]
    live: int
    status: int
    dy: torch.Tensor


def draw(number, largest=64, fp8=False):
    """Case ``number``; ``largest`` bounds tokens and, eightfold, extents."""
    g = torch.Generator().manual_seed(number)

    def below(n):
        return int(torch.randint(n, (1,), generator=g))

    def normal(*shape):
        return torch.randn(*shape, generator=g)

    kind = KINDS[number % len(KINDS)]
    tokens = 1 if below(6) == 0 else 1 + below(largest)
    unit = 128 if fp8 else 8
    hidden, inner = (unit * (1 + below(max(1, largest * 8 // unit // 4))) for _ in range(2))
    chosen, shared = 1 + below(12), below(3)
    top_k = 1 + below(min(chosen, 8))
    ids = torch.stack([torch.randperm(chosen, generator=g)[:top_k] for _ in range(tokens)])
    weights = torch.softmax(normal(tokens, top_k), -1)
    if kind == "skewed":
        ids = torch.where(torch.rand(tokens, top_k, generator=g) < 0.8, ids % max(1, chosen // 4), ids)
    elif kind == "one":
        ids.fill_(chosen - 1)
    elif kind == "half":
        ids = ids // 2 * 2
        ids[ids >= chosen] = 0
    shared_weights = torch.rand(tokens, shared, generator=g) if shared and below(2) else None
    token_count, live, status = None, tokens, 0
    if kind == "count":
        given = (below(tokens + 1), 0, tokens, tokens + 1 + below(9), -1)[below(5)]
        token_count = torch.tensor([given], dtype=torch.int32)
        live = tokens if given < 0 else min(given, tokens)
        status = TOKENS if given < 0 or given > tokens else 0
    elif kind == "bad":
        wrong = torch.tensor([-1, chosen, chosen + shared, 2**31 - 1, -2**31, 2**40 if number % 2 else -7])
        hit = torch.rand(tokens, top_k, generator=g) < 0.3
        ids = torch.where(hit, wrong[torch.randint(len(wrong), (tokens, top_k), generator=g)], ids)
        weights[torch.rand(tokens, top_k, generator=g) < 0.2] = float("nan")
        if shared_weights is not None:
            shared_weights[torch.rand(tokens, shared, generator=g) < 0.2] = float("nan")
        status = EXPERTS * bool(hit.any()) + WEIGHTS * bool(weights.isnan().any() or (
            shared_weights is not None and shared_weights.isnan().any()))
    # With all of it taken as int32 numbers beyond 32 bits are not there to be wrong.
    if not (kind == "bad" and number % 2) and below(2):
        ids = ids.int()
    words = (f"{number}: {kind}, {tokens} tokens x {top_k} of {chosen} experts and {shared} for all, {hidden} -> {inner}"
             f"{', fp8' if fp8 else ''}")
    return Case(words, normal(tokens, hidden).bfloat16(), (normal(chosen + shared, 2 * inner, hidden) / hidden**0.5).bfloat16(),
                (normal(chosen + shared, hidden, inner) / inner**0.5).bfloat16(), ids, weights, shared, shared_weights,
                token_count, live, status, normal(tokens, hidden).bfloat16())


def expected(x, w_gate_up, w_down, weights, shared_weights, case):
    """In float64, by torch, which knows its gradient; and for each pair how large what its weight is multiplied by is."""
    experts, top_k = w_down.shape[0], case.ids.shape[1]
    every = torch.arange(experts - case.shared, experts).expand(len(x), case.shared)
    legal = (case.ids >= 0) & (case.ids < experts - case.shared)
    ids = torch.cat([torch.where(legal, case.ids.long(), -1), every], 1)
    ones = weights.new_ones(len(x), case.shared)
    all_weights = torch.cat([weights, ones if shared_weights is None else shared_weights], 1)
    out, sizes = torch.zeros_like(x), torch.zeros_like(all_weights)
    for e in range(experts):
        there = (ids == e) & ~all_weights.isnan()
        there[case.live:] = False
        token, pair = there.nonzero(as_tuple=True)
        gate, up = (x[token] @ w_gate_up[e].T).chunk(2, -1)
        rows = (torch.nn.functional.silu(gate) * up) @ w_down[e].T
        out = out.index_add(0, token, rows * all_weights[token, pair][:, None])
        sizes[token, pair] = (rows.norm(dim=-1) * case.dy[token].double().norm(dim=-1)).detach()
    return out, (sizes[:, :top_k], sizes[:, top_k:])


def wrong_by(got, want, size=None):
    """The distance relative to ``size``, or to ``want``; infinite where nothing may be there."""
    far, long = float((got.double().cpu() - want).norm()), float((want if size is None else size).norm())
    return far / long if long else float("inf") if far or not torch.isfinite(got).all() else 0.0


def quantized(case):
    rows = warpwright.quantize(case.x, "token")
    up, down = ([warpwright.quantize(m, "block") for m in w] for w in (case.w_gate_up, case.w_down))
    scales = {"x_scale": rows.scales, "w_gate_up_scale": torch.stack([q.scales for q in up]),
              "w_down_scale": torch.stack([q.scales for q in down])}
    return (rows.values, torch.stack([q.values for q in up]), torch.stack([q.values for q in down])), scales


def check(case, device="cpu", gradient=False, fp8=False):
    """What is wrong with it; empty where nothing is."""
    place = torch.device("cuda" if device == "cuda" else "cpu")
    simulated = warpwright.simulate() if device == "simulator" else contextlib.nullcontext()
    moved = case._replace(**{name: value.to(place) for name, value in case._asdict().items()
                             if isinstance(value, torch.Tensor)})
    leaves = [t for t in (moved.x, moved.w_gate_up, moved.w_down, moved.weights, moved.shared_weights)]
    if gradient:
        leaves = [None if t is None else t.clone().requires_grad_() for t in leaves]
    status = torch.full((1,), 99, dtype=torch.int32, device=place)
    operands, scales = quantized(moved) if fp8 else (leaves[:3], {})
    out = None if gradient else torch.full_like(moved.x, 7)
    with simulated:
        def run():
            return warpwright.moe(*operands, moved.ids, leaves[3], shared=case.shared, shared_weights=leaves[4],
                                  token_count=moved.token_count, out=out, status=status, **scales)

        y = run()
        if gradient:
            (y * moved.dy)[:case.live].float().sum().backward()
        again = None if gradient else y.clone()
        if again is not None and device != "simulator":
            again = run().clone()
    wide = [None if t is None else t.double().requires_grad_(gradient)
            for t in (case.x, case.w_gate_up, case.w_down, case.weights, case.shared_weights)]
    want, sizes = expected(*wide, case)
    faults = []
    if int(status) != case.status:
        faults.append(f"the status is {int(status)}, not {case.status}")
    if wrong_by(y.detach()[:case.live], want.detach()[:case.live]) > TOLERANCE[fp8]:
        faults.append(f"the result is off by {wrong_by(y.detach()[:case.live], want.detach()[:case.live]):.2e}")
    if again is not None and not torch.equal(again, y):
        faults.append("another run has other bits")
    if out is not None and not bool((y[case.live:] == 7).all()):
        faults.append("a row of a token that is not there was written")
    if gradient:
        (want * case.dy.double()).sum().backward()
        names = ("x", "w_gate_up", "w_down", "topk_weights", "shared_weights")
        for name, mine, other, size in zip(names, leaves, wide, (None, None, None, *sizes)):
            if mine is not None and wrong_by(mine.grad, torch.nan_to_num(other.grad), size) > TOLERANCE[fp8]:
                faults.append(f"the gradient of {name} is off by {wrong_by(mine.grad, other.grad, size):.2e}")
    return faults


def launch_beside_a_busy_stream(cases, launches, seed=1):
    """How many of the launches gave other bits than the same layer alone."""
    moved = [[t.cuda() for t in (c.x, c.w_gate_up, c.w_down, c.ids, c.weights)] for c in cases]
    rest = [{"shared": c.shared, "shared_weights": None if c.shared_weights is None else c.shared_weights.cuda()}
            for c in cases]
    alone = [warpwright.moe(*t, **r) for t, r in zip(moved, rest)]
    torch.cuda.synchronize()
    g, busy, wrong = torch.Generator().manual_seed(seed), torch.cuda.Stream(), 0
    squares = [torch.randn(n, n, device="cuda").bfloat16() for n in (256, 1024, 4096)]
    for begin in range(0, launches, 50):
        results = []
        for _ in range(min(50, launches - begin)):
            i = int(torch.randint(len(cases), (1,), generator=g))
            if int(torch.randint(3, (1,), generator=g)) == 0:
                square = squares[int(torch.randint(len(squares), (1,), generator=g))]
                with torch.cuda.stream(busy):
                    torch.mm(square, square)
            results.append((i, warpwright.moe(*moved[i], **rest[i])))
        torch.cuda.synchronize()
        wrong += sum(not torch.equal(got, alone[i]) for i, got in results)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--device", choices=("cuda", "cpu", "simulator"), default="cuda")
    parser.add_argument("--largest", type=int, default=0, help="bounds tokens and, eightfold, extents (default: by device)")
    parser.add_argument("--gradient-every", type=int, default=5, help="0: never")
    parser.add_argument("--fp8-every", type=int, default=7, help="0: never")
    parser.add_argument("--launches", type=int, default=0, help="beside a busy stream, on a GPU")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        print("there is no GPU that torch can use", file=sys.stderr)
        return 3
    largest = given.largest or {"cuda": 256, "cpu": 48, "simulator": 12}[given.device]
    begin, wrong = time.monotonic(), 0
    for number in range(given.first, given.first + given.count):
        fp8 = given.fp8_every > 0 and number % given.fp8_every == 3
        gradient = not fp8 and given.gradient_every > 0 and number % given.gradient_every == 1
        case = draw(number, largest, fp8)
        faults = check(case, given.device, gradient, fp8)
        wrong += bool(faults)
        for fault in faults:
            print(f"{case.words}: {fault}")
    print(f"{given.count} routings on {given.device}: {given.count - wrong} right, {wrong} wrong, "
          f"{time.monotonic() - begin:.0f} s")
    if given.launches and given.device == "cuda":
        others = launch_beside_a_busy_stream([draw(number, largest) for number in range(20)], given.launches)
        print(f"{given.launches} launches beside a busy stream: {others} with other bits than alone")
        wrong += others
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
