"""Parallel coordinates: one line per point, one axis per column."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.models import BoxSelectTool, ColumnDataSource, LabelSet, Range1d

from .look import Look
from .table import Floats, Integers, Table
from .view import View
from .words import label, quantity

__all__ = ["MOST_LINES", "Axis", "axes_of", "lines_of", "parallel", "parallel_data"]

MOST_LINES = 300
"""Largest number of points that are drawn."""

_MOST_TICKS = 9


@dataclass(frozen=True)
class Axis:
    """One column as an axis from 0 to 1.

    Parameters
    ----------
    name : str
        The column.
    ticks : sequence
        Places from 0 to 1, each with a value in words.
    low, high : float
        Ends of a column of numbers.
    log : bool
        Whether the axis of numbers is logarithmic.
    values : tuple of str
        Values of a column of texts, from bottom to top.
    """

    name: str
    ticks: tuple[tuple[float, str], ...]
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    values: tuple[str, ...] = ()

    def places(self, table: Table, rows: Integers) -> Floats:
        """Return the positions at which points cross the axis; NaN where a value is missing."""
        if self.values:
            codes, names = table.codes(self.name)
            at = {name: place for place, name in enumerate(self.values)}
            steps = np.array([at.get(name, 0) for name in names], float)
            return steps[codes[rows]] / max(1, len(self.values) - 1)
        numbers = table.numbers(self.name)[rows]
        if self.log:
            return np.log(numbers / self.low) / np.log(self.high / self.low)
        return (numbers - self.low) / ((self.high - self.low) or 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the data with which the page turns a section of the axis into a filter."""
        ends = {"low": self.low, "high": self.high, "log": self.log}
        return {"name": self.name, "values": self.values, **ends}


def axes_of(table: Table, view: View, rows: Integers) -> list[Axis]:
    """Return the axes of the columns of a view, over the given rows."""
    return [_axis(table, name, rows) for name in view.columns] if len(rows) else []


def lines_of(table: Table, view: View, rows: Integers, front: Integers) -> Integers:
    """Return the rows to draw: those of the front, then evenly spaced others."""
    there = front[np.isin(front, rows)][:MOST_LINES]
    others = view.sorted(table, rows[~np.isin(rows, there)])
    left = MOST_LINES - len(there)
    if len(others) > left:
        others = others[np.linspace(0, len(others) - 1, left).astype(int)] if left else others[:0]
    return np.concatenate((others, there))


def parallel(view: View, look: Look) -> dict[str, Any]:
    """Return the plot without its data, as JSON for the page."""
    return _figure(view.columns, look)


def parallel_data(
    table: Table, view: View, lines: Integers, front: Integers, axes: list[Axis], look: Look
) -> dict[str, dict[str, Any]]:
    """Return the data of the plot, keyed by source name."""
    places = np.array([axis.places(table, lines) for axis in axes]).T.reshape(len(lines), len(axes))
    on_front = np.isin(lines, front)
    colours = _colours(table, view, lines, look)
    found: dict[str, dict[str, Any]] = {}
    for name, chosen in (("others", ~on_front), ("front", on_front)):
        found[name] = {
            "xs": [list(range(len(axes)))] * int(chosen.sum()),
            "ys": [[None if np.isnan(y) else y for y in ys] for ys in places[chosen].tolist()],
            "colour": [one for one, there in zip(colours, chosen, strict=True) if there],
        }
    marks = [(n, at, said) for n, axis in enumerate(axes) for at, said in axis.ticks]
    found["ticks"] = {
        "x": [x for x, _, _ in marks],
        "y": [y for _, y, _ in marks],
        "said": [said if len(said) <= 18 else f"{said[:17]}…" for _, _, said in marks],
    }
    return found


@lru_cache(maxsize=64)
def _figure(columns: tuple[str, ...], look: Look) -> dict[str, Any]:
    count = len(columns)
    plot = look.figure(
        300,
        x_range=Range1d(start=-0.35, end=max(count - 1, 0) + 0.65),
        y_range=Range1d(start=-0.06, end=1.08),
        tools=[],
    )
    for name, alpha, width in (("others", 0.25, 1.0), ("front", 0.95, 2.0)):
        source = ColumnDataSource({"xs": [], "ys": [], "colour": []}, name=name)
        plot.multi_line(
            "xs", "ys", source=source, line_color="colour", line_alpha=alpha, line_width=width
        )
    _ticks(plot, count, look)
    box = BoxSelectTool(renderers=[])
    plot.add_tools(box)
    plot.toolbar.active_drag = box
    plot.subscribed_events = {"selectiongeometry"}
    plot.yaxis.visible = False
    plot.grid.visible = False
    plot.xaxis.ticker = list(range(count))
    plot.xaxis.major_label_overrides = {n: _wrapped(name) for n, name in enumerate(columns)}
    plot.xaxis.axis_line_color = plot.xaxis.major_tick_line_color = None
    return look.item(plot)


def _axis(table: Table, name: str, rows: Integers) -> Axis:
    if not table.is_number(name):
        codes, names = table.codes(name)
        values = tuple(names[code] for code in np.unique(codes[rows]))
        step = max(1, -(-len(values) // _MOST_TICKS))
        ticks = [(n / max(1, len(values) - 1), values[n]) for n in range(0, len(values), step)]
        return Axis(name, tuple(ticks), values=values)
    numbers = table.numbers(name)[rows]
    numbers = numbers[np.isfinite(numbers)]
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
    log = low > 0 and high > 20 * low
    shown = np.array([low, high])
    if table.distinct(name) <= _MOST_TICKS:
        shown = np.unique(numbers)
    at = np.log(shown / low) / np.log(high / low) if log else (shown - low) / ((high - low) or 1.0)
    ticks = zip(at.tolist(), (quantity(float(one), name) for one in shown), strict=True)
    return Axis(name, tuple(ticks), low, high, log)


def _ticks(plot: Any, count: int, look: Look) -> None:
    """Draw the axes, with their values on the right."""
    at = list(range(count))
    plot.segment(at, [0] * count, at, [1] * count, color=look.soft)
    source = ColumnDataSource({"x": [], "y": [], "said": []}, name="ticks")
    plot.scatter("x", "y", source=source, size=4, color=look.soft)
    plot.add_layout(
        LabelSet(
            x="x",
            y="y",
            text="said",
            source=source,
            x_offset=5,
            y_offset=-6,
            text_color=look.ink,
            text_font_size="11px",
            text_font=value("system-ui, sans-serif"),
            background_fill_color=look.card,
            background_fill_alpha=0.8,
        )
    )


def _colours(table: Table, view: View, lines: Integers, look: Look) -> list[str]:
    if not view.group:
        return [look.colours[0]] * len(lines)
    codes = table.codes(view.group)[0][lines]
    return [look.colours[code % len(look.colours)] for code in codes]


def _wrapped(name: str) -> str:
    """Return a column's label, wrapped to lines of about 16 characters."""
    lines = [""]
    for word in label(name).split():
        if lines[-1] and len(lines[-1]) + len(word) >= 16:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
