"""The torch side without a GPU: a stand-in multiplies what the library would be given, as its structures describe it.

What is checked is all that comes before a launch: layouts, fake kernels, torch.compile, gradients, error texts.
"""

import ctypes
import inspect

import pytest

torch = pytest.importorskip("torch")

import warpwright
from warpwright import _abi, _torch, _torch_describe, _torch_grouped, _torch_grouped_describe

NARROW = torch.float8_e4m3fn
CODES = {code: _torch_describe.NAMES[word] for word, code in _abi.words("dtype").items() if word in _torch_describe.NAMES}


def matrices(x, layout, rows, columns, batch):
    """The operand as the C structure describes it, [batch, rows, columns]."""
    assert CODES[layout.type] == x.dtype
    stored = (columns, rows) if layout.major == _abi.MAJOR_MN else (rows, columns)
    step = stored[0] * layout.stride if layout.batch_stride == _abi.PACKED else layout.batch_stride
    if batch == 1:
        step = 0
    view = torch.as_strided(x, (batch, *stored), (step, layout.stride, 1), x.storage_offset())
    return view.transpose(1, 2) if layout.major == _abi.MAJOR_MN else view


# What the kernels would be compiled with, as torch says it.
FORMULAS = {
    "x / (1 + exp(-1.702 * x))": lambda x, o: x * torch.sigmoid(1.702 * x),
    "30 * tanh(x / 30)": lambda x, o: 30 * torch.tanh(x / 30),
    "x > 0 ? x * x : 0": lambda x, o: torch.relu(x).square(),
    "column <= row ? x : -infinity": lambda x, o: x.masked_fill(torch.ones(x.shape[-2:]).triu(1).bool(), -torch.inf),
    "x * sigmoid(x) * residual": lambda x, o: torch.nn.functional.silu(x) * o.residual.double(),
    "x * bias + beta * c": lambda x, o: x * o.bias.double() + 0.5 * o.c.double(),
    "x - row_bias": lambda x, o: x - o.bias.double(),
}


def multiply(x, settings):
    x, product = _torch_describe.describe(x, settings)
    p = _torch_describe.problem_of(product)
    _abi.raise_on(_abi.library().ww_gemm_validate(ctypes.byref(p)))
    a, b = matrices(x.a, p.a, p.m, p.k, p.batch).double(), matrices(x.b, p.b, p.n, p.k, p.batch).double()
    d = p.alpha * a @ b.transpose(1, 2)
    if p.scaling == _abi.words("scaling")["tensor"]:
        d = d * x.a_scale * x.b_scale
    elif p.scaling:
        d = d * x.a_scale.view(p.batch, p.m, 1) * x.b_scale.view(p.batch, 1, p.n)
    if p.formula:
        matrices(x.out, p.d, p.m, p.n, p.batch).copy_(FORMULAS[p.formula.decode()](d, x))
        return
    if p.beta:
        d = d + p.beta * matrices(x.c, p.c, p.m, p.n, p.batch).double()
    if p.bias:
        d = d + (x.bias.view(1, 1, p.n) if p.bias == _abi.words("bias")["bias"] else x.bias.view(1, p.m, 1)).double()
    d = {"none": lambda t: t, "relu": torch.relu, "silu": torch.nn.functional.silu}[settings.activation](d)
    if p.residual:
        d = d + matrices(x.residual, p.residual_layout, p.m, p.n, p.batch).double()
    matrices(x.out, p.d, p.m, p.n, p.batch).copy_(d)


def multiply_groups(x, settings):
    product = _torch_grouped_describe.describe(x, settings)
    p = _torch_grouped_describe.problem_of(product)
    _abi.raise_on(_abi.library().ww_grouped_validate(ctypes.byref(p)))
    a, b = x.a.double(), x.b.double()
    if x.a_scale is not None:
        a = a * x.a_scale.double().repeat_interleave(128, -1)[..., :p.k]
        b = b * x.b_scale.double().repeat_interleave(p.b_scale_rows, -2).repeat_interleave(128, -1)[..., :p.n, :p.k]

    def finish(d, g):
        if p.bias:
            d = d + (x.bias if p.shared_bias or x.bias.dim() == 1 else x.bias[g]).double()
        if settings.activation == "swiglu":
            gate, up = d.chunk(2, -1)
            d = torch.nn.functional.silu(gate) * up
        return d

    for g in range(p.group_count):
        matrix = g if x.experts is None else int(x.experts[g])
        if matrix < 0:
            continue
        if x.counts is not None:
            x.out[g, :x.counts[g]] = finish(a[g, :x.counts[g]] @ b[matrix].T, matrix).to(x.out.dtype)
        elif x.depths is not None:
            begin, end = x.depths[g:g + 2]
            x.out[g] = (x.out[g] if p.accumulate else 0) + a[:, begin:end] @ b[:, begin:end].T
        elif x.offsets is not None:
            begin, end = x.offsets[g:g + 2]
            x.out[begin:end] = finish(a[begin:end] @ b[matrix].T, matrix).to(x.out.dtype)
        else:
            x.out.copy_((x.out if p.accumulate else 0) + finish(a @ b.T, 0))


