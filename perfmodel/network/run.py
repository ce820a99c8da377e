"""Simulated time and link loads of a collective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isfinite
from typing import Any, overload

from fred_hw.checks import check_int
from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.memory_traffic import TrafficOf
from perfmodel.collectives.schedule import REDUCTIONS
from perfmodel.collectives.select import PUBLISHED, build_schedule
from perfmodel.collectives.streaming import STREAMS
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.graph import Topology

from .fastest import fastest, fastest_fixed
from .fluid.task import Profile
from .model import find_model
from .prepared import Prepared, Request, Size, as_tuples, prepare, stage_requests
from .remembered import Remembered

__all__ = [
    "FLUID",
    "CollectiveResult",
    "Endpoint",
    "LinkLoad",
    "profile",
    "run_collective",
    "run_collectives",
]

FLUID = "fluid"
"""Name of the default network model."""


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """Load of one link.

    Parameters
    ----------
    link : str
        Ends of the link, such as ``npu_0 -> l1_0``.
    carried_bytes : float
        Bytes that crossed the link [B].
    utilisation : float
        Share of the time of the collective in which the link was occupied, 0 to 1.
    """

    link: str
    carried_bytes: float
    utilisation: float


class _LinkLoads(Sequence[LinkLoad]):
    """Loads of links, which may be very many: each is made where it is looked at."""

    def __init__(
        self, topology: Topology, prepared: Prepared, size_bytes: float, time_s: float
    ) -> None:
        self._topology, self._prepared = topology, prepared
        self._size_bytes, self._time_s = size_bytes, time_s

    @cached_property
    def _loads(self) -> Sequence[tuple[int, float]]:
        return self._prepared.loads(self._topology)

    def __len__(self) -> int:
        return len(self._loads)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LinkLoads) and list(self) == list(other)

    @overload
    def __getitem__(self, place: int) -> LinkLoad: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[LinkLoad]: ...
    def __getitem__(self, place: int | slice) -> LinkLoad | Sequence[LinkLoad]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        return self._of(*self._loads[place])

    def _of(self, link: int, share: float) -> LinkLoad:
        name = self._topology.link_name(link)
        return LinkLoad(name, share * self._size_bytes, self._busy(link, share))

    def _busy(self, link: int, share: float) -> float:
        return share * self._size_bytes / self._topology.capacities[link] / self._time_s

    @property
    def busiest(self) -> LinkLoad:
        """The first of those that are occupied longest."""
        loads = self._prepared.distinct_loads(self._topology)
        return self._of(*max(loads, key=lambda one: self._busy(*one)))


@dataclass(frozen=True, slots=True)
class CollectiveResult:
    """Simulation result of a collective.

    Parameters
    ----------
    topology, pattern, algorithm, network_model : str
        Topology, pattern, algorithm and network model of the simulation.
    algorithm_name : str
        Name by which the algorithm is requested, see ``select.build_schedule``.
    groups : tuple
        NPUs of each group.
    size_bytes : float
        The whole vector of a group [B].
    chunks : int
        Pieces that the vector was cut into.
    time_s : float
        Time from the start to the last byte at the last NPU [s].
    bus_bandwidth_bytes_per_s : float
        Bus bandwidth, as nccl-tests defines it, in the largest group of N [B/s]: what an endpoint
        algorithm would have to send in this time, per NPU. 2 (N - 1)/N size / time for an
        all-reduce, half of it for a reduce-scatter, an all-gather or an all-to-all, size / time
        for a broadcast or a reduce.
    bytes_per_npu : float
        Bytes sent by the NPU that sends most [B].
    bottleneck : LinkLoad
        The link that was occupied longest.
    links : sequence of LinkLoad
        Loads of all links that carried data, in the order of the topology.
    provenance : Provenance
        Timing records used and assumptions made.
    details : mapping
        Figures of the algorithm itself, see ``schedule.Schedule``, and of the network model.
    """

    topology: str
    pattern: str
    algorithm: str
    algorithm_name: str
    network_model: str
    groups: tuple[tuple[int, ...], ...]
    size_bytes: float
    chunks: int
    time_s: float
    bus_bandwidth_bytes_per_s: float
    bytes_per_npu: float
    bottleneck: LinkLoad
    links: Sequence[LinkLoad]
    provenance: Provenance
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def effective_bandwidth_bytes_per_s(self) -> float:
        """Effective NPU bandwidth as defined in the paper: bytes sent per NPU over time."""
        return self.bytes_per_npu / self.time_s


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Memory reads of an NPU that runs collectives.

    Parameters
    ----------
    traffic : callable
        Returns the traffic of each NPU, given a schedule and the number of NPUs.
    bytes_per_s : float
        Rate at which communication of an NPU reads memory [B/s].
    """

    traffic: TrafficOf
    bytes_per_s: float


