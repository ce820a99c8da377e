"""Columns of `fred compare`: a row is a workload on a fabric."""

from .column import Column, Columns, milliseconds
from .parts import part_columns

__all__ = ["COLUMNS"]

COLUMNS = Columns(
    [
        Column(lambda row: row.estimate.workload, "workload", "workload", number=False),
        Column(lambda row: row.estimate.strategy, "strategy", "strategy", number=False),
        Column(lambda row: row.estimate.topology, "fabric", "fabric", number=False),
        Column(
            lambda row: row.speedup,
            csv="speedup",
            json="speedup",
            title="speed-up",
            text=lambda row: f"{row.speedup:.3f}",
            last=True,
        ),
        Column(
            lambda row: row.estimate.iteration_time_s,
            csv="iteration [s]",
            title="iteration",
            text=lambda row: milliseconds(row.estimate.iteration_time_s),
        ),
        *part_columns(),
    ]
)
