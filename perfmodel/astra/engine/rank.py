"""An NPU that runs its trace: what is ready, what is under way, when it was."""

from collections.abc import Callable
from heapq import heappop, heappush

from perfmodel.chakra.feeder import Feeder
from perfmodel.chakra.kinds import NodeType

from .operation import Operation, Unit
from .stats import Again, RankTimes, Span, times_of

__all__ = ["Rank"]

_COMMUNICATION = (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE, NodeType.COMM_COLL_NODE)


class Rank:
    """An NPU that runs its trace.

    Each of its units has one operation at a time. What is ready begins in the order of the ids,
    as far as its unit is free (``Workload::issue_dep_free_nodes``).

    Parameters
    ----------
    number : int
        Of the NPU.
    feeder : Feeder
        Hands out the nodes of its trace.
    operations : callable
        Returns what a node asks for, by the node's number.
    begin : callable
        Begins an operation of this NPU: ``begin(rank, operation)``; calls ``ended`` after.
    told : callable
        Called with NPU, operation, begin and end [ns] of each operation that ends.
    npu : int or None
        Where it is; by default that of its number.
    job : int
        Number of the job that it is of.
    """

    def __init__(
        self,
        number: int,
        feeder: Feeder,
        operations: Callable[[int], Operation],
        begin: Callable[["Rank", Operation], object],
        told: Callable[[int, Operation, int, int], object],
        *,
        npu: int | None = None,
        job: int = 0,
    ) -> None:
        self.number, self.job = number, job
        self.npu = number if npu is None else npu
        self.running: dict[int, tuple[Operation, int]] = {}
        """Operations under way, and when they began, by the numbers of their nodes."""
        self.collectives: dict[object, int] = {}
        """Collectives so far, by who takes part."""
        self.trees = 0
        """Chunks that went over a tree."""
        self._feeder, self._operations = feeder, operations
        self._begin, self._told = begin, told
        self._ready: dict[Unit, list[int]] = {unit: [] for unit in Unit}
        self._busy: set[Unit] = set()
        self._compute: list[Span] = []
        self._communication: list[Span] = []
        self._end = 0

    def go_on(self, now: int) -> None:
        """Begin what is ready and has its unit free."""
        while True:
            while (node := self._feeder.ready()) is not None:
                heappush(self._ready[self._operations(node.id).unit], node.id)
            heads = [
                (queue[0], unit)
                for unit, queue in self._ready.items()
                if queue and unit not in self._busy
            ]
            if not heads:
                return
            number, unit = min(heads)
            heappop(self._ready[unit])
            operation = self._operations(number)
            if operation.at_once:
                self._end = now
                self._told(self.number, operation, now, now)
                self._feeder.finish(number)
                continue
            if unit != Unit.NONE:
                self._busy.add(unit)
            self.running[number] = operation, now
            self._begin(self, operation)

    def ended(self, number: int, now: int) -> None:
        """End an operation, and begin what can begin now."""
        operation, began = self.running.pop(number)
        self._busy.discard(operation.unit)
        self._end = now
        if operation.type in _COMMUNICATION:
            self._communication.append((began, now))
        elif operation.unit == Unit.COMPUTE:
            self._compute.append((began, now))
        self._told(self.number, operation, began, now)
        self._feeder.finish(number)
        self.go_on(now)

    @property
    def done(self) -> bool:
        """Whether all nodes have ended."""
        return self._feeder.done

    def times(self, again: Again | None = None) -> RankTimes:
        """Return where its time went, and went again where it was not at its end yet."""
        if again and self.number in again.done:
            again = None
        return times_of(self.number, self._end, self._compute, self._communication, again)
