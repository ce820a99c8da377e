"""Kinds of studies: what their points are, and where the figures come from."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fred_hw.choices import did_you_mean, find_choice, not_one_of
from fred_hw.errors import InputError
from fred_hw.files import in_range

from .axes import Value
from .shared import Numbers
from .space import Space
from .version import model_version

__all__ = ["Bounds", "Comparison", "Kind", "Resolver", "Row", "key_of"]

Row = dict[str, Any]
"""Inputs, figures and provenance of a point, keyed by column name."""

Bounds = Callable[[Numbers], NDArray[np.float64]]
"""Returns lower bounds of the objectives of points, a row each; 0 where none is known."""


class Resolver(ABC):
    """Resolver of the inputs of points; parts that points share are resolved once.

    Parameters
    ----------
    source : Path
        The study file; files that it names are relative to its folder.
    """

    def __init__(self, source: Path) -> None:
        self.source, self.folder = str(source), source.parent

    @abstractmethod
    def inputs(self, values: Mapping[str, Value]) -> Any:
        """Return the inputs of a point, an object with an attribute for each part.

        Raises
        ------
        InputError
            A field or a value is not allowed; names the study file and the field.
        """

    @abstractmethod
    def part(self, part: str, values: Mapping[str, Value]) -> Any:
        """Return a part of the inputs of a point; errors as for :meth:`inputs`."""

    def refused(self, field: str, message: str) -> InputError:
        """Return the error for a field of the space."""
        return InputError(self.source, f"space.{field}", message)

    def refused_file(self, field: str, name: str, error: InputError) -> InputError:
        """Return the error for a field that names a file with an error."""
        message = f"{error.field}: {error.message}" if error.field else error.message
        return self.refused(field, message if name in error.message else f"{name}: {message}")

    def check_roots(
        self, names: Iterable[str], roots: Collection[str], whole: Collection[str]
    ) -> None:
        """Refuse fields of a space that the kind of study does not have.

        Parameters
        ----------
        names : iterable of str
            The fields.
        roots : collection of str
            First parts of the names of fields.
        whole : collection of str
            Those of ``roots`` that have no fields of their own.

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
                raise self.refused(name, message)

    def choice(self, field: str, text: str, choices: Collection[str]) -> str:
        """Return the choice that a text names.

        Raises
        ------
        InputError
            It is none of the choices.
        """
        if (found := find_choice(text, choices)) is None:
            raise self.refused(field, not_one_of(text, choices))
        return found

    def integer(self, field: str, value: Value, minimum: int, maximum: int) -> int:
        """Return a value that is an integer in a range.

        Raises
        ------
        InputError
            It is none.
        """
        try:
            return cast("int", in_range(value, minimum, maximum))
        except ValueError as error:
            raise self.refused(field, str(error)) from None


def key_of(version: str, identities: Iterable[str]) -> str:
    """Return the key of a point: the hash of its parts' identities and of a version."""
    return hashlib.sha256("\n".join((version, *identities)).encode()).hexdigest()[:32]


def _field_itself(name: str) -> tuple[str]:
    return (name,)


def _no_value(_inputs: Any, _name: str) -> None:
    return None


def _no_bounds(_space: Space, _resolver: Resolver, objectives: Sequence[str]) -> Bounds:
    return lambda numbers: np.zeros((len(numbers), len(objectives)))


def _no_terms(_base: Any, _other: Any, _as_is: bool) -> None:
    """Let any two points be compared."""


def _no_npus(_resolver: Resolver, _name: str) -> dict[str, Value]:
    raise InputError("", "", "must be given only with topology")


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
    npus: Callable[[Resolver, str], dict[str, Value]] = _no_npus


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
    resolver : callable
        Returns what finds inputs, given the study file.
    derived : callable
        Returns inputs as columns, with what follows from them without any work.
    evaluate : callable
        Returns the figures of inputs, and ``records``; ``error`` too if the figures are those of a
        failure.
    identity : callable
        Returns what distinguishes a part of the inputs.
    needs : mapping
        Fields that figures need, by figure.
    depends : callable
        Returns the first parts of the names of fields that a name in constraints depends on: by
        default, the name is a field.
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
    resolver: Callable[[Path], Resolver]
    derived: Callable[[Any], dict[str, Any]]
    evaluate: Callable[[Any], Row]
    identity: Callable[[Any], str]
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    depends: Callable[[str], Collection[str]] = _field_itself
    version: Callable[[], str] = model_version
    names: Collection[str] = ()
    value_of: Callable[[Any, str], Any] = _no_value
    bounds: Callable[[Space, Resolver, Sequence[str]], Bounds] = _no_bounds
    comparison: Comparison | None = None

    def key(self, inputs: Any, version: str) -> str:
        """Return the key of a point, given its inputs and the version of the model."""
        return key_of(version, (self.identity(getattr(inputs, part)) for part in self.parts))
