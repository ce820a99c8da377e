"""Details of a run of traces: collectives, bytes on links, compute utilization."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracemodel.chakra.kinds import NodeType
from tracemodel.rank_times import covered, merged, shared

from .engine.job import Job
from .engine.operation import Unit
from .engine.record import Span
from .files.system import SystemFile
from .traffic import Traffic

__all__ = [
    "CollectiveTimes",
    "LinkUse",
    "RankCompute",
    "TraceDetails",
    "trace_details",
]


@dataclass(frozen=True)
class CollectiveTimes:
    """Start and end of a collective at a rank.

    Parameters
    ----------
    rank, node : int
        The rank and its node.
    collective, group : str
        Kind of the collective, and the name of its group; empty for all ranks.
    bytes : int
        Size in the node.
    begin_ns, end_ns : int
        Start and end at the rank [ns].
    exposed_ns : int
        Part of that time in which the rank computes nothing [ns].
    """

    rank: int
    node: int
    collective: str
    group: str
    bytes: int
    begin_ns: int
    end_ns: int
    exposed_ns: int


@dataclass(frozen=True)
class LinkUse:
    """Bytes carried by a directed link.

    Parameters
    ----------
    dimension : int
        Number of the dimension in the network, from 0.
    source, target : str
        Ends of the link.
    bytes : float
        Bytes carried in the whole run.
    utilization : float
        Share of the time to the end of the last rank that these bytes take at the rate of the link.
    """

    dimension: int
    source: str
    target: str
    bytes: float
    utilization: float


@dataclass(frozen=True)
class RankCompute:
    """Compute and memory utilization of a rank in its compute nodes, from the roofline.

    Parameters
    ----------
    rank : int
        The rank.
    compute_bound : float
        Share of its compute time in nodes that the peak limits, not the memory.
    compute_utilization, memory_utilization : float
        Operations and bytes over those that peak and memory bandwidth allow in the compute time.
    operation_intensity : float
        Operations per byte of all compute nodes.
    """

    rank: int
    compute_bound: float
    compute_utilization: float
    memory_utilization: float
    operation_intensity: float


@dataclass(frozen=True)
class TraceDetails:
    """Details of a run.

    Parameters
    ----------
    collectives : tuple of CollectiveTimes
        Collectives in the order of their ends.
    links : tuple of LinkUse
        Links that carry bytes.
    compute : tuple of RankCompute
        Statistics of each rank that computes by the roofline.
    """

    collectives: tuple[CollectiveTimes, ...]
    links: tuple[LinkUse, ...]
    compute: tuple[RankCompute, ...]


def trace_details(
    spans: Sequence[Span], job: Job, system: SystemFile, traffic: Traffic, total_ns: int
) -> TraceDetails:
    """Return the details of a run of one job.

    Parameters
    ----------
    spans : sequence of Span
        Nodes that have run.
    job, system, traffic : Job, SystemFile, Traffic
        Job, its system, and what it moves.
    total_ns : int
        Time to the end of the last rank [ns].
    """
    return TraceDetails(
        collectives=tuple(_collectives(spans, job)),
        links=tuple(_links(traffic, total_ns)),
        compute=tuple(_compute(spans, system)),
    )


def _collectives(spans: Sequence[Span], job: Job) -> Iterable[CollectiveTimes]:
    computing: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for one in spans:
        if one.operation.what.unit == Unit.COMPUTE:
            computing[one.rank].append((one.begin_ns, one.end_ns))
    busy = {rank: merged(some) for rank, some in computing.items()}
    for rank, operation, begin_ns, end_ns in spans:
        what = operation.what
        if what.collective is not None:
            hidden_ns = _overlap(busy.get(rank, ()), begin_ns, end_ns)
            yield CollectiveTimes(
                rank,
                operation.id,
                what.collective,
                job.traces[rank].names.get(what.group, what.group),
                what.bytes,
                begin_ns,
                end_ns,
                end_ns - begin_ns - hidden_ns,
            )


def _overlap(busy: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> int:
    """Return how much of a span overlaps merged spans [ns]."""
    first = bisect_right(busy, begin_ns, key=lambda span: span[1])
    last = bisect_left(busy, end_ns, key=lambda span: span[0])
    return shared(busy[first:last], [(begin_ns, end_ns)])


def _links(traffic: Traffic, total_ns: int) -> list[LinkUse]:
    """Return the bytes on each link of the network along the routes of all messages."""
    carried: dict[Any, float] = {}
    for moved in traffic.moved():
        for key, count in moved.loads:
            carried[key] = carried.get(key, 0.0) + moved.times * count
    uses: list[LinkUse] = []
    for key, count in carried.items():
        link = traffic.links.find(key)
        if count and link and link.dimension:
            rate = 1e-9 * link.payload_bytes_per_s * total_ns
            ends = traffic.links.ends(key)
            uses.append(LinkUse(key[0], *ends, count, count / rate if rate else 0.0))
    return sorted(uses, key=lambda one: (one.dimension, -one.utilization, one.source, one.target))


def _compute(spans: Sequence[Span], system: SystemFile) -> Iterable[RankCompute]:
    if not system.roofline_enabled or system.local_mem_bw is None or system.peak_perf is None:
        return
    peak, bandwidth = 1000 * system.peak_perf, system.local_mem_bw  # per ns
    by_rank: Mapping[int, list[Span]] = defaultdict(list)
    for one in spans:
        what = one.operation.what
        if what.type == NodeType.COMP_NODE and what.unit == Unit.COMPUTE:
            by_rank[one.rank].append(one)
    for rank, some in sorted(by_rank.items()):
        time_ns = covered(merged((one.begin_ns, one.end_ns) for one in some))
        operations = sum(one.operation.what.operations for one in some)
        moved = sum(one.operation.what.bytes for one in some)
        if not time_ns or not moved:
            continue
        bound_ns = sum(
            one.end_ns - one.begin_ns
            for one in some
            if one.operation.what.operations / one.operation.what.bytes >= peak / bandwidth
        )
        yield RankCompute(
            rank,
            bound_ns / time_ns,
            operations / (peak * time_ns),
            moved / (bandwidth * time_ns),
            operations / moved,
        )
