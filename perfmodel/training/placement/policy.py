"""Placement policies: in which order NPUs are taken while workers are placed one after another."""

from collections.abc import Callable, Sequence

from fred_hw.registry import Registry
from perfmodel.topology.graph import Topology

__all__ = ["POLICIES", "fitting"]

POLICIES: Registry[Callable[[Topology], Sequence[int] | None]] = Registry(
    "perfmodel.training.placement.policies", "placement policy"
)
"""By name: order of the NPUs of a topology, or None where the policy does not fit it."""


def fitting(topology: Topology) -> tuple[str, ...]:
    """Return the policies that fit a topology."""
    return tuple(name for name, walk in POLICIES.items() if walk(topology) is not None)
