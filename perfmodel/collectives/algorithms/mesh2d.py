"""Hierarchical two-dimensional collectives on a mesh, or on a subset of its rows and columns."""

from collections.abc import Callable, Sequence
from functools import partial

from fred_hw.compiler.mesh_rings import product
from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, Algorithm
from perfmodel.collectives.schedule import ScheduleBuilder
from perfmodel.topology.graph import Topology

from .ring import all_gather_ring, reduce_scatter_ring

__all__ = ["mesh2d", "rows_first_share"]

Lines = list[tuple[Sequence[int], list[tuple[int, ...]]]]


def rows_first_share(columns: int, rows: int) -> float:
    """Return the share of the data that is first reduced along the rows, 0 to 1.

    The rest is first reduced along the columns. With a = ``columns`` NPUs in a row, b = ``rows`` in
    a column and the share x, an all-reduce of D bytes puts on each link

        of a row:    2 (a - 1)/a (x + (1 - x)/b) D
        of a column: 2 (b - 1)/b ((1 - x) + x/a) D

    since the second dimension only moves what the first has scattered. The share makes both equal:
    0.4583 for 5 x 4, that is 0.95 D, so 750 GB/s links limit the endpoint-equivalent bandwidth to
    1.9 / 0.95 * 750 GB/s = 1.5 TB/s, the published figure. (Equal halves would put 1.0 D on the row
    links and reach only 1.425 TB/s.) A reduce-scatter or an all-gather moves half of that on each
    link. If no share balances the two, the nearest one is used.
    """
    row, column = 2 * (columns - 1) / columns, 2 * (rows - 1) / rows
    if columns == 1 or rows == 1:
        return 1.0 if rows == 1 else 0.0
    share = (column - row / rows) / (row * (1 - 1 / rows) + column * (1 - 1 / columns))
    return min(1.0, max(0.0, share))


def mesh2d(
    builder: ScheduleBuilder,
    members: Sequence[int],
    chunk_bytes: float,
    pattern: str,
    share: float | None = None,
) -> None:
    """Add an all-reduce, reduce-scatter or all-gather on the crossings of rows and columns.

    Members are all NPUs of a mesh, or of a block of it, in any order.

    Two parts run at once with opposite orders of the dimensions. On each line there is a logical
    ring whose last message goes back across the whole line, so each direction of each link carries
    one message in every step. ``share`` of the data goes along the rows first, to the east and
    south; the rest goes to the north and west. None is :func:`rows_first_share`.
    """
    lines = _lines(builder.topology, members)
    assert lines
    share = rows_first_share(*map(len, lines)) if share is None else share
    first = builder.lane
    for along_rows, part in ((True, share), (False, 1 - share)):
        if part > 0:
            builder.lane = first + int(along_rows)
            _one_order(builder, lines, chunk_bytes * part, pattern, along_rows)
    builder.lane = first


def _one_order(
    builder: ScheduleBuilder,
    lines: tuple[Sequence[int], Sequence[int]],
    part_bytes: float,
    pattern: str,
    rows_first: bool,
) -> None:
    # Opposite directions, as mesh endpoints use them: no two flows are the same.
    inner, outer = lines if rows_first else (lines[1][::-1], lines[0][::-1])
    columns = builder.topology.grid[0] if builder.topology.grid else 0

    def npu(first: int, second: int) -> int:
        x, y = (first, second) if rows_first else (second, first)
        return x + columns * y

    share = part_bytes / (len(inner) * len(outer))
    ends, places = inner, [(i, j) for i in inner for j in outer]
    if builder.lockstep:  # all members of a ring send as much as the first
        ends = inner[:1]
        shard = dict.fromkeys(places, builder.add_shard(npu(*places[0]), share))
    else:
        shard = {one: builder.add_shard(npu(*one), share) for one in places}
    first: Lines = [
        ([npu(i, j) for i in inner], [tuple(shard[i, k] for k in outer) for i in ends])
        for j in outer
    ]
    second: Lines = [([npu(i, j) for j in outer], [(shard[i, j],) for j in outer]) for i in inner]
    if pattern != "all_gather":
        _on_lines(reduce_scatter_ring, builder, first, second)
    if pattern != "reduce_scatter":
        _on_lines(all_gather_ring, builder, second, first)


def _on_lines(
    step: Callable[[ScheduleBuilder, Sequence[int], Sequence[Sequence[int]]], None],
    builder: ScheduleBuilder,
    *dimensions: Lines,
) -> None:
    for lines in dimensions:
        for members, parts in builder.representative_lines(lines):
            step(builder, members, parts)


def _lines(topology: Topology, group: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Return the columns and rows whose crossings form a group; None for other groups."""
    return product(topology.grid[0], group) if topology.grid else None


def _crossings(topology: Topology, group: Sequence[int]) -> bool:
    lines = _lines(topology, group)
    whole = lines is not None and len(group) == topology.npus
    return whole or (lines is not None and min(map(len, lines)) > 1)


ALGORITHMS.add(
    "hierarchical_2d",
    Algorithm(
        "hierarchical 2D",
        mesh2d,
        SCATTERED,
        needs="all NPUs at which some rows and columns of a mesh cross",
        fits=_crossings,
        preference=dict.fromkeys(SCATTERED, 3),
        published=lambda topology, group: len(group) == topology.npus,
    ),
    rank=5,
)
ALGORITHMS.add(
    "hierarchical_2d_halves",
    Algorithm(
        "hierarchical 2D, half of the data in each order",
        partial(mesh2d, share=0.5),
        SCATTERED,
        needs="all NPUs at which some rows and columns of a mesh cross",
        fits=_crossings,
    ),
    rank=5.5,
)
