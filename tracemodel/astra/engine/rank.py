"""State of an NPU that runs its trace: ready, running and finished nodes."""

from collections.abc import Callable
from heapq import heappop, heappush

from tracemodel.chakra.feeder import Feeder
from tracemodel.chakra.kinds import NodeType
from tracemodel.rank_times import Again, RankTimes, Span, times_of

from .operation import Operation, Unit

__all__ = ["Rank"]

_COMMUNICATION = (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE, NodeType.COMM_COLL_NODE)
_NO_UNIT, _COMPUTE = Unit.NONE, Unit.COMPUTE


class Rank:
    """An NPU that runs its trace.

    Each of its units executes one operation at a time. Ready operations start in the order of their
    ids, if their unit is free (``Workload::issue_dep_free_nodes``).

    Parameters
    ----------
    number : int
        Number of the NPU.
    feeder : Feeder
        Hands out the operations of its trace.
    begin : callable
        Starts an operation of this NPU: ``begin(rank, operation)``; calls ``ended`` afterwards.
    on_complete : callable
        Called with NPU, operation, start and end [ns] of each operation that ends.
    npu : int or None
        NPU on which it runs; by default the one with its number.
    job : int
        Number of its job.
    """

    def __init__(
        self,
        number: int,
        feeder: Feeder[Operation],
        begin: Callable[["Rank", Operation], object],
        on_complete: Callable[[int, Operation, int, int], object],
        *,
        npu: int | None = None,
        job: int = 0,
    ) -> None:
        self.number, self.job = number, job
        self.npu = number if npu is None else npu
        self.running: dict[int, tuple[Operation, int]] = {}
        """Operations in progress and their start times, keyed by node number."""
        self.collectives: dict[object, int] = {}
        """Number of collectives so far, keyed by participants."""
        self.trees = 0
        """Number of chunks sent over a tree."""
        self._feeder = feeder
        self._begin, self._on_complete = begin, on_complete
        self._ready: list[list[int]] = [[] for _ in Unit]  # nodes that wait for each unit
        self._busy = [False for _ in Unit]
        self._compute: list[Span] = []
        self._communication: list[Span] = []
        self._end = 0

    def go_on(self, now: int) -> None:
        """Start every ready operation whose unit is free."""
        feeder, ready, busy = self._feeder, self._ready, self._busy
        self._take()
        while True:
            lowest: list[int] | None = None
            for unit, queue in enumerate(ready):
                if queue and not busy[unit] and (lowest is None or queue[0] < lowest[0]):
                    lowest = queue
            if lowest is None:
                return
            operation = feeder.node(heappop(lowest))
            unit, number = operation.what.unit, operation.id
            if unit != _NO_UNIT:
                busy[unit] = True
            elif operation.at_once:
                self._end = now
                self._on_complete(self.number, operation, now, now)
                feeder.finish(number)
                self._take()
                continue
            self.running[number] = operation, now
            self._begin(self, operation)

    def _take(self) -> None:
        """Take all nodes that have become ready."""
        while (operation := self._feeder.ready()) is not None:
            heappush(self._ready[operation.what.unit], operation.id)

    def ended(self, number: int, now: int) -> None:
        """End an operation, and start the operations that can start now."""
        operation, began = self.running.pop(number)
        what = operation.what
        self._busy[what.unit] = False
        self._end = now
        if what.unit == _COMPUTE:
            _extend(self._compute, began, now)
        elif what.type in _COMMUNICATION:
            _extend(self._communication, began, now)
        self._on_complete(self.number, operation, began, now)
        self._feeder.finish(number)
        self.go_on(now)

    @property
    def done(self) -> bool:
        """Whether all nodes have ended."""
        return self._feeder.done

    def times(self, again: Again | None = None) -> RankTimes:
        """Return the time of the rank by activity, including skipped periods."""
        if again and self.number in again.done:
            again = None
        return times_of(self.number, self._end, self._compute, self._communication, again)


def _extend(spans: list[Span], begin: int, end: int) -> None:
    """Append a span that ends last; merge it with the previous span if they touch or overlap."""
    if spans and begin <= spans[-1][1]:
        spans[-1] = min(begin, spans[-1][0]), end
    else:
        spans.append((begin, end))
