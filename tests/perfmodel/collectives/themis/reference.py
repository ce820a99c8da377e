"""A second implementation of Themis, from its description alone, to hold the first against.

Time advances in steps to the next end of a service; each dimension looks through all chunks for the
next one that waits. Numbers are fractions, loads seconds.
"""

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["orders", "time_s"]

Dimension = tuple[int, int]
"""NPUs of a line, and bytes per second of an NPU."""


def orders(dimensions: Sequence[Dimension], chunk: int, count: int) -> list[list[int]]:
    """Return the dimensions of each chunk of a reduce-scatter, the least loaded first."""
    load = [Fraction(0)] * len(dimensions)
    line = [*range(len(dimensions))]
    found: list[list[int]] = []
    for _ in range(count):
        line = sorted(line, key=lambda one: load[one])
        npus, rate = dimensions[line[0]]
        gap = max(load) - load[line[0]]
        if gap * rate * npus / (npus - 1) < chunk // 16:
            line = [*range(len(dimensions))]
        left = Fraction(chunk)
        for one in line:
            npus, rate = dimensions[one]
            load[one] += left * (npus - 1) / npus / rate
            left /= npus
        found.append([*line])
    return found


def time_s(
    dimensions: Sequence[Dimension], chunk: int, found: list[list[int]], intra: str
) -> float:
    """Return how long an all-reduce of chunks in these orders takes, without latency [s]."""
    count = len(dimensions)
    # Of each chunk: what it still has to do, its bytes, and when it came to its dimension.
    todo = [[(d, -1) for d in own] + [(d, 1) for d in reversed(own)] for own in found]
    size = [Fraction(chunk)] * len(found)
    came = [*range(len(found))]
    arrivals = len(found)
    busy: list[tuple[Fraction, int] | None] = [None] * count
    now = Fraction(0)

    def begin() -> None:
        for d in range(count):
            waiting = [
                one
                for one in range(len(found))
                if todo[one] and todo[one][0][0] == d and came[one] >= 0
            ]
            if busy[d] is not None or not waiting:
                continue
            first = min(waiting, key=lambda one: came[one])
            if intra == "scf":
                first = min(waiting, key=lambda one: (size[one], -came[one]))
            npus, rate = dimensions[d]
            way = todo[first][0][1]
            sent = size[first] * (npus - 1) / (npus if way < 0 else 1)
            busy[d] = now + sent / rate, first
            came[first] = -1

    # All chunks are there at the begin, but each dimension takes up the first that comes.
    for d in range(count):
        own = [one for one in range(len(found)) if todo[one][0][0] == d]
        if own:
            npus, rate = dimensions[d]
            busy[d] = size[own[0]] * (npus - 1) / npus / rate, own[0]
            came[own[0]] = -1
    while any(busy):
        now = min(one[0] for one in busy if one)
        d = max(number for number, one in enumerate(busy) if one and one[0] == now)
        ended = busy[d]
        assert ended
        chunk_number, busy[d] = ended[1], None
        _, way = todo[chunk_number].pop(0)
        npus = dimensions[d][0]
        size[chunk_number] *= Fraction(1, npus) if way < 0 else npus
        came[chunk_number], arrivals = arrivals, arrivals + 1
        begin()
    return float(now)
