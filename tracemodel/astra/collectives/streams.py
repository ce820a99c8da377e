"""Chunks of a collective at one NPU, a limited number at a time in each dimension."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from heapq import heappop, heappush

from perfmodel.clock import Clock
from perfmodel.collectives.themis.queues import INTRA
from tracemodel.astra.transport import Exchange

from .plan import Phase, Plan
from .program import program_of
from .runs import ProgramRun
from .tree import TreeRun, tree

__all__ = ["Queues", "Streams"]


_Queue = tuple[int, int]
"""A dimension and one of its queues."""

_Waiting = tuple[tuple[Fraction | int, int], int, int]
"""Sort key of a waiting entry in a queue, the chunk and its phase."""


class Queues:
    """Admission of a limited number of chunks at a time to each queue of a dimension.

    Parameters
    ----------
    chunks : sequence of list of Phase
        Phases of each chunk.
    active : int
        Chunks at a time in a queue of a dimension.
    begin : callable
        Begins a phase of a chunk: number of the chunk, number of the phase; calls ``ended`` after.
    done : callable
        Called when all chunks are through.
    intra : str
        Which of those that wait goes first, one of ``themis.queues.INTRA``.
    """

    def __init__(
        self,
        chunks: Sequence[Sequence[Phase]],
        active: int,
        begin: Callable[[int, int], object],
        done: Callable[[], object],
        intra: str = "fifo",
    ) -> None:
        self._chunks, self._active, self._begin, self._done = chunks, active, begin, done
        self._key, self._arrivals = INTRA[intra], 0
        self._left = len(chunks)
        self._running: dict[_Queue, int] = defaultdict(int)
        self._waiting: dict[_Queue, list[_Waiting]] = defaultdict(list)

    def start(self) -> None:
        """Put each chunk into the queue of its first phase."""
        if not self._chunks:
            self._done()
        for chunk in range(len(self._chunks)):
            self._put(chunk, 0)

    def ended(self, chunk: int, phase: int) -> None:
        """Continue after a phase of a chunk has ended."""
        queue = _queue(self._chunks[chunk][phase])
        self._running[queue] -= 1
        if phase + 1 < len(self._chunks[chunk]):
            self._put(chunk, phase + 1)
        else:
            self._left -= 1
        self._go_on(queue)
        if not self._left:
            self._done()

    def _put(self, chunk: int, phase: int) -> None:
        one = self._chunks[chunk][phase]
        queue = _queue(one)
        key = self._key(one.data_bytes, self._arrivals)
        self._arrivals += 1
        heappush(self._waiting[queue], (key, chunk, phase))
        self._go_on(queue)

    def _go_on(self, queue: _Queue) -> None:
        while self._waiting[queue] and self._running[queue] < self._active:
            self._running[queue] += 1
            _, chunk, phase = heappop(self._waiting[queue])
            self._begin(chunk, phase)


def _queue(phase: Phase) -> _Queue:
    return phase.axis.queue, phase.queue


class _NpuMessages:
    """Messages that an NPU sends and receives in a phase, addressed by position."""

    def __init__(self, exchange: Exchange, phase: Phase, npu: int, tag: object) -> None:
        self._exchange, self._axis, self._npu, self._tag = exchange, phase.axis, npu, tag

    def send(self, place: int, count: int) -> None:
        target = self._axis.member(self._npu, place)
        self._exchange.send((self._tag, self._npu, target, count))

    def receive(self, place: int, count: int, received: Callable[[], object]) -> None:
        source = self._axis.member(self._npu, place)
        self._exchange.receive((self._tag, source, self._npu, count), received)


class Streams:
    """A collective at one NPU, message by message.

    Parameters
    ----------
    plan : Plan
        Plan of the collective.
    chunks : sequence of list of Phase
        Phases of each chunk.
    npu : int
        The NPU.
    tag : object
        Common key of the messages of all NPUs in this collective.
    trees : int
        Number of earlier chunks on a tree, which determines the tree of the next one.
    exchange, clock : Exchange, Clock
        Exchange of messages, and clock for events.
    done : callable
        Called when it ends.
    """

    def __init__(
        self,
        plan: Plan,
        chunks: Sequence[Sequence[Phase]],
        npu: int,
        tag: object,
        trees: int,
        exchange: Exchange,
        clock: Clock[int],
        done: Callable[[], object],
    ) -> None:
        self._plan, self._chunks, self._npu, self._tag = plan, chunks, npu, tag
        self._trees, self._exchange, self._clock = trees, exchange, clock
        self._queues = Queues(chunks, plan.active_in_queue, self._begin, done, plan.order.intra)

    def start(self) -> None:
        """Start the collective now."""
        self._queues.start()

    def _begin(self, chunk: int, number: int) -> None:
        phase, plan = self._chunks[chunk][number], self._plan
        messages = _NpuMessages(self._exchange, phase, self._npu, (self._tag, chunk, number))
        ended = partial(self._queues.ended, chunk, number)
        place = phase.axis.place(self._npu)
        if phase.axis.algorithm == "double_binary_tree":
            node = tree(phase.axis.count, second=(self._trees + chunk) % 2 == 1)[place]
            reduction_ns = plan.reduction_ns(phase.data_bytes)
            run = TreeRun(
                node,
                phase.data_bytes,
                plan.endpoint_ns,
                reduction_ns,
                messages,
                self._clock,
                ended,
            )
        else:
            run = ProgramRun(program_of(phase, plan), place, messages, self._clock, ended)
        run.begin()
