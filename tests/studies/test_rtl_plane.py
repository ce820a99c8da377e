"""Tests of studies.rtl_plane: the model of a plane is compared with cycles of the RTL."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from fred_hw.compiler.placement import Strategy, phases
from fred_hw.errors import InputError
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.storage import storage_phases
from perfmodel.switch_timing.record import RECORDS
from studies.rtl import RtlRow, groups_of, summaries
from studies.rtl_plane import (
    groups_in,
    load_plane_cycles,
    plane_against_rtl,
    plane_topology,
)
from studies.rtl_shipped import shipped_against_rtl
from tests.records import shipped
from tests.studies.sampled import NPUS, draw
from tests.written import written

pytestmark = pytest.mark.xdist_group("report")  # which computes the same

STRATEGIES = {
    strategy: {
        "in-network": set(phases(Strategy.parse(strategy))),
        "ring": {
            step.rpartition("_")[0] if step.startswith("sp_") else step
            for step in phases(Strategy.parse(strategy))
        },
    }
    for strategy in (
        "MP2-DP5-PP2",
        "MP3-DP3-PP2",
        "MP20-DP1-PP1",
        "MP4-DP5-PP1-SP",
        "MP3-DP3-PP2-SP",
        "MP2-DP10-PP1-EP2",
        "MP4-DP4-PP1-EP4",
    )
}
"""Phases of each strategy by who does them: endpoints scatter and gather in one."""


def test_all_kinds_of_phases_have_been_measured_at_four_sizes() -> None:
    rows = load_plane_cycles().rows
    assert {row.flits for row in rows} == {128, 512, 2048, 8192}
    found = {(row.strategy, row.phase, row.collectives, row.flits) for row in rows}
    wanted = {
        (strategy, phase, how, flits)
        for strategy, does in STRATEGIES.items()
        for how, compiled in does.items()
        for phase in compiled
        for flits in (128, 512, 2048, 8192)
    }
    assert found == wanted


STORED = ("MP2-DP5-PP2", "MP3-DP3-PP2", "MP20-DP1-PP1", "MP1-DP20-PP1")


def test_loads_and_stores_are_within_tolerance_of_the_rtl() -> None:
    """None is missed: groups of five NPUs on as many L1s, of three, of one and of all twenty."""
    rows = shipped_against_rtl("wafer-20-controllers").rows
    assert {(row.strategy, row.phase, row.flits) for row in rows} == {
        (strategy, phase, flits)
        for strategy in STORED
        for phase in ("load_0", "store_0")
        for flits in (128, 512, 2048, 8192)
    }
    assert [row for row in rows if not row.ok] == []
    (told,) = (one for one in summaries(rows) if one.what == "all")
    assert told.rows == 32 and told.worst <= 0.03 and told.mean <= 0.01


@pytest.mark.slow
def test_links_of_half_a_port_are_within_tolerance() -> None:
    """Also six rings that share links up two by two, whose links are full from begin to end."""
    rows, in_network = (shipped_against_rtl(f"wafer-20-{one}").rows for one in "ab")
    assert {(row.strategy, row.collectives) for row in rows} == {(s, "ring") for s in PUBLISHED}
    (told,) = (one for one in summaries(rows) if one.what == "all")
    assert told.ok == told.rows == 36 and told.worst <= 0.04
    assert told.mean <= 0.01
    own = {(row.strategy, row.phase, row.flits): row for row in rows}
    assert abs(own["MP3-DP3-PP2", "dp_all_reduce", 8192].error) <= 0.01
    assert {(row.strategy, row.phase, row.flits) for row in in_network} == {*own}
    assert {row.collectives for row in in_network} == {"in-network"}
    (told,) = (one for one in summaries(in_network) if one.what == "all")
    assert told.ok == len(in_network) == 36 and told.worst <= 0.067 and told.mean <= 0.015


def test_ends_of_a_plane_are_nodes_of_the_model() -> None:
    """NPUs of an L1 come first there, then its controllers, whose addresses are behind all NPUs."""
    record = load_plane_cycles(RECORDS / "wafer-20-controllers.json")
    topology = plane_topology(record, in_network=True)
    assert topology.npus == 38 and topology.io_nodes == ()
    (row,) = (
        one
        for one in record.rows
        if (one.strategy, one.phase, one.flits) == ("MP2-DP5-PP2", "store_0", 128)
    )
    plane = Plane(record.spec)
    flows = storage_phases(plane, Strategy.parse(row.strategy))[row.phase]
    pattern, groups = groups_in(record.spec)(row)
    assert pattern == "reduce" and len(groups) == len(flows) == 4
    l1s = topology.l1_nodes
    for flow, (root, *members) in zip(flows, groups, strict=True):
        places = [plane.units[plane.homes[end][0]].name for end in (*flow.outputs, *flow.inputs)]
        assert places == [f"l1_{l1s.index(topology.switch_of[one])}" for one in (root, *members)]
    # Of NPUs alone a node has the number of the NPU.
    usual = load_plane_cycles()
    assert groups_in(usual.spec)(usual.rows[0]) == groups_of(
        Strategy.parse(usual.rows[0].strategy), usual.rows[0].phase
    )


PUBLISHED = ("MP2-DP5-PP2", "MP3-DP3-PP2", "MP20-DP1-PP1")


def test_the_model_is_within_tolerance_of_the_rtl() -> None:
    """3 % over 10,000 cycles, else 10 % or 60 cycles."""
    rows = shipped_against_rtl("wafer-20").rows
    assert [row for row in rows if not row.ok] == []
    told = {one.what: one for one in summaries(rows)}
    assert told["in-network"].worst <= 0.03 and told["in-network"].mean <= 0.011
    assert told["ring"].worst <= 0.09 and told["ring"].mean <= 0.025
    published = [row for row in rows if row.strategy in PUBLISHED]
    told_of = {one.what: one for one in summaries(published)}
    assert told_of["in-network"].rows == 36 and told_of["in-network"].mean <= 0.01
    assert told["all"].mean <= 0.017


SAMPLE = draw(1)


def test_strategies_drawn_at_random_are_within_tolerance_of_the_rtl() -> None:
    rows = shipped_against_rtl("wafer-20-sampled").rows
    for row in rows:
        assert row.ok, row
    told = {one.what: one for one in summaries(rows)}
    assert told["in-network"].worst <= 0.03 and told["in-network"].mean <= 0.011
    assert told["ring"].mean <= 0.025


def test_all_phases_of_the_strategies_drawn_have_been_measured() -> None:
    record = load_plane_cycles(RECORDS / "wafer-20-sampled.json")
    assert {(row.strategy, row.phase, row.collectives, row.flits) for row in record.rows} == {
        (strategy, phase, how, flits)
        for strategy in SAMPLE.strategies
        for phase in phases(Strategy.parse(strategy))
        for how in ("in-network", "ring")
        for flits in SAMPLE.flits
    }


@pytest.mark.slow
def test_drawn_strategies_are_of_all_kinds() -> None:
    """Groups of five and seven, pipelines of three and four stages, groups on three L1s."""
    for seed in range(20):
        found = [Strategy.parse(one) for one in draw(seed).strategies]
        assert len({*found}) == 10 and all(12 <= one.workers <= NPUS for one in found)
        assert {5, 7} <= {one.mp for one in found} and {3, 4} <= {one.pp for one in found}
        assert sum(9 <= one.mp <= 12 for one in found) >= 2
        assert not {*draw(seed).strategies} & {*STRATEGIES}
    assert draw(1) == SAMPLE != draw(2)


def measured(
    folder: Path, strategy: str, cycles: Mapping[tuple[str, int], int]
) -> tuple[RtlRow, ...]:
    """Return cycles by phase and flits, by endpoints, compared with the model."""
    data = shipped("wafer-20")
    row = {"strategy": strategy, "collectives": "ring"}
    data["rows"] = [
        {**row, "phase": phase, "flits": flits, "cycles": found}
        for (phase, flits), found in cycles.items()
    ]
    return plane_against_rtl(load_plane_cycles(written(folder / "cycles.json", data)))


RINGS_OF_FIVE = {1024: (3_776, 4_220), 1500: (4_016, 6_032), 2048: (6_272, 8_056)}
"""Cycles in RTL by flits, with routes of the strategy and with default ones: two
rings that meet on an L1 have a link each, or share one."""


@pytest.mark.parametrize("shares", [False, True])
def test_the_model_has_the_links_that_rings_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: bool
) -> None:
    """With all links for both rings it would take a third less than the RTL with default routes."""
    if shares:
        monkeypatch.setattr("fred_hw.wafer.program.shared_out", lambda *_: {})
    cycles = {("mp_all_reduce", flits): rtl[shares] for flits, rtl in RINGS_OF_FIVE.items()}
    rows = measured(tmp_path, "MP5-DP2-PP2", cycles)
    assert [abs(row.error) < 0.02 for row in rows] == [True] * 3


def test_the_model_knows_where_two_unicasts_share_a_link(tmp_path: Path) -> None:
    """All-to-alls of five experts: in the last two of four turns two NPUs need the same link."""
    rtl = {1: 9_948, 2: 9_952, 3: 19_732, 4: 19_724}
    cycles = {(f"ep_all_to_all_{turn}", 8192): found for turn, found in rtl.items()}
    rows = measured(tmp_path, "MP1-DP20-PP1-EP5", cycles)
    assert all(row.ok for row in rows), rows


def test_what_is_wrong_by_more_is_told(tmp_path: Path) -> None:
    """Cycles that were others would be missed: the tolerances can fail."""
    data = shipped("wafer-20")
    data["rows"] = data["rows"][:4]
    for row in data["rows"]:
        row["cycles"] = round(row["cycles"] * 1.25) + 100
    assert not any(
        row.ok
        for row in plane_against_rtl(load_plane_cycles(written(tmp_path / "cycles.json", data)))
    )


def test_errors_are_summed_up(tmp_path: Path) -> None:
    data = shipped("wafer-20")
    data["rows"] = [row for row in data["rows"] if row["strategy"] == "MP20-DP1-PP1"]
    rows = plane_against_rtl(load_plane_cycles(written(tmp_path / "cycles.json", data)))
    told = {one.what: one for one in summaries(rows)}
    errors = [abs(row.error) for row in rows]
    assert told["all"].rows == len(rows) == 8
    assert told["all"].worst == max(errors) and told["all"].mean == pytest.approx(sum(errors) / 8)
    assert told["in-network"].rows == told["ring"].rows == 4
    long = sum(row.rtl_cycles > 10_000 for row in rows)
    assert told["over 10,000 cycles"].rows == long


def test_other_wafers_than_the_model_knows_are_refused(tmp_path: Path) -> None:
    data = shipped("wafer-20")
    data["spec"]["lanes"] = 1
    data["name"] = data["name"].replace("fp16x256", "fp16x1")
    message = "switches: must be of chiplets that a record is shipped of, l1-11, l1-12, l2-10, not"
    with pytest.raises(InputError, match=re.escape(message)):
        plane_against_rtl(load_plane_cycles(written(tmp_path / "cycles.json", data)))
    data["rows"] = []
    with pytest.raises(InputError, match="rows: must "):
        load_plane_cycles(written(tmp_path / "cycles.json", data))


def test_groups_of_a_phase_have_their_root_first() -> None:
    circle = Strategy.parse("MP1-DP4-PP1-EP4")
    turns = [[0, 1], [1, 2], [2, 3], [3, 0]], [[0, 2], [1, 3], [2, 0], [3, 1]]
    assert groups_of(circle, "ep_all_to_all_1") == ("broadcast", turns[0])
    assert groups_of(circle, "ep_all_to_all_2") == ("broadcast", turns[1])
    assert groups_of(circle, "ep_all_to_all") == ("all_to_all", [[0, 1, 2, 3]])
    scattered = Strategy.parse("MP3-DP1-PP1-SP")
    assert groups_of(scattered, "sp_reduce_scatter_1") == ("reduce", [[1, 0, 2]])
    assert groups_of(scattered, "sp_all_gather_1") == ("broadcast", [[1, 0, 2]])
    assert groups_of(scattered, "sp_reduce_scatter") == ("reduce_scatter", [[0, 1, 2]])
    stages = Strategy.parse("MP2-DP1-PP3")
    assert groups_of(stages, "pp_forward") == ("broadcast", [[0, 2, 3], [2, 4, 5]])


@pytest.mark.parametrize("strategy", ["MP2-DP3-PP3", "MP2-DP2-PP4"])
@pytest.mark.parametrize("collectives", ["in-network", "ring"])
def test_stages_in_the_middle_receive_and_send(
    tmp_path: Path, strategy: str, collectives: str
) -> None:
    """The first NPU of a stage is the root of one copy and a destination of another."""
    data = shipped("wafer-20")
    row = {"strategy": strategy, "collectives": collectives, "flits": 512, "cycles": 1000}
    data["rows"] = [{**row, "phase": f"pp_{way}"} for way in ("forward", "backward")]
    rows = plane_against_rtl(load_plane_cycles(written(tmp_path / "cycles.json", data)))
    # What comes in goes on at the same time, so a stage takes no longer than in MP2-DP5-PP2.
    two = [{**one, "strategy": "MP2-DP5-PP2"} for one in data["rows"]]
    data["rows"] = two
    alone = plane_against_rtl(load_plane_cycles(written(tmp_path / "cycles.json", data)))
    for one, other in zip(rows, alone, strict=True):
        assert one.model_cycles == pytest.approx(other.model_cycles, rel=0.2)
