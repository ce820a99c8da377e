"""Event-driven simulation of tasks that wait for each other: compute and transfers.

A task of compute takes its time. A transfer takes its time when it is alone; at once with others,
it shares the links max-min fairly after those of more urgent priorities (``maxmin``). What a
collective puts on each link, and how long it takes alone, is simulated before, chunk by chunk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from .maxmin import Demand, max_min_rates

__all__ = ["Profile", "Run", "Task", "run_tasks"]


@dataclass(frozen=True, slots=True)
class Profile:
    """A transfer: how long it takes alone, and what it puts on the links.

    Parameters
    ----------
    time_s : float
        Alone [s].
    loads : tuple of (int, float)
        Link, and bytes that cross it [B].
    """

    time_s: float
    loads: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """Something that takes time.

    Parameters
    ----------
    kind : str
        ``compute``, ``mp``, ``dp``, ``pp``, ``weight_streaming`` or ``input_load``.
    place : int
        Pipeline stage that does it.
    name : str
        For people.
    profile : Profile
        Its time; and what it puts on the links, nothing if it computes.
    after : tuple of int
        Tasks, earlier in the list, that must be complete.
    priority : int
        On the links; a lower number is served first.
    """

    kind: str
    place: int
    name: str
    profile: Profile
    after: tuple[int, ...] = ()
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """When each task ran.

    Parameters
    ----------
    start_s, end_s : tuple of float
        Of each task [s].
    """

    start_s: tuple[float, ...]
    end_s: tuple[float, ...]

    @property
    def time_s(self) -> float:
        """End of the last task [s]."""
        return max(self.end_s, default=0.0)


def run_tasks(tasks: Sequence[Task], capacities: Sequence[float]) -> Run:
    """Simulate tasks until all are complete.

    Parameters
    ----------
    tasks : sequence of Task
        Each after those that it waits for.
    capacities : sequence of float
        Payload bandwidth of each link [B/s].
    """
    simulation = _Simulation(tasks, capacities)
    simulation.run()
    return Run(tuple(simulation.start), tuple(simulation.end))


class _Simulation:
    def __init__(self, tasks: Sequence[Task], capacities: Sequence[float]) -> None:
        self.tasks, self.capacities = tasks, capacities
        self.start = [0.0] * len(tasks)
        self.end = [0.0] * len(tasks)
        self.waits = [len(task.after) for task in tasks]
        self.followers: list[list[int]] = [[] for _ in tasks]
        for number, task in enumerate(tasks):
            for before in task.after:
                if not 0 <= before < number:
                    raise ValueError(f"task {number} must come after what it waits for")
                self.followers[before].append(number)
        self.now = 0.0
        self.timed: list[tuple[float, int]] = []  # ends of tasks without links
        self.moving: list[int] = []
        self.left: list[float] = []  # share of each that is still to do
        self.rates: list[float] = []
        self.known: dict[tuple[tuple[int, int], ...], list[float]] = {}

    def run(self) -> None:
        self._begin([number for number, waits in enumerate(self.waits) if not waits])
        while self.timed or self.moving:
            step = self.timed[0][0] - self.now if self.timed else float("inf")
            for left, rate in zip(self.left, self.rates, strict=True):
                if rate > 0.0 and left < step * rate:
                    step = left / rate
            step = max(step, 0.0)
            self.now += step
            self._finish(step)

    def _finish(self, step: float) -> None:
        """Let time pass, end what is done, and begin what waited for it."""
        done: list[int] = []
        kept: list[int] = []
        left: list[float] = []
        for number, share, rate in zip(self.moving, self.left, self.rates, strict=True):
            rest = share - rate * step
            if rest <= 1e-12:
                done.append(number)
            else:
                kept.append(number)
                left.append(rest)
        changed = bool(done)
        self.moving, self.left = kept, left
        near = self.now * (1 + 1e-15)
        while self.timed and self.timed[0][0] <= near:
            done.append(heappop(self.timed)[1])
        ready: list[int] = []
        for number in done:
            self.end[number] = self.now
            for follower in self.followers[number]:
                self.waits[follower] -= 1
                if not self.waits[follower]:
                    ready.append(follower)
        self._begin(ready, changed)

    def _begin(self, ready: Sequence[int], changed: bool = False) -> None:
        for number in ready:
            self.start[number] = self.now
            profile = self.tasks[number].profile
            if profile.loads:
                self.moving.append(number)
                self.left.append(1.0)
                changed = True
            else:
                heappush(self.timed, (self.now + profile.time_s, number))
        if changed:
            self.rates = self._rates()

    def _rates(self) -> list[float]:
        """Return the share of each moving task that is done in a second."""
        key = tuple(
            (id(self.tasks[number].profile), self.tasks[number].priority) for number in self.moving
        )
        if key not in self.known:
            demands = [
                Demand(task.profile.loads, 1 / task.profile.time_s, task.priority)
                for task in (self.tasks[number] for number in self.moving)
            ]
            self.known[key] = max_min_rates(demands, self.capacities)
        return self.known[key]
