"""Charts of RTL simulation and model: iterations on one time axis, and phases against size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from fred_cli.columns.parts import PARTS
from studies.rtl import FEW_CYCLES, LONG, LONG_CYCLES, SHORT, RtlRow
from studies.rtl_iteration import KINDS, Lane

from .chart import Panel, bars, chart, line, points_of

__all__ = ["Drawn", "iterations_chart", "phases_chart"]

_COLOURS = {part.name: part.colour for part in PARTS}
_WHO = {"in-network": "#0072b2", "ring": "#d55e00"}
_OTHERS = ("#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c5a2b", "#7a8490", "#4b0082")

_PITCH, _GAP = 1.0, 0.35
"""Distance between rows of an NPU, and additional distance between NPUs."""

_LANES = {"pp": (0.36, 0.16)}
"""Offset below the row's centre, and height, of concurrent background tasks."""

_MAIN = (0.0, 0.46)


@dataclass(frozen=True)
class Drawn:
    """An iteration on a fabric, in the form to be drawn.

    Parameters
    ----------
    title : str
        Heading of its panel.
    rtl, model : sequence of Lane
        Activities of the same NPUs in RTL and in the model.
    said : str
        The numbers in words.
    """

    title: str
    rtl: Sequence[Lane]
    model: Sequence[Lane]
    said: str


def iterations_chart(iterations: Sequence[Drawn], name: str) -> str:
    """Return a chart of iterations on one time axis, with RTL above the model for each NPU.

    Messages, which go on beside all else, have a line of their own.
    """
    lanes = [lane for one in iterations for lane in (*one.rtl, *one.model)]
    end_us = max(span.end_s for lane in lanes for span in lane.spans) * 1e6
    kinds = [k for k in KINDS if any(span.kind == k for lane in lanes for span in lane.spans)]
    panels = [_iteration(one, kinds, end_us) for one in iterations]
    legend = [("compute" if k == "compute" else k.upper(), _COLOURS[k]) for k in kinds]
    return chart(name, panels, legend, stacked=True)


def _iteration(one: Drawn, kinds: Sequence[str], end_us: float) -> Panel:
    rows: list[tuple[str, float, Lane]] = []
    y = 0.0
    for rtl, model in zip(one.rtl, one.model, strict=True):
        for what, lane in (("RTL", rtl), ("model", model)):
            rows.append((f"NPU {lane.npu}, {what}", y, lane))
            y += _PITCH
        y += _GAP
    data = [_bars(kind, rows) for kind in kinds]
    layout = {
        "barmode": "overlay",
        "xaxis": {"title": {"text": "µs"}, "range": [0, 1.01 * end_us]},
        "yaxis": {
            "range": [y - _GAP - 0.4, -0.45],
            "tickmode": "array",
            "tickvals": [place + 0.1 for _, place, _ in rows],
            "ticktext": [label for label, _, _ in rows],
            "showgrid": False,
            "zeroline": False,
            "automargin": False,
        },
        "margin": {"l": 104, "r": 8, "t": 8, "b": 40},  # the same in all panels: one time axis
    }
    return Panel(one.title, data, layout, one.said, 60 + round(44 * y))


