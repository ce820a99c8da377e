"""Simulated time and link loads of a collective."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from fred_hw.checks import check_int
from fred_hw.errors import InputError

from ..engine import simulate
from ..provenance import Provenance
from ..topology.graph import Topology
from ..transfer import Batch
from .schedule import Schedule
from .select import build_schedule, chunk_count

__all__ = ["CollectiveResult", "LinkLoad", "run_collective", "run_collectives"]


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
        reduce-scatter or an all-gather, size / time for a broadcast.
    bytes_per_npu : float
        Sent by the NPU that sends most [B].
    bottleneck : LinkLoad
        The link that was occupied longest.
    links : tuple of LinkLoad
        All links that carried something, in the order of the topology.
    provenance : Provenance
        Timing records used and assumptions made.
    """

    topology: str
    pattern: str
    algorithm: str
    groups: tuple[tuple[int, ...], ...]
    size_bytes: float
    chunks: int
    time_s: float
    npu_bandwidth_bytes_per_s: float
    bytes_per_npu: float
    bottleneck: LinkLoad
    links: tuple[LinkLoad, ...]
    provenance: Provenance


def run_collective(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    group: Sequence[int] | None = None,
    chunks: int | None = None,
) -> CollectiveResult:
    """Simulate a collective over one group.

    Parameters
    ----------
    topology : Topology
        Where it runs.
    pattern : str
        ``all_reduce``, ``reduce_scatter``, ``all_gather`` or ``broadcast``.
    size_bytes : float
        The whole vector [B]: what each member has before an all-reduce or a reduce-scatter, and
        what each has after an all-gather or a broadcast.
    group : sequence of int or None
        NPUs that take part; all if None. A broadcast starts at the first.
    chunks : int or None
        Pieces to cut the vector into; ``select.chunk_count`` decides if None.

    Raises
    ------
    InputError
        An argument is not allowed.
    """
    members = range(topology.npus) if group is None else group
    return run_collectives(topology, pattern, size_bytes, [members], chunks)


def run_collectives(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    groups: Sequence[Sequence[int]],
    chunks: int | None = None,
) -> CollectiveResult:
    """Simulate the same collective over several groups at once, ``size_bytes`` in each.

    The other parameters and the errors are those of :func:`run_collective`.
    """
    if not (isfinite(size_bytes) and size_bytes > 0):
        raise InputError("size", "", f"must be above 0 bytes, not {size_bytes!r}")
    schedule, chunks = _schedule(topology, pattern, size_bytes, groups, chunks)
    result = simulate(topology, [Batch(schedule.transfers, chunks)])
    time_s = result.finish_s[0]
    links = {
        index: LinkLoad(topology.link_name(index), carried, busy_s / time_s)
        for index, (carried, busy_s) in enumerate(
            zip(result.link_bytes, result.link_busy_s, strict=True)
        )
        if carried
    }
    return CollectiveResult(
        topology=topology.name,
        pattern=pattern,
        algorithm=schedule.algorithm,
        groups=tuple(part.members for part in schedule.parts),
        size_bytes=size_bytes,
        chunks=chunks,
        time_s=time_s,
        npu_bandwidth_bytes_per_s=_moved_bytes(schedule, size_bytes) / time_s,
        bytes_per_npu=_sent_bytes(schedule) * chunks,
        bottleneck=max(links.values(), key=lambda load: load.utilisation),
        links=tuple(links.values()),
        provenance=topology.provenance.plus(*schedule.assumptions),
    )


def _schedule(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    groups: Sequence[Sequence[int]],
    chunks: int | None,
) -> tuple[Schedule, int]:
    """Return the schedule of a chunk, and the number of chunks: as asked for, or by the rule."""
    if chunks is not None:
        try:
            check_int("chunks", chunks, minimum=1, maximum=1 << 14)
        except (TypeError, ValueError) as error:
            raise InputError("", "", str(error)) from None
        return build_schedule(topology, pattern, groups, size_bytes / chunks), chunks
    first = chunk_count(size_bytes)
    schedule = build_schedule(topology, pattern, groups, size_bytes / first)
    messages = sum(len(transfer.hops) for transfer in schedule.transfers)
    chunks = chunk_count(size_bytes, messages)
    if chunks < first:
        schedule = build_schedule(topology, pattern, groups, size_bytes / chunks)
    return schedule, chunks


def _moved_bytes(schedule: Schedule, size_bytes: float) -> float:
    """Return what an endpoint algorithm would send per NPU in the largest group [B]."""
    members = max(len(part.members) for part in schedule.parts)
    if schedule.pattern == "broadcast":
        return size_bytes
    phases = 2 if schedule.pattern == "all_reduce" else 1
    return phases * (members - 1) / members * size_bytes


def _sent_bytes(schedule: Schedule) -> float:
    """Return what the NPU that sends most sends of one chunk [B]."""
    sent: dict[int, float] = {}
    for transfer in schedule.transfers:
        for source in transfer.sources:
            sent[source] = sent.get(source, 0.0) + transfer.payload_bytes
    return max(sent.values())
