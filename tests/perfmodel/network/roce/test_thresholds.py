"""Tests of perfmodel.network.roce.thresholds, and of the table of marks."""

import pytest

from perfmodel.network.roce.parameters import RoceFile
from perfmodel.network.roce.thresholds import (
    headroom_bytes,
    mark_probability,
    pause_threshold,
    port_shift,
)


@pytest.mark.parametrize(
    ("gbps", "kmin_kb", "kmax_kb"),
    [
        *[(25, 100, 400), (40, 200, 800), (100, 400, 1600), (200, 600, 2400)],
        *[(400, 800, 3200), (2400, 800, 3200), (1200, 800, 3200), (10, 100, 400)],
    ],
)
def test_marks_of_a_rate(gbps: float, kmin_kb: float, kmax_kb: float) -> None:
    low, high, most = RoceFile().marks_at(gbps * 0.125e9)
    assert (low, high, most) == (1e3 * kmin_kb, 1e3 * kmax_kb, 0.2)
    assert mark_probability(low, low, high, most) == 0
    assert mark_probability((low + high) / 2, low, high, most) == pytest.approx(0.1)
    assert mark_probability(high, low, high, most) == pytest.approx(0.2)
    assert mark_probability(high + 1, low, high, most) == 1


def test_headroom_is_three_times_rate_times_delay_but_no_less_than_what_arrives() -> None:
    assert headroom_bytes(25.0, 5000.0, 3.0, 1048.0) == 375_000
    assert headroom_bytes(25.0, 1.0, 3.0, 1048.0) == 50 + 3 * 1048


def test_threshold_is_a_share_of_the_free_buffer() -> None:
    assert pause_threshold(8e6, 3.0) == 1e6
    assert pause_threshold(-5.0, 3.0) == 0


@pytest.mark.parametrize(("rate", "want"), [(25, 3), (50, 2), (60, 1), (400, 0), (10, 3)])
def test_shift_falls_with_the_rate_of_a_port(rate: float, want: int) -> None:
    assert port_shift(rate, 25, 3) == want
