"""Rows of the table of published figures, and the sections that they stand in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fred_hw.registry import Registry
from perfmodel.published import Published
from perfmodel.switch_timing.record import ProtocolModel

__all__ = ["GIB", "SECTIONS", "ReproduceRow", "number", "word"]

GIB = 2.0**30

TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class ReproduceRow:
    """One published figure.

    Parameters
    ----------
    id : str
        Section and name, such as ``bandwidth/wafer/fred-d``.
    what : str
        In words, with the unit.
    published, model : float or str
        The figure and ours.
    ratio : float or None
        Ours divided by the published one; None of words.
    tolerance : float or None
        Largest allowed distance of the ratio from 1; None of words, which must be the same.
    ok : bool
        Whether ours is within the tolerance.
    how : str
        How ours was obtained: simulated, derived, or calibrated and predicted.
    source : str
        Where the published figure stands.
    """

    id: str
    what: str
    published: float | str
    model: float | str
    ratio: float | None
    tolerance: float | None
    ok: bool
    how: str
    source: str


SECTIONS: Registry[Callable[[ProtocolModel], Iterator[ReproduceRow]]] = Registry(
    "perfmodel.studies.sections", "section of published figures"
)
"""Rows of each section by its name, given the protocol; each is a module of ``sections``."""


def number(
    name: str,
    what: str,
    figure: Published,
    model: float,
    how: str,
    tolerance: float = TOLERANCE,
    unit: float | None = None,
) -> ReproduceRow:
    """Return the row of a number, shown in a unit where the figure is in SI base units."""
    published = figure.value if unit is None else figure.value / unit
    ratio = model / published
    # Half a unit of the last digit of a rounded ratio does not decide.
    ok = abs(ratio - 1) <= tolerance + 1e-9
    return ReproduceRow(name, what, published, model, ratio, tolerance, ok, how, figure.source)


def word(name: str, what: str, published: str, model: str, how: str, source: str) -> ReproduceRow:
    """Return the row of words, which must be the same."""
    return ReproduceRow(name, what, published, model, None, None, published == model, how, source)
