"""Thresholds of a switch: when it pauses the sender of a link, and when it marks packets."""

from perfmodel.network.roce.compiled import compiled

__all__ = ["headroom_bytes", "mark_probability", "pause_threshold", "port_shift"]


def headroom_bytes(rate: float, delay_ns: float, factor: float, unit_bytes: float) -> float:
    """Return the headroom of a link, for data that arrives after a pause was sent [B].

    It is ``factor`` times rate x delay, and at least what can arrive until the pause takes effect:
    a round trip of the link, and three units of transmission.

    Parameters
    ----------
    rate, delay_ns : float
        Rate [B/ns] and delay [ns] of the link.
    factor : float
        Headroom in rate x delay.
    unit_bytes : float
        Packet, or train of packets, that is not interrupted [B].
    """
    return max(factor * rate * delay_ns, 2 * rate * delay_ns + 3 * unit_bytes)


def port_shift(rate: float, line_rate: float, shift: int) -> int:
    """Return the shift of a port: reduced by one per doubling of its rate over the NIC rate.

    Parameters
    ----------
    rate, line_rate : float
        Rate of the link of the port, and rate of the slowest NIC, in the same unit.
    shift : int
        Shift of a port at the rate of that NIC.
    """
    while rate > line_rate and shift > 0:
        rate, shift = rate / 2, shift - 1
    return shift


@compiled
def pause_threshold(free_bytes: float, shift: float) -> float:
    """Return the shared buffer that a port may use: the free shared buffer >> shift [B]."""
    return max(0.0, free_bytes) / 2.0**shift


@compiled
def mark_probability(queue: float, low: float, high: float, most: float) -> float:
    """Return the probability of marking a packet, given the queue that remains behind it.

    Parameters
    ----------
    queue, low, high : float
        Queue length, and the thresholds Kmin and Kmax [B].
    most : float
        Probability just below ``high``; above it every packet is marked.
    """
    if queue > high:
        return 1.0
    return most * (queue - low) / (high - low) if queue > low else 0.0
