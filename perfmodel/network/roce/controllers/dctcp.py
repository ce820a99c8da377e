"""Rate-based form of DCTCP: the share of marked packets in a round trip lowers the rate.

The algorithm is that of Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; it controls a
rate and not a window, as in the ns-3 simulator of HPCC.
"""

from typing import NamedTuple

from perfmodel.network.roce.compiled import compiled

from .control import Ack, Control

__all__ = ["State", "on_ack", "start"]


class State(NamedTuple):
    """State of a sender under DCTCP.

    Parameters
    ----------
    rate : float
        [B/ns].
    alpha : float
        Estimate of the marked share, 0 to 1.
    marks, batch : float
        Marked packets, and all packets, of the round trip under way.
    until : float
        Bytes whose ack ends the round trip [B]; 0 before the first ack.
    reduced_until : float
        Bytes up to whose ack the rate is not reduced again [B]; -1 if it may be.
    """

    rate: float
    alpha: float
    marks: float
    batch: float
    until: float
    reduced_until: float


@compiled
def start(rate: float) -> State:
    """Return the state of a new flow, which starts at line rate [B/ns]."""
    return State(rate, 1.0, 0.0, 1.0, 0.0, -1.0)


@compiled
def on_ack(state: State, ack: Ack, line_rate: float, p: Control) -> State:
    """Return the state after an ack.

    Parameters
    ----------
    state : State
        The state before.
    ack, line_rate, p
        As for ``dispatch.acknowledged``.
    """
    rate, alpha, marks = state.rate, state.alpha, state.marks + ack.marks
    batch, until, reduced_until = state.batch, state.until, state.reduced_until
    ended = False
    if ack.acked > until:
        if until > 0:
            alpha = (1 - p.gain) * alpha + p.gain * min(1.0, marks / batch)
            marks = 0.0
            ended = True
        until, batch = ack.sent, max(1.0, ack.in_flight_packets)
    if ack.acked > reduced_until:
        reduced_until = -1.0
    if ack.marks > 0 and reduced_until < 0:
        rate = max(p.min_rate, rate * (1 - alpha / 2))
        reduced_until = ack.sent
    if reduced_until < 0 and ended:
        rate = min(line_rate, rate + p.dctcp_additive)
    return State(rate, alpha, marks, batch, until, reduced_until)
