"""Time of an NPU by activity."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from perfmodel.run_figures import Times

__all__ = ["Again", "RankTimes", "covered", "shared", "times_of"]

Span = tuple[int, int]
"""Start and end [ns]."""


@dataclass(frozen=True)
class RankTimes:
    """Time of an NPU, split by activity.

    Parameters
    ----------
    rank : int
        The NPU.
    total_ns : int
        Time from the start to the end of the last node [ns].
    compute_ns : int
        Time with compute on the accelerator [ns].
    communication_ns : int
        Time with a collective, or with a message that is sent or waited for [ns].
    overlap_ns : int
        Time with compute and communication [ns].
    exposed_communication_ns : int
        Time without compute on the accelerator, named as in ASTRA-sim [ns].
    """

    rank: int
    total_ns: int
    compute_ns: int
    communication_ns: int
    overlap_ns: int
    exposed_communication_ns: int

    @property
    def times(self) -> Times:
        """The same times as those of other kinds of runs [s]."""
        names = ("total", "compute", "exposed_communication", "communication", "overlap")
        return Times(*(1e-9 * getattr(self, f"{name}_ns") for name in names))


@dataclass(frozen=True)
class Again:
    """A time span whose activity repeats unchanged.

    Parameters
    ----------
    span : tuple of int
        Start and end of the span [ns].
    times : int
        Number of repetitions.
    more : tuple of int
        Collectives in all repetitions, counted as in ``Carrying.counts``.
    done : frozenset of int
        Ranks that had ended before the span.
    """

    span: Span
    times: int
    more: tuple[int, int]
    done: frozenset[int]


def times_of(
    rank: int,
    total_ns: int,
    compute: Iterable[Span],
    other: Iterable[Span],
    again: Again | None = None,
) -> RankTimes:
    """Return the times of an NPU, given the spans in which it computed and communicated."""
    computing, communicating = merged(compute), merged(other)
    compute_ns, communication_ns = covered(computing), covered(communicating)
    overlap_ns = shared(computing, communicating)
    if again:
        first, last = ([*_within(one, again.span)] for one in (computing, communicating))
        total_ns += again.times * (again.span[1] - again.span[0])
        compute_ns += again.times * covered(first)
        communication_ns += again.times * covered(last)
        overlap_ns += again.times * shared(first, last)
    return RankTimes(
        rank=rank,
        total_ns=total_ns,
        compute_ns=compute_ns,
        communication_ns=communication_ns,
        overlap_ns=overlap_ns,
        exposed_communication_ns=total_ns - compute_ns,
    )


def _within(spans: Iterable[Span], limits: Span) -> Iterator[Span]:
    """Yield the parts of spans that lie within limits."""
    for begin, end in spans:
        if begin < limits[1] and end > limits[0]:
            yield max(begin, limits[0]), min(end, limits[1])


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, with those that touch or overlap merged."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def covered(spans: Sequence[Span]) -> int:
    """Return the total length of merged spans [ns]."""
    return sum(end - begin for begin, end in spans)


def shared(first: Sequence[Span], second: Sequence[Span]) -> int:
    """Return the total overlap of merged spans of two kinds [ns]."""
    total = i = j = 0
    while i < len(first) and j < len(second):
        total += max(0, min(first[i][1], second[j][1]) - max(first[i][0], second[j][0]))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return total
