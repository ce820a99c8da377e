"""Attributes of ours that say of which task of an iteration a node is.

A trace has no room for all that an iteration knows, such as who of a stage does the same at a time,
or in which order I/O controllers serve. Other simulators pass these attributes by.
"""

__all__ = ["ACKS", "AFTER", "EFFORT", "EXACT", "NPUS", "ROLE", "STRATEGY", "TASK"]

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
