"""Network model ``packet``: packet-level endpoints, windows, acks and credits, as in RTL."""

from perfmodel.collectives.schedule import Schedule
from perfmodel.network.model import NETWORK_MODELS, CannotTimeError, Conditions, NetworkModel
from perfmodel.network.packet.exchanges import exchanges_of
from perfmodel.network.packet.rings import rings_on_circuits
from perfmodel.topology.graph import Topology

from .fluid import Fluid, pieces

__all__ = ["Packet"]

_NO_ENDPOINTS = "without endpoint_record the network model packet has no packets, as fluid"
_NO_ENGINE = "this schedule has no packet simulation: closed terms of endpoints in its place"


class Packet:
    """A schedule of one byte as packets of endpoints; see ``network.model.Timed``.

    Rings of endpoints, and unicasts of endpoints that wait for no others, have packet simulations.
    Other schedules take closed terms of endpoints.

    Parameters
    ----------
    topology, schedule, conditions
        As for ``Fluid``.
    """

    def __init__(self, topology: Topology, schedule: Schedule, conditions: Conditions) -> None:
        messages, pattern = schedule.messages, schedule.pattern
        self._closed = Fluid(topology, schedule, conditions)
        self._engine = rings_on_circuits(
            topology, messages, pattern, second_first=conditions.second_first
        ) or exchanges_of(topology, messages)
        self.loads, self.ack_s = self._closed.loads, self._closed.ack_s
        self._has_endpoints = topology.endpoint is not None
        missing = _NO_ENGINE if self._has_endpoints else _NO_ENDPOINTS
        self.assumptions = () if self._engine else (missing,)

    def time_s(self, size_bytes: float, chunk_bytes: float) -> float:
        """Return the time of a vector that endpoints send as one chunk [s].

        Raises
        ------
        CannotTimeError
            The topology has endpoints, and the vector has several chunks.
        """
        if self._has_endpoints and chunk_bytes < size_bytes:
            count = round(size_bytes / chunk_bytes)
            message = f"must be 1 with network model packet on endpoints, not {count}"
            raise CannotTimeError("chunks", "", message)
        if self._engine is None:
            return self._closed.time_s(size_bytes, chunk_bytes, alone=True)
        return self._engine.time_s(size_bytes) + self._closed.waits_s


NETWORK_MODELS.add(
    "packet",
    NetworkModel("windows, acks, credits and endpoints packet by packet", Packet, pieces),
    rank=1,
)
