"""Schedule synthesis by randomized matching of links and shards, one time slot at a time.

The idea is that of TACOS (Won et al., MICRO 2024, arXiv 2304.05301): in each slot every free link
takes a shard that its source holds and its target still needs. Of several random matchings the one
with the fewest slots is kept. A seed always gives the same schedule.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fred_hw.progress import count

from .link_graph import Arc, LinkGraph

__all__ = ["SEEDS", "Move", "Plan", "Shard", "synthesize"]

SEEDS = 4
"""Number of random seeds tried on small networks."""

_CELLS = 1 << 21
"""Limit of members x shards summed over all seeds; one seed is always tried."""

_PATHS = 16
"""Relayed paths tried from each member, over switches or other NPUs; without a limit, a switch
would yield one path per pair of NPUs."""

_ROUNDING = 1e-9

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the data; all shards have equal size.

    Parameters
    ----------
    origin : int
        Member that has it at first.
    target : int or None
        Member that needs it; all members if None.
    """

    origin: int
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """The transfer of a shard over a link or a path of links.

    Parameters
    ----------
    source, target : int
        Members at its ends.
    shard : int
        Its place in the list of shards.
    step, slots : int
        First time slot, and how many.
    links : tuple of int
        Links from the source to the target.
    """

    source: int
    target: int
    shard: int
    step: int
    slots: int
    links: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """A plan: which member sends which shard in which slot.

    Parameters
    ----------
    moves : tuple of Move
        Moves in the order of their first slots.
    steps : int
        Time slots from the first to the last.
    link_utilization : float
        Share of the slots of all links in which they carry a shard.
    seed : int
        Seed of the matching that needs the fewest slots.
    """

    moves: tuple[Move, ...]
    steps: int
    link_utilization: float
    seed: int


def synthesize(graph: LinkGraph, shards: Sequence[Shard], seeds: Sequence[int] = ()) -> Plan:
    """Return the shortest of some random plans that deliver all shards.

    Parameters
    ----------
    graph : LinkGraph
        Members and links.
    shards : sequence of Shard
        Parts of the data, of equal size.
    seeds : sequence of int
        A plan is made of each; by default of ``SEEDS``, or of fewer for large networks.

    Raises
    ------
    ValueError
        A member cannot reach another.
    """
    if not graph.connected:
        raise ValueError("links must lead from each member of a graph to every other")
    many = _CELLS // (len(graph.members) * len(shards))
    tried = seeds or range(max(1, min(SEEDS, many)))
    best = min((_Matching(graph, shards, seed) for seed in tried), key=lambda one: one.steps)
    return best.plan()


