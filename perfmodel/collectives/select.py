"""Which algorithm runs a collective on a topology, and in how many chunks."""

from collections.abc import Callable, Sequence

from fred_hw.errors import InputError

from ..topology.fred import FredTopology
from ..topology.graph import Topology
from ..topology.mesh import MeshTopology
from .in_network import in_network, multicast
from .mesh2d import mesh2d
from .ring import chain, ring
from .schedule import PATTERNS, Part, Schedule, ScheduleBuilder
from .two_level import by_switch, two_level_ring

__all__ = ["CHUNK_BYTES", "MAX_CHUNKS", "MAX_MESSAGES", "build_schedule", "chunk_count"]

CHUNK_BYTES = 1 << 20
"""Least size of a chunk [B]: below it, link latency would show in the pipeline."""

MAX_CHUNKS = 128
"""Most chunks: filling and draining the pipeline then costs about 1 % of the time."""

MAX_MESSAGES = 1 << 21
"""Most messages on links, all chunks together; bounds time and memory on large wafers."""

_FORKS = "mesh routers copy a multicast at the forks of its X-Y tree"

Build = Callable[[ScheduleBuilder], None]


def chunk_count(size_bytes: float, messages: int = 0) -> int:
    """Return the number of chunks.

    One for each whole ``CHUNK_BYTES`` of the data, at most ``MAX_CHUNKS`` and no more than bring
    ``MAX_MESSAGES`` messages, at least 1.

    Parameters
    ----------
    size_bytes : float
        The whole vector [B].
    messages : int
        Messages on links in one chunk.
    """
    most = min(MAX_CHUNKS, MAX_MESSAGES // max(1, messages))
    return max(1, min(most, int(size_bytes // CHUNK_BYTES)))


def build_schedule(
    topology: Topology, pattern: str, groups: Sequence[Sequence[int]], chunk_bytes: float
) -> Schedule:
    """Return the schedule of one chunk, on all groups at once.

    On a mesh, all NPUs use the hierarchical two-dimensional algorithm and other groups a ring. In
    FRED with in-network collectives the switches do it; else groups with equally many members, two
    or more, on each of several L1s use two levels of rings, and other groups one ring.

    Parameters
    ----------
    topology : Topology
        Where it runs.
    pattern : str
        One of ``PATTERNS``.
    groups : sequence of sequence of int
        NPUs of each group, two or more, none of them twice; a broadcast starts at the first.
    chunk_bytes : float
        The whole vector of one chunk, which each member has, gets or gives a share of [B].

    Raises
    ------
    InputError
        The pattern is not one of the supported, or a group is not valid.
    """
    if pattern not in PATTERNS:
        raise InputError("pattern", "", f"must be one of {', '.join(PATTERNS)}, not {pattern!r}")
    _check_groups(topology, groups)
    builder = ScheduleBuilder(topology)
    parts: list[Part] = []
    names: dict[str, None] = {}
    assumptions: tuple[str, ...] = ()
    for group in groups:
        name, build = _algorithm(topology, pattern, group, chunk_bytes)
        build(builder)
        parts.append(builder.end_part(group))
        names[name] = None
        if isinstance(topology, MeshTopology) and pattern == "broadcast":
            assumptions = (_FORKS,)
    return Schedule(
        pattern, " and ".join(names), tuple(parts), tuple(builder.transfers), assumptions
    )


def _algorithm(
    topology: Topology, pattern: str, group: Sequence[int], chunk_bytes: float
) -> tuple[str, Build]:
    if topology.in_network:
        if pattern == "broadcast":
            return "in-network multicast", lambda b: multicast(b, group, chunk_bytes)
        return "in-network", lambda b: in_network(b, group, chunk_bytes, pattern)
    if isinstance(topology, MeshTopology):
        if pattern == "broadcast":
            return "X-Y multicast tree", lambda b: multicast(b, group, chunk_bytes)
        if len(group) == topology.npus:
            return "hierarchical 2D", lambda b: mesh2d(b, topology, chunk_bytes, pattern)
    if pattern == "broadcast":
        return "chain", lambda b: chain(b, group, chunk_bytes)
    if isinstance(topology, FredTopology):
        switches = by_switch(topology, group)
        sizes = {len(members) for members in switches}
        if len(switches) > 1 and len(sizes) == 1 and sizes != {1}:
            return "two-level ring", lambda b: two_level_ring(b, switches, chunk_bytes, pattern)
    return "ring", lambda b: ring(b, group, chunk_bytes, pattern)


def _check_groups(topology: Topology, groups: Sequence[Sequence[int]]) -> None:
    seen: set[int] = set()
    for group in groups:
        if len(group) < 2:
            raise InputError("group", "", f"must have 2 or more NPUs, not {len(group)}")
        for npu in group:
            if isinstance(npu, bool) or not 0 <= npu < topology.npus:
                allowed = f"NPUs 0 to {topology.npus - 1} of {topology.name}"
                raise InputError("group", "", f"must hold {allowed}, not {npu!r}")
            if npu in seen:
                raise InputError("group", "", f"must hold each NPU once, not {npu} twice")
            seen.add(npu)
    if not groups:
        raise InputError("group", "", "must be given, not an empty list")
