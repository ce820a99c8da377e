"""Tests of perfmodel.collectives.algorithms.mesh2d."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.algorithms.mesh2d import rows_first_share
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology


def test_share_of_the_published_mesh() -> None:
    assert rows_first_share(5, 4) == pytest.approx(11 / 24)


@given(st.integers(2, 32), st.integers(2, 32))
def test_share_balances_rows_and_columns_or_is_clipped(a: int, b: int) -> None:
    x = rows_first_share(a, b)
    row = 2 * (a - 1) / a * (x + (1 - x) / b)
    column = 2 * (b - 1) / b * ((1 - x) + x / a)
    assert 0 <= x <= 1
    assert row == pytest.approx(column) or (x == 0 and row > column) or (x == 1 and row < column)


@pytest.mark.parametrize("size", ["4x4", "5x4", "3x6"])
def test_every_link_between_npus_carries_the_same(size: str) -> None:
    result = run_collective(parse_topology(f"mesh:{size}"), "all_reduce", 1e6)
    loads = [load.carried_bytes for load in result.links]
    assert len(loads) == sum("io" not in load.link for load in result.links)
    assert loads == pytest.approx([loads[0]] * len(loads))


def test_links_of_the_published_mesh_carry_0_95_of_the_data() -> None:
    result = run_collective(parse_topology("mesh:5x4"), "all_reduce", 1e6)
    assert len(result.links) == 62
    assert result.links[0].carried_bytes == pytest.approx(0.95e6)
