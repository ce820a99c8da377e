"""Simulation of messages on a topology, and what was found."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fred_hw.errors import InputError
from perfmodel.topology.graph import Topology

from .arrays import BIN_BYTES, arrays_of, grown
from .engine import DONE, FULL_FLOWS, FULL_HEAP, FULL_TRAINS, STUCK, advance
from .parameters import RoceFile
from .workload import Workload

__all__ = ["Found", "simulate"]

_AT_ONCE = 1 << 22
"""Events between two returns from the event core, at which an interrupt is noticed."""

_PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Found:
    """What a simulation found.

    Parameters
    ----------
    time_s : float
        Until the last message arrived [s].
    begin_s, end_s : array
        When each message began and when it arrived [s].
    pauses, marks, drops : int
        Pause frames that switches sent, packets that they marked, and packets that were lost.
    resent_bytes, paused_s : float
        Bytes sent again; time that links were paused, of all links together [s].
    queue_bytes : dict
        Queue that packets came to in switches, by percentile, and the longest [B].
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


def simulate(topology: Topology, work: Workload, parameters: RoceFile) -> Found:
    """Simulate messages on a topology.

    Parameters
    ----------
    topology : Topology
        Rates and latencies of links and nodes.
    work : Workload
        The messages, on paths of its links.
    parameters : RoceFile
        Of switches, senders and congestion control.

    Raises
    ------
    InputError
        A buffer is too small for its headroom, or pauses wait for each other in a circle.
    """
    state = arrays_of(topology, work, parameters)
    while (why := advance(state, _AT_ONCE)) != DONE:
        if why == STUCK:
            message = (
                f"must not deadlock, as it does at {1e-3 * state.totals[0].now:.3f} us: "
                "links wait for each other in a circle"
            )
            raise InputError(topology.name, "links", message)
        state = grown(
            state,
            heap=why == FULL_HEAP,
            flows=why == FULL_FLOWS,
            trains=why == FULL_TRAINS,
        )
    totals, links, messages = state.totals[0], state.links, state.messages
    end = float(messages.end.max(initial=0.0))
    samples = state.samples[: int(state.setting[0].samples)] * (1e-9, 1, 1, 1, 1e9)
    return Found(
        time_s=1e-9 * end,
        begin_s=1e-9 * messages.begin,
        end_s=1e-9 * messages.end,
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


def _queues(counts: Any, longest: float) -> dict[str, float]:
    """Return percentiles of queue lengths, each the lower end of its bin."""
    total, upto = int(counts.sum()), np.cumsum(counts)
    found = {
        f"p{share}": BIN_BYTES * int(np.searchsorted(upto, total * share / 100)) if total else 0.0
        for share in _PERCENTILES
    }
    return {**found, "longest": longest}
