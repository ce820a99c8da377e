"""An iteration as intervals in lanes, one lane per kind of task and stage."""

from typing import Any

from perfmodel.training.iteration import Iteration
from perfmodel.training.parts import PARTS

__all__ = ["timeline"]

MOST = 6000
"""Largest number of intervals; beyond it, intervals of a lane that nearly touch are merged."""

_Interval = tuple[float, float, str, int]


def timeline(iteration: Iteration) -> dict[str, Any]:
    """Return an iteration in the form in which the page draws it.

    Kinds that do not occur in a stage have no lane.

    Parameters
    ----------
    iteration : Iteration
        The simulated iteration.

    Returns
    -------
    dict
        ``end_us``; ``names`` of tasks; ``lanes``, each with ``stage``, ``kind``, ``busy_us`` and
        ``tasks``: starts and lengths [us] and the numbers of names, one after the other.
    """
    run = iteration.run
    found: dict[tuple[int, str], list[_Interval]] = {}
    for task, start_s, end_s in zip(iteration.tasks, run.start_s, run.end_s, strict=True):
        if end_s > start_s:
            lane = found.setdefault((task.place, task.kind), [])
            lane.append((start_s * 1e6, end_s * 1e6, task.name, 1))
    lanes = {key: sorted(found[key]) for key in sorted(found, key=_order)}
    gap_us = run.time_s * 1e6 / (1 << 16)
    busy = {key: _busy(lane) for key, lane in lanes.items()}
    while sum(map(len, lanes.values())) > MOST:
        lanes = {key: _joined(lane, gap_us) for key, lane in lanes.items()}
        gap_us *= 2
    names: dict[str, int] = {}
    drawn: list[dict[str, Any]] = []
    for (stage, kind), lane in lanes.items():
        tasks: list[float] = []
        for start, end, name, count in lane:
            words = name if count == 1 else f"{count} tasks from {name} on"
            tasks += [round(start, 3), round(end - start, 3), names.setdefault(words, len(names))]
        drawn.append(
            {"stage": stage, "kind": kind, "busy_us": round(busy[stage, kind], 3), "tasks": tasks}
        )
    return {"end_us": round(run.time_s * 1e6, 3), "names": list(names), "lanes": drawn}


def _order(lane: tuple[int, str]) -> tuple[int, int]:
    return lane[0], PARTS.index(lane[1])


def _busy(lane: list[_Interval]) -> float:
    """Return the time in which at least one task of a lane runs."""
    total, until = 0.0, 0.0
    for start, end, _, _ in lane:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _joined(lane: list[_Interval], gap_us: float) -> list[_Interval]:
    """Return a lane with neighbouring intervals merged if gap and length are below a limit."""
    joined: list[_Interval] = []
    for start, end, name, count in lane:
        if joined:
            before = joined[-1]
            small = max(end - start, before[1] - before[0]) <= 8 * gap_us
            if small and start - before[1] <= gap_us:
                joined[-1] = (before[0], max(before[1], end), before[2], before[3] + count)
                continue
        joined.append((start, end, name, count))
    return joined
