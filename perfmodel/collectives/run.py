"""Simulated time and link loads of a collective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, isfinite
from typing import Any, Literal
from weakref import WeakKeyDictionary

from fred_hw.checks import check_int
from fred_hw.errors import InputError
from fred_hw.progress import track
from perfmodel.fluid.pipeline import Pipeline
from perfmodel.fluid.task import Profile
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.graph import Topology

from .acked_links import acked_capacities
from .algorithm import ALGORITHMS
from .endpoints import endpoint_s
from .envelope import Envelope, grid
from .exchanges import Exchanges, exchanges_of
from .rings import CircuitRings, rings_on_circuits
from .schedule import ROOTED, Schedule, as_flows
from .select import PUBLISHED, build_schedule, candidates, chunk_bytes
from .streaming import STREAMS, build_stream
from .transfer import RingPass
from .turns import Turn, turns
from .waits import ack_s, waits_s

__all__ = ["CollectiveResult", "LinkLoad", "profile", "run_collective", "run_collectives"]


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
    topology, pattern, algorithm : str
        What ran where, and how.
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
    npu_bandwidth_bytes_per_s : float
        Endpoint equivalent [B/s] in the largest group of N: what an endpoint algorithm would have
        to send in this time, per NPU. 2 (N - 1)/N size / time for an all-reduce, half of it for a
        reduce-scatter, an all-gather or an all-to-all, size / time for a broadcast or a reduce.
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
    groups: tuple[tuple[int, ...], ...]
    size_bytes: float
    chunks: int
    time_s: float
    npu_bandwidth_bytes_per_s: float
    bytes_per_npu: float
    bottleneck: LinkLoad
    links: tuple[LinkLoad, ...]
    provenance: Provenance
    details: Mapping[str, float | str] = field(default_factory=dict[str, float | str])


How = Literal["alone", "circuits", "sums", "never less"]
"""How a time is found."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Flows of a schedule of one byte; sizes only scale them."""

    schedule: Schedule
    pipeline: Pipeline
    carried: tuple[tuple[int, float], ...]
    waits_s: float
    ack_s: float
    alone: CircuitRings | Exchanges | None
    envelope: Envelope | None

    def time_s(
        self, topology: Topology, size_bytes: float, piece_bytes: float, *, how: How = "never less"
    ) -> float:
        """Return the time of so many bytes in pieces of so many, where it was prepared for [s].

        ``how`` it is found: where a collective is "alone" acks come as soon as they can, and rings
        and unicasts of endpoints go packet by packet, so a little more may take a little less, as
        in hardware; by "circuits" only rings on several of these do, with a share of links for
        acks; "sums" are those of latencies and bytes; "never less" is what rings wait for at some
        sizes on top of these.
        """
        if how == "alone" and self.alone is not None:
            return self.alone.time_s(size_bytes) + self.waits_s
        if how == "circuits" and isinstance(self.alone, CircuitRings) and self.alone.several:
            return self.alone.time_s(size_bytes, acked=False) + self.waits_s
        if how == "never less" and self.envelope is not None:

            def sums_s(size: float) -> float:
                return self.time_s(topology, size, size, how="sums")

            return self.envelope.time_s(size_bytes, sums_s)
        alone = how in ("alone", "circuits")
        moved_s = self.pipeline.time_s(size_bytes, piece_bytes)
        messages, pattern = self.schedule.messages, self.schedule.pattern
        more_s = endpoint_s(topology, messages, size_bytes, moved_s, pattern, alone=alone)
        return moved_s + self.waits_s + more_s


_Groups = tuple[tuple[int, ...], ...]
_Key = tuple[str, str, _Groups, _Groups, bool, int, bool]
_KEPT = 256
_prepared: WeakKeyDictionary[Topology, dict[_Key, _Prepared]] = WeakKeyDictionary()


