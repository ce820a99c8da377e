"""Delivery of the nodes of a trace in dependency order."""

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from fred_hw.errors import InputError

__all__ = ["MAX_WINDOW", "WINDOW", "Feeder", "Waiting", "find_cycle", "named"]

WINDOW = 1 << 16
"""Number of nodes held at once, as long as the nodes they depend on are among them."""

MAX_WINDOW = 1 << 20
"""Largest number of nodes held while a missing dependency is searched, as in Chakra's feeder."""

_NAMED = 6
"""Largest number of nodes named in an error message."""


_RECENT = 256
"""Least number of completed ids that are stored individually rather than as ranges."""


class Waiting(Protocol):
    """A node, or a stand-in for one."""

    @property
    def id(self) -> int:
        """Number of the node."""
        ...

    @property
    def data_deps(self) -> tuple[int, ...]:
        """Numbers of the nodes that must end before this node starts."""
        ...


N = TypeVar("N", bound=Waiting)


class Feeder(Generic[N]):
    """Deliver each node once, after its dependencies, the lowest id first.

    Nodes are taken from the iterable as space becomes free: memory use follows the window of
    unfinished nodes, and the ids of finished ones are kept as ranges.

    Parameters
    ----------
    nodes : iterable of Waiting
        Nodes in any order; a node may depend on a later one.
    source : str
        Name of the file in errors.
    window : int
        Nodes held at once, 1 or more. More are taken, up to ``MAX_WINDOW``, while one in the
        window depends on a node that has not come yet.
    control : bool
        Whether nodes wait for ``ctrl_deps`` as they do for ``data_deps``, as in Chakra's FeederV3.
        The feeder before it ignores control dependencies.

    Raises
    ------
    InputError
        Here or as nodes are handed out: an id is there twice, a node depends on one that does not
        exist, or nodes wait for each other.
    """

    def __init__(
        self, nodes: Iterable[N], source: str = "", *, window: int = WINDOW, control: bool = True
    ) -> None:
        if not 1 <= window <= MAX_WINDOW:
            raise ValueError(f"window must be an integer from 1 to {MAX_WINDOW}, not {window!r}")
        self._source, self._window, self._control = source, window, control
        self._more: Iterator[N] | None = iter(nodes)
        self._held: dict[int, N] = {}
        self._waits: dict[int, int] = {}  # number of unfinished parents, where there are any
        self._children: dict[int, list[int]] = {}  # nodes that wait for an unfinished parent, by id
        self._wanted: dict[int, None] = {}  # ids of parents that have not been read
        self._ready: list[int] = []
        self._issued: set[int] = set()
        self._ended = _Ids()
        self._fill()

    def ready(self) -> N | None:
        """Return the ready node with the lowest id, and mark it as running.

        None if there is none now: all possible nodes are running, or all have ended.
        """
        if self._ready:
            number = heapq.heappop(self._ready)
            self._issued.add(number)
            return self._held[number]
        if self._held and not self._issued:
            waiting = {
                number: sorted(one for one in self._parents(node) if one in self._held)
                for number, node in self._held.items()
            }
            message = f"must not depend on itself: {' -> '.join(map(str, find_cycle(waiting)))}"
            raise InputError(self._source, "node", message)
        return None

    def put_back(self, number: int) -> None:
        """Make a node that ``ready`` returned ready again.

        Raises
        ------
        ValueError
            The node is not being executed.
        """
        self._take(number)
        heapq.heappush(self._ready, number)

    def finish(self, number: int) -> None:
        """End a node that ``ready`` returned, and release the nodes that depend on it.

        Raises
        ------
        ValueError
            The node is not being executed.
        """
        self._take(number)
        self._ended.add(number)
        del self._held[number]
        children = self._children.pop(number, None)
        if children:
            waits = self._waits
            for child in children:
                left = waits[child] - 1
                if left:
                    waits[child] = left
                else:
                    del waits[child]
                    heapq.heappush(self._ready, child)
        if self._more:
            self._fill()

    def node(self, number: int) -> N:
        """Return a node that is in memory.

        Raises
        ------
        KeyError
            The node has not been read or has ended.
        """
        return self._held[number]

    @property
    def done(self) -> bool:
        """Whether all nodes have ended."""
        return not self._held

    @property
    def held(self) -> int:
        """Number of nodes in memory."""
        return len(self._held)

    def _take(self, number: int) -> None:
        if number not in self._issued:
            raise ValueError(f"node {number} must be one that ready() gave and that is under way")
        self._issued.remove(number)

    def _fill(self) -> None:
        while self._more and (len(self._held) < self._window or self._wanted):
            if len(self._held) >= MAX_WINDOW:
                parent = next(iter(self._wanted))
                child = self._children[parent][0]
                message = f"must come within {MAX_WINDOW:,} nodes of node {child}"
                raise InputError(self._source, f"node {parent}", f"{message}, which depends on it")
            node = next(self._more, None)
            if node is not None:
                self._add(node)
                continue
            self._more = None
            if self._wanted:
                children = self._children[next(iter(self._wanted))]
                message = f"must depend on nodes of the trace, not on {named(self._wanted)}"
                raise InputError(self._source, f"node {named(children)}", message)

    def _add(self, node: N) -> None:
        number, held, ended = node.id, self._held, self._ended
        if number in held or number in ended:
            raise InputError(self._source, f"node {number}", "must occur once, not again")
        held[number] = node
        wanted, children = self._wanted, self._children
        if wanted:
            wanted.pop(number, None)
        waits = 0
        for parent in self._parents(node):
            if parent not in held:
                if parent in ended:
                    continue
                wanted[parent] = None
            waits += 1
            if parent in children:
                children[parent].append(number)
            else:
                children[parent] = [number]
        if waits:
            self._waits[number] = waits
        else:
            heapq.heappush(self._ready, number)

    def _parents(self, node: N) -> Iterable[int]:
        """Return the dependencies of a node without duplicates."""
        parents = node.data_deps
        if self._control:
            parents = *parents, *self._controls(node)
        return dict.fromkeys(parents) if len(parents) > 1 else parents

    def _controls(self, node: Any) -> tuple[int, ...]:
        return node.ctrl_deps


