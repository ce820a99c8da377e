"""Choice of the order of dimensions for each chunk of a collective.

Themis (Rashidi et al., ISCA 2022, arXiv 2110.04478) sends each chunk first through the dimension
that has carried least so far. Loads and chunks are counted as in the public implementation of its
authors (astra-sim, tag tutorial-asplos2023), so that ties fall the same way: a chunk has whole
bytes, and a load is a floating-point number, in bytes at the rate of the innermost dimension.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Protocol

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError

__all__ = [
    "GAP_DENOMINATOR",
    "MAX_CHUNKS",
    "POLICIES",
    "ChunkPlan",
    "Loaded",
    "Policy",
    "plan",
    "plan_sizes",
]

MAX_CHUNKS = 1 << 14
"""Largest number of chunks of a collective."""

GAP_DENOMINATOR = 16
"""A gap between loads matters if filling it takes at least this fraction of a usual chunk."""


class Loaded(Protocol):
    """Properties of a dimension that the planner uses."""

    @property
    def npus(self) -> int:
        """Number of NPUs in a line."""
        ...

    @property
    def bytes_per_s(self) -> float:
        """Bandwidth of an NPU; any unit, as long as all dimensions use the same one."""
        ...


_Order = tuple[int, ...]
_Chunk = tuple[int, _Order]


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """A chunk of a collective.

    Parameters
    ----------
    size_bytes : int
        Bytes that an NPU has before it [B]; for an all-gather the part of one NPU.
    order : tuple of int
        Dimensions as its reduce-scatter visits them, or as a stand-alone all-gather does. An
        all-reduce goes back through them in the reverse order.
    merged : bool
        Whether an all-reduce runs its last reduce-scatter and its first all-gather, which are along
        the same dimension, as one phase.
    """

    size_bytes: int
    order: tuple[int, ...]
    merged: bool = False


def plan(
    dimensions: Sequence[Loaded],
    size_bytes: int,
    chunks: int = 64,
    pattern: str = "all_reduce",
    policy: str = "themis",
    gap_denominator: int = GAP_DENOMINATOR,
    *,
    compatible: bool = False,
) -> list[ChunkPlan]:
    """Return the chunks of a collective and the order in which each visits the dimensions.

    Parameters
    ----------
    dimensions : sequence of Loaded
        The innermost first.
    size_bytes : int
        The whole vector [B].
    chunks : int
        As many as there are, unless the policy is ``themis_flex``, whose chunks may be larger and
        fewer.
    pattern : str
        ``all_reduce``, ``reduce_scatter`` or ``all_gather``.
    policy : str
        One of ``POLICIES``.
    gap_denominator : int
        See ``GAP_DENOMINATOR``.
    compatible : bool
        Plan an all-gather as the authors' code does: it judges gaps as in a reduce-scatter, and
        where it falls back on the fixed order, it goes from the innermost dimension on and books
        the loads on the dimensions in reverse. Otherwise an all-gather is a reduce-scatter in
        reverse.

    Raises
    ------
    InputError
        An argument is not allowed, or there are more chunks than bytes.
    """
    npus = prod(one.npus for one in dimensions)
    sizes = _even(size_bytes // npus if pattern == "all_gather" else size_bytes, chunks)
    return plan_sizes(dimensions, sizes, pattern, policy, gap_denominator, compatible=compatible)


def plan_sizes(
    dimensions: Sequence[Loaded],
    sizes: Sequence[int],
    pattern: str,
    policy: str,
    gap_denominator: int = GAP_DENOMINATOR,
    *,
    compatible: bool = False,
) -> list[ChunkPlan]:
    """Return the order in which chunks of given sizes visit the dimensions.

    Parameters
    ----------
    sizes : sequence of int
        For each chunk the bytes of an NPU before the collective [B].
    dimensions, pattern, policy, gap_denominator, compatible
        As for :func:`plan`.

    Raises
    ------
    InputError
        There is no such policy.
    """
    if policy not in POLICIES:
        raise InputError("algorithm", "", not_one_of(policy, POLICIES))
    gathers = pattern == "all_gather"
    merged = pattern == "all_reduce" and POLICIES[policy].merges
    if gathers and compatible:
        tracker = _AuthorsGather(dimensions, gap_denominator)
    else:
        unit = prod(one.npus for one in dimensions) if gathers else 1
        tracker = _Tracker(dimensions, gap_denominator, unit)
    found = POLICIES[policy].orders(tracker, sizes)
    in_reverse = gathers and not compatible
    return [ChunkPlan(size, order[::-1] if in_reverse else order, merged) for size, order in found]


def _even(own_bytes: int, chunks: int) -> list[int]:
    """Return chunk sizes in whole bytes that differ by at most one byte."""
    if not 1 <= chunks <= MAX_CHUNKS:
        raise InputError("chunks", "", f"must be from 1 to {MAX_CHUNKS}, not {chunks}")
    if chunks > own_bytes:
        message = f"must be at most {own_bytes}, one for each byte of an NPU, not {chunks}"
        raise InputError("chunks", "", message)
    ends = [own_bytes * i // chunks for i in range(chunks + 1)]
    return [end - begin for begin, end in pairwise(ends)]


class _Tracker:
    """Loads that reduce-scatter chunks put on the dimensions, and the order of the next chunk.

    Parameters
    ----------
    dimensions : sequence of Loaded
        The innermost first.
    gap_denominator : int
        See ``GAP_DENOMINATOR``.
    unit : int
        Bytes that each byte of a chunk stands for.
    """

    def __init__(self, dimensions: Sequence[Loaded], gap_denominator: int, unit: int = 1) -> None:
        self.gap_denominator, self._unit = gap_denominator, unit
        self._npus = [one.npus for one in dimensions]
        self._rates = [one.bytes_per_s / dimensions[0].bytes_per_s for one in dimensions]
        self._loads = [0.0] * len(dimensions)
        self.natural: _Order = tuple(range(len(dimensions)))
        self._last = [*self.natural]  # ties keep the order of the previous chunk

    def balancing(self) -> _Order:
        """Return the dimensions in ascending order of load."""
        self._last.sort(key=self._loads.__getitem__)
        return tuple(self._last)

    def filling_bytes(self, order: _Order) -> int:
        """Return the chunk size that fills the gap between first and last of an order [B]."""
        first = order[0]
        gap = abs(self._loads[order[-1]] - self._loads[first])
        whole = int(gap * self._rates[first] / ((self._npus[first] - 1) / self._npus[first]))
        return whole // self._unit

    def fall_back(self, size_bytes: int) -> _Order:
        """Book a chunk in the fixed order of dimensions, and return that order."""
        self._last = [*self.natural]
        return self.take(size_bytes, self.natural)

    def take(self, size_bytes: int, order: _Order) -> _Order:
        """Book a chunk in a given order of dimensions, and return that order."""
        left = size_bytes * self._unit
        for number in order:
            npus = self._npus[number]
            # Keep this order of operations: another rounds differently, and ties depend on it.
            self._loads[number] += left * ((npus - 1) / npus) / self._rates[number]
            left //= npus
        return order


class _AuthorsGather(_Tracker):
    """Loads that all-gather chunks put on the dimensions, as counted by the authors' code."""

    def __init__(self, dimensions: Sequence[Loaded], gap_denominator: int) -> None:
        super().__init__(dimensions, gap_denominator)
        self.natural = self.natural[::-1]

    def balancing(self) -> _Order:
        """Return the dimensions in descending order of load."""
        super().balancing()
        self._last.reverse()
        return tuple(self._last)

    def fall_back(self, size_bytes: int) -> _Order:
        self._last = [*self.natural]
        order = self.natural[::-1]
        self._book(size_bytes, order, booked_on=self.natural)
        return order

    def take(self, size_bytes: int, order: _Order) -> _Order:
        self._book(size_bytes, order, booked_on=order)
        return order

    def _book(self, left: int, order: _Order, *, booked_on: _Order) -> None:
        for number, booked in zip(order, booked_on, strict=True):
            self._loads[booked] += left * (self._npus[number] - 1) / self._rates[number]
            left *= self._npus[number]


