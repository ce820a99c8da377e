"""The operation that a trace node requests, decoded once for all NPUs that share it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, cast

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import Pattern
from tracemodel.astra.files.system import SystemFile
from tracemodel.chakra.kinds import MEMORY_NODES, MESSAGE_NODES, CollectiveType, NodeType
from tracemodel.chakra.node import DURATION_NS, Node, Task
from tracemodel.chakra.partners import Partners

__all__ = [
    "SIMULATES_BROADCASTS",
    "Operation",
    "Operations",
    "Unit",
    "What",
    "add_partners",
    "kind_of",
    "message_ends",
    "root_name",
]

SIMULATES_BROADCASTS = ("fluid", "roce")
"""Network models that simulate broadcasts and reduces; others take the duration in the trace."""


class Unit(IntEnum):
    """Units of an NPU, each for one operation at a time; ``NONE`` for operations without a unit."""

    NONE = 0
    CPU = 1
    COMPUTE = 2
    COMMUNICATION = 3


_COLLECTIVES: Mapping[int, Pattern] = {
    CollectiveType.ALL_REDUCE: "all_reduce",
    CollectiveType.ALL_GATHER: "all_gather",
    CollectiveType.ALL_TO_ALL: "all_to_all",
    CollectiveType.REDUCE_SCATTER: "reduce_scatter",
    CollectiveType.REDUCE: "reduce",
    CollectiveType.BROADCAST: "broadcast",
    CollectiveType.REDUCE_SCATTER_BLOCK: "reduce_scatter",
    CollectiveType.BARRIER: "all_reduce",
}
_NOTHING = (NodeType.METADATA_NODE, NodeType.INVALID_NODE)
_TYPES = frozenset(NodeType)
# For the comparisons of every node: plain names are looked up four times as fast as enum members.
_COMP, _CPU, _COMMUNICATES = NodeType.COMP_NODE, Unit.CPU, Unit.COMMUNICATION
_UNITS: Mapping[int, Unit] = {_COMP: Unit.COMPUTE, NodeType.COMM_RECV_NODE: Unit.NONE}
_LOCAL = 1  # value of ``tensor_loc``
_MOST = 1 << 62
_INTEGERS = r"s?(u?int|fixed)(32|64)_list"


class What(NamedTuple):
    """The request of a node, without its identity.

    Parameters
    ----------
    type : int
        ``NodeType``.
    unit : Unit
        Unit that the node occupies.
    duration_ns : int or None
        Duration, if it is known beforehand [ns]; 0 ends at once. Broadcasts and reduces have one
        although they are collectives: models of ASTRA-sim replay it.
    bytes : int
        Size of the communicated or moved data [B].
    collective : str or None
        Kind of a collective.
    group : str
        Number of its communicator group; empty for all NPUs.
    joint : bool
        Whether the memory access names a group, whose NPUs may load or store together.
    involved : tuple of bool or None
        Dimensions of a collective of all NPUs; None for all dimensions.
    source, target : int or None
        Ends of a message; None for the NPU itself. A broadcast may have its root as source, and a
        reduce as target.
    sizes : tuple of int or None
        Bytes that an all-to-all sends to each participating rank; None for equal shares.
    operations : int
        Number of operations of compute, 0 if unknown; ``bytes`` is then the memory traffic.
    """

    type: int
    unit: Unit
    duration_ns: int | None = None
    bytes: int = 0
    collective: Pattern | None = None
    group: str = ""
    joint: bool = False
    involved: tuple[bool, ...] | None = None
    source: int | None = None
    target: int | None = None
    sizes: tuple[int, ...] | None = None
    operations: int = 0


@dataclass(slots=True, eq=False)  # not frozen, which halves the time of creating one for each node
class Operation:
    """A node as the execution loop sees it.

    Parameters
    ----------
    id : int
        Id of the node.
    what : What
        Request of the node; in a trace the same object for all nodes with equal requests.
    data_deps : tuple of int
        Nodes that end before it starts, including control dependencies if these count.
    tag : int
        Tag of a message.
    """

    id: int
    what: What
    data_deps: tuple[int, ...] = ()
    tag: int = 0

    @property
    def at_once(self) -> bool:
        """Whether the operation takes no time and needs no unit."""
        what = self.what
        return what.unit == Unit.NONE and what.type != NodeType.COMM_RECV_NODE


def kind_of(operation: Operation) -> str:
    """Return the kind of an operation as text."""
    return NodeType(operation.what.type).name.removesuffix("_NODE").lower()


def root_name(operation: Operation) -> str:
    """Return the attribute that names the root of a broadcast or a reduce."""
    return "comm_dst" if operation.what.collective == "reduce" else "comm_src"


def message_ends(operation: Operation, rank: int, ranks: int) -> tuple[int, int]:
    """Return the source and the destination rank of a message.

    Raises
    ------
    InputError
        The node lacks a rank, or has a wrong one; names only the attribute.
    """
    sends = operation.what.type == NodeType.COMM_SEND_NODE
    ours, theirs = ("comm_src", "comm_dst") if sends else ("comm_dst", "comm_src")
    ends = operation.what.source, operation.what.target
    own, other = ends if sends else ends[::-1]
    if own not in (None, rank):
        raise InputError("", ours, f"must be {rank}, whose trace it is, not {own}")
    if other is None:
        raise InputError("", theirs, "is required and was not given")
    if other == rank or not other < ranks:
        raise InputError("", theirs, f"must be another NPU from 0 to {ranks - 1}, not {other}")
    return (rank, other) if sends else (other, rank)


def add_partners(
    partners: Partners, operation: Operation, rank: int, ranks: int, group: str
) -> None:
    """Count an operation that meets other ranks at run time; ignore all other operations.

    Parameters
    ----------
    partners : Partners
        Counts.
    operation, rank, ranks : Operation, int, int
        The operation, its rank, and how many ranks there are.
    group : str
        Name of its communicator group in this trace, which may be another than in the operation.

    Raises
    ------
    InputError
        As for :func:`message_ends`.
    """
    what = operation.what
    if what.type in MESSAGE_NODES:
        if what.duration_ns is None:
            ends = message_ends(operation, rank, ranks)
            partners.add_message(rank, operation.id, ends, operation.tag, what.bytes)
    elif what.joint or (what.collective and all(what.involved or ())):
        size = None if what.collective == "all_to_all" else what.bytes
        partners.add_collective(
            rank, operation.id, group, what.collective or kind_of(operation), size
        )


class Operations:
    """Operations requested by the nodes of a trace.

    Parameters
    ----------
    system : SystemFile
        Determines the duration of compute.
    file : str
        Name of the file in errors.
    control : bool
        Whether control dependencies count.
    """

    def __init__(self, system: SystemFile, file: str, *, control: bool = True) -> None:
        self._system, self._file, self._control = system, file, control
        self._known: dict[What, What] = {}

    def of(self, node: Node | Task) -> Operation:
        """Return the operation that a node requests.

        Raises
        ------
        InputError
            An attribute is missing, or has a value that is not allowed; names file and node.
        """
        try:
            what = _what(node, self._system)
            tag = (
                node.integer("comm_tag")
                if what.duration_ns is None and what.type in MESSAGE_NODES
                else 0
            )
        except InputError as error:
            raise InputError(self._file, error.field, error.message) from None
        parents = node.parents(control=self._control)
        return Operation(node.id, self._known.setdefault(what, what), parents, tag)


def _what(node: Node | Task, system: SystemFile) -> What:
    kind, on_cpu = node.type, node.flag("is_cpu_op")
    if kind not in _TYPES:
        raise InputError("", f"node {node.id}", f"must be of a type from 0 to 7, not {kind}")
    measured_ns = node.integer(DURATION_NS, most=_MOST) or 1000 * node.duration_us or 1
    unit = _unit(kind, on_cpu)
    if system.replay_only:
        return What(kind, unit, measured_ns)
    if kind == _COMP:
        if on_cpu:
            return What(kind, unit, measured_ns)
        if not system.roofline_enabled:
            moved, operations = _stated(node)
            return What(kind, unit, measured_ns, moved, operations=operations)
        return _compute(node, unit, system)
    if kind in _NOTHING:
        return What(kind, Unit.NONE, 0)
    if kind in MEMORY_NODES:
        return _memory(node, unit, system)
    if on_cpu:
        raise InputError("", f"node {node.id}: is_cpu_op", "must be false, as it communicates")
    if kind in MESSAGE_NODES:
        source, target = (_end(node, name) for name in ("comm_src", "comm_dst"))
        size = _needed(node, "comm_size")
        return What(kind, unit, bytes=size, source=source, target=target)
    return _collective(node, unit, measured_ns)


def _unit(kind: int, on_cpu: bool) -> Unit:
    """Return the unit that a node occupies (``HardwareResource.cc``)."""
    return _CPU if on_cpu else _UNITS.get(kind, _COMMUNICATES)


def _compute(node: Node | Task, unit: Unit, system: SystemFile) -> What:
    """Return a compute operation timed by the roofline (``Workload::issue_comp``)."""
    why = "with roofline-enabled of the system"
    moved, operations = _needed(node, "tensor_size", why), _needed(node, "num_ops", why)
    if not moved:
        return What(node.type, Unit.NONE, 0)
    time_ns = system.roofline_ns(operations, moved)
    return What(node.type, unit, time_ns, moved, operations=operations)


def _stated(node: Node | Task) -> tuple[int, int]:
    """Return the bytes and operations of compute with a known duration; zeros if not stated."""
    found = [one and one.value for one in map(node.attr, ("tensor_size", "num_ops"))]
    moved, operations = (one if type(one) is int and 0 <= one <= _MOST else None for one in found)
    return (0, 0) if moved is None or operations is None else (moved, operations)


def _memory(node: Node | Task, unit: Unit, system: SystemFile) -> What:
    moved = _needed(node, "tensor_size")
    if node.integer("tensor_loc") != _LOCAL:
        joint = node.attr("pg_name") is not None
        return What(node.type, unit, bytes=moved, group=_group(node), joint=joint)
    if system.local_mem_bw is None:
        message = "must be remote memory without local-mem-bw in the system file, not 1"
        raise InputError("", f"node {node.id}: tensor_loc", message)
    return What(node.type, unit, int(moved / system.local_mem_bw), moved)


def _collective(node: Node | Task, unit: Unit, measured_ns: int) -> What:
    kind = _needed(node, "comm_type")
    duration_ns = source = None
    if kind in (CollectiveType.BROADCAST, CollectiveType.REDUCE):
        # ASTRA-sim replays the duration of a broadcast, and has no model of a reduce.
        name = "comm_src" if kind == CollectiveType.BROADCAST else "comm_dst"
        duration_ns, source = measured_ns, _end(node, name)
        if node.attr("comm_size") is None:
            return What(node.type, unit, duration_ns, source=source)
    if kind not in _COLLECTIVES:
        known = ", ".join(f"{one} {CollectiveType(one).name}" for one in sorted(_COLLECTIVES))
        raise InputError("", f"node {node.id}: comm_type", f"must be one of {known}, not {kind}")
    sizes = _sizes(node, kind)
    if sizes is not None:
        size = sum(sizes)
    else:
        size = 1 if kind == CollectiveType.BARRIER else _needed(node, "comm_size")
    return What(
        node.type,
        unit,
        duration_ns,
        bytes=size,
        collective=_COLLECTIVES[kind],
        group=_group(node),
        involved=_involved(node),
        source=source,
        sizes=sizes,
    )


def _sizes(node: Node | Task, kind: int) -> tuple[int, ...] | None:
    """Return the bytes that an all-to-all sends to each rank, if its node lists them."""
    found = node.attr("comm_sizes")
    if found is None:
        return None
    field = f"node {node.id}: comm_sizes"
    if kind != CollectiveType.ALL_TO_ALL:
        raise InputError("", field, "must be of an all-to-all")
    if not re.fullmatch(_INTEGERS, found.kind):
        message = f"must be a list of integers, not of kind {found.kind or 'none'}"
        raise InputError("", field, message)
    sizes = cast("tuple[int, ...]", found.value)
    for size in sizes:
        if not 0 <= size <= _MOST:
            raise InputError("", field, f"must be integers from 0 to {_MOST}, not {size}")
    return sizes


def _group(node: Node | Task) -> str:
    """Return the name of a communicator group; empty for all ranks."""
    group = node.attr("pg_name")
    name = "" if group is None or group.value is None else str(group.value)
    return "" if name == "0" else name


def _involved(node: Node | Task) -> tuple[bool, ...] | None:
    found = node.attr("involved_dim")
    if found is None:
        return None
    if found.kind != "bool_list":
        message = f"must be a list of booleans, not of kind {found.kind or 'none'}"
        raise InputError("", f"node {node.id}: involved_dim", message)
    return cast("tuple[bool, ...]", found.value)


def _needed(node: Node | Task, name: str, why: str = "") -> int:
    """Return a required integer attribute, 0 or more."""
    if node.attr(name) is None:
        message = " ".join(filter(None, ("is required", why, "and was not given")))
        raise InputError("", f"node {node.id}: {name}", message)
    return node.integer(name, most=_MOST)


def _end(node: Node | Task, name: str) -> int | None:
    return None if node.attr(name) is None else node.integer(name, most=_MOST)
