"""Columns of `fred compare`: a row is a workload on a fabric."""

from operator import attrgetter

from .column import Column, Columns
from .parts import ENERGY, ITERATION, part_columns

__all__ = ["COLUMNS", "WITH_READINGS"]

COLUMNS = Columns(
    [
        Column(lambda row: row.estimate.workload, "workload", "workload", number=False),
        Column(lambda row: row.estimate.strategy, "strategy", "strategy", number=False),
        Column(lambda row: row.estimate.topology, "fabric", "fabric", number=False),
        Column(attrgetter("speedup"), "speedup", "speed-up", "{:.3f}", json="speedup", last=True),
        ITERATION,
        *part_columns(),
        ENERGY,
    ]
)

WITH_READINGS = Columns(
    [
        *COLUMNS.all,
        Column(
            lambda row: row.band[0],
            csv="least speedup",
            title="in all readings",
            text=lambda row: f"{row.band[0]:.3f} to {row.band[1]:.3f}",
            last=True,
        ),
        Column(lambda row: row.band[1], csv="largest speedup"),
        Column(attrgetter("readings"), json="readings"),
    ]
)
"""The columns with the range of the speed-up over all readings."""
