"""Heap of events ordered by time, then by order of insertion."""

from .compiled import compiled
from .state import State

__all__ = ["pop", "push"]


@compiled
def push(s: State, time: float, what: int) -> None:
    """Add an event at a time [ns]; ``what`` encodes its kind and index, see ``state.Kind``."""
    totals, times, orders, whats = s.totals, s.heap_time, s.heap_order, s.heap_what
    place, order = totals[0].events, totals[0].order
    totals[0].events = place + 1
    totals[0].order = order + 1
    while place > 0:
        above = (place - 1) // 2
        if times[above] <= time:
            break
        times[place], orders[place], whats[place] = times[above], orders[above], whats[above]
        place = above
    times[place], orders[place], whats[place] = time, order, what


@compiled
def pop(s: State) -> int:
    """Remove the first event, advance the time to it, and return its kind and index."""
    totals, times, orders, whats = s.totals, s.heap_time, s.heap_order, s.heap_what
    count = totals[0].events - 1
    totals[0].events = count
    totals[0].now = times[0]
    found = whats[0]
    time, order, what = times[count], orders[count], whats[count]
    place, child = 0, 1
    while child < count:
        other = child + 1
        if other < count and (
            times[other] < times[child]
            or (times[other] == times[child] and orders[other] < orders[child])
        ):
            child = other
        if times[child] > time or (times[child] == time and orders[child] > order):
            break
        times[place], orders[place], whats[place] = times[child], orders[child], whats[child]
        place, child = child, 2 * child + 1
    times[place], orders[place], whats[place] = time, order, what
    return found
