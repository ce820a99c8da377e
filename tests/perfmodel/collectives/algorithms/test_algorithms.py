"""Tests of the algorithms: all of them end right; closed forms where links are alone."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.replay import replay
from perfmodel.collectives.select import build_schedule
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import shared_topology
from tests.examples import examples

BLOCKS = str(Path(__file__).parents[1] / "blocks.yaml")

FITTING = {
    "hierarchical_2d": ["mesh:1x5", "mesh:4x3", "mesh:5x4", "mesh:7x2"],
    "hierarchical_2d_halves": ["mesh:1x5", "mesh:4x3", "mesh:5x4", "mesh:7x2"],
    "hierarchical": [BLOCKS],
    "hierarchical_turns": [BLOCKS],
    "four_phase": [BLOCKS],
    "two_level_ring": ["fred-a", "fred-c", "fred-d"],
    "in_network": ["fred-b", "fred-d"],
    "synthesized": ["mesh:3x3", "mesh:4x2"],  # for others it is searched longer
    "multicast": ["mesh:5x4", "fred-b", "fred-d"],
    "multicasts": ["mesh:5x4", "fred-a", "fred-d"],
    "across_wafers": ["wafers:2xmesh:2x2", "wafers:3xmesh:3x2"],
    "from_one_wafer": ["wafers:2xmesh:2x2", "wafers:3xmesh:3x2"],
}
"""Topologies of algorithms that do not run on all; those that want groups of a size say so."""

OFFERED = [(name, pattern) for name, one in ALGORITHMS.items() for pattern in one.patterns]
RATE = 3e12
HOP_S = 2 * 20e-9 + 15 / (600e9 / 512)


@st.composite
def aligned_groups(draw: st.DrawFn) -> list[int]:
    """Draw equally many NPUs, two or more, on each of several L1s, in any order."""
    places = draw(st.integers(2, 4))
    switches = draw(st.permutations(range(5)))[: draw(st.integers(2, 5))]
    chosen = [4 * l1 + i for l1 in switches for i in draw(st.permutations(range(4)))[:places]]
    return draw(st.permutations(chosen))


@pytest.mark.slow_after_first
@examples(25)
@pytest.mark.parametrize(("algorithm", "pattern"), OFFERED)
@given(data=st.data())
def test_every_member_ends_with_what_it_should(
    algorithm: str, pattern: str, data: st.DataObject
) -> None:
    names = FITTING.get(algorithm, ["mesh:5x4", "fred-a", "fred-d"])
    topology = shared_topology(data.draw(st.sampled_from(names)), "ideal")
    if algorithm == "two_level_ring":
        group = data.draw(aligned_groups())
    else:
        group = data.draw(st.permutations(range(topology.npus)))
        if not algorithm.startswith(("hierarchical", "across")):
            fits = ALGORITHMS[algorithm].fits
            sizes = [n for n in range(2, topology.npus + 1) if fits(topology, group[:n])]
            group = group[: data.draw(st.sampled_from(sizes))]
    replay(build_schedule(topology, pattern, [group], 1e6, algorithm))


@pytest.mark.parametrize(
    ("algorithm", "members", "steps", "sent"),
    [
        ("ring", 4, 6, 1.5),
        ("ring", 3, 4, 4 / 3),
        ("halving_doubling", 4, 4, 1.5),
        ("halving_doubling", 2, 2, 1.0),
        ("direct", 4, 2, 1.5),
    ],
)
def test_all_reduce_inside_a_switch_takes_its_closed_form(
    algorithm: str, members: int, steps: int, sent: float
) -> None:
    size = 1e6
    result = run_collective(
        shared_topology("fred-c", "ideal"), "all_reduce", size, range(members), 1, algorithm
    )
    assert result.time_s == pytest.approx(sent * size / RATE + steps * HOP_S, rel=1e-9)
    assert result.bytes_per_npu == pytest.approx(sent * size)


def test_rings_of_both_directions_send_while_messages_of_the_other_travel() -> None:
    # Each sends 3/8 of the data twice over the same links. The second ring waits for the first
    # once; its own messages then travel 6 hops, in which the first one sends.
    size = 1e6
    result = run_collective(
        shared_topology("fred-c", "ideal"), "all_reduce", size, range(4), 1, "bidirectional_ring"
    )
    assert result.time_s == pytest.approx(3 * 0.375 * size / RATE + 6 * HOP_S, rel=1e-9)
    assert result.bytes_per_npu == pytest.approx(1.5 * size)


@pytest.mark.parametrize("members", [3, 5, 6, 7, 20])
def test_halving_doubling_takes_groups_that_are_no_power_of_two(members: int) -> None:
    result = run_collective(
        shared_topology("fred-c", "ideal"), "all_reduce", 1e6, range(members), 1, "halving_doubling"
    )
    # The lender's data goes out and back whole, around the core's halving and doubling.
    assert result.time_s > 2 * 1e6 / RATE


def test_opposite_rings_double_the_bandwidth_of_a_block_of_the_mesh() -> None:
    mesh, block = shared_topology("mesh:5x4", "ideal"), [0, 1, 6, 5]
    one, two = (
        run_collective(mesh, "all_reduce", 2.0**30, block, algorithm=name).time_s
        for name in ("ring", "bidirectional_ring")
    )
    assert one / two == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize("topology", ["mesh:5x4", "fred-a", "fred-c"])
def test_ring_through_neighbours_is_not_slower_than_one_across(topology: str) -> None:
    wafer = shared_topology(topology, "ideal")
    near, far = (
        run_collective(wafer, "all_reduce", 1e8, group, algorithm="ring").time_s
        for group in ([0, 1, 2, 3], [0, 13, 6, 19])
    )
    assert near <= far
