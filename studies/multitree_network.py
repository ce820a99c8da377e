"""The network of MultiTree's evaluation, simulated packet by packet.

A node has network interfaces that send what a table says. The entries of a node are in the order of
their steps. An interface that is free takes the first entry of the current step whose data are
complete; when all of a step are taken, the next step begins, whether or not other nodes are that
far. An entry is a chunk, which an interface cuts into packets, one for each cycle. From then on it
is free, while the packets wait for the link to the router. Links and routers serve packets in the
order in which they arrive, and cut them through. A node adds up what it receives, one chunk after
the other.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perfmodel.clock import Clock
from perfmodel.topology.graph import Topology

__all__ = ["FLIT_BYTES", "PACKET_BYTES", "Flow", "all_reduce_cycles"]

FLIT_BYTES, PACKET_BYTES = 16, 256
"""Size of a flit, and payload of a packet [B]."""

LINK_CYCLES = 150
"""Latency of a link between routers: 150 ns at 1 GHz."""

ENDS_CYCLES = 7
"""Latency from an interface to its router, and from a router to an interface; with these values a
ring step takes as long as in the public simulator."""

SUMS_BYTES_PER_CYCLE = 128
"""Rate of additions at a node: the public simulator counts 240 cycles of compute for the 15 sums of
2 KiB that a ring of 16 nodes makes of 32 KiB."""

_BETWEEN = 1
"""Cycles between an action of a node and the next action that depends on it."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A chunk that is reduced along a tree to the root, and then gathered along the same tree.

    Parameters
    ----------
    root : int
        Node.
    edges : tuple of (int, int, int)
        Child, parent and step of the gathering.
    """

    root: int
    edges: tuple[tuple[int, int, int], ...]


@dataclass(slots=True)
class _Entry:
    """A send of an interface: target nodes with their interfaces, and the chunks to wait for."""

    flow: int
    ends: list[tuple[int, int]]
    waits: set[tuple[int, int]]


_Level = list[_Entry]


@dataclass(slots=True)
class _Node:
    """State of a node: entries to reduce and to gather by step, free interfaces, pending sums."""

    reduces: deque[_Level]
    gathers: deque[_Level]
    free: set[int]
    gathering: bool = False
    received: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])


def all_reduce_cycles(
    topology: Topology,
    flows: Sequence[Flow],
    chunk_bytes: int,
    *,
    interfaces: int = 4,
    heads_once: bool = False,
) -> float:
    """Return the duration of an all-reduce [cycles].

    Parameters
    ----------
    topology : Topology
        Routes between nodes.
    flows : sequence of Flow
        Trees of all chunks.
    chunk_bytes : int
        Bytes of each chunk [B].
    interfaces : int
        Network interfaces of a node.
    heads_once : bool
        Whether a chunk is one message, whose first packet alone has a head flit.
    """
    run = _Run(topology, flows, chunk_bytes, interfaces, heads_once)
    run.clock.run()
    return run.last


class _Run:
    """A simulation; see :func:`all_reduce_cycles`."""

    def __init__(
        self,
        topology: Topology,
        flows: Sequence[Flow],
        chunk_bytes: int,
        interfaces: int,
        heads_once: bool,
    ) -> None:
        self.clock: Clock[float] = Clock(0.0)
        self.last = 0.0
        self._topology, self._interfaces = topology, interfaces
        self._packets = -(-chunk_bytes // PACKET_BYTES)
        body = min(chunk_bytes, PACKET_BYTES) // FLIT_BYTES
        self._flits = [body + (not heads_once or not place) for place in range(self._packets)]
        self._sum_cycles = chunk_bytes // SUMS_BYTES_PER_CYCLE
        self._free_from: dict[tuple[object, ...], float] = {}
        self._come: dict[tuple[int, int, int, bool], int] = {}
        tables = _tables(topology.npus, flows, interfaces)
        self._nodes = [_Node(*table, set(range(interfaces))) for table in tables]
        for node in range(topology.npus):
            self.clock.at(0.0, self._start, node)

    def _start(self, node: int) -> None:
        """Send entries whose data is complete on free interfaces."""
        here = self._nodes[node]
        while here.reduces and here.free:
            entry = _ready(here.reduces)
            if entry is None:
                break
            if entry.ends:
                self._send(node, entry.flow, entry.ends[0], reduces=True)
        if not here.reduces and len(here.free) == self._interfaces:
            here.gathering = True
        while here.gathering and here.gathers and here.free:
            entry = next((one for one in here.gathers[0] if not one.waits), None)
            if entry is None:
                break
            self._send(node, entry.flow, entry.ends.pop(0), reduces=False)
            if not entry.ends:
                here.gathers[0].remove(entry)
            if not here.gathers[0]:
                here.gathers.popleft()

    def _send(self, node: int, flow: int, end: tuple[int, int], *, reduces: bool) -> None:
        """Send a chunk as packets."""
        interface, target = min(self._nodes[node].free), end[0]
        self._nodes[node].free.discard(interface)
        self.clock.after(_BETWEEN + self._packets, self._free, node, interface)
        links = [("link", link) for link, _ in self._topology.hops((node,), (target,))]
        path = [("from", node, interface), *links, ("to", *end)]
        message = (flow, node, target, reduces)
        for place, flits in enumerate(self._flits):
            self.clock.after(2 * _BETWEEN + place, self._pass, path, 0, flits, message)

    def _free(self, node: int, interface: int) -> None:
        self._nodes[node].free.add(interface)
        self._start(node)

    def _pass(
        self,
        path: Sequence[tuple[object, ...]],
        place: int,
        flits: int,
        message: tuple[int, int, int, bool],
    ) -> None:
        """Move the head of a packet to a link, and later to the next link."""
        if place == len(path):
            self.clock.after(flits - 1, self._arrive, message)
            return
        link = path[place]
        start = max(self.clock.now, self._free_from.get(link, 0.0))
        self._free_from[link] = start + flits
        late = LINK_CYCLES if link[0] == "link" else ENDS_CYCLES
        self.clock.at(start + late, self._pass, path, place + 1, flits, message)

    def _arrive(self, message: tuple[int, int, int, bool]) -> None:
        """Receive a packet; after the last packet of a chunk, release dependent entries."""
        self._come[message] = self._come.get(message, 0) + 1
        if self._come[message] < self._packets:
            return
        flow, source, target, reduces = message
        self.last = self.clock.now
        node = self._nodes[target]
        if reduces:
            node.received.append((flow, source))
            if len(node.received) == 1:
                self.clock.after(_BETWEEN + self._sum_cycles, self._sum, target)
            return
        _clear(node.gathers, flow, source)
        self.clock.after(_BETWEEN, self._start, target)

    def _sum(self, target: int) -> None:
        """Complete the sum of a chunk."""
        node = self._nodes[target]
        _clear(node.reduces, *node.received.popleft())
        if node.received:
            self.clock.after(_BETWEEN + self._sum_cycles, self._sum, target)
        self.last = self.clock.now
        self.clock.after(_BETWEEN, self._start, target)


def _ready(levels: deque[_Level]) -> _Entry | None:
    """Remove and return the first entry of the current step that waits for nothing; else None."""
    entry = next((one for one in levels[0] if not one.waits), None)
    if entry is not None:
        levels[0].remove(entry)
        if not levels[0]:
            levels.popleft()
    return entry


def _clear(levels: deque[_Level], flow: int, source: int) -> None:
    """Remove a received chunk from the dependencies of all entries."""
    for level in levels:
        for entry in level:
            entry.waits.discard((flow, source))


def _tables(
    nodes: int, flows: Sequence[Flow], interfaces: int
) -> list[tuple[deque[_Level], deque[_Level]]]:
    """Return the entries that each node reduces and gathers, by step.

    Chunks that come to a node in one step come to its interfaces in turn.
    """
    steps = 1 + max(step for flow in flows for _, _, step in flow.edges)
    reduces = [[_Level() for _ in range(steps)] for _ in range(nodes)]
    gathers = [[_Level() for _ in range(steps)] for _ in range(nodes)]
    ends: dict[tuple[bool, int, int], int] = {}

    def end(node: int, step: int, *, back: bool) -> tuple[int, int]:
        number = ends[back, node, step] = ends.get((back, node, step), -1) + 1
        return node, number % interfaces

    roots: list[set[tuple[int, int]]] = [set() for _ in range(nodes)]
    for number, flow in enumerate(flows):
        parents = {child: parent for child, parent, _ in flow.edges}
        children: Mapping[int, set[tuple[int, int]]] = {node: set() for node in range(nodes)}
        for child, parent, _ in flow.edges:
            children[parent].add((number, child))
        roots[flow.root] |= children[flow.root]
        for child, parent, step in flow.edges:
            back = steps - 1 - step
            to = end(parent, back, back=True)
            reduces[child][back].append(_Entry(number, [to], children[child]))
            same = next((one for one in gathers[parent][step] if one.flow == number), None)
            if same is None:
                waits = {(number, parents[parent])} if parent in parents else set[tuple[int, int]]()
                same = _Entry(number, [], waits)
                gathers[parent][step].append(same)
            same.ends.append(end(child, step, back=False))
    return [
        (
            deque([*filter(None, reduces[node]), [_Entry(-1, [], roots[node])]]),
            deque(filter(None, gathers[node])),
        )
        for node in range(nodes)
    ]
