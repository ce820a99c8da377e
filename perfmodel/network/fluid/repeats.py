"""Repeating tasks, such as those of microbatches, simulated until they become periodic.

In the order of service some stretches are a period of steps that comes again and again: each step
is the one a period before with the next number, waits for what that one waited for a period later,
takes as long and crosses the same links. Once all ends of so many periods as a step looks back, and
what the links have served, are those of a period before and the same time later, all periods that
follow are so too: ends are maxima of sums of ends before and durations. So as many as are asked for
can be left out, and what comes after them begins so much later.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .links import Links
from .order import Step
from .task import PATIENT, Task

__all__ = ["Jump", "Region", "Repeats", "Watch", "find_regions", "repeats_of"]

_MOST = 4
"""Largest number of periods of steps in one period of times."""

_SAME = 1e-9
"""Relative tolerance of times, as a share of a period; another covers rounding of the total."""
_ROUNDING = 1e-14


class Region(NamedTuple):
    """A repeating stretch of steps.

    Parameters
    ----------
    start, period, periods : int
        First step, steps of a period, and periods.
    occurrences : int
        Difference between the numbers of a task in successive periods.
    depth : int
        Periods that a step looks back.
    blocks : frozenset of int
        Blocks to which the tasks belong.
    """

    start: int
    period: int
    periods: int
    occurrences: int
    depth: int
    blocks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Repeating stretches of steps, and the number of periods left out of each."""

    regions: tuple[Region, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Periods that were skipped.

    Parameters
    ----------
    tasks : tuple of int
        Tasks of the earlier periods that are repeated, in order.
    before : frozenset of int
        Tasks of all periods that were simulated before the skipped ones.
    moved : frozenset of int
        Tasks of the last periods before the skipped ones, which were moved behind these.
    times, occurrences : int
        Number of repetitions, and difference between the numbers of a task in successive ones.
    period_s : float
        Time of one repetition [s].
    """

    tasks: tuple[int, ...]
    before: frozenset[int]
    moved: frozenset[int]
    times: int
    occurrences: int
    period_s: float


def repeats_of(
    tasks: Sequence[Task],
    steps: Sequence[Step],
    longer: tuple[Sequence[Task], Sequence[Step]],
    occurrences: int,
    more: int,
    near: int,
) -> Repeats | None:
    """Return where periods can be skipped; None if that is not certain.

    Parameters
    ----------
    tasks, steps : sequence
        Tasks and steps with few occurrences.
    longer : tuple of sequences
        Tasks and steps with ``occurrences`` more.
    occurrences : int
        Occurrences of a task in a period.
    more : int
        Occurrences that are left out, a multiple of ``occurrences``.
    near : int
        Periods that steps may look back; what is further away must not matter.
    """
    here, there = (
        find_regions(tasks, steps, occurrences, near),
        find_regions(*longer, occurrences, near),
    )
    if len(here) != len(there):
        return None
    blocks = {task.occurrence.block for task in tasks if task.occurrence}
    grown = dict.fromkeys(blocks, 0)
    found: list[Region] = []
    for one, other in zip(here, there, strict=True):
        more_periods = other.periods - one.periods
        if (one.period, one.blocks) != (other.period, other.blocks) or not 0 <= more_periods <= 1:
            return None
        if more_periods:
            found.append(one)
            for block in one.blocks:
                grown[block] += 1
    if not found or set(grown.values()) != {1}:
        return None
    return Repeats(tuple(found), more // occurrences)


def find_regions(
    tasks: Sequence[Task], steps: Sequence[Step], occurrences: int, near: int
) -> list[Region]:
    """Return the stretches of steps that repeat with numbers ``occurrences`` higher each time."""
    places: dict[tuple[int, int, int, bool], int] = {}
    for place, (i, ends) in enumerate(steps):
        occurrence = tasks[i].occurrence
        if occurrence and tasks[i].priority < PATIENT:
            places[occurrence.block, occurrence.number, occurrence.position, ends] = place
    ended = {i: place for place, (i, ends) in enumerate(steps) if ends}
    distance = [0] * len(steps)
    for (block, number, position, ends), place in places.items():
        there = places.get((block, number + occurrences, position, ends))
        if there is not None and _alike(tasks[steps[place].task], tasks[steps[there].task]):
            distance[place] = there - place
    found: list[Region] = []
    start = 0
    while start < len(steps):
        period, stop = distance[start], start + 1
        while stop < len(steps) and distance[stop] == period:
            stop += 1
        if period > 0 and stop - start >= period:
            again = (start, period, (stop - start) // period)
            region = _region(tasks, steps, ended, again, occurrences, near)
            found += [region] if region else []
        start = stop
    return found


def _alike(one: Task, other: Task) -> bool:
    profiles = one.profile is other.profile or one.profile == other.profile
    same = (one.kind, one.place, one.effort, len(one.after))
    return profiles and same == (other.kind, other.place, other.effort, len(other.after))


def _region(
    tasks: Sequence[Task],
    steps: Sequence[Step],
    ended: dict[int, int],
    found: tuple[int, int, int],
    occurrences: int,
    near: int,
) -> Region | None:
    """Return a region if the dependencies of its steps also shift by one period; else None."""
    start, period, again = found
    depth, first = 1, start
    for place in range(start, start + period * again):
        here, there = steps[place].task, steps[place + period].task
        waits = sorted(ended[one] for one in tasks[here].after)
        later = sorted(ended[one] for one in tasks[there].after)
        for one, other in zip(waits, later, strict=True):
            if one == other or place + period - other > near * period:
                continue  # what was long before; it must not matter
            if other - one != period:
                first = place + 1  # not yet
                continue
            depth = max(depth, -(-(place + period - other) // period))
    again -= -(-(first - start) // period)
    start += -(-(first - start) // period) * period
    if again < 1:
        return None
    blocks = {tasks[steps[place].task].occurrence for place in range(start, start + period)}
    return Region(
        start, period, again + 1, occurrences, depth, frozenset(one.block for one in blocks if one)
    )


@dataclass
class Watch:
    """Observer of a simulation that skips periods once they repeat.

    Parameters
    ----------
    repeats : Repeats
        Stretches that repeat, and number of periods to skip.
    tasks, steps : sequence
        Tasks and steps of the simulation.
    start, end : list of float
        Start and end of each task that has run [s].
    links : Links
        Links, with the transfers that they have served.
    """

    repeats: Repeats
    tasks: Sequence[Task]
    steps: Sequence[Step]
    start: list[float]
    end: list[float]
    links: Links
    jumps: list[Jump] = field(default_factory=list[Jump])
    next: int = 0
    _now: int = 0
    _served: list["_Served"] = field(default_factory=list["_Served"])

    def __post_init__(self) -> None:
        self.next = self.repeats.regions[0].start

    @property
    def done(self) -> bool:
        """Whether all periods have been skipped as planned."""
        return len(self.jumps) == len(self.repeats.regions)

    def look(self, place: int) -> None:
        """Compare the periods that ran before a step at a period boundary."""
        region = self.repeats.regions[self._now]
        self._served = [*self._served[-_MOST:], _Served(self.links)]
        number = (place - region.start) // region.period
        for periods in range(1, _MOST + 1):
            long_enough = number >= max(region.depth + 1 + periods, 2 * periods)
            if not long_enough or self.repeats.more % periods:
                continue
            period_s = self._period_s(region, number, periods)
            if period_s is not None:
                self._jump(region, number, periods, period_s)
                number = region.periods
                break
        if number < region.periods:
            self.next = place + region.period
            return
        self._now += 1
        self._served = []
        if self._now == len(self.repeats.regions):
            self.next = -1
            return
        self.next = self.repeats.regions[self._now].start
        if self.next == place:
            self.look(place)

    def _of(self, region: Region, first: int, stop: int) -> list[int]:
        """Return the tasks of a range of periods."""
        places = range(region.start + first * region.period, region.start + stop * region.period)
        return [self.steps[place].task for place in places]

    def _period_s(self, region: Region, number: int, periods: int) -> float | None:
        """Return the duration of the periods if the state has shifted uniformly; else None."""
        first = number - region.depth - 1
        last = self._of(region, first, number)
        before = self._of(region, first - periods, number - periods)
        end = self.end
        period_s = end[last[-1]] - end[before[-1]]
        slack = _SAME * period_s + _ROUNDING * end[last[-1]]
        for one, other in zip(last, before, strict=True):
            if abs(end[one] - end[other] - period_s) > slack:
                return None
        if not self._served[-1].later(self._served[-1 - periods], period_s, slack):
            return None
        return period_s if self._only_near(region, number, periods, slack) else None

    def _only_near(self, region: Region, number: int, periods: int, slack: float) -> bool:
        """Return whether no step waits, now or later, for tasks from long before."""
        end = self.end
        near = {*self._of(region, number - region.depth - 1 - periods, number)}
        last = self._of(region, number - periods, number)
        before = self._of(region, number - 2 * periods, number - periods)
        for one, other in zip(last, before, strict=True):
            afters = zip(self.tasks[one].after, self.tasks[other].after, strict=True)
            for this, that in afters:
                if this in near:
                    continue
                if end[this] > self.start[one] - slack or end[this] - end[that] > (
                    self.start[one] - self.start[other] + slack
                ):
                    return False
        return True

    def _jump(self, region: Region, number: int, periods: int, period_s: float) -> None:
        """Skip periods by shifting all times that later steps depend on."""
        times = self.repeats.more // periods
        moved = frozenset(self._of(region, number - region.depth - 1, number))
        for i in moved:
            self.start[i] += times * period_s
            self.end[i] += times * period_s
        self._served[-1].repeat(self._served[-1 - periods], times, period_s)
        tasks = tuple(dict.fromkeys(self._of(region, number - periods, number)))
        before = frozenset(self._of(region, 0, number))
        self.jumps.append(Jump(tasks, before, moved, times, periods * region.occurrences, period_s))


class _Served:
    """What the links have served up to a time."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._urgent, self._all = list(links.served_urgent), list(links.served)
        self._ends = [list(queue.end) for queue in links.queues]
        self._until = [list(queue.until) for queue in links.queues]

    def _changed(self, before: "_Served") -> list[tuple[int, int]]:
        """Return the queues and links that have served something since an earlier state."""
        return [
            (number, link)
            for number, until in enumerate(self._until)
            for link, one in enumerate(until)
            if one != before._until[number][link]
        ]

    def later(self, before: "_Served", period_s: float, slack: float) -> bool:
        """Return whether all links are free later than before by the same period."""
        return all(
            abs(self._ends[number][link] - before._ends[number][link] - period_s) <= slack
            for number, link in self._changed(before)
        )

    def repeat(self, before: "_Served", times: int, period_s: float) -> None:
        """Repeat everything that the links have served since an earlier state ``times`` times."""
        links = self._links
        for number, link in self._changed(before):
            queue = links.queues[number]
            queue.end[link] += times * period_s
            queue.until[link] += times * (self._urgent[link] - before._urgent[link])
        for link, served in enumerate(self._urgent):
            links.served_urgent[link] += times * (served - before._urgent[link])
            links.served[link] += times * (self._all[link] - before._all[link])
