"""Columns of `fred compare`: a row is a workload on a fabric."""

from operator import attrgetter

from .column import Column, Columns
from .parts import ITERATION, part_columns

__all__ = ["COLUMNS"]

COLUMNS = Columns(
    [
        Column(lambda row: row.estimate.workload, "workload", "workload", number=False),
        Column(lambda row: row.estimate.strategy, "strategy", "strategy", number=False),
        Column(lambda row: row.estimate.topology, "fabric", "fabric", number=False),
        Column(attrgetter("speedup"), "speedup", "speed-up", "{:.3f}", json="speedup", last=True),
        ITERATION,
        *part_columns(),
    ]
)