class _Matching:
    """A plan derived from one random seed.

    Members are known by their places in the graph, and links likewise; one link more, which is
    always free, fills paths up to equal length.
    """

    def __init__(self, graph: LinkGraph, shards: Sequence[Shard], seed: int) -> None:
        self.seed = seed
        self._rng = np.random.default_rng(seed)
        self._graph = graph
        self._paths = _paths(graph, self._rng)
        place = {member: i for i, member in enumerate(graph.members)}
        link = {arc.link: i for i, arc in enumerate(graph.arcs)}
        longest = max(map(len, self._paths))
        self._source = np.array([place[path[0].source] for path in self._paths])
        self._target = np.array([place[path[-1].target] for path in self._paths])
        self._slots = np.array([max(arc.slots for arc in path) for path in self._paths])
        self._links = np.full((len(self._paths), longest), len(link))
        self._share = np.zeros((len(self._paths), longest))
        for number, path in enumerate(self._paths):
            for i, arc in enumerate(path):
                self._links[number, i] = link[arc.link]
                self._share[number, i] = arc.slots / self._slots[number]
        self._used = np.zeros(len(link) + 1)
        self._needs = _needs(graph, shards, self._source, self._target, self._slots)
        self._found: list[tuple[int, Ints, Ints]] = []  # slot, paths, and the shard of each path
        self.steps = self._match()

    def _match(self) -> int:
        """Match whenever links become free, until all shards are delivered; return the end."""
        ends: dict[int, list[tuple[Ints, Ints]]] = {0: []}
        step, all_ = 0, self._needs.left
        while ends:
            step = min(ends)
            for paths, shards in ends.pop(step):
                self._used -= np.bincount(
                    self._links[paths].ravel(), self._share[paths].ravel(), len(self._used)
                )
                self._needs.arrive(self._target[paths], shards)
            self._used[-1] = 0.0
            for paths, shards in self._slot():
                self._found.append((step, paths, shards))
                for slots in np.unique(self._slots[paths]):
                    now = self._slots[paths] == slots
                    ends.setdefault(step + int(slots), []).append((paths[now], shards[now]))
            count("shards", all_ - self._needs.left, all_)
        return step

    def _slot(self) -> list[tuple[Ints, Ints]]:
        """Match links with shards in one slot; return paths and the shards assigned to them."""
        found: list[tuple[Ints, Ints]] = []
        waiting = self._rng.permutation(len(self._paths))
        while len(waiting):
            waiting = waiting[self._fits(waiting)]
            # One path to each target and over each link, so that the paths are independent.
            chosen = self._alone(waiting)
            paths = waiting[chosen]
            waiting = waiting[~chosen]
            if not len(paths):
                break
            shards, any_ = self._needs.choose(self._source[paths], self._target[paths], self._rng)
            paths, shards = paths[any_], shards[any_]
            if len(paths):
                self._needs.take(self._target[paths], shards)
                np.add.at(self._used, self._links[paths], self._share[paths])
                self._used[-1] = 0.0
                found.append((paths, shards))
        return found

    def _fits(self, paths: Ints) -> Bools:
        """Return which paths have only free links."""
        used = self._used[self._links[paths]] + self._share[paths]
        free: Bools = np.logical_and.reduce(used <= 1 + _ROUNDING, axis=1)
        return free

    def _alone(self, paths: Ints) -> Bools:
        """Return which paths are the first to use their target and each of their links."""
        first = np.zeros(len(paths), dtype=bool)
        first[np.unique(self._target[paths], return_index=True)[1]] = True
        links = self._links[paths]
        flat = np.zeros(links.size, dtype=bool)
        flat[np.unique(links.ravel(), return_index=True)[1]] = True
        alone = flat.reshape(links.shape) | (links == len(self._used) - 1)
        first &= np.logical_and.reduce(alone, axis=1)
        return first

    def plan(self) -> Plan:
        """Return the plan that the matching found."""
        moves: list[Move] = []
        busy = 0
        ends = [tuple(arc.link for arc in path) for path in self._paths]
        own = [sum(arc.slots for arc in path) for path in self._paths]
        for step, paths, shards in self._found:
            for number, shard in zip(map(int, paths), map(int, shards), strict=True):
                path = self._paths[number]
                slots = int(self._slots[number])
                source, target = path[0].source, path[-1].target
                moves.append(Move(source, target, shard, step, slots, ends[number]))
                busy += own[number]
        used = busy / (self.steps * len(self._graph.arcs)) if moves else 0.0
        return Plan(tuple(moves), self.steps, used, self.seed)


def _paths(graph: LinkGraph, rng: np.random.Generator) -> list[tuple[Arc, ...]]:
    """Return the links between members, and the paths between members over non-member nodes."""
    members = set(graph.members)
    direct: list[tuple[Arc, ...]] = []
    relayed: list[list[tuple[Arc, ...]]] = []
    for member in graph.members:
        direct += [(arc,) for arc in graph.outgoing[member] if arc.target in members]
        relayed.append(_relayed(graph, member, members))
    some: list[tuple[Arc, ...]] = []
    for place, paths in enumerate(relayed):
        after = graph.members[(place + 1) % len(members)]
        if len(paths) > _PATHS:
            kept = {int(i) for i in rng.choice(len(paths), _PATHS, replace=False)}
            paths = [path for i, path in enumerate(paths) if i in kept or path[-1].target == after]
        some += paths
    found = [*direct, *some]
    if _connected(graph.members, found):
        return found
    return [*direct, *(path for paths in relayed for path in paths)]


def _relayed(graph: LinkGraph, member: int, members: set[int]) -> list[tuple[Arc, ...]]:
    """Return the shortest paths to members that are reachable over non-member nodes only."""
    came: dict[int, tuple[Arc, ...]] = {member: ()}
    waiting = deque([member])
    while waiting:
        node = waiting.popleft()
        for arc in graph.outgoing[node]:
            if arc.target not in came:
                came[arc.target] = (*came[node], arc)
                if arc.target not in members:
                    waiting.append(arc.target)
    return [path for node, path in came.items() if node in members and len(path) > 1]


def _connected(members: Sequence[int], paths: Sequence[tuple[Arc, ...]]) -> bool:
    """Return whether each member reaches every other over the given paths."""
    pairs = [(path[0].source, path[-1].target) for path in paths]
    for ends in (pairs, [pair[::-1] for pair in pairs]):
        after: dict[int, list[int]] = {}
        for here, there in ends:
            after.setdefault(here, []).append(there)
        reached = {members[0]}
        waiting = [members[0]]
        while waiting:
            for there in after.get(waiting.pop(), ()):
                if there not in reached:
                    reached.add(there)
                    waiting.append(there)
        if len(reached) < len(members):
            return False
    return True


