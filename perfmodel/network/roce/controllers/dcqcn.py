"""DCQCN as in Mellanox NICs: marked packets lower the rate, timers raise it.

The algorithm is that of Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
2015; the timers are those of the ns-3 simulator of HPCC.
"""

from math import inf
from typing import NamedTuple

from perfmodel.network.roce.compiled import compiled

from .control import Control

__all__ = ["State", "on_notification", "on_timer", "start"]


class State(NamedTuple):
    """State of a sender under DCQCN.

    Parameters
    ----------
    rate, target : float
        Rate, and where it recovers to [B/ns].
    alpha : float
        Estimate of congestion, 0 to 1.
    notified, alpha_marked, decrease_marked : float
        1 after the first notification, after one in this alpha interval, and after one in this
        decrease interval; else 0.
    stage : float
        Increases since the last decrease.
    next_alpha, next_decrease, next_increase : float
        Times at which the timers expire [ns]; infinite before the first notification.
    """

    rate: float
    target: float
    alpha: float
    notified: float
    alpha_marked: float
    decrease_marked: float
    stage: float
    next_alpha: float
    next_decrease: float
    next_increase: float


@compiled
def start(rate: float) -> State:
    """Return the state of a new flow, which starts at line rate [B/ns]."""
    return State(rate, rate, 1.0, 0.0, 0.0, 0.0, 0.0, inf, inf, inf)


@compiled
def on_notification(state: State, now: float, p: Control) -> State:
    """Return the state after a congestion notification at a time [ns]."""
    if state.notified:
        return State(
            state.rate,
            state.target,
            state.alpha,
            1.0,
            1.0,
            1.0,
            state.stage,
            state.next_alpha,
            state.next_decrease,
            state.next_increase,
        )
    rate = p.rate_on_first * state.rate
    due = now + p.alpha_interval, now + p.decrease_interval
    return State(rate, rate, 1.0, 1.0, 0.0, 1.0, state.stage, due[0], due[1], inf)


@compiled
def on_timer(state: State, now: float, line_rate: float, p: Control) -> State:
    """Return the state after all timers up to now have expired; alpha goes first in ties.

    Parameters
    ----------
    state : State
        The state before; it is returned if no timer is due.
    now, line_rate : float
        Current time [ns], and the highest rate [B/ns].
    p : Control
        Parameters.
    """
    while True:
        due = min(state.next_alpha, state.next_decrease, state.next_increase)
        if due > now:
            return state
        if due == state.next_alpha:
            state = _alpha(state, p)
        elif due == state.next_decrease:
            state = _decrease(state, p)
        else:
            state = _increase(state, line_rate, p)


@compiled
def _alpha(state: State, p: Control) -> State:
    alpha = (1 - p.gain) * state.alpha + p.gain * state.alpha_marked
    return State(
        state.rate,
        state.target,
        alpha,
        1.0,
        0.0,
        state.decrease_marked,
        state.stage,
        state.next_alpha + p.alpha_interval,
        state.next_decrease,
        state.next_increase,
    )


@compiled
def _decrease(state: State, p: Control) -> State:
    rate, target, stage, increase = state.rate, state.target, state.stage, state.next_increase
    if state.decrease_marked:
        if p.clamp or stage > 0:
            target = rate
        rate = max(p.min_rate, rate * (1 - state.alpha / 2))
        stage = 0.0
        increase = state.next_decrease + p.increase_interval
    due = state.next_decrease + p.decrease_interval
    return State(
        rate,
        target,
        state.alpha,
        1.0,
        state.alpha_marked,
        0.0,
        stage,
        state.next_alpha,
        due,
        increase,
    )


@compiled
def _increase(state: State, line_rate: float, p: Control) -> State:
    target = state.target
    if state.stage == p.fast_steps:
        target = min(line_rate, target + p.additive)
    elif state.stage > p.fast_steps:
        target = min(line_rate, target + p.hyper)
    return State(
        (state.rate + target) / 2,
        target,
        state.alpha,
        1.0,
        state.alpha_marked,
        state.decrease_marked,
        state.stage + 1,
        state.next_alpha,
        state.next_decrease,
        state.next_increase + p.increase_interval,
    )
