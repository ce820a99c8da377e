"""Collectives of endpoints on a mesh, as descriptors: rings, both ways around, rows and columns.

The algorithms are those of ``perfmodel.collectives.algorithms`` (FRED, arXiv 2406.19580, section
7.2, has rows, then columns, in both orders at once).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring, all_to_all, block_of, exchange
from fred_hw.checks import check_choice
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.mesh_rings import mesh_ring, product
from fred_hw.compiler.ring_messages import message_flits

from .spec import MeshSpec

__all__ = [
    "ALGORITHMS",
    "PATTERNS",
    "Lane",
    "Place",
    "algorithm_of",
    "collective",
    "in_halves",
    "multicast",
    "queued",
]

ALGORITHMS = ("auto", "ring", "bidirectional", "hierarchical")
"""How rings go; "auto" takes the last one that a group fits."""

PATTERNS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all")
"""Collectives of a group."""

Stage = Mapping[int, Descriptor]
"""What NPUs do of a collective at a time, by number."""

Lane = Sequence[Stage]
"""What a circuit does of a collective, one stage after the other."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a collective is, in the same place of all memories, and what carries it.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    source, destination : Buffer
        What is sent, and where results go, of the same size. An all-gather is in place in
        ``destination``, and has each one's own block there.
    circuits : tuple of str
        Circuit, and the one that carries the second half of what has two.
    """

    mesh: MeshSpec
    source: Buffer
    destination: Buffer
    circuits: tuple[str, str]

    @property
    def flit_bytes(self) -> int:
        """Bytes of a flit."""
        return self.mesh.link.data_width // 8

    def part(self, index: int, count: int) -> "Place":
        """Return a part of it, the last ones smaller or empty; each has a circuit of its own."""
        buffers = (
            block_of(one, count, index, self.flit_bytes) for one in (self.source, self.destination)
        )
        source, destination = buffers
        circuits = (self.circuits[index], self.circuits[index])
        return replace(self, source=source, destination=destination, circuits=circuits)

    @property
    def settled(self) -> "Place":
        """It, in place: what is sent is what was received."""
        return replace(self, source=self.destination)


def algorithm_of(mesh: MeshSpec, group: Sequence[int], algorithm: str) -> str:
    """Return the algorithm that a group's rings take.

    Raises
    ------
    ValueError
        There is no such algorithm, or the group does not fit it.
    """
    check_choice("algorithm", algorithm, ALGORITHMS)
    lines, members = product(mesh.width, group), ", ".join(map(str, group))
    crosses = lines is not None and min(map(len, lines)) > 1
    if algorithm == "hierarchical" and not crosses:
        raise ValueError(
            "hierarchical groups must be all NPUs at which two or more rows and columns cross, "
            f"not {members}"
        )
    if algorithm == "bidirectional" and len(group) < 3:
        raise ValueError(f"bidirectional groups must have 3 NPUs or more, not {members}")
    if algorithm != "auto":
        return algorithm
    return "hierarchical" if crosses else "bidirectional" if len(group) > 2 else "ring"


def in_halves(mesh: MeshSpec, group: Sequence[int]) -> bool:
    """Return whether "hierarchical" has half of a group's data go by columns first.

    Lines of two have one order for all data, as no flow may be on two circuits.
    """
    lines = product(mesh.width, group)
    return lines is not None and min(map(len, lines)) > 2


def collective(place: Place, group: Sequence[int], pattern: str, algorithm: str) -> list[Lane]:
    """Return a collective of a group.

    The order in which a ring goes around is that of ``mesh_ring``, and its first half in two
    directions; rows go to the east and columns to the south in one half of the data, which begins
    with rows, and to the west and north in the other, if it is ``in_halves``.

    Parameters
    ----------
    place : Place
        Where it is.
    group : sequence of int
        NPUs.
    pattern, algorithm : str
        One of ``PATTERNS`` and of ``ALGORITHMS``; all-to-alls are unicasts in turns.

    Raises
    ------
    ValueError
        There is no such pattern or algorithm, the group does not fit, or the size does not.
    """
    check_choice("pattern", pattern, PATTERNS)
    if pattern == "all_to_all":
        return [_in_turns(place, group)]
    mesh, kind = place.mesh, algorithm_of(place.mesh, group, algorithm)
    if kind == "hierarchical":
        return _hierarchical(place, group, pattern)
    order = mesh_ring(mesh.width, tuple(group))
    if kind == "ring":
        return [[_ring(place, [order], pattern)]]
    back = (order[0], *reversed(order[1:]))
    return [[_ring(place.part(k, 2), [way], pattern)] for k, way in enumerate((order, back))]


def _ring(place: Place, orders: Iterable[Sequence[int]], pattern: str) -> dict[int, Descriptor]:
    """Return rings of a collective at a time; nothing if there is nothing to send."""
    found: dict[int, Descriptor] = {}
    flits = place.source.size // place.flit_bytes
    here = place.settled if pattern == "all_gather" else place
    for order in orders if flits else ():
        count = len(order)
        message = message_flits(-(-flits // count), count, place.mesh.endpoint)
        for rank, npu in enumerate(order):
            found[npu] = Descriptor(
                operation=pattern,
                circuit=place.circuits[0],
                source=here.source,
                destination=here.destination,
                send=FlowId(order[(rank + 1) % count], unicast=True),
                receive=FlowId(order[rank - 1], unicast=True),
                ring=Ring(
                    members=count,
                    rank=rank,
                    message_bytes=message * place.flit_bytes,
                    fsms=place.mesh.endpoint.fsms,
                ),
            )
    return found


def _hierarchical(place: Place, group: Sequence[int], pattern: str) -> list[Lane]:
    """Return rows, then columns, and in another half of the data columns, then rows."""
    lines = product(place.mesh.width, group)
    assert lines is not None  # algorithm_of has looked
    xs, ys = lines
    rows = [[x + place.mesh.width * y for x in xs] for y in ys]
    columns = [[x + place.mesh.width * y for y in ys] for x in xs]
    if not in_halves(place.mesh, group):
        return [_two_levels(place, rows, columns, pattern)]
    back = [[line[::-1] for line in lines] for lines in (columns, rows)]
    return [
        _two_levels(place.part(0, 2), rows, columns, pattern),
        _two_levels(place.part(1, 2), back[0], back[1], pattern),
    ]


def _two_levels(
    place: Place, first: list[list[int]], second: list[list[int]], pattern: str
) -> list[dict[int, Descriptor]]:
    """Return a collective on lines, then across them on what each place on a line has."""
    stages: list[dict[int, Descriptor]] = []
    across: dict[int, Descriptor] = {}
    for line in second:
        rank = next(one.index(line[0]) for one in first if line[0] in one)
        whole = place.destination
        block = block_of(whole, len(first[0]), rank, place.flit_bytes)
        own = replace(place, source=block, destination=block)
        across |= _ring(own, [line], pattern)
    if pattern != "all_gather":
        stages.append(_ring(place, first, "reduce_scatter"))
    stages.append(across)
    if pattern != "reduce_scatter":
        stages.append(_ring(place, first, "all_gather"))
    return stages


def _in_turns(place: Place, group: Sequence[int]) -> list[dict[int, Descriptor]]:
    """Return an all-to-all, a turn at a time."""
    parts = {
        npu: all_to_all(
            place.circuits[0], group, rank, place.source, place.destination, place.flit_bytes
        )
        for rank, npu in enumerate(group)
    }
    return [{npu: own[turn] for npu, own in parts.items()} for turn in range(len(group) - 1)]


def multicast(place: Place, flows: Iterable[Flow]) -> list[Lane]:
    """Return multicasts as unicasts: each source sends to its destinations one after the other.

    In turn k all sources send to their k-th destination at once, so no two wait for each other.

    Parameters
    ----------
    place : Place
        Where they are.
    flows : iterable of Flow
        Each from one NPU, to others of which none has two.
    """
    sends: list[dict[int, int]] = []
    for flow in flows:
        (source,) = flow.inputs
        for turn, destination in enumerate(flow.outputs):
            if turn == len(sends):
                sends.append({})
            sends[turn][source] = destination
    return [[_unicasts(place, turn) for turn in sends]]


def _unicasts(place: Place, turn: Mapping[int, int]) -> dict[int, Descriptor]:
    """Return unicasts at a time, from sources to destinations."""
    back = {destination: source for source, destination in turn.items()}
    return {
        npu: exchange(
            place.circuits[0],
            (place.source, FlowId(turn[npu], unicast=True)) if npu in turn else None,
            (place.destination, FlowId(back[npu], unicast=True)) if npu in back else None,
        )
        for npu in sorted({*turn, *back})
    }


def queued(lanes: Sequence[Lane], npu: int) -> list[Descriptor]:
    """Return what an NPU queues: of each lane in turn, so that none waits for another's queue."""
    return [
        stage[npu]
        for stages in zip_longest(*lanes, fillvalue={})
        for stage in stages
        if npu in stage
    ]
