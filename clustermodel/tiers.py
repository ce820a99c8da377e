"""Local and expanded memory of an NPU, and their combined bandwidth."""

from dataclasses import dataclass
from math import inf

__all__ = ["ACCESS", "MemoryTier", "effective_bandwidth", "expanded_share"]

ACCESS = ("serial", "striped")
"""Whether the two memories are read one after the other or at the same time."""


@dataclass(frozen=True, slots=True)
class MemoryTier:
    """A memory: capacity [B] and bandwidth [B/s]."""

    bytes: float
    bytes_per_s: float


def expanded_share(footprint_bytes: float, local: MemoryTier) -> float:
    """Return the share of a footprint that exceeds the local memory, from 0 to 1."""
    return max(0.0, 1 - local.bytes / footprint_bytes) if footprint_bytes else 0.0


def effective_bandwidth(
    footprint_bytes: float, local: MemoryTier, expanded: MemoryTier | None, access: str
) -> float | None:
    """Return the bandwidth of memory traffic spread evenly over a footprint [B/s].

    With a share x in the expanded memory, it is 1/((1 - x)/B_local + x/B_expanded) if one is read
    after the other (``serial``), and min(B_local/(1 - x), B_expanded/x) if both are read at once
    (``striped``), which exceeds the local bandwidth while x is small. These formulas are ours;
    COMET (arXiv 2211.16648) describes the idea.

    Parameters
    ----------
    footprint_bytes : float
        Bytes kept in memory [B].
    local, expanded : MemoryTier
        Both memories; None if there is no second.
    access : str
        One of ``ACCESS``.

    Returns
    -------
    float or None
        None if it does not fit.
    """
    share = expanded_share(footprint_bytes, local)
    if not share:
        return local.bytes_per_s
    if expanded is None or footprint_bytes > local.bytes + expanded.bytes:
        return None
    if access == "serial":
        return 1 / ((1 - share) / local.bytes_per_s + share / expanded.bytes_per_s)
    there = local.bytes_per_s / (1 - share) if share < 1 else inf
    return min(there, expanded.bytes_per_s / share)
