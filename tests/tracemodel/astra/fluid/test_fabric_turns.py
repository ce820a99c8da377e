"""Tests of groups of traces that take turns inside FRED switches, in our simulation."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from perfmodel.network.fluid.path_conflicts import path_conflicts
from perfmodel.network.run import run_collective, run_collectives
from perfmodel.topology.graph import Topology
from tests.perfmodel.network.fluid.test_switch_rounds import wafer
from tests.tracemodel.astra.engine.nodes import collective, compute, run, setup
from tracemodel.astra.engine.beside import groups_by_kind
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.job import Job
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.chakra.kinds import CollectiveType
from tracemodel.chakra.node import Node

GIB = 1 << 30
GROUPS = [(0, 3), (1, 4), (2, 5)]
"""Two of which have paths at a time through l1_0 of two middle subswitches."""


def ends(
    topology: Topology, groups: Sequence[Sequence[int]], late: Sequence[int] = ()
) -> list[int]:
    """Return when an all-reduce of each group ends [ns]; those of late ones begin after 1 s."""
    names = {str(number + 1): tuple(one) for number, one in enumerate(groups)}
    given = Setup(FluidNetwork([FabricLine(topology)]), setup().system, groups=names)
    traces: list[list[Node]] = [[] for _ in range(topology.npus)]
    for number, (name, group) in enumerate(names.items()):
        for npu in group:
            if number in late:
                traces[npu].append(compute(0, 10**6))
            after = [0] if number in late else []
            traces[npu].append(collective(1, GIB, after, pg_name=name))
    times, _ = run(given, *traces, model="fluid")
    return [times[group[0]].total_ns for group in groups]


def test_groups_take_turns_as_in_our_own_collectives(tmp_path: Path) -> None:
    two, three = wafer(tmp_path, 2), wafer(tmp_path, 3)
    once, twice = ends(three, GROUPS), ends(two, GROUPS)
    for topology, found in ((three, once), (two, twice)):
        want = run_collectives(topology, "all_reduce", GIB, GROUPS, algorithm="in_network")
        assert max(found) == pytest.approx(want.time_s * 1e9, rel=0.01)
    # The two of a round do not wait for each other: half the time is theirs, half the third's.
    assert twice == [pytest.approx(2 * one, rel=0.01) for one in once]


def test_who_is_not_there_is_not_waited_for(tmp_path: Path) -> None:
    two = wafer(tmp_path, 2)
    alone = run_collective(two, "all_reduce", GIB, GROUPS[0], algorithm="in_network").time_s * 1e9
    found = ends(two, GROUPS, late=[2])
    assert found == [pytest.approx(one, abs=100) for one in (alone, alone, 1e9 + alone)]


def test_rounds_are_of_all_groups_whenever_they_run(tmp_path: Path) -> None:
    two = wafer(tmp_path, 2)
    switch = two.node_index["l1_0"]
    found = path_conflicts(two, "all_reduce", GROUPS)
    (last,) = [number for number, one in enumerate(found) if len(one) == 2]
    others = [number for number in range(3) if number != last]
    assert found[last] == {(switch, frozenset({last, one})): 1.0 for one in others}
    assert [found[one] for one in others] == [
        {(switch, frozenset({last, one})): 1.0} for one in others
    ]
    assert path_conflicts(wafer(tmp_path, 3), "all_reduce", GROUPS) == [{}, {}, {}]
    assert path_conflicts(two, "all_to_all", GROUPS) == [{}, {}, {}]


@pytest.mark.parametrize("seed", range(4))
def test_fewer_paths_are_never_faster(tmp_path: Path, seed: int) -> None:
    npus = random.Random(seed).sample(range(20), 20)
    groups = [tuple(npus[i : i + 3]) for i in range(0, 15, 3)]
    two, three = (ends(wafer(tmp_path, middle), groups) for middle in (2, 3))
    alone = [
        run_collective(wafer(tmp_path, 2), "all_reduce", GIB, one, algorithm="in_network").time_s
        for one in groups
    ]
    for few, more, least_s in zip(two, three, alone, strict=True):
        assert few >= more - 2 >= least_s * 1e9 - 4


def test_groups_of_all_jobs_count_by_what_they_do() -> None:
    system = setup().system
    cast = CollectiveType.BROADCAST
    first = [collective(1, 8, pg_name="1"), collective(2, 8, kind=cast, pg_name="1", comm_src=1)]
    second = [collective(1, 9), collective(2, 9, pg_name="4"), collective(3, 9, pg_name="7")]
    jobs = [
        Job([trace_of(iter(first), system, "a")] * 3, (4, 5, 6), {"1": (0, 1, 2)}),
        Job([trace_of(iter(second), system, "b")] * 2, (2, 1), {"4": (1,)}),
    ]
    assert groups_by_kind(jobs) == {"all_reduce": [(4, 5, 6), (2, 1)], "broadcast": [(5, 6, 4)]}


def test_groups_of_two_jobs_take_turns(tmp_path: Path) -> None:
    two = wafer(tmp_path, 2)
    given = Setup(FluidNetwork([FabricLine(two)]), setup().system)
    trace = trace_of(iter([collective(0, GIB)]), given.system, "w")
    jobs = [Job([trace] * 2, group) for group in GROUPS]
    times = GraphEngine((), given, "fluid", jobs=jobs).run()
    assert [one.total_ns for one in times[::2]] == ends(two, GROUPS)
