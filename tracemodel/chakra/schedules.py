"""Schedules of sends, receives and compute, read from GOAL texts or traces."""

from collections.abc import Mapping, Sequence
from typing import Literal

from fred_hw.errors import InputError
from fred_hw.progress import track

from .files import read
from .goal import Goal, Operation, read_goal
from .kinds import NodeType
from .node import DURATION_NS, Node
from .traces import find_traces

__all__ = ["from_nodes", "read_schedule"]

_MOST = (1 << 53) - 1
"""Largest number of bytes or ns, and largest tag."""

_KINDS: Mapping[int, Literal["calc", "send", "recv"]] = {
    NodeType.COMP_NODE: "calc",
    NodeType.COMM_SEND_NODE: "send",
    NodeType.COMM_RECV_NODE: "recv",
}


def read_schedule(workload: str, *, control: bool = True) -> Goal:
    """Return the schedule of a GOAL text (``.goal``) or of a set of traces.

    Parameters
    ----------
    workload : str
        The text, or the prefix of the traces.
    control : bool
        Whether the control dependencies of traces count.

    Raises
    ------
    InputError
        A file is invalid, or contains something other than sends, receives and computation.
    """
    if workload.lower().endswith(".goal"):
        return read_goal(workload)
    paths = find_traces(workload)
    found: list[tuple[Operation, ...]] = []
    for rank, path in enumerate(track(paths, "traces")):
        with read(path) as reader:
            nodes = list(reader)
        found.append(from_nodes(nodes, rank, len(paths), str(path), control=control))
    return tuple(found)


def from_nodes(
    nodes: Sequence[Node], rank: int, ranks: int, source: str, *, control: bool = True
) -> tuple[Operation, ...]:
    """Return the operations of a rank, given the nodes of its trace.

    Parameters
    ----------
    nodes : sequence of Node
        Nodes of its trace. Compute takes ``duration_ns`` or else ``duration_us``; ``cpu`` and
        ``nic`` are attributes of traces that were schedules.
    rank, ranks : int
        Number of the rank, and of all ranks.
    source : str
        Name of the file in errors.
    control : bool
        Whether control dependencies count.

    Raises
    ------
    InputError
        A node is of another kind or has a wrong value, or a dependency is missing.
    """
    places: dict[int, int] = {}
    for place, node in enumerate(nodes):
        if places.setdefault(node.id, place) != place:
            raise InputError(source, f"node {node.id}", "must occur once, not again")
    try:
        return tuple(_operation(node, places, rank, ranks, control) for node in nodes)
    except InputError as error:
        raise InputError(source, error.field, error.message) from None


def _operation(
    node: Node, places: dict[int, int], rank: int, ranks: int, control: bool
) -> Operation:
    field = f"node {node.id}"
    kind = _KINDS.get(node.type)
    if kind is None:
        types = "compute, a send or a receive"
        raise InputError("", field, f"must be {types} in LogGOPS, not of type {node.type}")
    requires: list[int] = []
    for one in dict.fromkeys(node.parents(control=control)):
        if one not in places:
            raise InputError("", field, f"must wait for nodes of its trace, not for {one}")
        requires.append(places[one])
    cpu, nic = (node.integer(name, most=_MOST) for name in ("cpu", "nic"))
    label = f"l{node.id}"
    if kind == "calc":
        size = node.integer(DURATION_NS, most=_MOST) or 1000 * node.duration_us
        return Operation(label, kind, size, cpu=cpu, nic=nic, requires=tuple(requires))
    ours, theirs = ("comm_src", "comm_dst") if kind == "send" else ("comm_dst", "comm_src")
    if node.integer(ours, rank, _MOST) != rank:
        raise InputError("", f"{field}: {ours}", f"must be {rank}, whose trace it is")
    peer, size = node.integer(theirs, ranks, _MOST), node.integer("comm_size", most=_MOST)
    if peer >= ranks:
        raise InputError("", f"{field}: {theirs}", f"must be a rank from 0 to {ranks - 1}")
    if size < 1:
        raise InputError("", f"{field}: comm_size", "must be 1 byte or more, not 0")
    tag = node.integer("comm_tag", most=_MOST)
    return Operation(label, kind, size, peer, tag, cpu, nic, tuple(requires))
