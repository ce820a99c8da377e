"""Hierarchical collectives: stacked blocks, one dimension after the other.

Each dimension reduces what the ones before have scattered, as in ASTRA-sim 2.0 (arXiv 2303.14006),
so the inner ones carry most. With a rotated order for each part of the data, all dimensions work at
once (Themis, arXiv 2110.04478, balances the parts by load; here they are equal).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, product
from math import prod
from typing import Literal

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, Algorithm
from perfmodel.collectives.bounds import scattered_s, sent_s
from perfmodel.collectives.schedule import ROOTED, ScheduleBuilder
from perfmodel.topology.block import Dimension
from perfmodel.topology.graph import Topology

from .halving import double, halve
from .ring import all_gather_ring, reduce_scatter_ring

__all__ = [
    "Axis",
    "Level",
    "add_level",
    "add_order",
    "directions_of",
    "hierarchical",
    "least_s",
    "level_of",
    "levels_of",
    "lines",
]

Axis = tuple[Dimension, list[int]]
"""A dimension, and the positions along it that a group occupies."""

Level = list[tuple[list[int], list[tuple[int, ...]]]]
"""NPUs of each line along a dimension, and the shards of each NPU."""

Move = tuple[int, int, tuple[int, ...]]
"""Source, target and shards of a message."""


def lines(dimensions: Sequence[Dimension], members: Sequence[int]) -> list[Axis] | None:
    """Return the dimensions that a group spans, and the group's positions along each.

    None if the group is not at all crossings of them, or there are none.
    """
    found = [(one, sorted({one.place(npu) for npu in members})) for one in dimensions]
    if not found or prod(len(places) for _, places in found) != len(members):
        return None
    return [(one, places) for one, places in found if len(places) > 1]


def hierarchical(
    builder: ScheduleBuilder,
    members: Sequence[int],
    chunk_bytes: float,
    pattern: str,
    rotated: bool = False,
) -> None:
    """Add any collective but an all-to-all, one dimension after the other.

    Rings run in both directions, half of the data in each. On other blocks each member sends to
    each other. If ``rotated``, an equal part of the data begins with each dimension.

    A broadcast scatters the data of the root along each dimension, and gathers them in the
    opposite order; a reduce is the same in reverse.
    """
    axes = lines(builder.topology.dimensions, members)
    assert axes
    first, orders = builder.lane, _orders(axes, rotated)
    for lane, (order, back) in enumerate(orders):
        builder.lane = first + lane
        _one_order(builder, members, order, chunk_bytes / len(orders), pattern, back=back)
    builder.lane = first


def _orders(axes: list[Axis], rotated: bool) -> list[tuple[list[Axis], bool]]:
    """Return the orders of dimensions for equal parts of the data, and each ring direction."""
    orders = [axes[i:] + axes[:i] for i in range(len(axes) if rotated else 1)]
    return list(product(orders, directions_of(axes)))


def least_s(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    size_bytes: float,
    rotated: bool = False,
) -> float:
    """Return a lower bound of the time, from the bytes that a group's first member sends [s].

    Parameters
    ----------
    topology, pattern, groups, size_bytes
        As for ``bounds.volume_s``.
    rotated : bool
        See :func:`hierarchical`.
    """
    times = 2 if pattern == "all_reduce" else 1
    longest_s = scattered_s(topology, pattern, groups, size_bytes)
    for group in groups:
        axes = lines(topology.dimensions, group)
        assert axes
        npu, orders = group[0], _orders(axes, rotated)
        sent: list[tuple[int, float]] = []
        for order, back in orders:
            held = times * size_bytes / len(orders)
            for axis, places in order:
                own, held = axis.place(npu), held / len(places)
                line = [npu + (place - own) * axis.stride for place in places]
                at, count = places.index(own), len(places)
                if _circular(axis):
                    sent.append((line[(at + (-1 if back else 1)) % count], (count - 1) * held))
                else:
                    sent += [(other, held) for other in line if other != npu]
        longest_s = max(longest_s, sent_s(topology, npu, sent))
    return longest_s


def add_order(
    builder: ScheduleBuilder,
    members: Sequence[int],
    order: Sequence[Axis],
    part_bytes: float,
    pattern: str,
) -> None:
    """Add a collective on a part of the data in one order of dimensions, in separate lanes.

    An all-gather goes through the dimensions backwards.
    """
    directions = directions_of(order)
    for back in directions:
        _one_order(builder, members, order, part_bytes / len(directions), pattern, back=back)
        builder.lane += 1


def directions_of(axes: Sequence[Axis]) -> tuple[bool, ...]:
    """Return the ring directions that share the data: whether each part goes backward."""
    return (False, True) if any(_circular(one) for one, _ in axes) else (False,)


def _one_order(
    builder: ScheduleBuilder,
    members: Sequence[int],
    order: Sequence[Axis],
    part_bytes: float,
    pattern: str,
    *,
    back: bool,
) -> None:
    """Add a collective in one order of the dimensions, around rings in one direction."""
    root = members[0] if pattern in ROOTED else None
    steps = levels_of(builder, members, order, part_bytes, back=back, root=root)
    moves = [] if root is None else _from_root(root, steps)
    if pattern == "broadcast":
        for step in moves:
            builder.exchange(step, "copy")
    elif pattern != "all_gather":
        for own, level in steps:
            add_level(builder, own, level, "reduce")
    if pattern == "reduce":
        for step in reversed(moves):
            builder.exchange(((target, source, shards) for source, target, shards in step), "copy")
    elif pattern != "reduce_scatter":
        for own, level in reversed(steps):
            add_level(builder, own, level, "copy")


def _from_root(root: int, steps: Sequence[tuple[Dimension, Level]]) -> list[list[Move]]:
    """Return the messages that scatter the data of a root, grouped by step.

    In a ring, each member forwards the parts of all members behind it. Elsewhere, the root sends
    each part directly.
    """
    found: list[list[Move]] = []
    for depth, (own, level) in enumerate(steps):
        later = [one for one, _ in steps[depth + 1 :]]
        lines_of = [
            _from(line, parts, place)
            for line, parts in level
            if all(one.place(line[0]) == one.place(root) for one in later)
            for place, npu in enumerate(line)
            if own.place(npu) == own.place(root)
        ]
        if own.kind != "ring":
            moves = [
                (line[0], target, part)
                for line, parts in lines_of
                for target, part in zip(line[1:], parts[1:], strict=True)
            ]
            found.append(moves)
            continue
        found += [
            [
                (line[hop], line[hop + 1], tuple(chain.from_iterable(parts[hop + 1 :])))
                for line, parts in lines_of
            ]
            for hop in range(len(lines_of[0][0]) - 1)
        ]
    return found


def _from(
    line: list[int], parts: list[tuple[int, ...]], place: int
) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return a line rotated to start at a position, with the shards of each NPU."""
    every = parts if len(parts) > 1 else parts * len(line)
    return line[place:] + line[:place], every[place:] + every[:place]


