"""Details of a run of traces: collectives, bytes on links, compute utilization."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from tracemodel.chakra.kinds import NodeType

from .engine.job import Job
from .engine.operation import Unit
from .engine.record import Record, Span
from .engine.setup import Setup
from .engine.stats import covered, merged, shared
from .files.system import SystemFile
from .fluid.flows import Flows
from .fluid.lines import Link
from .fluid.network import FluidNetwork, as_fluid

__all__ = [
    "CollectiveTimes",
    "DimensionUse",
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
class DimensionUse:
    """Bytes carried by the links of a dimension.

    Parameters
    ----------
    dimension, links : int
        Number of the dimension, and how many of its links carry bytes.
    bytes : float
        Bytes on all of these links.
    utilization, busiest : float
        Mean over these links, and value of the busiest one.
    """

    dimension: int
    links: int
    bytes: float
    utilization: float
    busiest: float


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
    dimensions, links : tuple of DimensionUse, tuple of LinkUse
        Traffic of the network.
    compute : tuple of RankCompute
        Statistics of each rank that computes by the roofline.
    """

    collectives: tuple[CollectiveTimes, ...]
    dimensions: tuple[DimensionUse, ...]
    links: tuple[LinkUse, ...]
    compute: tuple[RankCompute, ...]


def trace_details(record: Record, job: Job, setup: Setup, total_ns: int) -> TraceDetails:
    """Return the details of a run of one job.

    Parameters
    ----------
    record : Record
        Record of the run.
    job, setup : Job, Setup
        Job and its setup.
    total_ns : int
        Time to the end of the last rank [ns].
    """
    links = _links(record, setup, total_ns)
    return TraceDetails(
        collectives=tuple(_collectives(record.spans, job)),
        dimensions=tuple(_dimensions(links)),
        links=tuple(links),
        compute=tuple(_compute(record.spans, setup.system)),
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


def _links(record: Record, setup: Setup, total_ns: int) -> list[LinkUse]:
    """Return the bytes on each link along the routes of all messages."""
    network = as_fluid(setup.network)
    flows, found = Flows(network, alone=False), dict[Link, float]()
    for (plan, size, members), times in record.collectives.items():
        for link, count in flows.carried(plan, size, members).items():
            found[link] = found.get(link, 0.0) + times * count
    for (source, target), size in record.messages.items():
        for link in network.route(source, target).links:
            found[link] = found.get(link, 0.0) + size
    uses: list[LinkUse] = []
    for link, count in found.items():
        if count and (ends := _ends(network, link)):
            share = count / network.bytes_per_ns(link) / total_ns if total_ns else 0.0
            uses.append(LinkUse(cast("tuple[int, int, Link]", link)[0], *ends, count, share))
    return sorted(uses, key=lambda one: (one.dimension, -one.utilization, one.source, one.target))


def _ends(network: FluidNetwork, link: Link) -> tuple[str, str] | None:
    """Return the two ends of a link as text; None for a link that models rounds in a switch."""
    dimension, first, one = cast("tuple[int, int, Link]", link)
    line = network.lines[dimension]
    if line.fabric:
        if not isinstance(one, int) or one >= len(line.fabric.links):
            return None
        ends = line.fabric.links[one]
        names = (line.fabric.nodes[end].name for end in (ends.source, ends.target))
        front = f"{first}: " if network.npus > line.npus else ""
        source, target = (front + name for name in names)
        return source, target
    source, target = (
        f"switch {first}" if place < 0 else f"npu {first + place * network.strides[dimension]}"
        for place in cast("tuple[int, int]", one)
    )
    return source, target


def _dimensions(links: Sequence[LinkUse]) -> Iterable[DimensionUse]:
    by_dimension: dict[int, list[LinkUse]] = defaultdict(list)
    for one in links:
        by_dimension[one.dimension].append(one)
    for dimension, some in by_dimension.items():
        shares = [one.utilization for one in some]
        total = sum(one.bytes for one in some)
        yield DimensionUse(dimension, len(some), total, sum(shares) / len(some), max(shares))


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
