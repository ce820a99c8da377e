"""Timing of chunks in dimension queues; each queue serves one chunk at a time.

All chunks are in the queue of their first dimension at the start, in their order. A chunk that has
been served joins the queue of its next dimension, and then its last dimension takes the next chunk.
Of phases that end at the same time, that of the outermost dimension ends first. Times are counted
in ticks, of which each phase takes a whole number: the next chunk to be served may depend on
whether two times are equal, so times must not be rounded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import lcm

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError

from .network import QueueDimension
from .phases import Phase

__all__ = ["INTRA", "LATENCY_MODES", "Key", "Service", "serve"]

LATENCY_MODES = ("occupancy", "pipelined")
"""What the latency of a phase blocks: also the dimension, or only the chunk."""

Key = Callable[[Fraction | int, int], tuple[Fraction | int, int]]

INTRA: dict[str, Key] = {
    "fifo": lambda _before_bytes, arrival: (0, arrival),
    "scf": lambda before_bytes, arrival: (before_bytes, -arrival),
}
"""Sort keys of a queue by name; the entry with the least key is served next. Arguments: bytes of
the chunk at an NPU before the phase, and the arrival number.

``fifo``: first come, first served. ``scf``: the smallest chunk first, of equal ones the last that
came, as in the code of Themis's authors.
"""


@dataclass(frozen=True, slots=True)
class Service:
    """The time in which a dimension serves a phase of a chunk.

    Parameters
    ----------
    chunk, number : int
        Numbers of the chunk, and of its phase.
    phase : Phase
        The phase.
    begin_s, end_s : float
        Time at which the dimension starts the chunk, and time at which it is free for others [s].
    done_s : float
        Time at which the chunk may continue [s].
    """

    chunk: int
    number: int
    phase: Phase
    begin_s: float
    end_s: float
    done_s: float


class _Queues:
    """Chunks waiting for each dimension, and pending events.

    Parameters
    ----------
    chunks : sequence of sequence of Phase
        Phases of each chunk.
    takes : sequence of sequence of tuple
        Ticks that each phase of each chunk holds its dimension, and ticks until it is done.
    dimensions : int
        Number of dimensions.
    key : callable
        One of ``INTRA``.
    """

    def __init__(
        self,
        chunks: Sequence[Sequence[Phase]],
        takes: Sequence[Sequence[tuple[int, int]]],
        dimensions: int,
        key: Key,
    ) -> None:
        self._chunks, self._takes, self._key = chunks, takes, key
        self._waiting: list[list[tuple[tuple[Fraction | int, int], int, int]]] = [
            [] for _ in range(dimensions)
        ]
        self._free = [True] * dimensions
        # Time, dimension (negated, so that the outermost is first), a number that makes events
        # unique, whether the dimension becomes free, and the finished phase of a chunk.
        self._events: list[tuple[int, int, int, bool, tuple[int, int] | None]] = []
        self._arrivals = self._pushed = 0
        self.served: list[tuple[int, int, int]] = []

    def run(self) -> None:
        for chunk in range(len(self._chunks)):
            self._join(0, chunk, 0)
        while self._events:
            now, inwards, _, frees, done = heappop(self._events)
            dimension = -inwards
            self._free[dimension] |= frees
            if done is not None:
                self._join(now, done[0], done[1] + 1)
            self._take(now, dimension)

    def _join(self, now: int, chunk: int, number: int) -> None:
        if number == len(self._chunks[chunk]):
            return
        phase = self._chunks[chunk][number]
        key = self._key(phase.before_bytes, self._arrivals)
        heappush(self._waiting[phase.dimension], (key, chunk, number))
        self._arrivals += 1
        self._take(now, phase.dimension)

    def _take(self, now: int, dimension: int) -> None:
        """Start the next chunk of a dimension, if the dimension is free and a chunk waits."""
        if not self._free[dimension] or not self._waiting[dimension]:
            return
        _, chunk, number = heappop(self._waiting[dimension])
        held, until_done = self._takes[chunk][number]
        self.served.append((chunk, number, now))
        self._free[dimension] = False
        if held < until_done:
            self._push(now + held, dimension, True, None)
        self._push(now + until_done, dimension, held == until_done, (chunk, number))

    def _push(self, at: int, dimension: int, frees: bool, done: tuple[int, int] | None) -> None:
        heappush(self._events, (at, -dimension, self._pushed, frees, done))
        self._pushed += 1


def serve(
    chunks: Sequence[Sequence[Phase]],
    dimensions: Sequence[QueueDimension],
    intra: str = "scf",
    latency: str = "occupancy",
) -> list[Service]:
    """Return when each phase of each chunk is served, ordered by start time.

    Parameters
    ----------
    chunks : sequence of sequence of Phase
        Phases of each chunk.
    dimensions : sequence of QueueDimension
        The innermost first.
    intra : str
        One of ``INTRA``.
    latency : str
        One of ``LATENCY_MODES``: with ``occupancy`` a dimension takes the next chunk when the one
        before has arrived, as in the authors' set-ups; with ``pipelined`` when its bytes have left.

    Raises
    ------
    InputError
        An argument is not allowed.
    """
    if intra not in INTRA:
        raise InputError("intra", "", not_one_of(intra, INTRA))
    if latency not in LATENCY_MODES:
        raise InputError("latency", "", not_one_of(latency, LATENCY_MODES))
    ticks, takes = _ticks(chunks, dimensions, occupies=latency == "occupancy")
    queues = _Queues(chunks, takes, len(dimensions), INTRA[intra])
    queues.run()
    found: list[Service] = []
    for chunk, number, begin in queues.served:
        held, until_done = takes[chunk][number]
        times_s = (at / ticks for at in (begin, begin + held, begin + until_done))
        found.append(Service(chunk, number, chunks[chunk][number], *times_s))
    return found


def _ticks(
    chunks: Sequence[Sequence[Phase]], dimensions: Sequence[QueueDimension], *, occupies: bool
) -> tuple[int, list[list[tuple[int, int]]]]:
    """Return the ticks per second, and each phase's ticks in the form ``_Queues`` takes."""
    rates = [Fraction(one.bytes_per_s) for one in dimensions]
    steps_s = [Fraction(one.step_s) for one in dimensions]
    seconds = [
        [(one.sent_bytes / rates[one.dimension], one.steps * steps_s[one.dimension]) for one in own]
        for own in chunks
    ]
    ticks = lcm(*(time_s.denominator for own in seconds for both in own for time_s in both))
    takes: list[list[tuple[int, int]]] = []
    for own in seconds:
        sent_done = [(int(sent * ticks), int((sent + late) * ticks)) for sent, late in own]
        takes.append([(done if occupies else sent, done) for sent, done in sent_done])
    return ticks, takes
