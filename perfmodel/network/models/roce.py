"""Network model ``roce``: RDMA over Ethernet with congestion control."""

from collections.abc import Mapping
from typing import Any

from perfmodel.collectives.schedule import Schedule
from perfmodel.network.model import NETWORK_MODELS, CannotTimeError, Conditions, NetworkModel
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.topology.graph import Topology

__all__ = ["Roce"]

_KEPT = 8
"""Sizes of one schedule whose simulations are remembered: a result asks twice for the same."""

_MOST_FLOWS = 1 << 16
"""Flows that a result lists one by one, at most."""

_POINTS = 256
_SAMPLED = (
    *("time_s", "longest_queue_bytes", "queued_bytes", "paused_links"),
    "mean_rate_bytes_per_s",
)


class Roce:
    """A schedule of one byte as messages of flows; see ``network.model.Timed``.

    Parameters
    ----------
    topology : Topology
        Where it runs; its ``network_options`` under ``roce`` are the parameters, if it has some.
    schedule : Schedule
        Of one byte.
    conditions : Conditions
        They change nothing here.

    Raises
    ------
    CannotTimeError
        A message joins or forks on its way.
    """

    def __init__(self, topology: Topology, schedule: Schedule, conditions: Conditions) -> None:
        if any(one.joins for one in schedule.messages):
            able = " or ".join(name for name, one in NETWORK_MODELS.items() if one.in_network)
            message = f"must be {able} for messages that join or fork in switches"
            raise CannotTimeError("network_model", "", message)
        self._topology, self._schedule = topology, schedule
        self._parameters: RoceFile = topology.network_options.get("roce", RoceFile())
        self._found: dict[float, Any] = {}
        carried: dict[int, float] = {}
        for one in schedule.messages:
            for link, times in one.loads():
                carried[link] = carried.get(link, 0.0) + times * one.payload_bytes
        self.loads = tuple(sorted(carried.items()))
        self.ack_s = 0.0
        self.assumptions = (
            "acks have priority over data and take no bandwidth",
            "each message is a flow of its own, which begins at line rate",
            f"up to {self._parameters.train_packets} packets of a flow are simulated as one",
        )

    def time_s(self, size_bytes: float, chunk_bytes: float) -> float:
        """Return the time of a vector whose chunks go one after the other [s]."""
        return self.found(chunk_bytes).time_s * round(size_bytes / chunk_bytes)

    def found(self, chunk_bytes: float) -> Any:
        """Return what the simulation of a chunk found, a ``simulate.Found``."""
        if chunk_bytes not in self._found:
            from perfmodel.network.roce.simulate import simulate
            from perfmodel.network.roce.workload import workload_of

            work = workload_of(self._schedule, chunk_bytes)
            if len(self._found) >= _KEPT:
                self._found.pop(next(iter(self._found)))
            self._found[chunk_bytes] = simulate(self._topology, work, self._parameters)
        return self._found[chunk_bytes]

    def details(self, chunk_bytes: float) -> Mapping[str, Any]:
        """Return figures of a chunk other than its time, by their names in JSON."""
        found = self.found(chunk_bytes)
        spans = sorted(
            (begin, end)
            for begin, end in zip(found.begin_s.tolist(), found.end_s.tolist(), strict=True)
            if end > begin
        )
        lasting = sorted(end - begin for begin, end in spans)
        return {
            "congestion_control": self._parameters.congestion_control,
            "pauses": found.pauses,
            "paused_s": found.paused_s,
            "marks": found.marks,
            "drops": found.drops,
            "resent_bytes": found.resent_bytes,
            **{f"queue_{name}_bytes": value for name, value in found.queue_bytes.items()},
            "events": found.events,
            "packets": found.packets,
            "flow_p50_s": lasting[len(lasting) // 2],
            "flow_p99_s": lasting[len(lasting) * 99 // 100],
            "flow_longest_s": lasting[-1],
            "over_time": _over_time(found.samples),
            **({"flows": _listed(spans)} if len(spans) <= _MOST_FLOWS else {}),
        }


def _listed(spans: list[tuple[float, float]]) -> list[dict[str, float]]:
    return [{"begin_s": begin, "end_s": end} for begin, end in spans]


def _over_time(samples: Any) -> dict[str, list[float]]:
    """Return samples by their names in JSON, at most ``_POINTS`` of them."""
    rows = samples[:: max(1, len(samples) // _POINTS)]
    return {name: rows[:, place].tolist() for place, name in enumerate(_SAMPLED)}


NETWORK_MODELS.add(
    "roce",
    NetworkModel(
        "RDMA over Ethernet: shared buffers, pauses, marks and congestion control",
        Roce,
        chunk_bytes=lambda _, size_bytes: size_bytes,
        in_network=False,
        never_faster_than_links=True,
        details=lambda timed, chunk_bytes: timed.details(chunk_bytes),
    ),
    rank=5,
)