class _Ids:
    """A set of numbers, stored compactly where they are consecutive."""

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._most = _RECENT
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __contains__(self, number: int) -> bool:
        if number in self._recent:
            return True
        place = bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._ends[place]

    def add(self, number: int) -> None:
        """Add a number that the set does not contain."""
        self._recent.add(number)
        if len(self._recent) >= self._most:
            self._fold()

    def _fold(self) -> None:
        """Convert the recent numbers to ranges."""
        found = [(one, one + 1) for one in self._recent]
        found += zip(self._starts, self._ends, strict=True)
        found.sort()
        self._recent, self._starts, self._ends = set(), [], []
        for start, end in found:
            if self._ends and self._ends[-1] == start:
                self._ends[-1] = end
            else:
                self._starts.append(start)
                self._ends.append(end)
        self._most = max(_RECENT, len(self._starts) // 4)


def find_cycle(parents: dict[int, list[int]]) -> list[int]:
    """Return a dependency cycle: each node depends on the next, and the last equals the first.

    Parameters
    ----------
    parents : dict of int to list of int
        Nodes that each node waits for, none of which may be empty.
    """
    number = min(parents)
    seen: dict[int, int] = {}
    while number not in seen:
        seen[number] = len(seen)
        number = parents[number][0]
    path = list(seen)[seen[number] :]
    lowest = path.index(min(path))
    return [*path[lowest:], *path[:lowest], path[lowest]]


def named(numbers: Iterable[int]) -> str:
    """Return the first few of some node numbers as text."""
    few = sorted(numbers)
    more = f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
    return ", ".join(map(str, few[:_NAMED])) + more