@pytest.fixture(autouse=True)
def stand_in(library, monkeypatch):
    torch.manual_seed(1)
    monkeypatch.setattr(_torch, "launch", multiply)
    monkeypatch.setattr(_torch_grouped, "launch", multiply_groups)


def make(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape).to(dtype)


def close(got, want, tolerance=1e-2):
    assert torch.isfinite(got.double()).all() and got.shape == want.shape
    assert float((got.double() - want.double()).norm() / want.double().norm()) < tolerance


VIEWS = [
    (make(64, 96), make(40, 96)),
    (make(64, 200)[:, 8:104], make(96, 40).T),
    (make(96, 64).T, make(40, 96)),
    (make(64, 192)[:, ::2], make(80, 96)[::2]),
    (make(1, 96).expand(64, 96), make(96, 1).T),
    (make(1, 96), make(40, 96)[:1]),
    (make(64, 1), make(40, 5)[:, :1]),
    (make(33, 17), make(5, 17)),
    (make(3, 64, 96), make(3, 40, 96)),
    (make(3, 64, 96), make(40, 96)),
    (make(1, 64, 96), make(3, 40, 96)),
    (make(64, 3, 96).transpose(0, 1), make(3, 96, 40).transpose(1, 2)),
    (make(1, 64, 96).expand(3, 64, 96), make(3, 40, 96)),
    (make(2, 64, 192)[:, :, ::2], make(2, 40, 96)),
]


@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_every_view_is_described_as_it_lies(number):
    a, b = VIEWS[number]
    want = a.double() @ b.double().transpose(-1, -2)
    close(warpwright.gemm(a, b), want)
    wide = torch.full((*want.shape[:-1], want.shape[-1] + 8), 7.0, dtype=torch.bfloat16)
    out = wide[..., :want.shape[-1]]
    assert warpwright.gemm(a, b, out=out) is out
    close(out, want)
    assert (wide[..., want.shape[-1]:] == 7).all()


def test_only_a_view_without_a_stride_of_one_is_copied():
    for a, b, copied in ((*VIEWS[1], False), (*VIEWS[2], False), (*VIEWS[3], True)):
        out = torch.empty(a.shape[0], b.shape[0], dtype=a.dtype)
        x, _ = _torch_describe.describe(_torch_describe.Operands(a, b, out, *[None] * 6),
                               _torch_describe.Settings(1.0, 0.0, "none", "fast", False, 0, "", ""))
        assert (x.a.data_ptr() != a.data_ptr()) == copied


def test_epilogue_and_types():
    a, b, c, residual = make(64, 96), make(40, 96), make(64, 40, dtype=torch.float32), make(64, 40)
    product = a.double() @ b.double().T
    close(warpwright.gemm(a, b, c=c, alpha=0.5, beta=2.0, residual=residual), 0.5 * product + 2 * c + residual)
    for bias in (make(40), make(64, 1, dtype=torch.float32)):
        close(warpwright.gemm(a, b, bias=bias, activation="silu"), torch.nn.functional.silu(product + bias.double()))
    assert warpwright.gemm(a, b, out_dtype="fp32").dtype == torch.float32
    assert warpwright.gemm(a.to(NARROW), b.to(NARROW)).dtype == torch.bfloat16
    assert warpwright.gemm(a.half(), b.half()).dtype == torch.float16


