"""Golden model of a tree all-reduce, with the schedule's order of additions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fred_hw.mesh.tree_program import TreeEdge

__all__ = ["all_reduce_along_trees"]

Words = NDArray[Any]


def all_reduce_along_trees(
    edges: Sequence[TreeEdge], vectors: Sequence[Words], reduce: Callable[[Words, Words], Words]
) -> Words:
    """Return the common result of all members; block r is the sum at the root of tree r.

    Parameters
    ----------
    edges : sequence of TreeEdge
        All trees, with the steps of an all-gather. A reduce-scatter begins with the last step.
    vectors : sequence of array
        Vector of each member; its length is a multiple of the number of members.
    reduce : Callable
        Reduction of two, the received operand first.
    """
    blocks = [np.split(one, len(vectors)) for one in vectors]
    for edge in sorted(edges, key=lambda one: one.step, reverse=True):
        own = blocks[edge.parent]
        own[edge.root] = reduce(blocks[edge.child][edge.root], own[edge.root])
    return np.concatenate([blocks[root][root] for root in range(len(vectors))])
