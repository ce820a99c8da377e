"""Every published figure beside ours."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context

from perfmodel.switch_timing.record import ProtocolModel

from .section import SECTIONS, ReproduceRow

__all__ = ["MovedRow", "reproduce", "reproduce_both"]


@dataclass(frozen=True, slots=True)
class MovedRow(ReproduceRow):
    """One published figure, ours with the protocol as measured, and what the protocol did to ours.

    Parameters
    ----------
    ideal : float or str
        Ours with the ideal protocol.
    moved_percent : float or None
        How far the protocol moved ours from there [%]; None of words.
    """

    ideal: float | str
    moved_percent: float | None


def reproduce(
    sections: Sequence[str] | None = None, protocol: ProtocolModel = "measured"
) -> Iterator[ReproduceRow]:
    """Yield the rows of some sections, all of ``SECTIONS`` if None, as they are found."""
    for name, rows in SECTIONS.items():
        if sections is None or name in sections:
            yield from rows(protocol)


def reproduce_both(sections: Sequence[str] | None = None) -> tuple[MovedRow, ...]:
    """Return the rows of some sections as measured, and how the protocol moved each.

    The ideal ones are found by a second process at the same time, which imports the main module
    again.
    """
    context = get_context("spawn")  # a fork of a process with threads may hang
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        ideal = pool.submit(_all_rows, sections, "ideal")
        measured = _all_rows(sections, "measured")
        return tuple(map(_moved, measured, ideal.result()))


def _all_rows(sections: Sequence[str] | None, protocol: ProtocolModel) -> list[ReproduceRow]:
    return list(reproduce(sections, protocol))


def _moved(row: ReproduceRow, ideal: ReproduceRow) -> MovedRow:
    moved = None
    if isinstance(row.model, int | float) and isinstance(ideal.model, int | float):
        moved = 100 * (row.model / ideal.model - 1)
    return MovedRow(**asdict(row), ideal=ideal.model, moved_percent=moved)
