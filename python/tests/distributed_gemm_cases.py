"""What every process of test_distributed.py does: products of DTensors, against one process."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

import warpwright

BF16 = torch.bfloat16
R, SUM = Replicate(), Partial()


def mesh_of(*shape):
    return init_device_mesh("cpu", shape)


def whole_numbers(*shape, seed=1, dtype=BF16, most=1):
    """Small enough that every sum is exact in bf16: then the order of sums does not matter, and bits must be equal."""
    return torch.randint(-most, most + 1, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def real_numbers(*shape, seed=1, dtype=BF16):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def spread(x, mesh, *placements, gradient=False):
    made = distribute_tensor(x.detach(), mesh, placements)
    return made.requires_grad_(gradient)


def equal(got, want):
    got = got.full_tensor() if isinstance(got, DTensor) else got
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
    assert torch.equal(got, want), f"they differ by {float((got.double() - want.double()).abs().max())}"


def placed(x, *placements):
    assert tuple(x.placements) == placements, f"{x.placements}, not {placements}"


PLACES = {  # of a, of b, and of their product
    "replicated": (R, R, R),
    "rows": (Shard(0), R, Shard(0)),
    "columns": (R, Shard(0), Shard(1)),
    "depth": (Shard(1), Shard(1), SUM),
}
EXTRAS = {
    "plain": {},
    "bias": {"bias": (48,)},
    "bias of rows": {"bias": (24, 1)},
    "residual": {"residual": (24, 48)},
    "c": {"c": (24, 48)},
    "all": {"bias": (48,), "residual": (24, 48), "c": (24, 48)},
}


def products(world):
    """Every placement with everything that may be added, forward and backward: bits equal to one process."""
    mesh = mesh_of(world)
    a, b, g = whole_numbers(24, 64), whole_numbers(48, 64, seed=2), whole_numbers(24, 48, seed=3)
    for of_a, of_b, of_out in PLACES.values():
        for shapes in EXTRAS.values():
            for activation in ("none", "relu"):
                added = {name: whole_numbers(*shape, seed=4, most=3) for name, shape in shapes.items()}
                words = {"activation": activation, **({"beta": 2.0} if "c" in added else {})}
                with torch.no_grad():
                    want = warpwright.gemm(a, b, **added, **words)
                    got = warpwright.gemm(spread(a, mesh, of_a), spread(b, mesh, of_b), **words,
                                          **{name: spread(x, mesh, R) for name, x in added.items()})
                equal(got, want)
                if activation == "none":
                    placed(got, of_out)
                else:
                    assert not got.placements[0].is_partial()
                one = [x.clone().requires_grad_() for x in (a, b, *added.values())]
                warpwright.gemm(*one[:2], **dict(zip(added, one[2:])), **words).backward(g)
                many = [spread(a, mesh, of_a, gradient=True), spread(b, mesh, of_b, gradient=True),
                        *(spread(x, mesh, R, gradient=True) for x in added.values())]
                y = warpwright.gemm(*many[:2], **dict(zip(added, many[2:])), **words)
                y.redistribute(placements=[R]).backward(spread(g, mesh, R))
                for x, parts in zip(one, many):
                    equal(parts.grad, x.grad)


def leading_dimensions(world):
    """[batch, sequence, k] by [n, k], sharded along each; and batches of both operands."""
    mesh = mesh_of(world)
    a, b, g = whole_numbers(4, 6, 64), whole_numbers(48, 64, seed=2), whole_numbers(4, 6, 48, seed=3)
    one = [x.clone().requires_grad_() for x in (a, b)]
    want = warpwright.gemm(*one)
    want.backward(g)
    for of_a, of_b, of_out in ((Shard(0), R, Shard(0)), (Shard(1), R, Shard(1)), (R, Shard(0), Shard(2)),
                               (Shard(2), Shard(1), SUM)):
        many = spread(a, mesh, of_a, gradient=True), spread(b, mesh, of_b, gradient=True)
        y = warpwright.gemm(*many)
        placed(y, of_out)
        equal(y, want.detach())
        y.redistribute(placements=[R]).backward(spread(g, mesh, R))
        for x, parts in zip(one, many):
            equal(parts.grad, x.grad)
            assert parts.grad.to_local().numel() <= x.numel()
    both = whole_numbers(4, 48, 64, seed=5)
    want = warpwright.gemm(a, both)
    for of_a, of_b, of_out in ((Shard(0), Shard(0), Shard(0)), (Shard(1), R, Shard(1)), (R, Shard(1), Shard(2)),
                               (Shard(2), Shard(2), SUM)):
        y = warpwright.gemm(spread(a, mesh, of_a), spread(both, mesh, of_b))
        placed(y, of_out)
        equal(y, want)


def uneven(world):
    """Rows and columns that the ranks do not share evenly."""
    mesh = mesh_of(world)
    a, b = whole_numbers(13, 64), whole_numbers(27, 64, seed=2)
    want = warpwright.gemm(a, b, bias=whole_numbers(27, seed=3))
    for of_a, of_b, of_bias in ((Shard(0), R, R), (R, Shard(0), Shard(0)), (Shard(1), Shard(1), R)):
        equal(warpwright.gemm(spread(a, mesh, of_a), spread(b, mesh, of_b),
                              bias=spread(whole_numbers(27, seed=3), mesh, of_bias)), want)


def operands_that_no_rule_has(world):
    """torch brings them into a placement that a rule has; the result is the same."""
    mesh = mesh_of(world)
    a, b, residual = whole_numbers(24, 64), whole_numbers(48, 64, seed=2), whole_numbers(24, 48, seed=3)
    for of_a in (R, Shard(0), Shard(1)):
        for of_b in (R, Shard(0), Shard(1)):
            for of_residual in (R, Shard(0), Shard(1)):
                for activation in ("none", "relu"):
                    got = warpwright.gemm(spread(a, mesh, of_a), spread(b, mesh, of_b), activation=activation,
                                          residual=spread(residual, mesh, of_residual))
                    equal(got, warpwright.gemm(a, b, activation=activation, residual=residual))
    summands = DTensor.from_local(a * (dist.get_rank() + 1), mesh, [SUM])
    equal(warpwright.gemm(summands, spread(b, mesh, R)), warpwright.gemm(a * (world * (world + 1) // 2), b))


def added_once(world):
    """The smallest number that bf16 has would not survive a division among the ranks."""
    mesh = mesh_of(world)
    a, b, bias = torch.zeros(8, 64, dtype=BF16), whole_numbers(16, 64), torch.full((16,), 2.0**-133, dtype=BF16)
    want = warpwright.gemm(a, b, bias=bias, out_dtype=torch.float32)
    assert float(want.min()) == 2.0**-133
    got = warpwright.gemm(spread(a, mesh, Shard(1)), spread(b, mesh, Shard(1)), bias=spread(bias, mesh, R),
                          out_dtype=torch.float32)
    placed(got, SUM)
    equal(got, want)


def swiglu(world):
    """Gates and ups lie far apart in b, wherever it is cut; within a rounding of one process."""
    mesh = mesh_of(world)
    a, b, residual = real_numbers(24, 64), real_numbers(64, 64, seed=2), real_numbers(24, 32, seed=3)
    one = [x.clone().requires_grad_() for x in (a, b)]
    want = warpwright.gemm(*one, activation="swiglu", residual=residual)
    want.sum().backward()
    for of_a, of_b, _ in PLACES.values():
        for gradient in (False, True):
            many = [spread(a, mesh, of_a, gradient=gradient), spread(b, mesh, of_b, gradient=gradient)]
            got = warpwright.gemm(*many, activation="swiglu", residual=spread(residual, mesh, R))
            assert not got.placements[0].is_partial() and got.shape == want.shape
            off = (got.full_tensor().detach().double() - want.detach().double()).abs().max()
            assert off <= 4 * 2.0**-9 * want.detach().double().abs().max()
        got.redistribute(placements=[R]).sum().backward()
        for x, parts in zip(one, many):
            off = (parts.grad.full_tensor().double() - x.grad.double()).norm()
            assert off <= 2e-2 * x.grad.double().norm()


def epilogues(world):
    """A user-defined one counts rows and columns of the whole product, and is never applied to a part of a sum."""
    mesh = mesh_of(world)
    a, b = whole_numbers(24, 64), whole_numbers(48, 64, seed=2)
    for text in ("x > 0 ? x * 2 : 0", "column <= row ? x : 0", "x + row", "x - column"):
        want = warpwright.gemm(a, b, epilogue=text)
        for of_a, of_b, _ in PLACES.values():
            equal(warpwright.gemm(spread(a, mesh, of_a), spread(b, mesh, of_b), epilogue=text), want)


def factors(world):
    """8-bit operands, with a factor for each row and column, go with their rows and columns."""
    mesh = mesh_of(world)
    a, b = whole_numbers(24, 64).to(torch.float8_e4m3fn), whole_numbers(48, 64, seed=2).to(torch.float8_e4m3fn)
    a_scale, b_scale = 2.0**whole_numbers(24, dtype=torch.float32), 2.0**whole_numbers(48, dtype=torch.float32, seed=3)
    want = warpwright.gemm(a, b, a_scale=a_scale, b_scale=b_scale)

    def cut(x, placement):  # gloo does not send these types
        if not isinstance(placement, Shard):
            return DTensor.from_local(x, mesh, [placement])
        return DTensor.from_local(x.chunk(world, placement.dim)[dist.get_rank()].contiguous(), mesh, [placement])

    for of_a, of_b, of_out in PLACES.values():
        scales = [cut(a_scale, of_a if of_a == Shard(0) else R), cut(b_scale, of_b if of_b == Shard(0) else R)]
        got = warpwright.gemm(cut(a, of_a), cut(b, of_b), a_scale=scales[0], b_scale=scales[1])
        placed(got, of_out)
        equal(got, want)


def bounds(world):
    """Numbers with all their bits. Cut along rows or columns a result is within one rounding; cut along k the sums are
    rounded to bf16 once on every rank and when they are added: at most 2 * ranks roundings, of 2^-9 of the sum of
    magnitudes each."""
    mesh = mesh_of(world)
    a, b = real_numbers(24, 64), real_numbers(48, 64, seed=2)
    want = (a.double() @ b.double().T)
    magnitude = a.double().abs() @ b.double().abs().T
    for where, (of_a, of_b, _) in PLACES.items():
        got = warpwright.gemm(spread(a, mesh, of_a), spread(b, mesh, of_b)).full_tensor().double()
        roundings = 2 * world if where == "depth" else 1
        assert ((got - want).abs() <= (roundings * 2.0**-9 + 2.0**-20) * magnitude).all(), where
    for activation in ("silu", "gelu", "gelu_erf"):
        full = warpwright.gemm(a, b, activation=activation).double()
        for of_a, of_b, _ in PLACES.values():
            got = warpwright.gemm(spread(a, mesh, of_a), spread(b, mesh, of_b), activation=activation)
            assert ((got.full_tensor().double() - full).abs() <= 2.0**-8 * full.abs() + 2.0**-20 * magnitude).all()


def two_dimensions_of_a_mesh(world):
    """Rows along one and columns or depth along the other."""
    mesh = mesh_of(2, world // 2)
    a, b, g = whole_numbers(4, 6, 64), whole_numbers(48, 64, seed=2), whole_numbers(4, 6, 48, seed=3)
    one = [x.clone().requires_grad_() for x in (a, b)]
    want = warpwright.gemm(*one)
    want.backward(g)
    for of_a, of_b, of_out in (((Shard(0), R), (R, Shard(0)), (Shard(0), Shard(2))),
                               ((Shard(0), Shard(2)), (R, Shard(1)), (Shard(0), SUM)),
                               ((Shard(0), Shard(1)), (R, R), (Shard(0), Shard(1))),
                               ((Shard(2), R), (Shard(1), Shard(0)), (SUM, Shard(2)))):
        many = spread(a, mesh, *of_a, gradient=True), spread(b, mesh, *of_b, gradient=True)
        y = warpwright.gemm(*many)
        placed(y, *of_out)
        equal(y, want.detach())
        y.redistribute(placements=[R, R]).backward(spread(g, mesh, R, R))
        for x, parts in zip(one, many):
            equal(parts.grad, x.grad)


def refused(kind, sentence, call):
    try:
        call()
    except kind as error:
        assert sentence in str(error), str(error)
    else:
        raise AssertionError(f"not refused: {sentence}")


def refusals(world):
    mesh = mesh_of(world)
    a, b = spread(whole_numbers(24, 64), mesh, R), spread(whole_numbers(48, 64), mesh, R)
    out = spread(whole_numbers(24, 48), mesh, R)
    for kind, sentence, call in (
            (TypeError, "b: it is a Tensor, a is a DTensor", lambda: warpwright.gemm(a, b.to_local())),
            (TypeError, "a: it is a Tensor, b is a DTensor", lambda: warpwright.gemm(a.to_local(), b)),
            (TypeError, "bias: it is a Tensor, a is a DTensor",
             lambda: warpwright.gemm(a, b, bias=torch.zeros(48, dtype=BF16))),
            (ValueError, "out: a product of DTensors makes its result", lambda: warpwright.gemm(a, b, out=out)),
            (ValueError, "b: its mesh is", lambda: warpwright.gemm(a, spread(b.to_local(), mesh_of(1, world), R, R))),
            (ValueError, "b: it has 32 columns, a has 64", lambda: warpwright.gemm(a, spread(b.to_local()[:, :32], mesh, R))),
            (ValueError, "bias: its shape is (47,); (48,) is added to every row, (24, 1) to every column",
             lambda: warpwright.gemm(a, b, bias=spread(torch.zeros(47), mesh, R))),
            (ValueError, "activation: 'tanh' is not one of", lambda: warpwright.gemm(a, b, activation="tanh"))):
        refused(kind, sentence, call)


CASES = {2: [products, leading_dimensions, uneven, operands_that_no_rule_has, added_once, swiglu, epilogues, factors, bounds, refusals],
         4: [products, leading_dimensions, uneven, operands_that_no_rule_has, bounds, two_dimensions_of_a_mesh]}
