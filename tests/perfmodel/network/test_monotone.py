"""No collective gets faster where its data, a link or a latency gets larger or slower."""

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.streaming import STREAMS
from perfmodel.network.run import profile, run_collective, run_collectives
from perfmodel.topology.graph import Topology
from perfmodel.topology.mesh import MeshFile
from perfmodel.topology.parse import FABRICS, parse_topology, shared_topology
from tests.examples import examples

# 1 B to 16 GiB, and closer between 1.5 and 3 MiB.
BLOCKS = str(Path(__file__).parents[1] / "collectives" / "blocks.yaml")
SIZES = sorted({2 ** (i / 3) for i in range(3 * 34 + 1)} | {i * 2.0**17 for i in range(12, 25)})


AUTOMATIC = [name for name, one in ALGORITHMS.items() if one.automatic]
"""Algorithms whose messages do not depend on bandwidths: schedules that are searched for another
network may be better ones."""


def fitting(topology: Topology, pattern: str) -> list[str]:
    """Return the algorithms of a pattern on a whole wafer."""
    found: list[str] = []
    for name in AUTOMATIC:
        try:
            run_collective(topology, pattern, 1.0, algorithm=name)
        except InputError:
            continue
        found.append(name)
    return found


@pytest.mark.slow_after_first
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("topology", [*FABRICS, "mesh:3x3", BLOCKS])
def test_more_data_never_take_less_with_any_algorithm(topology: str, pattern: str) -> None:
    wafer = shared_topology(topology)
    names = ["auto", *fitting(wafer, pattern)]
    assert len(names) >= 6
    for name in names:
        times = [run_collective(wafer, pattern, size, algorithm=name).time_s for size in SIZES]
        # Where latency outweighs bytes, further chunks go in while the first is on its way.
        assert all(less <= more * (1 + 1e-12) for less, more in pairwise(times)), name
        assert times[0] < times[-1]


@pytest.mark.parametrize("pattern", STREAMS)
@pytest.mark.parametrize("topology", FABRICS)
def test_more_data_never_stream_in_less(topology: str, pattern: str) -> None:
    wafer = shared_topology(topology)
    groups = [[k + 4 * dp for dp in range(5)] for k in range(4)]
    times = [profile(wafer, pattern, size, groups)[0].time_s for size in SIZES]
    assert all(less <= more * (1 + 1e-12) for less, more in pairwise(times))


@examples(100)
@given(
    topology=st.sampled_from([*FABRICS, "mesh:3x3"]),
    pattern=st.sampled_from(PATTERNS),
    algorithm=st.sampled_from(["auto", *AUTOMATIC]),
    size=st.sampled_from([1.0, 1e4, 1e6, 2e6, 1e9]),
    seed=st.integers(0, 2**32),
    later=st.booleans(),
)
def test_slower_or_later_link_never_takes_less(
    topology: str, pattern: str, algorithm: str, size: float, seed: int, later: bool
) -> None:
    wafer, slow = shared_topology(topology), parse_topology(topology)
    rng = random.Random(seed)
    if algorithm not in ("auto", *fitting(wafer, pattern)):
        algorithm = "auto"
    one, factor = rng.randrange(len(slow.links)), rng.choice([1.1, 4.0, 1000.0])
    slow.links = tuple(
        link
        if i != one
        else link._replace(latency_s=factor * link.latency_s)
        if later
        else link._replace(bytes_per_s=link.bytes_per_s / factor)
        for i, link in enumerate(slow.links)
    )
    before, after = (
        run_collective(fabric, pattern, size, algorithm=algorithm).time_s
        for fabric in (wafer, slow)
    )
    assert after >= before * (1 - 1e-12)


def more_groups_take_no_less(
    wafer: Topology, pattern: str, algorithm: str, size: float, groups: list[list[int]]
) -> None:
    less, more = (
        run_collectives(wafer, pattern, size, some, algorithm=algorithm).time_s
        for some in (groups[:-1], groups)
    )
    assert more >= less * (1 - 1e-12)


def test_group_more_on_slow_links_of_a_mesh_never_takes_less() -> None:
    # Its trees use links before those that they share come to them, and behind them.
    wafer = MeshFile(kind="mesh", columns=7, rows=4, link_latency_s=1e-7).build("mesh")
    groups = [
        [4, 5, 7, 10, 12, 16, 17, 20, 26],
        [0, 25, 1],
        [2, 15],
        [3, 6, 9, 13, 14, 19, 22, 24, 27],
        [8, 21, 18, 23, 11],
    ]
    more_groups_take_no_less(wafer, "all_reduce", "double_binary_tree", 512e3, groups)


@examples(100)
@given(
    topology=st.sampled_from([*FABRICS, "mesh:7x4", BLOCKS]),
    pattern=st.sampled_from(PATTERNS),
    algorithm=st.sampled_from(["auto", *AUTOMATIC]),
    size=st.floats(1e3, 1e8),
    seed=st.integers(0, 2**32),
)
def test_group_more_never_takes_less(
    topology: str, pattern: str, algorithm: str, size: float, seed: int
) -> None:
    wafer, rng = shared_topology(topology), random.Random(seed)
    npus = rng.sample(range(wafer.npus), wafer.npus)
    counts = rng.choices(range(2, 6), k=4)
    groups = [[npus.pop() for _ in range(count)] for count in counts if count <= len(npus)]
    try:
        more_groups_take_no_less(wafer, pattern, algorithm, size, groups)
    except InputError:  # it fits not all of them
        more_groups_take_no_less(wafer, pattern, "published", size, groups)


@pytest.mark.slow_after_first
@examples(25)
@given(
    pattern=st.sampled_from(["all_reduce", "reduce_scatter", "all_gather"]),
    algorithm=st.sampled_from(["ring", "bidirectional_ring", "auto"]),
    members=st.permutations(range(6)),
    size=st.floats(1e3, 4e5),
    late_s=st.sampled_from([0.0, 1e-9, 4e-8]),
    slow=st.sampled_from([1.0, 1.1, 3.0]),
    more=st.sampled_from([1.0, 1.001, 1.2]),
)
def test_rings_of_endpoints_never_take_less_in_an_iteration(
    pattern: str,
    algorithm: str,
    members: list[int],
    size: float,
    late_s: float,
    slow: float,
    more: float,
) -> None:
    """Packet by packet some do: with more data, or on a later or a slower link."""
    base = MeshFile(kind="mesh", columns=3, rows=2, endpoint_record="endpoint")
    worse = base.model_copy(
        update={
            "link_latency_s": base.link_latency_s + late_s,
            "link_bytes_per_s": base.link_bytes_per_s / slow,
        }
    )
    groups = [members[:4], members[4:]]
    before, after = (
        profile(file.build("mesh"), pattern, data, groups, algorithm)[0].time_s
        for file, data in ((base, size), (worse, more * size))
    )
    assert after >= before * (1 - 1e-12)
