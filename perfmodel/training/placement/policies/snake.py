"""Placement policy: row by row, with alternating direction."""

from perfmodel.topology.graph import Topology
from perfmodel.training.placement.policy import POLICIES, Policy

__all__ = ["snake"]


def snake(topology: Topology) -> list[int] | None:
    """Return the NPUs of a grid row by row, every second row reversed."""
    if topology.grid is None:
        return None
    columns, rows = topology.grid
    return [
        (x if y % 2 == 0 else columns - 1 - x) + columns * y
        for y in range(rows)
        for x in range(columns)
    ]


POLICIES.add("snake", Policy(snake, auto=True), rank=1)
