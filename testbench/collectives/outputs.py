"""What a simulated fabric prints, and the files that it leaves."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["effort_of", "faults_of", "marks_of", "memories_of", "wrote_of"]


def marks_of(said: str, nodes: int) -> list[list[int]]:
    """Return when the driver of each endpoint passed each mark [cycles]."""
    passed = re.findall(r"^MARK (\d+) (\d+)$", said, re.M)
    return [[int(now) for node, now in passed if int(node) == k] for k in range(nodes)]


def effort_of(said: str) -> tuple[float, float]:
    """Return the share of all steps that were simulated, and seconds; 1 and 0 if not told."""
    speed = re.search(r"^SPEED ([\d.]+) s, .* ([\d.]+) of all steps$", said, re.M)
    return (float(speed[2]), float(speed[1])) if speed else (1.0, 0.0)


def faults_of(said: str) -> int:
    """Return how many flits links lost or changed: each told, or how many of some links."""
    told = re.findall(r"^FAULTS?(?: (\d+))?$", said, re.M)
    return sum(int(count or 1) for count in told)


def wrote_of(said: str, nodes: int) -> list[list[tuple[int, int]]]:
    """Return of each memory the last flit of what was written in a row, and when [cycles]."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for node, flit, now in re.findall(r"^WROTE (\d+) (\d+) (\d+)$", said, re.M):
        found[int(node)].append((int(flit), int(now)))
    return found


def memories_of(work: Path, nodes: int) -> list[NDArray[np.uint8]]:
    """Return the memories, shape (flits, bytes of a flit)."""
    memories: list[NDArray[np.uint8]] = []
    for k in range(nodes):
        lines = (work / f"result_{k}.hex").read_text().splitlines()
        lines = [one.replace("x", "0") for one in lines if one and not one.startswith("//")]
        words = [bytes.fromhex(one)[::-1] for one in lines]  # "x" is what nobody has written
        memories.append(np.array([list(word) for word in words], dtype=np.uint8))
    return memories
