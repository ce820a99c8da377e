"""Comparison of every published figure with the model's result."""

import gc
import signal
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from multiprocessing import get_context

from fred_hw.errors import InputWarning
from fred_hw.progress import track
from perfmodel.published import SPEEDUP_C
from perfmodel.training.compute_model import compute_model

from .identify import Identified, identify
from .section import CLASSES, SECTIONS, Evidence, ReproduceRow, Setting

__all__ = ["Count", "MovedRow", "count", "identified", "reproduce", "reproduce_both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedRow(ReproduceRow):
    """A published figure, the model's result, and the effect of the protocol on it.

    Parameters
    ----------
    ideal : float or str
        Ours with the ideal protocol.
    moved_percent : float or None
        How far the protocol moved ours from there [%]; None of words.
    """

    ideal: float | str
    moved_percent: float | None


@dataclass(frozen=True, slots=True)
class Count:
    """Number of rows in each class of evidence.

    Parameters
    ----------
    rows, ok : int
        All, and those within their tolerance.
    """

    rows: int
    ok: int


def count(rows: Iterable[ReproduceRow]) -> dict[Evidence, Count]:
    """Return the number of rows in each class; only predicted rows are evidence."""
    found: dict[Evidence, list[bool]] = {name: [] for name in CLASSES}
    for row in rows:
        found[row.evidence].append(row.ok)
    return {name: Count(len(oks), sum(oks)) for name, oks in found.items()}


def reproduce(
    sections: Sequence[str] | None = None, setting: Setting | None = None
) -> Iterator[ReproduceRow]:
    """Yield the rows of the given sections (all of ``SECTIONS`` if None) as they are computed.

    Of all sections, those are left out with a warning that need a package that is missing.
    """
    chosen = [name for name in SECTIONS if sections is None or name in sections]
    for name in [one for one in chosen if sections is None and not SECTIONS[one].available]:
        wanted = f"pip install 'fred-hw[{SECTIONS[name].extra}]'"
        warnings.warn(f"section {name} is left out; it needs {wanted}", InputWarning, stacklevel=2)
        chosen.remove(name)
    for name in track(chosen, "sections"):
        yield from SECTIONS[name].rows(setting or Setting())


def reproduce_both(
    sections: Sequence[str] | None = None, setting: Setting | None = None
) -> tuple[MovedRow, ...]:
    """Return the rows of the given sections with the measured protocol, and its effect on each.

    The ideal ones are found by a second process at the same time, which imports the main module
    again.
    """
    context = get_context("spawn")  # a fork of a process with threads may hang
    setting = replace(setting or Setting(), protocol="measured")
    collected = gc.get_threshold()  # as often there as here
    with ProcessPoolExecutor(1, context, gc.set_threshold, collected) as pool:
        # An interrupt from a terminal goes to both processes, and this one ends the other.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ideal = pool.submit(_all_rows, sections, replace(setting, protocol="ideal"))
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        measured = _all_rows(sections, setting)
        return tuple(map(_moved, measured, ideal.result()))


def identified(rows: Iterable[ReproduceRow], setting: Setting) -> tuple[Identified, ...]:
    """Return the compute times implied by published speed-ups, if any row depends on them."""
    if not compute_model(setting.compute).fitted:
        return ()
    names = [row.id.split("/")[1] for row in rows if row.evidence == "calibrated"]
    return tuple(identify(name, setting.protocol) for name in SPEEDUP_C if name in names)


def _all_rows(sections: Sequence[str] | None, setting: Setting) -> list[ReproduceRow]:
    return list(reproduce(sections, setting))


def _moved(row: ReproduceRow, ideal: ReproduceRow) -> MovedRow:
    moved = None
    if isinstance(row.model, int | float) and isinstance(ideal.model, int | float):
        moved = 100 * (row.model / ideal.model - 1)
    own = {one.name: getattr(row, one.name) for one in fields(row)}
    return MovedRow(**own, ideal=ideal.model, moved_percent=moved)
