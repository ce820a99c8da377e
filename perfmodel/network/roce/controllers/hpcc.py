"""HPCC: telemetry of every hop determines the factor by which the rate is too high.

The algorithm is that of Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.
"""

from typing import NamedTuple

from perfmodel.network.roce.compiled import compiled

from .control import Ack, Control

__all__ = ["State", "hop_utilization", "on_ack", "smoothed", "start"]


class State(NamedTuple):
    """State of a sender under HPCC.

    Parameters
    ----------
    rate, reference : float
        Rate, and the rate that fast reactions start from, which is updated once in a round trip
        [B/ns].
    utilization : float
        Smoothed utilization of the busiest hop.
    stage : float
        Additive increases since the last multiplicative change.
    until : float
        Bytes whose ack ends the round trip [B]; 0 before the first ack.
    """

    rate: float
    reference: float
    utilization: float
    stage: float
    until: float


@compiled
def start(rate: float) -> State:
    """Return the state of a new flow, which starts at line rate [B/ns]."""
    return State(rate, rate, 1.0, 0.0, 0.0)


@compiled
def hop_utilization(
    sent_rate: float, queue: float, link_rate: float, line_rate: float, window: float
) -> float:
    """Return the utilization of a hop, including its queue.

    Parameters
    ----------
    sent_rate, link_rate : float
        Rate at which the link sent data, and rate of the link [B/ns].
    queue : float
        The smaller of the last two queue lengths [B].
    line_rate, window : float
        Line rate [B/ns] and window [B] of the sender.
    """
    return sent_rate / link_rate + queue * line_rate / (link_rate * window)


@compiled
def smoothed(before: float, now: float, span: float, base_rtt: float) -> float:
    """Return the utilization, smoothed over a round trip.

    Parameters
    ----------
    before, now : float
        The smoothed utilization so far, and the new one.
    span, base_rtt : float
        Time over which the new one was measured, and the round trip without queues [ns].
    """
    share = min(span, base_rtt) / base_rtt
    return (1 - share) * before + share * now


@compiled
def on_ack(state: State, ack: Ack, utilization: float, line_rate: float, p: Control) -> State:
    """Return the state after an ack.

    Parameters
    ----------
    state : State
        The state before.
    utilization : float
        Utilization of the busiest hop, smoothed.
    ack, line_rate, p
        As for ``dispatch.acknowledged``.
    """
    ends = ack.acked > state.until
    if state.until == 0:
        return State(state.rate, state.reference, utilization, state.stage, ack.sent)
    if not (ends or p.fast_react):
        return State(state.rate, state.reference, utilization, state.stage, state.until)
    excess = utilization / p.target
    if excess >= 1 or state.stage >= p.max_stage:
        rate, stage = state.reference / excess + p.additive, 0.0
    else:
        rate, stage = state.reference + p.additive, state.stage + 1
    rate = min(line_rate, max(p.min_rate, rate))
    if ends:
        return State(rate, rate, utilization, stage, ack.sent)
    return State(rate, state.reference, utilization, state.stage, state.until)
