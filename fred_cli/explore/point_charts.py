"""Charts of single points: time of an iteration by activity, and over time."""

from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.models import ColumnDataSource, HoverTool, Legend, LegendItem, Range1d

from fred_cli.columns.parts import PARTS, parts_of

from .look import Look

__all__ = ["breakdown_chart", "timeline_chart"]

_PARTS = {part.name: part for part in PARTS}


def breakdown_chart(estimates: Mapping[str, Any], look: Look) -> dict[str, Any]:
    """Return bars of iteration parts on one scale, as JSON for the page."""
    names = list(estimates)
    plot = look.figure(
        90 + 40 * len(names) + (40 if look.narrow else 0),
        y_range=list(reversed(names)),
        x_axis_label="iteration [ms]",
        tools=[],
        name="breakdown",
    )
    parts = parts_of(estimates.values())
    columns: dict[str, Any] = {"point": names}
    for part in parts:
        columns[part.words] = [part.seconds(one) * 1e3 for one in estimates.values()]
    shown = [part for part in parts if any(columns[part.words])]
    bars = plot.hbar_stack(
        [part.words for part in shown],
        y="point",
        height=0.6,
        color=[part.colour for part in shown],
        line_color=None,
        source=ColumnDataSource(columns),
    )
    items = [
        LegendItem(label=part.words, renderers=[one]) for part, one in zip(shown, bars, strict=True)
    ]
    plot.add_layout(Legend(items=items, ncols=2 if look.narrow else 4), "above")
    plot.add_tools(HoverTool(renderers=bars, tooltips="$name: @$name{0.000} ms"))
    plot.x_range.start = 0
    plot.ygrid.visible = False
    look.legend(plot)
    return look.item(plot)


def timeline_chart(found: Mapping[str, Any], end_us: float, look: Look) -> dict[str, Any]:
    """Return the timeline of ``drawings.timeline`` up to ``end_us``, as JSON."""
    lanes = found["lanes"]
    names = [f"{lane['stage']}: {_PARTS[lane['kind']].heading}" for lane in lanes]
    columns: dict[str, Any] = {key: [] for key in ("lane", "left", "right", "colour", "said")}
    for name, lane in zip(names, lanes, strict=True):
        for start, length, task in _threes(lane["tasks"]):
            columns["lane"].append(name)
            columns["left"].append(start / 1e3)
            columns["right"].append((start + length) / 1e3)
            columns["colour"].append(_PARTS[lane["kind"]].colour)
            columns["said"].append(f"{found['names'][int(task)]}: {length / 1e3:.4g} ms")
    plot = look.figure(
        60 + 22 * len(lanes),
        y_range=list(reversed(names)),
        x_range=Range1d(start=0, end=end_us / 1e3),
        x_axis_label="time in the iteration [ms]",
        tools="xbox_zoom",
        name="timeline",
    )
    bars = plot.hbar(
        y="lane",
        left="left",
        right="right",
        height=0.7,
        color="colour",
        line_color=None,
        source=ColumnDataSource(columns),
    )
    plot.add_tools(HoverTool(renderers=[bars], tooltips="@said"))
    plot.subscribed_events = {"doubletap"}
    plot.ygrid.visible = False
    return look.item(plot)


def _threes(tasks: Sequence[float]) -> list[tuple[float, float, float]]:
    return list(zip(tasks[::3], tasks[1::3], tasks[2::3], strict=True))
