"""Simulation of tasks that wait for each other: compute, and transfers over shared links.

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

from .order import service_order
from .repeats import Jump, Repeats, Watch
from .task import PATIENT, Profile, Task

__all__ = ["Links", "Run", "Simulation"]


@dataclass(frozen=True, slots=True)
class Run:
    """When each task ran.

    Parameters
    ----------
    start_s, end_s : tuple of float
        Of each task [s]. It starts when all that it waits for is complete.
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


class Simulation:
    """Tasks in their order of service, to be run with compute of any speed.

    Parameters
    ----------
    tasks : sequence of Task
        Each after those that it waits for.
    capacities : sequence of float
        Payload bandwidth of each link [B/s].
    """

    def __init__(self, tasks: Sequence[Task], capacities: Sequence[float]) -> None:
        for number, task in enumerate(tasks):
            for before in task.after:
                if not 0 <= before < number:
                    raise ValueError(f"task {number} must come after what it waits for")
        self.tasks = tasks
        self.steps = service_order(tasks)
        profiles = {id(task.profile): task.profile for task in tasks if task.profile.loads}
        found, self._links = _ways(list(profiles.values()), capacities)
        ways = dict(zip(profiles, found, strict=True))
        self._stages = max((task.place for task in tasks), default=0) + 1
        self._ways = [ways.get(id(task.profile), ()) for task in tasks]
        self._before = _Before(tasks)
        # What waits for another of its own queue waits for the links of all of it; what is of
        # another queue has to wait for each link alone.
        self._others = {
            i: self._before.others(i) for i, task in enumerate(tasks) if task.priority >= PATIENT
        }

    def run(self, scale: float = 1.0) -> Run:
        """Return when each task runs if compute takes ``scale`` times its time."""
        found = self.run_repeating(scale, None)
        assert found is not None
        return found

    def run_repeating(self, scale: float, repeats: Repeats | None) -> Run | None:
        """Return the same with periods left out; None if it is not sure how long they take."""
        links = Links(self._links, self._stages, self._before)
        tasks, ways = self.tasks, self._ways
        start, end = [0.0] * len(tasks), [0.0] * len(tasks)
        watch = Watch(repeats, tasks, self.steps, start, end, links) if repeats else None
        for place, (i, ends) in enumerate(track(self.steps, "tasks")):
            if watch and place == watch.next:
                watch.look(place)
            task, way = tasks[i], ways[i]
            if not ends:
                links.open(i, way)
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
                served = links.urgent(task.place, way, ready)
            else:
                free = max([end[one] for one in self._others[i]], default=0.0)
                served = links.patient(i, task.place, way, ready, free)
            end[i] = served if served > ready + alone_s else ready + alone_s
        if watch and not watch.done:
            return None
        return Run(tuple(start), tuple(end), tuple(watch.jumps) if watch else ())


_Way = tuple[tuple[int, float], ...]
"""Links of a transfer, and its time on each [s]."""


class _Queue:
    """What a stage has sent of one urgency, by link."""

    def __init__(self, links: int) -> None:
        self.end = [float("-inf")] * links  # of the last transfer
        self.early = list(self.end)  # the same if nothing but this link held up those before it
        self.until = [0.0] * links  # time of all that the link had served by then
        self.task = [-1] * links


class Links:
    """What the links have served so far."""

    def __init__(self, links: int, stages: int, before: "_Before") -> None:
        self._before = before
        self.served_urgent = [0.0] * links  # time of all urgent transfers
        self.served = [0.0] * links
        self.queues = [_Queue(links) for _ in range(stages)]
        self._patient = [_Queue(links) for _ in range(stages)]
        self._opened: dict[int, list[float]] = {}

    def urgent(self, stage: int, way: _Way, ready: float) -> float:
        """Serve an urgent transfer; return when its last link has."""
        latest, queue = ready, self.queues[stage]
        ends, until, urgent, both = queue.end, queue.until, self.served_urgent, self.served
        for link, seconds in way:
            served = urgent[link]
            begin = ends[link] + (served - until[link])
            if begin < ready:
                begin = ready
            ends[link] = begin = begin + seconds
            urgent[link] = until[link] = served + seconds
            both[link] += seconds
            if begin > latest:
                latest = begin
        return latest

    def open(self, i: int, way: _Way) -> None:
        """Note that the links may begin with what is not urgent."""
        self._opened[i] = [self.served_urgent[link] for link, _ in way]

    def patient(self, i: int, stage: int, way: _Way, ready: float, free: float) -> float:
        """Serve what is not urgent, after all urgent transfers since it was opened."""
        latest, queue = ready, self._patient[stage]
        others = self._patient if i in self._before.last else ()
        ends, earliest, until, last = queue.end, queue.early, queue.until, queue.task
        urgent, both = self.served_urgent, self.served
        for (link, seconds), opened in zip(way, self._opened[i], strict=True):
            served = both[link]
            more, since = urgent[link] - opened, served - until[link]
            begin, early = ends[link] + since, earliest[link] + since
            if begin < ready + more:
                begin = ready + more
            if early < free + more:
                early = free + more
            for other in others:
                if other.task[link] >= 0 and other is not queue:
                    left = other.early[link] + (served - other.until[link])
                    if left > begin and self._before(other.task[link], i):
                        begin = left
            ends[link], earliest[link] = begin + seconds, early + seconds
            until[link] = both[link] = served + seconds
            last[link] = i
            if latest < begin + seconds:
                latest = begin + seconds
        return latest


class _Before:
    """Which of two tasks that are not urgent is sure to begin first, whatever takes how long.

    Called with two numbers of tasks: whether all that the first waits for is among what the second
    waits for, but for others like it of its own stage, which links serve in turn anyway.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        followed = {
            before
            for task in tasks
            if task.priority >= PATIENT
            for before in task.after
            if tasks[before].priority >= PATIENT
        }
        self.last = {
            i for i, task in enumerate(tasks) if task.priority >= PATIENT and i not in followed
        }
        self._known: dict[tuple[int, int], bool] = {}
        self._above: list[int] = []  # all that a task waits for, as bits

    def __call__(self, first: int, second: int) -> bool:
        key = (first, second)
        if key not in self._known:
            if not self._above:
                for task in self._tasks:
                    bits = 0
                    for before in task.after:
                        bits |= self._above[before] | 1 << before
                    self._above.append(bits)
            above = self._above[second]
            self._known[key] = all(above >> before & 1 for before in self.others(first))
        return self._known[key]

    def others(self, number: int) -> list[int]:
        """Return what a task waits for, but for those like it of its own stage."""
        task, tasks = self._tasks[number], self._tasks
        return [
            before
            for before in task.after
            if tasks[before].priority < PATIENT or tasks[before].place != task.place
        ]


def _ways(profiles: Sequence[Profile], capacities: Sequence[float]) -> tuple[list[_Way], int]:
    """Return the links that can decide when each transfer is complete, with the time on each [s].

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
    ways = [
        tuple((link, column[number]) for link, column in enumerate(kept) if column[number] > 0.0)
        for number in range(len(profiles))
    ]
    return ways, len(kept)
