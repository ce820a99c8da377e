"""The optimal bandwidth of each dimension.

The time of a workload is convex in the bandwidths: a sum of maxima of terms c / b. A cone solver
finds its minimum. The product of time and cost is not convex. However, its minimum lies on the
convex frontier between time and cost, and the product at a point of the frontier has the same
slope there as a weighted sum of both. So each step minimises the weighted sum with the slope at
the point before, which never raises the product, from starts all along the frontier.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

from fred_hw.checks import check_int

from .cone import ConeProgram, Point
from .kkt import Multipliers, kkt_residual
from .problem import Problem

__all__ = ["Allocation", "equal_split", "optimise"]

_STARTS = 5
"""Points of the frontier that the search for the least product starts from."""

_SPAN = 1e4
"""Ratio of the weights of cost and time between the middle start and the outer ones."""

_STEPS = 100
_CONVERGED = 1e-9
"""Share by which a step must change the time for another to follow."""

_LEAST_SHARE = 1e-12
"""Share of the bytes of the busiest dimension below which bandwidths are not told apart."""

_TIE = 1e-7
"""Weight of the cost where time alone counts: of allocations as fast, it picks the cheapest."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Bandwidths, and what they give.

    Parameters
    ----------
    bytes_per_s : tuple of float
        Of an NPU in each dimension, the innermost first [B/s].
    time_s : float
        Weighted sum of the times of the workloads [s].
    cost : float or None
        Of the network [$]; None without prices.
    value : float
        What was minimised: the time [s], or time times cost [s $].
    kkt_residual : float or None
        How far the conditions of Karush, Kuhn and Tucker are from being met, as a share of
        ``value``; None of an allocation that was not optimised.
    """

    bytes_per_s: tuple[float, ...]
    time_s: float
    cost: float | None
    value: float
    kkt_residual: float | None = None


def optimise(problem: Problem, starts: int = _STARTS) -> Allocation:
    """Return the optimal bandwidths.

    Parameters
    ----------
    problem : Problem
        What to optimise.
    starts : int
        From how many points the least product of time and cost is searched, 1 or more.

    Raises
    ------
    InputError
        The constraints conflict or leave no optimum, or the solver is not installed.
    """
    check_int("starts", starts, minimum=1)
    problem.check()
    if problem.objective == "time" or problem.costs is None:
        return _Search(problem).fastest()
    return _Search(problem).least_product(starts)


def equal_split(problem: Problem, bytes_per_s: Sequence[float]) -> Allocation:
    """Return the same total bandwidth in equal parts, whatever the constraints."""
    share = sum(bytes_per_s) / len(bytes_per_s)
    return _allocation(problem, (share,) * len(bytes_per_s))


def _allocation(
    problem: Problem, bytes_per_s: tuple[float, ...], kkt_residual: float | None = None
) -> Allocation:
    time_s, cost = problem.time_s(bytes_per_s), problem.cost(bytes_per_s)
    return Allocation(bytes_per_s, time_s, cost, problem.value(bytes_per_s), kkt_residual)


class _Search:
    """Weighted sums of time and cost, in numbers scaled to those of the problem's centre."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.terms = [
            [one.weight * sent for sent in bytes_sent]
            for one in problem.workloads
            for bytes_sent in one.collectives
        ]
        # The optimum of a dimension is between its share of all bytes and the root of that.
        total = [sum(sent[i] for sent in self.terms) for i in range(problem.dimensions)]
        shares = [max(_LEAST_SHARE, one / (max(total) or 1.0)) for one in total]
        self.units = [
            problem.unit * (sqrt(share) if used else 1.0)
            for share, used in zip(shares, problem.used, strict=True)
        ]
        middle = [one * problem.unit for one in problem.centre]
        compute_s = sum(one.weight * one.compute_s for one in problem.workloads)
        self.sent_s = problem.time_s(middle) - compute_s or 1.0
        self.cost = problem.cost(middle) or 1.0

    def fastest(self) -> Allocation:
        """Return the least time."""
        found = self._minimum(1.0, _TIE if self.problem.costs else 0.0)
        return self._optimum(found, 1.0)

    def least_product(self, starts: int) -> Allocation:
        """Return the least product of time and cost that any start leads to."""
        places = [2 * i / (starts - 1) - 1 for i in range(starts)] if starts > 1 else [0.0]
        found = [self._descend(_SPAN**place) for place in places]
        return min(found, key=lambda one: one.value)

    def _descend(self, weight: float) -> Allocation:
        """Return the end of the descent that starts with a weight of the cost."""
        found, before_s, time_weight = self._minimum(1.0, weight), inf, 1.0
        for _ in range(_STEPS):
            time_s, cost = self._both(found)
            if abs(time_s - before_s) <= _CONVERGED * time_s:
                break
            before_s, time_weight = time_s, self.sent_s / time_s
            found = self._minimum(time_weight, self.cost / cost)
        return self._optimum(found, time_weight)

    def _both(self, point: Point) -> tuple[float, float]:
        bandwidths = self._bytes_per_s(point)
        return self.problem.time_s(bandwidths), self.problem.cost(bandwidths) or 0.0

    def _bytes_per_s(self, point: Point) -> tuple[float, ...]:
        bandwidths = zip(point.values, self.units, self.problem.used, strict=False)
        return tuple(max(one, _LEAST_SHARE * used) * unit for one, unit, used in bandwidths)

    def _minimum(self, time: float, cost: float) -> Point:
        """Return the minimum of a weighted sum of scaled time and cost.

        The variables are the bandwidths, then the time of each collective.
        """
        problem, dimensions = self.problem, self.problem.dimensions
        units = self.units
        costs = problem.costs or (0.0,) * dimensions
        prices = [one * unit / self.cost * cost for one, unit in zip(costs, units, strict=True)]
        program = ConeProgram([*prices, *[time] * len(self.terms)])
        for factors, bound, equal in problem.rows:
            own = [one * unit / problem.unit for one, unit in zip(factors, units, strict=True)]
            program.bound(own, bound, equal=equal)
        for i in range(dimensions):
            program.bound([-1.0 * (i == j) for j in range(dimensions)], 0.0)
        for number, sent in enumerate(self.terms):
            for i, one in enumerate(sent):
                if one:
                    program.hyperbola(dimensions + number, i, one / units[i] / self.sent_s)
        found = program.solve()
        assert found is not None  # the centre is a solution
        return found

    def _optimum(self, point: Point, weight: float) -> Allocation:
        """Return the allocation of a minimum in which scaled time had a weight."""
        problem, found = self.problem, self._bytes_per_s(point)
        hyperbolic = iter(point.hyperbolic)
        shares = tuple(
            tuple(next(hyperbolic) / weight if one else 0.0 for one in sent) for sent in self.terms
        )
        # From the scaled sum to shares of the value.
        scale = self.sent_s / weight / problem.time_s(found)
        linear = [one * scale for one in point.linear]
        rows = len(problem.rows)
        floors = zip(linear[rows:], self.units, strict=True)
        given = Multipliers(
            shares, tuple(linear[:rows]), tuple(one / unit * problem.unit for one, unit in floors)
        )
        return _allocation(problem, found, kkt_residual(problem, found, given))
