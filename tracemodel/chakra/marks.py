"""Attributes of exported iterations: node types, and the task that each node belongs to.

A trace has no place for some information about an iteration, such as the NPUs of a stage that do
the same at a time, or the order in which I/O controllers serve. Other simulators ignore the
attributes.
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
"""Patterns of an iteration that are collectives, and the ``comm_type`` of each."""

STREAMS = {"stream_in": NodeType.MEM_LOAD_NODE, "stream_out": NodeType.MEM_STORE_NODE}
"""Patterns of transfers between NPUs and storage, and their node types."""

STRATEGY = "fred_strategy"
"""Metadata attribute, ``string``: the strategy, such as ``MP2-DP5-PP2``."""

NPUS = "fred_npus"
"""Metadata attribute, ``int64_list``: the NPU of each worker, as in ``Placement.npus``."""

TASK = "fred_task"
"""Attribute, ``int64_list``: task number, pipeline stage, and a message's destination stage."""

ROLE = "fred_role"
"""Attribute, ``string``: a name of ``training.operations.ROLES``; compute has none."""

EXACT = "fred_exact"
"""Attribute, ``double``: seconds of compute, or two-byte numbers communicated in a group."""

EFFORT = "fred_effort"
"""Attribute, ``double``: operations of compute, which determine the order of service."""

AFTER = "fred_after"
"""Attribute, ``int64_list``: preceding tasks in which none of the task's NPUs takes part."""

ACKS = "fred_acks"
"""Attribute, ``int64``: the earlier message of the same stage whose acks the task waits for."""