def run_collective(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    group: Sequence[int] | None = None,
    chunks: int | None = None,
    algorithm: str = "auto",
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
        Pieces to cut the vector into; as many as ``select.chunk_bytes`` makes if None.
    algorithm : str
        ``auto`` for the fastest of those that fit, ``published`` for the choice of those who
        published the wafers, or one of ``algorithm.ALGORITHMS``.

    Raises
    ------
    InputError
        An argument is not allowed.
    """
    members = range(topology.npus) if group is None else group
    return run_collectives(topology, pattern, size_bytes, [members], chunks, algorithm)


def run_collectives(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    groups: Sequence[Sequence[int]],
    chunks: int | None = None,
    algorithm: str = "auto",
    *,
    second_first: bool = False,
) -> CollectiveResult:
    """Simulate the same collective over several groups at once, ``size_bytes`` in each.

    The other parameters and the errors are those of :func:`run_collective`. ``second_first`` says
    of halves of the data on two circuits of a mesh that the second is the more urgent one, as in
    phases of DP (docs/mesh.md).
    """
    if not (isfinite(size_bytes) and size_bytes > 0):
        raise InputError("size", "", f"must be above 0 bytes, not {size_bytes!r}")
    piece, whole = _piece_bytes(topology, size_bytes), chunks is None
    if chunks is None:
        chunks = ceil(size_bytes / piece)
    else:
        _check_chunks(chunks)
        piece = size_bytes / chunks
    sizes = size_bytes, piece
    name = _chosen(topology, pattern, groups, algorithm, *sizes)
    prepared = _prepare(topology, pattern, groups, name, second_first=second_first)
    schedule = prepared.schedule
    time_s = prepared.time_s(topology, size_bytes, piece, how="alone" if whole else "sums")
    sent: dict[int, float] = {}
    for flow in prepared.pipeline.flows:
        for source in flow.sources:
            sent[source] = sent.get(source, 0.0) + flow.payload_bytes * size_bytes
    links = [
        LinkLoad(
            topology.link_name(index),
            share * size_bytes,
            share * size_bytes / topology.capacities[index] / time_s,
        )
        for index, share in prepared.carried
    ]
    return CollectiveResult(
        topology=topology.name,
        pattern=pattern,
        algorithm=schedule.algorithm,
        algorithm_name=name,
        groups=tuple(part.members for part in schedule.parts),
        size_bytes=size_bytes,
        chunks=chunks,
        time_s=time_s,
        npu_bandwidth_bytes_per_s=_moved_bytes(schedule, size_bytes) / time_s,
        bytes_per_npu=max(sent.values()),
        bottleneck=max(links, key=lambda load: load.utilisation),
        links=tuple(links),
        provenance=topology.provenance.plus(*schedule.assumptions),
        details=_details(topology, schedule, groups, algorithm, *sizes),
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
    how: How = "never less",
) -> tuple[Profile, tuple[str, ...]]:
    """Simulate a collective or a stream; return its profile and what it takes for granted.

    Parameters
    ----------
    topology : Topology
        Where it runs.
    pattern : str
        One of ``schedule.PATTERNS`` or of ``streaming.STREAMS``.
    size_bytes : float
        The whole vector of each group [B], above 0.
    groups : sequence of sequence of int
        NPUs of each group, all at once.
    algorithm : str
        Of a collective, as for :func:`run_collective`; streams have one for each topology.
    beside : sequence of sequence of int
        Groups that may run the same at any time meanwhile: switches need paths for all at once.
    urgent : bool
        Whether it goes before others that are under way.
    changes : int
        How often a source changes to it from other destinations.
    second_first : bool
        As for :func:`run_collectives`.
    how : str
        "never less", or "sums" of latencies and bytes alone, which are found sooner.
    """
    piece = _piece_bytes(topology, size_bytes)
    more = (beside, urgent, changes)
    if pattern not in STREAMS:
        algorithm = _chosen(topology, pattern, groups, algorithm, size_bytes, piece, *more, how=how)
    prepared = _prepare(topology, pattern, groups, algorithm, *more, second_first=second_first)
    time_s = prepared.time_s(topology, size_bytes, piece, how=how)
    loads = tuple((link, share * size_bytes) for link, share in prepared.carried)
    return Profile(time_s, loads, prepared.ack_s), prepared.schedule.assumptions


def _piece_bytes(topology: Topology, size_bytes: float) -> float:
    """Return the size of chunks [B]: endpoints do one thing after the other with all of it."""
    return chunk_bytes(size_bytes) if topology.endpoint is None else size_bytes


def _chosen(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    algorithm: str,
    size_bytes: float,
    piece_bytes: float,
    beside: Sequence[Sequence[int]] = (),
    urgent: bool = False,
    changes: int = 0,
    *,
    how: How = "sums",
) -> str:
    """Return the algorithm that takes the least time if it is ``auto``, or if it falls back.

    Each has a time that never falls as the data grow or links get slower, so their least has.
    """
    asked, sizes, more = (topology, pattern, groups), (size_bytes, piece_bytes), (urgent, changes)
    if algorithm == "auto":
        return _fastest(*asked, candidates(*asked, beside), *sizes, beside, *more, how=how)
    if algorithm not in ALGORITHMS or not ALGORITHMS[algorithm].falls_back:
        return algorithm
    own_s, fixed_s, fixed = _compared(*asked, algorithm, *sizes, more=(beside, *more), how=how)
    return algorithm if own_s <= fixed_s else fixed


def _fastest(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    fit: Sequence[str],
    size_bytes: float,
    piece_bytes: float,
    *more: Any,
    how: How = "sums",
) -> str:
    """Return the algorithm that takes the least time of ``published`` and some that fit."""
    least_s = dict.fromkeys(fit, 0.0)
    for name in fit[1:]:
        least_s[name] = ALGORITHMS[name].least_s(topology, pattern, groups, size_bytes)
    times_s: dict[str, float] = {}
    for name in track(sorted(fit, key=least_s.__getitem__), "algorithms"):
        if least_s[name] <= min(times_s.values(), default=inf):
            prepared = _prepare(topology, pattern, groups, name, *more)
            times_s[name] = prepared.time_s(topology, size_bytes, piece_bytes, how="sums")
            if times_s[name] <= min(times_s.values()):  # of which none takes less
                times_s[name] = prepared.time_s(topology, size_bytes, piece_bytes, how=how)
    return min(times_s, key=times_s.__getitem__)


def _details(
    topology: Topology,
    schedule: Schedule,
    groups: Sequence[Sequence[int]],
    name: str,
    *sizes: float,
) -> dict[str, float | str]:
    """Return figures of an algorithm, with its time and that of another if it falls back."""
    if name not in ALGORITHMS or not ALGORITHMS[name].falls_back:
        return dict(schedule.details)
    own_s, fixed_s, fixed = _compared(topology, schedule.pattern, groups, name, *sizes)
    times: dict[str, float | str] = {f"{name}_time_s": own_s, "fixed_time_s": fixed_s}
    return {**schedule.details, **times, "fixed_algorithm": fixed, "fell_back": own_s > fixed_s}


def _compared(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    algorithm: str,
    *sizes: float,
    more: tuple[Any, ...] = (),
    how: How = "sums",
) -> tuple[float, float, str]:
    """Return the times of an algorithm and of the fastest other one, and the name of this one."""
    fit = candidates(topology, pattern, groups, *more[:1], automatic=False)
    fixed = _fastest(topology, pattern, groups, fit, *sizes, *more, how=how)
    prepared = [_prepare(topology, pattern, groups, name, *more) for name in (algorithm, fixed)]
    own_s, fixed_s = (one.time_s(topology, *sizes, how=how) for one in prepared)
    return own_s, fixed_s, fixed


def _prepare(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    algorithm: str,
    beside: Sequence[Sequence[int]] = (),
    urgent: bool = False,
    changes: int = 0,
    *,
    second_first: bool = False,
) -> _Prepared:
    """Return flows of one byte, remembered for each topology: sizes only scale them."""
    own, other = tuple(map(tuple, groups)), tuple(map(tuple, beside))
    key = (pattern, algorithm, own, other, urgent, changes, second_first)
    known = _prepared.setdefault(topology, {})
    if key not in known:
        if len(known) >= _KEPT:
            known.pop(next(iter(known)))
        schedule = _schedule(topology, pattern, own, algorithm)
        flows = as_flows(
            topology,
            schedule.messages,
            _turns(topology, pattern, algorithm, schedule, other),
            urgent=urgent,
        )
        carried: dict[int, float] = {}
        for flow in flows:
            for link, load in flow.loads:
                carried[link] = carried.get(link, 0.0) + load * flow.payload_bytes
        known[key] = _Prepared(
            schedule,
            Pipeline(flows, acked_capacities(topology, schedule.messages)),
            tuple(sorted(carried.items())),
            _waits_s(topology, schedule, changes),
            ack_s(topology, schedule.messages),
            rings_on_circuits(topology, schedule.messages, pattern, second_first=second_first)
            or exchanges_of(topology, schedule.messages),
            _envelope(topology, pattern, own, algorithm, schedule, second_first=second_first),
        )
    return known[key]


def _envelope(
    topology: Topology,
    pattern: str,
    groups: _Groups,
    algorithm: str,
    schedule: Schedule,
    *,
    second_first: bool,
) -> Envelope | None:
    """Return what rings of endpoints wait for, where it is known of the links."""
    measured, timing = topology.as_measured(), topology.endpoint
    passes = [one for one in schedule.messages if isinstance(one, RingPass)]
    if measured is None or timing is None or not passes or len(passes) < len(schedule.messages):
        return None
    # Of one byte a block is a share of it.
    rounds = [
        timing.round_bytes(len(one.members)) * (len(one.members) - 1) / one.payload_bytes
        for one in passes
        if one.payload_bytes
    ]

    def waits_s(size: float) -> float:
        found = _prepare(measured, pattern, groups, algorithm, second_first=second_first)
        alone_s, sum_s = (
            found.time_s(measured, size, size, how=how) for how in ("circuits", "sums")
        )
        return max(0.0, alone_s - sum_s)

    return Envelope(grid(max(rounds)), waits_s) if rounds else None


def _waits_s(topology: Topology, schedule: Schedule, changes: int) -> float:
    """Return how long sources wait for acks [s], but for what endpoints count themselves."""
    all_s = waits_s(topology, schedule.messages, changes)
    if topology.endpoint is None:
        return all_s
    return all_s - waits_s(topology, schedule.messages)


def _schedule(topology: Topology, pattern: str, groups: _Groups, algorithm: str) -> Schedule:
    if pattern in STREAMS:
        return build_stream(topology, pattern, groups, 1.0)
    return build_schedule(topology, pattern, groups, 1.0, algorithm, lockstep=True)


def _turns(
    topology: Topology, pattern: str, algorithm: str, schedule: Schedule, other: _Groups
) -> list[Turn]:
    """Return the rounds of switches that messages of the schedule are in."""
    if not topology.interconnects:
        return []
    count = end = len(schedule.messages)
    groups = schedule.groups
    for group in other:  # which may have members in common
        messages = _schedule(topology, pattern, (group,), algorithm).messages
        groups.append(list(enumerate(messages, end)))
        end += len(messages)
    rounds = turns(topology, groups)
    mine = [Turn(one.switch, tuple(i for i in one.messages if i < count)) for one in rounds]
    return [one for one in mine if one.messages]


def _check_chunks(chunks: int) -> None:
    try:
        check_int("chunks", chunks, minimum=1, maximum=1 << 14)
    except (TypeError, ValueError) as error:
        raise InputError("", "", str(error)) from None


def _moved_bytes(schedule: Schedule, size_bytes: float) -> float:
    """Return what an endpoint algorithm would send per NPU in the largest group [B]."""
    members = max(len(part.members) for part in schedule.parts)
    if schedule.pattern in ROOTED:
        return size_bytes
    phases = 2 if schedule.pattern == "all_reduce" else 1
    return phases * (members - 1) / members * size_bytes
