"""Estimates of all points of a sweep file."""

from collections.abc import Sequence
from dataclasses import dataclass

from fred_hw.errors import InputError
from fred_hw.progress import track
from perfmodel.training.estimate import Estimate, simulate, summarize

from .sweep_points import Point, Sweep

__all__ = ["SweepRow", "run_sweep"]


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A point with its estimate.

    Parameters
    ----------
    point : Point
        What was asked for.
    estimate : Estimate or None
        Its iteration; None if it cannot run.
    speedup : float or None
        Iteration time on the baseline divided by that here; None if either cannot run.
    problem : str
        Why it cannot run; empty if it can.
    """

    point: Point
    estimate: Estimate | None
    speedup: float | None
    problem: str


def run_sweep(sweep: Sweep) -> tuple[SweepRow, ...]:
    """Estimate all points of a sweep in order.

    Points whose parts do not go together, such as more workers than the topology has NPUs, have
    no estimate but the reason; what does not fit the memory has an estimate that says so.

    Raises
    ------
    InputError
        No point can run.
    """
    points = [point for group in sweep.groups for point in group]
    found: dict[Point, Estimate | InputError] = {}
    for point in track(points, "points"):
        try:
            found[point] = summarize(simulate(sweep.request(point), fitting=False))
        except InputError as error:
            found[point] = error
    if not any(isinstance(one, Estimate) for one in found.values()):
        raise InputError(
            sweep.source,
            "",
            f"must have a point that can run; the first cannot: {found[points[0]]}",
        )
    return tuple(row for group in sweep.groups for row in _rows(sweep.baseline, group, found))


def _rows(
    baseline: str, group: Sequence[Point], found: dict[Point, Estimate | InputError]
) -> list[SweepRow]:
    [base] = (found[point] for point in group if point.topology == baseline)
    rows: list[SweepRow] = []
    for point in group:
        one = found[point]
        if isinstance(one, InputError):
            rows.append(SweepRow(point, None, None, str(one)))
            continue
        speedup = None
        if isinstance(base, Estimate):
            speedup = base.iteration_time_s / one.iteration_time_s
        rows.append(SweepRow(point, one, speedup, ""))
    return rows
