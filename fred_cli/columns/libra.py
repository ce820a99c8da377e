"""Columns of `fred libra`: a row is a dimension of the network."""

from operator import attrgetter

from .column import Column, Columns

__all__ = ["COLUMNS"]


def _dollars(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


COLUMNS = Columns(
    [
        Column(attrgetter("name"), "name", "name"),
        Column(attrgetter("block"), "block", "block", number=False),
        Column(attrgetter("npus"), "npus", "NPUs"),
        Column(attrgetter("gb_per_s"), "bandwidth [GB/s]", "bandwidth [GB/s]", "{:,.3f}"),
        Column(attrgetter("busy"), "busy", "busy [%]", lambda row: f"{100 * row.busy:.1f}"),
        Column(attrgetter("cost"), "cost [$]", "cost [$]", lambda row: _dollars(row.cost)),
    ]
)
