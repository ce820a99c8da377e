"""Events of a run, recorded for detailed reports."""

from typing import NamedTuple

from .operation import Operation

__all__ = ["Record", "Span"]


class Span(NamedTuple):
    """A completed operation: its rank, start and end [ns]."""

    rank: int
    operation: Operation
    begin_ns: int
    end_ns: int


class Record:
    """Recorder of the events that an engine reports of one job."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        """Operations in the order in which they ended."""

    def node(self, rank: int, operation: Operation, begin_ns: int, end_ns: int) -> None:
        """Record an operation that has ended."""
        self.spans.append(Span(rank, operation, begin_ns, end_ns))
