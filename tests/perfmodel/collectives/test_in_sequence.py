"""Tests of perfmodel.collectives.in_sequence, and of the replay of what it makes."""

from dataclasses import replace

import pytest

from perfmodel.collectives.guidelines import composed_name, sequences
from perfmodel.collectives.replay import replay
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import build_schedule
from perfmodel.topology.parse import shared_topology

WAFER = shared_topology("fred-d")
COMPOSED = [
    (pattern, composed_name(stages, [name] * len(stages)))
    for pattern in PATTERNS
    for stages in sequences(pattern)
    for name in ("published", "halving_doubling")
]


@pytest.mark.parametrize(("pattern", "name"), COMPOSED)
def test_sequences_replay(pattern: str, name: str) -> None:
    schedule = build_schedule(WAFER, pattern, [[0, 1, 5], [2, 6, 7, 9]], 8.0, name)
    replay(schedule)
    assert schedule.pattern == pattern
    assert [part.members for part in schedule.parts] == [(0, 1, 5), (2, 6, 7, 9)]


def test_a_stage_waits_for_what_came_to_its_sources() -> None:
    name = "reduce:direct+broadcast:direct"
    schedule = build_schedule(WAFER, "all_reduce", [[0, 1, 2]], 3.0, name)
    assert [one.after for one in schedule.transfers] == [(), (), (0, 1), (0, 1)]
    assert schedule.algorithm == "reduce by direct, then broadcast by direct"
    # Shards of a stage are its own.
    assert [one.shards for one in schedule.transfers] == [(0,), (0,), (1,), (1,)]
    assert schedule.parts[0].owners == {0: 0, 1: 0}


def test_whole_vectors_are_sent() -> None:
    schedule = build_schedule(WAFER, "all_to_all", [[0, 1, 2]], 3.0, "whole_all_gather:direct")
    assert {one.payload_bytes for one in schedule.transfers} == {3.0}


def test_a_stage_that_does_not_wait_is_found() -> None:
    schedule = build_schedule(
        WAFER, "all_reduce", [[0, 1, 2]], 3.0, "reduce:direct+broadcast:direct"
    )
    *early, last = schedule.messages
    broken = replace(schedule, messages=(*early, replace(last, after=(1,))))
    with pytest.raises(ValueError, match=r"^transfer 3 must wait for \[0\]$"):
        replay(broken)
    with pytest.raises(ValueError, match=r"^stages must do all_gather, not reduce, broadcast, "):
        replay(replace(schedule, pattern="all_gather", stages=schedule.stages * 2))
