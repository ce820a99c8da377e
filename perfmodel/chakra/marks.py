"""Attributes of exported iterations: node types, and the task of each node.

A trace has no room for all that an iteration knows, such as who of a stage does the same at a time,
or in which order I/O controllers serve. Other simulators pass the attributes by.
"""

from .kinds import CollectiveType, NodeType

__all__ = [
    "ACKS",
    "AFTER",
    "COLLECTIVES",
    "EFFORT",
    "EXACT",
    "NPUS",
    "ROLE",
    "STRATEGY",
    "STREAMS",
    "TASK",
]

COLLECTIVES = {
    "all_reduce": CollectiveType.ALL_REDUCE,
    "all_gather": CollectiveType.ALL_GATHER,
    "reduce_scatter": CollectiveType.REDUCE_SCATTER,
    "all_to_all": CollectiveType.ALL_TO_ALL,
}
"""Patterns of an iteration that are a collective, and its ``comm_type``."""

STREAMS = {"stream_in": NodeType.MEM_LOAD_NODE, "stream_out": NodeType.MEM_STORE_NODE}
"""Patterns between NPUs and storage, and the type of their nodes."""

STRATEGY = "fred_strategy"
"""Of the metadata, a string: the strategy, such as ``MP2-DP5-PP2``."""

NPUS = "fred_npus"
"""Of the metadata, an ``int64_list``: the NPU of each worker, as ``Placement.npus`` has them."""

TASK = "fred_task"
"""``int64_list``: number of the task, its pipeline stage, and of a message the stage it goes to."""

ROLE = "fred_role"
"""String: a name of ``training.operations.ROLES``; compute has none."""

EXACT = "fred_exact"
"""``double``: seconds of compute, or numbers of two bytes that are communicated in a group."""

EFFORT = "fred_effort"
"""``double``: operations of compute, by which the order of service goes."""

AFTER = "fred_after"
"""``int64_list``: tasks that it waits for and that none of its NPUs takes part in."""

ACKS = "fred_acks"
"""``int64``: the message whose acks it waits for, as its stage sent to another one before."""
