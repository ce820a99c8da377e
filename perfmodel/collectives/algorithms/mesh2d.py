"""Hierarchical two-dimensional collectives on a whole mesh."""

from collections.abc import Callable, Sequence
from functools import partial

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED, Algorithm
from perfmodel.collectives.schedule import ScheduleBuilder
from perfmodel.topology.graph import Topology

from .ring import all_gather_ring, reduce_scatter_ring

__all__ = ["mesh2d", "rows_first_share"]

Lines = list[tuple[Sequence[int], list[tuple[int, ...]]]]


def rows_first_share(columns: int, rows: int) -> float:
    """Return the share of the data that is reduced along the rows first, 0 to 1.

    The rest goes along the columns first. With a = ``columns`` NPUs in a row, b = ``rows`` in a
    column and the share x, an all-reduce of D bytes puts on each link

        of a row:    2 (a - 1)/a (x + (1 - x)/b) D
        of a column: 2 (b - 1)/b ((1 - x) + x/a) D

    since the second dimension only moves what the first has scattered. The share makes both
    equal: 0.4583 for 5 x 4, that is 0.95 D, so 750 GB/s links bound the endpoint-equivalent
    bandwidth to 1.9 / 0.95 * 750 GB/s = 1.5 TB/s, the published figure. (Equal halves would put
    1.0 D on the row links and stop at 1.425 TB/s.) A reduce-scatter or an all-gather moves half
    of it on each link. Where no share balances the two, the nearest is taken.
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
    """Add an all-reduce, reduce-scatter or all-gather over all NPUs of a mesh, in any order.

    Two parts run at once in opposite order of the dimensions. On each line there is a logical
    ring whose last message goes back across the whole line, so each direction of each link
    carries one message in every step. ``share`` of the data goes along the rows first; None is
    :func:`rows_first_share`.
    """
    grid = builder.topology.grid
    assert grid and len(members) == grid[0] * grid[1]
    share = rows_first_share(*grid) if share is None else share
    first = builder.lane
    for along_rows, part in ((True, share), (False, 1 - share)):
        if part > 0:
            builder.lane = first + int(along_rows)
            _one_order(builder, grid, chunk_bytes * part, pattern, along_rows)
    builder.lane = first


def _one_order(
    builder: ScheduleBuilder,
    grid: tuple[int, int],
    part_bytes: float,
    pattern: str,
    rows_first: bool,
) -> None:
    columns, rows = range(grid[0]), range(grid[1])
    inner, outer = (columns, rows) if rows_first else (rows, columns)

    def npu(first: int, second: int) -> int:
        x, y = (first, second) if rows_first else (second, first)
        return x + grid[0] * y

    share = part_bytes / (grid[0] * grid[1])
    shard = {(i, j): builder.add_shard(npu(i, j), share) for i in inner for j in outer}
    first: Lines = [
        ([npu(i, j) for i in inner], [tuple(shard[i, k] for k in outer) for i in inner])
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
        for members, parts in lines:
            step(builder, members, parts)


def _whole_grid(topology: Topology, group: Sequence[int]) -> bool:
    return topology.grid is not None and len(group) == topology.npus


ALGORITHMS.add(
    "hierarchical_2d",
    Algorithm(
        "hierarchical 2D",
        mesh2d,
        SCATTERED,
        needs="all NPUs of a mesh",
        fits=_whole_grid,
        preference=dict.fromkeys(SCATTERED, 3),
    ),
    rank=5,
)
ALGORITHMS.add(
    "hierarchical_2d_halves",
    Algorithm(
        "hierarchical 2D, half of the data in each order",
        partial(mesh2d, share=0.5),
        SCATTERED,
        needs="all NPUs of a mesh",
        fits=_whole_grid,
    ),
    rank=5.5,
)
