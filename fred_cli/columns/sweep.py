"""Columns of `fred sweep`: a row is a point."""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from perfmodel.training.options import OPTIONS

from .column import Column, Columns, milliseconds, speedup_text
from .parts import ENERGY, ITERATION, part_columns

__all__ = ["COLUMNS", "shown", "title"]

_POINT = ("workload", "strategy", *OPTIONS, "protocol", "npu", "remote_memory")


def _estimated(column: Column) -> Column:
    """Return a column with a figure of the estimate; empty where there is no estimate."""
    return replace(column, value=lambda row: None if row.estimate is None else column.value(row))


COLUMNS = Columns(
    [
        *(Column(attrgetter(f"point.{name}"), name, name, number=False) for name in _POINT),
        Column(attrgetter("point.topology"), "topology", "topology", number=False),
        *map(
            _estimated,
            [
                ITERATION,
                Column(
                    lambda row: row.estimate.time_per_sample_s,
                    csv="per sample [s]",
                    title="per sample",
                    text=lambda row: milliseconds(row.estimate.time_per_sample_s),
                ),
                *part_columns(),
                ENERGY,
            ],
        ),
        Column(attrgetter("speedup"), "speedup", "speed-up", speedup_text),
        *map(
            _estimated,
            [
                Column(lambda row: row.estimate.memory_verdict, "memory", "memory", number=False),
                Column(lambda row: row.estimate.placement, "placed", number=False),
            ],
        ),
        Column(attrgetter("problem"), "problem"),
    ]
)


def shown(rows: Sequence[Any]) -> Columns:
    """Return the columns for a terminal: requested figures, and the parts that differ."""
    alike = [name for name in _POINT if len({getattr(row.point, name) for row in rows}) == 1]
    zero = [column.csv for column in part_columns() if all(column.value(row) == 0 for row in rows)]
    return COLUMNS.without(*alike, *zero)


def title(rows: Sequence[Any]) -> str:
    """Return the properties that all rows share, as text."""
    said = [
        f"{name} {next(iter(found))}"
        for name in _POINT
        if len(found := {getattr(row.point, name) for row in rows}) == 1 and any(found)
    ]
    return ", ".join(said)
