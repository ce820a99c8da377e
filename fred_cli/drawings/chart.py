"""Charts: panels drawn by plotly in the page, with a legend and the same numbers as text."""

import base64
import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from fred_hw.reading import SUFFIXES

from .markup import escape, script_json

__all__ = [
    "INK",
    "Panel",
    "asset",
    "bars",
    "chart",
    "line",
    "page",
    "plotly_packed",
    "points_of",
    "stacked_rows",
    "stem",
]

INK = "INK"
"""Placeholder for the text colour in a panel's data: dark on light, light on dark."""


@dataclass(frozen=True)
class Panel:
    """One set of axes; panels of a chart are side by side on wide pages.

    Parameters
    ----------
    title : str
        Heading of the panel.
    data, layout : sequence of dict, dict
        Traces and axes in the form of plotly.js; colours, fonts and margins come from the page.
    said : str
        The numbers in words, for readers who cannot see the panel.
    height : int
        Height in pixels.
    """

    title: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any] = field(default_factory=dict[str, Any])
    said: str = ""
    height: int = 280


def bars(
    name: str, colour: str, x: Iterable[Any], y: Iterable[Any], *, across: bool = False
) -> dict[str, Any]:
    """Return bars of one colour, vertical or horizontal: values, or a function of them."""
    orientation = {"orientation": "h"} if across else {}
    marker = {"color": colour}
    return {
        "type": "bar",
        **orientation,
        "name": name,
        "x": list(x),
        "y": list(y),
        "marker": marker,
    }


def points_of(
    name: str, x: Iterable[Any], y: Iterable[Any], marker: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Return a trace of points with one marker each."""
    where = {"name": name, "x": list(x), "y": list(y)}
    return {"type": "scatter", "mode": "markers", **where, "marker": marker, **more}


def line(
    x: Iterable[Any], y: Iterable[Any], style: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Return a line in the text colour."""
    drawn = {"color": INK, **style}
    return {"type": "scatter", "mode": "lines", "x": list(x), "y": list(y), "line": drawn, **more}


def stacked_rows(unit: str, most: float) -> dict[str, Any]:
    """Return the layout of horizontal stacked bars with names, the first at the top."""
    return {
        "barmode": "stack",
        "xaxis": {"title": {"text": unit}, "range": [0, most]},
        "yaxis": {"type": "category", "autorange": "reversed", "dtick": 1},
    }


def stem(name: str) -> str:
    """Return a name; for files, without folder and extension."""
    return PurePath(name).stem if name.endswith(SUFFIXES) else name


def chart(
    name: str, panels: Sequence[Panel], legend: Sequence[tuple[str, str]], *, stacked: bool = False
) -> str:
    """Return a chart as HTML, which ``charts.js`` draws when the page is shown.

    Parameters
    ----------
    name : str
        Id of the chart.
    panels : sequence of Panel
        Panels from left to right.
    legend : sequence of (str, str)
        Meaning of each colour, and the colour.
    stacked : bool
        Whether panels are always stacked vertically.
    """
    kind = "panels stacked" if stacked else "panels"
    drawn = "".join(_panel(panel) for panel in panels)
    return (
        f'<figure class="chart" id="{escape(name)}">{_legend(legend)}'
        f'<div class="{kind}">{drawn}</div></figure>'
    )


def _legend(legend: Sequence[tuple[str, str]]) -> str:
    keys = "".join(f"<li>{_swatch(colour)}{escape(label)}</li>" for label, colour in legend)
    return f'<ul class="legend">{keys}</ul>'


def _swatch(colour: str) -> str:
    if colour == INK:
        return '<span class="swatch line"></span>'
    return f'<span class="swatch" style="background:{colour}"></span>'


def _panel(panel: Panel) -> str:
    plot = script_json({"data": panel.data, "layout": panel.layout})
    label = escape(f"{panel.title}. {panel.said}" if panel.said else panel.title)
    return (
        f'<div class="panel"><p class="panel-title">{escape(panel.title)}</p>'
        f'<div class="plot" role="img" aria-label="{label}" style="height:{panel.height}px">'
        f'</div><script type="application/json">{plot}</script></div>'
    )


@cache
def asset(name: str) -> str:
    """Return the text of a file in the folder ``assets``."""
    return (files("fred_cli.drawings") / "assets" / name).read_text(encoding="utf-8")


@cache
def plotly_packed() -> str:
    """Return plotly.js compressed as text, a third of its size; the page decompresses it."""
    from plotly.offline import get_plotlyjs

    packed = gzip.compress(get_plotlyjs().encode(), 9, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def page(title: str, body: str) -> str:
    """Return a self-contained page that needs no network."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
        f"<style>{asset('page.css')}</style></head>"
        f"<body><main><h1>{escape(title)}</h1><section>{body}</section></main>"
        f'<script type="text/plain" id="plotly-packed">{plotly_packed()}</script>'
        f"<script>{asset('charts.js')}</script></body></html>\n"
    )
