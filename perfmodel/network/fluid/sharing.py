"""Flows that start and end at any time and share the bandwidth of links.

A flow alone takes its time, and keeps each of its links busy for a share of it. Where flows
together ask for more than a link has, they run at a part of their speed: those of the lowest
priority number first get what they can, and among them the bytes per time of each are as many as
those of the others, unless it needs fewer or another link of it is full (max-min). So no link ever
carries more than it can, and nothing is slower than its fullest link makes it.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Protocol

__all__ = ["ActiveFlow", "SharedFlow", "Sharing", "Timer"]

_FULL = 1 + 1e-9
"""Largest sum of link shares that counts as not exceeding the link, despite rounding."""

_ROUNDING_NS = 1e-6


class Timer(Protocol):
    """Calls functions at given times."""

    now: int

    def at(self, time: int, call: Callable[..., object], *arguments: object) -> None:
        """Call a function at a time, which must not be in the past [ns]."""
        ...


@dataclass(frozen=True, slots=True)
class SharedFlow:
    """A flow: its duration on an idle network, and its load on links.

    Parameters
    ----------
    time_ns : float
        Alone [ns].
    loads : tuple of (hashable, float)
        Link, and the share of it that the flow takes alone, above 0 and at most 1.
    bytes_per_ns : float
        Alone, over the link that carries most of it [bytes per ns]; above 0 if there are loads.
    """

    time_ns: float
    loads: tuple[tuple[Hashable, float], ...] = ()
    bytes_per_ns: float = 1.0


@dataclass(slots=True)
class ActiveFlow:
    """A flow in progress."""

    flow: SharedFlow
    ended: Callable[[], object]
    number: int
    priority: int
    since: int
    """Time of the last change of its rate [ns]."""
    left_ns: float
    """Remaining duration at full rate, as of that time [ns]."""
    rate: float = -1.0
    """Current rate relative to the rate on an idle network."""
    planned: int = 0
    """Number of times that its end was rescheduled."""


@dataclass(slots=True)
class _Link:
    """A link: its flows, and the share of the link that they would take at full rate."""

    wanted: float = 0.0
    flows: dict[int, ActiveFlow] = field(default_factory=dict[int, ActiveFlow])


class Sharing:
    """Links, and the flows in progress on them.

    Parameters
    ----------
    clock : Timer
        Queue of the ends of flows, in whole nanoseconds, rounded up.
    """

    def __init__(self, clock: Timer) -> None:
        self._clock = clock
        self._links: dict[Hashable, _Link] = {}
        self._count = 0

    def begin(self, flow: SharedFlow, ended: Callable[[], object], priority: int = 0) -> None:
        """Start a flow now; call a function when it ends.

        Of flows that do not fit, those of a lower priority number go first.
        """
        self._count += 1
        now = self._clock.now
        one = ActiveFlow(flow, ended, self._count, priority, now, flow.time_ns)
        crowded = False
        for name, share in flow.loads:
            link = self._links.get(name)
            if link is None:
                link = self._links[name] = _Link()
            link.wanted += share
            link.flows[one.number] = one
            crowded = crowded or link.wanted > _FULL
        if crowded:
            self._share([one])
        else:
            self._set_rate(one, 1.0)

    def end(self, one: ActiveFlow, planned: int) -> None:
        """End a flow now, unless its end has been rescheduled."""
        if planned != one.planned:
            return
        touched: dict[int, ActiveFlow] = {}
        for name, share in one.flow.loads:
            link = self._links[name]
            del link.flows[one.number]
            if link.wanted > _FULL:
                touched.update(link.flows)
            if link.flows:
                link.wanted -= share
            else:
                del self._links[name]
        if touched:
            self._share(touched.values())
        one.ended()

    def _set_rate(self, one: ActiveFlow, rate: float) -> None:
        if rate == one.rate:
            return
        now = self._clock.now
        one.left_ns -= (now - one.since) * max(one.rate, 0.0)
        one.since, one.rate = now, rate
        one.planned += 1
        if rate > 0:
            end = now + max(0, ceil(one.left_ns / rate - _ROUNDING_NS))
            self._clock.at(end, self.end, one, one.planned)

    def _share(self, first: Iterable[ActiveFlow]) -> None:
        """Update the rates of flows, and of all flows that share saturated links with them."""
        found = {one.number: one for one in first}
        full: dict[Hashable, _Link] = {}
        todo = list(found.values())
        while todo:
            for name, _ in todo.pop().flow.loads:
                if name in full or self._links[name].wanted <= _FULL:
                    continue
                link = full[name] = self._links[name]
                for number, other in link.flows.items():
                    if number not in found:
                        found[number] = other
                        todo.append(other)
        rates = _rates([found[number] for number in sorted(found)], full)
        for one, rate in rates:
            self._set_rate(one, rate)

    def links(self) -> dict[Hashable, tuple[float, list[ActiveFlow]]]:
        """Return the flows of each link in use, with the share of the link that they request."""
        return {name: (link.wanted, [*link.flows.values()]) for name, link in self._links.items()}


def _rates(flows: list[ActiveFlow], full: dict[Hashable, _Link]) -> list[tuple[ActiveFlow, float]]:
    """Return the rate of each given flow, in order, on saturated links."""
    left = dict.fromkeys(full, 1.0)
    rates: dict[int, float] = {}
    for priority in sorted({one.priority for one in flows}):
        _fill([one for one in flows if one.priority == priority], left, rates)
    return [(one, rates[one.number]) for one in flows]


def _fill(flows: list[ActiveFlow], left: dict[Hashable, float], rates: dict[int, float]) -> None:
    """Raise the rates of flows equally until each is at full rate or a link is saturated."""
    loads = {
        one.number: [
            (name, share / one.flow.bytes_per_ns) for name, share in one.flow.loads if name in left
        ]
        for one in flows
    }
    rising = {one.number: one.flow.bytes_per_ns for one in flows}
    while rising:
        asked: dict[Hashable, float] = {}
        for number in rising:
            for name, each in loads[number]:
                asked[name] = asked.get(name, 0.0) + each
        level = min((max(left[name], 0.0) / each for name, each in asked.items()), default=inf)
        own = min(rising.values())
        level = min(level, own)
        edge = level * (1 + 1e-12)
        shut = {name for name, each in asked.items() if left[name] <= edge * each}
        done = [
            number
            for number, most in rising.items()
            if most <= edge or any(name in shut for name, _ in loads[number])
        ]
        for number in done:
            most = rising.pop(number)
            rates[number] = min(1.0, level / most)
            for name, each in loads[number]:
                left[name] -= level * each
