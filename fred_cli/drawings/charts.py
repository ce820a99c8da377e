"""Charts of wafer results, each a div with plotly, and a page for one of them."""

from collections.abc import Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from fred_cli.columns.parts import PARTS
from perfmodel.published import SPEEDUP_C, SPEEDUP_D
from perfmodel.studies.compare import Row
from perfmodel.studies.section import ReproduceRow
from perfmodel.studies.strategies import StrategyRow
from perfmodel.topology.parse import BASELINE

__all__ = ["bandwidth_chart", "iteration_chart", "page", "strategy_chart", "time_chart"]

_LAYOUT: dict[str, Any] = {
    "template": "plotly_white",
    "font": {"family": "system-ui, sans-serif", "size": 14},
    "margin": {"l": 60, "r": 20, "t": 40, "b": 50},
    "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.1, "x": 0},
}


def chart(figure: go.Figure, name: str) -> str:
    """Return a chart as a div; the library itself stands once in the page."""
    return figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config={"displayModeBar": False, "responsive": True},
    )


def page(title: str, body: str) -> str:
    """Return a page of its own that needs no network."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
        f"<script>{get_plotlyjs()}</script></head>"
        '<body style="font-family: system-ui, sans-serif; margin: 24px">'
        f"<h1>{escape(title)}</h1>{body}</body></html>\n"
    )


_KINDS = {
    "wafer": "wafer-wide all-reduce",
    "mp": "MP all-reduce",
    "dp": "DP all-reduce",
    "pp": "PP multicast",
}
_BARS = (("simulated here", "#0072b2"), ("published", "#c9ced6"), ("derived", "#e9dcc4"))


def _short(name: str) -> str:
    return name.replace(":5x4", "")


def _bandwidths(rows: Sequence[ReproduceRow], kind: str) -> dict[str, dict[str, float | None]]:
    """Return by fabric the bandwidths of a communication [GB/s], by the names of the bars."""
    scale = 1000 if kind == "wafer" else 1
    start = f"bandwidth/{kind}/"
    return {
        _short(row.id.removeprefix(start)): {
            name: None if value is None else float(value) * scale
            for (name, _), value in zip(_BARS, (row.model, row.published, row.derived), strict=True)
        }
        for row in rows
        if row.id.startswith(start) and row.ratio is not None
    }


def bandwidth_chart(rows: Sequence[ReproduceRow]) -> str:
    """Show effective NPU bandwidths [GB/s] beside the published ones, per communication."""
    panels = {kind: _bandwidths(rows, kind) for kind in _KINDS}
    return _grouped(panels, "GB/s", "chart-bandwidth")


def time_chart(rows: Sequence[ReproduceRow]) -> str:
    """Show the time of the same communications, that of the mesh being 1.

    A time is what an NPU has to send over its bandwidth: the vector where switches reduce, and
    otherwise what an endpoint algorithm sends.
    """
    sent = {"wafer": 2 * 19 / 20, "mp": 1.0, "dp": 2 * 4 / 5, "pp": 1.0}
    panels: dict[str, dict[str, dict[str, float | None]]] = {}
    for kind in _KINDS:
        found = _bandwidths(rows, kind)
        mesh = found["mesh"]
        panels[kind] = {
            fabric: {
                name: None
                if value is None
                else _over(mesh[name] or mesh["published"], value)
                / (sent[kind] if fabric in ("fred-b", "fred-d") else 1.0)
                for name, value in bars.items()
            }
            for fabric, bars in found.items()
        }
    return _grouped(panels, "time, mesh = 1", "chart-time")


def _over(first: float | None, second: float) -> float:
    assert first is not None
    return first / second


def _grouped(panels: dict[str, dict[str, dict[str, float | None]]], unit: str, name: str) -> str:
    """Show a panel for each communication, with a group of bars for each fabric."""
    figure = make_subplots(
        1, len(panels), subplot_titles=[_KINDS[kind] for kind in panels], shared_yaxes=True
    )
    named: set[str] = set()  # of the legend
    for column, found in enumerate(panels.values(), start=1):
        for label, colour in _BARS:
            there = {name: bars[label] for name, bars in found.items() if bars[label] is not None}
            bar = go.Bar(
                name=label,
                x=list(there),
                y=list(there.values()),
                marker_color=colour,
                showlegend=bool(there) and label not in named,
                legendgroup=label,
            )
            figure.add_trace(bar, row=1, col=column)
            named.update([label] if there else [])
    figure.update_layout(**_LAYOUT, barmode="group", height=400)
    figure.update_yaxes(title_text=unit, row=1, col=1)
    figure.update_xaxes(tickangle=-45)
    return chart(figure, name)


def iteration_chart(rows: Sequence[Row], name: str) -> str:
    """Show iterations of all workloads on all fabrics, stacked; the first fabric is 1.

    A line over a bar is where the published speed-up has its end.
    """
    workloads = list(dict.fromkeys(row.estimate.workload for row in rows))
    figure = make_subplots(1, len(workloads), subplot_titles=workloads, shared_yaxes=True)
    for column, workload in enumerate(workloads, start=1):
        shown = [row.estimate for row in rows if row.estimate.workload == workload]
        names = [_short(one.topology) for one in shown]
        whole = shown[0].iteration_time_s
        for part in PARTS:
            values = [part.seconds(one) / whole for one in shown]
            bar = go.Bar(
                name=part.words, x=names, y=values, marker_color=part.colour, showlegend=column == 1
            )
            figure.add_trace(bar, row=1, col=column)
        ends = {
            fabric: 1 / figures[workload].value
            for fabric, figures in (("fred-c", SPEEDUP_C), ("fred-d", SPEEDUP_D))
            if workload in figures and fabric in names
        }
        line = go.Scatter(
            name="published",
            x=list(ends),
            y=list(ends.values()),
            mode="markers",
            marker={"symbol": "line-ew", "size": 24, "line": {"width": 3, "color": "#1d2530"}},
            showlegend=column == 1,
        )
        figure.add_trace(line, row=1, col=column)
    figure.update_layout(**_LAYOUT, barmode="stack", height=420)
    figure.update_yaxes(title_text="iteration, mesh = 1", row=1, col=1)
    figure.update_xaxes(tickangle=-45)
    return chart(figure, name)


def strategy_chart(rows: Sequence[StrategyRow], name: str = "chart-strategies") -> str:
    """Show the time per sample of every strategy on every fabric, stacked."""
    estimates = [row.estimate for row in rows]
    # What the others are compared with is on top.
    fabrics = sorted({one.topology for one in estimates}, key=lambda one: (one != BASELINE, one))
    order = list(dict.fromkeys(one.strategy for one in estimates))
    figure = make_subplots(
        len(fabrics), 1, subplot_titles=fabrics, shared_xaxes=True, vertical_spacing=0.09
    )
    for index, fabric in enumerate(fabrics, start=1):
        shown = {one.strategy: one for one in estimates if one.topology == fabric}
        for part in PARTS:
            values = [
                part.seconds(shown[key]) / shown[key].minibatch * 1e3 if key in shown else None
                for key in order
            ]
            bar = go.Bar(
                name=part.words, x=order, y=values, marker_color=part.colour, showlegend=index == 1
            )
            figure.add_trace(bar, row=index, col=1)
    layout = {**_LAYOUT, "legend": {**_LAYOUT["legend"], "y": 1.06}}
    figure.update_layout(**layout, barmode="stack", height=160 + 260 * len(fabrics))
    figure.update_yaxes(title_text="ms per sample")
    for index in range(2, len(fabrics) + 1):
        figure.update_yaxes(matches="y", row=index, col=1)
    figure.update_xaxes(tickangle=-60)
    return chart(figure, name)
