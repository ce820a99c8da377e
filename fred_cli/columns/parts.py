"""Parts of an iteration in tables and charts: compute, and causes of exposed time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .column import Column, milliseconds

__all__ = ["ENERGY", "ITERATION", "PARTS", "Part", "part_columns", "parts_of", "rare_columns"]


@dataclass(frozen=True)
class Part:
    """Compute, exposed communication of one kind, or the pipeline bubble.

    Parameters
    ----------
    name : str
        Name in tables, and of the field of the estimate's ``exposed_s``.
    words, heading : str
        In the legend of a chart, and over a column of the report.
    colour : str
        In charts.
    """

    name: str
    words: str
    heading: str
    colour: str

    def seconds(self, estimate: Any) -> float:
        """Return the time of the part in an iteration [s]."""
        return (
            estimate.compute_s if self.name == "compute" else getattr(estimate.exposed_s, self.name)
        )


PARTS = (
    Part("compute", "compute", "compute", "#9aa3ae"),
    Part("mp", "exposed MP", "MP", "#0072b2"),
    Part("dp", "exposed DP", "DP", "#d55e00"),
    Part("pp", "exposed PP", "PP", "#009e73"),
    Part("weight_streaming", "exposed weight streaming", "streaming", "#cc79a7"),
    Part("input_load", "exposed input load", "input", "#e69f00"),
    Part("cp", "exposed CP", "CP", "#56b4e9"),
    Part("ep", "exposed EP", "EP", "#8c5a2b"),
    Part("bubble", "pipeline bubble", "bubble", "#dfe3e8"),
)

_RARE = ("cp", "ep")


def parts_of(estimates: Iterable[Any]) -> tuple[Part, ...]:
    """Return the parts to show for the given estimates; rare parts only where one has them."""
    every = tuple(estimates)
    return tuple(part for part in PARTS if part.name not in _RARE or any(map(part.seconds, every)))


def rare_columns(estimates: Iterable[Any]) -> tuple[str, ...]:
    """Return the CSV headings of the parts that are hidden."""
    shown = parts_of(estimates)
    return tuple(f"{part.name} [s]" for part in PARTS if part not in shown)


ITERATION = Column(
    lambda row: row.estimate.iteration_time_s,
    "iteration [s]",
    "iteration",
    lambda row: milliseconds(row.estimate.iteration_time_s),
)
"""Total time of an iteration."""

ENERGY = Column(lambda row: row.estimate.energy.total_j, csv="energy [J]")
"""Energy of an iteration, shown only in the CSV."""


def part_columns(over: Callable[[Any], int] = lambda estimate: 1) -> list[Column]:
    """Return the columns of the parts; the terminal shows time per number of samples."""

    def column(part: Part) -> Column:
        return Column(
            value=lambda row: part.seconds(row.estimate),
            csv=f"{part.name} [s]",
            title=part.name,
            text=lambda row: milliseconds(part.seconds(row.estimate), over(row.estimate)),
            page=part.heading,
        )

    return [column(part) for part in PARTS]
