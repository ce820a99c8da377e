"""Repeating stretches of traces, such as iterations, and traces with most of them removed.

A stretch of nodes repeats if each is the one a period before with a number that is higher by the
same, waits for what that one waited for a period later, and asks for the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from operator import eq

from tracemodel.chakra.feeder import WINDOW
from tracemodel.chakra.kinds import MESSAGE_NODES, NodeType

from .operation import Operation
from .trace import Trace

__all__ = ["Periods", "find_periods", "without"]

_LEAST = 8
"""Least number of repetitions that is considered."""

_RAREST = 4
"""Number of the rarest node kinds from which the period length is determined."""


@dataclass(frozen=True)
class Periods:
    """A stretch of a trace that repeats.

    Parameters
    ----------
    start, size, count : int
        Place of its first node in the file, nodes of a period, and periods.
    step : int
        Difference between the numbers of a node in successive periods.
    tag_step : int or None
        Difference between the tags of messages in successive periods; None without messages.
    depth : int
        Periods that a node looks back at most.
    free : frozenset of int
        Places in a period of the receives that wait for no node.
    """

    start: int
    size: int
    count: int
    step: int
    tag_step: int | None
    depth: int
    free: frozenset[int]

    @property
    def stop(self) -> int:
        """Position after the last node of the stretch."""
        return self.start + self.size * self.count

    def times(self, many: int) -> "Periods":
        """Return the stretch with ``many`` periods merged into one."""
        tag_step = None if self.tag_step is None else self.tag_step * many
        free = frozenset(one + turn * self.size for one in self.free for turn in range(many))
        count, step, depth = self.count // many, self.step * many, -(-self.depth // many) + 1
        return Periods(self.start, self.size * many, count, step, tag_step, depth, free)


def find_periods(trace: Trace) -> Periods | None:
    """Return the repeating stretch from which most nodes can be removed; None if there is none."""
    nodes = trace.nodes
    if len(trace.operations) < len(nodes):
        return None  # two nodes with one number: the engine reports the error
    known: dict[object, int] = {}
    keys: list[int] = []
    for node in nodes:
        after = node.data_deps
        if len(after) == 1:
            key = id(node.what), node.id - after[0]
        else:
            nearest = node.id - max(after) if after else 0
            key = id(node.what), len(after), nearest
        keys.append(known.setdefault(key, len(known)))
    found = [_stretch(trace, keys, size) for size in _sizes(keys)]
    return max(filter(None, found), key=lambda one: one.size * one.count, default=None)


def _sizes(keys: Sequence[int]) -> list[int]:
    """Return candidate period lengths in nodes: distances between occurrences of rare nodes."""
    places: dict[int, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    often = sorted((one for one in places.values() if len(one) >= _LEAST), key=len)
    found: dict[int, None] = {}
    for one in often[:_RAREST]:
        distances = Counter(after - here for here, after in pairwise(one))
        found[distances.most_common(1)[0][0]] = None
    return list(found)


def _stretch(trace: Trace, keys: Sequence[int], size: int) -> Periods | None:
    """Return the longest stretch that repeats with a period of ``size`` nodes."""
    again = bytes(map(eq, keys, islice(keys, size, None)))
    if b"\1" * (size * (_LEAST - 1)) not in again:
        return None
    first, stop = _longest(again, 0)
    middle = first + (stop - first) // 2
    nodes, operations = trace.nodes, trace.operations
    step = nodes[middle + size].id - nodes[middle].id
    tags = {
        operations[nodes[i + size].id].tag - operations[nodes[i].id].tag
        for i in range(middle - size // 2, middle - size // 2 + size)
        if operations[nodes[i].id].what.type in MESSAGE_NODES
    }
    if step <= 0 or len(tags) > 1:
        return None
    pairs = _Pairs(trace, size, step, tags.pop() if tags else None)
    first, stop = _longest([pairs.repeats(i) for i in range(first, stop)], first)
    return pairs.periods(first, stop)


def _longest(found: Iterable[bool] | bytes, first: int) -> tuple[int, int]:
    """Return start and end of the longest run of true values, numbered from ``first``."""
    runs = bytes(found).split(b"\0")
    at, best = first, (first, first)
    for run in runs:
        if len(run) > best[1] - best[0]:
            best = at, at + len(run)
        at += len(run) + 1
    return best


class _Pairs:
    """Nodes of a trace, each paired with the node one period later.

    Parameters
    ----------
    trace : Trace
        The trace.
    size, step, tag_step : int
        See ``Periods``.
    """

    def __init__(self, trace: Trace, size: int, step: int, tag_step: int | None) -> None:
        self._nodes, self._operations = trace.nodes, trace.operations
        self._size, self._step, self._tag_step = size, step, tag_step
        self._place = {node.id: place for place, node in enumerate(trace.nodes)}

    def repeats(self, place: int) -> bool:
        """Return whether a node is repeated one period later."""
        one, other = self._nodes[place], self._nodes[place + self._size]
        if other.id - one.id != self._step:
            return False
        operation, again = self._operations[one.id], self._operations[other.id]
        tag_step = self._tag_step if operation.what.type in MESSAGE_NODES else 0
        if again.tag - operation.tag != tag_step:
            return False
        later = tuple([number + self._step for number in one.data_deps])
        if later != other.data_deps:
            # Dependencies of both are from before the periods; ``periods`` makes sure.
            left, right = {*later}, {*other.data_deps}
            if {number + self._step for number in right - left} != left - right:
                return False
        return True

    def periods(self, first: int, stop: int) -> Periods | None:
        """Return the periods of a stretch of repeated nodes; None if they are inconsistent."""
        nodes, size, place = self._nodes, self._size, self._place
        end, back, fixed = stop + size, 0, -1
        for here in range(first, end):
            before = nodes[here - size].data_deps if here >= first + size else ()
            for number in nodes[here].data_deps:
                at = place.get(number, here)
                if at >= here:
                    return None
                if number in before and number - self._step not in before:
                    fixed = max(fixed, at)
                elif here - at > back and here >= first + size:
                    back = here - at
        first = max(first, fixed + 1)
        count, depth = (end - first) // size, back // size + 1
        if count < max(_LEAST, depth + 2):
            return None
        last, free = first + (count - 1) * size, set[int]()
        for offset, node in enumerate(nodes[last : last + size]):
            if all(place[number] < first for number in node.data_deps):
                free.add(offset)
        found = Periods(first, size, count, self._step, self._tag_step, depth, frozenset(free))
        return self._received(found)

    def _received(self, found: Periods) -> Periods | None:
        """Return the periods with only receives as free; None if other nodes wait for them."""
        kept = self._nodes[found.start : found.start + found.size]
        free = {
            offset
            for offset in found.free
            if self._operations[kept[offset].id].what.type == NodeType.COMM_RECV_NODE
        }
        lowest = min(node.id for node in kept)
        early = {_ends(self._operations[kept[offset].id]) for offset in free}
        for place, node in enumerate(self._nodes):
            inside = found.start <= place < found.stop
            if inside and (place - found.start) % found.size in free:
                continue
            one = self._operations[node.id]
            behind = node.data_deps or (place < found.start and node.id > lowest)
            if one.what.type == NodeType.COMM_RECV_NODE and behind and _ends(one) in early:
                return None
        return replace(found, free=frozenset(free))


def _ends(one: Operation) -> object:
    return one.what.source, one.what.target, one.what.bytes


def without(trace: Trace, found: Periods, more: int) -> Trace | None:
    """Return a trace without some of its periods; None if nodes after the periods prevent that.

    Parameters
    ----------
    trace : Trace
        The trace.
    found : Periods
        Repetitions in the trace.
    more : int
        Number of periods to leave out, fewer than there are.
    """
    nodes, operations = trace.nodes, trace.operations
    stop = found.start + found.size * (found.count - more)
    if stop + len(nodes) - found.stop > WINDOW:
        return None
    place = {node.id: i for i, node in enumerate(nodes)}
    highest = max(node.id for node in nodes[found.start : found.stop])
    first_late = found.stop - found.size * found.depth
    behind: list[Operation] = []
    said: dict[int, Operation] = {node.id: operations[node.id] for node in nodes[:stop]}
    late: set[int] = set()
    for node in nodes[found.stop :]:
        one = operations[node.id]
        if any(number not in place for number in node.data_deps):
            return None
        waits = any(place[number] >= first_late or number in late for number in node.data_deps)
        if waits:
            late.add(node.id)
        early = not node.data_deps and one.what.type == NodeType.COMM_RECV_NODE
        if node.id <= highest or not (waits or (early and len(nodes) <= WINDOW)):
            return None
        tag = one.tag - more * (found.tag_step or 0) if one.what.type in MESSAGE_NODES else one.tag
        after = tuple(_after(one.data_deps, place, found, more))
        behind.append(Operation(one.id, one.what, after, tag))
        said[one.id] = behind[-1]
    if found.tag_step and not _apart(nodes, operations, said, stop, found.stop):
        return None
    return replace(trace, nodes=(*nodes[:stop], *behind), operations=said)


def _after(
    numbers: Sequence[int], place: dict[int, int], found: Periods, more: int
) -> Sequence[int]:
    """Return what a node after the periods waits for once some periods are removed."""
    kept: dict[int, None] = {}
    for number in numbers:
        at = place[number]
        if not found.start <= at < found.stop:
            kept[number] = None
        elif (at - found.start) // found.size >= more:
            kept[number - more * found.step] = None
    return list(kept)


def _apart(
    nodes: Sequence[Operation],
    before: Mapping[int, Operation],
    after: Mapping[int, Operation],
    stop: int,
    behind: int,
) -> bool:
    """Return whether messages with different tags keep different tags."""
    known: dict[object, int] = {}
    for node in (*nodes[:stop], *nodes[behind:]):
        one, other = before[node.id], after[node.id]
        if one.what.type in MESSAGE_NODES:
            key = other.what.type, other.what.source, other.what.target, other.what.bytes, other.tag
            if known.setdefault(key, one.tag) != one.tag:
                return False
    return True
