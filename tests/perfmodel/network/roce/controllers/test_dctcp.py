"""Tests of perfmodel.network.roce.controllers.dctcp."""

import pytest

from perfmodel.network.roce.controllers import dctcp
from perfmodel.network.roce.controllers.control import Ack
from perfmodel.network.roce.parameters import RoceFile

_P, _LINE = RoceFile().control, 25.0


def _ack(acked: float, sent: float, marks: float) -> Ack:
    return Ack(0.0, 0.0, acked, sent, 1.0, marks, (sent - acked) / 1000)


def test_a_mark_with_alpha_of_one_half_takes_a_quarter() -> None:
    state = dctcp.State(_LINE, 0.5, 0.0, 10.0, 1e9, -1.0)
    assert dctcp.on_ack(state, _ack(1e3, 1e4, 1.0), _LINE, _P).rate == 0.75 * _LINE


def test_the_rate_falls_once_in_a_window() -> None:
    state = dctcp.State(_LINE, 0.5, 0.0, 10.0, 1e9, -1.0)
    for acked in (1e3, 2e3, 1e4):
        state = dctcp.on_ack(state, _ack(acked, 1e4, 1.0), _LINE, _P)
    assert state.rate == 0.75 * _LINE
    assert dctcp.on_ack(state, _ack(1.1e4, 2e4, 1.0), _LINE, _P).rate == 0.75**2 * _LINE


def test_alpha_follows_the_marked_share_and_the_rate_rises_by_1_gbps() -> None:
    state = dctcp.on_ack(dctcp.start(10.0), _ack(1e3, 5e3, 0.0), _LINE, _P)
    assert (state.until, state.batch, state.alpha) == (5e3, 4, 1.0)
    state = dctcp.on_ack(state, _ack(6e3, 1e4, 0.0), _LINE, _P)
    assert state.alpha == pytest.approx(255 / 256)
    assert state.rate == pytest.approx(10.125)
