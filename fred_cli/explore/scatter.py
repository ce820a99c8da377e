"""The scatter plot: points that would overlap share one marker."""

from functools import lru_cache
from typing import Any

import numpy as np
from bokeh.models import (
    BoxSelectTool,
    ColumnDataSource,
    HoverTool,
    Legend,
    LegendItem,
    Range1d,
    TapTool,
)

from .look import MARKERS, Look
from .table import Floats, Integers, Table
from .view import View, among
from .words import label

__all__ = ["cells", "scatter", "scatter_data"]

_HEIGHT = 420

_ACROSS, _UP = 96, 48
"""Cells of the plot, each about as large as a marker."""


def cells(x: Floats, y: Floats) -> tuple[Integers, Integers]:
    """Return the first point of each non-empty cell, and the number of points in the cell."""
    if not len(x):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    cell = _steps(x, _ACROSS) * _UP + _steps(y, _UP)
    _, first, count = np.unique(cell, return_index=True, return_counts=True)
    return first, count


def scatter(table: Table, view: View, look: Look) -> dict[str, Any]:
    """Return the plot without its data, as JSON for the page."""
    groups = table.codes(view.group)[1] if view.group else ("points",)
    log = ("xlog" in view.flags, "ylog" in view.flags)
    return _figure(view.x, view.y, view.group, groups, log, "xmore" in view.flags, look)


def scatter_data(
    table: Table, view: View, shown: Integers, front: Integers
) -> dict[str, dict[str, Any]]:
    """Return the data of the plot by source name, and ``ranges`` of its axes.

    ``selected`` of a source has the places of the points in the selection, if there is one.
    """
    found: dict[str, dict[str, Any]] = {}
    best = table.order(view.y)[:: -1 if "ymore" in view.flags else 1]
    for name, rows in _groups(table, view, among(shown, best)).items():
        x, y = (_scaled(table, view, axis)[rows] for axis in "xy")
        first, count = cells(x, y)
        drawn = rows[first]
        keys = [row["key"] for row in table.rows(drawn.tolist(), ("key",))]
        found[name] = {**_at(table, view, drawn), "points": count.tolist(), "key": keys}
        if view.brush:
            inside = np.isin(drawn, view.brushed(table, drawn))
            found[name]["selected"] = np.flatnonzero(inside).tolist()
    found["front"] = _at(table, view, front)
    if len(shown):
        found["ranges"] = {axis: _range(table, view, axis, shown) for axis in "xy"}
    keys = (table.keys[key] for key in (view.pin, view.point) if key in table.keys)
    found["rings"] = _at(table, view, np.array(list(keys), np.int64))
    return found


@lru_cache(maxsize=64)
def _figure(
    x: str,
    y: str,
    group: str,
    groups: tuple[str, ...],
    log: tuple[bool, bool],
    more: bool,
    look: Look,
) -> dict[str, Any]:
    plot = look.figure(
        _HEIGHT,
        x_axis_label=label(x),
        y_axis_label=label(y),
        x_axis_type="log" if log[0] else "linear",
        y_axis_type="log" if log[1] else "linear",
        x_range=Range1d(start=1, end=10),
        y_range=Range1d(start=1, end=10),
        tools=[],
    )
    dots = [_dots(plot, place, name, look) for place, name in enumerate(groups)]
    items = [
        LegendItem(label=name, renderers=[one]) for name, one in zip(groups, dots, strict=True)
    ]
    front = ColumnDataSource({"x": [], "y": []}, name="front")
    mode = "before" if more else "after"
    line = plot.step("x", "y", source=front, mode=mode, color=look.ink, line_width=1.5)
    items.append(LegendItem(label="Pareto front", renderers=[line]))
    rings = ColumnDataSource({"x": [], "y": []}, name="rings")
    plot.scatter(
        "x", "y", source=rings, size=16, fill_color=None, line_color=look.ink, line_width=2
    )
    box = BoxSelectTool(renderers=dots)
    plot.add_tools(box, TapTool(renderers=dots))
    said = [(label(x), "@x"), (label(y), "@y")]
    if group:  # Bokeh escapes the name of a renderer, but takes text in a tooltip for HTML
        said.append((label(group), "$name"))
    plot.add_tools(HoverTool(renderers=dots, tooltips=[*said, ("points here", "@points")]))
    plot.toolbar.active_drag = box
    plot.subscribed_events = {"selectiongeometry"}
    plot.add_layout(Legend(items=items, ncols=min(2 if look.narrow else 4, len(items))), "above")
    look.legend(plot)
    return look.item(plot)


def _dots(plot: Any, place: int, name: str, look: Look) -> Any:
    source = ColumnDataSource({"x": [], "y": [], "points": [], "key": []}, name=f"group-{place}")
    return plot.scatter(
        "x",
        "y",
        source=source,
        name=name,
        marker=MARKERS[place % len(MARKERS)],
        size=6,
        color=look.colours[place % len(look.colours)],
        fill_alpha=0.55,
        line_alpha=0.55,
        nonselection_fill_color=look.soft,
        nonselection_line_color=look.soft,
        nonselection_alpha=0.15,
    )


def _groups(table: Table, view: View, shown: Integers) -> dict[str, Integers]:
    if not view.group:
        return {"group-0": shown}
    codes, names = table.codes(view.group)
    return {f"group-{code}": shown[codes[shown] == code] for code in range(len(names))}


def _at(table: Table, view: View, rows: Integers) -> dict[str, Any]:
    return {axis: table.numbers(getattr(view, axis))[rows].tolist() for axis in "xy"}


def _range(table: Table, view: View, axis: str, shown: Integers) -> list[float]:
    """Return the ends of an axis, with a margin around the points."""
    values = table.numbers(getattr(view, axis))[shown]
    low, high = float(values.min()), float(values.max())
    if f"{axis}log" in view.flags:
        beyond = max((high / low) ** 0.04, 1.02)
        return [low / beyond, high * beyond]
    beyond = 0.04 * (high - low) or 0.04 * abs(high) or 1.0
    return [low - beyond, high + beyond]


def _scaled(table: Table, view: View, axis: str) -> Floats:
    numbers = table.numbers(view.x if axis == "x" else view.y)
    if f"{axis}log" not in view.flags:
        return numbers
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(numbers)


def _steps(values: Floats, steps: int) -> Integers:
    low, high = values.min(), values.max()
    if not high > low:
        return np.zeros(len(values), np.int64)
    return np.minimum(((values - low) / (high - low) * steps), steps - 1).astype(np.int64)
