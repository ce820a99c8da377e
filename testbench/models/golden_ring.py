"""Golden model of endpoint rings: operands and order of additions.

Written from docs/reference/endpoint.md: the sum of block r begins with member r + 1 and goes
around. It knows no messages, no chunks and no cycles.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["all_reduce", "reduce_blocks"]

Words = NDArray[np.unsignedinteger]
Reduce = Callable[[Words, Words], Words]


def reduce_blocks(values: Sequence[Words], reduce: Reduce) -> list[Words]:
    """Return the sum of each block, starting with that of member 0.

    Parameters
    ----------
    values : sequence of array
        Data sent by each member of the ring, shape (flits, lanes).
    reduce : Callable
        Reduction of two, the received operand first.
    """
    count, flits = len(values), len(values[0])
    size = -(-flits // count)
    found = []
    for owner in range(count):
        part = slice(owner * size, (owner + 1) * size)
        total = values[(owner + 1) % count][part]
        for distance in range(2, count + 1):
            total = reduce(total, values[(owner + distance) % count][part])
        found.append(total)
    return found


def all_reduce(levels: Sequence[Sequence[Words]], reduce: Reduce) -> Words:
    """Return the sum that all members receive, shape (flits, lanes).

    Parameters
    ----------
    levels : sequence of sequence of array
        Data sent by members, shape (flits, lanes), by their ring; with several rings, members with
        the same position in each then form a ring for the block of that position.
    reduce : Callable
        Reduction of two, the received operand first.
    """
    parts = [reduce_blocks(level, reduce) for level in levels]
    if len(parts) == 1:
        return np.concatenate(parts[0])
    across = [reduce_blocks(blocks, reduce) for blocks in zip(*parts, strict=True)]
    return np.concatenate([block for blocks in across for block in blocks])
