"""HPCC with PINT: each packet carries the largest estimated utilization in one byte.

The algorithm is that of Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM
2020.
"""

from math import exp, log

from perfmodel.network.roce.compiled import compiled

__all__ = ["LEAST", "estimate", "quantized"]

LEAST = 1e-3
"""Least utilization that a packet can encode."""


@compiled
def estimate(
    before: float, size: float, queue: float, rate: float, span: float, base_rtt: float
) -> float:
    """Return the utilization of a link that a switch estimates when a packet leaves.

    Parameters
    ----------
    before : float
        Estimate when the previous packet left.
    size, queue : float
        Size of the previous packet, and length of the queue [B].
    rate : float
        Rate of the link [B/ns].
    span, base_rtt : float
        Time since the previous packet, and the longest round trip of the network [ns].
    """
    span = min(span, base_rtt)
    sent = size / (rate * base_rtt)
    waiting = queue * span / (rate * base_rtt * base_rtt)
    return before * (1 - span / base_rtt) + sent + waiting


@compiled
def quantized(utilization: float, base: float) -> float:
    """Return the nearest utilization on the logarithmic scale that a packet can encode."""
    steps = round(log(max(utilization, LEAST) / LEAST) / log(base))
    return LEAST * exp(steps * log(base))
