"""Messages and collectives of traces on Ethernet with congestion control."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from math import ceil
from typing import Any, cast

from perfmodel.clock import Clock
from perfmodel.collectives.select import build_schedule
from perfmodel.network.model import unicast_loads
from perfmodel.network.roce.figures import figures
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.network.roce.simulate import Simulation
from perfmodel.network.roce.workload import Workload, workload_of
from perfmodel.network.run import run_collective
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import as_fluid

from .carrying import Carrying, Ended, Together
from .setup import Setup

__all__ = ["Ethernet"]

_KNOWN = 256
"""Largest numbers of collectives and of NPU pairs whose messages are cached."""

_ROUNDING_NS = 1e-6


class Ethernet(Carrying):
    """All traffic of the NPUs in one simulation of the network model ``roce``.

    Messages that are under way at the same time share links, queues and buffers, whether they
    belong to the same collective or not.

    Parameters
    ----------
    setup : Setup
        Network, which must be a single topology, and system.
    clock : Clock
        Queue of arrivals, in whole nanoseconds, rounded up.
    """

    replays_broadcasts = False
    stands_for_others = False

    def __init__(self, setup: Setup, clock: Clock[int]) -> None:
        super().__init__(setup)
        assert setup.fabric
        self._parameters = setup.roce or RoceFile()
        self._fabric = setup.fabric.with_network_options("roce", self._parameters)
        (line,) = as_fluid(setup.network).lines
        self._algorithm_of = cast("FabricLine", line).algorithm_of
        self._simulation, self._clock = Simulation(self._fabric, self._parameters), clock
        self._calls: dict[int, Callable[[], object]] = {}
        """Callbacks for messages that arrive. While there is one, ``_go_on`` or ``_arrive`` is
        scheduled on the clock."""
        self._path = lru_cache(_KNOWN * _KNOWN)(self._new_path)
        self._work = lru_cache(_KNOWN)(self._new_work)

    @property
    def figures(self) -> Mapping[str, Any]:
        return figures(self._simulation.found(), self._parameters)

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        work = Workload()
        path = self._path(source, target)
        work.add(work.path_number(path), count if path else 0)
        self._begin(work, arrived)

    def collective(self, one: Together, ended: Ended) -> None:
        """Start a collective now that all members are ready; it ends at the same time for all."""
        members = [npu for npu, _ in one.starts]
        size = one.plan.vector_bytes(one.operation.what.bytes, len(members))
        if not one.plan.axes or not size:
            self._clock.at(self._clock.now, ended, members)
            return
        work = self._work(one.plan.kind, size, one.plan.axes[0].root_first)
        self._begin(work, partial(ended, members))

    def _new_path(self, source: int, target: int) -> Sequence[int]:
        return tuple(link for link, _ in self._fabric.hops((source,), (target,)))

    def _new_work(self, kind: str, size: int, members: tuple[int, ...]) -> Workload:
        """Return the messages of a collective, and one that arrives when the last of them does."""
        algorithm = self._algorithm_of(kind)
        if algorithm == "auto":
            how = (members, None, "auto", "roce")
            algorithm = run_collective(self._fabric, kind, size, *how).algorithm_name
        schedule = build_schedule(self._fabric, kind, [members], 1.0, algorithm, lockstep=True)
        unicast_loads(schedule)  # raises for messages that join or fork
        work = workload_of(schedule, size)
        work.add_join(range(len(work.size)))
        return work

    def _begin(self, work: Workload, call: Callable[[], object]) -> None:
        """Start messages now; call a function when the last of them has arrived."""
        last = len(work.size) - 1
        first = self._simulation.add(work, float(self._clock.now), [last])
        if not self._calls:
            self._clock.at(self._clock.now, self._go_on)
        self._calls[first + last] = call

    def _go_on(self) -> None:
        """Simulate until the next event of the clock or the next arrival."""
        now, until = self._clock.now, self._clock.next_time
        number = self._simulation.advance(until)
        if number is not None:
            until = max(now, ceil(self._simulation.end_ns(number) - _ROUNDING_NS))
            self._clock.at(until, self._arrive, number)
        else:
            self._clock.at(cast("int", until), self._go_on)

    def _arrive(self, number: int) -> None:
        call = self._calls.pop(number)
        if self._calls:
            self._clock.at(self._clock.now, self._go_on)
        call()
