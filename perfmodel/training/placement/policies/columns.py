"""Placement policies: column by column, with or without alternating direction."""

from perfmodel.topology.graph import Topology
from perfmodel.training.placement.policy import POLICIES, Policy

__all__ = ["column_snake", "columns"]


def columns(topology: Topology) -> list[int] | None:
    """Return the NPUs of a grid column by column."""
    return _walk(topology, turn=False)


def column_snake(topology: Topology) -> list[int] | None:
    """Return the NPUs of a grid column by column, every second column reversed."""
    return _walk(topology, turn=True)


def _walk(topology: Topology, *, turn: bool) -> list[int] | None:
    if topology.grid is None:
        return None
    width, rows = topology.grid
    return [
        x + width * (rows - 1 - y if turn and x % 2 else y)
        for x in range(width)
        for y in range(rows)
    ]


POLICIES.add("columns", Policy(columns, auto=True), rank=2)
POLICIES.add("column_snake", Policy(column_snake, auto=True), rank=3)