def _bars(kind: str, rows: Sequence[tuple[str, float, Lane]]) -> dict[str, Any]:
    """Return all spans of one kind."""
    below, height = _LANES.get(kind, _MAIN)
    found = [(place, span) for _, place, lane in rows for span in lane.spans if span.kind == kind]
    lengths_us = (round((span.end_s - span.begin_s) * 1e6, 3) for _, span in found)
    places = (round(place + below, 3) for place, _ in found)
    return {
        **bars(kind, _COLOURS[kind], lengths_us, places, across=True),
        "base": [round(span.begin_s * 1e6, 3) for _, span in found],
        "width": height,
        "customdata": [
            f"{span.name}: {span.begin_s * 1e6:.2f} to {span.end_s * 1e6:.2f} µs"
            for _, span in found
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
        "marker": {"color": _COLOURS[kind], "line": {"width": 0}},
    }


_LEAST_RATIO = 1.9
"""Least ratio of two labelled sizes on a logarithmic axis; closer labels overlap at 400 px."""


def _apart(sizes: Sequence[int]) -> list[int]:
    """Return the sizes that an axis labels: the largest, and smaller ones far enough apart."""
    found: list[int] = []
    for one in reversed(sizes):
        if not found or found[-1] >= _LEAST_RATIO * one:
            found.append(one)
    return found[::-1]


def phases_chart(rows: Sequence[RtlRow], name: str) -> str:
    """Return a chart of model time over RTL time of phases, against size and time.

    Points that are not filled are not within tolerance, which the lines are.
    """
    who = list(dict.fromkeys(row.collectives for row in rows))
    free = cycle(_OTHERS)
    colours = {one: _WHO.get(one) or next(free) for one in who}
    worst = max(abs(row.error) for row in rows)
    span = {"range": [1 - 1.15 * worst, 1 + 1.15 * worst], "title": {"text": "model / RTL"}}
    flits = sorted({row.flits for row in rows})
    sizes = [_points(one, colours[one], rows, "flits") for one in who]
    times = [_points(one, colours[one], rows, "rtl_cycles") for one in who]
    words = "; ".join(
        f"{one}: {min(errors):+.1%} to {max(errors):+.1%}"
        for one in who
        for errors in [[row.error for row in rows if row.collectives == one]]
    )
    told = _apart(flits)
    ticks = {"tickmode": "array", "tickvals": told, "ticktext": [f"{one:,}" for one in told]}
    panels = [
        Panel(
            "Against size",
            [_one(flits[0] / 1.4, flits[-1] * 1.4), *sizes],
            {
                "yaxis": span,
                "xaxis": {"type": "log", "title": {"text": "flits of an NPU"}, **ticks},
            },
            f"Model over RTL. {words}",
            340,
        ),
        Panel(
            "Against time in RTL",
            [
                *_tolerance(
                    min(row.rtl_cycles for row in rows), max(row.rtl_cycles for row in rows)
                ),
                *times,
            ],
            {"yaxis": span, "xaxis": {"type": "log", "dtick": 1, "title": {"text": "cycles"}}},
            f"Lines are the tolerances. {words}",
            340,
        ),
    ]
    legend = [(one, colours[one]) for one in who]
    return chart(name, panels, [*legend, ("not filled: not within tolerance", "transparent")])


def _points(one: str, colour: str, rows: Iterable[RtlRow], x: str) -> dict[str, Any]:
    own = [row for row in rows if row.collectives == one]
    symbols = ["circle" if row.ok else "circle-open" for row in own]
    edge = {"width": 1.5, "color": colour}
    return points_of(
        one,
        (getattr(row, x) for row in own),
        (round(1 + row.error, 5) for row in own),
        {"color": colour, "size": 9, "line": edge, "symbol": symbols},
        text=[f"{row.strategy} {row.phase}, {row.flits:,} flits" for row in own],
        hovertemplate="%{text}<br>%{y:.3f}<extra></extra>",
    )


def _line(x: Sequence[float], y: Sequence[float], dash: str) -> dict[str, Any]:
    return line(x, y, {"width": 1, "dash": dash}, hoverinfo="skip")


def _one(first: float, last: float) -> dict[str, Any]:
    return _line([first, last], [1, 1], "solid")


def _tolerance(first: int, last: int) -> list[dict[str, Any]]:
    """Return lines for the tolerance of a phase, and for a model without error."""
    knee = FEW_CYCLES / SHORT
    short = [first * (knee / first) ** (k / 12) for k in range(13)] if first < knee else [first]
    x = [*short, LONG_CYCLES, LONG_CYCLES, last]
    share = [*(max(SHORT, FEW_CYCLES / one) for one in short), SHORT, LONG, LONG]
    sides = [_line(x, [1 + sign * one for one in share], "dot") for sign in (1, -1)]
    return [_one(first, last), *sides]
