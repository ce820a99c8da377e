"""Kinds of attribute values and nodes in Chakra's schema 0.0.4."""

from enum import IntEnum

__all__ = [
    "KINDS",
    "MEMORY_NODES",
    "MESSAGE_NODES",
    "SCALARS",
    "CollectiveType",
    "NodeType",
]

SCALARS = {
    "double": 3,
    "float": 5,
    "int32": 7,
    "int64": 9,
    "uint32": 11,
    "uint64": 13,
    "sint32": 15,
    "sint64": 17,
    "fixed32": 19,
    "fixed64": 21,
    "sfixed32": 23,
    "sfixed64": 25,
    "bool": 27,
    "string": 29,
    "bytes": 31,
}
"""Kinds of single values and their attribute fields; the kind's list has the next field number."""

KINDS: dict[str, str] = {
    **{name: f"{name}_val" for name in SCALARS},
    **{f"{name}_list": f"{name}_list" for name in SCALARS},
}
"""All kinds of values, and the field that holds each."""


class NodeType(IntEnum):
    """Types of nodes; files may contain other numbers."""

    INVALID_NODE = 0
    METADATA_NODE = 1
    MEM_LOAD_NODE = 2
    MEM_STORE_NODE = 3
    COMP_NODE = 4
    COMM_SEND_NODE = 5
    COMM_RECV_NODE = 6
    COMM_COLL_NODE = 7


MEMORY_NODES = (NodeType.MEM_LOAD_NODE, NodeType.MEM_STORE_NODE)
MESSAGE_NODES = (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE)
"""Node types of loads and stores, and of both ends of a message."""


class CollectiveType(IntEnum):
    """Kinds of collectives: values of the attribute ``comm_type``."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9