Read = tuple[tuple[int, float], ...]
_read: Remembered[tuple[Request, TrafficOf], Read] = Remembered()


def run_collective(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    group: Sequence[int] | None = None,
    chunks: int | None = None,
    algorithm: str = "auto",
    network_model: str = FLUID,
) -> CollectiveResult:
    """Simulate a collective over one group.

    Parameters
    ----------
    topology : Topology
        Topology on which the collective runs.
    pattern : str
        Pattern, one of ``schedule.PATTERNS``.
    size_bytes : float
        The whole vector [B], above 0: what each member has before an all-reduce, a reduce-scatter
        or a reduce, what each has after an all-gather or a broadcast, and what each sends and
        keeps in an all-to-all.
    group : sequence of int or None
        NPUs that take part; all if None. A broadcast or a reduce has its root first.
    chunks : int or None
        Pieces to cut the vector into; as many as the network model makes if None.
    algorithm : str
        ``auto`` for the fastest of those that fit and of sequences of them; otherwise as for
        ``select.build_schedule``.
    network_model : str
        Network model, one of ``model.NETWORK_MODELS``.

    Raises
    ------
    InputError
        An argument is not allowed, or the network model cannot time the schedule.
    """
    members = range(topology.npus) if group is None else group
    return run_collectives(
        topology, pattern, size_bytes, [members], chunks, algorithm, network_model
    )


def run_collectives(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    groups: Sequence[Sequence[int]],
    chunks: int | None = None,
    algorithm: str = "auto",
    network_model: str = FLUID,
    *,
    second_first: bool = False,
) -> CollectiveResult:
    """Simulate the same collective over several groups at the same time.

    The other parameters and the errors are those of :func:`run_collective`; ``second_first`` is as
    of ``model.Conditions``.
    """
    if not (isfinite(size_bytes) and size_bytes > 0):
        raise InputError("size", "", f"must be above 0 bytes, not {size_bytes!r}")
    if chunks is not None:
        _check_chunks(chunks, size_bytes)
    asked = Request(pattern, as_tuples(groups), algorithm, network_model, second_first=second_first)
    size = _size(topology, network_model, size_bytes, chunks)
    request, compared = _chosen(topology, asked, size)
    prepared = prepare(topology, request)
    time_s = prepared.time_s(size)
    links = _LinkLoads(topology, prepared, size_bytes, time_s)
    return CollectiveResult(
        topology=topology.name,
        pattern=pattern,
        algorithm=prepared.algorithm,
        algorithm_name=request.algorithm,
        network_model=network_model,
        groups=prepared.groups,
        size_bytes=size_bytes,
        chunks=size.count,
        time_s=time_s,
        bus_bandwidth_bytes_per_s=prepared.moved * size_bytes / time_s,
        bytes_per_npu=prepared.most_sent * size_bytes,
        bottleneck=links.busiest,
        links=links,
        provenance=topology.provenance.plus(*prepared.assumptions),
        details={
            **prepared.details,
            **compared,
            **_model_details(prepared, network_model, size),
        },
    )


def _model_details(prepared: Prepared, network_model: str, size: Size) -> Mapping[str, Any]:
    """Return the figures of a network model, as a list if there are several stages."""
    model = find_model(network_model)
    found = [
        model.details(stage.timed, size.times(stage.times).piece_bytes) for stage in prepared.stages
    ]
    if len(found) == 1:
        return found[0]
    return {"stages": found} if any(found) else {}


