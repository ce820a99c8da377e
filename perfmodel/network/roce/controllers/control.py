"""What controllers have in common: their parameters, and the event of an ack."""

from typing import NamedTuple

__all__ = ["Ack", "Control"]


class Control(NamedTuple):
    """Parameters of all controllers, in ns and bytes per ns; see ``parameters.RoceFile``."""

    min_rate: float = 0.0125
    additive: float = 0.00625
    hyper: float = 0.0125
    gain: float = 1 / 256
    alpha_interval: float = 1e3
    decrease_interval: float = 4e3
    increase_interval: float = 900e3
    fast_steps: float = 1.0
    clamp: float = 0.0
    rate_on_first: float = 1.0
    dctcp_additive: float = 0.125
    timely_low: float = 50e3
    timely_high: float = 500e3
    timely_min_rtt: float = 20e3
    timely_weight: float = 0.875
    timely_factor: float = 0.8
    timely_hyper_after: float = 5.0
    target: float = 0.95
    max_stage: float = 0.0
    fast_react: float = 1.0


class Ack(NamedTuple):
    """An ack of one packet or several.

    Parameters
    ----------
    now, rtt : float
        When it comes, and since when the packet is under way [ns].
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
