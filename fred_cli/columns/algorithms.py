"""Columns of `fred compare --algorithms`: a row is a collective on a topology by an algorithm."""

from operator import attrgetter

from .column import Column, Columns

__all__ = ["COLUMNS", "binary_size"]


def binary_size(size_bytes: float) -> str:
    """Return a size in the largest binary unit of which it has at least one."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:,.4g} {name}"
    return f"{size_bytes:,.4g} B"


COLUMNS = Columns(
    [
        Column(attrgetter("pattern"), "pattern", "pattern", number=False),
        Column(
            attrgetter("size_bytes"), "size [B]", "size", lambda row: binary_size(row.size_bytes)
        ),
        Column(lambda row: len(row.group), "NPUs", "NPUs"),
        Column(attrgetter("topology"), "topology", "topology", number=False),
        Column(
            attrgetter("wires_bytes_per_s"),
            "wires [B/s]",
            "wires [TB/s]",
            lambda row: f"{row.wires_bytes_per_s / 1e12:,.4g}",
        ),
        Column(attrgetter("algorithm"), "algorithm", "algorithm", number=False),
        Column(
            attrgetter("time_s"), "time [s]", "time [µs]", lambda row: f"{row.time_s * 1e6:,.2f}"
        ),
        Column(
            attrgetter("bus_bandwidth_bytes_per_s"),
            "bus bandwidth [B/s]",
            "bus bandwidth [TB/s]",
            lambda row: f"{row.bus_bandwidth_bytes_per_s / 1e12:.3f}",
        ),
        Column(attrgetter("on_topology"), "fastest on topology"),
        Column(attrgetter("of_all"), "fastest of all", "*", lambda row: "*" if row.of_all else ""),
    ]
)
