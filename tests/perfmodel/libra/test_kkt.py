"""Tests of perfmodel.libra.kkt."""

import pytest

from perfmodel.libra.design import problem_of
from perfmodel.libra.kkt import Multipliers, kkt_residual
from perfmodel.libra.network import Dimension
from perfmodel.libra.problem import Problem
from perfmodel.libra.workload import Workload


def problem() -> Problem:
    """Return 9 / b0 + 4 / b1 with b0 + b1 = 10, which is least at 6 and 4, where it is 2.5."""
    works = (Workload("w", 0.0, ((9e9, 0.0), (0.0, 4e9))),)
    return problem_of((Dimension("ring", 2),) * 2, works, ["total = 10"], "time", "t", priced=False)


SHARES = ((1.0, 0.0), (0.0, 1.0))
# In units of 10 GB/s the slope of the value is -0.9 / 0.36 = -2.5 / 2.5 s along both bandwidths.
EXACT = Multipliers(SHARES, (1.0,), (0.0, 0.0))


def test_optimum_has_no_residual() -> None:
    assert kkt_residual(problem(), (6e9, 4e9), EXACT) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("bytes_per_s", "given", "residual"),
    [
        # Time 9 / 5 + 4 / 5 = 2.6: slopes 0.5 - 1.8 / 2.6 and 0.5 - 0.8 / 2.6.
        ((5e9, 5e9), EXACT, 0.5 - 0.8 / 2.6),
        # Ten percent too much bandwidth: the constraint is missed by 1 of 10.
        ((6.6e9, 4.4e9), EXACT, 0.1),
        ((6e9, 4e9), Multipliers(SHARES, (0.9,), (0.0, 0.0)), 0.06),
        ((6e9, 4e9), Multipliers(((0.5, 0.0), (0.0, 1.0)), (1.0,), (0.0, 0.0)), 0.3),
        ((6e9, 4e9), Multipliers(SHARES, (1.0,), (-0.2, 0.0)), 0.2),
    ],
)
def test_residual_is_the_worst_miss(
    bytes_per_s: tuple[float, float], given: Multipliers, residual: float
) -> None:
    assert kkt_residual(problem(), bytes_per_s, given) == pytest.approx(residual, abs=1e-9)
