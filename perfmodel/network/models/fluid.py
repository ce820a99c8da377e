"""Network model ``fluid``: bandwidth, latency and sharing of links."""

from perfmodel.collectives.schedule import Schedule
from perfmodel.collectives.select import chunk_bytes
from perfmodel.network.fluid.acked_links import acked_capacities
from perfmodel.network.fluid.endpoints import endpoint_s
from perfmodel.network.fluid.flows import as_flows
from perfmodel.network.fluid.latencies import latency_of
from perfmodel.network.fluid.pipeline import Pipeline
from perfmodel.network.fluid.switch_rounds import SwitchRound, switch_rounds
from perfmodel.network.fluid.waits import ack_s, waits_s
from perfmodel.network.model import NETWORK_MODELS, Conditions, NetworkModel
from perfmodel.topology.graph import Topology

__all__ = ["Fluid", "pieces"]


class Fluid:
    """A schedule of one byte as flows that share links; see ``network.model.Timed``.

    Parameters
    ----------
    topology : Topology
        Topology on which the schedule runs.
    schedule : Schedule
        Schedule of one byte, with each pass around a ring as one item.
    conditions : Conditions
        Other traffic on the network.
    """

    def __init__(self, topology: Topology, schedule: Schedule, conditions: Conditions) -> None:
        self._topology = topology
        # Only endpoints need messages later, which may be very large.
        self._schedule = schedule if topology.endpoint else None
        messages, rounds = schedule.messages, _rounds(topology, schedule, conditions)
        latency_s = latency_of(topology)
        first_s = latency_of(topology, urgent=True) if conditions.urgent else latency_s
        flows = as_flows(topology, messages, rounds, first_s)
        self._pipeline = Pipeline(flows, acked_capacities(topology, messages))
        carried: dict[int, float] = {}
        for flow in flows:
            for link, load in flow.loads:
                carried[link] = carried.get(link, 0.0) + load * flow.payload_bytes
        self.loads = tuple(sorted(carried.items()))
        self.ack_s = ack_s(topology, messages, latency_s)
        self.assumptions: tuple[str, ...] = ()
        self.waits_s = waits_s(topology, messages, conditions.changes, latency_s)
        """Time that sources wait for acks [s], except for waits that endpoints account for."""
        if topology.endpoint is not None:
            self.waits_s -= waits_s(topology, messages, 0, latency_s)

    def time_s(self, size_bytes: float, chunk_bytes: float, *, alone: bool = False) -> float:
        """Return the time of a vector that is sent in chunks [s].

        With ``alone`` acks of endpoints come as soon as they can, by which a little more data may
        take a little less.
        """
        moved_s, schedule, more_s = (
            self._pipeline.time_s(size_bytes, chunk_bytes),
            self._schedule,
            0.0,
        )
        if schedule:
            given = (self._topology, schedule.messages, size_bytes, moved_s, schedule.pattern)
            more_s = endpoint_s(*given, alone=alone)
        return moved_s + self.waits_s + more_s


def _rounds(topology: Topology, schedule: Schedule, conditions: Conditions) -> list[SwitchRound]:
    """Return the switch rounds that the messages of the schedule take part in."""
    if not topology.interconnects:
        return []
    count = end = len(schedule.messages)
    groups = schedule.groups
    for other in conditions.concurrent:  # which may have members in common
        groups.append(list(enumerate(other.messages, end)))
        end += len(other.messages)
    rounds = switch_rounds(topology, groups)
    mine = [SwitchRound(one.switch, tuple(i for i in one.messages if i < count)) for one in rounds]
    return [one for one in mine if one.messages]


def pieces(topology: Topology, size_bytes: float) -> float:
    """Return the chunk size [B]; endpoints send all data in each step."""
    return chunk_bytes(size_bytes) if topology.endpoint is None else size_bytes


NETWORK_MODELS.add(
    "fluid",
    NetworkModel("bandwidth, latency and sharing of links", Fluid, pieces, lines_as_one=True),
    rank=0,
)
