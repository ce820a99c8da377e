"""What a node of a trace asks for, read once for all NPUs that have it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, cast

from fred_hw.errors import InputError
from perfmodel.astra.collectives.plan import Kind
from perfmodel.astra.files.system import SystemFile
from perfmodel.chakra.kinds import CollectiveType, NodeType
from perfmodel.chakra.node import DURATION_NS, Node

__all__ = ["Operation", "Unit", "kind_of", "message_ends", "operation_of", "root_name"]


class Unit(IntEnum):
    """Units of an NPU, each for one operation at a time; ``NONE`` is for those that need none."""

    NONE = 0
    CPU = 1
    COMPUTE = 2
    COMMUNICATION = 3


_COLLECTIVES: Mapping[int, Kind] = {
    CollectiveType.ALL_REDUCE: "all_reduce",
    CollectiveType.ALL_GATHER: "all_gather",
    CollectiveType.ALL_TO_ALL: "all_to_all",
    CollectiveType.REDUCE_SCATTER: "reduce_scatter",
    CollectiveType.REDUCE: "reduce",
    CollectiveType.BROADCAST: "broadcast",
    CollectiveType.REDUCE_SCATTER_BLOCK: "reduce_scatter",
    CollectiveType.BARRIER: "all_reduce",
}
_MEMORY = (NodeType.MEM_LOAD_NODE, NodeType.MEM_STORE_NODE)
_MESSAGES = (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE)
_COMMUNICATION = (*_MESSAGES, NodeType.COMM_COLL_NODE)
_LOCAL = 1  # of ``tensor_loc``
_MOST = 1 << 62


@dataclass(frozen=True, slots=True)
class Operation:
    """A node as the execution loop sees it.

    Parameters
    ----------
    number : int
        Id of the node.
    type : int
        ``NodeType``.
    unit : Unit
        What it keeps busy.
    duration_ns : int or None
        How long it takes, if that is known before [ns]; 0 ends at once. Broadcasts and reduces
        have it and are collectives too: models of ASTRA-sim replay it.
    bytes : int
        Of what is communicated or moved [B].
    collective : str or None
        What a collective does.
    group : str
        Number of its communicator group; empty for all.
    joint : bool
        Whether memory is named a group for, whose NPUs may load or store together.
    involved : tuple of bool or None
        Dimensions of a collective of all; None for every one.
    source, target : int or None
        Ends of a message; None for the NPU itself. A broadcast may have the source, a
        reduce its target as such.
    tag : int
        Of a message.
    """

    number: int
    type: int
    unit: Unit
    duration_ns: int | None = None
    bytes: int = 0
    collective: Kind | None = None
    group: str = ""
    joint: bool = False
    involved: tuple[bool, ...] | None = None
    source: int | None = None
    target: int | None = None
    tag: int = 0

    @property
    def at_once(self) -> bool:
        """Whether it ends where it begins and needs no unit."""
        return self.unit == Unit.NONE and self.type != NodeType.COMM_RECV_NODE


def kind_of(operation: Operation) -> str:
    """Return what an operation is, for people."""
    return NodeType(operation.type).name.removesuffix("_NODE").lower()


def root_name(operation: Operation) -> str:
    """Return the attribute that says the one end of a broadcast or a reduce."""
    return "comm_dst" if operation.collective == "reduce" else "comm_src"


def message_ends(operation: Operation, rank: int, ranks: int) -> tuple[int, int]:
    """Return the ranks that a message of a rank goes from and to.

    Raises
    ------
    InputError
        Its node does not say, or what is not so; names the attribute alone.
    """
    sends = operation.type == NodeType.COMM_SEND_NODE
    ours, theirs = ("comm_src", "comm_dst") if sends else ("comm_dst", "comm_src")
    ends = operation.source, operation.target
    own, other = ends if sends else ends[::-1]
    if own not in (None, rank):
        raise InputError("", ours, f"must be {rank}, whose trace it is, not {own}")
    if other is None:
        raise InputError("", theirs, "is required and was not given")
    if other == rank or not other < ranks:
        raise InputError("", theirs, f"must be another NPU from 0 to {ranks - 1}, not {other}")
    return (rank, other) if sends else (other, rank)


def operation_of(node: Node, system: SystemFile, file: str) -> Operation:
    """Return what a node asks for.

    Raises
    ------
    InputError
        An attribute is missing, or has a value that is not allowed; names file and node.
    """
    try:
        return _operation(node, system)
    except InputError as error:
        raise InputError(file, error.field, error.message) from None


def _operation(node: Node, system: SystemFile) -> Operation:
    on_cpu = node.flag("is_cpu_op")
    if node.type not in NodeType.__members__.values():
        raise InputError("", f"node {node.id}", f"must be of a type from 0 to 7, not {node.type}")
    plain = Operation(node.id, node.type, _unit(node.type, on_cpu))
    measured_ns = _bounded(node, DURATION_NS) or 1000 * node.duration_us or 1
    if system.replay_only:
        return replace(plain, duration_ns=measured_ns)
    if node.type in (NodeType.METADATA_NODE, NodeType.INVALID_NODE):
        return replace(plain, unit=Unit.NONE, duration_ns=0)
    if node.type == NodeType.COMP_NODE:
        if not system.roofline_enabled or on_cpu:
            return replace(plain, duration_ns=measured_ns)
        return _compute(node, plain, system)
    if node.type in _MEMORY:
        return _memory(node, plain, system)
    if on_cpu:
        raise InputError("", f"node {node.id}: is_cpu_op", "must be false, as it communicates")
    if node.type in _MESSAGES:
        ends = [_end(node, name) for name in ("comm_src", "comm_dst")]
        found = replace(plain, bytes=_needed(node, "comm_size"), tag=node.integer("comm_tag"))
        return replace(found, source=ends[0], target=ends[1])
    return _collective(node, plain, measured_ns)


def _unit(kind: int, on_cpu: bool) -> Unit:
    """Return what a node keeps busy (``HardwareResource.cc``)."""
    if on_cpu:
        return Unit.CPU
    if kind == NodeType.COMM_RECV_NODE:
        return Unit.NONE
    return Unit.COMPUTE if kind == NodeType.COMP_NODE else Unit.COMMUNICATION


def _compute(node: Node, plain: Operation, system: SystemFile) -> Operation:
    """Return compute by the roofline (``Workload::issue_comp``)."""
    why = "with roofline-enabled of the system"
    moved, operations = _needed(node, "tensor_size", why), _needed(node, "num_ops", why)
    if not moved:
        return replace(plain, unit=Unit.NONE, duration_ns=0)
    assert system.local_mem_bw is not None and system.peak_perf is not None
    if not operations:
        return replace(plain, duration_ns=0)
    bandwidth, peak = system.local_mem_bw * 1_000_000_000, system.peak_perf * 1_000_000_000_000
    rate = min(bandwidth * (operations / moved), peak)
    return replace(plain, duration_ns=int(operations / rate * 1e9))


def _memory(node: Node, plain: Operation, system: SystemFile) -> Operation:
    moved = _needed(node, "tensor_size")
    if node.integer("tensor_loc") != _LOCAL:
        joint = node.attr("pg_name") is not None
        return replace(plain, bytes=moved, group=_group(node), joint=joint)
    if system.local_mem_bw is None:
        message = "must be that of remote memory, as the system has no local-mem-bw"
        raise InputError("", f"node {node.id}: tensor_loc", message)
    return replace(plain, bytes=moved, duration_ns=int(moved / system.local_mem_bw))


def _collective(node: Node, plain: Operation, measured_ns: int) -> Operation:
    kind = _needed(node, "comm_type")
    if kind in (CollectiveType.BROADCAST, CollectiveType.REDUCE):
        # ASTRA-sim replays the duration of the former, and has no model of the latter.
        name = "comm_src" if kind == CollectiveType.BROADCAST else "comm_dst"
        plain = replace(plain, duration_ns=measured_ns, source=_end(node, name))
        if node.attr("comm_size") is None:
            return plain
    if kind not in _COLLECTIVES:
        known = ", ".join(f"{one} {CollectiveType(one).name}" for one in sorted(_COLLECTIVES))
        message = f"must be one of {known}, not {kind}"
        raise InputError("", f"node {node.id}: comm_type", message)
    return replace(
        plain,
        bytes=1 if kind == CollectiveType.BARRIER else _needed(node, "comm_size"),
        collective=_COLLECTIVES[kind],
        group=_group(node),
        involved=_involved(node),
    )


def _group(node: Node) -> str:
    """Return the name of a communicator group, empty for all."""
    group = node.attr("pg_name")
    name = "" if group is None or group.value is None else str(group.value)
    return "" if name == "0" else name


def _involved(node: Node) -> tuple[bool, ...] | None:
    found = node.attr("involved_dim")
    if found is None:
        return None
    if found.kind != "bool_list":
        message = f"must be a list of booleans, not of kind {found.kind or 'none'}"
        raise InputError("", f"node {node.id}: involved_dim", message)
    return cast("tuple[bool, ...]", found.value)


def _needed(node: Node, name: str, why: str = "") -> int:
    """Return an integer attribute that has to be there, 0 or more."""
    if node.attr(name) is None:
        message = " ".join(filter(None, ("is required", why, "and was not given")))
        raise InputError("", f"node {node.id}: {name}", message)
    return _bounded(node, name)


def _end(node: Node, name: str) -> int | None:
    return None if node.attr(name) is None else _bounded(node, name)


def _bounded(node: Node, name: str) -> int:
    value: Any = node.integer(name)
    if not 0 <= value <= _MOST:
        message = f"must be an integer from 0 to {_MOST}, not {value}"
        raise InputError("", f"node {node.id}: {name}", message)
    return value
