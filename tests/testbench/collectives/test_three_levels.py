"""A plane of three levels: phases and unicasts across the top in compiled code, bit for bit."""

from pathlib import Path

import pytest

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, exchange
from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.program import compile_strategy
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import random_memories
from testbench.collectives.plane import PlaneRun, npu_steps
from testbench.models.golden_phase import golden_results, wrong_npus
from tests.testbench.collectives.planes import compiled_high_plane, high_wafer

FLIT, FLITS, UNICAST, READY = 2, 24, 20, 400
"""Bytes of a flit, flits of a phase and of a unicast, cycles until all is written."""
pytestmark = [
    pytest.mark.sim,
    pytest.mark.slow,
    pytest.mark.long,  # two units to compile that other tests do not have
    pytest.mark.xdist_group("wafer"),
]


def across(npu: int, first: int) -> Descriptor:
    """Return the exchange of an NPU with the one below the other half of the tree, at a flit."""
    sent, received = (Buffer(FLIT * (first + k), FLIT * UNICAST) for k in (0, UNICAST))
    other = FlowId(7 - npu, unicast=True)
    return exchange("pp", (sent, other), (received, other))


@pytest.mark.parametrize("faults", [0, 5000])
@pytest.mark.parametrize(
    ("strategy", "phase", "chiplets"),
    [
        ("MP8-DP1-PP1", "mp_all_reduce", 7),  # up by one chiplet of each switch
        ("MP2-DP4-PP1", "dp_all_reduce", 10),  # two groups, which share out the links
        ("MP4-DP1-PP2", "pp_forward", 6),  # a multicast to all below the other half
    ],
)
def test_phases_and_unicasts_cross_the_top(
    tmp_path: Path, strategy: str, phase: str, chiplets: int, faults: int
) -> None:
    """All phases of a strategy at once, on links that lose and change flits or do not."""
    made = compile_strategy(high_wafer(), Strategy.parse(strategy), FLIT * FLITS)
    paths = made.phase(phase).paths
    heights = [len(made.plane.chain(made.plane.units[one].switch)) for one in paths.flows]
    assert len(heights) == chiplets and {*heights} == {1, 2, 3}

    before = random_memories(made, 11, more=2 * UNICAST)
    first = len(before[0]) - 2 * UNICAST
    steps = []
    for npu in range(made.npus):
        parts = [one for each in made.phases for one in made.descriptors(npu, each)]
        jobs = [(0, one) for one in (*parts, across(npu, first))]
        steps.append(npu_steps(made, npu, jobs, READY))
    run = PlaneRun(
        program=made,
        steps=steps,
        memories=before,
        faults=faults,
        memory_stalls=20 if faults else 0,
        limit=40_000,
        seed=11,
    )
    found = run_joined(compiled_high_plane(), run, tmp_path)
    assert (found.faults > 0) == (faults > 0)
    assert [one["ERROR"] for one in found.reads] == [[0]] * 8
    for each in made.phases:
        assert golden_results(made, each, before)
        assert wrong_npus(made, each.name, before, found.memories) == []
    for npu, after in enumerate(found.memories):
        sent = before[7 - npu][first : first + UNICAST]
        assert (after[first + UNICAST :] == sent).all()
    after = [memory.copy() for memory in found.memories]
    after[5][made.buffers(made.phase(phase))[1].address // FLIT, 0] ^= 1
    assert wrong_npus(made, phase, before, after) == [5]
