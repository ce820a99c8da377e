"""Chart of traces on several networks: time of the last rank by activity."""

from collections.abc import Sequence

from tracemodel.api import TraceEstimate

from .chart import Panel, bars, chart, stacked_rows, stem

__all__ = ["trace_chart"]

_PARTS = {"compute": "#0072b2", "without compute": "#d55e00"}


def trace_chart(found: Sequence[TraceEstimate]) -> str:
    """Return a chart with one bar per network: time with compute, and exposed time."""
    names = [stem(one.network) for one in found]
    last = [max(one.ranks, key=lambda rank: rank.total_ns) for one in found]
    times = {
        "compute": [one.compute_ns / 1e6 for one in last],
        "without compute": [one.exposed_communication_ns / 1e6 for one in last],
    }
    data = [bars(name, colour, times[name], names, across=True) for name, colour in _PARTS.items()]
    data[-1] |= {
        "text": [f"{one:.2g} ms" for one in times["without compute"]],
        "textposition": "outside",
        "cliponaxis": False,
    }
    longest = max(one.total_ns for one in last) / 1e6
    panel = Panel(
        f"{found[0].workload}, network model {found[0].network_model}, rank that ends last",
        data,
        stacked_rows("ms", 1.25 * longest),  # space for the labels
        "; ".join(f"{name}: {one.total_ns:,} ns" for name, one in zip(names, last, strict=True)),
        110 + 36 * len(found),
    )
    return chart("chart-traces", [panel], list(_PARTS.items()))
