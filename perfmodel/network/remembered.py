"""Results that are remembered for each topology as long as the topology is used."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from perfmodel.topology.graph import Topology

__all__ = ["MOST", "Remembered"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST = 256
"""Results that are remembered for one topology; the oldest one makes room for another."""


class Remembered(Generic[K, V]):
    """Results of one kind by topology and key."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Topology, dict[K, V]] = WeakKeyDictionary()

    def of(self, topology: Topology, key: K, make: Callable[[], V]) -> V:
        """Return the result for a key, made if it is not remembered."""
        known = self._known.setdefault(topology, {})
        if key not in known:
            found = make()
            if len(known) >= MOST:
                known.pop(next(iter(known)))
            known[key] = found
        return known[key]

    def clear(self) -> None:
        """Drop all results."""
        self._known.clear()
