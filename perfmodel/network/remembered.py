"""Caches of results per topology, which live as long as the topology is used."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from perfmodel.topology.graph import Topology

__all__ = ["MOST", "Remembered"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST = 256
"""Largest number of cached results per topology; the oldest result is evicted."""


class Remembered(Generic[K, V]):
    """Cache of one kind of results, by topology and key."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Topology, dict[K, V]] = WeakKeyDictionary()

    def of(self, topology: Topology, key: K, make: Callable[[], V]) -> V:
        """Return the result for a key; compute it if it is not cached."""
        known = self._known.setdefault(topology, {})
        if key not in known:
            found = make()
            if len(known) >= MOST:
                known.pop(next(iter(known)))
            known[key] = found
        return known[key]

    def clear(self) -> None:
        """Drop all cached results."""
        self._known.clear()
