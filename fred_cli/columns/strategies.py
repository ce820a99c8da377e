"""Columns of `fred strategies`: a row is a strategy on a fabric."""

from .column import Column, Columns, milliseconds
from .parts import ENERGY, part_columns

__all__ = ["COLUMNS"]

COLUMNS = Columns(
    [
        Column(
            lambda row: row.estimate.strategy,
            csv="strategy",
            title="strategy",
            text=lambda row: row.estimate.strategy + ("" if row.fits else " *"),
        ),
        Column(lambda row: row.estimate.topology, "fabric", "fabric"),
        Column(lambda row: row.estimate.placement, title="placement"),
        Column(
            lambda row: row.estimate.time_per_sample_s,
            csv="per sample [s]",
            title="per sample",
            text=lambda row: milliseconds(
                row.estimate.iteration_time_s, over=row.estimate.minibatch
            ),
        ),
        Column(lambda row: row.estimate.iteration_time_s, csv="iteration [s]"),
        *part_columns(over=lambda estimate: estimate.minibatch),
        ENERGY,
        Column(lambda row: row.estimate.memory_verdict, "memory", "memory"),
        Column(lambda row: row.feasible, json="feasible"),
        Column(lambda row: row.fits, json="fits"),
    ]
)
