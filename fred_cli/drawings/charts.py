"""Charts of wafer results, each a div with plotly, and a page for one of them."""

from collections.abc import Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from fred_cli.columns.parts import PARTS
from perfmodel.studies.compare import Row
from perfmodel.studies.section import ReproduceRow
from perfmodel.studies.strategies import StrategyRow

__all__ = ["bandwidth_chart", "iteration_chart", "page", "strategy_chart"]

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


def bandwidth_chart(rows: Sequence[ReproduceRow]) -> str:
    """Show effective NPU bandwidths [GB/s] beside the published ones, per communication."""
    kinds = {
        "wafer": "wafer-wide all-reduce",
        "mp": "MP all-reduce",
        "dp": "DP all-reduce",
        "pp": "PP multicast",
    }
    figure = make_subplots(1, len(kinds), subplot_titles=list(kinds.values()), shared_yaxes=True)
    for column, kind in enumerate(kinds, start=1):
        shown = [row for row in rows if row.id.startswith(f"bandwidth/{kind}/") and row.ratio]
        names = [row.id.rpartition("/")[2].replace(":5x4", "") for row in shown]
        scale = 1000 if kind == "wafer" else 1
        bars = (
            ("simulated here", "#0072b2", [float(row.model) * scale for row in shown]),
            *(
                (label, colour, [_scaled(getattr(row, label), scale) for row in shown])
                for label, colour in (("published", "#c9ced6"), ("derived", "#e9dcc4"))
            ),
        )
        for label, colour, values in bars:
            bar = go.Bar(name=label, x=names, y=values, marker_color=colour, showlegend=column == 1)
            figure.add_trace(bar, row=1, col=column)
    figure.update_layout(**_LAYOUT, barmode="group", height=400)
    figure.update_yaxes(title_text="GB/s", row=1, col=1)
    figure.update_xaxes(tickangle=-45)
    return chart(figure, "chart-bandwidth")


def _scaled(value: float | str | None, scale: float) -> float | None:
    return None if value is None else float(value) * scale


def iteration_chart(rows: Sequence[Row], name: str) -> str:
    """Show iterations of all workloads on all fabrics, stacked; the first fabric is 1."""
    workloads = list(dict.fromkeys(row.estimate.workload for row in rows))
    figure = make_subplots(1, len(workloads), subplot_titles=workloads, shared_yaxes=True)
    for column, workload in enumerate(workloads, start=1):
        shown = [row.estimate for row in rows if row.estimate.workload == workload]
        names = [one.topology.replace(":5x4", "") for one in shown]
        whole = shown[0].iteration_time_s
        for part in PARTS:
            values = [part.seconds(one) / whole for one in shown]
            bar = go.Bar(
                name=part.words, x=names, y=values, marker_color=part.colour, showlegend=column == 1
            )
            figure.add_trace(bar, row=1, col=column)
    figure.update_layout(**_LAYOUT, barmode="stack", height=420)
    figure.update_yaxes(title_text="iteration, mesh = 1", row=1, col=1)
    figure.update_xaxes(tickangle=-45)
    return chart(figure, name)


def strategy_chart(rows: Sequence[StrategyRow], name: str = "chart-strategies") -> str:
    """Show the time per sample of every strategy on every fabric, stacked."""
    estimates = [row.estimate for row in rows]
    fabrics = list(dict.fromkeys(one.topology for one in estimates))
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
