"""Tests of clustermodel.traffic."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustermodel.model import Product
from clustermodel.traffic import gemm_bytes, tile

SIZES = st.integers(1, 5000)


def test_traffic_worked_by_hand() -> None:
    # 5 x 3 tiles of 2 x 2: A (10 x 7) comes 3 times, B (7 x 6) 5 times, C once.
    assert tile(8) == 2
    assert gemm_bytes(Product(10, 7, 6), 2) == 2 * (70 * 3 + 42 * 5 + 60)
    assert gemm_bytes(Product(10, 7, 6, count=3), 2) == 3 * gemm_bytes(Product(10, 7, 6), 2)


@pytest.mark.parametrize(("size", "side"), [(1, 1), (2, 1), (7, 1), (8, 2), (40e6, 4472)])
def test_tile_is_what_the_buffer_holds(size: float, side: int) -> None:
    assert tile(size) == side


@given(SIZES, SIZES, SIZES, st.integers(1, 1 << 26))
def test_traffic_is_by_formula_and_never_below_one_pass(m: int, k: int, n: int, size: int) -> None:
    side = tile(size)
    moved = gemm_bytes(Product(m, k, n), side)
    once = 2 * (m * k + k * n + m * n)
    assert moved == 2 * (m * k * ceil(n / side) + k * n * ceil(m / side) + m * n)
    assert moved >= once
    if side >= max(m, n):
        assert moved == once


@given(SIZES, SIZES, SIZES, st.integers(1, 1 << 20), st.integers(1, 1 << 20))
def test_more_buffer_never_moves_more(m: int, k: int, n: int, one: int, more: int) -> None:
    product = Product(m, k, n)
    assert gemm_bytes(product, tile(one + more)) <= gemm_bytes(product, tile(one))
