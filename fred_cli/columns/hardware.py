"""Columns of `fred compare --hardware`: a row is a figure of both fabrics."""

from operator import attrgetter

from .column import Column, Columns

__all__ = ["COLUMNS"]

_LARGE = 1000


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.4g}"


COLUMNS = Columns(
    [
        Column(attrgetter("part"), "part", "part", number=False),
        Column(attrgetter("what"), "what", "figure", number=False),
        Column(attrgetter("unit"), "unit", "unit", number=False),
        Column(attrgetter("fred"), "fred", "FRED", lambda row: _figure(row.fred)),
        Column(attrgetter("mesh"), "mesh", "mesh", lambda row: _figure(row.mesh)),
        Column(lambda row: row.fred / row.mesh, "ratio", "FRED / mesh", "{:.3f}", json="ratio"),
        Column(attrgetter("source"), "source", "from", number=False),
    ]
)
