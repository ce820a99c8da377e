"""Phases of a chunk: the dimension and the bytes of each phase."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from .network import QueueDimension
from .plan import ChunkPlan

__all__ = ["Phase", "phases_of"]


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a chunk: a collective along one dimension.

    Parameters
    ----------
    dimension : int
        Along which it is.
    kind : str
        ``reduce_scatter``, ``all_gather``, or ``all_reduce`` for one after the other.
    before_bytes : Fraction
        Bytes of the chunk that an NPU has before the phase [B].
    sent_bytes : Fraction
        Bytes that an NPU sends [B].
    steps : int
        Steps that follow each other.
    """

    dimension: int
    kind: Literal["reduce_scatter", "all_gather", "all_reduce"]
    before_bytes: Fraction
    sent_bytes: Fraction
    steps: int


def phases_of(
    chunk: ChunkPlan,
    dimensions: Sequence[QueueDimension],
    pattern: str,
    *,
    compatible: bool = False,
) -> list[Phase]:
    """Return the phases of a chunk in order.

    With ``compatible`` messages and pieces have whole bytes, rounded down, as in the code of
    Themis's authors.
    """
    return [*_phases(chunk, dimensions, pattern, whole=compatible)]


def _phases(
    chunk: ChunkPlan, dimensions: Sequence[QueueDimension], pattern: str, *, whole: bool
) -> Iterator[Phase]:
    left = Fraction(chunk.size_bytes)
    order = chunk.order
    if pattern == "all_gather":
        yield from _gathers(order, dimensions, left)
        return
    inner = order[:-1] if chunk.merged else order
    for number in inner:
        own = dimensions[number]
        yield Phase(number, "reduce_scatter", left, _scattered(own, left, whole), own.steps)
        left = _cut(left / own.npus, whole)
    if chunk.merged:
        own = dimensions[order[-1]]
        piece = _cut(left / own.npus, whole)
        sent = _scattered(own, left, whole) + piece * (own.npus - 1)
        yield Phase(order[-1], "all_reduce", left, sent, 2 * own.steps)
        left = piece * own.npus
    if pattern == "all_reduce":
        yield from _gathers(inner[::-1], dimensions, left)


def _gathers(
    order: Sequence[int], dimensions: Sequence[QueueDimension], left: Fraction
) -> Iterator[Phase]:
    for number in order:
        own = dimensions[number]
        yield Phase(number, "all_gather", left, left * (own.npus - 1), own.steps)
        left *= own.npus


def _scattered(dimension: QueueDimension, left: Fraction, whole: bool) -> Fraction:
    """Return the bytes that an NPU sends in a reduce-scatter of a given size [B]."""
    if not whole:
        return left * (dimension.npus - 1) / dimension.npus
    if dimension.halving:
        return Fraction(sum(int(left) >> step for step in range(1, dimension.steps + 1)))
    return Fraction(int(left) // dimension.npus * (dimension.npus - 1))


def _cut(count: Fraction, whole: bool) -> Fraction:
    return Fraction(int(count)) if whole else count
