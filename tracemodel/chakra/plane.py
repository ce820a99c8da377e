"""Traces of an iteration as tasks for one hardware plane of a wafer.

A plane has one port of each NPU, so of all bytes it has a share, in whole flits. Loads and stores
beyond the NPUs are left out where a plane has no endpoints at I/O controllers.
"""

from collections.abc import Mapping, Sequence

from fred_hw.errors import InputError
from fred_hw.wafer.tasks import Task, check_tasks

from .kinds import MEMORY_NODES, CollectiveType, NodeType
from .marks import ROLE
from .node import DURATION_NS, Node
from .plane_storage import with_controllers

__all__ = ["plane_tasks"]

Ends = Mapping[tuple[str, tuple[int, ...]], int]
"""Address of the controller for each role (``load``, ``store``, ``input``) and group of NPUs."""

_ENDS = {"weights": "load", "gradients": "store", "input": "input"}
"""Role of a storage controller for each role of loads and stores."""


def plane_tasks(
    ranks: Sequence[Sequence[Node]],
    groups: Mapping[str, Sequence[int]],
    *,
    clock_hz: float,
    planes: int,
    flit_bytes: int,
    full_flit_bytes: int,
    storage: Ends | None = None,
    endpoints: int = 0,
) -> list[list[Task]]:
    """Return the tasks of each NPU in one plane, in the order of the NPU's trace.

    Messages of one NPU with the same tag to several others are one multicast. With controllers
    their tasks follow, and loads and stores are those of ``plane_storage.with_controllers``.

    Parameters
    ----------
    ranks : sequence of sequence of Node
        Traces, with each node after its dependencies.
    groups : mapping of str to sequence of int
        Ranks of each communicator.
    clock_hz : float
        Clock of the plane [Hz], which converts the duration of compute to cycles.
    planes : int
        Number of planes that share the bytes.
    flit_bytes, full_flit_bytes : int
        Bytes of a flit of the simulated plane, and of the represented one: cycles do not depend on
        the number of lanes, so fewer lanes suffice.
    storage : mapping of (str, tuple of int) to int, optional
        Address of the controller of each group of NPUs; without it loads and stores are left out.
    endpoints : int
        Endpoints of NPUs and controllers.

    Raises
    ------
    InputError
        A node cannot run on a plane, which supports compute, all-reduces, messages, and loads and
        stores of groups with a controller; or nodes of NPUs do not match.
    """
    sent: dict[tuple[int, int], list[int]] = {}
    for nodes in ranks:
        for one in nodes:
            if one.type == NodeType.COMM_SEND_NODE:
                key = one.integer("comm_src"), one.integer("comm_tag")
                sent.setdefault(key, []).append(one.integer("comm_dst"))
    found: list[list[Task]] = []
    for rank, nodes in enumerate(ranks):
        sizes = planes * full_flit_bytes, flit_bytes
        writer = _Writer(rank, groups, sent, storage, clock_hz, *sizes)
        for node in nodes:
            writer.add(node)
        found.append(writer.tasks)
    if storage is not None:
        found = with_controllers(found, endpoints, flit_bytes)
    try:
        check_tasks(found)
    except ValueError as error:
        raise InputError("", "traces", str(error)) from None
    return found


class _Writer:
    """Converter of a rank's nodes to tasks.

    Parameters
    ----------
    rank, groups, sent, storage : int, mapping, mapping, mapping or None
        Rank of the nodes, ranks of each communicator, destinations of each message, and
        controllers.
    clock_hz : float
        Clock of the plane [Hz].
    share : int
        Bytes that are one flit in each plane.
    flit_bytes : int
        Bytes of the simulated flit that represents them.
    """

    def __init__(
        self,
        rank: int,
        groups: Mapping[str, Sequence[int]],
        sent: Mapping[tuple[int, int], Sequence[int]],
        storage: Ends | None,
        clock_hz: float,
        share: int,
        flit_bytes: int,
    ) -> None:
        self.tasks: list[Task] = []
        self._rank, self._groups, self._sent, self._storage = rank, groups, sent, storage
        self._clock_hz, self._share, self._flit_bytes = clock_hz, share, flit_bytes
        self._places: dict[int, tuple[int, ...]] = {}  # last tasks of each node
        self._messages: dict[object, int] = {}
        self._spent_ns = 0

    def add(self, node: Node) -> None:
        """Append the task of a node, if the node becomes a task."""
        before = {place for one in node.data_deps for place in self._places.get(one, ())}
        after = tuple(sorted(before))
        left_out = self._storage is None and node.type in MEMORY_NODES
        if left_out or node.type == NodeType.METADATA_NODE:
            self._places[node.id] = after
            return
        if node.type == NodeType.COMP_NODE:
            task = Task(name=node.name, after=after, cycles=self._cycles(node))
        else:
            inputs, outputs = self._flow(node)
            key = inputs, outputs, node.integer("comm_tag")
            if node.type == NodeType.COMM_SEND_NODE:
                place = self._messages.setdefault(key, len(self.tasks))
                self._places[node.id] = (place,)
                if place < len(self.tasks):
                    return
            named = "tensor_size" if node.type in MEMORY_NODES else "comm_size"
            size = -(-node.integer(named) // self._share) * self._flit_bytes
            task = Task(name=node.name, after=after, inputs=inputs, outputs=outputs, size=size)
        self._places[node.id] = (len(self.tasks),)
        self.tasks.append(task)

    def _flow(self, node: Node) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the inputs and outputs of a communication."""
        if self._storage is None or node.type not in MEMORY_NODES:
            return _flow(node, self._rank, self._groups, self._sent)
        role, group = node.attr(ROLE), node.attr("pg_name")
        kind = _ENDS.get(str(role.value) if role else "", "")
        members = tuple(sorted(self._groups[str(group.value)])) if group else (self._rank,)
        if (kind, members) not in self._storage:
            message = (
                "must be a load or a store of NPUs that have a controller for it, not "
                f"{node.name!r:.60} of {list(members)}"
            )
            raise InputError("", f"node {node.id} of rank {self._rank}", message)
        controller = (self._storage[kind, members],)
        return (members, controller) if kind == "store" else (controller, members)

    def _cycles(self, node: Node) -> int:
        """Return the cycles of compute; sums are within one cycle of the trace's time."""
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
    """Return the inputs and outputs of a message or an all-reduce between NPUs."""
    if node.type in (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE):
        source = node.integer("comm_src")
        return (source,), tuple(sorted(sent[source, node.integer("comm_tag")]))
    kind = node.integer("comm_type", -1)
    if node.type != NodeType.COMM_COLL_NODE or kind != CollectiveType.ALL_REDUCE:
        message = "must be compute, an all-reduce, a message or memory on a plane"
        raise InputError("", f"node {node.id} of rank {rank}", f"{message}, not {node.name!r:.60}")
    attr = node.attr("pg_name")
    members = tuple(sorted(groups[str(attr.value)])) if attr else ()
    return members, members
