"""What runs move, and the figures that follow: bytes by class of link, utilization, energy.

Every kind of run states what it moves: operations, bytes of memory, numbers that are added, and
payload bytes on each link. Bytes by class of link, utilization and energy follow from these amounts
here alone, so the same transfers have the same figures in every kind of run.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from perfmodel.constants import NUMBER_BYTES
from perfmodel.run_figures import DimensionUse, Energy, Figures
from perfmodel.topology.graph import Topology
from perfmodel.topology.link_dimensions import link_dimensions

from .counted import Counted
from .energy import LINK_CLASSES, EnergyTable
from .graph import Work

__all__ = [
    "Links",
    "Moved",
    "TopologyLinks",
    "UsedLink",
    "figures",
    "moved_by",
]

_WORK = ("operations", "memory", "additions")

_NO_WORK = "some compute has no operations and bytes (num_ops and tensor_size in traces)"


class UsedLink(NamedTuple):
    """A link that carries payload.

    Parameters
    ----------
    kind : str
        One of ``LINK_CLASSES``, or ``memory`` for the memory that an endpoint reads.
    payload_bytes_per_s : float
        Payload bandwidth [B/s].
    dimension : str
        Name of the dimension; empty for links whose use is not reported.
    efficiency : float
        Share of the bandwidth that is left for payload.
    """

    kind: str
    payload_bytes_per_s: float = 0.0
    dimension: str = ""
    efficiency: float = 1.0


class Links(Protocol):
    """The links of a network by key."""

    @property
    def dimensions(self) -> Mapping[str, int]:
        """Number of links of each dimension."""
        ...

    def find(self, key: Any) -> UsedLink | None:
        """Return a link; None for a key that stands for rounds inside a switch."""
        ...


class Moved(NamedTuple):
    """What tasks of a part do, on all NPUs and links together.

    Parameters
    ----------
    part : str
        Part of the run.
    times : int
        Number of these tasks; all amounts are those of one.
    operations, memory_bytes : float or None
        Operations, and bytes to and from memory [B]; None if unknown.
    added_bytes : float
        Numbers that are added to others [B].
    loads : iterable of pair
        Keys of links, and payload bytes that cross them [B].
    """

    part: str
    times: int = 1
    operations: float | None = 0.0
    memory_bytes: float | None = 0.0
    added_bytes: float = 0.0
    loads: Iterable[tuple[Hashable, float]] = ()


_links: WeakKeyDictionary[Topology, tuple[UsedLink, ...]] = WeakKeyDictionary()


class TopologyLinks:
    """Links of a topology by number, with endpoints that read memory, and remote memory.

    Parameters
    ----------
    topology : Topology
        The topology. Behind ``topology.capacities`` are endpoints, and then links to remote memory.
    endpoints : int
        Number of endpoints that read memory for collectives.
    """

    def __init__(self, topology: Topology, endpoints: int = 0) -> None:
        if topology not in _links:  # requested by each estimate
            names = link_dimensions(topology)
            _links[topology] = tuple(
                UsedLink(
                    "io" if "io" in (kinds := topology.link_ends(i)) else "_".join(kinds),
                    link.payload_bytes_per_s,
                    names[i],
                    link.efficiency,
                )
                for i, link in enumerate(topology.links)
            )
        self._own, self._inside = _links[topology], len(topology.capacities)
        self._endpoints = endpoints

    @property
    def dimensions(self) -> Mapping[str, int]:
        """Number of links of each dimension."""
        return Counter(link.dimension for link in self._own)

    def find(self, key: int) -> UsedLink | None:
        """Return a link; None for the rounds inside a switch."""
        if key < len(self._own):
            return self._own[key]
        behind = key - self._inside
        if behind < 0:
            return None
        return UsedLink("memory" if behind < self._endpoints else "remote_memory")


def moved_by(counts: Counted, npus: int) -> Iterable[Moved]:
    """Yield what tasks of an iteration move; compute is that of each of ``npus`` NPUs.

    Operations are unknown for compute that states no more than its time.
    """
    for kind, profile, times in counts:
        work: tuple[float | None, float | None] = (0.0, 0.0)
        if isinstance(profile, Work):
            work = npus * profile.operations, npus * profile.moved_bytes
        elif kind == "compute" and profile.time_s:
            work = None, None
        yield Moved(kind, times, *work, profile.added_bytes, profile.loads)


def figures(
    table: EnergyTable,
    links: Links,
    time_s: float,
    moved: Iterable[Moved],
    parts: Iterable[str] = (),
) -> Figures:
    """Return the figures of a run.

    Parameters
    ----------
    table : EnergyTable
        Energy of each unit of work.
    links : Links
        Links of the network.
    time_s : float
        Time of the run [s].
    moved : iterable of Moved
        All that the run does.
    parts : iterable of str
        Parts to report in any case.
    """
    parts_j, uses_j = dict.fromkeys(parts, 0.0), dict.fromkeys((*_WORK, *LINK_CLASSES), 0.0)
    unknown_parts: set[str] = set()
    carried: dict[str, dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))

    def spend(part: str, use: str, amount: float) -> None:
        joules = table.joules(use, amount)
        parts_j[part] = parts_j.get(part, 0.0) + joules
        uses_j[use] += joules

    for part, times, operations, memory_bytes, added_bytes, loads in moved:
        if operations is None or memory_bytes is None:
            unknown_parts.add(part)
        spend(part, "operations", times * (operations or 0.0))
        spend(part, "memory", times * (memory_bytes or 0.0))
        spend(part, "additions", times * added_bytes / NUMBER_BYTES)
        mine = carried[part]
        for key, count in loads:
            mine[key] += times * count
    crossed: dict[Hashable, float] = defaultdict(float)
    for part, counts in carried.items():
        for key, count in counts.items():
            crossed[key] += count
            if link := links.find(key):
                spend(part, link.kind, count / link.efficiency)
    known = None if unknown_parts else sum(parts_j.values())
    # Parts and uses have names in common, such as "memory".
    unknown_uses = {"operations", "memory"} if unknown_parts else set[str]()
    found = (
        {name: None if name in missing else joules for name, joules in some.items()}
        for some, missing in ((parts_j, unknown_parts), (uses_j, unknown_uses))
    )
    used = [(link, count) for key, count in crossed.items() if (link := links.find(key))]
    return Figures(
        link_bytes=_by_class(used),
        utilization=_utilization(links.dimensions, used, time_s),
        energy=Energy(known, *found),
        absent={"energy.total_j": _NO_WORK} if unknown_parts else {},
    )


def _by_class(used: Iterable[tuple[UsedLink, float]]) -> dict[str, float]:
    found = dict.fromkeys(LINK_CLASSES, 0.0)
    for link, count in used:
        if link.kind in found:
            found[link.kind] += count
    return found


def _utilization(
    dimensions: Mapping[str, int], used: Iterable[tuple[UsedLink, float]], time_s: float
) -> tuple[DimensionUse, ...]:
    """Return the use of all dimensions, ordered by name."""
    counts: dict[str, float] = dict.fromkeys(dimensions, 0.0)
    shares: dict[str, list[float]] = defaultdict(list)
    for link, count in used:
        if link.dimension:
            counts[link.dimension] += count
            rate = link.payload_bytes_per_s * time_s
            shares[link.dimension].append(count / rate if rate else 0.0)
    return tuple(
        DimensionUse(name, links, counts[name], max(mine, default=0.0), sum(mine) / links)
        for name, links in sorted(dimensions.items())
        for mine in [shares[name]]
    )
