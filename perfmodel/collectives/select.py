"""Which algorithm runs a collective on a topology, and in how many chunks."""

from collections.abc import Callable, Sequence

from fred_hw.errors import InputError
from perfmodel.collectives.algorithms.direct import direct
from perfmodel.collectives.algorithms.halving import halving_doubling
from perfmodel.collectives.algorithms.in_network import in_network, multicast
from perfmodel.collectives.algorithms.mesh2d import mesh2d
from perfmodel.collectives.algorithms.ring import bidirectional_ring, chain, ring
from perfmodel.collectives.algorithms.tree import double_binary_tree
from perfmodel.collectives.algorithms.two_level import by_switch, two_level_ring
from perfmodel.topology.fred import FredTopology
from perfmodel.topology.graph import Topology
from perfmodel.topology.mesh import MeshTopology

from .schedule import PATTERNS, Part, Schedule, ScheduleBuilder

__all__ = [
    "ALGORITHMS",
    "CHUNK_BYTES",
    "MAX_CHUNKS",
    "build_schedule",
    "chunk_count",
]

CHUNK_BYTES = 1 << 20
"""Least size of a chunk [B]: below it, link latency would show in the pipeline."""

MAX_CHUNKS = 128
"""Most chunks: filling and draining the pipeline then costs about 1 % of the time."""

_FORKS = "mesh routers copy a multicast at the forks of its X-Y tree"

_SCATTERED = ("all_reduce", "reduce_scatter", "all_gather")

ALGORITHMS: dict[str, tuple[str, ...]] = {
    "ring": PATTERNS,
    "bidirectional_ring": PATTERNS,
    "halving_doubling": PATTERNS,
    "direct": PATTERNS,
    "double_binary_tree": PATTERNS,
    "hierarchical_2d": _SCATTERED,
    "two_level_ring": _SCATTERED,
    "in_network": PATTERNS,
    "multicast": ("broadcast",),
}
"""Patterns that each algorithm has."""

_LARGEST_DIRECT = 256

Build = Callable[[ScheduleBuilder], None]


