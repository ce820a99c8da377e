"""Placement policies: the order in which workers are assigned to NPUs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fred_hw.registry import Registry
from perfmodel.topology.graph import Topology

__all__ = ["POLICIES", "Policy", "fitting"]


@dataclass(frozen=True, slots=True)
class Policy:
    """An order of NPUs in which workers are placed.

    Parameters
    ----------
    walk : callable
        Returns the order of the NPUs of a topology, or None where the policy does not fit it.
    auto : bool
        Whether ``auto`` tries it too; figures then may change.
    """

    walk: Callable[[Topology], Sequence[int] | None]
    auto: bool = False


POLICIES: Registry[Policy] = Registry("perfmodel.training.placement.policies", "placement policy")
"""Placement policies by name."""


def fitting(topology: Topology, *, auto: bool = False) -> tuple[str, ...]:
    """Return the policies that fit a topology: all of them, or those that ``auto`` tries.

    Several wafers are filled in the same order.
    """
    topology = topology.wafer or topology
    return tuple(
        name
        for name, policy in POLICIES.items()
        if (policy.auto or not auto) and policy.walk(topology) is not None
    )
