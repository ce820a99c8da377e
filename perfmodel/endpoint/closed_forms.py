"""Closed forms of the memory traffic of all-reduces (ACE, arXiv 2007.00156)."""

from collections.abc import Sequence

from fred_hw.checks import check_int

__all__ = ["LARGE_RING_READS", "bandwidth_reduction", "ring_reads", "sent_per_byte"]

LARGE_RING_READS = 1.5
"""Bytes that cores read per byte sent in a ring of very many NPUs."""


def ring_reads(members: int) -> float:
    """Return the bytes that cores read per byte sent in a ring all-reduce.

    Its first step reads 1 byte for each byte sent, the other steps of the reduce-scatter 2, and the
    steps of the all-gather 1.

    Parameters
    ----------
    members : int
        NPUs in the ring, 2 or more.

    Raises
    ------
    ValueError
        There are fewer members.
    """
    check_int("members", members, minimum=2)
    return (1 + 2 * (members - 2) + (members - 1)) / (2 * (members - 1))


def sent_per_byte(dimensions: Sequence[int]) -> float:
    """Return the bytes that an NPU sends per byte of a four-phase all-reduce.

    The local dimension is reduce-scattered, each other one all-reduced, and the local one gathered.
    An ACE endpoint reads each byte once, so it sends this many bytes for each byte that it reads.

    Parameters
    ----------
    dimensions : sequence of int
        NPUs along each dimension of a torus, 1 or more each, the local one first.

    Raises
    ------
    ValueError
        A dimension has no NPU.
    """
    local, *others = [check_int("dimension", one, minimum=1) for one in dimensions]
    return 2 * (1 - 1 / local) + 2 / local * sum(1 - 1 / one for one in others)


def bandwidth_reduction(dimensions: Sequence[int]) -> float:
    """Return the memory bandwidth of cores relative to ACE at the same network rate.

    Cores are taken to read as in very large rings.

    Parameters
    ----------
    dimensions : sequence of int
        See :func:`sent_per_byte`.
    """
    return LARGE_RING_READS * sent_per_byte(dimensions)
