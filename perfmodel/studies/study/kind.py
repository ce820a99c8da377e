"""Kinds of studies: what their points are, and where the figures come from."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .axes import Value

__all__ = ["KINDS", "Kind", "Resolving", "Row"]

Row = dict[str, Any]
"""Inputs, figures and provenance of a point, keyed by column name."""


class Resolving(Protocol):
    """Interface of resolvers, which find the inputs of points and share common parts."""

    def inputs(self, values: Mapping[str, Value]) -> Any:
        """Return the inputs of a point, an object with a method ``key(version)``."""
        ...

    def part(self, part: str, values: Mapping[str, Value]) -> Any:
        """Return a part of the inputs of a point."""
        ...


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
    names : collection of str
        Names in constraints that are no column.
    depends : callable
        Returns the first parts of the names of fields that a name in constraints depends on.
    resolver : callable
        Returns what finds inputs, given the study file.
    derived : callable
        Returns inputs as columns, with what follows from them without any work.
    value_of : callable
        Returns the value of a name in constraints, given inputs and the name; None if they have
        none.
    evaluate : callable
        Returns the figures of inputs, given these and the seed of the study, and ``records``.
    identity : callable
        Returns what distinguishes a part of the inputs.
    version : callable
        Returns the version of all that figures depend on, besides inputs.
    """

    required: tuple[str, ...]
    parts: Mapping[str, Collection[str]]
    figures: tuple[str, ...]
    names: Collection[str]
    depends: Callable[[str], Collection[str]]
    resolver: Callable[[Path], Resolving]
    derived: Callable[[Any], dict[str, Any]]
    value_of: Callable[[Any, str], Any]
    evaluate: Callable[[Any, int], Row]
    identity: Callable[[Any], str]
    version: Callable[[], str]


KINDS: dict[str, Kind] = {}
"""Kinds, keyed by the field that every study of the kind has; the command line adds switches."""
