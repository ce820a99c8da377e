"""How often an iteration does what: tasks with the same profile, and periods left out."""

from collections import Counter
from collections.abc import Sequence

from perfmodel.network.fluid.task import Profile, Task
from perfmodel.network.fluid.tasks import Run

__all__ = ["Counted", "counted"]

Counted = Sequence[tuple[str, Profile, int]]
"""Kind and profile of tasks, and how often they ran."""


def counted(tasks: Sequence[Task], run: Run) -> Counted:
    """Return each kind of tasks with each profile, and how often it ran.

    Parameters
    ----------
    tasks, run : sequence of Task, Run
        What was simulated, and the periods that were left out, which count too.
    """
    profiles = {id(task.profile): task.profile for task in tasks}
    times = Counter((task.kind, id(task.profile)) for task in tasks)
    for jump in run.jumps:
        for number in jump.tasks:
            times[tasks[number].kind, id(tasks[number].profile)] += jump.times
    return [(kind, profiles[key], often) for (kind, key), often in times.items()]
