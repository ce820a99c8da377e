"""Estimates of workloads on several topologies, with speed-ups over the first topology."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fred_hw.progress import track
from perfmodel.training.estimate import Estimate, estimate
from perfmodel.training.request import Request

from .equal_terms import on_equal_terms

__all__ = ["Row", "compare"]


@dataclass(frozen=True, slots=True)
class Row:
    """Estimate of one workload on one topology.

    Parameters
    ----------
    estimate : Estimate
        The iteration.
    speedup : float
        Iteration time on the first of the topologies divided by that on this one.
    readings : dict
        The same speed-up in each reading, by the text of the reading.
    """

    estimate: Estimate
    speedup: float
    readings: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def band(self) -> tuple[float, float]:
        """Least and largest speed-up over the uncertainty band, including the requested one."""
        every = (self.speedup, *self.readings.values())
        return min(every), max(every)


def compare(
    requests: Sequence[Request], readings: Mapping[str, Mapping[str, str]] | None = None
) -> tuple[Row, ...]:
    """Estimate all requests, each compared with the first request of the same workload.

    Parameters
    ----------
    requests : sequence of Request
        As ``equal_terms.on_equal_terms`` returns them.
    readings : mapping or None
        Options to change in all requests, by the name of the reading: speed-ups are found again
        with each of them.

    Raises
    ------
    InputError
        As for ``estimate.estimate``.
    """
    others = {
        # The NPUs are those of the requests; the model of compute may be another one.
        name: _rows(on_equal_terms([replace(one, **options) for one in requests], as_is=True))
        for name, options in (readings or {}).items()
    }
    return tuple(
        replace(row, readings={name: rows[number].speedup for name, rows in others.items()})
        for number, row in enumerate(_rows(requests))
    )


def _rows(requests: Sequence[Request]) -> tuple[Row, ...]:
    first_s: dict[str, float] = {}
    rows: list[Row] = []
    for request in track(requests, "iterations"):
        found = estimate(request)
        base_s = first_s.setdefault(found.workload, found.iteration_time_s)
        rows.append(Row(found, base_s / found.iteration_time_s))
    return tuple(rows)
