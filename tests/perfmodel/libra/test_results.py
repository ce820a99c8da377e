"""Tests of perfmodel.libra.results."""

import pytest

from perfmodel.libra.design import problem_of
from perfmodel.libra.network import Dimension
from perfmodel.libra.optimise import optimise
from perfmodel.libra.results import by_dimension
from perfmodel.libra.workload import Workload


def test_dimensions_of_an_allocation() -> None:
    dimensions = (Dimension("ring", 4, 1e-9), Dimension("switch", 2, 1e-9, 2e-9, 3e-9))
    work = Workload("w", 5.0, ((6e9, 2e9),))
    texts = ["b0 = 3", "b1 = 4"]
    problem = problem_of(dimensions, [work], texts, "time", "t", priced=True)
    first, second = by_dimension(dimensions, problem, optimise(problem))
    assert (first.name, first.block, first.npus) == ("b0", "ring", 4)
    assert (first.gb_per_s, first.busy, first.cost) == pytest.approx((3, 1, 3 * 8))
    assert (second.gb_per_s, second.busy, second.cost) == pytest.approx((4, 0.25, 4 * 8 * 6))


def test_cost_needs_prices() -> None:
    dimensions = (Dimension("ring", 4),)
    work = Workload("w", 5.0, ())
    problem = problem_of(dimensions, [work], ["b0 = 3"], "time", "t", priced=False)
    [row] = by_dimension(dimensions, problem, optimise(problem))
    assert (row.cost, row.busy) == (None, 0.0)
