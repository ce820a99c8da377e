"""Tests of perfmodel.network.roce.controllers.hpcc."""

import pytest

from perfmodel.network.roce.controllers import hpcc
from perfmodel.network.roce.controllers.control import Ack
from perfmodel.network.roce.parameters import RoceFile

_P, _LINE, _AI = RoceFile().control, 25.0, 0.00625
_AFTER, _WITHIN = (Ack(0.0, 0.0, acked, 2e4, 1.0, 0.0, 1.0) for acked in (1.1e4, 5e3))
_STATE = hpcc.State(_LINE, _LINE, 1.0, 0.0, 1e4)


def test_twice_the_target_halves_the_rate() -> None:
    after = hpcc.on_ack(_STATE, _AFTER, 1.9, _LINE, _P)
    assert after.rate == after.reference == pytest.approx(_LINE / 2 + _AI)


def test_acks_within_a_round_trip_react_from_the_same_reference() -> None:
    after = hpcc.on_ack(_STATE, _WITHIN, 1.9, _LINE, _P)
    assert (after.rate, after.reference) == (pytest.approx(_LINE / 2 + _AI), _LINE)
    assert hpcc.on_ack(after, _WITHIN, 1.9, _LINE, _P).rate == after.rate
    slow = hpcc.on_ack(_STATE, _WITHIN, 1.9, _LINE, _P._replace(fast_react=0.0))
    assert slow.rate == _LINE


def test_below_the_target_it_adds_until_the_last_stage() -> None:
    p, state = _P._replace(max_stage=2.0), _STATE._replace(rate=5.0, reference=5.0)
    rates: list[float] = []
    for _ in range(3):
        state = hpcc.on_ack(state, _AFTER, 0.475, _LINE, p)._replace(until=1e4)
        rates.append(state.rate)
    first, second = 5 + _AI, 5 + 2 * _AI
    assert rates == pytest.approx([first, second, 2 * second + _AI])


def test_a_hop_is_utilized_by_its_rate_and_by_its_queue() -> None:
    assert hpcc.hop_utilization(12.5, 0.0, 25.0, 25.0, 1e5) == 0.5
    assert hpcc.hop_utilization(25.0, 5e4, 25.0, 25.0, 1e5) == 1.5


def test_smoothing_is_over_a_round_trip() -> None:
    assert hpcc.smoothed(1.0, 2.0, 2.5, 10.0) == 1.25
    assert hpcc.smoothed(1.0, 2.0, 25.0, 10.0) == 2.0
