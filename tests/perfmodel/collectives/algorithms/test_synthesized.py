"""Tests of perfmodel.collectives.algorithms.synthesized."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.collectives import select
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.replay import replay
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import MAX_SEARCHED, build_schedule, candidates, left_out
from perfmodel.network.prepared import Prepared, Request, prepare
from perfmodel.network.run import profile, run_collective, run_collectives
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology, shared_topology
from tests.examples import examples
from tests.perfmodel.collectives.forests import random_network

LINKS = str(Path(__file__).parents[4] / "examples" / "links-6.yaml")
NAMES = ["torus:4x3", "mesh:3x4", pytest.param(LINKS, id="links"), "fred-a"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_all_members_end_with_their_data(name: str, pattern: str) -> None:
    topology = parse_topology(name)
    replay(build_schedule(topology, pattern, [range(topology.npus)], 1e6, "synthesized"))


@pytest.mark.slow_after_first
@examples(20)
@given(data=st.data())
def test_it_is_never_slower_than_any_other(data: st.DataObject) -> None:
    topology = shared_topology(data.draw(st.sampled_from(["torus:4x2", "mesh:3x3", LINKS])))
    order = data.draw(st.permutations(range(topology.npus)))
    groups = [order[: data.draw(st.integers(2, topology.npus))]]
    pattern = data.draw(st.sampled_from(PATTERNS))
    size_bytes = 2.0 ** data.draw(st.floats(0, 34))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(select, "MAX_SEARCHED", data.draw(st.sampled_from([4, MAX_SEARCHED])))
        found = run_collectives(topology, pattern, size_bytes, groups, algorithm="synthesized")
    for name in candidates(topology, pattern, groups, automatic=False):
        other = run_collectives(topology, pattern, size_bytes, groups, algorithm=name)
        assert found.time_s <= other.time_s, name
    details = found.details
    own, fixed = (float(details[name]) for name in ("synthesized_time_s", "fixed_time_s"))
    assert found.time_s == min(own, fixed)
    assert details["fell_back"] == (fixed < own)
    assert found.algorithm_name == (
        details["fixed_algorithm"] if details["fell_back"] else "synthesized"
    )


@pytest.mark.parametrize(
    ("name", "pattern", "gain"),
    [
        ("torus:3x2", "broadcast", 1.032),
        ("mesh:3x3", "all_reduce", 1.141),
        pytest.param(LINKS, "all_to_all", 1.333, id="links-all_to_all-1.333"),
    ],
)
def test_a_plan_that_is_faster_than_all_others_runs(name: str, pattern: str, gain: float) -> None:
    topology = parse_topology(name)
    group = range(topology.npus)
    found = run_collective(topology, pattern, 1e8, group, algorithm="synthesized")
    assert (found.algorithm_name, found.details["fell_back"]) == ("synthesized", False)
    assert found.time_s == found.details["synthesized_time_s"]
    others = {"auto", *candidates(topology, pattern, [group], automatic=False)} - {"synthesized"}
    fixed_s = min(
        run_collective(topology, pattern, 1e8, group, algorithm=one).time_s for one in others
    )
    assert found.details["fixed_time_s"] == fixed_s
    assert fixed_s / found.time_s == pytest.approx(gain, abs=0.001)


@pytest.mark.parametrize("seed", range(12))
def test_groups_of_random_networks_end_with_their_data_and_never_wait_longer(seed: int) -> None:
    rng = Random(seed)
    network = random_network(rng, rates=rng.choice([(1e12,), (1e12, 5e11), (1e12, 1.1e12, 1e10)]))
    members = rng.sample(range(network.npus), network.npus)
    groups = [members[i::2] for i in range(2)] if network.npus > 3 else [members]
    pattern = PATTERNS[seed % len(PATTERNS)]
    for name in ("multitree", "multitree_full_slots", "synthesized"):
        if pattern in ALGORITHMS[name].patterns:
            replay(build_schedule(network, pattern, groups, 1e6, name))
    size_bytes = 2.0 ** rng.randint(0, 30)
    found = run_collectives(network, pattern, size_bytes, groups, algorithm="synthesized")
    assert found.time_s <= float(found.details["fixed_time_s"])


def test_a_torus_is_used_without_a_pause() -> None:
    found = run_collective(parse_topology("torus:4x4"), "all_reduce", 1e8, algorithm="synthesized")
    assert (found.algorithm_name, found.details["link_utilization"]) == ("synthesized", 1.0)
    assert found.details["steps"] == 30 and found.details["shards"] == 64


def test_it_falls_back_to_what_switches_do() -> None:
    fred, group = parse_topology("fred-d"), [0, 1, 4, 5]
    found = run_collective(fred, "all_reduce", 1e8, group, algorithm="synthesized")
    assert found.algorithm == "in-network" and found.details["fell_back"] is True
    own, fixed = (found.details[name] for name in ("synthesized_time_s", "fixed_time_s"))
    assert float(own) > found.time_s == fixed


FALL_BACKS = {
    "mesh:4x4": {"broadcast", "reduce", "all_to_all"},
    "torus:4x4": set[str](),
    "mesh:5x4": {"broadcast", "reduce", "all_to_all"},
    "fred-d": {*PATTERNS},
}
"""Patterns by network that docs/explanation/schedules.md names: another algorithm is faster."""


SLOW_NAMES = [pytest.param(name, marks=pytest.mark.slow) for name in ("torus:8x8", "fred-d")]


@pytest.mark.parametrize("name", [*list(FALL_BACKS)[:-1], SLOW_NAMES[-1]])
def test_it_falls_back_where_the_page_says(name: str) -> None:
    topology = parse_topology(name)
    found = {
        pattern: run_collective(topology, pattern, 64 << 20, algorithm="synthesized").details
        for pattern in PATTERNS
    }
    assert {pattern for pattern, one in found.items() if one["fell_back"]} == FALL_BACKS[name]


@pytest.mark.parametrize("name", ["mesh:4x4", "torus:4x4", *SLOW_NAMES])
def test_page_has_the_times_of_all_reduces(name: str) -> None:
    page = (Path(__file__).parents[4] / "docs/explanation/schedules.md").read_text("utf-8")
    [line] = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
    topology = parse_topology(name)
    found = [
        run_collective(topology, "all_reduce", 64 << 20, algorithm=algorithm)
        for algorithm in ("auto", "multitree_full_slots", "synthesized")
    ]
    assert found[-1].time_s == min(one.time_s for one in found)
    cells = [f"{one.time_s * 1e6:.1f} µs" for one in found]
    if found[-1].details["fell_back"]:
        cells = [f"{cells[0]} *", "not better", "not better"]
    else:
        cells[-1] += " *"
    assert [cell.strip() for cell in line.strip("|").split("|")[1:]] == cells


def test_training_takes_the_faster_one_too() -> None:
    for name in ("torus:4x4", "mesh:3x3"):
        topology = parse_topology(name)
        groups = [range(topology.npus)]
        times = [
            profile(topology, "all_reduce", 1e8, groups, algorithm)[0].time_s
            for algorithm in ("synthesized", "auto")
        ]
        assert times[0] <= times[1]


def test_auto_leaves_out_algorithms_that_take_long_for_large_groups() -> None:
    few, many = (
        [
            candidates(parse_topology(name), "all_gather", [range(count)], automatic=False),
            left_out(parse_topology(name), "all_gather", [range(count)]),
        ]
        for name, count in (("torus:16x16", MAX_SEARCHED), ("torus:257x2", MAX_SEARCHED + 1))
    )
    assert "multitree" in few[0] and few[1] == []
    assert "multitree" not in many[0] and "multitree" in many[1]
    assert "synthesized" not in few[0] + many[1]


@pytest.mark.parametrize(("size_bytes", "fastest"), [(64 << 10, "multitree"), (64 << 20, "themis")])
def test_it_is_never_slower_than_what_auto_leaves_out(
    size_bytes: int, fastest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torus = parse_topology("torus:5x4")
    times = {
        name: run_collective(torus, "all_gather", size_bytes, algorithm=name).time_s
        for name in candidates(torus, "all_gather", [range(20)], automatic=False)
    }
    monkeypatch.setattr(select, "MAX_SEARCHED", 19)
    found = run_collective(torus, "all_gather", size_bytes, algorithm="synthesized")
    assert found.details["fixed_algorithm"] == fastest
    assert found.details["fixed_time_s"] == min(times.values())


@pytest.mark.parametrize(("network_model", "built"), [("fluid", True), ("unaware", False)])
def test_what_auto_leaves_out_is_built_only_with_lower_bounds(
    network_model: str, built: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torus, names = parse_topology("torus:5x4"), set[str]()

    def recorded(topology: Topology, asked: Request) -> Prepared:
        names.add(asked.algorithm)
        return prepare(topology, asked)

    monkeypatch.setattr(select, "MAX_SEARCHED", 19)
    monkeypatch.setattr("perfmodel.network.fastest.prepare", recorded)
    run_collective(
        torus, "all_gather", 64 << 10, algorithm="synthesized", network_model=network_model
    )
    late = left_out(torus, "all_gather", [range(20)])
    assert "multitree" in late and bool(names & {*late}) == built


@pytest.mark.slow
def test_it_is_never_slower_than_multitree_in_a_large_group() -> None:
    mesh = parse_topology("mesh:33x9")
    found, *others = (
        run_collective(mesh, "all_gather", 64 << 10, algorithm=name)
        for name in ("synthesized", "multitree", "multitree_full_slots")
    )
    assert found.details["fell_back"] is True and mesh.npus > MAX_SEARCHED
    assert found.details["fixed_algorithm"] == "multitree_full_slots"
    assert found.time_s == min(one.time_s for one in others)
    assert found.time_s == pytest.approx(1.530e-6, rel=1e-3)


def test_too_many_pairs_are_refused() -> None:
    message = r"^group: must have at most 256 NPUs in an all-to-all with synthesized, not 272$"
    with pytest.raises(InputError, match=message):
        build_schedule(
            parse_topology("torus:17x16"), "all_to_all", [range(272)], 1.0, "synthesized"
        )
