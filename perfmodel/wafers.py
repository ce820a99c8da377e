"""All-reduce over several wafers, joined through their I/O controllers.

Three steps, all at once for the chunks of the data (FRED, arXiv 2406.19580, section on more than
one wafer): inside each wafer the data is reduced towards the I/O controllers, each of which gets
an equal share; controllers of equal number all-reduce their shares between the wafers; and the
results are distributed inside each wafer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from fred_hw.checks import check_int
from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.progress import track
from perfmodel.collectives.select import chunk_bytes
from perfmodel.collectives.streaming import build_stream
from perfmodel.collectives.transfer import Transfer
from perfmodel.network.fluid.flow import FluidFlow
from perfmodel.network.fluid.flows import as_flows
from perfmodel.network.fluid.pipeline import Pipeline
from perfmodel.switch_timing.provenance import Provenance, RecordUse
from perfmodel.switch_timing.record import ProtocolModel, load_record
from perfmodel.topology.graph import Topology

__all__ = ["JOINS", "MAX_WAFERS", "WafersResult", "run_wafers"]

JOINS = ("switch", "fred")
"""Connections between wafers: a switch that only routes, or a second FRED level that reduces."""

MAX_WAFERS = 1024

LINK_LATENCY_S = 500e-9
"""Latency of a link between wafers [s]: an assumption, typical of optical links in a rack (the
value in ASTRA-sim's scale-out examples)."""

_RECORD = "l2-10"


@dataclass(frozen=True, slots=True)
class WafersResult:
    """Result of an all-reduce over several wafers.

    Parameters
    ----------
    topology : str
        Name of each wafer's topology.
    wafers, npus : int
        Number of wafers, and of NPUs of all wafers.
    join : str
        One of ``JOINS``.
    size_bytes : float
        Size of the whole vector [B].
    chunks : int
        Number of pieces.
    time_s : float
        Time from the start to the last byte at the last NPU [s].
    bus_bandwidth_bytes_per_s : float
        Bus bandwidth [B/s]: the rate at which each NPU would send with an endpoint algorithm.
    inside_s, between_s : float
        Time of the same data only inside a wafer, in and out, and only between the wafers [s], each
        by itself. The total is less than their sum, as chunks overlap.
    provenance : Provenance
        Timing records used and assumptions made.
    """

    topology: str
    wafers: int
    npus: int
    join: str
    size_bytes: float
    chunks: int
    time_s: float
    bus_bandwidth_bytes_per_s: float
    inside_s: float
    between_s: float
    provenance: Provenance


def run_wafers(
    topology: Topology,
    wafers: int,
    size_bytes: float,
    join: str = "fred",
    link_latency_s: float = LINK_LATENCY_S,
    shown: int = 1,
) -> WafersResult:
    """Simulate an all-reduce over all NPUs of identical wafers.

    Parameters
    ----------
    topology : Topology
        Each wafer; has I/O controllers.
    wafers : int
        How many, 1 to ``MAX_WAFERS``.
    size_bytes : float
        The whole vector [B].
    join : str
        One of ``JOINS``. Controllers run a ring through a ``switch``; ``fred`` reduces on the way
        through a tree of switches of as many ports as ``l2-10``, at link rate.
    link_latency_s : float
        Latency of a link between wafers [s], 0 or more.
    shown : int
        Wafers to simulate, 1 or more. All do the same, so one is enough; more change nothing.

    Raises
    ------
    InputError
        A value is not allowed.
    """
    _check(topology, wafers, size_bytes, join, link_latency_s, shown)
    piece = chunk_bytes(size_bytes)
    shown = min(shown, wafers)
    between = _between(wafers, join, link_latency_s, topology.protocol)
    build = _Build(topology)
    build.all_reduce(range(shown), between if wafers > 1 else None)
    capacities = build.capacities(shown, between.efficiency)
    # Time of the whole, and of each step if it ran alone.
    time_s, inside_s, between_s = (
        Pipeline(flows, capacities).time_s(size_bytes, piece)
        for flows in track([build.flows, *map(build.only, ("inside", "between"))], "simulations")
    )
    npus = wafers * topology.npus
    used = replace(topology.provenance, records=topology.provenance.records + between.records)
    return WafersResult(
        topology=topology.name,
        wafers=wafers,
        npus=npus,
        join=join,
        size_bytes=size_bytes,
        chunks=ceil(size_bytes / piece),
        time_s=time_s,
        bus_bandwidth_bytes_per_s=2 * (npus - 1) / npus * size_bytes / time_s,
        inside_s=inside_s,
        between_s=between_s,
        provenance=used.plus(*between.assumptions, *build.assumptions),
    )


def _check(
    topology: Topology, wafers: int, size_bytes: float, join: str, link_latency_s: float, shown: int
) -> None:
    _check_count("wafers", wafers, MAX_WAFERS)
    _check_count("shown", shown)
    if join not in JOINS:
        raise InputError("join", "", not_one_of(join, JOINS))
    if not 0 < size_bytes < float("inf"):
        raise InputError("size", "", f"must be above 0 bytes, not {size_bytes!r}")
    if not 0 <= link_latency_s < float("inf"):
        message = f"must be 0 or more seconds and finite, not {link_latency_s!r}"
        raise InputError("link_latency_s", "", message)
    if not topology.io_nodes:
        raise InputError("topology", "", f"must have I/O controllers, as {topology.name} has none")


def _check_count(name: str, value: int, maximum: int | None = None) -> None:
    try:
        check_int(name, value, minimum=1, maximum=maximum)
    except (TypeError, ValueError) as error:
        raise InputError(name, "", str(error).removeprefix(f"{name} ")) from None


@dataclass(frozen=True, slots=True)
class _Between:
    """The connection between wafers.

    Parameters
    ----------
    payload : float
        Bytes that a controller sends for each byte of its share.
    latency_s : float
        Latency of both directions together [s].
    efficiency : float
        Share of the link rate that remains for payload in the switches there.
    assumptions, records : tuple of str, tuple of RecordUse
        Assumptions and records.
    """

    payload: float
    latency_s: float
    efficiency: float
    assumptions: tuple[str, ...]
    records: tuple[RecordUse, ...]


def _between(wafers: int, join: str, link_latency_s: float, protocol: ProtocolModel) -> _Between:
    links = (
        "links between wafers have the bandwidth of their I/O controllers, and "
        f"{link_latency_s * 1e9:g} ns"
    )
    if join == "switch":
        steps = 2 * (wafers - 1)
        text = "controllers of equal number run a ring through a switch without latency of its own"
        return _Between(steps / wafers, steps * 2 * link_latency_s, 1.0, (text, links), ())
    timing = load_record(_RECORD, protocol=protocol)
    ports = timing.record.spec.ports
    levels = 1
    while ports**levels < wafers:
        levels += 1
    crossings = 2 * levels - 1
    latency_s = 2 * levels * link_latency_s + crossings * timing.latency_s
    text = (
        f"wafers are joined by {levels} level(s) of FRED switches of {ports} ports, which carry "
        "every controller at its full rate"
    )
    return _Between(
        1.0, latency_s, timing.efficiency, (text, links), (timing.use("between wafers"),)
    )


class _Build:
    """Builder of the flows of one byte; the links of each wafer follow those of its predecessor."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.flows: list[FluidFlow] = []
        self.kinds: list[str] = []
        self.assumptions: dict[str, None] = {}
        self._ending: dict[tuple[int, int], list[int]] = {}  # flows that end at an I/O controller
        self._links = len(topology.capacities) + 2 * len(topology.io_nodes)

    def capacities(self, shown: int, efficiency: float) -> list[float]:
        """Return the bandwidth of each link [B/s]: of a wafer, then from and to each I/O.

        Links between wafers have at most the share ``efficiency`` for payload.
        """
        index = self.topology.link_index
        sends = {node: self._link(index, node, out=True) for node in self.topology.io_nodes}
        one = list(self.topology.capacities)
        for node in self.topology.io_nodes:
            link = self.topology.links[sends[node]]
            one += [link.bytes_per_s * min(link.efficiency, efficiency)] * 2
        return one * shown

    def all_reduce(self, wafers: Sequence[int], between: _Between | None) -> None:
        """Add the steps inside the wafers, and between wafers if there are several."""
        for pattern in track(("stream_out", "stream_in"), "streams"):
            if pattern == "stream_in" and between is not None:
                self.between(wafers, between.payload, between.latency_s)
            for wafer in wafers:
                self.inside(wafer, pattern)

    def inside(self, wafer: int, pattern: str) -> None:
        """Add the transfers to or from the I/O controllers of a wafer."""
        everyone = [range(self.topology.npus)]
        schedule = build_stream(self.topology, pattern, everyone, 1.0)
        self.assumptions.update(dict.fromkeys(schedule.assumptions))
        first, base = len(self.flows), wafer * self._links
        flows = as_flows(self.topology, schedule.messages)
        for number, (item, flow) in enumerate(zip(schedule.messages, flows, strict=True)):
            after = [first + other for other in flow.after]
            if isinstance(item, Transfer):
                for source in item.sources:
                    after += self._ending.get((wafer, source), ())
                if pattern == "stream_out":
                    for target in item.targets:
                        self._ending.setdefault((wafer, target), []).append(first + number)
            loads = tuple((base + link, load) for link, load in flow.loads)
            self._add(loads, flow.payload_bytes, flow.latency_s, after, "inside")

    def between(self, wafers: Sequence[int], payload: float, latency_s: float) -> None:
        """Add the all-reduce of I/O controllers that have the same number on each wafer."""
        lanes = len(self.topology.io_nodes)
        own = len(self.topology.capacities)
        for lane, node in enumerate(self.topology.io_nodes):
            loads = tuple(
                (wafer * self._links + own + 2 * lane + way, 1.0)
                for wafer in wafers
                for way in (0, 1)
            )
            after = [flow for wafer in wafers for flow in self._ending.get((wafer, node), ())]
            self._add(loads, payload / lanes, latency_s, after, "between")
            for wafer in wafers:
                self._ending[wafer, node] = [len(self.flows) - 1]

    def only(self, kind: str) -> list[FluidFlow]:
        """Return only the flows inside the wafers or only those between, with dependencies."""
        place = {
            old: new for new, old in enumerate(i for i, k in enumerate(self.kinds) if k == kind)
        }
        return [
            replace(self.flows[i], after=tuple(place[j] for j in self.flows[i].after if j in place))
            for i in place
        ]

    def _add(
        self,
        loads: tuple[tuple[int, float], ...],
        payload_bytes: float,
        latency_s: float,
        after: Sequence[int],
        kind: str,
    ) -> None:
        self.flows.append(FluidFlow(loads, payload_bytes, latency_s, tuple(sorted(set(after)))))
        self.kinds.append(kind)

    @staticmethod
    def _link(index: dict[tuple[int, int], int], node: int, *, out: bool) -> int:
        return next(link for (a, b), link in index.items() if (a if out else b) == node)
