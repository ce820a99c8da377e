"""Duration of a schedule in the LogGOPS model (Hoefler, Schneider, Lumsdaine, HPDC 2010).

All messages are eager: senders never wait for a receive to be posted, as if the threshold S of the
model were above every message.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import floor

from fred_hw.errors import InputError
from perfmodel.run_figures import Figures, Times, unknown
from tracemodel.rank_times import RankTimes, Span, times_of

from .goal import Goal, Operation

__all__ = ["PARAMETERS", "LogGops", "ScheduleEstimate", "estimate_schedule", "simulate"]

PARAMETERS = {"L": "L_ns", "o": "o_ns", "g": "g_ns", "G": "G_ns_per_byte", "O": "O_ns_per_byte"}
"""Fields of :class:`LogGops`, keyed by the letters of the model."""


@dataclass(frozen=True, slots=True)
class LogGops:
    """Parameters of the LogGOPS model.

    Parameters
    ----------
    L_ns : float
        Latency from one interface to another [ns].
    o_ns, O_ns_per_byte : float
        Time that a message takes on the processor at either end [ns], and time for each further
        byte [ns].
    g_ns, G_ns_per_byte : float
        Time that a message takes on the interface at either end [ns], and for each further byte
        [ns].
    """

    L_ns: float
    o_ns: float = 0
    g_ns: float = 0
    G_ns_per_byte: float = 0
    O_ns_per_byte: float = 0

    def __post_init__(self) -> None:
        for name in ("L_ns", "o_ns", "g_ns", "G_ns_per_byte", "O_ns_per_byte"):
            value = getattr(self, name)
            if not 0 <= value < 1e18:
                raise ValueError(f"{name} must be 0 or more and below 1e18, not {value!r}")


@dataclass(frozen=True, slots=True)
class ScheduleEstimate(Figures):
    """Estimate of a schedule; energy, utilization and bytes are absent, as there are no links.

    Parameters
    ----------
    workload, network_model : str
        Name of the schedule, and ``loggops``.
    parameters : LogGops
        Parameters of the model.
    total_ns : int
        Time to the end of the last rank [ns].
    ranks : tuple of RankTimes
        Time of each rank by activity.
    """

    workload: str
    network_model: str
    parameters: LogGops
    total_ns: int
    ranks: tuple[RankTimes, ...]

    @property
    def times(self) -> Times:
        if not self.ranks:
            return Times(0.0, 0.0, 0.0, 0.0, 0.0)
        return max(self.ranks, key=lambda rank: rank.total_ns).times


def simulate(goal: Goal, model: LogGops, source: str = "") -> list[int]:
    """Return when each rank of a schedule has completed all operations [ns].

    Parameters and errors are those of :func:`estimate_schedule`.
    """
    return [rank.total_ns for rank in estimate_schedule(goal, model, source).ranks]


def estimate_schedule(goal: Goal, model: LogGops, source: str = "") -> ScheduleEstimate:
    """Return the time of each rank of a schedule by activity.

    A rank communicates while its processor sends or receives, and from the post of a receive to the
    end of the receive.

    A message of s bytes occupies the processor of its sender for o + floor((s - 1) O) and its
    interface for g + floor((s - 1) G). Its first byte arrives L after the processor is done, its
    last one floor((s - 1) G) later; it occupies the interface of the same number at the receiver
    for as long as that of the sender, and then, when the receive has been posted, the processor of
    the receive. Messages of a rank and a tag match receives in order. Operations that can start at
    the same time start in the order of ranks, and of their position in the rank.

    Parameters
    ----------
    goal : Goal
        The schedule.
    model : LogGops
        Parameters.
    source : str
        Name of the file in errors.

    Raises
    ------
    InputError
        Operations never start or end: they deadlock, or wait for messages that are never sent.
    """
    ranks = tuple(_Run(goal, model, source).run())
    ends = max((one.total_ns for one in ranks), default=0)
    why = "LogGOPS has no links, only a latency between interfaces"
    return ScheduleEstimate(source, "loggops", model, ends, ranks, **unknown(why).shared)


_END, _ARRIVE, _RECEIVE, _BEGIN = range(4)
"""Kinds of events, in the order in which simultaneous events are processed."""

_NAMED = 4
"""Largest number of operations named in an error message."""

_Key = tuple[int, int]
"""Sender and tag of a message."""


@dataclass(slots=True)
class _Rank:
    """State of a rank: dependencies, completed operations, and busy processors and interfaces.

    ``spans`` has the spans of compute and of communication.
    """

    waits: list[int]
    after: list[list[tuple[int, bool]]]
    ended: list[bool]
    cpu_free: dict[int, int] = field(default_factory=dict[int, int])
    out_free: dict[int, int] = field(default_factory=dict[int, int])
    in_free: dict[int, int] = field(default_factory=dict[int, int])
    posted: dict[_Key, deque[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict[_Key, deque[tuple[int, int]]](deque)
    )
    arrived: dict[_Key, deque[int]] = field(
        default_factory=lambda: defaultdict[_Key, deque[int]](deque)
    )
    posted_ns: dict[int, int] = field(default_factory=dict[int, int])
    spans: tuple[list[Span], list[Span]] = field(default_factory=lambda: ([], []))
    end_ns: int = 0


class _Run:
    """One simulation of a schedule."""

    def __init__(self, goal: Goal, model: LogGops, source: str) -> None:
        self._goal, self._model, self._source = goal, model, source
        self._ranks = [_prepare(operations) for operations in goal]
        # Time, event, rank, and index in the rank or number of the message.
        self._events: list[tuple[int, int, int, int]] = []
        self._messages: list[tuple[int, Operation]] = []

    def run(self) -> list[RankTimes]:
        left = sum(len(operations) for operations in self._goal)
        for number, rank in enumerate(self._ranks):
            for place, waits in enumerate(rank.waits):
                if not waits:
                    heapq.heappush(self._events, (0, _BEGIN, number, place))
        while self._events:
            now, what, number, place = heapq.heappop(self._events)
            if what == _END:
                left -= 1
                self._ranks[number].ended[place] = True
                self._ranks[number].end_ns = max(self._ranks[number].end_ns, now)
                self._release(number, place, now, begun=False)
            elif what == _ARRIVE:
                self._arrive(number, place, now)
            elif what == _RECEIVE:
                self._work(number, place, now)
            else:
                self._begin(number, place, now)
        if left:
            message = "must all end, not wait for each other or for a message that nobody sends"
            raise InputError(self._source, "operations", f"{message}: {self._waiting(left)}")
        return [
            times_of(number, rank.end_ns, *rank.spans) for number, rank in enumerate(self._ranks)
        ]

    def _waiting(self, left: int) -> str:
        """Return the operations that have not ended as text, at most the first few."""
        names = (
            f"{one.label:.40} of rank {number}"
            for number, (rank, operations) in enumerate(zip(self._ranks, self._goal, strict=True))
            for one, ended in zip(operations, rank.ended, strict=True)
            if not ended
        )
        said = ", ".join(islice(names, _NAMED))
        return f"{said} and {left - _NAMED:,} more do" if left > _NAMED else f"{said} do"

    def _release(self, number: int, place: int, now: int, *, begun: bool) -> None:
        """Start the operations whose last dependency was the start or the end of this one."""
        rank = self._ranks[number]
        for child, at_begin in rank.after[place]:
            if at_begin == begun:
                rank.waits[child] -= 1
                if not rank.waits[child]:
                    heapq.heappush(self._events, (now, _BEGIN, number, child))

    def _begin(self, number: int, place: int, now: int) -> None:
        """Start an operation, or retry when the resources that it needs are free."""
        one, rank = self._goal[number][place], self._ranks[number]
        if one.kind == "recv":
            self._release(number, place, now, begun=True)
            rank.posted[one.peer, one.tag].append((now, place))
            rank.posted_ns[place] = now
            self._match(number, (one.peer, one.tag))
            return
        free = rank.cpu_free.get(one.cpu, 0)
        if one.kind == "send":
            free = max(free, rank.out_free.get(one.nic, 0))
        if free > now:
            heapq.heappush(self._events, (free, _BEGIN, number, place))
            return
        self._release(number, place, now, begun=True)
        if one.kind == "send":
            rank.out_free[one.nic] = now + self._gap_ns(one.size)
            head = now + self._busy_ns(one.size) + floor(self._model.L_ns)
            heapq.heappush(self._events, (head, _ARRIVE, one.peer, len(self._messages)))
            self._messages.append((number, one))
        self._work(number, place, now)

    def _arrive(self, number: int, message: int, now: int) -> None:
        """Accept a message whose first byte has arrived, or retry when the interface is free."""
        rank, (sender, one) = self._ranks[number], self._messages[message]
        free = rank.in_free.get(one.nic, 0)
        if free > now:
            heapq.heappush(self._events, (free, _ARRIVE, number, message))
            return
        rank.in_free[one.nic] = now + self._gap_ns(one.size)
        rank.arrived[sender, one.tag].append(now + self._bytes_ns(one.size))
        self._match(number, (sender, one.tag))

    def _match(self, number: int, key: _Key) -> None:
        """Match posted receives with messages that have arrived or are arriving."""
        posted, arrived = self._ranks[number].posted[key], self._ranks[number].arrived[key]
        while posted and arrived:
            since, place = posted.popleft()
            heapq.heappush(self._events, (max(since, arrived.popleft()), _RECEIVE, number, place))

    def _work(self, number: int, place: int, now: int) -> None:
        """Run an operation on its processor, or retry when the processor is free."""
        one, rank = self._goal[number][place], self._ranks[number]
        free = rank.cpu_free.get(one.cpu, 0)
        if free > now:
            heapq.heappush(self._events, (free, _RECEIVE, number, place))
            return
        end = now + (one.size if one.kind == "calc" else self._busy_ns(one.size))
        rank.cpu_free[one.cpu] = end
        rank.spans[one.kind != "calc"].append((rank.posted_ns.pop(place, now), end))
        heapq.heappush(self._events, (end, _END, number, place))

    def _busy_ns(self, size: int) -> int:
        return floor(self._model.o_ns) + floor((size - 1) * self._model.O_ns_per_byte)

    def _bytes_ns(self, size: int) -> int:
        return floor((size - 1) * self._model.G_ns_per_byte)

    def _gap_ns(self, size: int) -> int:
        return floor(self._model.g_ns) + self._bytes_ns(size)


def _prepare(operations: Sequence[Operation]) -> _Rank:
    waits = [len(one.requires) + len(one.irequires) for one in operations]
    after: list[list[tuple[int, bool]]] = [[] for _ in operations]
    for place, one in enumerate(operations):
        for before in one.requires:
            after[before].append((place, False))
        for before in one.irequires:
            after[before].append((place, True))
    return _Rank(waits, after, [False] * len(operations))
