"""KKT residual: how far an allocation violates the optimality conditions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .problem import Problem

__all__ = ["Multipliers", "kkt_residual"]


@dataclass(frozen=True, slots=True)
class Multipliers:
    """Multipliers of the optimality conditions, relative to the objective value.

    Parameters
    ----------
    shares : tuple of tuple of float
        For each collective, the share of its time that each dimension determines; the shares sum to
        1.
    rows : tuple of float
        Multipliers of ``problem.rows``.
    floors : tuple of float
        Multipliers of the bounds that keep each bandwidth at 0 or above.
    """

    shares: tuple[tuple[float, ...], ...]
    rows: tuple[float, ...]
    floors: tuple[float, ...]


def kkt_residual(
    problem: Problem, bytes_per_s: Sequence[float], given: Multipliers, per_cost: float = 0.0
) -> float:
    """Return the largest violation of an optimality condition, relative to the objective.

    The objective is log(time) + ``per_cost`` x cost: the product of time and cost has the same
    slopes with 1 / cost as factor.

    The conditions are computed from the problem, independently of the solver: no small relative
    change of a bandwidth lowers the objective (stationarity), only the slowest dimensions of a
    collective and constraints without slack have multipliers (complementarity), multipliers have
    the right signs and sums, and the constraints are met.
    """
    scaled = [one / problem.unit for one in bytes_per_s]
    slopes = [
        scaled[i] * (sum(row * factors[i] for row, (factors, *_) in _pairs(problem, given)) - floor)
        for i, floor in enumerate(given.floors)
    ]
    if problem.costs:
        slopes = [
            slope + per_cost * price * rate
            for slope, price, rate in zip(slopes, problem.costs, bytes_per_s, strict=True)
        ]
    missed = [abs(floor * rate) for floor, rate in zip(given.floors, scaled, strict=True)]
    missed += [-one for one in given.floors]
    terms = [(one.weight, sent) for one in problem.workloads for sent in one.collectives]
    total_s = problem.time_s(bytes_per_s)
    for (weight, sent), shares in zip(terms, given.shares, strict=True):
        parts = [
            weight * one / rate / total_s if one else 0.0
            for one, rate in zip(sent, bytes_per_s, strict=True)
        ]
        slopes = [
            slope - share * part for slope, share, part in zip(slopes, shares, parts, strict=True)
        ]
        slowest = max(parts)
        missed += [-share * slowest for share in shares]
        missed.append(abs(sum(shares) - 1) * slowest)
        missed.append(
            sum(s * (slowest - part) for s, part in zip(shares, parts, strict=True) if part)
        )
    missed += [abs(slope) for slope in slopes]
    return max([*missed, *_linear(problem, scaled, given)])


def _pairs(
    problem: Problem, given: Multipliers
) -> list[tuple[float, tuple[Sequence[float], float, bool]]]:
    return list(zip(given.rows, problem.rows, strict=True))


def _linear(problem: Problem, scaled: Sequence[float], given: Multipliers) -> Iterator[float]:
    """Yield violations of linear constraints: infeasibility, sign, complementary slackness."""
    for multiplier, (factors, bound, equal) in _pairs(problem, given):
        terms = [factor * rate for factor, rate in zip(factors, scaled, strict=True)]
        slack, size = bound - sum(terms), max(abs(bound), *map(abs, terms))
        if equal:
            yield abs(slack) / (size or 1.0)
        else:
            yield -slack / (size or 1.0)
            yield -multiplier * size
            yield abs(multiplier * slack)
