"""Tests of perfmodel.libra.problem."""

import pytest

from fred_hw.errors import InputError
from perfmodel.libra.design import problem_of
from perfmodel.libra.network import Dimension
from perfmodel.libra.problem import Problem
from perfmodel.libra.workload import Workload

WORK = Workload("w", 1.0, ((4e9, 2e9, 0.0),))


def problem(
    texts: list[str], objective: str = "time", works: tuple[Workload, ...] = (WORK,)
) -> Problem:
    """Return a problem on three rings, the third of which no collective uses."""
    dimensions = (Dimension("ring", 4, 1e-9),) * 3
    return problem_of(dimensions, works, texts, objective, "d.yaml", priced=True)


@pytest.mark.parametrize(
    ("texts", "conflict"),
    [
        (["total = 500", "b0 >= 600"], "'total = 500' and 'b0 >= 600'"),
        (["b2 <= 5", "b0 = 500", "b1 <= 7", "b0 <= 400"], "'b0 = 500' and 'b0 <= 400'"),
        (["total = 500", "b0 = 500"], "'total = 500' and 'b0 = 500'"),
        (["total <= 10", "b0 <= 0"], "'b0 <= 0'"),
        (["total <= 10", "b0 <= -1"], "'b0 <= -1'"),
        (["b0 >= b1", "b1 >= b0 + 1", "total <= 5"], "'b0 >= b1' and 'b1 >= b0 + 1'"),
        (["b0 >= b1 >= b0 + 1", "total <= 5"], "'b0 >= b1 >= b0 + 1'"),
        (["cost <= 5", "total >= 10"], "'cost <= 5' and 'total >= 10'"),
        (
            ["b0 >= 40", "b1 >= 40", "b2 >= 40", "total <= 100"],
            "'b0 >= 40' and 'b1 >= 40' and 'b2 >= 40' and 'total <= 100'",
        ),
    ],
)
def test_least_set_of_conflicting_constraints_is_named(texts: list[str], conflict: str) -> None:
    with pytest.raises(InputError) as error:
        problem(texts).check()
    message = "must allow a bandwidth above 0 in every dimension in use; these conflict"
    assert str(error.value) == f"d.yaml: constraints: {message}: {conflict}"


@pytest.mark.parametrize(
    ("texts", "free"),
    [
        ([], "b0, b1, b2"),
        (["b0 + b1 <= 5"], "b2"),
        (["total >= 5", "b0 <= 5"], "b1, b2"),
        (["b0 = b1", "b2 <= 4"], "b0, b1"),
    ],
)
def test_every_bandwidth_must_have_an_upper_bound(texts: list[str], free: str) -> None:
    with pytest.raises(InputError) as error:
        problem(texts).check()
    message = f"must bound every bandwidth from above, not leave {free} free"
    assert str(error.value) == f"d.yaml: constraints: {message}"


@pytest.mark.parametrize("texts", [["total <= 500"], ["b0 >= b1"], ["b0 = b1", "total <= 4"], []])
def test_product_needs_a_total_that_does_not_fall_to_nothing(texts: list[str]) -> None:
    with pytest.raises(InputError, match=r"^d\.yaml: constraints: must keep the total above 0"):
        problem(texts, "time_x_cost").check()


@pytest.mark.parametrize("texts", [["total >= 5"], ["b1 >= 1"], ["total = 7"], ["cost >= 5"]])
def test_product_needs_no_upper_bound(texts: list[str]) -> None:
    problem(texts, "time_x_cost").check()


def test_unused_dimension_may_be_without_bandwidth() -> None:
    problem(["total = 10", "b2 = 0"]).check()
    with pytest.raises(InputError, match=r"conflict: 'b1 = 0'$"):
        problem(["total = 10", "b1 = 0"]).check()


@pytest.mark.parametrize("objective", ["time", "time_x_cost"])
def test_something_must_take_time(objective: str) -> None:
    idle = (Workload("idle", 0.0, ()),)
    with pytest.raises(InputError, match=r"^d\.yaml: workloads: must have compute, or collectives"):
        problem(["total = 5"], objective, idle).check()
