"""Tests of perfmodel.collectives.envelope: times that never fall, from some that do."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.envelope import Envelope, beyond_s, grid
from perfmodel.switch_timing.endpoint import load_endpoint_record
from tests.examples import examples

SIZES = grid(64.0)


def test_sizes_are_always_the_same_from_a_part_of_a_round_to_four() -> None:
    assert SIZES[-1] == 4 * 64 and SIZES[-3] == 2 * 64 and SIZES[0] == 64 / 256
    assert all(more / less == pytest.approx(2**0.5) for less, more in pairwise(SIZES))


def test_a_time_is_the_longest_of_all_sizes_up_to_it() -> None:
    """At 128 messages wait less than at 64."""
    waits = dict.fromkeys(SIZES, 0.0) | {64.0: 100.0, 128.0: 10.0}
    one = Envelope(SIZES, lambda size: waits[size])
    assert one.time_s(64.0, float) == 164 and one.time_s(128.0, float) == 164
    assert one.time_s(256.0, float) == 256


def test_between_two_sizes_it_is_on_a_line_and_no_less_than_the_sums() -> None:
    one = Envelope(SIZES, lambda size: size)
    assert one.time_s(192.0, float) == pytest.approx(2 * 192)
    bare = Envelope(SIZES, lambda _: 0.0)
    assert bare.time_s(192.0, lambda size: size if size < 190 else 1000.0) == 1000


def test_beyond_the_largest_a_round_more_waits_as_the_last_two() -> None:
    one = Envelope(SIZES, lambda size: 3 * size)
    assert one.time_s(1024.0, float) == pytest.approx(4 * 1024)
    falls = Envelope(SIZES, lambda size: 1000 / size)
    assert falls.time_s(1e6, float) == pytest.approx(1e6 + 1000 / 256)


def test_messages_are_let_go_once_and_at_no_larger_sizes_than_it_takes() -> None:
    asked: list[float] = []

    def waits_s(size: float) -> float:
        asked.append(size)
        return 0.0

    one = Envelope(SIZES, waits_s)
    for size in (0.1, 60.0, 64.0, 3.0):
        one.time_s(size, float)
    assert asked == [size for size in SIZES if size <= 64]


@examples(200)
@given(
    waits=st.lists(st.floats(0, 1000), min_size=len(SIZES), max_size=len(SIZES)),
    sizes=st.lists(st.floats(0.01, 5000), min_size=2, max_size=20),
    late=st.floats(0, 100),
    slow=st.floats(1, 3),
)
def test_no_time_falls_whatever_messages_wait_for(
    waits: list[float], sizes: list[float], late: float, slow: float
) -> None:
    known = dict(zip(SIZES, waits, strict=True))

    def times(late: float, slow: float) -> list[float]:
        one = Envelope(SIZES, known.__getitem__)
        # The longer of steps and bytes, as sums are.
        return [one.time_s(s, lambda size: max(50 + late, slow * size + 9)) for s in sorted(sizes)]

    found, worse = times(0.0, 1.0), times(late, slow)
    assert all(less <= more * (1 + 1e-12) for less, more in pairwise(found))
    assert all(less <= more * (1 + 1e-12) for less, more in zip(found, worse, strict=True))


def test_what_is_beyond_takes_as_long_as_the_second_half() -> None:
    timing = load_endpoint_record("endpoint", memory_s=0.0)
    most = 16 * timing.fsms * timing.chunk_bytes
    assert beyond_s(most - 1, timing, lambda size: size + 1) == most
    assert beyond_s(3 * most, timing, lambda size: size * size) == most**2 * (1 + 2 * 2 * 3 / 4)
