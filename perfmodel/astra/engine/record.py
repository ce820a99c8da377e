"""Events of a run, recorded for detailed reports."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.astra.collectives.plan import Plan
from perfmodel.chakra.kinds import NodeType

from .operation import Operation, message_ends
from .trace import Trace

__all__ = ["Record", "Span"]


class Span(NamedTuple):
    """An operation that has ended: its rank, and when it began and ended [ns]."""

    rank: int
    operation: Operation
    begin_ns: int
    end_ns: int


class Record:
    """Keeps what an engine reports.

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
        """Collectives by plan, bytes and NPUs that take part: how many."""
        self.messages: Counter[tuple[int, int]] = Counter()
        """Bytes of messages by the NPUs that send and receive them."""

    def node(self, rank: int, operation: Operation, begin_ns: int, end_ns: int) -> None:
        """Keep an operation that has ended."""
        self.spans.append(Span(rank, operation, begin_ns, end_ns))
        what = operation.what
        if what.type == NodeType.COMM_SEND_NODE and what.duration_ns is None:
            self.messages[message_ends(operation, rank, self._ranks)] += what.bytes

    def collective(self, plan: Plan, size: int, members: Sequence[int]) -> None:
        """Keep a collective that all NPUs have begun."""
        self.collectives[plan, size, tuple(members)] += 1

    def traces(self, traces: Sequence[Trace], members: Sequence[int]) -> None:
        """Keep the messages of a collective that traces say, by the places of its NPUs."""
        for place, trace in enumerate(traces):
            for one in trace.nodes:
                if one.what.type == NodeType.COMM_SEND_NODE:
                    source, target = message_ends(one, place, len(members))
                    self.messages[members[source], members[target]] += one.what.bytes
