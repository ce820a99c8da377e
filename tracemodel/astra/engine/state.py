"""State that determines how a run continues, normalized so that periods compare equal.

Times are relative to the current time, nodes and tags to the current period, and the sequence of
collectives to the rank that is the furthest behind. Equal states at two times lead to equal runs,
as events, links and memories do not depend on absolute time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, cast

from perfmodel.clock import Clock
from perfmodel.network.fluid.sharing import ActiveFlow, Sharing
from tracemodel.astra.transport import Exchange, Key
from tracemodel.chakra.kinds import NodeType

from .carrying import Carrying
from .meeting import Meeting
from .memory import RemoteMemory
from .periods import Periods
from .rank import Rank

__all__ = ["Parts", "Progress", "state_of"]

Call = Callable[..., object]


class _OpaqueError(Exception):
    """Something with an unknown state is in progress."""


@dataclass(frozen=True)
class Parts:
    """The parts of a run that have state."""

    clock: Clock[int]
    ranks: Sequence[Rank]
    exchange: Exchange
    carrying: Carrying
    memory: RemoteMemory
    meetings: Mapping[object, Meeting]


@dataclass
class Progress:
    """Progress of a rank through its trace.

    Parameters
    ----------
    periods : Periods or None
        Repetitions in its trace; None without any, when nodes count from the first.
    place : mapping
        Positions of nodes in the file, by number.
    """

    periods: Periods | None
    place: Mapping[int, int]
    ended: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    """Positions of ended nodes in each period that is not complete yet."""
    through: set[int] = field(default_factory=set[int])
    others: int = 0
    """Number of ended nodes outside the periods."""
    front: int = -1
    """Last period of which a node has ended."""

    def end(self, number: int) -> None:
        """Note that a node has ended."""
        period, offset = self.where(number)
        if period is None or not self.periods:
            self.others += 1
            return
        ended = self.ended.setdefault(period, set())
        ended.add(offset)
        self.front = max(self.front, period)
        if len(ended) == self.periods.size:
            del self.ended[period]
            self.through.add(period)

    def where(self, number: int) -> tuple[int | None, int]:
        """Return the period of a node and its position there; None and its number if outside."""
        found = self.periods
        if not found or not found.start <= self.place[number] < found.stop:
            return None, number
        return divmod(self.place[number] - found.start, found.size)

    def far(self, rank: Rank, number: int) -> bool:
        """Return whether a node waits for a message of a period that no rank has reached."""
        operation, _ = rank.running[number]
        if not self.periods or operation.what.type != NodeType.COMM_RECV_NODE:
            return False
        period, offset = self.where(number)
        if period is None:
            return self.place[number] >= self.periods.stop
        return offset in self.periods.free and period > self.front


class _Teller:
    """Encoder of a run's state, with numbers relative to a period."""

    def __init__(self, parts: Parts, progress: Mapping[int, Progress], period: int) -> None:
        self._parts, self._progress, self._period = parts, progress, period
        self._now = parts.clock.now
        self._by_npu = {rank.npu: rank for rank in parts.ranks}
        steps = [one.periods.tag_step for one in progress.values() if one.periods]
        self._tags = period * next((one for one in steps if one), 0)
        self._sharings = [parts.memory.sharing]
        if parts.carrying.sharing:
            self._sharings.append(parts.carrying.sharing)
        self._flows: dict[int, int] = {}  # index of each flow among all

    def all(self) -> tuple[object, ...]:
        """Return the whole state."""
        parts = self._parts
        pending = [one for one in parts.clock.pending() if not _stale(one[1], one[2])]
        flows = self._active(pending)
        arrived, waiting = parts.exchange.left()
        calls = [(time - self._now, self._call(call, *args)) for time, call, args in pending]
        return (
            [self._rank(rank) for rank in parts.ranks],
            [self._turns(who) for who in self._whos()],
            dict(self._meetings()),
            {self._key(key): many for key, many in arrived.items()},
            dict(self._waiting(waiting)),
            flows,
            [self._links(one) for one in self._sharings],
            parts.carrying.busy(),
            parts.memory.busy(),
            calls,
        )

    def _rank(self, rank: Rank) -> object:
        one = self._progress[rank.number]
        ended = {period - self._period: {*left} for period, left in one.ended.items()}
        low = next(period for period in count() if period not in one.through)
        through = low - self._period, {each - self._period for each in one.through if each > low}
        running = {self._at(rank, i) for i in rank.running if not one.far(rank, i)}
        return one.front - self._period, ended, through, one.others, running, rank.trees % 2

    def _at(self, rank: Rank, number: int) -> tuple[int | None, int]:
        period, offset = self._progress[rank.number].where(number)
        return (None if period is None else period - self._period), offset

    def _node(self, rank: Rank, number: int) -> object:
        return rank.number, self._at(rank, number)

    def _whos(self) -> list[object]:
        return list(dict.fromkeys(who for rank in self._parts.ranks for who in rank.collectives))

    def _least(self, who: object) -> int:
        found = [rank.collectives[who] for rank in self._parts.ranks if who in rank.collectives]
        return min(found)

    def _turns(self, who: object) -> object:
        least = self._least(who)
        return who, [
            (rank.number, rank.collectives[who] - least)
            for rank in self._parts.ranks
            if who in rank.collectives
        ]

    def _meetings(self) -> Iterator[tuple[object, object]]:
        for key, meeting in self._parts.meetings.items():
            who, turn = cast("tuple[object, int]", key)
            yield (who, turn - self._least(who)), self._meeting(meeting)

    def _meeting(self, meeting: Meeting) -> object:
        starts = [
            (npu, start - self._now, self._at(self._by_npu[npu], operation.id))
            for npu, (start, operation) in meeting.starts.items()
        ]
        return meeting.members, sorted(meeting.left), sorted(starts, key=lambda one: one[0])

    def _key(self, key: Key) -> object:
        what, *others = key
        if not isinstance(what, tuple) or cast("tuple[object, ...]", what)[0] != "message":
            raise _OpaqueError
        return cast("tuple[str, int]", what)[1] - self._tags, *others

    def _waiting(self, waiting: Mapping[Key, Sequence[Call]]) -> Iterator[tuple[object, object]]:
        for key, calls in waiting.items():
            if near := self._near(calls):
                yield self._key(key), near

    def _near(self, waiting: Sequence[Call]) -> list[object]:
        """Return the receivers waiting for a message, except those waiting since the start."""
        found: list[object] = []
        for call in waiting:
            name, given = _plain(call)
            if name != "GraphEngine.end_received":
                raise _OpaqueError
            _, ended = given
            rank, number = cast("tuple[Rank, int]", _plain(cast("Call", ended))[1])
            if not self._progress[rank.number].far(rank, number):
                found.append(self._call(call))
        return found

    def _call(self, call: Call, *arguments: object) -> object:
        name, given = _plain(call, *arguments)
        what: Any = given
        if name == "GraphEngine.end_node":
            return name, self._node(*what)
        if name == "GraphEngine.end_received":
            return name, self._key(what[0]), self._call(what[1])
        if name == "GraphEngine.end_together":
            return name, what[2], self._meeting(what[0])
        if name == "Exchange.arrive":
            return name, self._key(what[0]), what[1] and self._call(what[1])
        if name == "Aware.forward":
            return name, what[0], what[1], self._call(what[2])
        if name == "Sharing.end":
            return name, self._flows[id(what[0])]
        raise _OpaqueError

    def _active(self, pending: Sequence[tuple[int, Call, tuple[object, ...]]]) -> object:
        """Return all flows in the order in which they started, and number them in this order."""
        found: dict[int, tuple[int, int, ActiveFlow]] = {}
        for which, sharing in enumerate(self._sharings):
            for _, flows in sharing.links().values():
                found.update((id(one), (which, one.number, one)) for one in flows)
        for _, call, arguments in pending:
            name, given = _plain(call, *arguments)
            if name == "Sharing.end":
                one = cast("ActiveFlow", given[0])
                which = self._sharings.index(cast("Any", call).__self__)
                found[id(one)] = which, one.number, one
        order = sorted(found.values(), key=lambda one: one[:2])
        self._flows = {id(one): place for place, (*_, one) in enumerate(order)}
        return [
            (
                which,
                one.flow,
                self._call(one.ended),
                one.priority,
                one.since - self._now,
                one.left_ns,
                one.rate,
            )
            for which, _, one in order
        ]

    def _links(self, sharing: Sharing) -> object:
        return {
            name: (wanted, [self._flows[id(one)] for one in flows])
            for name, (wanted, flows) in sharing.links().items()
        }


def _plain(call: Call, *arguments: object) -> tuple[str, tuple[object, ...]]:
    """Return the name of the function behind a chain of partials, and its arguments."""
    given = arguments
    while isinstance(call, partial):
        one = cast("partial[object]", call)
        call, given = one.func, (*one.args, *given)
    return getattr(call, "__qualname__", ""), given


def _stale(call: Call, arguments: tuple[object, ...]) -> bool:
    """Return whether a planned end of a flow has been superseded."""
    name, given = _plain(call, *arguments)
    return name == "Sharing.end" and cast("ActiveFlow", given[0]).planned != given[1]


def state_of(
    parts: Parts, progress: Mapping[int, Progress], period: int
) -> tuple[object, ...] | None:
    """Return the state that determines how a run continues; None if it is unknown.

    Parameters
    ----------
    parts : Parts
        The run, between two events.
    progress : mapping
        Progress of each rank, by number.
    period : int
        Period from which nodes are numbered.
    """
    try:
        return _Teller(parts, progress, period).all()
    except _OpaqueError:
        return None
