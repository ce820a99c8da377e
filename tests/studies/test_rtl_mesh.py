"""Tests of studies.rtl_mesh: the model of the mesh is compared with cycles of the RTL."""

import json
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from studies.rtl import summaries
from studies.rtl_mesh import (
    SHIPPED_TREE_CYCLES,
    load_mesh_cycles,
    mesh_against_rtl,
    mesh_topology,
)
from studies.rtl_shipped import shipped_against_rtl
from tests.records import shipped
from tests.written import written


def test_all_kinds_of_phases_have_been_measured_at_four_sizes() -> None:
    rows = load_mesh_cycles().rows
    sizes: dict[tuple[str, str, str], set[int]] = {}
    for row in rows:
        sizes.setdefault((row.strategy, row.phase, row.algorithm), set()).add(row.flits)
    assert all(found == {128, 512, 2048, 8192} for found in sizes.values())
    four = {"mp_all_reduce", "dp_all_reduce", "pp_forward", "pp_backward"}
    scattered = {"sp_reduce_scatter", "sp_all_gather"}
    experts = {"dp_all_reduce", "ep_all_to_all", "ep_all_reduce"}
    phases = {
        "MP2-DP5-PP2": four,
        "MP3-DP3-PP2": four,
        "MP20-DP1-PP1": {"mp_all_reduce"},
        "MP4-DP5-PP1-SP": {*scattered, "dp_all_reduce"},
        "MP20-DP1-PP1-SP": scattered,
        "MP2-DP10-PP1-EP2": {*experts, "mp_all_reduce"},
        "MP1-DP20-PP1-EP4": experts,
    }
    assert {strategy for strategy, _, _ in sizes} == phases.keys()
    for strategy, names in phases.items():
        assert {phase for one, phase, _ in sizes if one == strategy} == names
    assert len(rows) == 136


@pytest.mark.slow
@pytest.mark.xdist_group("report")  # which computes the same
def test_the_model_is_within_tolerance_of_the_rtl() -> None:
    """3 % over 10,000 cycles, else 10 % or 60 cycles."""
    rows = shipped_against_rtl("mesh-5x4").rows
    told = {one.what: one for one in summaries(rows)}
    copies = summaries([row for row in rows if row.phase.startswith("pp_")])[-1]
    assert copies.ok == copies.rows == 16 and copies.mean <= 0.002
    assert told["unicasts"].worst <= 0.006
    assert told["ring"].mean <= 0.007 and told["bidirectional_ring"].mean <= 0.012
    assert told["hierarchical_2d_halves"].ok == told["hierarchical_2d_halves"].rows == 16
    assert told["all"].ok == told["all"].rows == 136
    assert told["all"].worst <= 0.035 and told["all"].mean <= 0.008


def test_what_is_wrong_by_more_is_told(tmp_path: Path) -> None:
    """Cycles that were others would be missed: the tolerances can fail."""
    data = shipped("mesh-5x4-phases")
    data["rows"] = data["rows"][:4]
    for row in data["rows"]:
        row["cycles"] = round(row["cycles"] * 1.25) + 400
    path = written(tmp_path / "cycles.json", data)
    assert not any(row.ok for row in mesh_against_rtl(load_mesh_cycles(path)))
    data["rows"] = []
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError, match="rows: must "):
        load_mesh_cycles(path)


def test_schedules_in_lockstep_take_the_estimated_time_of_their_steps() -> None:
    """52 steps on the mesh of 5 x 4, and 150 cycles more or less."""
    record = load_mesh_cycles(SHIPPED_TREE_CYCLES)
    rows = mesh_against_rtl(record)
    assert [row.flits for row in rows] == [128, 512, 2048, 8192]
    for row, measured in zip(rows, record.rows, strict=True):
        assert row.model_cycles == pytest.approx(52 * (measured.step_cycles or 0))
        assert abs(row.rtl_cycles - row.model_cycles) <= 150
        assert row.ok
        assert row.evidence == "calibrated"


@pytest.mark.parametrize("key", ["steps", "step_cycles"])
def test_steps_are_said_of_schedules_in_lockstep_alone(key: str, tmp_path: Path) -> None:
    data = shipped("mesh-5x4-trees")
    del data["rows"][0][key]
    message = f"rows.0.{key}: must be given with multitree_one_port, and only with it"
    with pytest.raises(InputError, match=message):
        load_mesh_cycles(written(tmp_path / "cycles.json", data))
    data = shipped("mesh-5x4-phases")
    data["rows"][0][key] = 3
    with pytest.raises(InputError, match=message):
        load_mesh_cycles(written(tmp_path / "other.json", data))


def test_an_npu_hangs_on_its_router_by_a_link() -> None:
    """To the next NPU there are three links of 24 cycles and two routers of 8."""
    mesh = mesh_topology(load_mesh_cycles())
    assert mesh.endpoint is not None
    hz = mesh.endpoint.clock.hz
    hops = mesh.hops((0,), (1,))
    names = [mesh.link_name(link) for link, _ in hops]
    assert names == ["npu_0 -> router_0", "router_0 -> router_1", "router_1 -> npu_1"]
    assert mesh.latency_s(hops) * hz == pytest.approx(3 * 24 + 2 * 8)
    tree = mesh.hops((0,), (1, 5, 6))
    assert {mesh.links[link].target for link, _ in tree} == {20, 21, 25, 26, 1, 5, 6}
    io = mesh.io_nodes[0]
    assert [mesh.links[link].source for link, _ in mesh.reduction_hops((0, 1), io)].count(0) == 1
