"""Event queue in the order of time."""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Generic, TypeVar

__all__ = ["ROUNDING_CYCLES", "Clock"]

ROUNDING_CYCLES = 1e-6
"""Largest rounding error of a sum of cycles; much less than one."""

Time = TypeVar("Time", int, float)


class Clock(Generic[Time]):
    """Calls functions at given times; simultaneous calls run in the order of request.

    Parameters
    ----------
    now : int or float
        When it begins, in the unit of all its times: whole nanoseconds, or cycles.
    """

    def __init__(self, now: Time) -> None:
        self.now: Time = now
        """Time of the call in progress."""
        self._events: list[tuple[Time, int, Callable[..., object], tuple[object, ...]]] = []
        self._count = 0

    def at(self, time: Time, call: Callable[..., object], *arguments: object) -> None:
        """Call a function at a time, which must not be in the past."""
        self._count += 1
        heappush(self._events, (time, self._count, call, arguments))

    def after(self, span: Time, call: Callable[..., object], *arguments: object) -> None:
        """Call a function after a delay of 0 or more."""
        self._count += 1
        heappush(self._events, (self.now + span, self._count, call, arguments))

    def run(self, then: Callable[[], object] | None = None) -> None:
        """Run all scheduled calls, including new ones, until none is left.

        Parameters
        ----------
        then : callable or None
            Called after each call.
        """
        events = self._events
        while events:
            self.now, _, call, arguments = heappop(events)
            call(*arguments)
            if then:
                then()

    @property
    def next_time(self) -> Time | float:
        """Time of the next call; infinity if there is none."""
        return self._events[0][0] if self._events else inf

    def pending(self) -> list[tuple[Time, Callable[..., object], tuple[object, ...]]]:
        """Return the scheduled calls in order: time, function and arguments."""
        return [(time, call, arguments) for time, _, call, arguments in sorted(self._events)]
