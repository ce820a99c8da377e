"""Simulated time and link loads of a collective."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite
from weakref import WeakKeyDictionary

from fred_hw.checks import check_int
from fred_hw.errors import InputError
from fred_hw.progress import track
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.memory_traffic import Traffic
from perfmodel.collectives.schedule import ROOTED, Schedule
from perfmodel.collectives.select import PUBLISHED, build_schedule, candidates
from perfmodel.collectives.streaming import STREAMS, build_stream
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.graph import Topology

from .fluid.task import Profile
from .model import CannotTimeError, Conditions, Timed, find_model

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
"""Name of the network model that is taken where none is given."""


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """Load of one link.

    Parameters
    ----------
    link : str
        Its ends, ``npu_0 -> l1_0``.
    carried_bytes : float
        Bytes that crossed it [B].
    utilisation : float
        Share of the time of the collective that it was occupied, 0 to 1.
    """

    link: str
    carried_bytes: float
    utilisation: float


@dataclass(frozen=True, slots=True)
class CollectiveResult:
    """What the simulation of a collective found.

    Parameters
    ----------
    topology, pattern, algorithm, network_model : str
        What ran where, by which algorithm, and how its time was found.
    algorithm_name : str
        By which name that is asked for: one of ``algorithm.ALGORITHMS``, or ``published``.
    groups : tuple
        NPUs of each group.
    size_bytes : float
        The whole vector of a group [B].
    chunks : int
        Pieces that the vector was cut into.
    time_s : float
        From the start to the last byte at the last NPU [s].
    bus_bandwidth_bytes_per_s : float
        Bus bandwidth, as nccl-tests defines it, in the largest group of N [B/s]: what an endpoint
        algorithm would have to send in this time, per NPU. 2 (N - 1)/N size / time for an
        all-reduce, half of it for a reduce-scatter, an all-gather or an all-to-all, size / time
        for a broadcast or a reduce.
    bytes_per_npu : float
        Sent by the NPU that sends most [B].
    bottleneck : LinkLoad
        The link that was occupied longest.
    links : tuple of LinkLoad
        All links that carried something, in the order of the topology.
    provenance : Provenance
        Timing records used and assumptions made.
    details : mapping
        Figures of the algorithm itself, see ``schedule.Schedule``.
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
    links: tuple[LinkLoad, ...]
    provenance: Provenance
    details: Mapping[str, float | str] = field(default_factory=dict[str, float | str])

    @property
    def effective_bandwidth_bytes_per_s(self) -> float:
        """Effective NPU bandwidth, as the paper defines it: bytes that an NPU sends over time."""
        return self.bytes_per_npu / self.time_s


Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What runs, by which algorithm, and how its time is found: of any size.

    Parameters
    ----------
    pattern : str
        One of ``schedule.PATTERNS`` or of ``streaming.STREAMS``.
    groups : tuple of tuple of int
        NPUs of each group, all at once.
    algorithm : str
        ``published``, or one of ``algorithm.ALGORITHMS``; streams have one for each topology.
    network_model : str
        One of ``model.NETWORK_MODELS``.
    beside : tuple of tuple of int
        Groups that may run the same at any time meanwhile: switches need paths for all at once.
    urgent, changes, second_first : bool, int, bool
        As of ``model.Conditions``.
    """

    pattern: str
    groups: Groups
    algorithm: str
    network_model: str
    beside: Groups = ()
    urgent: bool = False
    changes: int = 0
    second_first: bool = False

    def schedule(self, topology: Topology, groups: Groups) -> Schedule:
        """Return the schedule of one byte of some groups."""
        if self.pattern in STREAMS:
            return build_stream(topology, self.pattern, groups, 1.0)
        lockstep = find_model(self.network_model).lockstep
        how = (self.pattern, groups, 1.0, self.algorithm)
        return build_schedule(topology, *how, lockstep=lockstep)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A schedule of one byte, and its times; sizes only scale them."""

    schedule: Schedule
    timed: Timed

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What algorithm and network model take for granted."""
        return (*self.schedule.assumptions, *self.timed.assumptions)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What an NPU reads from memory to run collectives.

    Parameters
    ----------
    traffic : callable
        Returns the traffic of each NPU, given a schedule and the number of NPUs.
    bytes_per_s : float
        Rate at which communication of an NPU reads memory [B/s].
    """

    traffic: Callable[[Schedule, int], Mapping[int, Traffic]]
    bytes_per_s: float


