"""Time and utilization of a chunked collective, by dimension.

One queue per dimension gives the time. Where dimensions share links, the time is at least that of
the same chunks on these links, by network model ``fluid``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from perfmodel.collectives.schedule import Schedule, ScheduleBuilder
from perfmodel.collectives.select import check_groups
from perfmodel.collectives.themis.messages import add_orders
from perfmodel.collectives.themis.network import (
    SHARED,
    QueueDimension,
    ideal_s,
    queue_dimensions,
    share_links,
)
from perfmodel.collectives.themis.plan import POLICIES
from perfmodel.collectives.themis.queues import Service
from perfmodel.collectives.themis.run import Queuing, run_chunks
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.graph import Topology

from .model import Conditions, find_model
from .run import FLUID

__all__ = ["DimensionLoad", "QueuedResult", "run_queued"]


@dataclass(frozen=True, slots=True)
class DimensionLoad:
    """Load of one dimension.

    Parameters
    ----------
    kind : str
        Connection of the NPUs of a line.
    npus : int
        NPUs in a line.
    bytes_per_s : float
        Bandwidth of an NPU [B/s].
    bytes : float
        Bytes that each NPU sends [B].
    busy_share : float
        Share of the time of the collective in which the dimension worked on a chunk, 0 to 1.
    """

    kind: str
    npus: int
    bytes_per_s: float
    bytes: float
    busy_share: float


@dataclass(frozen=True, slots=True)
class QueuedResult:
    """Simulation result of a collective by dimensions.

    Parameters
    ----------
    topology, pattern, algorithm, algorithm_name : str
        See ``run.CollectiveResult``.
    intra, latency : str
        See :class:`Queuing`.
    groups : tuple of tuple of int
        The NPUs that took part, in one group.
    size_bytes : float
        The whole vector [B].
    chunks : int
        Pieces that the vector was cut into.
    time_s, ideal_s : float
        Time from the start to the last byte at the last NPU, and the time if all dimensions sent
        without pause [s].
    utilization : float
        The ideal time divided by the time.
    bus_bandwidth_bytes_per_s : float
        See ``run.CollectiveResult`` [B/s].
    bytes_per_npu : float
        Bytes that each NPU sends [B].
    dimensions : tuple of DimensionLoad
        Loads of the dimensions, the innermost first.
    chunk_orders : tuple of tuple of int
        Dimensions in the order in which each chunk visits them; an all-reduce then goes back.
    chunk_bytes : tuple of int
        Bytes of each chunk that an NPU has before the collective [B].
    provenance : Provenance
        Timing records used and assumptions made.
    """

    topology: str
    pattern: str
    algorithm: str
    algorithm_name: str
    intra: str
    latency: str
    groups: tuple[tuple[int, ...]]
    size_bytes: float
    chunks: int
    time_s: float
    ideal_s: float
    utilization: float
    bus_bandwidth_bytes_per_s: float
    bytes_per_npu: float
    dimensions: tuple[DimensionLoad, ...]
    chunk_orders: tuple[tuple[int, ...], ...]
    chunk_bytes: tuple[int, ...]
    provenance: Provenance


def run_queued(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    group: Sequence[int] | None = None,
    how: Queuing | None = None,
) -> QueuedResult:
    """Simulate a collective over one group, with one queue per dimension of the topology.

    Parameters
    ----------
    topology : Topology
        Topology on which the collective runs.
    pattern : str
        ``all_reduce``, ``reduce_scatter`` or ``all_gather``.
    size_bytes : float
        The whole vector [B], as for ``run.run_collective``.
    group : sequence of int or None
        NPUs that take part; all if None.
    how : Queuing or None
        Order of chunks in the queues.

    Raises
    ------
    InputError
        An argument is not allowed, or the topology has no dimensions that the group lies along.
    """
    how = how or Queuing()
    members = tuple(range(topology.npus) if group is None else group)
    check_groups(topology, pattern, [members])
    dimensions = queue_dimensions(topology, members)
    plans, services = run_chunks(dimensions, size_bytes, pattern, how)
    time_s = max(one.done_s for one in services)
    shared = share_links(topology, members)
    if shared:
        time_s = max(time_s, _on_links_s(topology, pattern, size_bytes, members, how))
    least_s = ideal_s(dimensions, size_bytes, pattern)
    npus = prod(one.npus for one in dimensions)
    halves = 2 if pattern == "all_reduce" else 1
    loads = _loads(dimensions, services, time_s)
    return QueuedResult(
        topology=topology.name,
        pattern=pattern,
        algorithm=f"{POLICIES[how.policy].words}, {how.intra_name} within a dimension",
        algorithm_name=how.policy,
        intra=how.intra_name,
        latency=how.latency,
        groups=(members,),
        size_bytes=size_bytes,
        chunks=len(plans),
        time_s=time_s,
        ideal_s=least_s,
        utilization=least_s / time_s,
        bus_bandwidth_bytes_per_s=halves * size_bytes * (npus - 1) / npus / time_s,
        bytes_per_npu=sum(one.bytes for one in loads),
        dimensions=loads,
        chunk_orders=tuple(one.order for one in plans),
        chunk_bytes=tuple(one.size_bytes for one in plans),
        provenance=topology.provenance.plus(*([SHARED] if shared else [])),
    )


def _on_links_s(
    topology: Topology, pattern: str, size_bytes: float, members: Sequence[int], how: Queuing
) -> float:
    """Return the time of the same chunks over shared links, merged by order of dimensions [s]."""
    builder = ScheduleBuilder(topology, lockstep=True)
    add_orders(builder, members, 1.0, pattern, how)
    parts = (builder.end_part(members),)
    schedule = Schedule(pattern, POLICIES[how.policy].words, parts, tuple(builder.messages))
    timed = find_model(FLUID).prepare(topology, schedule, Conditions())
    return timed.time_s(size_bytes, size_bytes / how.chunks)


def _loads(
    dimensions: Sequence[QueueDimension], services: Sequence[Service], time_s: float
) -> tuple[DimensionLoad, ...]:
    found: list[DimensionLoad] = []
    for number, own in enumerate(dimensions):
        served = [one for one in services if one.phase.dimension == number]
        sent = float(sum(one.phase.sent_bytes for one in served))
        busy = sum(one.end_s - one.begin_s for one in served) / time_s
        found.append(DimensionLoad(own.kind, own.npus, own.bytes_per_s, sent, busy))
    return tuple(found)