def _needs(
    graph: LinkGraph, shards: Sequence[Shard], source: Ints, target: Ints, slots: Ints
) -> "_ForAll | _ForOne":
    place = {member: i for i, member in enumerate(graph.members)}
    origins = np.array([place[shard.origin] for shard in shards])
    if all(shard.target is None for shard in shards):
        return _ForAll(len(place), origins)
    targets = np.array([place[shard.target] for shard in shards if shard.target is not None])
    return _ForOne(_distances(len(place), source, target, slots), origins, targets)


def _distances(members: int, source: Ints, target: Ints, slots: Ints) -> Ints:
    """Return the least number of slots between each pair of members."""
    found = np.full((members, members), members * int(slots.max()))
    np.fill_diagonal(found, 0)
    for _ in range(members):
        closer = found.copy()
        np.minimum.at(closer, source, found[target] + slots[:, None])
        if (closer == found).all():
            break
        found = closer
    return found


class _ForAll:
    """Shards that every member needs."""

    def __init__(self, members: int, origins: Ints) -> None:
        places = np.arange(len(origins))
        self._holds = np.zeros((members, len(origins)), dtype=bool)
        self._holds[origins, places] = True
        self._needs = ~self._holds
        self._missing = np.full(len(origins), members - 1.0)
        self.left = int(self._needs.sum())

    def choose(self, source: Ints, target: Ints, rng: np.random.Generator) -> tuple[Ints, Bools]:
        """Return the rarest available shard for each pair of members, and whether there is one."""
        able = self._holds[source] & self._needs[target]
        rank = np.argsort(-(self._missing + rng.random(len(self._missing))))
        able = able[:, rank]
        shards = able.argmax(axis=1)
        return rank[shards], able[np.arange(len(able)), shards]

    def take(self, target: Ints, shards: Ints) -> None:
        """Mark shards as in transit to members."""
        self._needs[target, shards] = False
        self._missing -= np.bincount(shards, minlength=len(self._missing))
        self.left -= len(shards)

    def arrive(self, target: Ints, shards: Ints) -> None:
        """Mark shards as received; the receivers can send them on."""
        self._holds[target, shards] = True


class _ForOne:
    """Shards with one target each, forwarded by members that are closer to the target."""

    def __init__(self, distances: Ints, origins: Ints, targets: Ints) -> None:
        self._members = len(distances)
        self._away = distances[:, targets]
        self._at = origins.copy()
        self._near = self._away[origins, np.arange(len(origins))]
        self._moving = np.zeros(len(origins), dtype=bool)
        self.left = int((self._near > 0).sum())

    def choose(self, source: Ints, target: Ints, rng: np.random.Generator) -> tuple[Ints, Bools]:
        """Return the farthest available shard for each pair, and whether there is one."""
        able = np.flatnonzero((self._near > 0) & ~self._moving)
        able = able[np.argsort(self._at[able], kind="stable")]
        first, end = np.searchsorted(self._at[able], [source, source + 1])
        # Each pair with each of the shards at its source, as rows of one list.
        rows = np.repeat(np.arange(len(source)), end - first)
        starts = np.cumsum(end - first) - (end - first)
        shards = able[np.arange(len(rows)) - starts[rows] + first[rows]]
        closer = self._away[target[rows], shards] < self._near[shards]
        rows, shards = rows[closer], shards[closer]
        order = np.argsort(-(self._near[shards] + rng.random(len(shards))))
        rows, shards = rows[order], shards[order]
        # The first shard of each pair; of two pairs with the same shard, the first sends it.
        rows, place = np.unique(rows, return_index=True)
        shards, place = np.unique(shards[place], return_index=True)
        found, any_ = np.zeros(len(source), dtype=np.int64), np.zeros(len(source), dtype=bool)
        found[rows[place]], any_[rows[place]] = shards, True
        return found, any_

    def take(self, target: Ints, shards: Ints) -> None:
        """Mark shards as in transit to members."""
        self._moving[shards] = True
        self._near[shards] = self._away[target, shards]
        self.left -= int((self._near[shards] == 0).sum())

    def arrive(self, target: Ints, shards: Ints) -> None:
        """Mark shards as received; the receivers can send them on."""
        self._at[shards] = target
        self._moving[shards] = False
