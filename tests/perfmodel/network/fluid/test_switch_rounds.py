"""Tests of perfmodel.network.fluid.switch_rounds."""

import json
import random
from pathlib import Path

import pytest

from fred_hw.compiler.placement import Strategy, strategies
from perfmodel.collectives.select import build_schedule
from perfmodel.network.fluid.switch_rounds import switch_rounds
from perfmodel.network.run import profile, run_collectives
from perfmodel.topology.fred_file import FredFile
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology, said_of
from perfmodel.training.placement.place import place
from tests.records import shipped

GIB = 1 << 30


def wafer(folder: Path, middle_switches: int, uplink: float = 12e12, npu: float = 3e12) -> Topology:
    """Return FRED-D, or with another uplink FRED-B, of switches with so many middle subswitches."""
    for name in ("l1-12", "l1-11", "l2-10"):
        record = shipped(name)
        for spec in ("spec", "measured_spec"):
            record[spec]["middle_switches"] = middle_switches
        record["name"] = record["name"].replace("_m3_", f"_m{middle_switches}_")
        (folder / f"{name}-m{middle_switches}.json").write_text(
            json.dumps(record), encoding="utf-8"
        )
    path = folder / f"wafer-{middle_switches}.yaml"
    path.write_text(
        "kind: fred\nl1:\n"
        f"  - {{count: 3, npus: 4, io_controllers: 4, record: l1-12-m{middle_switches}.json}}\n"
        f"  - {{count: 2, npus: 4, io_controllers: 3, record: l1-11-m{middle_switches}.json}}\n"
        f"l2_record: l2-10-m{middle_switches}.json\nl1_l2_bytes_per_s: {uplink}\n"
        f"npu_l1_bytes_per_s: {npu}\nin_network: true\n",
        encoding="utf-8",
    )
    return parse_topology(str(path), "ideal")


def dp_groups(topology: Topology, text: str) -> list[tuple[int, ...]]:
    strategy = Strategy.parse(text)
    placed = place(topology, strategy)
    return [group for stage in range(strategy.pp) for group in placed.dp_groups(stage)]


def rounds(topology: Topology, groups: list[tuple[int, ...]]) -> list[tuple[str, int]]:
    """Return the switches of all rounds, each with its flows."""
    schedule = build_schedule(topology, "all_reduce", groups, 1.0)
    found = switch_rounds(topology, schedule.groups)
    return [(topology.nodes[one.switch].name, len(one.messages)) for one in found]


def test_published_placement_needs_no_turns_with_three_middle_subswitches() -> None:
    fabric = parse_topology("fred-d", "ideal")
    for strategy in strategies(20):
        groups = dp_groups(fabric, str(strategy))
        if strategy.dp > 1 and len(groups) > 1:
            assert rounds(fabric, groups) == [], strategy


def test_two_middle_subswitches_make_flows_take_turns(tmp_path: Path) -> None:
    two, three = wafer(tmp_path, 2), wafer(tmp_path, 3)
    groups = dp_groups(three, "MP1-DP2-PP3")  # 0 and 3, 1 and 4, 2 and 5
    assert groups == [(0, 3), (1, 4), (2, 5)]
    assert rounds(two, groups) == [("l1_0", 2), ("l1_0", 1)]
    assert rounds(three, groups) == []
    once, twice = (
        run_collectives(one, "all_reduce", GIB, groups, algorithm="in_network")
        for one in (three, two)
    )
    assert twice.time_s == pytest.approx(2 * once.time_s, rel=0.01)
    assert twice.bottleneck.link == "l1_0 turns"
    assert all("turns" not in load.link for load in once.links)


def test_flows_of_one_port_share_its_bandwidth_and_take_no_turns(tmp_path: Path) -> None:
    # Four groups over the uplinks of FRED-B, each of which has 1.5 TB/s.
    narrow = wafer(tmp_path, 2, uplink=1.5e12)
    groups = [(i, i + 4, i + 8) for i in range(4)]
    assert rounds(narrow, groups) == []
    found = run_collectives(narrow, "all_reduce", GIB, groups, algorithm="in_network")
    assert found.time_s == pytest.approx(4 * GIB / 1.5e12, rel=0.02)


def test_groups_of_other_stages_need_paths_too(tmp_path: Path) -> None:
    two = wafer(tmp_path, 2)
    stages = dp_groups(two, "MP1-DP2-PP3")
    alone, _ = profile(two, "all_reduce", GIB, stages[:1])
    beside, _ = profile(two, "all_reduce", GIB, stages[:1], beside=stages[1:])
    assert beside.time_s == pytest.approx(alone.time_s, rel=1e-3)
    served = two.turns_index(two.node_index["l1_0"])
    assert served in dict(beside.loads) and served not in dict(alone.loads)


def test_unicasts_and_lone_groups_take_no_turns(tmp_path: Path) -> None:
    two = wafer(tmp_path, 2)
    schedule = build_schedule(two, "all_to_all", [(0, 3), (1, 4), (2, 5)], 1.0)
    assert switch_rounds(two, schedule.groups) == []
    schedule = build_schedule(two, "reduce_scatter", [tuple(range(20))], 1.0)
    assert switch_rounds(two, schedule.groups) == []


def test_fabric_that_only_routes_has_no_turns() -> None:
    said = {**(said_of("fred-c") or {}), "multicast": False}
    assert FredFile.model_validate(said).build("routed").interconnects == {}
    assert parse_topology("fred-c", "ideal").interconnects  # forks multicasts


def test_ports_are_dealt_to_the_links_of_a_switch() -> None:
    fabric = parse_topology("fred-d", "ideal")
    inside = fabric.interconnects[fabric.node_index["l1_0"]]
    counts = {fabric.nodes[one].name: len(ports) for one, ports in inside.ports_of.items()}
    assert counts == {f"{kind}_{i}": 1 for kind in ("npu", "io") for i in range(4)} | {"l2": 4}
    assert (inside.ports, inside.middle_switches, inside.bytes_per_s) == (12, 3, 3e12)
    top = fabric.interconnects[fabric.node_index["l2"]]
    assert [len(ports) for ports in top.ports_of.values()] == [2] * 5


@pytest.mark.slow_after_first
@pytest.mark.parametrize("seed", range(12))
def test_nothing_that_costs_more_saves_turns(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    npus = rng.sample(range(20), 20)
    members = rng.randint(2, 4)
    groups = [tuple(npus[i : i + members]) for i in range(0, 5 * members, members)]

    def time_s(middle_switches: int = 2, count: int = 5, **rates: float) -> float:
        topology = wafer(tmp_path, middle_switches, **rates)
        return run_collectives(topology, "all_reduce", GIB, groups[:count]).time_s

    least = time_s() * (1 - 1e-9)
    assert time_s(middle_switches=3) <= time_s()
    assert time_s(count=4) <= time_s()
    for factor in (1.01, 1.3, 2, 7):
        assert time_s(uplink=12e12 / factor) >= least
        assert time_s(npu=3e12 / factor) >= least
