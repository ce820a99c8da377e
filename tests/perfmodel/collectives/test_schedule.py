"""Tests of perfmodel.collectives.schedule: one line that stands for all lines that are alike."""

from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED
from perfmodel.collectives.schedule import Schedule, ScheduleBuilder
from perfmodel.collectives.select import build_schedule
from perfmodel.collectives.transfer import RingPass
from perfmodel.network.model import Conditions
from perfmodel.network.models.fluid import Fluid
from perfmodel.network.prepared import Request, prepare
from perfmodel.topology.block import Block, BlockKind
from perfmodel.topology.blocks import BlocksTopology
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology, shared_topology
from tests.perfmodel.topology.test_wafers import wafers
from tests.written import written

BY_LINES = ("hierarchical", "hierarchical_turns", "four_phase", "hierarchical_2d", "themis")
KINDS = st.sampled_from(get_args(BlockKind))


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """Return a mesh, or two or three blocks of any kind."""
    if draw(st.booleans()):
        return parse_topology(f"mesh:{draw(st.integers(2, 7))}x{draw(st.integers(2, 7))}")
    blocks = [
        Block(draw(KINDS), draw(st.integers(2, 5)), draw(st.sampled_from([50e9, 200e9])), late_s)
        for late_s in draw(st.lists(st.sampled_from([50e-9, 2e-6]), min_size=2, max_size=3))
    ]
    return BlocksTopology(name="blocks", blocks=blocks)


@st.composite
def crossings(draw: st.DrawFn, topology: Topology) -> list[int]:
    """Return the NPUs at which some lines of all dimensions cross, in any order."""
    places = [
        draw(st.sets(st.integers(0, one.npus - 1), min_size=2)) if one.npus > 2 else {0, 1}
        for one in topology.scheduling_dimensions
    ]
    strides = [one.stride for one in topology.scheduling_dimensions]
    npus = [sum(map(int.__mul__, one, strides)) for one in product(*places)]
    return draw(st.permutations(npus))


def both(topology: Topology, pattern: str, group: list[int], algorithm: str) -> list[Schedule]:
    """Return the schedule with all lines, and with one that stands for all."""
    given = (topology, pattern, [group], 1.0, algorithm)
    return [build_schedule(*given, lockstep=True, lines_as_one=one) for one in (False, True)]


def check(topology: Topology, pattern: str, group: list[int], algorithm: str) -> list[Schedule]:
    """Fail unless both schedules take the same time, to the bit, and load the same links."""
    schedules = both(topology, pattern, group, algorithm)
    every, one = (Fluid(topology, schedule, Conditions()) for schedule in schedules)
    for size, chunks in product((1.0, 1e3, 1e6, 1e9), (1, 3, 128)):
        assert one.time_s(size, size / chunks) == every.time_s(size, size / chunks)
    prepared = prepare(topology, Request(pattern, (tuple(group),), algorithm, "fluid"))
    assert prepared.loads(topology) == every.loads
    rates = topology.capacities
    busiest = [
        max(loads, key=lambda load: load[1] / rates[load[0]])
        for loads in (prepared.distinct_loads(topology), every.loads)
    ]
    assert busiest[0] == busiest[1]
    return schedules


@settings(max_examples=60)
@given(st.data())
def test_one_line_stands_for_all_of_its_dimension(data: st.DataObject) -> None:
    topology = data.draw(networks())
    group = data.draw(crossings(topology))
    fit = [name for name in BY_LINES if ALGORITHMS[name].fits(topology, group)]
    algorithm, pattern = data.draw(st.sampled_from(fit)), data.draw(st.sampled_from(SCATTERED))
    if pattern in ALGORITHMS[algorithm].patterns:
        check(topology, pattern, group, algorithm)


@pytest.mark.parametrize("name", ["mesh:32x32", "torus:16x16x4", "examples/fc-ring-switch.yaml"])
def test_an_all_reduce_of_all_npus_has_a_message_for_each_step_of_a_dimension(name: str) -> None:
    topology = shared_topology(name)
    every, one = check(topology, "all_reduce", [*range(topology.npus)], "published")
    dimensions = len(topology.scheduling_dimensions)
    # Two parts of the data, each scattered and gathered along each dimension.
    assert len(one.messages) == 4 * dimensions
    assert len(every.messages) > 2 * len(one.messages)


@pytest.mark.parametrize("wafer", ["mesh:8x6", "torus"])
def test_one_line_stands_for_all_on_one_of_several_wafers(wafer: str, tmp_path: Path) -> None:
    if wafer == "torus":
        rates = {"bytes_per_s": 2e11, "latency_s": 1e-6}
        blocks = [{"block": kind, "npus": n, **rates} for kind, n in (("switch", 8), ("ring", 6))]
        file = {"kind": "blocks", "io_bytes_per_s": 1e11, "blocks": blocks}
        wafer = str(written(tmp_path / "torus.json", file))
    alone, topology = parse_topology(wafer), wafers(3, wafer)
    [_, of_wafer] = check(alone, "all_reduce", [*range(48)], "published")
    every, one = check(topology, "all_reduce", [*range(48, 96)], "published")
    assert len(one.messages) == len(of_wafer.messages) < len(every.messages)


def test_passes_after_an_abandoned_line_stand_for_themselves() -> None:
    builder = ScheduleBuilder(shared_topology("mesh:4x2"), lockstep=True, lines_as_one=True)
    for line, _ in builder.representative_lines([([0, 1, 2, 3], ()), ([4, 5, 6, 7], ())]):
        builder.pass_around(line, 1.0)
        break
    builder.pass_around([4, 5], 1.0)
    first, second = builder.messages
    assert isinstance(first, RingPass) and isinstance(second, RingPass)
    assert (first.line_offsets, second.line_offsets) == ((4,), ())


def test_groups_that_share_lines_have_all_of_them() -> None:
    mesh = shared_topology("mesh:8x8")
    groups = [[x + 8 * y for y in range(8) for x in range(first, 8, 2)] for first in (0, 1)]
    how = (mesh, "all_reduce", groups, 1.0, "hierarchical_2d")
    every, one = (build_schedule(*how, lockstep=True, lines_as_one=some) for some in (False, True))
    assert one == every


def test_messages_of_a_root_are_not_alike() -> None:
    torus = shared_topology("torus:4x4")
    every, one = both(torus, "broadcast", [*range(16)], "hierarchical")
    assert one == every


def test_lines_of_a_tree_share_links_and_are_not_alike() -> None:
    tree = shared_topology("examples/fred-1024.yaml")
    assert not tree.lines_alike
    every, one = both(tree, "all_reduce", [*range(64)], "two_level_ring")
    assert one == every
