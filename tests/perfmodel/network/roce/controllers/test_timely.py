"""Tests of perfmodel.network.roce.controllers.timely."""

import itertools

import pytest

from perfmodel.network.roce.controllers import timely
from perfmodel.network.roce.controllers.control import Ack
from perfmodel.network.roce.parameters import RoceFile

_P, _LINE = RoceFile().control, 25.0


@pytest.mark.parametrize(
    ("rtt_us", "difference_us", "want"),
    [(1000, 0, 0.6), (49, 100, 1.0), (100, -5, 1.0), (100, 5, 0.8), (100, 50, 0.0)],
)
def test_factor(rtt_us: float, difference_us: float, want: float) -> None:
    assert timely.factor(1e3 * rtt_us, 1e3 * difference_us, _P) == pytest.approx(want)


def test_the_rate_changes_once_in_a_round_trip_and_faster_after_five_increases() -> None:
    state, rates = timely.start(10.0), []
    for turn in range(8):
        ack = Ack(0.0, 30e3, 1e4 * turn + 1, 1e4 * (turn + 1), 1.0, 0.0, 1.0)
        state = timely.on_ack(state, ack, _LINE, _P)
        assert timely.on_ack(state, ack, _LINE, _P) == state
        rates.append(state.rate)
    steps = [after - before for before, after in itertools.pairwise(rates)]
    assert steps == pytest.approx([0.00625] * 5 + [0.0125] * 2)


def test_the_difference_is_smoothed() -> None:
    state = timely.State(_LINE, 100e3, 10e3, 0.0, 1e3)
    after = timely.on_ack(state, Ack(0.0, 110e3, 2e3, 3e3, 1.0, 0.0, 1.0), _LINE, _P)
    assert after.difference == pytest.approx(0.125 * 10e3 + 0.875 * 10e3)
    assert after.rate == pytest.approx(_LINE * (1 - 0.8 * 0.5))
