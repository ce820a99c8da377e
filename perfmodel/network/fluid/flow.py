"""Flows: the load that a collective's chunks put on links."""

from dataclasses import dataclass

__all__ = ["FluidFlow"]


@dataclass(frozen=True, slots=True)
class FluidFlow:
    """A transfer of bytes over links.

    A message through a chain or a tree of links is one flow. So is one pass around a logical
    ring, in which every member sends to the next one N - 1 times: nobody can send on what it has
    not received, so all edges of the ring advance together.

    Parameters
    ----------
    loads : tuple of (int, float)
        Link, and bytes on it for each byte of the payload.
    payload_bytes : float
        Bytes that each source sends [B].
    latency_s : float
        Time from the last byte leaving its source to the end of the flow [s]: latency of links and
        switches on the longest path, summed over messages that follow each other.
    after : tuple of int
        Flows of the same chunk, earlier in the list, that must be complete before this one starts.
    """

    loads: tuple[tuple[int, float], ...]
    payload_bytes: float
    latency_s: float
    after: tuple[int, ...] = ()