@pytest.mark.parametrize("compiled", [False, True])
def test_epilogues_of_ones_own(compiled):
    a, b, c, residual, bias = make(64, 96), make(40, 96), make(64, 40), make(64, 40), make(40, dtype=torch.float32)
    x = a.double() @ b.double().T
    given = {"x * sigmoid(x) * residual": {"residual": residual}, "x - row_bias": {"bias": make(64, 1)},
             "x * bias + beta * c": {"bias": bias, "c": c, "beta": 0.5}}
    for text, meaning in FORMULAS.items():
        options = given.get(text, {})

        def layer(a, b, text=text, options=options):
            return warpwright.gemm(a, b, epilogue=text, out_dtype=torch.float32, **options)

        if compiled:
            layer = torch.compile(layer, fullgraph=True, backend="aot_eager")
        operands = _torch_describe.Operands(a, b, None, c, options.get("bias"), residual, None, None, None)
        want = meaning(x, operands)
        torch.testing.assert_close(layer(a, b).double(), want, rtol=1e-5, atol=1e-4)


def test_the_text_is_part_of_what_a_plan_is_kept_by():
    a, b, out = make(8, 16), make(8, 16), make(8, 8)
    operands = _torch_describe.Operands(a, b, out, *[None] * 6)
    one, other = (_torch_describe.describe(operands, _torch_describe.Settings(1.0, 0.0, "none", "fast", False, 0, "", text))[1]
                  for text in ("x * 2", "x * 3"))
    assert one != other
    assert _torch_describe.problem_of(one).formula == b"x * 2"


def test_an_epilogue_of_ones_own_has_no_gradient():
    a, b = make(64, 96).requires_grad_(), make(40, 96)
    with pytest.raises(ValueError, match="epilogue: one of your own has no gradient"):
        warpwright.gemm(a, b, epilogue="30 * tanh(x / 30)")
    with torch.no_grad():
        warpwright.gemm(a, b, epilogue="30 * tanh(x / 30)")


def test_factors():
    a, b = make(2, 64, 96).to(NARROW), make(2, 40, 96).to(NARROW)
    product = a.double() @ b.double().transpose(1, 2)
    one, rows, columns = torch.tensor(0.5), torch.rand(2, 64), torch.rand(2, 40)
    close(warpwright.gemm(a, b, a_scale=one, b_scale=one), 0.25 * product)
    close(warpwright.gemm(a, b, a_scale=rows, b_scale=columns), product * rows[:, :, None] * columns[:, None, :])
    with pytest.raises(ValueError, match="64 and 40 factors; 1 and 1, or 128 and 80"):
        warpwright.gemm(a, b, a_scale=rows[0], b_scale=columns[0])


