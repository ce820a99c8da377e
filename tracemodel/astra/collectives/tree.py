"""All-reduces on two binary trees that chunks use alternately (``DoubleBinaryTreeAllReduce.cc``).

Both trees have the NPUs in order from left to right. The root has one child: the left one in the
first tree, where it is the last NPU, and the right one in the second, where it is the first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from perfmodel.clock import Clock

from .runs import Messages, Run

__all__ = ["TreeNode", "TreeRun", "tree"]


@dataclass(frozen=True)
class TreeNode:
    """A node of a tree: its parent and its children."""

    parent: int | None
    children: tuple[int, ...]


def tree(count: int, second: bool) -> list[TreeNode]:
    """Return the tree over a power of two of positions."""
    parents: dict[int, int] = {}
    below: dict[int, list[int]] = {place: [] for place in range(count)}

    def join(first: int, size: int) -> int:
        """Join ``size`` positions (a power of two less one) and return the root."""
        top = first + size // 2
        if size > 1:
            for start in (first, top + 1):
                child = join(start, size // 2)
                parents[child] = top
                below[top].append(child)
        return top

    root = 0 if second else count - 1
    child = join(1 if second else 0, count - 1)
    parents[child] = root
    below[root].append(child)
    return [TreeNode(parents.get(place), tuple(below[place])) for place in range(count)]


class TreeRun(Run):
    """The part of one NPU in an all-reduce on a tree.

    Parameters
    ----------
    node : TreeNode
        Position of the NPU in the tree.
    size : int
        Bytes of each message.
    endpoint_ns, reduction_ns : int
        Delay of a sent or received message, and of a reduction [ns].
    others
        See ``Run``.
    """

    def __init__(
        self,
        node: TreeNode,
        size: int,
        endpoint_ns: int,
        reduction_ns: int,
        *others: *tuple[Messages, Clock[int], Callable[[], object]],
    ) -> None:
        super().__init__(*others)
        self._node, self._size = node, size
        self._endpoint_ns, self._reduction_ns = endpoint_ns, reduction_ns
        self._summed = 0

    def begin(self) -> None:
        """Start now: leaves send, inner nodes wait for their children."""
        if not self._node.children:
            self._clock.after(self._endpoint_ns, self._up)
        for child in self._node.children:
            self._messages.receive(
                child, self._size, partial(self._clock.after, self._reduced_ns, self._add)
            )

    @property
    def _reduced_ns(self) -> int:
        return self._endpoint_ns + self._reduction_ns

    def _add(self) -> None:
        self._summed += 1
        if self._summed == len(self._node.children):
            self._up()

    def _up(self) -> None:
        parent = self._node.parent
        if parent is None:
            self._down()
            return
        # Data on its way down also costs a reduction where it is forwarded.
        delay_ns = self._reduced_ns if self._node.children else self._endpoint_ns
        self._messages.send(parent, self._size)
        self._messages.receive(parent, self._size, partial(self._clock.after, delay_ns, self._down))

    def _down(self) -> None:
        for child in self._node.children:
            self._messages.send(child, self._size)
        self._ended()
