"""Links that serve transfers one after the other, urgent transfers first."""

from collections.abc import Sequence

from .task import PATIENT, Task

__all__ = ["Before", "LinkTimes", "Links"]

LinkTimes = tuple[tuple[int, float], ...]
"""Links of a transfer, with the transfer's time on each [s]."""


class _Queue:
    """Transfers of one urgency that a stage has sent, by link."""

    def __init__(self, links: int) -> None:
        self.end = [float("-inf")] * links  # of the last transfer
        self.early = list(self.end)  # the same if nothing but this link held up those before it
        self.until = [0.0] * links  # time of all that the link had served by then
        self.task = [-1] * links


class Before:
    """Order of two non-urgent tasks, if one is certain to start first at any task duration.

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
        """Return the dependencies of a task, except non-urgent ones of its own stage."""
        task, tasks = self._tasks[number], self._tasks
        return [
            before
            for before in task.after
            if tasks[before].priority < PATIENT or tasks[before].place != task.place
        ]


class Links:
    """State of the links: time and queues that they have served so far."""

    def __init__(self, links: int, stages: int, before: Before) -> None:
        self._before = before
        self.served_urgent = [0.0] * links  # time of all urgent transfers
        self.served = [0.0] * links
        self.queues = [_Queue(links) for _ in range(stages)]
        self._patient = [_Queue(links) for _ in range(stages)]
        self._opened: dict[int, list[float]] = {}

    def urgent(self, stage: int, on_links: LinkTimes, ready: float) -> float:
        """Serve an urgent transfer; return when its last link has finished."""
        latest, queue = ready, self.queues[stage]
        ends, until, urgent, both = queue.end, queue.until, self.served_urgent, self.served
        for link, seconds in on_links:
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

    def open(self, i: int, on_links: LinkTimes) -> None:
        """Note that the links may start with a non-urgent transfer."""
        self._opened[i] = [self.served_urgent[link] for link, _ in on_links]

    def patient(self, i: int, stage: int, on_links: LinkTimes, ready: float, free: float) -> float:
        """Serve a non-urgent transfer, after all urgent transfers since it was opened."""
        latest, queue = ready, self._patient[stage]
        others = self._patient if i in self._before.last else ()
        ends, earliest, until, last = queue.end, queue.early, queue.until, queue.task
        urgent, both = self.served_urgent, self.served
        for (link, seconds), opened in zip(on_links, self._opened[i], strict=True):
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
