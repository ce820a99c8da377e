"""Columns of `fred reproduce`: a row compares a published figure with the model's result."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from .column import Column, Columns, figure

__all__ = ["READINGS", "columns_of", "readings_of"]

_FEW = 4
"""Largest number of readings listed in one cell."""


def _moved(row: Any) -> str:
    return "" if row.moved_percent is None else f"{row.moved_percent:+z.2f}"  # z avoids -0.00


def _ratio(row: Any) -> str:
    return "" if row.ratio is None else f"{row.ratio:.3f}"


def _band(row: Any) -> str:
    """Return the range of a figure over its readings, and how many are within tolerance."""
    if not row.readings:
        return ""
    within = "{} of {} within".format(*row.within)
    return f"{figure(row.band[0])} to {figure(row.band[1])}, {within}" if row.band else within


def _others(row: Any) -> str:
    """Return the other readings if they are few; `--readings` lists all of them."""
    return row.others if len(row.readings) <= _FEW else f"{len(row.readings)} others"


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
    Column(_band, "over readings", "over readings", last=True, number=False),
    Column(attrgetter("others"), "others", "other readings", _others, last=True, number=False),
    Column(attrgetter("source"), "source", "source", last=True, number=False),
)
_IDEAL = (
    Column(attrgetter("ideal"), "ideal", "ideal", lambda row: figure(row.ideal)),
    Column(attrgetter("moved_percent"), "moved_percent", "moved %", _moved, page="moved [%]"),
)


READINGS = Columns(
    [
        Column(lambda pair: pair[0].id, title="figure"),
        Column(lambda pair: _shown(pair[0].published), title="published"),
        Column(lambda pair: pair[1].words, title="reading"),
        Column(lambda pair: figure(pair[1].model), title="ours"),
        Column(lambda pair: "ok" if pair[1].ok else "MISS", title="verdict"),
    ]
)
"""Columns of a row combined with one of its readings."""


def readings_of(rows: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return each row with several readings once per reading, the chosen one first."""
    return [(row, one) for row in rows if row.readings for one in row.every_reading]


def columns_of(*, moved: bool) -> Columns:
    """Return the columns, including those of the ideal protocol if rows have them."""
    return Columns([*_FIGURES, *(_IDEAL if moved else ())])
