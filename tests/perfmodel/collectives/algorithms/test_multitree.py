"""Tests of perfmodel.collectives.algorithms.multitree."""

from itertools import pairwise
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.replay import replay
from perfmodel.collectives.select import build_schedule
from perfmodel.network.model import NETWORK_MODELS
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology

LINKS = str(Path(__file__).parents[4] / "examples" / "links-6.yaml")


@pytest.mark.parametrize("algorithm", ["multitree", "multitree_full_slots"])
@pytest.mark.parametrize(
    "name", ["torus:4x3", "mesh:3x5", "torus:2x2x2", pytest.param(LINKS, id="links"), "fred-d"]
)
@pytest.mark.parametrize("pattern", ["all_reduce", "reduce_scatter", "all_gather"])
def test_all_members_end_with_their_data(name: str, pattern: str, algorithm: str) -> None:
    topology = parse_topology(name)
    replay(build_schedule(topology, pattern, [range(topology.npus)], 1e6, algorithm))


def test_groups_that_are_scattered_run_at_once() -> None:
    groups = [[0, 5, 10, 15], [3, 6, 9, 12]]
    replay(build_schedule(parse_topology("mesh:4x4"), "all_reduce", groups, 1e6, "multitree"))


def test_result_has_steps_and_utilization() -> None:
    found = run_collective(
        parse_topology("torus:4x4"), "all_reduce", 1 << 20, algorithm="multitree"
    )
    assert found.details == {"steps": 5, "link_utilization": 0.75}


def test_time_is_that_of_the_steps_where_data_are_not_cut() -> None:
    """Each of 2T steps takes a latency and a chunk at most, on links that are never shared."""
    size = 16e6
    torus = parse_topology("torus:4x4", "ideal")
    found = run_collective(torus, "all_reduce", size, chunks=1, algorithm="multitree")
    link = torus.links[0]
    assert found.time_s <= 2 * 5 * (size / 16 / link.bytes_per_s + link.latency_s)
    # and no link carries less than the mean
    assert found.time_s >= 2 * 240 / 64 * size / 16 / link.bytes_per_s


def test_a_torus_of_8x8_is_faster_than_a_ring_by_what_is_published() -> None:
    torus = parse_topology("torus:8x8", "ideal")
    ring, trees = (
        run_collective(torus, "all_reduce", 16 << 20, chunks=1, algorithm=name).time_s
        for name in ("ring", "multitree")
    )
    assert 2.9 <= ring / trees <= 3.8  # published: about 3


@pytest.mark.parametrize("algorithm", ["multitree", "synthesized"])
def test_more_data_never_take_less(algorithm: str) -> None:
    mesh = parse_topology("mesh:3x3")
    sizes = [2.0 ** (i / 2) for i in range(68)]
    times = [run_collective(mesh, "all_reduce", one, algorithm=algorithm).time_s for one in sizes]
    assert all(less <= more * (1 + 1e-12) for less, more in pairwise(times))


def test_other_patterns_are_refused() -> None:
    message = r"^pattern: must be one of all_reduce, reduce_scatter, all_gather with multitree, not"
    with pytest.raises(InputError, match=message):
        run_collective(parse_topology("mesh:2x2"), "broadcast", 1e6, algorithm="multitree")


def test_what_interfaces_need_is_said() -> None:
    found = run_collective(parse_topology("mesh:2x2"), "all_reduce", 1e6, algorithm="multitree")
    assert any("table" in one for one in found.provenance.assumptions)


def test_auto_does_not_try_it() -> None:
    mesh = parse_topology("mesh:5x4")
    auto = run_collective(mesh, "all_reduce", 1e8)
    assert run_collective(mesh, "all_reduce", 1e8, algorithm="multitree").time_s < auto.time_s


@pytest.mark.parametrize("algorithm", ["multitree", "synthesized"])
@pytest.mark.parametrize("network_model", ["packet", "unaware", "aware"])
def test_no_network_model_beats_the_links_of_an_npu(network_model: str, algorithm: str) -> None:
    torus, size = parse_topology("torus:3x2", "ideal"), 2.0**24
    replay(build_schedule(torus, "all_reduce", [range(6)], size, algorithm))
    found = run_collective(
        torus, "all_reduce", size, algorithm=algorithm, network_model=network_model
    )
    rate = torus.links[0].bytes_per_s
    if NETWORK_MODELS[network_model].never_faster_than_links:
        assert found.time_s >= 2 * 5 / 6 * size / (3 * rate)  # an NPU has three links
    assert found.time_s >= 2 * size / 6 / rate  # two messages of a shard follow each other
