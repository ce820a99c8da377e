"""Results of an allocation, by network dimension."""

from collections.abc import Sequence
from dataclasses import dataclass

from .network import Dimension
from .optimise import Allocation
from .problem import Problem

__all__ = ["DimensionResult", "by_dimension"]


@dataclass(frozen=True, slots=True)
class DimensionResult:
    """Result of an allocation for one dimension.

    Parameters
    ----------
    name : str
        Name as in constraints: ``b0`` is the innermost dimension.
    block : str
        One of ``network.BLOCKS``.
    npus : int
        NPUs in a line along the dimension.
    gb_per_s : float
        Bandwidth of an NPU [GB/s].
    busy : float
        Share of the time of all collectives, weighted, in which this dimension sends.
    cost : float or None
        Cost of the dimension [$]; None without prices.
    """

    name: str
    block: str
    npus: int
    gb_per_s: float
    busy: float
    cost: float | None


def by_dimension(
    dimensions: Sequence[Dimension], problem: Problem, found: Allocation
) -> tuple[DimensionResult, ...]:
    """Return the results of an allocation, the innermost dimension first."""
    sent = [0.0] * problem.dimensions
    for work in problem.workloads:
        for one in work.collectives:
            sent = [a + work.weight * b for a, b in zip(sent, one, strict=True)]
    compute_s = sum(one.weight * one.compute_s for one in problem.workloads)
    collectives_s = found.time_s - compute_s
    return tuple(
        DimensionResult(
            name=f"b{place}",
            block=one.block,
            npus=one.npus,
            gb_per_s=rate / 1e9,
            busy=sent[place] / rate / collectives_s if sent[place] else 0.0,
            cost=None if problem.costs is None else problem.costs[place] * rate,
        )
        for place, (one, rate) in enumerate(zip(dimensions, found.bytes_per_s, strict=True))
    )
