"""Tests of perfmodel.fluid.pipeline.Shortcuts: what they must not change, on random input."""

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.run import run_collectives
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.fluid.flow import FluidFlow
from perfmodel.fluid.pipeline import Shortcuts, run_pipeline
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology
from tests.examples import examples

NONE = Shortcuts(symmetry=False, steady_state=False)
ANYWHERE = ("ring", "bidirectional_ring", "halving_doubling", "double_binary_tree")
fabric = cache(parse_topology)


def groups_of(wafer: Topology, seed: int) -> list[list[int]]:
    """Return up to four groups of two to six NPUs, anywhere."""
    rng = random.Random(seed)
    left, groups = rng.sample(range(wafer.npus), wafer.npus), list[list[int]]()
    while len(left) >= 2 and len(groups) < 4:
        count = rng.randint(2, min(6, len(left)))
        groups.append(left[:count])
        left = left[count:]
    return groups


@examples(150)
@given(
    topology=st.sampled_from([*FABRICS, "mesh:4x4"]),
    kind=st.sampled_from(
        [("auto", pattern) for pattern in PATTERNS]
        + [(name, pattern) for name in ANYWHERE for pattern in ALGORITHMS[name].patterns]
    ),
    seed=st.integers(0, 2**32),
    chunks=st.sampled_from([1, 5, 40]),
    chunk_bytes=st.sampled_from([2e3, 1e5, 2e6]),
)
def test_they_change_no_time_of_concurrent_groups_and_links_keep_their_bounds(
    topology: str, kind: tuple[str, str], seed: int, chunks: int, chunk_bytes: float
) -> None:
    wafer, (algorithm, pattern) = fabric(topology), kind
    groups, size = groups_of(wafer, seed), chunks * chunk_bytes
    quick, plain = (
        run_collectives(wafer, pattern, size, groups, chunks, algorithm, shortcuts)
        for shortcuts in (Shortcuts(), NONE)
    )
    assert plain.time_s == pytest.approx(quick.time_s, rel=1e-6)
    for load in quick.links:
        assert 0 < load.utilisation <= 1 + 1e-9


def random_flows(seed: int) -> tuple[list[FluidFlow], list[float]]:
    rng = random.Random(seed)
    capacities = [rng.choice([1.0, 1.0, 2.0]) for _ in range(rng.randint(1, 6))]
    flows: list[FluidFlow] = []
    for number in range(rng.randint(1, 9)):
        links = rng.sample(range(len(capacities)), rng.randint(1, min(2, len(capacities))))
        before = rng.sample(range(number), min(number, rng.choice([0, 0, 1, 2])))
        loads = tuple((link, 1.0) for link in links)
        late_s = rng.choice([0.0, 0.5, 9.0])
        flows.append(FluidFlow(loads, rng.choice([1.0, 3.0]), late_s, tuple(sorted(before))))
    return flows, capacities


@examples(80)
@given(seed=st.integers(0, 2**32))
def test_steady_state_changes_no_time_of_random_flows(seed: int) -> None:
    flows, capacities = random_flows(seed)
    quick, plain = (
        run_pipeline(flows, capacities, 60, shortcuts).time_s
        for shortcuts in (Shortcuts(symmetry=False), NONE)
    )
    assert plain == pytest.approx(quick, rel=1e-6)


@examples(80)
@given(seed=st.integers(0, 2**32))
def test_time_is_at_least_that_of_the_busiest_link_and_of_the_longest_way(seed: int) -> None:
    flows, capacities = random_flows(seed)
    chunks = 30
    time_s = run_pipeline(flows, capacities, chunks).time_s
    busy_s = [0.0] * len(capacities)
    ends_s: list[float] = []
    for flow in flows:
        alone_s = 0.0
        for link, load in flow.loads:
            busy_s[link] += chunks * load * flow.payload_bytes / capacities[link]
            alone_s = max(alone_s, load * flow.payload_bytes / capacities[link])
        start_s = max((ends_s[before] for before in flow.after), default=0.0)
        ends_s.append(start_s + alone_s + flow.latency_s)
    assert time_s >= max(*busy_s, *ends_s) * (1 - 1e-9)


def test_symmetry_changes_no_time_where_equal_flows_have_different_followers() -> None:
    # What holds a flow up is the end of earlier chunks, so what follows it matters too.
    # Twice the same three flows on links of their own; the first has a fourth behind it.
    three = [((0, 1), 2.0, 0.0, ()), ((0,), 1.0, 0.0, ()), ((1,), 1.0, 0.5, (0,))]

    def part(first_link: int, first_flow: int) -> list[FluidFlow]:
        return [
            FluidFlow(
                tuple((first_link + link, 1.0) for link in links),
                size,
                late_s,
                tuple(first_flow + before for before in after),
            )
            for links, size, late_s, after in three
        ]

    flows = [*part(0, 0), FluidFlow(((2, 1.0),), 2.0, 0.0, (2,)), *part(3, 4)]
    capacities = [1.0, 1.0, 3.0, 1.0, 1.0]
    quick, plain = (
        run_pipeline(flows, capacities, 40, shortcuts).time_s
        for shortcuts in (Shortcuts(steady_state=False), NONE)
    )
    assert plain == pytest.approx(quick, rel=1e-6)


@pytest.mark.parametrize(
    ("algorithm", "pattern"),
    [("halving_doubling", "all_reduce"), ("double_binary_tree", "reduce_scatter")],
)
def test_symmetry_changes_no_time_where_latency_sets_the_window(
    algorithm: str, pattern: str
) -> None:
    # 10 kB in a chunk: more than ``WINDOW`` chunks are under way.
    wafer = fabric("fred-a")
    groups = [[place + 4 * switch for switch in range(5)] for place in range(4)]
    quick, plain = (
        run_collectives(wafer, pattern, 4e5, groups, 40, algorithm, shortcuts).time_s
        for shortcuts in (Shortcuts(), NONE)
    )
    assert plain == pytest.approx(quick, rel=1e-6)
