"""A case: one attack as the choices it was drawn from, which can be written down and reduced."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Case", "Kind", "Outcome", "Values", "shrunk"]

Values = Mapping[str, Any]
"""Choices by name, as JSON has them."""


@dataclass(frozen=True)
class Outcome:
    """Result of a run.

    Parameters
    ----------
    what : str
        What is wrong; empty if nothing is.
    flits : int
        Flits that were compared with the golden model.
    faults, resets, writes : int
        Faults of links, resets of units, and random register writes.
    """

    what: str = ""
    flits: int = 0
    faults: int = 0
    resets: int = 0
    writes: int = 0


class Kind(ABC):
    """A kind of attack.

    Parameters
    ----------
    name : str
        Its name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def draw(self, seed: int) -> Values:
        """Return the choices of a seed."""

    @abstractmethod
    def design(self, values: Values) -> str:
        """Return the name of the simulated design."""

    @abstractmethod
    def run(self, values: Values) -> Outcome:
        """Simulate, and compare with the golden model."""

    @abstractmethod
    def simpler(self, values: Values) -> Iterator[Values]:
        """Yield choices that differ a little and are simpler, those that leave out most first."""

    @abstractmethod
    def text(self, values: Values) -> str:
        """Return the work in words."""


@dataclass(frozen=True)
class Case:
    """An attack.

    Parameters
    ----------
    kind : str
        Name of its kind.
    values : mapping
        Its choices.
    """

    kind: str
    values: Values

    def json(self) -> str:
        """Return the text of a file that repeats it."""
        return json.dumps({"kind": self.kind, **self.values}, indent=1) + "\n"

    @classmethod
    def parse(cls, text: str) -> "Case":
        """Return the case of a file.

        Raises
        ------
        ValueError
            The text is not a JSON object with a ``kind``.
        """
        values = json.loads(text)
        if not isinstance(values, dict) or "kind" not in values:
            raise ValueError("must be a JSON object with a kind")
        return cls(values.pop("kind"), values)


def shrunk(
    values: Values,
    simpler: Callable[[Values], Iterator[Values]],
    fails: Callable[[Values], bool],
    tries: int,
) -> Values:
    """Return the simplest choices found that still fail, after a limited number of runs."""
    progress = True
    while progress:
        progress = False
        for other in simpler(values):
            if tries <= 0:
                return values
            tries -= 1
            if fails(other):
                values, progress = other, True
                break
    return values
