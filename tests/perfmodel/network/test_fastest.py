"""The algorithm that `auto` takes is never slower than any that fits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.algorithms import direct as direct_module
from perfmodel.collectives.bounds import any_s, latency_s
from perfmodel.collectives.guidelines import GUIDELINES, Stage
from perfmodel.collectives.schedule import PATTERNS, Schedule
from perfmodel.collectives.select import build_schedule
from perfmodel.network.run import CollectiveResult, profile, run_collective, run_collectives
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology, shared_topology
from tests.examples import examples

Groups = Sequence[Sequence[int]]

EXAMPLES = Path(__file__).parents[3] / "examples"
GIB = 1 << 30
WAFERS = [*FABRICS, "mesh:3x3", "mesh:4x4", "mesh:6x1", "mesh:2x5"]
WAFERS.append(str(Path(__file__).parents[1] / "collectives" / "blocks.yaml"))


@pytest.mark.parametrize(
    ("topology", "group", "one", "both"),
    [("mesh:4x4", range(16), 2684.4, 1342.2), ("mesh:5x4", [0, 1, 5, 6], 2147.5, 1073.7)],
)
def test_second_ring_uses_the_other_direction_of_all_links(
    topology: str, group: list[int], one: float, both: float
) -> None:
    mesh = shared_topology(topology, "ideal")
    names = {"ring": one, "bidirectional_ring": both, "auto": both, "published": one}
    if len(group) == mesh.npus:
        names["published"] = both  # in two dimensions
    for name, time_us in names.items():
        found = run_collective(mesh, "all_reduce", GIB, group, algorithm=name)
        assert found.time_s * 1e6 == pytest.approx(time_us, rel=1e-3), name


@examples(60)
@given(data=st.data())
def test_auto_is_never_slower_than_any_algorithm(data: st.DataObject) -> None:
    wafer = shared_topology(data.draw(st.sampled_from(WAFERS)))
    order = data.draw(st.permutations(range(wafer.npus)))
    size = data.draw(st.integers(2, wafer.npus))
    count = data.draw(st.integers(1, wafer.npus // size))
    groups = [order[i * size : (i + 1) * size] for i in range(count)]
    pattern = data.draw(st.sampled_from(PATTERNS))
    size_bytes = 2.0 ** data.draw(st.floats(0, 34))

    def run(algorithm: str) -> CollectiveResult:
        return run_collectives(wafer, pattern, size_bytes, groups, algorithm=algorithm)

    auto = run("auto")
    tried = 0
    for name in ("published", *(name for name, one in ALGORITHMS.items() if one.automatic)):
        try:
            other = run(name)
        except InputError:
            continue  # it does not fit
        tried += 1
        assert auto.time_s <= other.time_s, name
    assert tried >= 5
    assert auto.time_s == run(auto.algorithm_name).time_s


@pytest.mark.slow_after_first
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("size_bytes", [64.0, 1e4, 1e6, 1e9])
def test_auto_is_never_slower_than_messages_for_each_pair_of_many(
    pattern: str, size_bytes: float
) -> None:
    mesh = shared_topology("mesh:13x5")
    groups = [range(65)]
    auto = run_collective(mesh, pattern, size_bytes, algorithm="auto")
    direct = run_collective(mesh, pattern, size_bytes, algorithm="direct")
    assert direct_module.least_s(mesh, pattern, groups, size_bytes) <= direct.time_s
    assert auto.time_s <= direct.time_s
    assert profile(mesh, pattern, size_bytes, groups, "auto")[0].time_s == auto.time_s


def test_many_messages_are_built_where_they_may_be_fastest_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[str] = []
    real = build_schedule

    def build(*arguments: Any, **options: Any) -> Schedule:
        built.append(arguments[4])
        return real(*arguments, **options)

    monkeypatch.setattr("perfmodel.network.prepared.build_schedule", build)
    mesh = shared_topology("mesh:13x5")
    assert run_collective(mesh, "all_gather", 1e9).algorithm_name != "direct"
    assert built and "direct" not in built
    assert run_collective(mesh, "all_gather", 1e3).algorithm_name == "direct"
    assert "direct" in built


@examples(120)
@given(data=st.data())
def test_no_collective_takes_less_than_its_bound(data: st.DataObject) -> None:
    wafer = shared_topology(data.draw(st.sampled_from(WAFERS)))
    order = data.draw(st.permutations(range(wafer.npus)))
    size = data.draw(st.integers(2, wafer.npus))
    groups = [order[i : i + size] for i in range(0, wafer.npus - size + 1, size)]
    if data.draw(st.booleans()):
        groups = [list(range(wafer.npus))]
    pattern = data.draw(st.sampled_from(PATTERNS))
    name = data.draw(st.sampled_from([*ALGORITHMS]))
    one, size_bytes = ALGORITHMS[name], 2.0 ** data.draw(st.floats(0, 34))
    if pattern not in one.patterns or not all(one.fits(wafer, group) for group in groups):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct_module, "_QUICK", 1)
        bound_s = one.least_s(wafer, pattern, groups, size_bytes)
    found = run_collectives(wafer, pattern, size_bytes, groups, algorithm=name)
    assert 0 <= bound_s <= found.time_s * (1 + 1e-9)
    if name not in ("in_network", "multicast", "multicasts"):
        assert bound_s > 0
    assert any_s(wafer, pattern, groups, size_bytes) <= found.time_s * (1 + 1e-9)


def test_bounds_leave_out_what_is_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switches that reduce move half of what NPUs have to send."""
    built: list[str] = []
    real = build_schedule

    def build(*arguments: Any, **options: Any) -> Schedule:
        built.append(arguments[4])
        return real(*arguments, **options)

    monkeypatch.setattr("perfmodel.network.prepared.build_schedule", build)
    found = run_collective(parse_topology("fred-d"), "all_reduce", GIB)
    assert found.algorithm_name == "published" and built[0] == "published"
    assert not {"ring", "direct", "halving_doubling", "double_binary_tree"} & {*built}


