"""Tests of tracemodel.chakra.collective."""

from collections import Counter
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.select import build_schedule
from perfmodel.topology.parse import parse_topology
from tracemodel.chakra.collective import to_goal
from tracemodel.chakra.files import VERSION, encode
from tracemodel.chakra.goal import to_traces
from tracemodel.chakra.node import Metadata
from tracemodel.chakra.schedules import read_schedule
from tracemodel.chakra.traces import trace_path


def test_each_message_is_sent_and_received_after_what_brings_its_data() -> None:
    schedule = build_schedule(
        parse_topology("mesh:3x3"), "all_reduce", [range(9)], 9e6, "multitree"
    )
    goal = to_goal(schedule, 9)
    ends = Counter[tuple[str, int, int, int]]()
    for rank, operations in enumerate(goal):
        for one in operations:
            pair = (rank, one.peer) if one.kind == "send" else (one.peer, rank)
            ends[one.kind, one.tag, *pair] += 1
            assert one.size == 1_000_000
    assert set(ends.values()) == {1} and len(ends) == 2 * len(schedule.messages)
    for number, message in enumerate(schedule.transfers):
        [source] = message.sources
        send = next(one for one in goal[source] if (one.kind, one.tag) == ("send", number))
        assert {goal[source][place].tag for place in send.requires} == set(message.after)
        assert all(goal[source][place].kind == "recv" for place in send.requires)


def test_traces_are_read_as_what_was_written(tmp_path: Path) -> None:
    schedule = build_schedule(parse_topology("torus:3x2"), "all_gather", [range(6)], 6e6, "ring")
    goal = to_goal(schedule, 6)
    for rank, nodes in enumerate(to_traces(goal)):
        data = b"".join(encode(nodes, Metadata(VERSION)))
        trace_path(tmp_path / "ring", rank).write_bytes(data)
    found = read_schedule(str(tmp_path / "ring"))
    assert [[(o.kind, o.size, o.peer, o.tag, o.requires) for o in rank] for rank in found] == [
        [(o.kind, o.size, o.peer, o.tag, o.requires) for o in rank] for rank in goal
    ]


def test_collectives_of_switches_are_refused() -> None:
    schedule = build_schedule(parse_topology("fred-d"), "all_reduce", [range(20)], 1e6)
    with pytest.raises(InputError, match=r"^algorithm: must be one with messages between two NPUs"):
        to_goal(schedule, 20)
