"""Performance guidelines of collectives: which sequences of patterns replace a pattern.

Traff, Gropp and Thakur, "Self-consistent MPI performance guidelines", IEEE Transactions on Parallel
and Distributed Systems 21, 2010: a library is consistent if no collective takes longer than a
sequence of others that does the same. ``auto`` keeps to this, since it may run such a sequence.
"""

from collections.abc import Sequence
from functools import cache
from itertools import permutations, product
from typing import NamedTuple

from fred_hw.errors import InputError

__all__ = ["GUIDELINES", "Stage", "composed_name", "composed_words", "sequences", "stages_of"]

_WHOLE = "whole_"


class Stage(NamedTuple):
    """A collective that is part of a sequence.

    Parameters
    ----------
    pattern : str
        One of ``schedule.PATTERNS``.
    whole : bool
        Whether the whole vector of each member is its share of a vector that is as many times
        longer as the group has members.
    """

    pattern: str
    whole: bool = False

    @property
    def name(self) -> str:
        """Name of the stage within the names of composed algorithms."""
        return f"{_WHOLE if self.whole else ''}{self.pattern}"

    @property
    def words(self) -> str:
        """Name of the stage for output to users."""
        words = self.pattern.replace("_", "-")
        return f"{words} of whole vectors" if self.whole else words

    def times(self, groups: Sequence[Sequence[int]]) -> int:
        """Return the length of the stage's vector relative to the whole, for the largest group."""
        return max(map(len, groups)) if self.whole else 1


GUIDELINES: tuple[tuple[str, tuple[Stage, ...]], ...] = (
    ("broadcast", (Stage("all_reduce"),)),
    ("reduce", (Stage("all_reduce"),)),
    ("reduce_scatter", (Stage("all_reduce"),)),
    ("reduce_scatter", (Stage("all_to_all"),)),
    ("all_gather", (Stage("all_reduce"),)),
    ("all_gather", (Stage("all_to_all"),)),
    ("all_reduce", (Stage("reduce"), Stage("broadcast"))),
    ("all_reduce", (Stage("reduce_scatter"), Stage("all_gather"))),
    ("all_reduce", (Stage("all_gather", whole=True),)),
    ("all_to_all", (Stage("all_gather", whole=True),)),
)
"""Patterns, and the stages that replace each; members copy and add locally between stages.

Members contribute zeros where a pattern has no data of theirs, and leave what is not for them. In
an all-to-all that gathers each sends its share to all, and in one that reduces each adds up what it
receives. A gather of whole vectors gives each all that there is."""


@cache
def sequences(pattern: str) -> tuple[tuple[Stage, ...], ...]:
    """Return all sequences of other patterns that implement a pattern by the guidelines.

    Those that hold another one, and so take longer, are left out.
    """
    found = [one for one in _expanded(pattern, frozenset()) if one != (Stage(pattern),)]
    return tuple(
        one for one in found if not any(_holds(one, other) for other in found if other != one)
    )


def _expanded(pattern: str, above: frozenset[str]) -> list[tuple[Stage, ...]]:
    """Return a pattern and its sequences, excluding patterns ``above`` it in the expansion."""
    found: dict[tuple[Stage, ...], None] = {(Stage(pattern),): None}
    for done, stages in GUIDELINES:
        within = above | {pattern}
        if done != pattern or any(stage.pattern in within for stage in stages):
            continue
        parts = [
            [
                tuple(Stage(one.pattern, one.whole or stage.whole) for one in part)
                for part in _expanded(stage.pattern, within)
            ]
            for stage in stages
        ]
        found.update(dict.fromkeys(sum(choice, ()) for choice in product(*parts)))
    return list(found)


def _holds(longer: Sequence[Stage], shorter: Sequence[Stage]) -> bool:
    """Return whether a sequence contains all stages of another, or longer ones in their place."""
    return any(
        all(mine.pattern == its.pattern and mine.whole >= its.whole for mine, its in pairs)
        for some in permutations(longer, len(shorter))
        for pairs in [list(zip(some, shorter, strict=True))]
    )


def composed_name(stages: Sequence[Stage], algorithms: Sequence[str]) -> str:
    """Return the name of a sequence with an algorithm for each stage.

    For example ``reduce:direct+broadcast:multicast`` or ``whole_all_gather:ring``.
    """
    pairs = zip(stages, algorithms, strict=True)
    return "+".join(f"{stage.name}:{algorithm}" for stage, algorithm in pairs)


def composed_words(stages: Sequence[Stage], algorithms: Sequence[str]) -> str:
    """Return the text for a sequence with an algorithm for each stage, given as texts."""
    pairs = zip(stages, algorithms, strict=True)
    return ", then ".join(f"{stage.words} by {algorithm}" for stage, algorithm in pairs)


def stages_of(name: str, pattern: str) -> list[tuple[Stage, str]]:
    """Return the stages and algorithms that a composed name lists; empty for other names.

    Raises
    ------
    InputError
        The stages do not do the pattern.
    """
    if ":" not in name:
        return []
    pairs = [text.partition(":")[::2] for text in name.split("+")]
    stages = tuple(
        Stage(stage.removeprefix(_WHOLE), stage.startswith(_WHOLE)) for stage, _ in pairs
    )
    if stages not in sequences(pattern):
        example = composed_name(sequences(pattern)[0], ["NAME"] * len(sequences(pattern)[0]))
        message = f"must have stages that do {pattern}, such as {example}, not {name!r}"
        raise InputError("algorithm", "", message)
    return [(stage, algorithm) for stage, (_, algorithm) in zip(stages, pairs, strict=True)]
