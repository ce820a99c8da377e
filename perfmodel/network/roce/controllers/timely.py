"""TIMELY: the gradient of the round-trip time adjusts the rate.

The algorithm is that of Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter",
SIGCOMM 2015, once in a round trip, as in the ns-3 simulator of HPCC.
"""

from typing import NamedTuple

from perfmodel.network.roce.compiled import compiled

from .control import Ack, Control

__all__ = ["State", "factor", "on_ack", "start"]


class State(NamedTuple):
    """State of a sender under TIMELY.

    Parameters
    ----------
    rate : float
        [B/ns].
    last_rtt, difference : float
        Round-trip time at the last update, and the smoothed difference of two [ns].
    increases : float
        Increases since the last decrease.
    until : float
        Bytes whose ack ends the round trip [B]; 0 before the first ack.
    """

    rate: float
    last_rtt: float
    difference: float
    increases: float
    until: float


@compiled
def start(rate: float) -> State:
    """Return the state of a new flow, which starts at line rate [B/ns]."""
    return State(rate, 0.0, 0.0, 0.0, 0.0)


@compiled
def factor(rtt: float, difference: float, p: Control) -> float:
    """Return the factor for the rate; 1 means an additive increase.

    Parameters
    ----------
    rtt, difference : float
        Round-trip time, and the smoothed difference of two [ns].
    p : Control
        Parameters.
    """
    if rtt < p.timely_low:
        return 1.0
    if rtt > p.timely_high:
        return 1 - p.timely_factor * (1 - p.timely_high / rtt)
    gradient = difference / p.timely_min_rtt
    return 1.0 if gradient <= 0 else max(0.0, 1 - p.timely_factor * gradient)


@compiled
def on_ack(state: State, ack: Ack, line_rate: float, p: Control) -> State:
    """Return the state after an ack; the rate changes once per round trip.

    Parameters
    ----------
    state : State
        The state before.
    ack, line_rate, p
        As for ``dispatch.acknowledged``.
    """
    if ack.acked <= state.until:
        return state
    if state.until == 0:
        return State(state.rate, ack.rtt, 0.0, 0.0, ack.sent)
    weight = p.timely_weight
    difference = (1 - weight) * state.difference + weight * (ack.rtt - state.last_rtt)
    times = factor(ack.rtt, difference, p)
    if times < 1:
        rate = max(p.min_rate, state.rate * times)
        return State(rate, ack.rtt, difference, 0.0, ack.sent)
    more = p.additive if state.increases < p.timely_hyper_after else p.hyper
    rate = min(line_rate, state.rate + more)
    return State(rate, ack.rtt, difference, state.increases + 1, ack.sent)
