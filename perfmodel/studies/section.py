"""Rows of the table of published figures, and the sections that they stand in.

**Classes.** A row is *predicted* if a simulation or a formula of ours gives the figure without it,
*calibrated* if a number or a choice of ours was set such that it comes out, *derived* if the paper
does not print it and our own arithmetic on printed figures stands in its place, and *consistency*
if it is an input, or one formula on inputs. Predicted rows alone are evidence.

**Tolerances.** One rule: a rate, a time or a ratio of times is to be within 5 %, within 10 % where
the text says "about" or "around"; what no protocol moves (areas, loads, traffic, shares), within
one unit of the last digit that is printed; a bound is to hold; words are to be the same.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal

from fred_hw.registry import Registry
from perfmodel.collectives.select import PUBLISHED
from perfmodel.derived import Derived
from perfmodel.published import Published, Statement
from perfmodel.switch_timing.record import ProtocolModel

__all__ = [
    "CLASSES",
    "GIB",
    "SECTIONS",
    "Evidence",
    "ReproduceRow",
    "Section",
    "Setting",
    "bound",
    "number",
    "spread",
    "word",
]

GIB = 2.0**30

TOLERANCE, ABOUT = 0.05, 0.1

Evidence = Literal["predicted", "calibrated", "derived", "consistency"]

CLASSES: tuple[Evidence, ...] = ("predicted", "calibrated", "derived", "consistency")
"""What a row can be."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What our figures are found with.

    Parameters
    ----------
    protocol : str
        One of ``record.PROTOCOL_MODELS``.
    compute : str
        A compute model, as for ``compute_model.compute_model``.
    algorithm : str
        Of collectives, as for ``operations.Operations``. Compute is calibrated with ``published``.
    """

    protocol: ProtocolModel = "measured"
    compute: str = "calibrated"
    algorithm: str = PUBLISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceRow:
    """A figure of the paper, or one derived from them, beside ours.

    Parameters
    ----------
    id : str
        Subject and name, such as ``bandwidth/wafer/fred-d``.
    what : str
        In words, with the unit.
    evidence : str
        One of ``CLASSES``.
    published : float, str or None
        What the paper prints; None if it does not.
    derived : float or None
        What we worked out in its place.
    model : float or str
        Ours.
    ratio : float or None
        Ours divided by the other; None of words.
    rule : str
        Which part of the rule of tolerances holds.
    tolerance : float or None
        Largest allowed distance of the ratio from 1; None of words and bounds.
    ok : bool
        Whether ours is within the tolerance.
    how : str
        How ours was obtained.
    others : str
        What other readings of the paper give; empty if there is one only.
    source : str
        Where the published figure stands, or the steps to the derived one.
    """

    id: str
    what: str
    evidence: Evidence
    published: float | str | None
    derived: float | None = None
    model: float | str
    ratio: float | None = None
    rule: str
    tolerance: float | None = None
    ok: bool
    how: str
    others: str = ""
    source: str


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that are asked for together.

    Parameters
    ----------
    rows : callable
        Its rows, given the setting.
    subjects : mapping of str to str
        What the first part of its rows' ids may be, and the title that the report puts such rows
        under, which several may share.
    needs : str
        Module of an optional package without which there are no rows; empty if there is none.
    extra : str
        Extra of this package that brings the module.
    """

    rows: Callable[[Setting], Iterator[ReproduceRow]]
    subjects: Mapping[str, str]
    needs: str = ""
    extra: str = ""

    @property
    def available(self) -> bool:
        """Whether what the section needs is installed."""
        return not self.needs or find_spec(self.needs) is not None


SECTIONS: Registry[Section] = Registry("perfmodel.studies.sections", "section of published figures")
"""All sections by name; each is a module of ``sections``."""


def number(
    name: str,
    what: str,
    figure: Published | Derived,
    model: float,
    how: str,
    evidence: Evidence = "predicted",
    *,
    unit: float = 1.0,
    exact: bool = False,
    others: str = "",
) -> ReproduceRow:
    """Return the row of a number.

    Parameters
    ----------
    name, what, how, others : str
        As in the row.
    figure : Published or Derived
        What ours is held against.
    model : float
        Ours, in ``unit``.
    evidence : str
        Class of the row where the figure is published.
    unit : float
        Unit to show the figure in.
    exact : bool
        Whether no protocol moves it.
    """
    shown = figure.value / unit
    rule, tolerance = f"{TOLERANCE:.0%}", TOLERANCE
    if isinstance(figure, Derived):
        evidence = "derived"
    elif exact and not figure.about:
        rule, tolerance = "last digit", figure.last_digit / figure.value
    elif figure.about:
        rule, tolerance = f"about, {ABOUT:.0%}", ABOUT
    printed = None if evidence == "derived" else shown
    return ReproduceRow(
        id=name,
        what=what,
        evidence=evidence,
        published=printed,
        derived=shown if printed is None else None,
        model=model,
        ratio=model / shown,
        rule=rule,
        tolerance=tolerance,
        ok=abs(model / shown - 1) <= tolerance + 1e-9,  # rounding of the division does not decide
        how=how,
        others=others,
        source=figure.source,
    )


def spread(
    name: str, what: str, figure: Published, ends: tuple[float, float], how: str
) -> ReproduceRow:
    """Return the row of a number of which we can only say between what it lies.

    All of that must be within the tolerance.
    """
    low, high = (number(name, what, figure, end, how, others="nothing narrows it") for end in ends)
    words = f"{low.model:.4g} to {high.model:.4g}"
    return replace(low, model=words, ratio=None, ok=low.ok and high.ok)


def bound(name: str, what: str, figure: Published, model: float, how: str) -> ReproduceRow:
    """Return the row of a number that is published as a bound, which ours must be below."""
    return ReproduceRow(
        id=name,
        what=what,
        evidence="predicted",
        published=f"under {figure.printed}",
        model=model,
        ratio=model / figure.value,
        rule="bound",
        ok=model < figure.value,
        how=how,
        source=figure.source,
    )


def word(
    name: str, what: str, said: Statement, model: str, how: str, evidence: Evidence = "predicted"
) -> ReproduceRow:
    """Return the row of words, which must be the same."""
    return ReproduceRow(
        id=name,
        what=what,
        evidence=evidence,
        published=said.words,
        model=model,
        rule="words",
        ok=said.words == model,
        how=how,
        source=said.source,
    )
