"""Tests of clustermodel.network."""

from collections.abc import Callable
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustermodel.network import Level, all_reduce_s, all_to_all_s, members, send_s

LEVELS = (Level(8, 100e9, 1e-6), Level(128, 10e9, 2e-6))


@pytest.mark.parametrize(
    ("size", "stride", "met"),
    [
        (8, 1, [8, 1]),
        (4, 2, [4, 1]),
        (16, 1, [8, 2]),
        (128, 8, [1, 128]),
        (512, 2, [4, 128]),
        (1, 1, [1, 1]),
    ],
)
def test_members_meet_as_far_inside_as_they_can(size: int, stride: int, met: list[int]) -> None:
    assert members(LEVELS, size, stride) == met


@pytest.mark.parametrize(("size", "met"), [(3, [1, 3]), (12, [4, 3]), (24, [8, 3])])
def test_groups_that_cross_blocks_meet_outside_of_them(size: int, met: list[int]) -> None:
    assert members((LEVELS[0], Level(96, 10e9, 0.0)), size, 1) == met


@given(st.integers(0, 10), st.data())
def test_all_members_meet_somewhere(power: int, data: st.DataObject) -> None:
    size = 2**power
    stride = 2 ** data.draw(st.integers(0, 10 - power))
    assert prod(members(LEVELS, size, stride)) == size


def test_all_reduce_worked_by_hand() -> None:
    # 2 x 7/8 of 8 GB at 100 GB/s, then 2 x 1/2 of 1 GB at 10 GB/s; 14 and 2 messages.
    assert all_reduce_s(LEVELS, 16, 1, 8e9) == pytest.approx(0.14 + 0.1 + 14e-6 + 4e-6)
    assert all_reduce_s(LEVELS, 1, 1, 8e9) == 0


def test_all_to_all_worked_by_hand() -> None:
    # 16 members, 8 in a block: 7 x 1 GB at 100 GB/s, then 8 x 1 GB at 10 GB/s.
    assert all_to_all_s(LEVELS, 16, 1, 16e9) == pytest.approx(0.07 + 0.8 + 7e-6 + 16e-6)
    # All 4 in different blocks.
    assert all_to_all_s(LEVELS, 4, 8, 4e9) == pytest.approx(0.3 + 6e-6)
    assert all_to_all_s(LEVELS, 1, 1, 8e9) == 0


def test_message_goes_over_the_slowest_level_of_its_group() -> None:
    assert send_s(LEVELS, 4, 2, 1e9) == pytest.approx(0.01 + 1e-6)
    assert send_s(LEVELS, 8, 2, 1e9) == pytest.approx(0.1 + 2e-6)
    assert send_s(LEVELS, 1, 2, 1e9) == 0


@pytest.mark.parametrize("timed", [all_reduce_s, all_to_all_s, send_s])
@given(st.sampled_from([2, 8, 64, 1024]), st.floats(0.1, 100))
def test_bytes_need_not_divide(timed: Callable[..., float], size: int, data: float) -> None:
    levels = tuple(Level(one.fan_in, 1.0, 0.0) for one in LEVELS)  # a byte takes a second
    assert timed(levels, size, 1, data) == pytest.approx(data * timed(levels, size, 1, 1.0))


@given(st.sampled_from([2, 8, 64, 1024]), st.floats(1, 1e12), st.floats(1, 8))
def test_faster_links_never_take_longer(size: int, data: float, faster: float) -> None:
    quick = tuple(Level(one.fan_in, faster * one.bytes_per_s, one.latency_s) for one in LEVELS)
    assert all_reduce_s(quick, size, 1, data) <= all_reduce_s(LEVELS, size, 1, data)
