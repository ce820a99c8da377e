"""Columns of link loads, as shown on the report's maps."""

from operator import itemgetter

from .column import Column, Columns

__all__ = ["COLUMNS"]

COLUMNS = Columns(
    [
        Column(itemgetter(place), name)
        for place, name in enumerate(("phase", "fabric", "link", "utilisation"))
    ]
)
