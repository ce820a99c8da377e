"""Events of a run, recorded for detailed reports."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tracemodel.astra.collectives.plan import Plan
from tracemodel.chakra.kinds import NodeType

from .operation import Operation, message_ends
from .trace import Trace

__all__ = ["Record", "Span"]


class Span(NamedTuple):
    """A completed operation: its rank, start and end [ns]."""

    rank: int
    operation: Operation
    begin_ns: int
    end_ns: int


class Record:
    """Recorder of the events that an engine reports.

    Parameters
    ----------
    ranks : int
        Ranks of the one job that runs.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self.spans: list[Span] = []
        """Operations in the order in which they ended."""
        self.collectives: Counter[tuple[Plan, int, tuple[int, ...]]] = Counter()
        """Number of collectives by plan, bytes and participating NPUs."""
        self.messages: Counter[tuple[int, int]] = Counter()
        """Bytes of messages by sending and receiving NPU."""

    def node(self, rank: int, operation: Operation, begin_ns: int, end_ns: int) -> None:
        """Record an operation that has ended."""
        self.spans.append(Span(rank, operation, begin_ns, end_ns))
        what = operation.what
        if what.type == NodeType.COMM_SEND_NODE and what.duration_ns is None:
            self.messages[message_ends(operation, rank, self._ranks)] += what.bytes

    def collective(self, plan: Plan, size: int, members: Sequence[int]) -> None:
        """Record a collective that all NPUs have started."""
        self.collectives[plan, size, tuple(members)] += 1

    def traces(self, traces: Sequence[Trace], members: Sequence[int]) -> None:
        """Record the messages of a custom collective, given by the positions of its NPUs."""
        for place, trace in enumerate(traces):
            for one in trace.nodes:
                if one.what.type == NodeType.COMM_SEND_NODE:
                    source, target = message_ends(one, place, len(members))
                    self.messages[members[source], members[target]] += one.what.bytes
