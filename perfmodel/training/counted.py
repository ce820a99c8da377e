"""Repetition counts of an iteration's tasks, including periods that were skipped."""

from collections import Counter
from collections.abc import Sequence

from perfmodel.network.fluid.task import Profile, Task
from perfmodel.network.fluid.tasks import Run

__all__ = ["Counted", "counted"]

Counted = Sequence[tuple[str, Profile, int]]
"""Kind and profile of tasks, with the number of runs."""


def counted(tasks: Sequence[Task], run: Run) -> Counted:
    """Return how often tasks of each kind and profile ran.

    Parameters
    ----------
    tasks, run : sequence of Task, Run
        Simulated tasks, and the periods that were left out, which also count.
    """
    profiles = {id(task.profile): task.profile for task in tasks}
    times = Counter((task.kind, id(task.profile)) for task in tasks)
    for jump in run.jumps:
        for number in jump.tasks:
            times[tasks[number].kind, id(tasks[number].profile)] += jump.times
    return [(kind, profiles[key], often) for (kind, key), often in times.items()]
