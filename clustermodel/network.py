"""Networks of a cluster, level by level, and the time of collectives on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

__all__ = ["Level", "all_reduce_s", "all_to_all_s", "members", "send_s"]


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the network; levels are listed from the innermost.

    Parameters
    ----------
    fan_in : int
        Number of NPUs, or of blocks of the level below, that it connects.
    bytes_per_s : float
        Rate at which an NPU sends there, and receives at the same time [B/s].
    latency_s : float
        Latency of a message [s].
    """

    fan_in: int
    bytes_per_s: float
    latency_s: float


def members(levels: Sequence[Level], size: int, stride: int) -> list[int]:
    """Return how many members of a group each level connects.

    Member i of the group is NPU i times ``stride``. Where a block of a level holds no whole
    number of strides, or no divisor of the group, none meet inside it: the group goes over the
    next level, which never flatters it.
    """
    found: list[int] = []
    block = inside = 1
    for level in levels:
        block *= level.fan_in
        together = gcd(size, block // stride) if block % stride == 0 else 1
        found.append(together // inside)
        inside = together
    return found


def all_reduce_s(levels: Sequence[Level], size: int, stride: int, data_bytes: float) -> float:
    """Return the time of an all-reduce by rings, level by level [s].

    It consists of a reduce-scatter at the inner level, the same for the rest at the next level, and
    all-gathers on the way back: of n members each sends 2 (n - 1)/n of the bytes of its level
    (Thakur et al., IJHPCA 2005, section 4.5) in 2 (n - 1) messages.

    Parameters
    ----------
    levels : sequence of Level
        Levels, the innermost first; all groups work at the same time, each NPU with its own rates.
    size, stride : int
        See :func:`members`.
    data_bytes : float
        Data of each member [B].
    """
    total = 0.0
    for level, count in zip(levels, members(levels, size, stride), strict=True):
        steps = 2 * (count - 1)
        total += steps * (data_bytes / count / level.bytes_per_s + level.latency_s)
        data_bytes /= count
    return total


def all_to_all_s(levels: Sequence[Level], size: int, stride: int, data_bytes: float) -> float:
    """Return the time of an all-to-all by rounds of one message per pair [s].

    Of n members each sends 1/n of its bytes to each of the others, one after the other, over the
    innermost level that contains both (pairwise exchange of Thakur et al., IJHPCA 2005).

    Parameters
    ----------
    levels : sequence of Level
        See :func:`all_reduce_s`.
    size, stride : int
        See :func:`members`.
    data_bytes : float
        Data of each member, including its own part [B].
    """
    total, inside = 0.0, 1
    for level, count in zip(levels, members(levels, size, stride), strict=True):
        others = inside * (count - 1)
        total += others * (data_bytes / size / level.bytes_per_s + level.latency_s)
        inside *= count
    return total


def send_s(levels: Sequence[Level], size: int, stride: int, data_bytes: float) -> float:
    """Return the time of a message to the next group member, for the farthest pair [s]."""
    joined = [
        level
        for level, count in zip(levels, members(levels, size, stride), strict=True)
        if count > 1
    ]
    return max((data_bytes / one.bytes_per_s + one.latency_s for one in joined), default=0.0)
