"""Kinds of studies: what their points are, and where the figures come from."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fred_hw.choices import did_you_mean
from fred_hw.errors import InputError

from .axes import Value
from .shared import Numbers
from .space import Space

__all__ = ["Bounds", "Comparison", "Kind", "Resolving", "Row", "check_roots", "key_of"]

Row = dict[str, Any]
"""Inputs, figures and provenance of a point, keyed by column name."""

Bounds = Callable[[Numbers], NDArray[np.float64]]
"""Returns lower bounds of the objectives of points, a row each; 0 where none is known."""


class Resolving(Protocol):
    """Interface of resolvers, which find the inputs of points and share common parts."""

    def inputs(self, values: Mapping[str, Value]) -> Any:
        """Return the inputs of a point, an object with an attribute for each part."""
        ...

    def part(self, part: str, values: Mapping[str, Value]) -> Any:
        """Return a part of the inputs of a point."""
        ...


def check_roots(
    names: Iterable[str], roots: Collection[str], whole: Collection[str], source: str
) -> None:
    """Refuse fields of a space that a kind of study does not have.

    Parameters
    ----------
    names : iterable of str
        The fields.
    roots : collection of str
        What fields begin with.
    whole : collection of str
        Those of ``roots`` that have no fields of their own.
    source : str
        The study file, for error lines.

    Raises
    ------
    InputError
        A field is unknown.
    """
    for name in names:
        root, _, rest = name.partition(".")
        if root not in roots or (rest and root in whole):
            hint = did_you_mean(root, roots)
            message = f"must begin with one of {', '.join(roots)}, not {root!r}{hint}"
            raise InputError(source, f"space.{name}", message)


def key_of(version: str, identities: Iterable[str]) -> str:
    """Return the key of a point: the hash of its parts' identities and of a version."""
    return hashlib.sha256("\n".join((version, *identities)).encode()).hexdigest()[:32]


def _no_value(_inputs: Any, _name: str) -> None:
    return None


def _no_bounds(_space: Space, _resolver: Resolving, objectives: Sequence[str]) -> Bounds:
    return lambda numbers: np.zeros((len(numbers), len(objectives)))


def _no_terms(_base: Any, _other: Any, _as_is: bool) -> None:
    """Let any two points be compared."""


def _no_npus(_resolver: Resolving, _name: str) -> dict[str, Value]:
    raise InputError("", "", "must be given with topology alone")


@dataclass(frozen=True)
class Comparison:
    """How points are compared with those on a baseline.

    Parameters
    ----------
    field : str
        Field of the space that the baseline is a value of.
    figure : str
        The speed-up is this figure on the baseline divided by that of the point.
    roots : tuple of str
        First parts of the names of the fields that ``check`` depends on.
    check : callable
        Refuses points that may not be compared, given the inputs on the baseline, those of the
        point, and whether their NPUs may differ.
    npus : callable
        Returns the fields that give all points the NPUs of a topology, given what finds inputs and
        the topology.
    """

    field: str
    figure: str
    roots: tuple[str, ...] = ()
    check: Callable[[Any, Any, bool], None] = _no_terms
    npus: Callable[[Resolving, str], dict[str, Value]] = _no_npus


@dataclass(frozen=True)
class Kind:
    """A kind of study. Its functions belong to modules, since points are sent to workers.

    Parameters
    ----------
    required : tuple of str
        Fields that a study of the kind has.
    parts : mapping
        Parts of the inputs, with the first parts of the names of fields that set them.
    figures : tuple of str
        What a study may minimize.
    needs : mapping
        Fields that figures need, by figure.
    depends : callable
        Returns the first parts of the names of fields that a name in constraints depends on.
    resolver : callable
        Returns what finds inputs, given the study file.
    derived : callable
        Returns inputs as columns, with what follows from them without any work.
    evaluate : callable
        Returns the figures of inputs, and ``records``; ``error`` too if the figures are those of a
        failure.
    identity : callable
        Returns what distinguishes a part of the inputs.
    version : callable
        Returns the version of all that figures depend on, besides inputs.
    names : collection of str
        Names in constraints that are no column.
    value_of : callable
        Returns the value of such a name, given inputs and the name; None if they have none.
    bounds : callable
        Returns what finds lower bounds of objectives, given the space, what finds inputs, and the
        objectives.
    comparison : Comparison or None
        How points are compared with a baseline; None if they are not.
    """

    required: tuple[str, ...]
    parts: Mapping[str, Collection[str]]
    figures: tuple[str, ...]
    needs: Mapping[str, str]
    depends: Callable[[str], Collection[str]]
    resolver: Callable[[Path], Resolving]
    derived: Callable[[Any], dict[str, Any]]
    evaluate: Callable[[Any], Row]
    identity: Callable[[Any], str]
    version: Callable[[], str]
    names: Collection[str] = ()
    value_of: Callable[[Any, str], Any] = _no_value
    bounds: Callable[[Space, Resolving, Sequence[str]], Bounds] = _no_bounds
    comparison: Comparison | None = None

    def key(self, inputs: Any, version: str) -> str:
        """Return the key of a point, given its inputs and the version of the model."""
        return key_of(version, (self.identity(getattr(inputs, part)) for part in self.parts))
