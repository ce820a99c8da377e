"""Chart of traces on several networks: where the time of the rank that ends last goes."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from fred_hw.reading import SUFFIXES
from perfmodel.astra.estimate import TraceEstimate

from .chart import Panel, chart

__all__ = ["trace_chart"]

_PARTS = {"compute": "#0072b2", "without compute": "#d55e00"}


def trace_chart(found: Sequence[TraceEstimate]) -> str:
    """Show a bar for each network: time with compute, and without, which is exposed."""
    names = [_short(one.network) for one in found]
    last = [max(one.ranks, key=lambda rank: rank.total_ns) for one in found]
    times = {
        "compute": [one.compute_ns / 1e6 for one in last],
        "without compute": [one.exposed_communication_ns / 1e6 for one in last],
    }
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "x": times[name],
            "y": names,
            "marker": {"color": colour},
        }
        for name, colour in _PARTS.items()
    ]
    bars[-1] |= {
        "text": [f"{one:.2g} ms" for one in times["without compute"]],
        "textposition": "outside",
        "cliponaxis": False,
    }
    longest = max(one.total_ns for one in last) / 1e6
    panel = Panel(
        f"{found[0].workload}, network model {found[0].network_model}, rank that ends last",
        bars,
        {
            "barmode": "stack",
            "xaxis": {"title": {"text": "ms"}, "range": [0, 1.25 * longest]},  # room for the words
            "yaxis": {"type": "category", "autorange": "reversed", "dtick": 1},
        },
        "; ".join(f"{name}: {one.total_ns:,} ns" for name, one in zip(names, last, strict=True)),
        110 + 36 * len(found),
    )
    return chart("chart-traces", [panel], list(_PARTS.items()))


def _short(name: str) -> str:
    return PurePath(name).stem if name.endswith(SUFFIXES) else name
