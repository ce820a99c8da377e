"""Handing out the nodes of a trace as their dependencies end."""

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fred_hw.errors import InputError

from .node import Node

__all__ = ["MAX_WINDOW", "WINDOW", "Feeder", "find_cycle", "named"]

WINDOW = 1 << 16
"""Nodes that are held at once, as long as those they depend on are among them."""

MAX_WINDOW = 1 << 20
"""Nodes held at most while one they depend on is looked for: those of Chakra's own feeder."""

_NAMED = 6
"""Nodes that an error line names."""


class Feeder:
    """Hand out each node once, after those it depends on, the lowest id first.

    Nodes are taken from the iterable as room is made for them: memory follows the window of nodes
    that have not ended, and the ids of those that have are kept as ranges.

    Parameters
    ----------
    nodes : iterable of Node
        In any order; a node may depend on a later one.
    source : str
        What errors name: the file.
    window : int
        Nodes held at once, 1 or more. More are taken, up to ``MAX_WINDOW``, while one in the
        window depends on a node that has not come yet.
    control : bool
        Whether nodes wait for ``ctrl_deps`` as they do for ``data_deps``. Chakra's own feeder
        takes no notice of them: its converters make data dependencies of them.

    Raises
    ------
    InputError
        Here or as nodes are handed out: an id is there twice, a node depends on one that does not
        exist, or nodes wait for each other.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        source: str = "",
        *,
        window: int = WINDOW,
        control: bool = False,
    ) -> None:
        if not 1 <= window <= MAX_WINDOW:
            raise ValueError(f"window must be an integer from 1 to {MAX_WINDOW}, not {window!r}")
        self._source, self._window, self._control = source, window, control
        self._more: Iterator[Node] | None = iter(nodes)
        self._held: dict[int, _Held] = {}
        self._wanted: dict[int, list[int]] = {}  # by an id that has not come, who depends on it
        self._ready: list[int] = []
        self._issued: set[int] = set()
        self._ended = _Ids()
        self._fill()

    def ready(self) -> Node | None:
        """Take the node of the lowest id among those whose dependencies have ended.

        None if there is none now: all that can run do, or all have ended.
        """
        if self._ready:
            number = heapq.heappop(self._ready)
            self._issued.add(number)
            return self._held[number].node
        if self._held and not self._issued:
            waiting = {number: sorted(one.waits) for number, one in self._held.items()}
            message = f"must not depend on itself: {' -> '.join(map(str, find_cycle(waiting)))}"
            raise InputError(self._source, "node", message)
        return None

    def put_back(self, number: int) -> None:
        """Have a node that ``ready`` gave be handed out again.

        Raises
        ------
        ValueError
            It is not under way.
        """
        self._take(number)
        heapq.heappush(self._ready, number)

    def finish(self, number: int) -> None:
        """End a node that ``ready`` gave; what depends on it no longer waits for it.

        Raises
        ------
        ValueError
            It is not under way.
        """
        self._take(number)
        self._ended.add(number)
        for child in self._held.pop(number).children:
            waits = self._held[child].waits
            waits.discard(number)
            if not waits:
                heapq.heappush(self._ready, child)
        self._fill()

    def node(self, number: int) -> Node:
        """Return a node that is held.

        Raises
        ------
        KeyError
            It has not come or has ended.
        """
        return self._held[number].node

    @property
    def done(self) -> bool:
        """Whether all nodes have ended."""
        return not self._held

    @property
    def held(self) -> int:
        """Nodes in memory."""
        return len(self._held)

    def _take(self, number: int) -> None:
        if number not in self._issued:
            raise ValueError(f"node {number} must be one that ready() gave and that is under way")
        self._issued.remove(number)

    def _fill(self) -> None:
        while self._more and (len(self._held) < self._window or self._wanted):
            if len(self._held) >= MAX_WINDOW:
                parent, children = next(iter(self._wanted.items()))
                message = f"must come within {MAX_WINDOW:,} nodes of node {children[0]}"
                raise InputError(self._source, f"node {parent}", f"{message}, which depends on it")
            node = next(self._more, None)
            if node is not None:
                self._add(node)
                continue
            self._more = None
            if self._wanted:
                parents, children = self._wanted, next(iter(self._wanted.values()))
                message = f"must depend on nodes of the trace, not on {named(parents)}"
                raise InputError(self._source, f"node {named(children)}", message)

    def _add(self, node: Node) -> None:
        if node.id in self._held or node.id in self._ended:
            raise InputError(self._source, f"node {node.id}", "must be there once, not again")
        parents = {*node.data_deps, *(node.ctrl_deps if self._control else ())}
        held = self._held[node.id] = _Held(node, {one for one in parents if one not in self._ended})
        held.children = self._wanted.pop(node.id, [])
        for parent in held.waits:
            if parent in self._held:
                self._held[parent].children.append(node.id)
            else:
                self._wanted.setdefault(parent, []).append(node.id)
        if not held.waits:
            heapq.heappush(self._ready, node.id)


@dataclass(slots=True)
class _Held:
    """A node that has not ended, those it waits for, and those that wait for it."""

    node: Node
    waits: set[int]
    children: list[int] = field(default_factory=list[int])


class _Ids:
    """A set of numbers that is small where they follow each other."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._ends[place]

    def add(self, number: int) -> None:
        """Add a number that is not in it."""
        place = bisect_right(self._starts, number)
        grows = place > 0 and self._ends[place - 1] == number
        meets = place < len(self._starts) and self._starts[place] == number + 1
        if grows and meets:
            self._ends[place - 1] = self._ends.pop(place)
            del self._starts[place]
        elif grows:
            self._ends[place - 1] = number + 1
        elif meets:
            self._starts[place] = number
        else:
            self._starts.insert(place, number)
            self._ends.insert(place, number + 1)


def find_cycle(parents: dict[int, list[int]]) -> list[int]:
    """Return nodes each of which depends on the one behind it, the last being the first again.

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
    """Return the first of some nodes in words."""
    few = sorted(numbers)
    more = f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
    return ", ".join(map(str, few[:_NAMED])) + more
