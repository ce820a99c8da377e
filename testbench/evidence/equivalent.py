"""Mutants of sources that a reviewer judged equivalent: no test can tell them from the source.

That is not proven, so they count as not noticed in the score. The sample of ``make test`` has no
other survivors.
"""

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
        "fred_hw/control/counter.py",
        "came = Signal(range(self.sources + 1))",
        "came = Signal(range(self.sources << 1))",
        "A wider signal holds the same number of events.",
    ),
    Equivalent(
        "fred_hw/control/counter.py",
        "came = Signal(range(self.sources + 1))",
        "came = Signal(range(self.sources + 2))",
        "A wider signal holds the same number of events.",
    ),
    Equivalent(
        "fred_hw/control/counter.py",
        "total = Signal(self.width + 1)",
        "total = Signal(self.width << 1)",
        "A wider signal holds the same sum, and its carry in the same bit.",
    ),
    Equivalent(
        "fred_hw/control/counter.py",
        "total = Signal(self.width + 1)",
        "total = Signal(self.width + 2)",
        "A wider signal holds the same sum, and its carry in the same bit.",
    ),
    Equivalent(
        "perfmodel/clock.py",
        "self._count = 0",
        "self._count = 1",
        "Calls are compared by their numbers alone, which then begin one later.",
    ),
    Equivalent(
        "perfmodel/clock.py",
        "self._count = 0",
        "self._count = -1",
        "Calls are compared by their numbers alone, which then begin one earlier.",
    ),
    Equivalent(
        "perfmodel/clock.py",
        "self._count += 1",
        "self._count += 2",
        "The numbers of calls still increase, and only their order matters.",
    ),
    Equivalent(
        "studies/rtl_mesh.py",
        'lambda row, _: "direct" if row.algorithm == _UNICASTS else row.algorithm,',
        'lambda row, _: "direct" if row.algorithm >= _UNICASTS else row.algorithm,',
        "Of the names that a record may have, none comes after `unicasts`.",
    ),
    Equivalent(
        "synth/includes.py",
        "re.DOTALL | re.MULTILINE,",
        "re.DOTALL + re.MULTILINE,",
        "The sum of two flags of one bit each is both flags.",
    ),
    Equivalent(
        "synth/includes.py",
        "re.DOTALL | re.MULTILINE,",
        "re.DOTALL ^ re.MULTILINE,",
        "Two different flags of one bit each are both set.",
    ),
    Equivalent(
        "synth/includes.py",
        "return found[0]",
        "return found[ 1]",
        "The first group of a directive is the whole directive.",
    ),
    Equivalent(
        "tracemodel/astra/collectives/streams.py",
        "while self._waiting[queue] and self._running[queue] < self._active:",
        "while self._waiting[queue] and self._running[queue] != self._active:",
        "The number of running phases grows by one and stops at the limit.",
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
