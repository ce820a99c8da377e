"""Hierarchical collectives: dimension after dimension, over blocks that stack.

Each dimension reduces what the ones before have scattered, as in ASTRA-sim 2.0 (arXiv 2303.14006),
so the inner ones carry most. In turns, where parts of the data begin with a dimension each, all
dimensions work at once (Themis, arXiv 2110.04478, has them balanced by load, this has equal parts).
"""

from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Literal

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, Algorithm
from perfmodel.collectives.bounds import sent_s
from perfmodel.collectives.schedule import ScheduleBuilder
from perfmodel.topology.graph import Dimension, Topology

from .ring import all_gather_ring, reduce_scatter_ring

__all__ = ["hierarchical", "least_s", "lines"]

_Axes = list[tuple[Dimension, list[int]]]


def lines(topology: Topology, members: Sequence[int]) -> _Axes | None:
    """Return the dimensions along which a group lies, and its places on each.

    None if it is not at all crossings of them, or the topology has none.
    """
    found = [
        (one, sorted({npu // one.stride % one.npus for npu in members}))
        for one in topology.dimensions
    ]
    if not found or prod(len(places) for _, places in found) != len(members):
        return None
    return [(one, places) for one, places in found if len(places) > 1]


def hierarchical(
    builder: ScheduleBuilder,
    members: Sequence[int],
    chunk_bytes: float,
    pattern: str,
    turns: bool = False,
) -> None:
    """Add an all-reduce, reduce-scatter or all-gather, a dimension after the other.

    Rings go both ways, half of the data in each; on other blocks each member sends to each other.
    With ``turns`` an equal part of the data begins with each dimension.
    """
    axes = lines(builder.topology, members)
    assert axes
    first, orders = builder.lane, _orders(axes, turns)
    for lane, (order, back) in enumerate(orders):
        builder.lane = first + lane
        _one_order(builder, members, order, chunk_bytes / len(orders), pattern, back=back)
    builder.lane = first


def _orders(axes: _Axes, turns: bool) -> list[tuple[_Axes, bool]]:
    """Return the orders of dimensions of equal parts of the data, and whether rings go back."""
    orders = [axes[i:] + axes[:i] for i in range(len(axes) if turns else 1)]
    ways = (False, True) if any(one.ring for one, _ in axes) else (False,)
    return list(product(orders, ways))


def least_s(
    topology: Topology,
    pattern: str,
    groups: Sequence[Sequence[int]],
    size_bytes: float,
    turns: bool = False,
) -> float:
    """Return a time that it takes at least [s]: of what the first member of a group sends.

    Parameters
    ----------
    topology, pattern, groups, size_bytes
        As for ``bounds.volume_s``.
    turns : bool
        As for :func:`hierarchical`.
    """
    times, longest_s = 2 if pattern == "all_reduce" else 1, 0.0
    for group in groups:
        axes = lines(topology, group)
        assert axes
        npu, orders = group[0], _orders(axes, turns)
        sent: list[tuple[int, float]] = []
        for order, back in orders:
            held = times * size_bytes / len(orders)
            for axis, places in order:
                own, held = npu // axis.stride % axis.npus, held / len(places)
                line = [npu + (place - own) * axis.stride for place in places]
                at, count = places.index(own), len(places)
                if axis.ring:
                    sent.append((line[(at + (-1 if back else 1)) % count], (count - 1) * held))
                else:
                    sent += [(other, held) for other in line if other != npu]
        longest_s = max(longest_s, sent_s(topology, npu, sent))
    return longest_s


def _one_order(
    builder: ScheduleBuilder,
    members: Sequence[int],
    order: Sequence[tuple[Dimension, list[int]]],
    part_bytes: float,
    pattern: str,
    *,
    back: bool,
) -> None:
    """Add it in one order of the dimensions, around rings in one direction."""
    # In lockstep all members send as much as the first; endpoints send message by message.
    alike = builder.lockstep and builder.topology.endpoint is None
    share, held_bytes = part_bytes / len(members), part_bytes
    shard = {} if alike else {npu: builder.add_shard(npu, share) for npu in members}
    dimensions = [one for one, _ in order]
    steps: list[tuple[bool, list[tuple[list[int], list[tuple[int, ...]]]]]] = []
    for depth, (own, places) in enumerate(order):
        # Who differs along this dimension alone is in one line; what one is to have of a line is
        # what lies at its place, and at that of the line along the dimensions before.
        found: dict[int, list[int]] = {}
        for npu in members:
            found.setdefault(npu - npu // own.stride % own.npus * own.stride, []).append(npu)
        lines_of = [sorted(line, reverse=back) for line in found.values()]
        if alike:
            held_bytes /= len(places)
            part = (builder.add_shard(members[0], held_bytes),)
            steps.append((own.ring, [(ring, [part]) for ring in lines_of]))
            continue
        held: dict[tuple[int, ...], list[int]] = {}
        for npu in members:
            place = tuple(npu // one.stride % one.npus for one in dimensions[: depth + 1])
            held.setdefault(place, []).append(shard[npu])
        level: list[tuple[list[int], list[tuple[int, ...]]]] = []
        for ring in lines_of:
            ends = (
                tuple(npu // one.stride % one.npus for one in dimensions[: depth + 1])
                for npu in ring
            )
            level.append((ring, [tuple(held[place]) for place in ends]))
        steps.append((own.ring, level))
    if pattern != "all_gather":
        for ring, level in steps:
            _on_lines(builder, level, "reduce", ring=ring)
    if pattern != "reduce_scatter":
        for ring, level in reversed(steps):
            _on_lines(builder, level, "copy", ring=ring)


def _on_lines(
    builder: ScheduleBuilder,
    level: Sequence[tuple[list[int], list[tuple[int, ...]]]],
    action: Literal["reduce", "copy"],
    *,
    ring: bool,
) -> None:
    """Add a reduce-scatter or an all-gather on all lines of a dimension."""
    for line, parts in level:
        if ring:
            step = reduce_scatter_ring if action == "reduce" else all_gather_ring
            step(builder, line, parts)
            continue
        builder.exchange_all(line, parts, action)


def _crossings(topology: Topology, group: Sequence[int]) -> bool:
    return lines(topology, group) is not None


_NEEDS = "all NPUs at which some lines of stacked blocks cross"

ALGORITHMS.add(
    "hierarchical",
    Algorithm(
        "hierarchical, the innermost dimension first",
        hierarchical,
        SCATTERED,
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
        partial(hierarchical, turns=True),
        SCATTERED,
        needs=_NEEDS,
        fits=_crossings,
        least_s=partial(least_s, turns=True),
    ),
    rank=5.7,
)
