"""Network model ``roce``: RDMA over Ethernet with congestion control."""

from collections.abc import Mapping
from typing import Any

from perfmodel.collectives.schedule import Schedule
from perfmodel.network.model import NETWORK_MODELS, Conditions, NetworkModel, unicast_loads
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.topology.graph import Topology

__all__ = ["Roce"]

_KEPT = 8
"""Number of cached simulations, one per chunk size; time and details share a simulation."""


class Roce:
    """A schedule of one byte as messages of flows; see ``network.model.Timed``.

    Parameters
    ----------
    topology : Topology
        Topology on which the schedule runs; ``network_options["roce"]`` is a ``RoceFile``, the
        default one if missing.
    schedule : Schedule
        Schedule of one byte.
    conditions : Conditions
        Not used by this model.

    Raises
    ------
    CannotTimeError
        A message joins or forks on its way.
    """

    def __init__(self, topology: Topology, schedule: Schedule, conditions: Conditions) -> None:
        self.loads = unicast_loads(schedule)
        self._topology, self._schedule = topology, schedule
        self._parameters: RoceFile = topology.network_options.get("roce", RoceFile())
        self._runs: dict[float, Any] = {}
        """What the simulation of a chunk found, by the size of the chunk."""
        self.ack_s = 0.0
        self.assumptions = self._parameters.assumptions

    def time_s(self, size_bytes: float, chunk_bytes: float) -> float:
        """Return the time of a vector whose chunks are sent one after the other [s]."""
        return self._run(chunk_bytes).time_s * round(size_bytes / chunk_bytes)

    def details(self, chunk_bytes: float) -> Mapping[str, Any]:
        """Return the figures of a chunk other than its time, keyed by JSON name."""
        from perfmodel.network.roce.figures import figures

        return figures(self._run(chunk_bytes), self._parameters)

    def flows(self, chunk_bytes: float, start_s: float = 0.0) -> list[Any]:
        """Return the messages of a chunk that begins at a time [s], each a ``ns3_flows.Flow``."""
        found: list[Any] = self._run(chunk_bytes).flows(start_s)
        return found

    def _run(self, chunk_bytes: float) -> Any:
        if chunk_bytes not in self._runs:
            from perfmodel.network.roce.simulate import simulate
            from perfmodel.network.roce.workload import workload_of

            work = workload_of(self._schedule, chunk_bytes)
            if len(self._runs) >= _KEPT:
                self._runs.pop(next(iter(self._runs)))
            self._runs[chunk_bytes] = simulate(self._topology, work, self._parameters)
        return self._runs[chunk_bytes]


NETWORK_MODELS.add(
    "roce",
    NetworkModel(
        "RDMA over Ethernet: shared buffers, pauses, marks and congestion control",
        Roce,
        chunk_bytes=lambda _, size_bytes: size_bytes,
        in_network=False,
        never_faster_than_links=False,
        details=lambda timed, chunk_bytes: timed.details(chunk_bytes),
    ),
    rank=5,
)
