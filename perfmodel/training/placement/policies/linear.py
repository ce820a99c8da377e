"""Placement policy: in the order of NPU numbers."""

from perfmodel.topology.graph import Topology
from perfmodel.training.placement.policy import POLICIES, Policy

__all__ = ["linear"]


def linear(topology: Topology) -> range:
    """Return the NPUs in the order of their numbers; on a mesh, row by row."""
    return range(topology.npus)


POLICIES.add("linear", Policy(linear, auto=True), rank=0)
