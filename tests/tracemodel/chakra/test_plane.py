"""Tests of tracemodel.chakra.plane."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from fred_hw.errors import InputError
from fred_hw.wafer.tasks import Task
from perfmodel.topology.parse import parse_topology
from perfmodel.training.estimate import simulate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload
from tracemodel.chakra.iteration_traces import Traces, iteration_traces
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.plane import plane_tasks

HZ, PLANES, FLIT = 1e9, 5, 512


def traces(strategy: str) -> Traces:
    fabric, workload = parse_topology("fred-d"), load_workload("examples/iteration.yaml")
    found = simulate(Request.of(fabric, workload, strategy))
    return iteration_traces(found)


def tasks(found: Traces, flit_bytes: int = 2) -> list[list[Task]]:
    sizes: dict[str, Any] = {"planes": PLANES, "flit_bytes": flit_bytes, "full_flit_bytes": FLIT}
    return plane_tasks(found.ranks, found.groups, clock_hz=HZ, **sizes)


def test_tasks_are_those_of_the_traces() -> None:
    found = traces("MP2-DP5-PP2")
    for nodes, made in zip(found.ranks, tasks(found), strict=True):
        kinds = Counter(one.type for one in nodes)
        assert sum(bool(one.cycles) for one in made) == kinds[NodeType.COMP_NODE]
        wanted_ns = sum(one.integer("duration_ns") for one in nodes)
        assert sum(one.cycles for one in made) == pytest.approx(wanted_ns, abs=len(made))
        sums = [one for one in made if one.inputs == one.outputs and not one.cycles]
        assert len(sums) == kinds[NodeType.COMM_COLL_NODE]
        nodes_of = [one for one in nodes if one.type == NodeType.COMM_COLL_NODE]
        for one, node in zip(sums, nodes_of, strict=True):
            size = node.integer("comm_size")
            assert one.size == -(-size // (PLANES * FLIT)) * 2
            group = node.attr("pg_name")
            assert group and list(one.inputs) == sorted(found.groups[str(group.value)])


def test_messages_of_a_tag_are_one_multicast() -> None:
    found = traces("MP2-DP5-PP2")
    made = tasks(found)
    sent = [one for one in made[0] if one.inputs == (0,)]
    assert {one.outputs for one in sent} == {(2, 3)} and len(sent) == 4
    for npu in (2, 3):
        got = [one for one in made[npu] if one.outputs == (2, 3) and one.inputs == (0,)]
        assert [one.name for one in got] == [one.name for one in sent]
    # What comes after a message waits for it, on the NPU that it comes to.
    first = next(place for place, one in enumerate(made[2]) if one.cycles)
    assert any(made[2][place].inputs == (0,) for place in made[2][first].after)


def test_what_a_plane_cannot_do_is_refused() -> None:
    found = traces("MP4-DP5-PP1-SP")
    with pytest.raises(InputError, match=r"node \d+ of rank 0: must be compute, an all-reduce, "):
        tasks(found)


def test_traces_that_do_not_match_are_refused() -> None:
    found = traces("MP2-DP5-PP2")
    last = max(i for i, one in enumerate(found.ranks[0]) if one.type == NodeType.COMM_COLL_NODE)
    fewer = [*found.ranks[0][:last], *found.ranks[0][last + 1 :]]
    with pytest.raises(InputError, match=r"traces: flow .* must have tasks of the same sizes"):
        tasks(replace(found, ranks=[fewer, *found.ranks[1:]]))
