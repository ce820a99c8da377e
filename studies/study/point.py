"""One point of a study: its inputs, and the resulting row of figures."""

import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fred_hw.errors import InputError, one_line

from .axes import Value
from .inputs import column_of
from .kind import Kind, Row

__all__ = [
    "FAILURES",
    "OtherVersionError",
    "Point",
    "Row",
    "evaluate",
    "evaluate_batch",
    "lost_row",
]

FAILURES = (
    *(InputError, ArithmeticError, AssertionError, LookupError, MemoryError, OSError),
    *(RuntimeError, TypeError, ValueError),
)
"""Exceptions that fail a point, but not the study."""


class OtherVersionError(Exception):
    """A worker has another version of the model; ``args`` contains that version and the host."""


@dataclass(frozen=True)
class Point:
    """A point of a study.

    Parameters
    ----------
    kind : Kind
        What the study is of.
    key : str
        Hash of its inputs and of the version of the model.
    values : mapping
        Fields that the study names, with their values.
    inputs : object
        What they come to, as the kind of the study has it; None if they do not go together.
    problem : str
        Why they do not; empty if they do.
    seed : int
        Of the distributions of the study.
    """

    kind: Kind
    key: str
    values: Mapping[str, Value]
    inputs: Any
    problem: str
    seed: int

    def value_of(self, name: str) -> Any:
        """Return the value of a field for a constraint; None if the point lacks the field."""
        if (column := column_of(name)) in self.derived:
            return self.derived[column]
        return self.kind.value_of(self.inputs, name)

    @cached_property
    def derived(self) -> dict[str, Any]:
        """All inputs, and values that follow from them without a simulation."""
        if self.inputs is None:
            return {column_of(name): value for name, value in self.values.items()}
        return self.kind.derived(self.inputs)


def evaluate_batch(version: str, points: Sequence[Point]) -> list[Row]:
    """Return the rows of the given points.

    Raises
    ------
    OtherVersionError
        The model here is not of ``version``.
    """
    for found in {point.kind.version() for point in points}:
        if found != version:
            raise OtherVersionError(found, socket.gethostname())
    return [evaluate(point) for point in points]


def evaluate(point: Point) -> Row:
    """Return the row of a point; if the point fails, ``error`` contains the reason."""
    begun = time.perf_counter()
    row: Row = {"key": point.key, "error": point.problem or None, "records": None}
    try:
        row |= point.derived
        if point.inputs:
            row |= point.kind.evaluate(point.inputs)
    except FAILURES as error:
        said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        row["error"] = one_line(said)
    return _provenance(point, time.perf_counter() - begun) | row


def lost_row(point: Point, reason: str) -> Row:
    """Return the row of a point whose worker ended before returning one."""
    row: Row = {"key": point.key, "error": reason, "records": None}
    with suppress(*FAILURES):  # the reason matters more than what cannot be derived
        row |= point.derived
    return _provenance(point, 0.0) | row


def _provenance(point: Point, duration_s: float) -> Row:
    """Return how a row was computed; a field ``seed`` of the point replaces the study's seed."""
    return {
        "version": point.kind.version(),
        "seed": point.seed,
        "host": socket.gethostname(),
        "duration_s": duration_s,
    }
