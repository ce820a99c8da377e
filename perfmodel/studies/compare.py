"""Estimates of workloads on several topologies, and speed-ups over the first topology."""

from collections.abc import Sequence
from dataclasses import dataclass

from fred_hw.progress import track
from perfmodel.training.estimate import Estimate, estimate
from perfmodel.training.request import Request

__all__ = ["Row", "compare"]


@dataclass(frozen=True, slots=True)
class Row:
    """One workload on one topology.

    Parameters
    ----------
    estimate : Estimate
        The iteration.
    speedup : float
        Iteration time on the first of the topologies divided by that on this one.
    """

    estimate: Estimate
    speedup: float


def compare(requests: Sequence[Request]) -> tuple[Row, ...]:
    """Estimate all requests, each compared with the first one of the same workload.

    Parameters
    ----------
    requests : sequence of Request
        As ``equal_terms.on_equal_terms`` returns them.

    Raises
    ------
    InputError
        As for ``estimate.estimate``.
    """
    first_s: dict[str, float] = {}
    rows: list[Row] = []
    for request in track(requests, "iterations"):
        found = estimate(request)
        base_s = first_s.setdefault(found.workload, found.iteration_time_s)
        rows.append(Row(found, base_s / found.iteration_time_s))
    return tuple(rows)
