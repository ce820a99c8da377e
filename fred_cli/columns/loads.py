"""Columns of link loads, which the report's maps show."""

from operator import itemgetter

from .column import Column, Columns

__all__ = ["COLUMNS"]

COLUMNS = Columns(
    [
        Column(itemgetter(place), name)
        for place, name in enumerate(("phase", "fabric", "link", "utilisation"))
    ]
)
