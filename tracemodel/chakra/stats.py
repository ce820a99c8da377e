"""Statistics of a trace, and whether a simulator can run it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from fred_hw.errors import InputError

from .feeder import Feeder
from .kinds import MESSAGE_NODES, CollectiveType, NodeType
from .node import Node
from .partners import Partners

__all__ = ["Stats", "add_partners", "check_node", "measure"]

_TYPES, _COLLECTIVES = frozenset(NodeType), frozenset(CollectiveType)


@dataclass
class Stats:
    """Statistics of a trace.

    Parameters
    ----------
    nodes, dependencies : int
        Number of nodes and dependencies; a duplicate dependency counts twice.
    types : dict of str to int
        Nodes of each type.
    compute_us, path_us : int
        Durations of compute nodes [us], and of all nodes on the path with the longest ones [us].
    levels : int
        Largest number of nodes on a path.
    operations : int
        Sum of ``num_ops``.
    collectives : dict of str to (int, int)
        Number of collectives by kind, and their bytes [B].
    sent, received : tuple of (int, int)
        Messages, and their bytes [B].
    """

    nodes: int = 0
    dependencies: int = 0
    types: Counter[str] = field(default_factory=Counter[str])
    compute_us: int = 0
    path_us: int = 0
    levels: int = 0
    operations: int = 0
    collectives: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    sent: tuple[int, int] = (0, 0)
    received: tuple[int, int] = (0, 0)


def measure(nodes: Iterable[Node], source: str = "", *, control: bool = True) -> Stats:
    """Return the statistics of a trace whose nodes come in executable order.

    Parameters
    ----------
    nodes : iterable of Node
        The trace.
    source : str
        Name of the file in errors.
    control : bool
        Whether control dependencies count too.

    Raises
    ------
    InputError
        As for ``Feeder``, or a number in the trace is invalid.
    """
    stats, feeder = Stats(), Feeder(nodes, source, control=control)
    ends: dict[int, tuple[int, int]] = {}
    while (node := feeder.ready()) is not None:
        parents = node.data_deps + (node.ctrl_deps if control else ())
        end_us = max((ends[one][0] for one in parents), default=0) + node.duration_us
        level = max((ends[one][1] for one in parents), default=0) + 1
        ends[node.id] = end_us, level
        stats.path_us, stats.levels = max(stats.path_us, end_us), max(stats.levels, level)
        stats.nodes += 1
        stats.dependencies += len(parents)
        try:
            _count(stats, node)
        except InputError as error:
            raise InputError(source, error.field, error.message) from None
        feeder.finish(node.id)
    return stats


def _count(stats: Stats, node: Node) -> None:
    stats.types[_name(node)] += 1
    stats.operations += node.integer("num_ops")
    size = node.integer("comm_size")
    if node.type == NodeType.COMP_NODE:
        stats.compute_us += node.duration_us
    elif node.type == NodeType.COMM_SEND_NODE:
        stats.sent = stats.sent[0] + 1, stats.sent[1] + size
    elif node.type == NodeType.COMM_RECV_NODE:
        stats.received = stats.received[0] + 1, stats.received[1] + size
    elif node.type == NodeType.COMM_COLL_NODE:
        number = node.integer("comm_type")
        known = number in _COLLECTIVES
        kind = CollectiveType(number).name.lower() if known else f"type {number}"
        count, size_bytes = stats.collectives.get(kind, (0, 0))
        stats.collectives[kind] = count + 1, size_bytes + size


def _name(node: Node) -> str:
    return NodeType(node.type).name if node.type in _TYPES else f"type {node.type}"


def check_node(node: Node, source: str = "") -> None:
    """Fail if no simulator supports a node.

    Raises
    ------
    InputError
        The type is unknown, or a communication lacks its kind, size or partners.
    """

    def refuse(name: str, message: str) -> InputError:
        return InputError(source, f"node {node.id}: {name}", message)

    try:
        if node.type == NodeType.INVALID_NODE or node.type not in _TYPES:
            raise refuse("type", f"must be from 1 to {max(NodeType)}, not {node.type}")
        if node.type == NodeType.COMM_COLL_NODE:
            kind = node.integer("comm_type", -1)
            if kind not in _COLLECTIVES:
                given = "missing" if node.attr("comm_type") is None else str(kind)
                raise refuse("comm_type", f"must be from 0 to {max(CollectiveType)}, not {given}")
            if kind == CollectiveType.BARRIER:
                return
        if node.type in (NodeType.COMM_COLL_NODE, NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE):
            if node.integer("comm_size", -1) < 0:
                raise refuse("comm_size", "must be there and 0 or more")
            other = {NodeType.COMM_SEND_NODE: "comm_dst", NodeType.COMM_RECV_NODE: "comm_src"}
            name = other.get(NodeType(node.type), "")
            if name and node.integer(name, -1) < 0:
                raise refuse(name, "must be there and 0 or more")
    except InputError as error:
        raise InputError(source, error.field, error.message) from None


def add_partners(partners: Partners, node: Node, rank: int) -> None:
    """Count a node that sends, receives or takes part in a collective; ignore others.

    Raises
    ------
    InputError
        A message is not of the rank; names no source.
    """
    if node.type == NodeType.COMM_COLL_NODE:
        involved = node.attr("involved_dim")
        some = (
            involved
            and involved.kind == "bool_list"
            and False in cast("tuple[bool, ...]", involved.value)
        )
        if not some:
            kind, group = node.integer("comm_type"), node.attr("pg_name")
            name = "" if group is None or str(group.value) == "0" else str(group.value)
            size = None if kind == CollectiveType.ALL_TO_ALL else node.integer("comm_size")
            partners.add_collective(rank, node.id, name, CollectiveType(kind).name.lower(), size)
    if node.type not in MESSAGE_NODES:
        return
    sends = node.type == NodeType.COMM_SEND_NODE
    here = node.integer("comm_src" if sends else "comm_dst", rank)
    if here != rank:
        name = "comm_src" if sends else "comm_dst"
        message = f"must be {rank}, the rank of the trace, not {here}"
        raise InputError("", f"node {node.id}: {name}", message)
    there = node.integer("comm_dst" if sends else "comm_src")
    ends = (rank, there) if sends else (there, rank)
    tag, size = node.integer("comm_tag"), node.integer("comm_size")
    partners.add_message(rank, node.id, ends, tag, size)
