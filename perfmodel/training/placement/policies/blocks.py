"""Placement policy: squares of 2 x 2 NPUs."""

from perfmodel.topology.graph import Topology
from perfmodel.training.placement.policy import POLICIES, Policy

__all__ = ["blocks"]


def blocks(topology: Topology) -> list[int] | None:
    """Return the NPUs of a grid square by square, around each square."""
    if topology.grid is None:
        return None
    columns, rows = topology.grid
    order: list[int] = []
    for top in range(0, rows, 2):
        for left in range(0, columns, 2):
            square = ((left, top), (left + 1, top), (left + 1, top + 1), (left, top + 1))
            order += [x + columns * y for x, y in square if x < columns and y < rows]
    return order


POLICIES.add("blocks", Policy(blocks, auto=True), rank=4)
