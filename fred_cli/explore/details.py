"""One point, or two for comparison, simulated again for timeline and link loads."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fred_cli.drawings.timeline import timeline
from fred_cli.report.maps import MOST_NPUS, Map, maps_of
from fred_hw.errors import InputError, one_line
from perfmodel.training.estimate import Estimate, simulate, summarize
from studies.study.file import SWITCH_FIGURES, TRACE_FIGURES
from studies.study.point import FAILURES
from studies.study.training import request_of

from .look import Look
from .point_charts import breakdown_chart, timeline_chart
from .reproduce import Reproduction, reproduction, reproduction_of, restored
from .table import Table, text
from .words import label, quantity

__all__ = ["Detail", "detail", "detail_charts", "differences"]

_FIGURES = (
    *("time_per_sample_s", "iteration_time_s", "energy.total_j", "memory.total_bytes"),
    *SWITCH_FIGURES,
    *TRACE_FIGURES,
)
_NAMES = ("workload", "strategy", "topology", "specification", "level", "traces", "network")
"""Inputs that identify a point to the reader."""
_BUSIEST = 5


@dataclass(frozen=True)
class Detail:
    """A point in the form in which the page shows it.

    Parameters
    ----------
    key, title : str
        Of the point.
    figures : tuple of (str, str)
        Names and values in words.
    problem : str
        Why a point has no figures, or an iteration no charts; empty otherwise.
    reproduction : Reproduction or None
        Command line and files; None if the values of the point do not go together.
    estimate, timeline : Estimate or None, mapping
        Results of the simulation.
    maps : tuple of Map
        Loads of links, phase by phase; none of a large wafer.
    """

    key: str
    title: str
    figures: tuple[tuple[str, str], ...]
    problem: str
    reproduction: Reproduction | None = None
    estimate: Estimate | None = None
    timeline: Mapping[str, Any] | None = None
    maps: tuple[Map, ...] = ()

    @property
    def busiest(self) -> list[tuple[str, list[tuple[str, float]]]]:
        """The busiest links of each phase, with the share of time in which they are occupied."""
        return [
            (one.phase, sorted(one.loads, key=lambda load: -load[1])[:_BUSIEST])
            for one in self.maps
        ]


def detail(table: Table, key: str) -> Detail:
    """Return the details of a point of a table.

    Raises
    ------
    InputError
        No point has the key.
    """
    place = table.keys.get(key)
    if place is None:
        raise InputError("point", "", f"must be the key of a point in the store, not {key!r}")
    return _detail(tuple(table.row(place).items()))


def detail_charts(shown: Mapping[str, Detail], look: Look) -> dict[str, Any]:
    """Return the charts of the given points, keyed by the id of their place on the page.

    Parameters
    ----------
    shown : mapping
        Points by the name of their side: ``pin`` or ``point``.
    look : Look
        Colours and width.
    """
    names = {"pin": "first point", "point": "second point"} if len(shown) == 2 else {}
    estimates = {
        names.get(side, "iteration"): one.estimate for side, one in shown.items() if one.estimate
    }
    found: dict[str, Any] = {}
    if estimates:
        found["chart-breakdown"] = breakdown_chart(estimates, look)
    times = [one.timeline["end_us"] for one in shown.values() if one.timeline]
    for side, one in shown.items():
        if one.timeline:
            found[f"chart-timeline-{side}"] = timeline_chart(one.timeline, max(times), look)
    return found


def differences(table: Table, keys: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Return the columns in which two points differ, with both values as text."""
    first, second = (table.row(table.keys[key]) for key in keys)
    return [
        (label(name), quantity(first.get(name), name), quantity(second.get(name), name))
        for name in table.varied
        if first.get(name) != second.get(name)
    ]


@lru_cache(maxsize=16)
def _detail(items: tuple[tuple[str, Any], ...]) -> Detail:
    row = dict(items)
    title = ", ".join(text(row[name]) for name in _NAMES if name in row)
    figures = [(label(name), quantity(row[name], name)) for name in _FIGURES if name in row]
    key, problem = row["key"], row.get("error") or ""
    if problem or not {"specification", "traces"}.isdisjoint(row):
        return Detail(key, title, tuple(figures), problem, _again(row))
    try:
        with TemporaryDirectory() as folder:
            inputs = restored(row, Path(folder))
            made, asked = reproduction(inputs), request_of(inputs)
            found = simulate(asked, fitting=False, repeats=False)
            summary = summarize(found)
        maps = ()
        if asked.topology.npus <= MOST_NPUS:
            maps = tuple(maps_of(asked.topology, found.iteration.placement))
        drawn = timeline(found.iteration)
        return Detail(key, title, tuple(figures), "", made, summary, drawn, maps)
    except FAILURES as error:
        said = one_line(f"cannot be simulated again here: {error}")
        return Detail(key, title, tuple(figures), said)


def _again(row: Mapping[str, Any]) -> Reproduction | None:
    """Return how to compute a point again; None if its values do not go together."""
    try:
        with TemporaryDirectory() as folder:
            return reproduction_of(row, Path(folder))
    except FAILURES:
        return None
