"""Simulation of messages on a topology, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, groupby
from math import inf
from typing import Any

import numpy as np

from fred_hw.errors import InputError
from perfmodel.topology.graph import Topology

from .arrays import BIN_BYTES, arrays_of, grown, with_messages, with_paths
from .engine import (
    ARRIVED,
    DONE,
    FULL_FLOWS,
    FULL_HEAP,
    FULL_TRAINS,
    LATER,
    STUCK,
    advance,
    begin_all,
)
from .ns3_flows import Flow
from .parameters import RoceFile
from .state import State
from .workload import Workload

__all__ = ["Found", "Simulation", "simulate", "simulate_flows"]

_AT_ONCE = 1 << 22
"""Largest number of events per call of the event core; between calls, interrupts are handled."""

_PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a simulation.

    Parameters
    ----------
    time_s : float
        Time at which the last message arrived [s].
    begin_s, end_s : array
        Start and arrival of each message [s].
    sources, targets, sizes : array
        NPUs at the ends of each message, -1 for a message that uses no link, and its bytes [B].
    pauses, marks, drops : int
        Pause frames that switches sent, packets that they marked, and packets that were lost.
    resent_bytes, paused_s : float
        Bytes sent again; time that links were paused, of all links together [s].
    queue_bytes : dict
        Length of the queue that packets met in switches, by percentile, and the longest queue [B].
    carried : dict
        Payload that crossed each link that was used [B].
    samples : array
        Rows of time [s], longest queue [B], bytes in queues, links that are paused, and mean rate
        of the flows that have something to send [B/s].
    events, packets : int
        Events handled, and packets that arrived.
    """

    time_s: float
    begin_s: Any
    end_s: Any
    sources: Any
    targets: Any
    sizes: Any
    pauses: int
    marks: int
    drops: int
    resent_bytes: int
    paused_s: float
    queue_bytes: dict[str, float]
    carried: dict[int, float]
    samples: Any
    events: int
    packets: int

    def flows(self, start_s: float = 0.0) -> list[Flow]:
        """Return the messages as flows that wait for a time instead of for other messages.

        Parameters
        ----------
        start_s : float
            Start of the simulation [s].
        """
        columns = (self.sources, self.targets, self.sizes, start_s + self.begin_s)
        rows = zip(*(one.tolist() for one in columns), strict=True)
        return [Flow(*row) for row in rows if row[0] >= 0]


