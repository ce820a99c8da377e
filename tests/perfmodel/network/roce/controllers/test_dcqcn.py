"""Tests of perfmodel.network.roce.controllers.dcqcn."""

import pytest

from perfmodel.network.roce.controllers import dcqcn
from perfmodel.network.roce.parameters import RoceFile

_GBPS = 0.125
_LINE = 200 * _GBPS
_P = RoceFile().control


def _gbps(state: dcqcn.State) -> float:
    return state.rate / _GBPS


def test_one_notification_halves_the_rate_less_the_decay_of_alpha() -> None:
    state = dcqcn.on_notification(dcqcn.start(_LINE), 0.0, _P)
    assert _gbps(state) == 200
    state = dcqcn.on_timer(state, 4000.0, _LINE, _P)
    assert state.alpha == pytest.approx((255 / 256) ** 4)
    assert _gbps(state) == pytest.approx(200 * (1 - (255 / 256) ** 4 / 2))
    assert _gbps(state) == pytest.approx(101.553, abs=5e-4)


def test_a_notification_in_every_interval_keeps_alpha_at_1() -> None:
    state = dcqcn.on_notification(dcqcn.start(_LINE), 0.0, _P)
    for now in range(500, 4000, 1000):
        state = dcqcn.on_notification(dcqcn.on_timer(state, now, _LINE, _P), now, _P)
    state = dcqcn.on_timer(state, 4000.0, _LINE, _P)
    assert state.alpha == 1
    assert _gbps(state) == 100


def test_the_first_decrease_keeps_the_target_and_the_second_too_before_an_increase() -> None:
    state = dcqcn.on_notification(dcqcn.start(_LINE), 0.0, _P)
    state = dcqcn.on_timer(state, 4000.0, _LINE, _P)
    assert state.target == _LINE
    clamped = dcqcn.on_notification(dcqcn.start(_LINE), 0.0, _P)
    p = _P._replace(clamp=1.0)
    clamped = dcqcn.on_timer(clamped, 4000.0, _LINE, p)
    assert clamped.target == _LINE  # the target becomes the rate before the decrease
    clamped = dcqcn.on_notification(clamped, 4100.0, p)
    before = clamped.rate
    assert dcqcn.on_timer(clamped, 8000.0, _LINE, p).target == before


def test_increases_are_fast_recovery_then_additive_then_hyper() -> None:
    state = dcqcn.on_notification(dcqcn.start(_LINE), 0.0, _P)
    state = dcqcn.on_timer(state, 4000.0, _LINE, _P)
    low, targets = _gbps(state), []
    p = _P._replace(increase_interval=900e3)
    state = state._replace(target=100 * _GBPS, rate=50 * _GBPS)
    rates = []
    for step in range(1, 4):
        state = dcqcn.on_timer(state, 4000.0 + 900e3 * step, _LINE, p)
        rates.append(_gbps(state))
        targets.append(state.target / _GBPS)
    assert low == pytest.approx(101.553, abs=5e-4)
    assert targets == pytest.approx([100, 100.05, 100.15])
    assert rates == pytest.approx([75, 87.525, 93.8375])


def test_the_rate_never_falls_below_the_least() -> None:
    state = dcqcn.start(_LINE)
    for now in range(0, 400_000, 500):
        state = dcqcn.on_notification(dcqcn.on_timer(state, now, _LINE, _P), now, _P)
    assert _gbps(state) == pytest.approx(0.1)