@pytest.mark.parametrize("pattern", ["all_reduce", "all_to_all"])
def test_a_thousand_npus_have_no_message_for_each_pair(pattern: str) -> None:
    mesh = shared_topology("mesh:32x32")
    for name in ("halving_doubling", "double_binary_tree"):
        found = build_schedule(mesh, pattern, [range(1024)], 1.0, name, lockstep=True)
        assert len(found.messages) <= 20 * 1024


CONSISTENT = [
    *WAFERS,
    str(EXAMPLES / "mesh-switch-20.yaml"),
    str(EXAMPLES / "fred-d-endpoints.yaml"),
    str(EXAMPLES / "mesh-5x4-endpoints.yaml"),
    "wafers:2xmesh:2x2",
]
"""Topologies on which the guidelines hold; groups of 64 or more have cases of their own."""


def stage_s(wafer: Topology, stage: Stage, size: float, groups: Groups, *, last: bool) -> float:
    """Return the time of a collective that stands in a sequence, until the next may begin."""
    size *= max(map(len, groups)) if stage.whole else 1
    found, _ = profile(wafer, stage.pattern, size, groups, "auto")
    return found.time_s + (0.0 if last else found.ack_s)


@pytest.mark.slow_after_first
@examples(150)
@given(data=st.data())
def test_no_pattern_is_slower_than_others_that_do_its_work(data: st.DataObject) -> None:
    wafer = shared_topology(data.draw(st.sampled_from(CONSISTENT)))
    order = data.draw(st.permutations(range(wafer.npus)))
    size = data.draw(st.integers(2, wafer.npus))
    count = data.draw(st.integers(1, min(3, wafer.npus // size)))
    groups = [order[i * size : (i + 1) * size] for i in range(count)]
    if data.draw(st.booleans()):
        groups = [list(range(wafer.npus))]
    pattern, stages = data.draw(st.sampled_from(GUIDELINES))
    size_bytes = 2.0 ** data.draw(st.floats(0, 36))
    own_s = profile(wafer, pattern, size_bytes, groups, "auto")[0].time_s
    others_s = sum(
        stage_s(wafer, stage, size_bytes, groups, last=place == len(stages) - 1)
        for place, stage in enumerate(stages)
    )
    assert own_s <= others_s * (1 + 1e-9)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("topology", "size_bytes"),
    [
        *((str(EXAMPLES / "torus-64.yaml"), size) for size in (1.0, 65536.0, 4 << 20, 64 * GIB)),
        *(("mesh:9x9", size) for size in (1.0, 65536.0, 64 * GIB)),
        ("torus:9x9", 1.0),
    ],
)
@pytest.mark.parametrize(("pattern", "stages"), GUIDELINES)
def test_a_large_group_has_no_pattern_slower_than_others_that_do_its_work(
    topology: str, size_bytes: float, pattern: str, stages: tuple[Stage, ...]
) -> None:
    fabric = shared_topology(topology)
    groups = [range(fabric.npus)]
    own_s = profile(fabric, pattern, size_bytes, groups, "auto")[0].time_s
    others = enumerate(stages, 1)
    assert own_s <= (1 + 1e-9) * sum(
        stage_s(fabric, stage, size_bytes, groups, last=place == len(stages))
        for place, stage in others
    )


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("topology", FABRICS)
def test_a_byte_takes_little_more_than_the_latency_of_the_longest_path(
    topology: str, pattern: str
) -> None:
    wafer = shared_topology(topology)
    found = run_collective(wafer, pattern, 1.0)
    assert found.time_s <= 1.001 * latency_s(wafer, pattern, [range(wafer.npus)])


def test_large_groups_have_an_all_reduce_in_place_of_others() -> None:
    mesh = shared_topology("mesh:9x9")
    reduced = run_collective(mesh, "all_reduce", GIB)
    found = run_collective(mesh, "broadcast", GIB)
    assert found.algorithm_name == "all_reduce:published" and found.time_s == reduced.time_s


def test_groups_with_a_common_member_have_no_all_reduce_in_place_of_others() -> None:
    wafer = shared_topology("mesh:5x4")
    found = run_collectives(wafer, "broadcast", 1e9, [[0, 8, 9], [8, 16, 17]])
    assert ":" not in found.algorithm_name
