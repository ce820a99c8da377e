"""Simulation of a schedule message by message in ASTRA-sim's analytical models.

A message begins when all messages that it waits for have arrived. Times are whole nanoseconds, and
messages whole bytes. Messages that join or fork in switches are refused: ASTRA-sim has none.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial

from perfmodel.clock import Clock
from perfmodel.collectives.schedule import Schedule
from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.network.model import Conditions, unicast_loads
from perfmodel.topology.graph import Hops, Topology

from .links import FifoLinks, Wire

__all__ = ["Aware", "Messages", "Unaware"]

_ROUNDING = 1e-6
"""Largest rounding error of times in ns and of bytes."""

Carry = Callable[[Hops, int, Callable[[], object]], None]
"""Function that sends bytes over links now, and calls back when they have arrived."""


class Messages(ABC):
    """A schedule of one byte; see ``network.model.Timed``.

    Parameters
    ----------
    topology : Topology
        Topology on which the schedule runs.
    schedule : Schedule
        Schedule of one byte: all messages one by one, or only passes around rings.
    conditions : Conditions
        Not used by this model.

    Raises
    ------
    CannotTimeError
        A message joins or forks on its way.
    """

    def __init__(self, topology: Topology, schedule: Schedule, conditions: Conditions) -> None:
        self._topology, self._rings = topology, _chains(schedule.messages)
        self._messages: Sequence[Transfer] = ()
        if not self._rings:
            self._messages = schedule.transfers
        elif not self.apart([chain[0] for chain in self._rings]):
            self._messages, self._rings = _unrolled(schedule.messages), []
        self.loads = unicast_loads(schedule)
        self.ack_s = 0.0
        self.assumptions: tuple[str, ...] = ()

    @abstractmethod
    def carrier(self, clock: Clock[int]) -> Carry:
        """Return a function that carries messages over initially idle links."""

    @abstractmethod
    def apart(self, rings: Sequence[RingPass]) -> bool:
        """Return whether no message of one edge of a ring ever waits for one of another edge."""

    @abstractmethod
    def hops_ns(self, hops: Hops, count: int) -> list[tuple[int, int]]:
        """Return two times for each part of a route [ns].

        The first is how long the part delays ``count`` bytes, the second how long these keep it
        busy.
        """

    def time_s(self, size_bytes: float, chunk_bytes: float) -> float:
        """Return the time of a vector whose chunks are sent one after the other [s]."""
        return 1e-9 * self._chunk_ns(chunk_bytes) * round(size_bytes / chunk_bytes)

    def _ring_ns(self, chain: Sequence[RingPass], chunk_bytes: float) -> int:
        """Return the time of passes around one ring whose edges share nothing, step by step."""
        steps = len(chain[0].members) - 1
        import numpy as np  # here, as estimates without it start a tenth of a second earlier

        ready = np.zeros(steps + 1, np.int64)
        free = np.zeros((max(map(len, chain[0].edges)) + 1, steps + 1), np.int64)
        for one in chain:
            count = int(one.payload_bytes / steps * chunk_bytes + _ROUNDING)
            takes, busy = np.zeros_like(free), np.zeros_like(free)
            for edge, hops in enumerate(one.edges):
                for hop, (takes_ns, busy_ns) in enumerate(self.hops_ns(hops, count)):
                    takes[hop, edge], busy[hop, edge] = takes_ns, busy_ns
            for _ in range(steps):
                for hop in range(len(free)):
                    begin = np.maximum(ready, free[hop])
                    free[hop], ready = begin + busy[hop], begin + takes[hop]
                ready = np.roll(ready, 1)  # each member sends on what has come to it
        return int(ready.max())

    def _chunk_ns(self, chunk_bytes: float) -> int:
        if self._rings:
            return max(self._ring_ns(chain, chunk_bytes) for chain in self._rings)
        clock = Clock(0)
        carry = self.carrier(clock)
        waits = [len(one.after) for one in self._messages]
        followers: list[list[int]] = [[] for _ in self._messages]
        for number, one in enumerate(self._messages):
            for before in one.after:
                followers[before].append(number)

        def send(number: int) -> None:
            one: Transfer = self._messages[number]
            count = int(one.payload_bytes * chunk_bytes + _ROUNDING)
            carry(one.hops, count, partial(arrived, number))

        def arrived(number: int) -> None:
            for other in followers[number]:
                waits[other] -= 1
                if not waits[other]:
                    send(other)

        for number in [n for n, count in enumerate(waits) if not count]:
            send(number)
        clock.run()
        return clock.now


class Unaware(Messages):
    """Messages without congestion: latency of the links, plus bytes over the slowest link."""

    def apart(self, rings: Sequence[RingPass]) -> bool:
        return True

    def hops_ns(self, hops: Hops, count: int) -> list[tuple[int, int]]:
        return [(self._wire(hops).arrival_ns(count), 0)]

    def _wire(self, hops: Hops) -> Wire:
        latency_ns = 1e9 * self._topology.latency_s(hops) + _ROUNDING
        slowest = min(self._topology.capacities[link] for link, _ in hops)
        return Wire(latency_ns, slowest / 1e9)

    def carrier(self, clock: Clock[int]) -> Carry:
        wires: dict[Hops, Wire] = {}

        def carry(hops: Hops, count: int, arrived: Callable[[], object]) -> None:
            if hops not in wires:
                wires[hops] = self._wire(hops)
            clock.after(wires[hops].arrival_ns(count), arrived)

        return carry


class Aware(Messages):
    """Store-and-forward messages: each link carries one message at a time."""

    def apart(self, rings: Sequence[RingPass]) -> bool:
        links = [link for one in rings for hops in one.edges for link, _ in hops]
        return len(links) == len(set(links))

    def hops_ns(self, hops: Hops, count: int) -> list[tuple[int, int]]:
        wires = [self._wires[link] for link, _ in hops]
        found = [(one.arrival_ns(count), one.busy_ns(count)) for one in wires]
        return [*found, (self._cross_ns(hops), 0)]

    @cached_property
    def _wires(self) -> list[Wire]:
        nodes, links = self._topology.nodes, self._topology.links
        late_s = [nodes[link.source].latency_s + link.latency_s for link in links]
        return [
            Wire(1e9 * one_s + _ROUNDING, link.payload_bytes_per_s / 1e9)
            for one_s, link in zip(late_s, links, strict=True)
        ]

    def _cross_ns(self, hops: Hops) -> int:
        """Return the time through the router beside an NPU, which a message crosses at its end."""
        end = self._topology.nodes[self._topology.links[hops[-1][0]].target]
        return int(1e9 * end.latency_s + _ROUNDING) if end.kind == "npu" else 0

    def carrier(self, clock: Clock[int]) -> Carry:
        links = FifoLinks(self._wires.__getitem__, clock)

        def carry(hops: Hops, count: int, arrived: Callable[[], object]) -> None:
            cross_ns = self._cross_ns(hops)
            last = partial(clock.after, cross_ns, arrived) if cross_ns else arrived
            links.forward([link for link, _ in hops], count, last)

        return carry


def _chains(messages: Sequence[Transfer | RingPass]) -> list[list[RingPass]]:
    """Return the passes around each ring, one after the other; none where there are other items."""
    chain_of: dict[int, list[RingPass]] = {}
    for number, one in enumerate(messages):
        if not isinstance(one, RingPass):
            return []
        chain_of[number] = chain_of[one.after[0]] if one.after else []
        chain_of[number].append(one)
    return list({id(chain): chain for chain in chain_of.values()}.values())


def _unrolled(passes: Sequence[Transfer | RingPass]) -> list[Transfer]:
    """Return every message of passes around rings; each sends on what has come to it."""
    found: list[Transfer] = []
    came: list[dict[int, tuple[int, ...]]] = []  # to each member, last in each pass
    for one in passes:
        assert isinstance(one, RingPass)
        last = came[one.after[0]] if one.after else {}
        members, steps = one.members, len(one.members) - 1
        for _ in range(steps):
            now: dict[int, tuple[int, ...]] = {}
            for place, hops in enumerate(one.edges):
                source, target = members[place], members[(place + 1) % len(members)]
                now[target] = (len(found),)
                after = last.get(source, ())
                found.append(Transfer((source,), (target,), hops, one.payload_bytes / steps, after))
            last = now
        came.append(last)
    return found