def test_empty():
    assert warpwright.gemm(make(0, 64), make(32, 64)).shape == (0, 32)
    assert (warpwright.gemm(make(16, 0), make(32, 0)) == 0).all()
    assert warpwright.gemm(make(0, 16, 64), make(0, 32, 64)).shape == (0, 16, 32)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(dynamic):
    def layer(x, w, bias):
        return warpwright.gemm(x * 2, w, bias=bias, activation="silu") + 1

    x, w, bias = make(64, 96), make(40, 96), make(40)
    compiled = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    close(compiled(x, w, bias), layer(x, w, bias))
    close(compiled(x[:32], w, bias), layer(x[:32], w, bias))

    def into(x, w, out):
        warpwright.gemm(x, w, out=out)
        return out * 2

    out = torch.empty(64, 40, dtype=torch.bfloat16)
    compiled = torch.compile(into, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    close(compiled(x, w, out), 2 * (x.double() @ w.double().T))
    close(out, x.double() @ w.double().T)


def test_compile_of_groups():
    a, b, offsets = make(70, 128), make(2, 64, 128), torch.tensor([0, 30, 70], dtype=torch.int32)

    def layer(a, b, offsets):
        return warpwright.grouped_gemm(a * 2, b, offsets=offsets) + 1

    want = torch.cat([2 * a[:30].double() @ b[0].double().T, 2 * a[30:].double() @ b[1].double().T]) + 1
    close(torch.compile(layer, fullgraph=True, backend="aot_eager")(a, b, offsets), want)


def test_groups():
    a, b = make(70, 256), make(2, 128, 256)
    offsets, counts = torch.tensor([0, 30, 70], dtype=torch.int32), torch.tensor([30, 0], dtype=torch.int32)
    product = torch.cat([a[:30].double() @ b[0].double().T, a[30:].double() @ b[1].double().T])
    close(warpwright.grouped_gemm(a, b, offsets=offsets), product)
    slots = make(2, 35, 256)
    close(warpwright.grouped_gemm(slots, b, counts=counts)[0, :30], slots[0, :30].double() @ b[0].double().T)
    for bias in (make(2, 128), make(128, dtype=torch.float32)):
        whole = bias.double().expand(2, 128)
        added = product + torch.cat([whole[:1].expand(30, 128), whole[1:].expand(40, 128)])
        close(warpwright.grouped_gemm(a, b, offsets=offsets, bias=bias), added)
        gate, up = added.chunk(2, 1)
        close(warpwright.grouped_gemm(a, b, offsets=offsets, bias=bias, activation="swiglu"),
              torch.nn.functional.silu(gate) * up)


def test_groups_along_k():
    a, b = make(64, 256), make(96, 256)
    depths = torch.tensor([0, 100, 100, 256], dtype=torch.int32)
    want = torch.stack([a[:, i:j].double() @ b[:, i:j].double().T for i, j in ((0, 100), (100, 100), (100, 256))])
    got = warpwright.grouped_gemm(a, b, depths=depths)
    assert got.dtype == torch.float32
    close(got, want)
    assert warpwright.grouped_gemm(a, b, depths=depths, out=got, accumulate=True) is got
    close(got, 2 * want)
    assert warpwright.grouped_gemm(a, b, depths=depths, out_dtype="bf16").dtype == torch.bfloat16


def test_groups_are_described_as_they_are_stored():
    offsets, counts = torch.tensor([0, 30, 70], dtype=torch.int32), torch.tensor([30, 5], dtype=torch.int32)
    a, b = make(70, 256), make(2, 256, 128)
    close(warpwright.grouped_gemm(a, b.transpose(1, 2), offsets=offsets),
          torch.cat([a[:30].double() @ b[0].double(), a[30:].double() @ b[1].double()]))
    slots = make(2, 35, 256)
    close(warpwright.grouped_gemm(slots, b.transpose(1, 2), counts=counts)[1, :5], slots[1, :5].double() @ b[1].double())
    x, y, depths = make(83, 16), make(83, 24), torch.tensor([0, 30, 83], dtype=torch.int32)
    close(warpwright.grouped_gemm(x.T, y.T, depths=depths),
          torch.stack([x[i:j].double().T @ y[i:j].double() for i, j in ((0, 30), (30, 83))]))
    settings = _torch_grouped_describe.Settings("none", False, 0, 0, "")
    for left, right, tables, majors in ((a, b.transpose(1, 2), (offsets, None, None), (0, 1)),
                                        (a, b.transpose(1, 2).contiguous(), (offsets, None, None), (0, 0)),
                                        (x.T, y.T, (None, None, depths), (1, 1))):
        out = torch.empty(_torch_grouped_describe.shape_of(left, right, *tables, "none"))
        given = _torch_grouped_describe.Operands(left, right, *tables, *[None] * 4, out, None, None)
        assert _torch_grouped_describe.describe(given, settings).majors == majors


def test_blockwise_factors():
    x, w = torch.randn(40, 256), torch.randn(256, 256)
    a, b, rows = warpwright.quantize(x, "token"), warpwright.quantize(w, "block"), warpwright.quantize(w, "token")
    for right in (b, rows):
        want = warpwright.dequantize(a).double() @ warpwright.dequantize(right).double().T
        close(warpwright.grouped_gemm(a.values, right.values, a_scale=a.scales, b_scale=right.scales), want)
        out = 100 * torch.randn(40, 256)
        added = out + want
        warpwright.grouped_gemm(a.values, right.values, a_scale=a.scales, b_scale=right.scales, out=out, accumulate=True)
        close(out, added, 1e-5)
    scales = torch.zeros(40, 2)
    narrow = warpwright.grouped_gemm(a.values, b.values, a_scale=a.scales, b_scale=b.scales, out_dtype="e4m3",
                                     scales_out=scales)
    assert narrow.dtype == NARROW


def test_opcheck():
    a, b, c = make(32, 64).requires_grad_(), make(48, 64).requires_grad_(), make(32, 48)
    rest = (1.0, 0.0, None, "none", None, None, None, None, "fast", False, 0, "", "")
    # Older ones compare gradients with tolerances of their own.
    loose = {"rtol": 2e-2, "atol": 2e-2} if "rtol" in inspect.signature(torch.library.opcheck).parameters else {}
    torch.library.opcheck(torch.ops.warpwright.gemm.default, (a, b, torch.bfloat16, None, *rest), **loose)
    torch.library.opcheck(torch.ops.warpwright.gemm_out.default, (a.detach(), b.detach(), c, None, *rest))
    import warpwright._torch_grouped_gradient  # noqa: F401, registers its op

    x, w = make(40, 128), make(2, 64, 128)
    offsets, out = torch.tensor([0, 10, 40], dtype=torch.int32), make(40, 64)
    torch.library.opcheck(torch.ops.warpwright.grouped_gemm.default,
                          (x, w, offsets, *[None] * 6, out, None, None, None, "none", False, 0, 0, "", "", 0.0))
    torch.library.opcheck(torch.ops.warpwright.grouped_product.default,
                          (x.requires_grad_(), w.requires_grad_(), offsets, *[None] * 4, torch.bfloat16, 0, 0, ""),
                          **loose)


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a, b = torch.empty(32, 64, dtype=torch.bfloat16), torch.empty(48, 64, dtype=torch.bfloat16)
        assert warpwright.gemm(a, b, out_dtype=torch.float32).shape == (32, 48)
        with pytest.raises(ValueError, match="both are k"):
            warpwright.gemm(a, torch.empty(48, 65, dtype=torch.bfloat16))
        assert warpwright.gemm(a, b, epilogue="relu(x)").shape == (32, 48)
        with pytest.raises(ValueError, match="line 1, column 1: 'rely' is not known"):
            warpwright.gemm(a, b, epilogue="rely(x)")


@pytest.mark.parametrize("shapes", [((64, 128), (96, 128)), ((3, 64, 128), (96, 128)), ((1, 64, 128), (3, 96, 128))])
def test_gradient(shapes):
    a, b = (make(*shape).requires_grad_() for shape in shapes)
    warpwright.gemm(a, b, alpha=0.5).float().square().sum().backward()
    x, y = (t.detach().double().requires_grad_() for t in (a, b))
    (0.5 * x @ y.transpose(-1, -2)).square().sum().backward()
    close(a.grad, x.grad, 2e-2)
    close(b.grad, y.grad, 2e-2)


@pytest.mark.parametrize("bias_shape", [(96,), (64, 1)])
def test_gradient_of_what_is_added(bias_shape):
    a, b, c, residual, bias = make(64, 128), make(96, 128), make(64, 96), make(64, 96), make(*bias_shape)
    tensors = [x.requires_grad_() for x in (a, b, c, residual, bias)]
    warpwright.gemm(a, b, c=c, beta=0.5, bias=bias, residual=residual).float().square().sum().backward()
    x, y, z, r, v = wide = [t.detach().double().requires_grad_() for t in tensors]
    (x @ y.T + 0.5 * z + v + r).square().sum().backward()
    for tensor, want in zip(tensors, wide):
        assert tensor.grad.dtype == tensor.dtype
        close(tensor.grad, want.grad, 2e-2)


def test_gradient_of_a_bias_that_a_batch_shares():
    a, b, bias = make(3, 32, 64), make(40, 64), make(40, dtype=torch.float32).requires_grad_()
    warpwright.gemm(a, b, bias=bias).float().sum().backward()
    close(bias.grad, torch.full((40,), 96.0))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradient_under_compile(backend):
    a, b, bias = make(64, 128).requires_grad_(), make(96, 128).requires_grad_(), make(96).requires_grad_()

    def layer(a, b, bias):
        return torch.tanh(warpwright.gemm(a, b, bias=bias).float()).sum()

    layer(a, b, bias).backward()
    want = [x.grad.clone() for x in (a, b, bias)]
    for x in (a, b, bias):
        x.grad = None
    torch.compile(layer, fullgraph=True, backend=backend)(a, b, bias).backward()
    for x, gradient in zip((a, b, bias), want):
        close(x.grad, gradient)


def test_gradient_that_there_is_not():
    a, b, bias, one = make(64, 128), make(96, 128), make(96).requires_grad_(), torch.ones(1)
    with pytest.raises(ValueError, match="a_scale, b_scale, out_scale: .*gradient"):
        warpwright.gemm(a.to(NARROW), b.to(NARROW), bias=bias, activation="silu", a_scale=one, b_scale=one)
    op = torch.ops.warpwright.gemm(a, b, torch.bfloat16, None, 1.0, 0.0, bias, "silu", *[None] * 4, "fast", False, 0, "", "")
    with pytest.raises(NotImplementedError, match="activation"):
        op.sum().backward()
    a.requires_grad_()
    with pytest.raises(ValueError, match="out: .*gradient"):
        warpwright.gemm(a, b, out=make(64, 96))
    offsets = torch.tensor([0, 64], dtype=torch.int32)
    with pytest.raises(ValueError, match="out: .*gradient"):
        warpwright.grouped_gemm(a, b[None], offsets=offsets, out=make(64, 96))
    with torch.no_grad():
        warpwright.gemm(a, b, out=make(64, 96))


def grouped_reference(a, b, bias, offsets, counts, depths, experts):
    if depths is not None:
        return torch.stack([a[:, i:j] @ b[:, i:j].T for i, j in zip(depths, depths[1:])])
    matrices = range(len(b)) if experts is None else experts

    def times(x, matrix):
        return x @ b[matrix].T + (0 if bias is None else bias if bias.dim() == 1 else bias[matrix])

    if counts is not None:
        rows = a.new_zeros(*a.shape[:2], b.shape[1])
        parts = [(g, slice(0, count)) for g, count in enumerate(counts)]
        return torch.stack([torch.cat([times(a[g, part], matrices[g]), rows[g, part.stop:]]) if matrices[g] >= 0 else
                            rows[g] for g, part in parts])
    parts = [a.new_zeros(offsets[0], b.shape[1])]
    for g, (i, j) in enumerate(zip(offsets, offsets[1:])):
        parts.append(times(a[i:j], matrices[g]) if matrices[g] >= 0 else a.new_zeros(j - i, b.shape[1]))
    parts.append(a.new_zeros(len(a) - offsets[-1], b.shape[1]))
    return torch.cat(parts)


GRADIENTS = [
    ((70, 128), (3, 64, 128), (3, 64), {"offsets": [4, 30, 30, 66]}),
    ((70, 128), (3, 64, 128), (64,), {"offsets": [0, 7, 30, 70]}),
    ((70, 128), (3, 64, 128), (3, 64), {"offsets": [0, 7, 30, 60, 70], "experts": [2, -1, 0, 2]}),
    ((3, 35, 128), (3, 64, 128), (3, 64), {"counts": [35, 0, 10]}),
    ((3, 35, 128), (2, 64, 128), None, {"counts": [35, 20, 10], "experts": [1, -1, 1]}),
    ((35, 128), (64, 128), None, {"depths": [3, 30, 30, 120]}),
]


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("number", range(len(GRADIENTS)))
def test_gradient_of_groups(number, backend):
    a_shape, b_shape, bias_shape, tables = GRADIENTS[number]
    leaves = [None if shape is None else make(*shape).requires_grad_() for shape in (a_shape, b_shape, bias_shape)]
    wide = [None if x is None else x.detach().double().requires_grad_() for x in leaves]
    int32 = {name: torch.tensor(values, dtype=torch.int32) for name, values in tables.items()}

    def loss(a, b, bias):
        return warpwright.grouped_gemm(a, b, bias=bias, **int32).float().square().sum()

    run = loss if backend is None else torch.compile(loss, fullgraph=True, backend=backend)
    run(*leaves).backward()
    whole = {name: tables.get(name) for name in ("offsets", "counts", "depths", "experts")}
    grouped_reference(*wide, **whole).square().sum().backward()
    for leaf, want in zip(leaves, wide):
        if leaf is not None:
            assert leaf.grad.dtype == leaf.dtype
            close(leaf.grad, want.grad, 2e-2)


def test_an_extent_that_is_marked_dynamic_is_compiled_once():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    layer = torch.compile(lambda x, w: warpwright.gemm(torch.relu(x), w) * 2, fullgraph=True, backend=backend)
    w = make(40, 96)
    for rows in (64, 33, 7, 130):
        x = make(rows, 96)
        torch._dynamo.mark_dynamic(x, 0)
        close(layer(x, w), 2 * (torch.relu(x).double() @ w.double().T))
    groups = torch.compile(lambda a, b, o: warpwright.grouped_gemm(a, b, offsets=o) * 2, fullgraph=True,
                           backend=backend)
    for rows in (40, 70, 23):
        a, b = make(rows, 128), make(2, 64, 128)
        torch._dynamo.mark_dynamic(a, 0)
        offsets = torch.tensor([0, 10, rows], dtype=torch.int32)
        want = torch.cat([a[:10].double() @ b[0].double().T, a[10:].double() @ b[1].double().T])
        close(groups(a, b, offsets), 2 * want)
    assert len(graphs) == 2
