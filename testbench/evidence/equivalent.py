"""Mutants of sources that are equivalent by review: no test can tell them from the source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["EQUIVALENT", "Equivalent", "outcome", "reason"]


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A line of which a change does not alter any result.

    Parameters
    ----------
    path : str
        File in the repository.
    before, after : str
        The line as it is and as it is changed, without indentation.
    why : str
        Why all results stay the same, as a sentence.
    """

    path: str
    before: str
    after: str
    why: str


EQUIVALENT = (
    Equivalent(
        "fred_hw/compiler/exact.py",
        "_AT_ONCE = 20_000",
        "_AT_ONCE = 20001",
        "The solver reports progress after one conflict more; answers do not depend on it.",
    ),
)
"""Reviewed mutants; a test checks that each line still exists."""


def reason(mutant: Mapping[str, Any]) -> str | None:
    """Return why a mutant is equivalent; None if it is not known to be.

    Parameters
    ----------
    mutant : mapping
        ``path`` and ``difference``, as in the record of a sample.
    """
    lines = [line for line in mutant.get("difference", "").splitlines() if line[:1] in ("-", "+")]
    changed = [(line[0], line[1:].strip()) for line in lines]
    for one in EQUIVALENT:
        if mutant["path"] == one.path and changed == [("-", one.before), ("+", one.after)]:
            return one.why
    return None


def outcome(mutant: Mapping[str, Any]) -> str:
    """Return "killed", "equivalent" or "survived"; a test that does not end notices a mutant."""
    if mutant["outcome"] != "survived":
        return "killed"
    return "equivalent" if reason(mutant) else "survived"
