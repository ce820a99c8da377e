"""Simulation of a schedule message by message in ASTRA-sim's analytical models.

A message begins when all messages that it waits for have arrived. Times are whole nanoseconds, and
messages whole bytes. Messages that join or fork in switches are refused: ASTRA-sim has none.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from perfmodel.clock import Clock
from perfmodel.collectives.schedule import Schedule
from perfmodel.collectives.transfer import Transfer
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
        Where it runs.
    schedule : Schedule
        Of one byte, with every message on its own.
    conditions : Conditions
        They change nothing here.

    Raises
    ------
    CannotTimeError
        A message joins or forks on its way.
    """

    def __init__(self, topology: Topology, schedule: Schedule, conditions: Conditions) -> None:
        self._topology, self._messages = topology, schedule.transfers
        self.loads = unicast_loads(schedule)
        self.ack_s = 0.0
        self.assumptions: tuple[str, ...] = ()

    @abstractmethod
    def carrier(self, clock: Clock[int]) -> Carry:
        """Return a function that carries messages over initially idle links."""

    def time_s(self, size_bytes: float, chunk_bytes: float) -> float:
        """Return the time of a vector whose chunks are sent one after the other [s]."""
        return 1e-9 * self._chunk_ns(chunk_bytes) * round(size_bytes / chunk_bytes)

    def _chunk_ns(self, chunk_bytes: float) -> int:
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

    def carrier(self, clock: Clock[int]) -> Carry:
        capacities = self._topology.capacities
        wires: dict[Hops, Wire] = {}

        def carry(hops: Hops, count: int, arrived: Callable[[], object]) -> None:
            if hops not in wires:
                latency_ns = 1e9 * self._topology.latency_s(hops) + _ROUNDING
                slowest = min(capacities[link] for link, _ in hops)
                wires[hops] = Wire(latency_ns, slowest / 1e9)
            clock.after(wires[hops].arrival_ns(count), arrived)

        return carry


class Aware(Messages):
    """Store-and-forward messages: each link carries one message at a time."""

    def carrier(self, clock: Clock[int]) -> Carry:
        nodes, wires = self._topology.nodes, dict[int, Wire]()
        for number, link in enumerate(self._topology.links):
            latency_s = nodes[link.source].latency_s + link.latency_s
            wires[number] = Wire(1e9 * latency_s + _ROUNDING, link.payload_bytes_per_s / 1e9)
        links = FifoLinks(wires.__getitem__, clock)

        def carry(hops: Hops, count: int, arrived: Callable[[], object]) -> None:
            end = nodes[self._topology.links[hops[-1][0]].target]
            cross_ns = int(1e9 * end.latency_s + _ROUNDING) if end.kind == "npu" else 0
            # A message crosses the router beside an NPU where it ends, too.
            last = partial(clock.after, cross_ns, arrived) if cross_ns else arrived
            links.forward([link for link, _ in hops], count, last)

        return carry
