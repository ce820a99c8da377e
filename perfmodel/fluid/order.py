"""The order in which every link serves the tasks of an iteration.

It is fixed before anything is timed: tasks are laid out as if compute took its operations and
transfers took nothing, so no duration, latency, bandwidth or size can change it.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from .task import PATIENT, Task

__all__ = ["Step", "service_order"]


class Step(NamedTuple):
    """A task, or the beginning of one that is not urgent.

    Parameters
    ----------
    task : int
        Which.
    ends : bool
        Whether it is to be complete here; else its links may begin with it here.
    """

    task: int
    ends: bool = True


_Key = tuple[float, int, float]


def service_order(tasks: Sequence[Task]) -> list[Step]:
    """Return all tasks in order, each after those that it waits for.

    Urgent ones stand where they begin in the layout, of those that begin together the one of the
    lower priority number first. What is not urgent stands where it is to be complete: when an
    urgent task needs it; if none does, when the next like it may begin, or in the end. What waits
    for nothing stands at the start.

    Parameters
    ----------
    tasks : sequence of Task
        Each after those that it waits for.
    """
    keys = _keys(tasks)
    waits = [len(task.after) for task in tasks]
    followers: list[list[int]] = [[] for _ in tasks]
    for i, task in enumerate(tasks):
        for before in task.after:
            followers[before].append(i)
    # What may come next, the earliest of the layout first.
    heap = [(keys[i][0], i, 0) for i, count in enumerate(waits) if not count]
    heapify(heap)
    order: list[Step] = []
    while heap:
        _, i, place = heappop(heap)
        ends = place + 1 == len(keys[i])
        order.append(Step(i, ends))
        if not ends:
            heappush(heap, (keys[i][place + 1], i, place + 1))
            continue
        for follower in followers[i]:
            waits[follower] -= 1
            if not waits[follower]:
                heappush(heap, (keys[follower][0], follower, 0))
    return order


def _keys(tasks: Sequence[Task]) -> list[list[_Key]]:
    """Return where each task stands: one key, or two of what is not urgent."""
    begin, close = _layout(tasks)
    return [
        [(here, task.priority, here)]
        if task.priority < PATIENT
        # Before the urgent ones there; of several, what began first.
        else [(here, -1, here), (max(here, until), -1, here)]
        for task, here, until in zip(tasks, begin, close, strict=True)
    ]


def _layout(tasks: Sequence[Task]) -> tuple[list[float], list[float]]:
    """Return when each task begins, and by when it is to be complete, in operations."""
    begin: list[float] = []
    end: list[float] = []
    for task in tasks:
        begin.append(max((end[before] for before in task.after), default=0.0))
        end.append(begin[-1] + task.effort)
    horizon = max(end, default=0.0)
    needed: list[float | None] = [None] * len(tasks)
    behind = [horizon] * len(tasks)
    for i, task in enumerate(tasks):
        for before in task.after:
            if task.priority < PATIENT:
                until = needed[before]
                needed[before] = begin[i] if until is None else min(until, begin[i])
            else:
                behind[before] = min(behind[before], begin[i])
    close = [other if until is None else until for until, other in zip(needed, behind, strict=True)]
    for i, task in enumerate(tasks):
        if not task.after:
            close[i] = begin[i]
        if task.priority >= PATIENT:
            before = [close[j] for j in task.after if tasks[j].priority >= PATIENT]
            begin[i] = max(begin[i], *before) if before else begin[i]
    return begin, close