def profile(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    groups: Sequence[Sequence[int]],
    algorithm: str = PUBLISHED,
    concurrent: Sequence[Sequence[int]] = (),
    *,
    urgent: bool = False,
    changes: int = 0,
    second_first: bool = False,
    network_model: str = FLUID,
    endpoint: Endpoint | None = None,
) -> tuple[Profile, tuple[str, ...]]:
    """Simulate a collective or a stream; return its profile and its assumptions.

    Parameters
    ----------
    topology, pattern, size_bytes, groups, algorithm, second_first, network_model
        As for :func:`run_collectives`; ``pattern`` may be one of ``streaming.STREAMS``, which have
        one algorithm for each topology.
    concurrent : sequence of sequence of int
        Groups that may run the same collective at the same time: switches need paths for all at
        once.
    urgent : bool
        Whether the collective has priority over others in progress.
    changes : int
        Number of times that a source changes to the collective from other destinations.
    endpoint : Endpoint or None
        Endpoint model that reads the memory of NPUs for collectives. NPU i is then an additional
        link, number ``len(topology.capacities) + i``, that carries what the NPU reads. The
        algorithm is chosen as without endpoints. None if memory is never the bottleneck.
    """
    asked = Request(
        pattern,
        as_tuples(groups),
        algorithm,
        network_model,
        as_tuples(concurrent),
        urgent,
        changes,
        second_first,
    )
    size = _size(topology, network_model, size_bytes)
    request, _ = _chosen(topology, asked, size)
    prepared = prepare(topology, request)
    read = tuple((npu, share * size_bytes) for npu, share in _read_by(topology, request, endpoint))
    times_s = [prepared.time_s(size)]
    times_s += [one / endpoint.bytes_per_s for _, one in read if endpoint]
    loads = tuple((link, share * size_bytes) for link, share in prepared.loads(topology))
    ends = tuple((len(topology.capacities) + npu, one) for npu, one in read)
    added = size_bytes * sum(len(group) - 1 for group in groups) if _adds(topology, pattern) else 0
    details = _model_details(prepared, network_model, size)
    found = Profile(max(times_s), loads + ends, prepared.ack_s, float(added), details=details)
    return found, prepared.assumptions


def _read_by(topology: Topology, request: Request, endpoint: Endpoint | None) -> Read:
    """Return the bytes that each NPU reads per byte of the vector, cached per topology."""
    if endpoint is None or request.pattern in STREAMS:
        return ()
    traffic = endpoint.traffic
    return _read.of(topology, (request, traffic), lambda: _reads(topology, request, traffic))


def _reads(topology: Topology, request: Request, traffic: TrafficOf) -> Read:
    read: dict[int, float] = {}
    for times, one in stage_requests(request):
        schedule = build_schedule(topology, one.pattern, one.groups, 1.0, one.algorithm)
        for npu, moved in traffic(schedule, topology.npus).items():
            read[npu] = read.get(npu, 0.0) + times * moved.read
    return tuple((npu, share) for npu, share in sorted(read.items()) if share)


def _adds(topology: Topology, pattern: str) -> bool:
    """Return whether a collective or a stream sums the data of a group's members."""
    return pattern in REDUCTIONS or (pattern == "stream_out" and topology.adds)


def _size(
    topology: Topology, network_model: str, size_bytes: float, chunks: int | None = None
) -> Size:
    model = find_model(network_model)
    return Size(size_bytes, partial(model.chunk_bytes, topology), chunks)


def _chosen(
    topology: Topology, asked: Request, size: Size
) -> tuple[Request, dict[str, float | str]]:
    """Return the request with its algorithm replaced if that is ``auto`` or falls back.

    The mapping has the times of an algorithm that falls back and of its fastest alternative.
    """
    name = asked.algorithm
    if asked.pattern in STREAMS:
        return asked, {}
    if name == "auto":
        return fastest(topology, asked, size), {}
    if not (name in ALGORITHMS and ALGORITHMS[name].falls_back):
        return asked, {}
    own_s = prepare(topology, asked).time_s(size)
    fixed, fixed_s = fastest_fixed(topology, asked, size, own_s)
    fell_back = own_s > fixed_s
    compared: dict[str, float | str] = {f"{name}_time_s": own_s, "fixed_time_s": fixed_s}
    compared |= {"fixed_algorithm": fixed.algorithm, "fell_back": fell_back}
    return fixed if fell_back else asked, compared


def _check_chunks(chunks: int, size_bytes: float) -> None:
    try:
        check_int("chunks", chunks, minimum=1, maximum=1 << 14)
    except (TypeError, ValueError) as error:
        raise InputError("", "", str(error)) from None
    if chunks > max(1, size_bytes):
        message = f"must be at most {int(size_bytes)}, one for each byte, not {chunks}"
        raise InputError("chunks", "", message)
