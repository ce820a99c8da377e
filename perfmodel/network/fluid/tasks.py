"""Simulation of dependent tasks: compute, and transfers over shared links.

A task of compute takes its time. A transfer takes its time where it is alone. With others, each of
its links serves it by itself: after the transfer before it of its own queue, and after the time
that the link needs for all that stands between the two in an order that is fixed beforehand
(``order``). It is complete when its last link has served it. A queue is a pipeline stage, and
whether the transfer is urgent; what is urgent does not wait for what is not.

So a link that is kept busy serves everything in turn, what waits for one link holds back only what
needs it, and nothing waits for a transfer of another queue to begin. Only what is not urgent waits
for transfers like it of other stages too, if those are sure to begin before it.

Every end is a maximum of sums of durations, and no duration changes which. So no task ends sooner
where compute, a latency or a number of bytes grows, or where a bandwidth falls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import ge

from fred_hw.progress import track

from .links import Before, Links, LinkTimes
from .order import service_order
from .repeats import Jump, Repeats, Watch
from .task import PATIENT, Profile, Task

__all__ = ["Run", "Simulation"]


@dataclass(frozen=True, slots=True)
class Run:
    """Start and end of each task.

    Parameters
    ----------
    start_s, end_s : tuple of float
        Start and end of each task [s]. A task starts when all tasks that it waits for are complete.
    jumps : tuple of Jump
        Periods that were left out.
    """

    start_s: tuple[float, ...]
    end_s: tuple[float, ...]
    jumps: tuple[Jump, ...] = ()

    @property
    def time_s(self) -> float:
        """End of the last task [s]."""
        return max(self.end_s, default=0.0)

    def last(self, tasks: Sequence[Task]) -> int:
        """Return the task that ends last; of several, the first one of compute if there is one."""
        time_s = self.time_s
        last = [i for i, end_s in enumerate(self.end_s) if end_s == time_s]
        return next((i for i in last if tasks[i].kind == "compute"), last[0])


class Simulation:
    """Tasks in their order of service, simulated with compute at any speed.

    Parameters
    ----------
    tasks : sequence of Task
        Tasks, each listed after the tasks that it waits for.
    capacities : sequence of float
        Payload bandwidth of each link [B/s].
    """

    def __init__(self, tasks: Sequence[Task], capacities: Sequence[float]) -> None:
        for number, task in enumerate(tasks):
            for before in task.after:
                if not 0 <= before < number:
                    raise ValueError(
                        f"task {number} must come after task {before}, for which it waits"
                    )
        self.tasks = tasks
        self.steps = service_order(tasks)
        profiles = {id(task.profile): task.profile for task in tasks if task.profile.loads}
        found, self._links = _link_times(list(profiles.values()), capacities)
        link_times = dict(zip(profiles, found, strict=True))
        self._stages = max((task.place for task in tasks), default=0) + 1
        self._link_times = [link_times.get(id(task.profile), ()) for task in tasks]
        self._before = Before(tasks)
        # What waits for another of its own queue waits for the links of all of it; what is of
        # another queue has to wait for each link alone.
        self._others = {
            i: self._before.others(i) for i, task in enumerate(tasks) if task.priority >= PATIENT
        }

    def run(self, scale: float = 1.0) -> Run:
        """Return the times of all tasks if compute takes ``scale`` times its time."""
        found = self.run_repeating(scale, None)
        assert found is not None
        return found

    def run_repeating(self, scale: float, repeats: Repeats | None) -> Run | None:
        """Return the times of all tasks with periods skipped; None if that is not certain."""
        links = Links(self._links, self._stages, self._before)
        tasks, link_times = self.tasks, self._link_times
        start, end = [0.0] * len(tasks), [0.0] * len(tasks)
        watch = Watch(repeats, tasks, self.steps, start, end, links) if repeats else None
        for place, (i, ends) in enumerate(track(self.steps, "tasks")):
            if watch and place == watch.next:
                watch.look(place)
            task, on_links = tasks[i], link_times[i]
            if not ends:
                links.open(i, on_links)
                continue
            ready = 0.0
            for before in task.after:
                if end[before] > ready:
                    ready = end[before]
            start[i] = ready
            alone_s = task.profile.time_s
            if not task.profile.loads:
                end[i] = ready + (scale if task.kind == "compute" else 1.0) * alone_s
                continue
            if task.priority < PATIENT:
                served = links.urgent(task.place, on_links, ready)
            else:
                free = max([end[one] for one in self._others[i]], default=0.0)
                served = links.patient(i, task.place, on_links, ready, free)
            end[i] = served if served > ready + alone_s else ready + alone_s
        if watch and not watch.done:
            return None
        return Run(tuple(start), tuple(end), tuple(watch.jumps) if watch else ())


def _link_times(
    profiles: Sequence[Profile], capacities: Sequence[float]
) -> tuple[list[LinkTimes], int]:
    """Return the links that can determine the end of each transfer, with its time on each [s].

    A link that every transfer keeps at most as long as another is never free later than that. The
    others are numbered from 0; the second result is how many they are.
    """
    columns: dict[int, list[float]] = {}
    for number, profile in enumerate(profiles):
        for link, carried in profile.loads:
            column = columns.setdefault(link, [0.0] * len(profiles))
            column[number] += carried / capacities[link]
    kept: list[tuple[float, ...]] = []
    for column in sorted({tuple(column) for column in columns.values()}, key=sum, reverse=True):
        if not any(all(map(ge, other, column)) for other in kept):
            kept.append(column)
    link_times = [
        tuple((link, column[number]) for link, column in enumerate(kept) if column[number] > 0.0)
        for number in range(len(profiles))
    ]
    return link_times, len(kept)
