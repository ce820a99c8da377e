"""Events in the order of their times."""

from collections.abc import Callable
from heapq import heappop, heappush

__all__ = ["Clock"]


class Clock:
    """Calls functions at times; those of one time in the order in which they were asked for."""

    def __init__(self) -> None:
        self.now = 0
        """Time of what is called [ns]."""
        self._events: list[tuple[int, int, Callable[..., object], tuple[object, ...]]] = []
        self._count = 0

    def at(self, time: int, call: Callable[..., object], *arguments: object) -> None:
        """Have a function called at a time, which is not in the past [ns]."""
        self._count += 1
        heappush(self._events, (time, self._count, call, arguments))

    def run(self, then: Callable[[], object] | None = None) -> None:
        """Call all functions, and those that they ask for, until none is left.

        Parameters
        ----------
        then : callable or None
            Called after each of them.
        """
        while self._events:
            self.now, _, call, arguments = heappop(self._events)
            call(*arguments)
            if then:
                then()

    def pending(self) -> list[tuple[int, Callable[..., object], tuple[object, ...]]]:
        """Return what will be called: when, what and with what, in this order."""
        return [(time, call, arguments) for time, _, call, arguments in sorted(self._events)]
