"""Optimization of the bandwidth of each dimension.

The time of a workload is convex in the bandwidths: a sum of maxima of terms c / b. A cone solver
finds its minimum. The product of time and cost is not convex, but quasiconvex: cost is linear and
1 / time is concave. A local minimum of the product is therefore its global minimum.

This minimum lies on the frontier between time and cost. The frontier is convex, so each of its
points minimises time + w cost for some weight w. As w grows, the product falls while time / cost is
above w, and rises afterwards. The minimum is therefore a root of log(time / cost) - log(w).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

from .cone import ConeProgram
from .kkt import Multipliers, kkt_residual
from .problem import Problem

__all__ = ["Allocation", "equal_split", "optimise"]

_STEPS = 100
_CONVERGED = 1e-9
"""Convergence tolerance of the logarithm of a weight, and of the slope."""

_EXACT, _AGAIN = 1e-6, 2
"""Residual that is accurate enough, and number of attempts to reduce a larger one."""

_LEAST_SHARE = 1e-12
"""Least bandwidth of a used dimension, relative to its bandwidth in the centre."""

_TIE = 1e-7
"""Cost weight when only time is minimised: selects the cheapest of equally fast allocations."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Bandwidths, and the resulting time and cost.

    Parameters
    ----------
    bytes_per_s : tuple of float
        Bandwidth of an NPU in each dimension, the innermost first [B/s].
    time_s : float
        Weighted sum of the times of the workloads [s].
    cost : float or None
        Cost of the network [$]; None without prices.
    value : float
        Minimised value: the time [s], or time times cost [s $].
    kkt_residual : float or None
        Violation of the Karush-Kuhn-Tucker conditions, relative to ``value``; None for an
        allocation that was not optimised.
    """

    bytes_per_s: tuple[float, ...]
    time_s: float
    cost: float | None
    value: float
    kkt_residual: float | None = None


def optimise(problem: Problem) -> Allocation:
    """Return the optimal bandwidths.

    Raises
    ------
    InputError
        The constraints conflict or leave no optimum, or the solver is not installed.
    """
    problem.check()
    if problem.objective == "time" or problem.costs is None:
        return _Search(problem).fastest()
    return _Search(problem).least_product()


def equal_split(problem: Problem, bytes_per_s: Sequence[float]) -> Allocation:
    """Return the same total bandwidth split equally, ignoring the constraints."""
    share = sum(bytes_per_s) / len(bytes_per_s)
    return _allocation(problem, (share,) * len(bytes_per_s))


def _allocation(
    problem: Problem, bytes_per_s: tuple[float, ...], kkt_residual: float | None = None
) -> Allocation:
    time_s, cost = problem.time_s(bytes_per_s), problem.cost(bytes_per_s)
    return Allocation(bytes_per_s, time_s, cost, problem.value(bytes_per_s), kkt_residual)


class _Minimum(NamedTuple):
    """Bandwidths that minimise a weighted sum [B/s], their multipliers, and the KKT residual."""

    bytes_per_s: tuple[float, ...]
    multipliers: Multipliers
    residual: float


class _Search:
    """Minimization of weighted sums of time and cost, scaled to the problem's centre."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.terms = [
            [one.weight * sent for sent in bytes_sent]
            for one in problem.workloads
            for bytes_sent in one.collectives
        ]
        middle = [one * problem.unit for one in problem.centre]
        # The centre may give no bandwidth to a dimension that no collective uses.
        pairs = zip(middle, problem.used, strict=True)
        self.units = [one if used else problem.unit for one, used in pairs]
        compute_s = sum(one.weight * one.compute_s for one in problem.workloads)
        self.sent_s = problem.time_s(middle) - compute_s or 1.0
        self.cost = problem.cost(middle) or 1.0

    def fastest(self) -> Allocation:
        """Return the allocation of least time."""
        return self._optimum(self._minimum(1.0, _TIE if self.problem.costs else 0.0))

    def least_product(self) -> Allocation:
        """Return the allocation with the least product of time and cost."""
        # The search leaves the centre only as far as needed: the solver is less accurate far away,
        # and without compute a large part of the frontier may have the same product.
        before, place = (0.0, self._slope(0.0)), 0.0
        after, step = before, 2 * before[1]
        while before[1] * after[1] > 0:
            place += step
            step *= 2
            before, after = after, (place, self._slope(place))
        (low, above), (high, below) = sorted((before, after))
        return self._optimum(self._minimum(*_weights(self._root(low, above, high, below))))

    def _root(self, low: float, above: float, high: float, below: float) -> float:
        """Return the zero of the slope in an interval, by alternating secants and bisections."""
        for step in range(_STEPS):
            place = (low + high) / 2
            if step % 2 == 0 and above > below:
                place = (high * above - low * below) / (above - below)
            slope = self._slope(place)
            if abs(slope) <= _CONVERGED or high - low <= _CONVERGED:
                return place
            if slope > 0:
                low, above = place, slope
            else:
                high, below = place, slope
        return (low + high) / 2

    def _slope(self, place: float) -> float:
        """Return log(time / cost) - log(w) of scaled values, for a given log(w)."""
        found = self._minimum(*_weights(place)).bytes_per_s
        cost = self.problem.cost(found)
        assert cost
        return log(self.problem.time_s(found) / self.sent_s) - log(cost / self.cost) - place

    def _minimum(self, time: float, cost: float) -> _Minimum:
        """Return the minimum of a weighted sum of scaled time and scaled cost.

        Where it is not exact, as far from the centre, it is found again in units of the result.
        """
        found = self._solved(self.units, time, cost)
        for _ in range(_AGAIN):
            if found.residual <= _EXACT:
                break
            again = self._solved(found.bytes_per_s, time, cost)
            found = min(found, again, key=lambda one: one.residual)
        return found

    def _solved(self, units: Sequence[float], time: float, cost: float) -> _Minimum:
        """Return the minimum that the solver finds with bandwidths scaled by given units.

        The variables are the bandwidths, then the time of each collective.
        """
        problem, dimensions = self.problem, self.problem.dimensions
        pairs = zip(units, self.units, problem.used, strict=True)
        units = [one if used else usual for one, usual, used in pairs]
        times = [max(a / b for a, b in zip(one, units, strict=True)) for one in self.terms]
        weights = [time * one / self.sent_s for one in times]
        costs = problem.costs or (0.0,) * dimensions
        prices = [one * unit / self.cost * cost for one, unit in zip(costs, units, strict=True)]
        program = ConeProgram([*prices, *weights])
        for factors, bound, equal in problem.rows:
            own = [one * unit / problem.unit for one, unit in zip(factors, units, strict=True)]
            program.bound(own, bound, equal=equal)
        for i in range(dimensions):
            program.bound([-1.0 * (i == j) for j in range(dimensions)], 0.0)
        for number, (sent, longest) in enumerate(zip(self.terms, times, strict=True)):
            for i, one in enumerate(sent):
                if one:
                    program.hyperbola(dimensions + number, i, one / units[i] / longest)
        point = program.solve()
        assert point is not None  # the centre is a feasible point
        values = zip(point.values, units, problem.used, strict=False)
        found = tuple(max(one, _LEAST_SHARE * used) * unit for one, unit, used in values)
        hyperbolic = iter(point.hyperbolic)
        shares = tuple(
            tuple(next(hyperbolic) / weight if one else 0.0 for one in sent)
            for sent, weight in zip(self.terms, weights, strict=True)
        )
        # Convert from the scaled sum to shares of the value.
        linear = [one * self.sent_s / time / problem.time_s(found) for one in point.linear]
        rows = len(problem.rows)
        floors = zip(linear[rows:], units, strict=True)
        floor = tuple(one / unit * problem.unit for one, unit in floors)
        multipliers = Multipliers(shares, tuple(linear[:rows]), floor)
        per_cost = cost / self.cost * self.sent_s / time / problem.time_s(found)
        residual = kkt_residual(problem, found, multipliers, per_cost)
        return _Minimum(found, multipliers, residual)

    def _optimum(self, found: _Minimum) -> Allocation:
        bandwidths, product = found.bytes_per_s, self.problem.objective == "time_x_cost"
        cost = self.problem.cost(bandwidths) if product else None
        residual = kkt_residual(
            self.problem, bandwidths, found.multipliers, 1 / cost if cost else 0.0
        )
        return _allocation(self.problem, bandwidths, residual)


def _weights(place: float) -> tuple[float, float]:
    """Return the weights of time and cost, given the log of their ratio; the larger is 1."""
    return (exp(-max(place, 0.0)), exp(min(place, 0.0)))
