"""Random routings of moe() without a GPU, by tests/gpu/moe_routings.py: by torch, and some by the kernels in the simulator."""

import importlib.util
import pathlib

import pytest

pytest.importorskip("torch")

PATH = pathlib.Path(__file__).resolve().parents[2] / "tests" / "gpu" / "moe_routings.py"
spec = importlib.util.spec_from_file_location("moe_routings", PATH)
routings = importlib.util.module_from_spec(spec)
spec.loader.exec_module(routings)


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_by_torch(library, first):
    for number in range(first, first + 40):
        fp8 = number % 8 == 3
        case = routings.draw(number, 24, fp8)
        assert not routings.check(case, "cpu", gradient=not fp8 and number % 2 == 1, fp8=fp8), case.words


@pytest.mark.parametrize("number", range(24))
def test_by_the_kernels(library, number):
    fp8 = number % 8 == 3
    case = routings.draw(number, 12, fp8)
    assert not routings.check(case, "simulator", gradient=not fp8 and number % 5 == 1, fp8=fp8), case.words


def test_what_is_wrong_is_seen(library):
    case = routings.draw(6, 24)
    x = case.x.clone()
    x[0] += 1
    assert not routings.check(case)
    assert routings.check(case._replace(status=1)) == ["the status is 0, not 1"]
    wide = [t.double() for t in (case.x, case.w_gate_up, case.w_down, case.weights)]
    everybody = None if case.shared_weights is None else case.shared_weights.double()
    right, _ = routings.expected(*wide, everybody, case)
    wrong, _ = routings.expected(x.double(), *wide[1:], everybody, case)
    assert routings.wrong_by(right, right) == 0 and routings.wrong_by(wrong, right) > routings.TOLERANCE[False]
