"""Tests of perfmodel.network.roce.controllers.hpcc_pint."""

import pytest

from perfmodel.network.roce.controllers.hpcc_pint import LEAST, estimate, quantized


def test_a_full_link_without_a_queue_is_estimated_at_1() -> None:
    used = 0.0
    for _ in range(2000):
        used = estimate(used, 1000.0, 0.0, 25.0, 40.0, 8000.0)
    assert used == pytest.approx(1.0, abs=0.01)


def test_a_queue_of_one_round_trip_adds_1() -> None:
    used = 0.0
    for _ in range(2000):
        used = estimate(used, 1000.0, 200e3, 25.0, 40.0, 8000.0)
    assert used == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("value", [0.01, 0.5, 0.95, 1.9])
def test_quantized_is_within_half_a_step(value: float) -> None:
    assert value / 1.05**0.51 <= quantized(value, 1.05) <= value * 1.05**0.51


def test_nothing_is_quantized_to_the_least() -> None:
    assert quantized(0.0, 1.05) == LEAST
