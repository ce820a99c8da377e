"""Tests of perfmodel.studies.rtl_plane: the model of a plane is held against cycles of the RTL."""

import re
from pathlib import Path

import pytest

from fred_hw.compiler.placement import Strategy, phases
from fred_hw.errors import InputError
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.storage import storage_phases
from perfmodel.studies.rtl import groups_of, summaries
from perfmodel.studies.rtl_plane import (
    groups_in,
    load_plane_cycles,
    plane_beside_rtl,
    plane_topology,
)
from perfmodel.studies.rtl_shipped import shipped_beside_rtl
from perfmodel.switch_timing.record import RECORDS
from tests.records import shipped
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
    rows = shipped_beside_rtl("wafer-20-controllers").rows
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
    rows, in_network = (shipped_beside_rtl(f"wafer-20-{one}").rows for one in "ab")
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
        places = [plane.chiplets[plane.homes[end][0]].name for end in (*flow.outputs, *flow.inputs)]
        assert places == [f"l1_{l1s.index(topology.switch_of[one])}" for one in (root, *members)]
    # Of NPUs alone a node has the number of the NPU.
    usual = load_plane_cycles()
    assert groups_in(usual.spec)(usual.rows[0]) == groups_of(
        Strategy.parse(usual.rows[0].strategy), usual.rows[0].phase
    )


PUBLISHED = ("MP2-DP5-PP2", "MP3-DP3-PP2", "MP20-DP1-PP1")


def test_the_model_is_within_tolerance_of_the_rtl() -> None:
    """3 % over 10,000 cycles, else 10 % or 60 cycles."""
    rows = shipped_beside_rtl("wafer-20").rows
    assert [row for row in rows if not row.ok] == []
    told = {one.what: one for one in summaries(rows)}
    assert told["in-network"].worst <= 0.03 and told["in-network"].mean <= 0.011
    assert told["ring"].worst <= 0.09 and told["ring"].mean <= 0.025
    published = [row for row in rows if row.strategy in PUBLISHED]
    told_of = {one.what: one for one in summaries(published)}
    assert told_of["in-network"].rows == 36 and told_of["in-network"].mean <= 0.01
    assert told["all"].mean <= 0.017


def test_what_is_wrong_by_more_is_told(tmp_path: Path) -> None:
    """Cycles that were others would be missed: the tolerances can fail."""
    data = shipped("wafer-20")
    data["rows"] = data["rows"][:4]
    for row in data["rows"]:
        row["cycles"] = round(row["cycles"] * 1.25) + 100
    assert not any(
        row.ok
        for row in plane_beside_rtl(load_plane_cycles(written(tmp_path / "cycles.json", data)))
    )


def test_errors_are_summed_up(tmp_path: Path) -> None:
    data = shipped("wafer-20")
    data["rows"] = [row for row in data["rows"] if row["strategy"] == "MP20-DP1-PP1"]
    rows = plane_beside_rtl(load_plane_cycles(written(tmp_path / "cycles.json", data)))
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
        plane_beside_rtl(load_plane_cycles(written(tmp_path / "cycles.json", data)))
    data["rows"] = []
    with pytest.raises(InputError, match="rows: must "):
        load_plane_cycles(written(tmp_path / "cycles.json", data))


def test_copies_of_a_turn_that_have_no_npu_in_common_stand_for_all() -> None:
    """Four in a circle are two pairs, and steps of a reduce-scatter have their root first."""
    circle = Strategy.parse("MP1-DP4-PP1-EP4")
    assert groups_of(circle, "ep_all_to_all_1") == ("broadcast", [[0, 1], [2, 3]])
    assert groups_of(circle, "ep_all_to_all_2") == ("broadcast", [[0, 2], [1, 3]])
    assert groups_of(circle, "ep_all_to_all") == ("all_to_all", [[0, 1, 2, 3]])
    scattered = Strategy.parse("MP3-DP1-PP1-SP")
    assert groups_of(scattered, "sp_reduce_scatter_1") == ("reduce", [[1, 0, 2]])
    assert groups_of(scattered, "sp_all_gather_1") == ("broadcast", [[1, 0, 2]])
    assert groups_of(scattered, "sp_reduce_scatter") == ("reduce_scatter", [[0, 1, 2]])
