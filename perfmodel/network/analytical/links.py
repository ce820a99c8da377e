"""Links of ASTRA-sim's models: the delay of a message, and links that serve one at a time."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from perfmodel.clock import Clock

__all__ = ["FifoLinks", "Wire"]

Hop = TypeVar("Hop")


class Wire(NamedTuple):
    """A link, or several links that a message crosses without waiting.

    Parameters
    ----------
    latency_ns : float
        Latency of the first byte [ns].
    bytes_per_ns : float
        Rate [bytes per ns].
    """

    latency_ns: float
    bytes_per_ns: float

    def arrival_ns(self, count: int) -> int:
        """Return the time from the start of a message to its arrival, in whole ns."""
        return int(self.latency_ns + count / self.bytes_per_ns)

    def busy_ns(self, count: int) -> int:
        """Return how long a message occupies the link, in whole ns."""
        return int(count / self.bytes_per_ns)


class FifoLinks(Generic[Hop]):
    """Store-and-forward links that carry one message at a time, in order of arrival.

    Parameters
    ----------
    wire_of : callable
        Returns the link of a hop.
    clock : Clock
        Queue of future arrivals, in ns.
    """

    def __init__(self, wire_of: Callable[[Hop], Wire], clock: Clock[int]) -> None:
        self._wire_of, self._clock = wire_of, clock
        self._free: dict[Hop, int] = {}
        """Time from which each link is free."""

    def forward(self, route: Sequence[Hop], count: int, arrived: Callable[[], object]) -> None:
        """Send a message now over links; call a function when it has arrived."""
        if not route:
            arrived()
            return
        hop, now = route[0], self._clock.now
        wire = self._wire_of(hop)
        begin = max(now, self._free.get(hop, 0))
        self._free[hop] = begin + wire.busy_ns(count)
        self._clock.at(begin + wire.arrival_ns(count), self.forward, route[1:], count, arrived)

    def busy(self) -> dict[Hop, int]:
        """Return how much longer each busy link stays busy [ns]."""
        now = self._clock.now
        return {hop: free - now for hop, free in self._free.items() if free > now}
