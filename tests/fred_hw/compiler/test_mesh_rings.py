"""Tests of fred_hw.compiler.mesh_rings."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.mesh_rings import mesh_ring, product
from perfmodel.topology.parse import parse_topology
from tests.examples import examples


def most(columns: int, rows: int, *orders: Sequence[int]) -> int:
    """Return how many messages of rings in these orders the busiest link carries in a step."""
    mesh = parse_topology(f"mesh:{columns}x{rows}", "ideal")
    loads: Counter[int] = Counter()
    for order in orders:
        for source, target in pairwise((*order, order[0])):
            loads.update(link for link, _ in mesh.hops((source,), (target,)))
    return max(loads.values())


@pytest.mark.parametrize(
    ("columns", "rows", "group"),
    [
        (4, 4, range(16)),
        (5, 4, range(20)),
        (4, 5, range(20)),
        (2, 7, range(14)),
        (5, 4, (0, 1, 5, 6)),
        (5, 4, (6, 1, 5, 0)),
        (5, 5, (0, 2, 4, 20, 22, 24)),  # with gaps
        (4, 3, (0, 1, 2, 4, 6, 8, 9, 10)),  # round a hole
        (4, 4, (0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 7, 3, 14, 15)),  # no block
    ],
)
def test_two_rings_of_opposite_direction_share_no_link(
    columns: int, rows: int, group: Sequence[int]
) -> None:
    order = mesh_ring(columns, tuple(group))
    assert sorted(order) == sorted(group)
    assert order[0] == group[0]
    assert most(columns, rows, order, order[::-1]) == 1


@pytest.mark.parametrize("group", [(0, 5, 10), (2, 0, 4), (3, 1), (16, 1, 11, 6)])
def test_line_is_followed_there_and_straight_back(group: tuple[int, ...]) -> None:
    order = mesh_ring(5, group)
    assert most(5, 4, order) == 1
    assert most(5, 4, order, order[::-1]) == 2


@examples(100)
@given(columns=st.integers(1, 7), rows=st.integers(1, 7), data=st.data())
def test_ring_never_loads_a_link_more_than_the_order_given(
    columns: int, rows: int, data: st.DataObject
) -> None:
    count = columns * rows
    if count < 2:
        return
    everyone = st.lists(st.integers(0, count - 1), min_size=2, unique=True)
    group = tuple(data.draw(everyone))
    order = mesh_ring(columns, group)
    assert sorted(order) == sorted(group)
    assert order[0] == group[0]
    assert most(columns, rows, order) <= most(columns, rows, group)


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ((6, 0, 1, 5), ([0, 1], [0, 1])),
        ((10, 14, 0, 4), ([0, 4], [0, 2])),
        ((3,), ([3], [0])),
        ((0, 1, 5), None),
    ],
)
def test_crossings_of_rows_and_columns(
    group: tuple[int, ...], found: tuple[list[int], list[int]] | None
) -> None:
    assert product(5, group) == found
