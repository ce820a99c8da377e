"""Chart of the strategies of a cluster: time and memory."""

from collections.abc import Sequence

from clustermodel.api import Cluster, Point
from fred_cli.columns.cluster import PARTS

from .chart import INK, Panel, bars, chart, line, stacked_rows

__all__ = ["cluster_chart"]

_KEPT = (
    ("model states", "states_bytes", "#0072b2"),
    ("activations", "activations_bytes", "#e69f00"),
)


def cluster_chart(points: Sequence[Point], cluster: Cluster) -> str:
    """Return a chart of each strategy's time by cause, and of its memory with the limits.

    Strategies that do not fit are marked, with the time that a larger local memory would give.
    """
    names = [one.strategy + ("" if one.fits else " *") for one in points]
    shown = [one.times or one.unconstrained for one in points]
    colours = {name: PARTS[name] for name in PARTS if name != "ep" or any(t.ep_s for t in shown)}
    parts = [
        bars(name, colour, (getattr(one, f"{name}_s") for one in shown), names, across=True)
        for name, colour in colours.items()
    ]
    # A bar much longer than the shortest would make all others unreadable.
    longest = 6 * min(one.total_s for one in shown)
    time = Panel(
        "Iteration",
        parts,
        stacked_rows("s", longest),
        "; ".join(f"{name}: {one.total_s:.4g} s" for name, one in zip(names, shown, strict=True)),
        90 + 24 * len(points),
    )
    kept = [
        bars(
            name,
            colour,
            (getattr(one.footprint, field) / 1e9 for one in points),
            names,
            across=True,
        )
        for name, field, colour in _KEPT
    ]
    room = {"local": cluster.local.bytes}
    if cluster.expanded:
        room["local and expanded"] = cluster.local.bytes + cluster.expanded.bytes
    lines = [
        line([size / 1e9] * 2, [names[0], names[-1]], {"width": 2}, name=name)
        for name, size in room.items()
    ]
    memory = Panel(
        "Memory of an NPU",
        [*kept, *lines],
        stacked_rows("GB", 6 * max(room.values()) / 1e9),
        "; ".join(
            f"{name}: {one.footprint.total_bytes / 1e9:.4g} GB"
            for name, one in zip(names, points, strict=True)
        ),
        90 + 24 * len(points),
    )
    legend = [*colours.items(), *((name, colour) for name, _, colour in _KEPT)]
    legend += [("memory that there is", INK), ("* does not fit", "transparent")]
    return chart("chart-cluster", [time, memory], legend)