def chunk_count(size_bytes: float) -> int:
    """Return the number of chunks.

    One for each whole ``CHUNK_BYTES`` of the data, at most ``MAX_CHUNKS``, at least 1.

    Parameters
    ----------
    size_bytes : float
        The whole vector [B].
    """
    return max(1, min(MAX_CHUNKS, int(size_bytes // CHUNK_BYTES)))


def build_schedule(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    chunk_bytes: float,
    algorithm: str = "auto",
    *,
    lockstep: bool = False,
) -> Schedule:
    """Return the schedule of one chunk, on all groups at once.

    By itself (``auto``) a mesh uses the hierarchical two-dimensional algorithm for all NPUs and a
    ring for other groups. In FRED with in-network collectives the switches do it; else groups with
    equally many members, two or more, on each of several L1s use two levels of rings, and other
    groups one ring. An all-to-all is direct.

    Parameters
    ----------
    topology : Topology
        Where it runs.
    pattern : str
        One of ``PATTERNS``.
    groups : sequence of sequence of int
        NPUs of each group, two or more, none of them twice; a broadcast or a reduce has its root
        first.
    chunk_bytes : float
        The whole vector of one chunk, which each member has, gets or gives a share of [B].
    algorithm : str
        ``auto`` or one of ``ALGORITHMS``.
    lockstep : bool
        Take a pass around a ring as one item of the schedule.

    Raises
    ------
    InputError
        The pattern or the algorithm is not one of the supported, they do not go together or with
        the topology, or a group is not valid.
    """
    if pattern not in PATTERNS:
        raise InputError("pattern", "", f"must be one of {', '.join(PATTERNS)}, not {pattern!r}")
    _check_groups(topology, groups)
    builder = ScheduleBuilder(topology, lockstep)
    parts: list[Part] = []
    names: dict[str, None] = {}
    assumptions: tuple[str, ...] = ()
    for group in groups:
        chosen = _choose(topology, pattern, group) if algorithm == "auto" else algorithm
        name, build = _algorithm(topology, pattern, group, chunk_bytes, chosen)
        build(builder)
        parts.append(builder.end_part(group))
        names[name] = None
        if isinstance(topology, MeshTopology) and chosen == "multicast":
            assumptions = (_FORKS,)
    return Schedule(
        pattern, " and ".join(names), tuple(parts), tuple(builder.messages), assumptions
    )


def _choose(topology: Topology, pattern: str, group: Sequence[int]) -> str:
    """Return the algorithm that fits best, as far as is known."""
    mesh = isinstance(topology, MeshTopology)
    if pattern == "all_to_all":
        return "direct"
    if pattern == "broadcast" and (mesh or topology.in_network):
        return "multicast"
    if topology.in_network:
        return "in_network"
    if pattern in _SCATTERED:
        if mesh and len(group) == topology.npus:
            return "hierarchical_2d"
        if isinstance(topology, FredTopology) and _levels(topology, group):
            return "two_level_ring"
    return "ring"


def _levels(fred: FredTopology, group: Sequence[int]) -> list[list[int]]:
    """Return the members on each L1, or nothing if two levels of rings do not fit them."""
    switches = by_switch(fred, group)
    sizes = {len(members) for members in switches}
    return switches if len(switches) > 1 and len(sizes) == 1 and sizes != {1} else []


def _algorithm(
    topology: Topology, pattern: str, group: Sequence[int], chunk_bytes: float, name: str
) -> tuple[str, Build]:
    """Return an algorithm in words, and the function that adds it."""
    if name not in ALGORITHMS:
        allowed = ", ".join(("auto", *ALGORITHMS))
        raise InputError("algorithm", "", f"must be one of {allowed}, not {name!r}")
    if pattern not in ALGORITHMS[name]:
        allowed = ", ".join(ALGORITHMS[name])
        raise InputError("pattern", "", f"must be one of {allowed} with {name}, not {pattern!r}")
    if name == "ring":
        chained = pattern in ("broadcast", "reduce")
        return "chain" if chained else name, lambda b: ring(b, group, chunk_bytes, pattern)
    if name == "bidirectional_ring":
        if pattern in ("broadcast", "reduce"):
            return "two chains", lambda b: _two_chains(b, group, chunk_bytes, pattern)
        return "bidirectional ring", lambda b: bidirectional_ring(b, group, chunk_bytes, pattern)
    if name == "halving_doubling":
        return "halving-doubling", lambda b: halving_doubling(b, group, chunk_bytes, pattern)
    if name == "double_binary_tree":
        return "double binary tree", lambda b: double_binary_tree(b, group, chunk_bytes, pattern)
    if name == "direct":
        return name, _direct(group, chunk_bytes, pattern)
    return _of_fabric(topology, pattern, group, chunk_bytes, name)


def _of_fabric(
    topology: Topology, pattern: str, group: Sequence[int], chunk_bytes: float, name: str
) -> tuple[str, Build]:
    """Return an algorithm that only some topologies or groups have."""
    if name == "hierarchical_2d":
        if not isinstance(topology, MeshTopology) or len(group) != topology.npus:
            raise _unfit(name, "all NPUs of a mesh", topology, group)
        mesh = topology
        return "hierarchical 2D", lambda b: mesh2d(b, mesh, chunk_bytes, pattern)
    if name == "two_level_ring":
        switches = _levels(topology, group) if isinstance(topology, FredTopology) else []
        if not switches:
            allowed = "a group with 2 or more NPUs, equally many, on each of several L1 switches"
            raise _unfit(name, allowed, topology, group)
        return "two-level ring", lambda b: two_level_ring(b, switches, chunk_bytes, pattern)
    if name == "multicast":
        if not topology.in_network and not isinstance(topology, MeshTopology):
            raise _unfit(name, "a mesh or switches with in-network collectives", topology, group)
        text = "in-network multicast" if topology.in_network else "X-Y multicast tree"
        return text, lambda b: multicast(b, group, chunk_bytes)
    if not topology.in_network:
        raise _unfit(name, "switches with in-network collectives", topology, group)
    if pattern == "broadcast":
        return "in-network multicast", lambda b: multicast(b, group, chunk_bytes)
    if pattern == "all_to_all":
        return "in-network", _direct(group, chunk_bytes, pattern)
    return "in-network", lambda b: in_network(b, group, chunk_bytes, pattern)


def _unfit(name: str, allowed: str, topology: Topology, group: Sequence[int]) -> InputError:
    given = f"{name} for {len(group)} NPUs of {topology.name}"
    return InputError("algorithm", "", f"must have {allowed}, not {given}")


def _direct(group: Sequence[int], chunk_bytes: float, pattern: str) -> Build:
    if len(group) > _LARGEST_DIRECT:
        given = f"{len(group)}, as each sends to every other"
        raise InputError(
            "algorithm", "", f"direct must have at most {_LARGEST_DIRECT} NPUs, not {given}"
        )
    return lambda b: direct(b, group, chunk_bytes, pattern)


def _two_chains(
    builder: ScheduleBuilder, group: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add two chains that leave the root in both directions of the group, half of the data each."""
    chain(builder, group, chunk_bytes / 2, pattern)
    chain(builder, [group[0], *reversed(group[1:])], chunk_bytes / 2, pattern)


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