def _dimension_order(tracker: _Tracker, sizes: Sequence[int]) -> Iterator[_Chunk]:
    return ((size, tracker.natural) for size in sizes)


def _round_robin(tracker: _Tracker, sizes: Sequence[int]) -> Iterator[_Chunk]:
    order = tracker.natural
    for number, size in enumerate(sizes):
        first = number % len(order)
        yield size, order[first:] + order[:first]


def _themis(tracker: _Tracker, sizes: Sequence[int]) -> Iterator[_Chunk]:
    least = min(sizes) // tracker.gap_denominator
    for size in sizes:
        order = tracker.balancing()
        small = tracker.filling_bytes(order) < least
        yield size, tracker.fall_back(size) if small else tracker.take(size, order)


def _themis_flex(tracker: _Tracker, sizes: Sequence[int]) -> Iterator[_Chunk]:
    left, usual = sum(sizes), min(sizes)
    while left:
        order = tracker.balancing()
        filling = tracker.filling_bytes(order)
        size = min(left, max(filling, usual))
        left -= size
        small = filling < usual
        yield size, tracker.fall_back(size) if small else tracker.take(size, order)


@dataclass(frozen=True, slots=True)
class Policy:
    """A rule for the order in which chunks pass the dimensions.

    Parameters
    ----------
    words : str
        Description for users.
    orders : callable
        Yields the size of each chunk [B] and its order of dimensions in a reduce-scatter, from
        empty loads and the usual sizes [B].
    merges : bool
        Whether an all-reduce is one phase along its last dimension, see :class:`ChunkPlan`.
    """

    words: str
    orders: Callable[[_Tracker, Sequence[int]], Iterator[_Chunk]]
    merges: bool = False


POLICIES: dict[str, Policy] = {
    "dimension_order": Policy(
        "chunks through all dimensions, innermost first", _dimension_order, merges=True
    ),
    "round_robin": Policy(
        "chunks through all dimensions, each in turn first", _round_robin, merges=True
    ),
    "themis": Policy("chunks through all dimensions, least loaded first", _themis),
    "themis_flex": Policy(
        "chunks as large as gaps between loads, least loaded first", _themis_flex
    ),
}
"""Policies by name. Themis uses the fixed order where loads are almost equal."""