def levels_of(
    builder: ScheduleBuilder,
    members: Sequence[int],
    order: Sequence[Axis],
    part_bytes: float,
    *,
    back: bool = False,
    root: int | None = None,
) -> list[tuple[Dimension, Level]]:
    """Return the lines of each dimension of an order, with new shards for a part of the data.

    With ``back`` lines are listed backwards, for rings in the other direction. A ``root`` owns all
    shards.
    """
    # In lockstep all members send as much as the first; endpoints send each message separately.
    alike = builder.lockstep and builder.topology.endpoint is None
    share, held_bytes = part_bytes / len(members), part_bytes
    owner = {npu: npu if root is None else root for npu in members}
    shard = {} if alike else {npu: builder.add_shard(owner[npu], share) for npu in members}
    dimensions = [one for one, _ in order]
    steps: list[tuple[Dimension, Level]] = []
    for depth, (own, places) in enumerate(order):
        if alike:
            held_bytes /= len(places)
            part = (builder.add_shard(members[0], held_bytes),)
            steps.append((own, [(ring, [part]) for ring in _lines_along(members, own, back)]))
        else:
            steps.append((own, level_of(shard, dimensions[: depth + 1], back=back)))
    return steps


def level_of(shards: Mapping[int, int], dimensions: Sequence[Dimension], *, back: bool) -> Level:
    """Return the lines along the last of some dimensions, with the shards of each member.

    Parameters
    ----------
    shards : mapping
        Shard of each member of the group.
    dimensions : sequence of Dimension
        Dimensions; a member has the shards of all members with the same positions along them.
    back : bool
        Whether lines are listed backwards.
    """

    def place(npu: int) -> tuple[int, ...]:
        return tuple(one.place(npu) for one in dimensions)

    held: dict[tuple[int, ...], list[int]] = {}
    for npu, shard in shards.items():
        held.setdefault(place(npu), []).append(shard)
    found = _lines_along(shards, dimensions[-1], back)
    return [(line, [tuple(held[place(npu)]) for npu in line]) for line in found]


def _lines_along(members: Iterable[int], dimension: Dimension, back: bool) -> list[list[int]]:
    """Return the lines of members whose positions differ along one dimension only."""
    found: dict[int, list[int]] = {}
    for npu in members:
        found.setdefault(npu - dimension.place(npu) * dimension.stride, []).append(npu)
    return [sorted(line, reverse=back) for line in found.values()]


def add_level(
    builder: ScheduleBuilder,
    dimension: Dimension,
    level: Level,
    action: Literal["reduce", "copy"],
    *,
    halving: bool = False,
) -> None:
    """Add a reduce-scatter or an all-gather on all lines of a dimension.

    With ``halving``, NPUs on a switch whose number is a power of two use recursive halving and
    doubling instead of direct sends.
    """
    for line, parts in builder.representative_lines(level):
        if _circular(dimension):
            step = reduce_scatter_ring if action == "reduce" else all_gather_ring
            step(builder, line, parts)
        elif halving and dimension.kind == "switch" and len(line) & (len(line) - 1) == 0:
            (halve if action == "reduce" else double)(builder, line, parts)
        else:
            builder.exchange_all(line, parts, action)


def _circular(dimension: Dimension) -> bool:
    return dimension.kind in ("ring", "line")


def _crossings(topology: Topology, group: Sequence[int]) -> bool:
    return lines(topology.dimensions, group) is not None


_NEEDS = "all NPUs at which some lines of stacked blocks cross"

ALGORITHMS.add(
    "hierarchical",
    Algorithm(
        "hierarchical, the innermost dimension first",
        hierarchical,
        (*SCATTERED, *ROOTED),
        needs=_NEEDS,
        fits=_crossings,
        preference=dict.fromkeys(SCATTERED, 5),
        least_s=least_s,
    ),
    rank=5.6,
)
ALGORITHMS.add(
    "hierarchical_turns",
    Algorithm(
        "hierarchical, a part of the data beginning with each dimension",
        partial(hierarchical, rotated=True),
        (*SCATTERED, *ROOTED),
        needs=_NEEDS,
        fits=_crossings,
        least_s=partial(least_s, rotated=True),
    ),
    rank=5.7,
)
