"""Times of rings that never fall: what messages wait for, seen at some sizes, on top of sums.

A little more data may take less where messages meet otherwise (``rings``), and so may a link that
is later. Iterations must not get faster so (decision 0052). So messages are let go at sizes that
are always the same, on links that are always the same, and what they take longer there than sums
of latencies and bytes is added to the sums of the links as they are.
"""

from bisect import bisect_left
from collections.abc import Callable

from perfmodel.switch_timing.endpoint import EndpointTiming

__all__ = ["Envelope", "beyond_s", "grid"]

_STEPS = 2
"""Sizes from one to its double."""

_MOST = 4
"""Rounds of all state machines at the largest size; further ones take as long as those."""

_LEAST = 1 / 256
"""Of a round, at the least size."""


def grid(round_bytes: float) -> tuple[float, ...]:
    """Return the sizes at which messages are let go [B], rising.

    Parameters
    ----------
    round_bytes : float
        Vector of which all state machines have a message of the largest size [B].
    """
    sizes, size = [_MOST * round_bytes], _MOST * round_bytes
    while size > _LEAST * round_bytes:
        size = _MOST * round_bytes * 2 ** (-len(sizes) / _STEPS)
        sizes.append(size)
    return tuple(reversed(sizes))


class Envelope:
    """A time that never falls as data grow, or as any part of the sums does.

    Parameters
    ----------
    sizes : sequence of float
        Those of ``grid`` [B].
    waits_s : callable
        What one takes longer message by message on the links that are always the same [s], 0 or
        more; asked for ``sizes`` alone, once for each.
    """

    def __init__(self, sizes: tuple[float, ...], waits_s: Callable[[float], float]) -> None:
        self._sizes, self._waits_s = sizes, waits_s
        self._most_s: list[float] = []
        """The longest time of all sizes up to each [s]."""
        self._waits: list[float] = []

    def time_s(self, size_bytes: float, sums_s: Callable[[float], float]) -> float:
        """Return the time of a vector [s], at least its sums.

        Parameters
        ----------
        size_bytes : float
            The vector [B], above 0.
        sums_s : callable
            Time of so many bytes by sums [s], always the same, which never falls as these grow.
        """
        sizes, sum_s = self._sizes, sums_s(size_bytes)
        place = bisect_left(sizes, size_bytes)
        self._know(min(place, len(sizes) - 1), sums_s)
        if place == 0:
            return sum_s + self._waits[0]
        if place == len(sizes):
            # As many rounds more wait as the last ones did.
            half = place - 1 - _STEPS
            each = max(0.0, self._waits[-1] - self._waits[half]) / (sizes[-1] - sizes[half])
            return max(self._most_s[-1], sum_s + self._waits[-1] + each * (size_bytes - sizes[-1]))
        less, more = sizes[place - 1], sizes[place]
        share = (size_bytes - less) / (more - less)
        between_s = (1 - share) * self._most_s[place - 1] + share * self._most_s[place]
        return max(sum_s, between_s)

    def _know(self, place: int, sums_s: Callable[[float], float]) -> None:
        """Let messages go at all sizes up to one."""
        for number in range(len(self._waits), place + 1):
            size = self._sizes[number]
            self._waits.append(self._waits_s(size))
            longest_s = self._most_s[-1] if self._most_s else 0.0
            self._most_s.append(max(longest_s, sums_s(size) + self._waits[-1]))


_MOST_CHUNKS = 16
"""Of more chunks than so many for each state machine no more are simulated."""


def beyond_s(
    size_bytes: float, timing: EndpointTiming, simulated_s: Callable[[float], float]
) -> float:
    """Return the time of a vector [s], of which no more is simulated than some chunks.

    Beyond them each further byte takes as long as one of their second half.

    Parameters
    ----------
    size_bytes : float
        The vector [B].
    timing : EndpointTiming
        Endpoints that do it.
    simulated_s : callable
        Time of so many bytes [s].
    """
    most_bytes = _MOST_CHUNKS * timing.fsms * timing.chunk_bytes
    if size_bytes <= most_bytes:
        return simulated_s(size_bytes)
    whole_s, half_s = simulated_s(most_bytes), simulated_s(most_bytes / 2)
    return whole_s + (size_bytes / most_bytes - 1) * 2 * max(0.0, whole_s - half_s)
