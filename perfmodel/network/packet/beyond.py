"""Times of large vectors, extrapolated from simulations of smaller ones."""

from collections.abc import Callable

from perfmodel.switch_timing.endpoint import EndpointTiming

__all__ = ["beyond_s"]

_MOST_CHUNKS = 16
"""Largest number of chunks per state machine that is simulated."""


def beyond_s(
    size_bytes: float, timing: EndpointTiming, simulated_s: Callable[[float], float]
) -> float:
    """Return the time of a vector, of which at most a number of chunks is simulated [s].

    Beyond these chunks each further byte takes as long as a byte of their second half.

    Parameters
    ----------
    size_bytes : float
        The vector [B].
    timing : EndpointTiming
        Endpoints that move it.
    simulated_s : callable
        Time of so many bytes [s].
    """
    most_bytes = _MOST_CHUNKS * timing.fsms * timing.chunk_bytes
    if size_bytes <= most_bytes:
        return simulated_s(size_bytes)
    whole_s, half_s = simulated_s(most_bytes), simulated_s(most_bytes / 2)
    return whole_s + (size_bytes / most_bytes - 1) * 2 * max(0.0, whole_s - half_s)
