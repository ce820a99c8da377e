"""Tests of fred_cli.commands.power."""

from pathlib import Path
from typing import Any

import pytest

from fred_cli.power_report import mesh_beside
from fred_hw.load import load_spec
from tests.fred_cli.fred import Fred
from tests.synth.tiny import tiny_liberty


def found(fred: Fred, *words: str) -> dict[str, Any]:
    line = ("--liberty", "nangate45", "--effort", "area", "--clock", "1ns")
    return fred.json(*words, *line)


@pytest.mark.sim
@pytest.mark.slow
def test_power_of_an_all_reduce_is_above_that_of_an_idle_design(fred: Fred, tmp_path: Path) -> None:
    """Flits come at full rate, and an all-reduce takes more power than an idle design."""
    report = found(fred, "power", "tiny-2", "--cycles", "64", "-o", str(tmp_path / "work"))
    rows = {one["workload"]: one for one in report["workloads"]}
    assert list(rows) == ["idle", "random", "all_reduce"]
    assert (rows["idle"]["flits"], rows["all_reduce"]["flits"]) == (0, 2 * 64)
    assert rows["all_reduce"]["additions"] == 64
    idle, busy = rows["idle"]["total"], rows["all_reduce"]["total"]
    assert busy["total_w"] > 1.2 * idle["total_w"] > 0
    above = (busy["total_w"] - idle["total_w"]) * 64e-9 / 64 * 1e12
    assert rows["all_reduce"]["energy"]["addition_above_idle_pj"] == pytest.approx(above)
    energy = rows["all_reduce"]["energy"]
    assert energy["reduced_byte_pj"] == pytest.approx(busy["total_w"] * 64e-9 / 64 * 1e12)
    assert report["wire_load"] == "5K_hvratio_1_1"
    wafer = report["wafer"]
    per_bit = rows["all_reduce"]["energy"]["flit_pj"] * 1e-12 / 8
    assert wafer["estimate_w"] == pytest.approx(per_bit * 390 * 600e9 * 8)


@pytest.mark.slow
def test_library_without_energies_is_refused_in_one_line(fred: Fred, tmp_path: Path) -> None:
    library = tmp_path / "tiny.lib"
    library.write_text(tiny_liberty())
    where = ("-o", str(tmp_path / "work"))
    status, out, err = fred(
        "power", "tiny-2", "--liberty", str(library), "--effort", "area", *where
    )
    assert (status, out) == (2, "")
    message = f"error: {library}: internal_power: must be in cells to compute power, not missing"
    assert err.splitlines()[-1].startswith(message)


def test_only_a_switch_is_compared_with_a_mesh(fred: Fred) -> None:
    status, out, err = fred("power", "tiny-2", "--mesh", "--liberty", "nangate45")
    assert (status, out) == (2, "")
    assert err == "error: --mesh: must be given with --level switch, not interconnect\n"


@pytest.mark.parametrize(("ports", "shape"), [(2, (2, 1)), (4, (2, 2)), (7, (7, 1)), (12, (4, 3))])
def test_the_mesh_has_as_many_npus_and_the_links_of_the_switch(
    ports: int, shape: tuple[int, int]
) -> None:
    switch = load_spec("tiny-2", {"ports": ports, "lanes": 2, "protocol.packet_flits": 8})
    mesh = mesh_beside(switch)
    assert (mesh.width, mesh.height) == shape
    assert (mesh.lanes, mesh.format, mesh.protocol) == (2, switch.format, switch.protocol)
    assert not mesh.controllers
