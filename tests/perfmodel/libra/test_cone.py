"""Tests of perfmodel.libra.cone."""

import sys

import pytest

from fred_hw.errors import InputError
from perfmodel.libra.cone import ConeProgram


def test_linear_and_hyperbolic_constraints() -> None:
    # The least t with t >= 8 / x and x <= 4 is 2; a looser bound by 1 lowers it by 8 / 16.
    program = ConeProgram([0.0, 1.0])
    program.bound([1.0], 4.0)
    program.hyperbola(1, 0, 8.0)
    found = program.solve()
    assert found is not None
    assert found.values == pytest.approx((4, 2), rel=1e-7)
    assert found.linear == pytest.approx((0.5,), rel=1e-6)
    assert found.hyperbolic == pytest.approx((1.0,), rel=1e-6)


def test_no_values_meet_the_constraints() -> None:
    program = ConeProgram([1.0])
    program.bound([1.0], 1.0)
    program.bound([1.0], 2.0, equal=True)
    assert program.solve() is None


def test_unbounded_program_is_refused() -> None:
    program = ConeProgram([-1.0])
    program.bound([-1.0], 0.0)
    with pytest.raises(InputError, match=r"^clarabel: must converge, not end as DualInfeasible$"):
        program.solve()


def test_missing_solver_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    program = ConeProgram([1.0])
    program.bound([-1.0], 0.0)
    with pytest.raises(InputError, match=r"pip install 'fred-hw\[libra\]'") as error:
        program.solve()
    assert str(error.value).startswith("clarabel: must be installed for optimal bandwidths: ")
