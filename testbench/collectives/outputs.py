"""Parsing of the output and files of a simulated fabric."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbench.sim.tools import SimulatorError

__all__ = ["by_node", "memories_of", "reported_by"]

Reported = Mapping[str, Sequence[Any]]
"""Reports by kind: lists of numbers that start with the node's number; see ``fabric.v``."""


def reported_by(text: str) -> Reported:
    """Return the reports in the JSON lines of a text, grouped by kind.

    Raises
    ------
    SimulatorError
        A value is undefined.
    """
    found: dict[str, list[Any]] = defaultdict(list)
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            reported: dict[str, Any] = json.loads(line)
        except ValueError:
            raise SimulatorError(f"fabric: {line} is undefined") from None
        for kind, value in reported.items():
            found[kind].append(value)
    return found


def by_node(reported: Reported, kind: str, nodes: int) -> list[list[list[int]]]:
    """Return the reports of one kind for each node, in order."""
    return [[rest for node, *rest in reported.get(kind, ()) if node == k] for k in range(nodes)]


def memories_of(work: Path, nodes: int) -> list[NDArray[np.uint8]]:
    """Return the memories, shape (flits, bytes per flit)."""
    memories: list[NDArray[np.uint8]] = []
    for k in range(nodes):
        lines = (work / f"result_{k}.hex").read_text().splitlines()
        lines = [one.replace("x", "0") for one in lines if one and not one.startswith("//")]
        words = [bytes.fromhex(one)[::-1] for one in lines]  # "x" was never written
        memories.append(np.array([list(word) for word in words], dtype=np.uint8))
    return memories
