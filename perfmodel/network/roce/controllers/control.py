"""Common parts of the controllers: their parameters, and the event of an ack."""

from typing import NamedTuple

__all__ = ["Ack", "Control"]


class Control(NamedTuple):
    """Parameters of all controllers, which ``parameters.RoceFile.control`` reads from a file.

    Parameters
    ----------
    min_rate : float
        Lowest rate of a flow [B/ns].
    additive, hyper : float
        Additive increase, and the larger increase of DCQCN and TIMELY [B/ns].
    gain : float
        Weight of a new sample in the congestion estimate of DCQCN and DCTCP.
    alpha_interval, decrease_interval, increase_interval : float
        Periods of the timers of DCQCN [ns].
    fast_steps : float
        Steps of fast recovery of DCQCN.
    clamp : float
        1 if every decrease of DCQCN lowers the target to the rate, else 0.
    rate_on_first : float
        Share of the rate that is left after the first notification of DCQCN.
    dctcp_additive : float
        Additive increase of DCTCP [B/ns].
    timely_low, timely_high, timely_min_rtt : float
        Thresholds of TIMELY, and the time that gradients are divided by [ns].
    timely_weight, timely_factor : float
        Weight of a new difference of round-trip times, and the factor of a decrease.
    timely_hyper_after : float
        Successive increases of TIMELY before they become larger.
    target : float
        Utilization that HPCC aims at.
    max_stage : float
        Additive increases of HPCC before the next multiplicative change.
    fast_react : float
        1 if every ack changes the rate of HPCC, 0 if only one in a round trip does.
    """

    min_rate: float
    additive: float
    hyper: float
    gain: float
    alpha_interval: float
    decrease_interval: float
    increase_interval: float
    fast_steps: float
    clamp: float
    rate_on_first: float
    dctcp_additive: float
    timely_low: float
    timely_high: float
    timely_min_rtt: float
    timely_weight: float
    timely_factor: float
    timely_hyper_after: float
    target: float
    max_stage: float
    fast_react: float


class Ack(NamedTuple):
    """An ack of one or more packets.

    Parameters
    ----------
    now, rtt : float
        Time at which the ack arrives, and round-trip time of the packet [ns].
    acked, sent : float
        Bytes acknowledged so far, and bytes sent so far [B].
    packets, marks : float
        Packets that it acknowledges, and those of them that a switch marked.
    in_flight_packets : float
        Packets that are sent and not acknowledged.
    """

    now: float
    rtt: float
    acked: float
    sent: float
    packets: float
    marks: float
    in_flight_packets: float