Read = tuple[tuple[int, float], ...]
_read: WeakKeyDictionary[Topology, dict[tuple[Request, object], Read]] = WeakKeyDictionary()
_KEPT = 256
_prepared: WeakKeyDictionary[Topology, dict[Request, _Prepared]] = WeakKeyDictionary()


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
        Where it runs.
    pattern : str
        One of ``schedule.PATTERNS``.
    size_bytes : float
        The whole vector [B], above 0: what each member has before an all-reduce, a reduce-scatter
        or a reduce, what each has after an all-gather or a broadcast, and what each sends and
        keeps in an all-to-all.
    group : sequence of int or None
        NPUs that take part; all if None. A broadcast or a reduce has its root first.
    chunks : int or None
        Pieces to cut the vector into; as many as the network model makes if None.
    algorithm : str
        ``auto`` for the fastest of those that fit, ``published`` for the choice of those who
        published the wafers, or one of ``algorithm.ALGORITHMS``.
    network_model : str
        One of ``model.NETWORK_MODELS``.

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
    """Simulate the same collective over several groups at once, ``size_bytes`` in each.

    The other parameters and the errors are those of :func:`run_collective`; ``second_first`` is as
    of ``model.Conditions``.
    """
    if not (isfinite(size_bytes) and size_bytes > 0):
        raise InputError("size", "", f"must be above 0 bytes, not {size_bytes!r}")
    model = find_model(network_model)
    if chunks is None:
        piece = model.chunk_bytes(topology, size_bytes)
        chunks = ceil(size_bytes / piece)
    else:
        _check_chunks(chunks)
        piece = size_bytes / chunks
    asked = Request(
        pattern, _as_tuples(groups), algorithm, network_model, second_first=second_first
    )
    request = _chosen(topology, asked, size_bytes, piece)
    prepared = _prepare(topology, request)
    schedule = prepared.schedule
    time_s = prepared.timed.time_s(size_bytes, piece)
    links = [
        LinkLoad(
            topology.link_name(index),
            share * size_bytes,
            share * size_bytes / topology.capacities[index] / time_s,
        )
        for index, share in prepared.timed.loads
    ]
    return CollectiveResult(
        topology=topology.name,
        pattern=pattern,
        algorithm=schedule.algorithm,
        algorithm_name=request.algorithm,
        network_model=network_model,
        groups=tuple(part.members for part in schedule.parts),
        size_bytes=size_bytes,
        chunks=chunks,
        time_s=time_s,
        bus_bandwidth_bytes_per_s=_moved_bytes(schedule, size_bytes) / time_s,
        bytes_per_npu=_most_sent_bytes(schedule) * size_bytes,
        bottleneck=max(links, key=lambda load: load.utilisation),
        links=tuple(links),
        provenance=topology.provenance.plus(*prepared.assumptions),
        details=_details(topology, schedule, asked, size_bytes, piece),
    )


def profile(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    groups: Sequence[Sequence[int]],
    algorithm: str = PUBLISHED,
    beside: Sequence[Sequence[int]] = (),
    *,
    urgent: bool = False,
    changes: int = 0,
    second_first: bool = False,
    network_model: str = FLUID,
    endpoint: Endpoint | None = None,
) -> tuple[Profile, tuple[str, ...]]:
    """Simulate a collective or a stream; return its profile and what it takes for granted.

    Parameters
    ----------
    topology, pattern, size_bytes, groups, algorithm, second_first, network_model
        As for :func:`run_collectives`; ``pattern`` may be one of ``streaming.STREAMS``, which have
        one algorithm for each topology.
    beside : sequence of sequence of int
        Groups that may run the same at any time meanwhile: switches need paths for all at once.
    urgent : bool
        Whether it goes before others that are under way.
    changes : int
        How often a source changes to it from other destinations.
    endpoint : Endpoint or None
        What reads the memory of NPUs for collectives: NPU i then is a link behind those of the
        topology, number ``len(topology.capacities) + i``, that carries what the NPU reads. The
        algorithm is the one that is chosen without it. None where memory never bounds anything.
    """
    piece = find_model(network_model).chunk_bytes(topology, size_bytes)
    asked = Request(
        pattern,
        _as_tuples(groups),
        algorithm,
        network_model,
        _as_tuples(beside),
        urgent,
        changes,
        second_first,
    )
    request = _chosen(topology, asked, size_bytes, piece)
    prepared = _prepare(topology, request)
    timed = prepared.timed
    read = tuple((npu, share * size_bytes) for npu, share in _read_by(topology, request, endpoint))
    times_s = [timed.time_s(size_bytes, piece)]
    times_s += [one / endpoint.bytes_per_s for _, one in read if endpoint]
    loads = tuple((link, share * size_bytes) for link, share in timed.loads)
    ends = tuple((len(topology.capacities) + npu, one) for npu, one in read)
    return Profile(max(times_s), loads + ends, timed.ack_s), prepared.assumptions


def _read_by(topology: Topology, request: Request, endpoint: Endpoint | None) -> Read:
    """Return what each NPU reads for each byte of the vector, remembered for each topology."""
    if endpoint is None or request.pattern in STREAMS:
        return ()
    known, key = _read.setdefault(topology, {}), (request, endpoint.traffic)
    if key not in known:
        how = (request.pattern, request.groups, 1.0, request.algorithm)
        traffic = endpoint.traffic(build_schedule(topology, *how), topology.npus)
        if len(known) >= _KEPT:
            known.pop(next(iter(known)))
        known[key] = tuple((npu, one.read) for npu, one in sorted(traffic.items()) if one.read)
    return known[key]


