"""Event-driven simulation of a collective, chunk after chunk, on links shared max-min fairly.

The model. The vector is cut into chunks, and each chunk goes through the same flows. A flow serves
the chunks in order, one at a time: chunk c starts when all flows before it have completed chunk c,
and when chunk c - 1 has left its sources. Flows that are active at once share every link max-min
fairly (``maxmin``). A flow ends a latency after its last byte has left: switches cut through.
Endpoints have room for a window of chunks: ``WINDOW``, or twice as many as the busiest link serves
while a chunk goes from start to end, each of its flows alone on its links.

Shortcuts, each of which can be switched off and changes no time: of flows that provably behave
alike one is simulated (``symmetry``); and when the state at the end of a chunk is that at the end
of an earlier chunk, the chunks between will repeat, so that whole periods are skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil

from .flow import FluidFlow
from .independent import independent_parts
from .maxmin import Demand, max_min_rates
from .symmetry import Classes, flow_classes, separate_classes

__all__ = ["WINDOW", "PipelineResult", "Shortcuts", "run_pipeline"]

WINDOW = 16
"""Least number of chunks that may be under way at once."""

_SAME = 1e-9
"""States that differ by less, relative to a flow or to the time of a chunk, are the same."""


@dataclass(frozen=True, slots=True)
class Shortcuts:
    """Which shortcuts a simulation takes; times are the same with and without.

    Parameters
    ----------
    symmetry : bool
        Simulate one of the flows that provably behave alike.
    steady_state : bool
        Skip chunks that provably repeat those before.
    lockstep : bool
        Take a pass around a ring as one flow, instead of every message of it.
    """

    symmetry: bool = True
    steady_state: bool = True
    lockstep: bool = True


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """What a simulation found.

    Parameters
    ----------
    time_s : float
        From the start to the last byte of the last chunk [s].
    events : int
        Times at which something started or ended that were simulated.
    flows : int
        Flows that were simulated, of those in a chunk.
    """

    time_s: float
    events: int
    flows: int


def run_pipeline(
    flows: Sequence[FluidFlow],
    capacities: Sequence[float],
    chunks: int,
    shortcuts: Shortcuts = Shortcuts(),
    classes: Classes | None = None,
) -> PipelineResult:
    """Simulate all chunks of a collective.

    Parameters
    ----------
    flows : sequence of FluidFlow
        Those of one chunk; ``after`` points to earlier ones.
    capacities : sequence of float
        Payload bandwidth of each link [B/s].
    chunks : int
        How many, 1 or more.
    shortcuts : Shortcuts
        Which to take.
    classes : Classes or None
        The classes, if they are known already.
    """
    if classes is None:
        find = flow_classes if shortcuts.symmetry else separate_classes
        classes = find(flows, capacities)
    time_s, events = 0.0, 0
    for part in independent_parts(flows, classes):
        state = _Pipeline(flows, classes, part, chunks)
        state.run(shortcuts.steady_state)
        time_s = max(time_s, state.now)
        events += state.events
    return PipelineResult(time_s, events, len(classes.representative))


class _Pipeline:
    """State of the classes of one independent part."""

    def __init__(
        self, flows: Sequence[FluidFlow], classes: Classes, part: Sequence[int], chunks: int
    ) -> None:
        place = {number: i for i, number in enumerate(part)}
        members = [flows[classes.representative[number]] for number in part]
        self.capacities = classes.capacities
        self.size = [flow.payload_bytes for flow in members]
        self.latency = [flow.latency_s for flow in members]
        self.demands = [Demand(classes.loads[number]) for number in part]
        self.alone = [
            size * classes.seconds_per_byte[number]
            for size, number in zip(self.size, part, strict=True)
        ]
        self.after = [
            sorted({place[classes.flow_class[other]] for other in flow.after}) for flow in members
        ]
        self.followers: list[list[int]] = [[] for _ in part]
        for i, others in enumerate(self.after):
            for other in others:
                self.followers[other].append(i)
        self.sinks = {i for i, followers in enumerate(self.followers) if not followers}
        self.roots = [i for i, others in enumerate(self.after) if not others]
        self.chunks = chunks
        self.window = self._window()
        count = len(members)
        self.now = 0.0
        self.events = 0
        self.serving = [0] * count  # chunk that is served now or next
        self.left = [0.0] * count  # bytes that have not left yet, while active
        self.nothing = [size * 1e-12 for size in self.size]  # bytes left that are none
        self.active = 0  # bits of the flows that send now
        self.ready = [0] * count  # chunks for which the flows before have completed
        self.arrived: list[dict[int, int]] = [{} for _ in part]  # completed flows before, by chunk
        self.complete = [0] * count  # chunks of which the last byte has arrived
        self.ended: dict[int, int] = {}  # sinks in which a chunk is complete, by chunk
        self.finished = 0  # chunks that are complete in all sinks
        self.moment = 0.0  # times that differ by less are the same [s]
        self.due: list[tuple[float, int]] = []  # arrivals of last bytes
        self.known: dict[int, list[tuple[int, float]]] = {0: []}

    def _window(self) -> int:
        """Return how many chunks may be under way."""
        busy: dict[int, float] = {}
        for size, demand in zip(self.size, self.demands, strict=True):
            for link, load in demand.loads:
                busy[link] = busy.get(link, 0.0) + load * size / self.capacities[link]
        latest = [0.0] * len(self.latency)
        for i in self._in_order():
            before = max((latest[other] for other in self.after[i]), default=0.0)
            latest[i] = before + self.alone[i] + self.latency[i]
        slowest = max(busy.values(), default=0.0)
        if slowest * self.chunks <= max(latest):
            return self.chunks
        # Symmetry adds up in another order, and last digits must not make another window.
        served = ceil(max(latest) / slowest * (1 - _SAME))
        return max(WINDOW, min(2 * served, self.chunks))

    def _in_order(self) -> list[int]:
        """Return the classes, each after those that it waits for."""
        waits = [len(others) for others in self.after]
        order = list(self.roots)
        for i in order:
            for follower in self.followers[i]:
                waits[follower] -= 1
                if not waits[follower]:
                    order.append(follower)
        return order

    def run(self, steady_state: bool) -> None:
        for i in self.roots:
            self.ready[i] = min(self.window, self.chunks)
        for i in self.roots:
            self._start(i)
        seen: dict[tuple[object, ...], tuple[int, float]] | None = {} if steady_state else None
        while self.active or self.due:
            self.events += 1
            before = self.finished
            self._step()
            if seen is not None and self.finished > before and self.finished < self.chunks:
                state = self._relative_state()
                if state in seen:
                    if self._skip(*seen[state]):
                        seen = None
                else:
                    seen[state] = (self.finished, self.now)

    def _rates(self) -> list[tuple[int, float]]:
        """Return the active flows, each with its rate."""
        rates = self.known.get(self.active)
        if rates is None:
            sending = self._sending()
            demands = [self.demands[i] for i in sending]
            rates = list(zip(sending, max_min_rates(demands, self.capacities), strict=True))
            self.known[self.active] = rates
        return rates

    def _sending(self) -> list[int]:
        return [i for i in range(len(self.size)) if self.active >> i & 1]

    def _step(self) -> None:
        """Go on to the next time at which a flow ends sending or its last byte arrives."""
        rates, left = self._rates(), self.left
        step = float("inf")
        for i, rate in rates:
            alone = left[i] / rate
            if alone < step:
                step = alone
        if self.due:
            step = min(step, self.due[0][0] - self.now)
        step = max(step, 0.0)
        self.now += step
        ended: list[int] = []
        for i, rate in rates:
            left[i] -= rate * step
            if left[i] <= self.nothing[i]:
                ended.append(i)
        for i in ended:
            self.active &= ~(1 << i)
            heappush(self.due, (self.now + self.latency[i], i))
            self.serving[i] += 1
        near = self.now + 1e-15 + self.now * 1e-14
        while self.due and self.due[0][0] <= near:
            self._arrive(heappop(self.due)[1])
        for i in ended:
            self._start(i)

    def _start(self, i: int) -> None:
        """Start the next chunk of a flow if it may."""
        if not self.active >> i & 1 and self.serving[i] < min(self.ready[i], self.chunks):
            self.active |= 1 << i
            self.left[i] = self.size[i]

    def _arrive(self, i: int) -> None:
        """Note that the last byte of the next chunk of a flow has arrived: they come in order."""
        chunk = self.complete[i]
        self.complete[i] += 1
        for follower in self.followers[i]:
            arrived = self.arrived[follower]
            arrived[chunk] = arrived.get(chunk, 0) + 1
            if arrived[chunk] == len(self.after[follower]):
                del arrived[chunk]
                self.ready[follower] += 1
                self._start(follower)
        if i in self.sinks:
            self.ended[chunk] = self.ended.get(chunk, 0) + 1
            if self.ended[chunk] == len(self.sinks):
                del self.ended[chunk]
                self.finished = finished = chunk + 1
                self.moment = self.moment or self.now * _SAME
                for first in self.roots:
                    self.ready[first] = min(finished + self.window, self.chunks)
                    self._start(first)

    def _relative_state(self) -> tuple[object, ...]:
        """Return all that decides what follows, relative to the chunk and the time."""
        base = self.finished
        return (
            self.active,
            tuple(chunk - base for chunk in self.serving),
            tuple(chunk - base for chunk in self.ready),
            tuple(chunk - base for chunk in self.complete),
            tuple(round(self.left[i] / ((self.size[i] or 1.0) * _SAME)) for i in self._sending()),
            tuple(sorted((round((due - self.now) / self.moment), i) for due, i in self.due)),
        )

    def _skip(self, finished: int, now: float) -> bool:
        """Skip periods while every flow has chunks left; return whether there was one to skip."""
        period, duration = self.finished - finished, self.now - now
        # No flow may meet the end of the chunks within what is skipped.
        furthest = max(max(self.serving), max(self.ready))
        periods = (self.chunks - 1 - furthest) // period
        if periods < 1:
            return False
        chunks, seconds = periods * period, periods * duration
        self.now += seconds
        self.finished += chunks
        for counters in (self.serving, self.ready, self.complete):
            counters[:] = [value + chunks for value in counters]
        self.arrived = [
            {chunk + chunks: count for chunk, count in arrived.items()} for arrived in self.arrived
        ]
        self.ended = {chunk + chunks: count for chunk, count in self.ended.items()}
        self.due = [(due + seconds, i) for due, i in self.due]
        return True
