"""Nodes of traces for tests, and engines that run them."""

from collections.abc import Sequence
from typing import Any

from perfmodel.memory.file import NO_MEMORY, MemoryFile
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.operation import Operation
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.files.system import SystemFile
from tracemodel.astra.network import Dimension, Network
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.node import Attr, Node
from tracemodel.rank_times import RankTimes

__all__ = ["SYSTEM", "collective", "compute", "memory", "message", "node", "run", "setup"]

SYSTEM: dict[str, Any] = {
    f"{key}-implementation": ["ring"]
    for key in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
}


def node(number: int, kind: NodeType, deps: Sequence[int] = (), us: int = 0, **attrs: Any) -> Node:
    """Return a node; attributes are of the kind that their value is like."""
    found: list[Attr] = []
    for name, value in attrs.items():
        if isinstance(value, bool):
            found.append(Attr(name, "bool", value))
        elif isinstance(value, str):
            found.append(Attr(name, "string", value))
        elif isinstance(value, tuple):
            found.append(Attr(name, "bool_list", value))
        else:
            found.append(Attr(name, "int64", value))
    return Node(
        number, type=kind, data_deps=tuple(deps), duration_us=us, attrs=tuple(found), name="n"
    )


def compute(number: int, us: int, deps: Sequence[int] = (), cpu: bool = False) -> Node:
    return node(number, NodeType.COMP_NODE, deps, us, is_cpu_op=cpu)


def collective(
    number: int,
    size: int,
    deps: Sequence[int] = (),
    kind: CollectiveType = CollectiveType.ALL_REDUCE,
    **attrs: Any,
) -> Node:
    given = {"is_cpu_op": False, "comm_type": int(kind), "comm_size": size}
    return node(number, NodeType.COMM_COLL_NODE, deps, **given, **attrs)


def message(
    number: int, source: int, target: int, size: int, deps: Sequence[int] = (), **attrs: Any
) -> tuple[Node, Node]:
    """Return a send and its receive."""
    given = {"comm_src": source, "comm_dst": target, "comm_size": size, "comm_tag": 5, **attrs}
    sends, receives = NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE
    return node(number, sends, deps, **given), node(number, receives, deps, **given)


def memory(number: int, size: int, deps: Sequence[int] = (), **attrs: Any) -> Node:
    return node(number, NodeType.MEM_LOAD_NODE, deps, tensor_size=size, **attrs)


def setup(
    npus: int = 2,
    remote: MemoryFile = NO_MEMORY,
    groups: dict[str, tuple[int, ...]] | None = None,
    network: Network | None = None,
    **system: Any,
) -> Setup:
    """Return NPUs fully connected, 1000 ns and a byte per ns apart, without endpoint delay."""
    one = Dimension("fully_connected", npus, 1_000_000_000 / (1 << 30), 1000)
    data = SYSTEM | {"endpoint-delay": 0}
    data |= {key.replace("_", "-"): value for key, value in system.items()}
    return Setup(network or Network([one]), SystemFile.model_validate(data), remote, groups or {})


def run(
    given: Setup, *traces: Sequence[Node], model: str = "unaware"
) -> tuple[tuple[RankTimes, ...], dict[tuple[int, int], tuple[int, int]]]:
    """Return the times of all NPUs, and when each node of each of them began and ended."""
    spans: dict[tuple[int, int], tuple[int, int]] = {}

    def told(rank: int, operation: Operation, begin: int, end: int) -> None:
        assert (rank, operation.id) not in spans
        spans[rank, operation.id] = begin, end

    found = [trace_of(iter(one), given.system, f"w.{rank}.et") for rank, one in enumerate(traces)]
    return GraphEngine(found, given, model, told).run(), spans
