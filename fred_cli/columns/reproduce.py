"""Columns of `fred reproduce`: a row is a published figure beside ours."""

from operator import attrgetter
from typing import Any

from .column import Column, Columns, figure

__all__ = ["columns_of"]


def _moved(row: Any) -> str:
    return "" if row.moved_percent is None else f"{row.moved_percent:+z.2f}"  # z: no -0.00


def _ratio(row: Any) -> str:
    return "" if row.ratio is None else f"{row.ratio:.3f}"


def _shown(value: float | str | None) -> str:
    return "" if value is None else figure(value)


_FIGURES = (
    Column(attrgetter("id"), "id"),
    Column(attrgetter("what"), "what", "figure", number=False),
    Column(attrgetter("evidence"), "class", "class", number=False),
    Column(attrgetter("published"), "published", "published", lambda row: _shown(row.published)),
    Column(attrgetter("derived"), "derived", "derived", lambda row: _shown(row.derived)),
    Column(attrgetter("model"), "model", "ours", lambda row: figure(row.model)),
    Column(attrgetter("ratio"), "ratio", "ratio", _ratio),
    Column(attrgetter("rule"), "rule", "within"),
    Column(attrgetter("tolerance"), "tolerance"),
    Column(attrgetter("ok"), "ok", "verdict", lambda row: "ok" if row.ok else "MISS", number=False),
    Column(attrgetter("how"), "how", "how", last=True, number=False),
    Column(attrgetter("others"), "others", "other readings", last=True, number=False),
    Column(attrgetter("source"), "source", "source", last=True, number=False),
)
_IDEAL = (
    Column(attrgetter("ideal"), "ideal", "ideal", lambda row: figure(row.ideal)),
    Column(attrgetter("moved_percent"), "moved_percent", "moved %", _moved, page="moved [%]"),
)


def columns_of(*, moved: bool) -> Columns:
    """Return the columns, with those on the ideal protocol if rows say how far it moved them."""
    return Columns([*_FIGURES, *(_IDEAL if moved else ())])
