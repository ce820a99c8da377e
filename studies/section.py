"""Rows and sections of the table of published figures, with their classes of evidence.

**Classes.** A row is *predicted* if a simulation or a formula here gives the figure without it,
*link-rate* if it is the rate of one link, or the ratio of two: such a row fails only if the
simulator is broken. It is *calibrated* if a number or a choice was set such that it comes
out, *derived* if the paper does not print it and our own arithmetic on printed figures stands in
its place, and *consistency* if it is an input, or one formula on inputs. Predicted rows alone are
evidence.

**Readings.** Where the text of the paper can be read in several ways, a row has the model's figure
by the reading that the text favours most, and the figures by all others. A reading is never chosen
because it matches.

**Tolerances.** One rule: a rate, a time or a ratio of times is to be within 5 %, within 10 % where
the text says "about" or "around"; what no protocol moves (areas, loads, traffic, shares), within
one unit of the last digit that is printed; a bound is to hold; words are to be the same. What was
measured on machines is to be within 10 %.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from types import MappingProxyType
from typing import Literal, get_args

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
    "Reading",
    "ReproduceRow",
    "Section",
    "Setting",
    "bound",
    "measured",
    "number",
    "spread",
    "word",
]

GIB = 2.0**30

TOLERANCE, ABOUT, MEASURED = 0.05, 0.1, 0.1

Evidence = Literal["predicted", "link-rate", "calibrated", "derived", "consistency"]

CLASSES: tuple[Evidence, ...] = get_args(Evidence)
"""Classes of evidence of a row."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Options with which the model's results are computed.

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


@dataclass(frozen=True, slots=True)
class Reading:
    """The model's figure by another reading of the paper.

    Parameters
    ----------
    words : str
        The reading.
    model : float or str
        The figure, in the unit of the row.
    ok : bool
        Whether it is within the tolerance of the row.
    """

    words: str
    model: float | str
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceRow:
    """A published figure, or one derived from published figures, compared with the model's result.

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
    reading : str
        The reading of the paper that ours goes by, where there are others.
    readings : tuple of Reading
        What other readings of the paper give.
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
    reading: str = ""
    readings: tuple[Reading, ...] = ()
    source: str

    @property
    def others(self) -> str:
        """The other readings as text."""
        return "; ".join(
            f"{one.words} {one.model if isinstance(one.model, str) else format(one.model, '.4g')}"
            for one in self.readings
        )

    @property
    def every_reading(self) -> tuple[Reading, ...]:
        """The chosen reading, followed by the others."""
        return Reading(f"chosen: {self.reading or 'see how'}", self.model, self.ok), *self.readings

    @property
    def band(self) -> tuple[float, float] | None:
        """Least and largest figure over all readings; None for text and for a single reading."""
        found = [one.model for one in self.every_reading if not isinstance(one.model, str)]
        return (min(found), max(found)) if len(found) > 1 else None

    @property
    def within(self) -> tuple[int, int]:
        """Number of readings within the tolerance, and number of all readings."""
        return sum(one.ok for one in self.every_reading), len(self.every_reading)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that are computed together.

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
        """Whether the optional package that the section needs is installed."""
        return not self.needs or find_spec(self.needs) is not None


SECTIONS: Registry[Section] = Registry("studies.sections", "section of published figures")
"""All sections by name; each module of ``sections`` registers its own."""


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
    reading: str = "",
    readings: Mapping[str, float] = MappingProxyType({}),
) -> ReproduceRow:
    """Return a row that compares numbers.

    Parameters
    ----------
    name, what, how, reading : str
        As in the row.
    figure : Published or Derived
        What ours is compared with.
    model : float
        Ours, in ``unit``.
    evidence : str
        Class of the row where the figure is published.
    unit : float
        Unit to show the figure in.
    exact : bool
        Whether no protocol moves it.
    readings : mapping
        The figure by other readings.
    """
    shown = figure.value / unit
    rule, tolerance = _tolerance(figure, exact=exact)
    if isinstance(figure, Derived):
        evidence = "derived"
    printed = None if evidence == "derived" else shown

    def ok(value: float) -> bool:
        return abs(value / shown - 1) <= tolerance + 1e-9  # the division's rounding does not decide

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
        ok=ok(model),
        how=how,
        reading=reading,
        readings=tuple(Reading(words, one, ok(one)) for words, one in readings.items()),
        source=figure.source,
    )


def _tolerance(figure: Published | Derived, *, exact: bool) -> tuple[str, float]:
    """Return the tolerance rule for a figure, and the allowed deviation."""
    if not isinstance(figure, Derived):
        if figure.about:
            return f"about, {ABOUT:.0%}", ABOUT
        if exact:
            return "last digit", figure.last_digit / figure.value
    return f"{TOLERANCE:.0%}", TOLERANCE


def measured(
    name: str,
    what: str,
    figure: Published,
    model: float,
    how: str,
    evidence: Evidence = "predicted",
    *,
    tolerance: float = MEASURED,
    unit: float = 1.0,
    reading: str = "",
    readings: Mapping[str, float] = MappingProxyType({}),
) -> ReproduceRow:
    """Return a row that compares a figure measured on a machine.

    Parameters
    ----------
    name, what, figure, model, how, evidence, unit, reading, readings
        As for :func:`number`.
    tolerance : float
        Largest allowed distance of the ratio from 1.
    """
    found = {"": model, **readings}
    rows = [number(name, what, figure, one, how, evidence, unit=unit) for one in found.values()]
    oks = [abs(one / (figure.value / unit) - 1) <= tolerance for one in found.values()]
    others = zip(readings, rows[1:], oks[1:], strict=True)
    return replace(
        rows[0],
        rule=f"measured, {tolerance:.0%}",
        tolerance=tolerance,
        ok=oks[0],
        reading=reading,
        readings=tuple(Reading(words, one.model, ok) for words, one, ok in others),
    )


def spread(
    name: str, what: str, figure: Published, ends: tuple[float, float], how: str
) -> ReproduceRow:
    """Return a row that compares a number known only as an interval.

    All of that must be within the tolerance.
    """
    low, high = (number(name, what, figure, end, f"{how}; nothing narrows it") for end in ends)
    words = f"{low.model:.4g} to {high.model:.4g}"
    return replace(low, model=words, ratio=None, ok=low.ok and high.ok)


def bound(
    name: str, what: str, figure: Published | Derived, model: float, how: str
) -> ReproduceRow:
    """Return a row for a bound: below a published figure, or at most a derived one."""
    derived = isinstance(figure, Derived)
    return ReproduceRow(
        id=name,
        what=what,
        evidence="derived" if derived else "predicted",
        published=None if derived else f"under {figure.printed}",
        derived=figure.value if derived else None,
        model=model,
        ratio=model / figure.value,
        rule="bound",
        ok=model < figure.value or (derived and model == figure.value),
        how=how,
        source=figure.source,
    )


def word(
    name: str,
    what: str,
    said: Statement,
    model: str,
    how: str,
    evidence: Evidence = "predicted",
    reading: str = "",
    readings: Mapping[str, str] = MappingProxyType({}),
) -> ReproduceRow:
    """Return a row that compares texts, which must be equal."""
    return ReproduceRow(
        id=name,
        what=what,
        evidence=evidence,
        published=said.words,
        model=model,
        rule="words",
        ok=said.words == model,
        how=how,
        reading=reading,
        readings=tuple(Reading(name, one, said.words == one) for name, one in readings.items()),
        source=said.source,
    )
