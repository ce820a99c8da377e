"""The order in which all links serve the tasks of an iteration.

It is fixed before anything is timed: tasks are laid out as if compute took its operations and
transfers took nothing, so no duration, latency, bandwidth or size can change it.
"""

from collections.abc import Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

from .task import PATIENT, Task

__all__ = ["Step", "service_order"]


class Step(NamedTuple):
    """A task, or the start of a non-urgent task.

    Parameters
    ----------
    task : int
        Which.
    ends : bool
        Whether it is to be complete here; else its links may begin with it here.
    """

    task: int
    ends: bool = True


class _Place(NamedTuple):
    """Fields of a ``Task`` that determine the order."""

    after: tuple[int, ...]
    effort: float
    priority: int


_FIELDS = attrgetter(*_Place._fields)


def service_order(tasks: Sequence[Task]) -> list[Step]:
    """Return all tasks in service order, each after its dependencies.

    Urgent ones stand where they begin in the layout, of those that begin together the one of the
    lower priority number first. What is not urgent stands where it is to be complete: when an
    urgent task needs it; if none does, when the next like it may begin, or in the end. What waits
    for nothing stands at the start.

    Parameters
    ----------
    tasks : sequence of Task
        Tasks, each listed after the tasks that it waits for.
    """
    return list(_ordered(tuple(map(_FIELDS, tasks))))


@lru_cache(maxsize=16)  # iterations of other NPUs, links or sizes have the same order
def _ordered(fields: tuple[tuple[Any, ...], ...]) -> tuple[Step, ...]:
    tasks = [_Place(*one) for one in fields]
    steps = _by_layout(tasks)
    first, last = [-1] * len(tasks), [-1] * len(tasks)  # places of the steps of each task
    for place, (i, _) in enumerate(steps):
        first[i], last[i] = (place if first[i] < 0 else first[i]), place
    waits = [len(task.after) for task in tasks]
    followers: list[list[int]] = [[] for _ in tasks]
    for i, task in enumerate(tasks):
        for before in task.after:
            followers[before].append(i)
    # What may come next, the earliest of the layout first.
    heap = [first[i] for i, count in enumerate(waits) if not count]
    heapify(heap)
    order: list[Step] = []
    while heap:
        step = steps[heappop(heap)]
        order.append(step)
        i, ends = step
        if not ends:
            heappush(heap, last[i])
            continue
        for follower in followers[i]:
            waits[follower] -= 1
            if not waits[follower]:
                heappush(heap, first[follower])
    return tuple(order)


def _by_layout(tasks: Sequence[_Place]) -> list[Step]:
    """Return the steps of all tasks in layout order: one, or two for a non-urgent task."""
    keys: list[tuple[float, int, float, int, bool]] = []
    begin, close = _layout(tasks)
    for i, (task, here, until) in enumerate(zip(tasks, begin, close, strict=True)):
        if task.priority < PATIENT:
            keys.append((here, task.priority, here, i, True))
        else:
            # Before the urgent ones there; of several, what began first.
            keys += ((here, -1, here, i, False), (max(here, until), -1, here, i, True))
    keys.sort()
    return [Step(i, ends) for _, _, _, i, ends in keys]


def _layout(tasks: Sequence[_Place]) -> tuple[list[float], list[float]]:
    """Return the start and the deadline of each task, measured in operations."""
    begin, end = [0.0] * len(tasks), [0.0] * len(tasks)
    for i, task in enumerate(tasks):
        for before in task.after:
            if begin[i] < end[before]:
                begin[i] = end[before]
        end[i] = begin[i] + task.effort
    horizon = max(end, default=0.0)
    needed, behind = [inf] * len(tasks), [horizon] * len(tasks)
    for i, task in enumerate(tasks):
        sooner = needed if task.priority < PATIENT else behind
        for before in task.after:
            if sooner[before] > begin[i]:
                sooner[before] = begin[i]
    close = [other if until == inf else until for until, other in zip(needed, behind, strict=True)]
    for i, task in enumerate(tasks):
        if not task.after:
            close[i] = begin[i]
        if task.priority >= PATIENT:
            before = [close[j] for j in task.after if tasks[j].priority >= PATIENT]
            begin[i] = max(begin[i], *before) if before else begin[i]
    return begin, close
