"""Tests of perfmodel.collectives.guidelines: what patterns do, on sets in place of numbers."""

import re
from collections import Counter

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.guidelines import (
    GUIDELINES,
    Stage,
    composed_name,
    composed_words,
    sequences,
    stages_of,
)
from perfmodel.collectives.schedule import PATTERNS

Piece = frozenset[tuple[int, int]]
"""Contributions that are added up: member, and which part of its vector."""

Vectors = list[list[Piece]]
"""Parts of the vector of each member."""

MEMBERS = range(5)
ZERO: Piece = frozenset()


def added(pieces: list[Piece]) -> Piece:
    assert sum(map(len, pieces)) == len(ZERO.union(*pieces)), "a contribution is added twice"
    return ZERO.union(*pieces)


def done(pattern: str, given: Vectors) -> Vectors:
    """Return what members have after a pattern; a member has zeros where it is to have nothing."""
    sums = [added([vector[part] for vector in given]) for part in MEMBERS]
    if pattern == "all_to_all":
        return [[given[source][own] for source in MEMBERS] for own in MEMBERS]
    if pattern == "all_gather":
        return [[given[source][source] for source in MEMBERS] for _ in MEMBERS]
    if pattern == "reduce_scatter":
        return [[sums[part] if part == own else ZERO for part in MEMBERS] for own in MEMBERS]
    if pattern == "reduce":
        return [list(sums) if own == 0 else [ZERO] * 5 for own in MEMBERS]
    return [list(sums if pattern == "all_reduce" else given[0]) for _ in MEMBERS]


def start(pattern: str) -> Vectors:
    """Return what members have before a pattern, with zeros where they have nothing of theirs."""
    full: Vectors = [[frozenset({(own, part)}) for part in MEMBERS] for own in MEMBERS]
    if pattern == "broadcast":
        return [full[0], *([ZERO] * 5 for _ in MEMBERS[1:])]
    if pattern == "all_gather":
        return [[full[own][part] if part == own else ZERO for part in MEMBERS] for own in MEMBERS]
    return full


def by_stages(pattern: str, stages: tuple[Stage, ...]) -> Vectors:
    """Return what members have after the stages, with copies and sums of their own between."""
    held = start(pattern)
    for stage in stages:
        if stage.whole:
            assert stage.pattern == "all_gather"
            held = done(pattern, held)  # each has all vectors, and takes or adds up what it wants
        elif stage.pattern == "all_to_all" and pattern == "all_gather":
            held = done("all_to_all", [[held[own][own]] * 5 for own in MEMBERS])
        elif stage.pattern == "all_to_all":
            received = done("all_to_all", held)
            sums = [added(one) for one in received]
            held = [[sums[own] if own == part else ZERO for part in MEMBERS] for own in MEMBERS]
        else:
            held = done(stage.pattern, held)
    return held


@pytest.mark.parametrize(("pattern", "stages"), GUIDELINES)
def test_stages_leave_what_the_pattern_promises(pattern: str, stages: tuple[Stage, ...]) -> None:
    held, wanted = by_stages(pattern, stages), done(pattern, start(pattern))
    for own in MEMBERS:
        for part in MEMBERS:
            # Members may have more than they are to have.
            assert wanted[own][part] in (ZERO, held[own][part])


def test_sums_that_hold_a_contribution_twice_are_noticed() -> None:
    with pytest.raises(AssertionError, match="added twice"):
        done("all_reduce", done("all_reduce", start("all_reduce")))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_sequences_hold_no_other_and_not_the_pattern_itself(pattern: str) -> None:
    found = sequences(pattern)
    assert found and len(set(found)) == len(found)
    for stages in found:
        assert Stage(pattern) not in stages
        assert not any(Counter(other) < Counter(stages) for other in found)


def test_guidelines_follow_one_another() -> None:
    names = {"+".join(stage.name for stage in stages) for stages in sequences("reduce_scatter")}
    assert names == {"all_reduce", "all_to_all", "reduce+broadcast", "whole_all_gather"}
    assert (Stage("all_reduce", True),) in sequences("all_to_all")


def test_name_of_a_sequence_is_read_as_it_is_written() -> None:
    stages = (Stage("reduce"), Stage("broadcast"))
    name = composed_name(stages, ["direct", "multicast"])
    assert name == "reduce:direct+broadcast:multicast"
    assert stages_of(name, "all_reduce") == [(stages[0], "direct"), (stages[1], "multicast")]
    assert stages_of("whole_all_gather:ring", "all_to_all") == [(Stage("all_gather", True), "ring")]
    assert stages_of("ring", "all_reduce") == []
    words = composed_words((Stage("all_gather", True), Stage("broadcast")), ["ring", "chain"])
    assert words == "all-gather of whole vectors by ring, then broadcast by chain"
    assert Stage("all_gather", True).times([[0, 1], [2, 3, 4]]) == 3
    assert Stage("all_gather").times([[0, 1], [2, 3, 4]]) == 1


@pytest.mark.parametrize(
    "name", ["broadcast:ring", "reduce:ring", "gossip:ring+broadcast:ring", ":", "a:b:c", "x+y:z"]
)
def test_stages_that_do_not_do_the_pattern_are_refused(name: str) -> None:
    message = (
        "algorithm: must have stages that do all_reduce, such as reduce:NAME+broadcast:NAME, "
        f"not {name!r}"
    )
    with pytest.raises(InputError, match=rf"^{re.escape(message)}$"):
        stages_of(name, "all_reduce")