def _as_tuples(groups: Sequence[Sequence[int]]) -> Groups:
    return tuple(map(tuple, groups))


def _chosen(topology: Topology, asked: Request, size_bytes: float, piece_bytes: float) -> Request:
    """Return the request with the fastest algorithm, if that is ``auto`` or one that falls back.

    In ``fluid`` no algorithm takes less as data grow or links get slower, so neither does their
    least. Algorithms that the network model cannot time are left out.
    """
    if asked.pattern in STREAMS:
        return asked
    if asked.algorithm == "auto":
        fit = candidates(topology, asked.pattern, asked.groups, asked.beside)
        return _fastest(topology, asked, fit, size_bytes, piece_bytes)
    if not _falls_back(asked.algorithm):
        return asked
    own_s, fixed_s, fixed = _compared(topology, asked, size_bytes, piece_bytes)
    return asked if own_s <= fixed_s else fixed


def _falls_back(algorithm: str) -> bool:
    return algorithm in ALGORITHMS and ALGORITHMS[algorithm].falls_back


def _fastest(
    topology: Topology, asked: Request, fit: Sequence[str], size_bytes: float, piece_bytes: float
) -> Request:
    """Return the request with the algorithm that takes the least time of ``published`` and some."""
    least_s = dict.fromkeys(fit, 0.0)
    if find_model(asked.network_model).never_faster_than_links:
        for name in fit[1:]:
            bound_s = ALGORITHMS[name].least_s
            least_s[name] = bound_s(topology, asked.pattern, asked.groups, size_bytes)
    times_s: dict[Request, float] = {}
    problem: CannotTimeError | None = None
    for name in track(sorted(fit, key=least_s.__getitem__), "algorithms"):
        if least_s[name] <= min(times_s.values(), default=inf):
            request = replace(asked, algorithm=name)
            try:
                timed = _prepare(topology, request).timed
                times_s[request] = timed.time_s(size_bytes, piece_bytes)
            except CannotTimeError as error:
                problem = problem or error
    if problem and not times_s:
        raise problem
    return min(times_s, key=times_s.__getitem__)


def _compared(
    topology: Topology, asked: Request, size_bytes: float, piece_bytes: float
) -> tuple[float, float, Request]:
    """Return the times of a request and of its fastest alternative, and the alternative."""
    fit = candidates(topology, asked.pattern, asked.groups, asked.beside, automatic=False)
    fixed = _fastest(topology, asked, fit, size_bytes, piece_bytes)
    own_s, fixed_s = (
        _prepare(topology, one).timed.time_s(size_bytes, piece_bytes) for one in (asked, fixed)
    )
    return own_s, fixed_s, fixed


def _details(
    topology: Topology, schedule: Schedule, asked: Request, size_bytes: float, piece_bytes: float
) -> dict[str, float | str]:
    """Return figures of an algorithm, with its time and that of another if it falls back."""
    name = asked.algorithm
    if not _falls_back(name):
        return dict(schedule.details)
    own_s, fixed_s, fixed = _compared(topology, asked, size_bytes, piece_bytes)
    times: dict[str, float | str] = {f"{name}_time_s": own_s, "fixed_time_s": fixed_s}
    fell_back = {"fixed_algorithm": fixed.algorithm, "fell_back": own_s > fixed_s}
    return {**schedule.details, **times, **fell_back}


def _prepare(topology: Topology, request: Request) -> _Prepared:
    """Return a schedule of one byte and its times, remembered for each topology."""
    known = _prepared.setdefault(topology, {})
    if request not in known:
        schedule = request.schedule(topology, request.groups)
        # Only paths inside switches depend on who else may be under way.
        beside = request.beside if topology.interconnects else ()
        conditions = Conditions(
            tuple(request.schedule(topology, (group,)) for group in beside),
            request.urgent,
            request.changes,
            request.second_first,
        )
        timed = find_model(request.network_model).prepare(topology, schedule, conditions)
        if len(known) >= _KEPT:
            known.pop(next(iter(known)))
        known[request] = _Prepared(schedule, timed)
    return known[request]


def _check_chunks(chunks: int) -> None:
    try:
        check_int("chunks", chunks, minimum=1, maximum=1 << 14)
    except (TypeError, ValueError) as error:
        raise InputError("", "", str(error)) from None


def _most_sent_bytes(schedule: Schedule) -> float:
    """Return what the NPU that sends most sends of a vector of one byte [B]."""
    sent: dict[int, float] = {}
    for message in schedule.messages:
        for source in message.sources:
            sent[source] = sent.get(source, 0.0) + message.payload_bytes
    return max(sent.values())


def _moved_bytes(schedule: Schedule, size_bytes: float) -> float:
    """Return what an endpoint algorithm would send per NPU in the largest group [B]."""
    members = max(len(part.members) for part in schedule.parts)
    if schedule.pattern in ROOTED:
        return size_bytes
    phases = 2 if schedule.pattern == "all_reduce" else 1
    return phases * (members - 1) / members * size_bytes