class Simulation:
    """A simulation that accepts further messages while it runs.

    Parameters
    ----------
    topology : Topology
        Rates and latencies of links and nodes.
    parameters : RoceFile
        Parameters of switches, senders and congestion control.
    """

    def __init__(self, topology: Topology, parameters: RoceFile) -> None:
        self._topology, self._parameters = topology, parameters
        self._state = arrays_of(topology, parameters)
        self._paths: dict[tuple[int, ...], int] = {}
        self._count = 0

    def add(self, work: Workload, now_ns: float = 0.0, watched: Sequence[int] = ()) -> int:
        """Add messages that begin now, or after others of them; return the number of the first.

        Parameters
        ----------
        work : Workload
            The messages, on paths of links of the topology.
        now_ns : float
            Current time, not before the time that the simulation has reached [ns].
        watched : sequence of int
            Messages of the workload at whose arrival ``advance`` returns.

        Raises
        ------
        InputError
            The buffer of a switch is smaller than headroom and reserve of its ports.
        """
        first, known = self._count, len(self._paths)
        if further := [links for links in work.paths if links not in self._paths]:
            self._state = with_paths(self._state, known, self._topology, further, self._parameters)
            self._paths.update(zip(further, count(known)))
        paths = [self._paths[links] for links in work.paths]
        self._state = with_messages(self._state, first, work, paths)
        self._count += len(work.size)
        for one in watched:
            self._state.messages[first + one].watched = 1
        begin_all(self._state, first, self._count, now_ns)
        return first

    def advance(self, until_ns: float = inf) -> int | None:
        """Simulate up to a time [ns], or to the arrival of a watched message.

        Returns the number of the message, or None.

        Raises
        ------
        InputError
            Links that are paused wait for each other in a circle.
        """
        state = self._state
        while (why := advance(state, _AT_ONCE, until_ns)) not in (DONE, LATER, ARRIVED):
            if why == STUCK:
                message = (
                    f"must not deadlock, as it does at {1e-3 * state.totals[0].now:.3f} us: "
                    "links wait for each other in a circle"
                )
                raise InputError(self._topology.name, "links", message)
            state = self._state = grown(
                state,
                heap=why == FULL_HEAP,
                flows=why == FULL_FLOWS,
                trains=why == FULL_TRAINS,
            )
        if why != ARRIVED:
            return None
        arrived, state.totals[0].arrived_message = int(state.totals[0].arrived_message), -1
        return arrived

    def end_ns(self, message: int) -> float:
        """Return when a message arrived [ns]; -1 if it has not arrived."""
        return float(self._state.messages[message].end)

    def found(self) -> Found:
        """Return the results so far."""
        state = self._state
        totals, links, messages = state.totals[0], state.links, state.messages[: self._count]
        sources, targets = _ends(state, messages.path)
        samples = state.samples[: int(state.setting[0].samples)] * (1e-9, 1, 1, 1, 1e9)
        return Found(
            time_s=1e-9 * float(messages.end.max(initial=0.0)),
            begin_s=1e-9 * messages.begin,
            end_s=1e-9 * messages.end,
            sources=sources,
            targets=targets,
            sizes=messages.length.astype(np.int64),
            pauses=int(links.pauses.sum()),
            marks=int(totals.marks),
            drops=int(totals.drops),
            resent_bytes=int(totals.resent),
            paused_s=1e-9 * float(links.stopped.sum()),
            queue_bytes=_queues(state.queues, float(links.longest.max(initial=0.0))),
            carried={int(i): float(links[i].carried) for i in np.flatnonzero(links.carried)},
            samples=samples,
            events=int(totals.done),
            packets=int(totals.arrived),
        )


def simulate(topology: Topology, work: Workload, parameters: RoceFile) -> Found:
    """Simulate messages on a topology, from time 0 until the last message arrives.

    Parameters
    ----------
    topology, parameters : Topology, RoceFile
        See ``Simulation``.
    work : Workload
        The messages, on paths of links of the topology.

    Raises
    ------
    InputError
        A buffer is too small for its headroom, or pauses wait for each other in a circle.
    """
    simulation = Simulation(topology, parameters)
    simulation.add(work)
    simulation.advance()
    return simulation.found()


def simulate_flows(topology: Topology, flows: Sequence[Flow], parameters: RoceFile) -> Found:
    """Simulate flows on a topology; results per flow are ordered by start time.

    Parameters
    ----------
    topology, parameters : Topology, RoceFile
        See ``Simulation``.
    flows : sequence of Flow
        The flows, each between two NPUs.

    Raises
    ------
    InputError
        As for :func:`simulate`.
    """
    simulation = Simulation(topology, parameters)
    ordered = sorted(flows, key=lambda one: one.start_s)
    for start_s, together in groupby(ordered, key=lambda one: one.start_s):
        work = Workload()
        for one in together:
            hops = topology.hops((one.source,), (one.target,))
            work.add(work.path_number(link for link, _ in hops), one.size_bytes)
        simulation.advance(1e9 * start_s)
        simulation.add(work, 1e9 * start_s)
    simulation.advance()
    return simulation.found()


def _ends(state: State, numbers: Any) -> tuple[Any, Any]:
    """Return source and target of the paths with given numbers; -1 for paths without links."""
    paths, links = state.paths[numbers], state.path_links
    used = paths.hops > 0
    first = np.where(used, paths.first, 0)
    last = np.where(used, first + paths.hops - 1, 0)
    sources, targets = state.links.source[links[first]], state.links.target[links[last]]
    return np.where(used, sources, -1), np.where(used, targets, -1)


def _queues(counts: Any, longest: float) -> dict[str, float]:
    """Return percentiles of queue lengths, each as the lower end of its bin."""
    total, upto = int(counts.sum()), np.cumsum(counts)
    found = {
        f"p{share}": BIN_BYTES * int(np.searchsorted(upto, total * share / 100)) if total else 0.0
        for share in _PERCENTILES
    }
    return {**found, "longest": longest}
