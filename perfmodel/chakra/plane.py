"""Traces of an iteration as tasks of one plane of a wafer in hardware.

A plane has one port of each NPU, so of all bytes it has a share, in whole flits. Loads and stores
beyond the NPUs are left out: a plane in simulation has no I/O controllers.
"""

from collections.abc import Mapping, Sequence

from fred_hw.errors import InputError
from fred_hw.wafer.tasks import Task, check_tasks

from .kinds import CollectiveType, NodeType
from .node import DURATION_NS, Node

__all__ = ["plane_tasks"]

_LEFT_OUT = (NodeType.MEM_LOAD_NODE, NodeType.MEM_STORE_NODE, NodeType.METADATA_NODE)


def plane_tasks(
    ranks: Sequence[Sequence[Node]],
    groups: Mapping[str, Sequence[int]],
    *,
    clock_hz: float,
    planes: int,
    flit_bytes: int,
    full_flit_bytes: int,
) -> list[list[Task]]:
    """Return the tasks of each NPU in one of the planes, in the order of its trace.

    Messages of one NPU with the same tag to several others are one multicast.

    Parameters
    ----------
    ranks : sequence of sequence of Node
        Traces, a node behind all that it waits for.
    groups : mapping of str to sequence of int
        Ranks of each communicator.
    clock_hz : float
        Of the plane [Hz]: so many cycles take compute as long as its traces say.
    planes : int
        That share the bytes.
    flit_bytes, full_flit_bytes : int
        Bytes of a flit of the plane that does the tasks, and of the one that they are for: cycles
        do not depend on lanes, so fewer will do.

    Raises
    ------
    InputError
        A node is none that a plane does: compute, all-reduces and messages; or nodes of NPUs do
        not go together.
    """
    sent: dict[tuple[int, int], list[int]] = {}
    for nodes in ranks:
        for one in nodes:
            if one.type == NodeType.COMM_SEND_NODE:
                key = one.integer("comm_src"), one.integer("comm_tag")
                sent.setdefault(key, []).append(one.integer("comm_dst"))
    found: list[list[Task]] = []
    for rank, nodes in enumerate(ranks):
        writer = _Writer(rank, groups, sent, clock_hz, planes * full_flit_bytes, flit_bytes)
        for node in nodes:
            writer.add(node)
        found.append(writer.tasks)
    try:
        check_tasks(found)
    except ValueError as error:
        raise InputError("", "traces", str(error)) from None
    return found


class _Writer:
    """Makes tasks of the nodes of a rank.

    Parameters
    ----------
    rank, groups, sent : int, mapping, mapping
        Whose nodes, the ranks of each communicator, and those that each message goes to.
    clock_hz : float
        Of the plane [Hz].
    share : int
        Bytes that are one flit in each plane.
    flit_bytes : int
        What stands for them.
    """

    def __init__(
        self,
        rank: int,
        groups: Mapping[str, Sequence[int]],
        sent: Mapping[tuple[int, int], Sequence[int]],
        clock_hz: float,
        share: int,
        flit_bytes: int,
    ) -> None:
        self.tasks: list[Task] = []
        self._rank, self._groups, self._sent = rank, groups, sent
        self._clock_hz, self._share, self._flit_bytes = clock_hz, share, flit_bytes
        self._places: dict[int, tuple[int, ...]] = {}  # by node, the tasks that it ends with
        self._messages: dict[object, int] = {}
        self._spent_ns = 0

    def add(self, node: Node) -> None:
        """Add what a node is, if it is a task of its own."""
        before = {place for one in node.data_deps for place in self._places.get(one, ())}
        after = tuple(sorted(before))
        if node.type in _LEFT_OUT:
            self._places[node.id] = after
            return
        if node.type == NodeType.COMP_NODE:
            task = Task(name=node.name, after=after, cycles=self._cycles(node))
        else:
            inputs, outputs = _flow(node, self._rank, self._groups, self._sent)
            key = inputs, outputs, node.integer("comm_tag")
            if node.type == NodeType.COMM_SEND_NODE:
                place = self._messages.setdefault(key, len(self.tasks))
                self._places[node.id] = (place,)
                if place < len(self.tasks):
                    return
            size = -(-node.integer("comm_size") // self._share) * self._flit_bytes
            task = Task(name=node.name, after=after, inputs=inputs, outputs=outputs, size=size)
        self._places[node.id] = (len(self.tasks),)
        self.tasks.append(task)

    def _cycles(self, node: Node) -> int:
        """Return the cycles of compute, sums of which stay within one of the trace's."""
        begin_ns = self._spent_ns
        self._spent_ns += node.integer(DURATION_NS) or 1000 * node.duration_us
        begin, end = (round(ns * self._clock_hz / 1e9) for ns in (begin_ns, self._spent_ns))
        return max(1, end - begin)


def _flow(
    node: Node,
    rank: int,
    groups: Mapping[str, Sequence[int]],
    sent: Mapping[tuple[int, int], Sequence[int]],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return who takes part in a communication: inputs and outputs."""
    if node.type in (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE):
        source = node.integer("comm_src")
        return (source,), tuple(sorted(sent[source, node.integer("comm_tag")]))
    kind = node.integer("comm_type", -1)
    if node.type != NodeType.COMM_COLL_NODE or kind != CollectiveType.ALL_REDUCE:
        message = "must be compute, an all-reduce, a message or memory, which a plane can do"
        raise InputError("", f"node {node.id} of rank {rank}", f"{message}, not {node.name!r:.60}")
    attr = node.attr("pg_name")
    members = tuple(sorted(groups[str(attr.value)])) if attr else ()
    return members, members
