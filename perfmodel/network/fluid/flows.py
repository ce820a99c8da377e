"""Conversion of a schedule's messages to flows on links."""

from collections.abc import Callable, Iterable, Sequence

from fred_hw.progress import track
from perfmodel.collectives.transfer import Loads, RingPass, Transfer
from perfmodel.topology.graph import Hops, Topology

from .flow import FluidFlow
from .switch_rounds import SwitchRound

__all__ = ["as_flows"]


def as_flows(
    topology: Topology,
    messages: Sequence[Transfer | RingPass],
    switch_rounds: Iterable[SwitchRound] = (),
    latency_s: Callable[[Hops], float] | None = None,
) -> tuple[FluidFlow, ...]:
    """Return the flow of each message or ring pass.

    Parameters
    ----------
    topology : Topology
        Topology on which the messages run.
    messages : sequence of Transfer or RingPass
        Messages of a schedule.
    switch_rounds : iterable of SwitchRound
        Rounds of switches; the first message of a round occupies the switch for the whole round.
    latency_s : callable or None
        Returns the latency of a route [s]; by default ``topology.latency_s``.
    """
    latency_s = latency_s or topology.latency_s
    # Routes are the same objects wherever they are used, and larger than their addresses.
    known: dict[int, tuple[Loads, float]] = {}
    taken: dict[int, list[tuple[int, float]]] = {}
    for served in switch_rounds:
        taken.setdefault(served.messages[0], []).append((topology.rounds_index(served.switch), 1.0))

    def asks(item: Transfer | RingPass) -> tuple[Loads, float]:
        route = item.edges if isinstance(item, RingPass) else item.hops
        if id(route) not in known:
            known[id(route)] = item.loads(), item.late_s(latency_s)
        return known[id(route)]

    flows: list[FluidFlow] = []
    for number, item in enumerate(track(messages, "messages")):
        loads, late_s = asks(item)
        if number in taken:
            loads = (*loads, *taken[number])
        flows.append(FluidFlow(loads, item.payload_bytes, late_s, item.after))
    return tuple(flows)
