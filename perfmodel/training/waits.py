"""Exposed time of an NPU, by what it waits for.

Exposed time is iteration time minus compute time, as ASTRA-sim counts it: time that is not
overlapped with compute while the workload waits (FRED, arXiv 2406.19580, section 7.4). Every gap
between two passes of a pipeline stage is followed backwards, from the pass that ends the gap along
the task that each task waited for last. Time of communication on this path is exposed under its
kind; time of compute, which is that of another stage, is the pipeline bubble.
"""

from collections.abc import Sequence

from perfmodel.network.fluid.task import Task
from perfmodel.network.fluid.tasks import Run

from .parts import WAITS

__all__ = ["waits_s"]


def waits_s(tasks: Sequence[Task], run: Run, stage: int) -> dict[str, float]:
    """Return how long an NPU of a pipeline stage waits for each of ``WAITS`` [s].

    Parameters
    ----------
    tasks, run : sequence of Task, Run
        Simulated tasks, and their start and end.
    stage : int
        Pipeline stage of the NPU.
    """
    found = dict.fromkeys(WAITS, 0.0)
    views = _Views(run)
    own = [i for i, task in enumerate(tasks) if task.kind == "compute" and task.place == stage]
    own.sort(key=run.start_s.__getitem__)
    again: dict[int, int] = {}  # runs of a task in the skipped periods
    for jump in run.jumps:
        for i in jump.tasks:
            again[i] = again.get(i, 0) + jump.times
    last = None
    for i in own:
        start_s, end_s = views.of(i)
        since_s = 0.0 if last is None else end_s[last]
        for kind, time_s in _gap(tasks, (start_s, end_s), tasks[i].after, since_s):
            found[kind] += time_s * (1 + again.get(i, 0))
        last = i
    since_s = 0.0 if last is None else run.end_s[last]
    for kind, time_s in _gap(tasks, (run.start_s, run.end_s), (run.last(tasks),), since_s):
        found[kind] += time_s
    return found


_Times = tuple[Sequence[float], Sequence[float]]
"""Start and end of each task [s]."""


def _gap(
    tasks: Sequence[Task], times: _Times, last: Sequence[int], since_s: float
) -> list[tuple[str, float]]:
    """Return causes and durations of waiting, from ``since_s`` to the end of the last tasks."""
    start_s, end_s = times
    found: list[tuple[str, float]] = []
    while last:
        # Where tasks end together compute counts: it hid the communication.
        number = max(last, key=lambda i: (end_s[i], tasks[i].kind == "compute"))
        if end_s[number] <= since_s:
            break
        kind = "bubble" if tasks[number].kind == "compute" else tasks[number].kind
        found.append((kind, end_s[number] - max(start_s[number], since_s)))
        last = tasks[number].after
    return found


class _Views:
    """Start and end of tasks, as seen by a task that ran before skipped periods.

    Where periods are left out, the last tasks before them are moved behind them. Tasks in front of
    the periods waited for these tasks where they were before that.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[tuple[int, ...], _Times] = {}

    def of(self, task: int) -> _Times:
        """Return the times as seen by a task."""
        key = tuple(n for n, jump in enumerate(self._run.jumps) if task in jump.before)
        if key not in self._known:
            start_s, end_s = list(self._run.start_s), list(self._run.end_s)
            for jump in (self._run.jumps[n] for n in key):
                for i in jump.moved:
                    start_s[i] -= jump.times * jump.period_s
                    end_s[i] -= jump.times * jump.period_s
            self._known[key] = start_s, end_s
        return self._known[key]
