"""Tests of fred_cli.hardware_table and fred_cli.hardware_work: FRED beside the mesh as hardware."""

from pathlib import Path

import pytest

from fred_cli.columns.hardware import COLUMNS
from fred_cli.hardware_table import HardwareRow, hardware_rows
from fred_cli.hardware_work import mesh_paths, mesh_work, plane_paths, plane_work
from fred_hw.files import load_model
from fred_hw.mesh.load import load_mesh
from fred_hw.wafer.load import load_wafer
from perfmodel.switch_timing.areas import SHIPPED_AREAS, AreaRecord
from perfmodel.switch_timing.router import load_link_record
from studies.rtl_mesh import SHIPPED_TREE_CYCLES, load_mesh_cycles
from tests.fred_cli.fred import Fred

EXAMPLES = Path(__file__).parents[2] / "examples"


def rows() -> dict[tuple[str, str], HardwareRow]:
    return {(one.part, one.what): one for one in hardware_rows()}


def test_an_all_reduce_in_the_network_crosses_each_link_once_each_way() -> None:
    """Twenty links up and down, five of L1s up and down; each of 19 vectors is added once."""
    work = plane_work(load_wafer(str(EXAMPLES / "wafer-20.yaml")), 5 * 64)
    assert (work.crossed, work.added, work.read, work.written) == (50, 19, 20, 20)


def test_rows_and_columns_of_a_mesh_send_and_read_more() -> None:
    """A half goes by rows of 5, then a fifth of it by columns of 4; the other one the other way.

    In a ring of n each sends (n - 1) / n of it, twice; from end to end of a line over links of both
    ends and those between: 18 for all of a row, whose last goes back over 4, and 14 of a column.
    """
    work = mesh_work(load_mesh(str(EXAMPLES / "mesh-5x4.yaml")), 320)
    rows_first = 4 * 18 * 2 * 0.8 * 0.5 + 5 * 14 * 2 * 0.75 * 0.1
    columns_first = 5 * 14 * 2 * 0.75 * 0.5 + 4 * 18 * 2 * 0.8 * 0.125
    assert work.crossed == pytest.approx(rows_first + columns_first)
    assert work.added == 19
    # A reduce-scatter reads all and writes a block, an all-reduce a block, an all-gather reads one.
    assert work.read == pytest.approx(20 * (0.5 + 0.1 + 0.1 + 0.5 + 0.125 + 0.125))
    assert work.written == pytest.approx(20 * (0.1 + 0.1 + 0.4 + 0.125 + 0.125 + 0.375))


def test_ways_between_npus() -> None:
    plane = plane_paths(load_wafer(str(EXAMPLES / "wafer-20.yaml")))
    assert (plane.most_units, plane.most_links) == (3, 4)
    assert plane.mean_units == pytest.approx((3 * 1 + 16 * 3) / 19)
    mesh = mesh_paths(load_mesh(str(EXAMPLES / "mesh-5x4.yaml")))
    assert (mesh.most_units, mesh.most_links) == (5 + 4 - 1, 5 + 4)
    assert mesh.mean_units == pytest.approx(1 + (24 / 15 + 15 / 12) * 20 / 19)


def test_areas_are_those_of_all_planes_per_npu() -> None:
    areas, found = load_model(AreaRecord, SHIPPED_AREAS), rows()
    one = {unit.unit: unit.area_um2 for unit in areas.units}
    chiplets = ((3, 12), (2, 11), (2, 10))
    plane = sum(n * areas.switch(ports).area_um2 for n, ports in chiplets)
    assert areas.switch(12).area_um2 == one["switch of 12 ports"] > areas.switch(10).area_um2
    with pytest.raises(KeyError, match="switch of 13 ports"):
        areas.switch(13)
    row = found["area", "area of switches or routers"]
    assert row.fred == pytest.approx(5 * plane / 20) and row.mesh == one["router"]
    assert found["area", "area of endpoints"].fred == 5 * one["endpoint"]
    assert (areas.format, areas.lanes) == ("int8", 1)  # never beside those of other widths


def test_all_reduces_along_trees_are_those_of_their_record() -> None:
    """With what else their endpoints have: two read ports and a schedule table."""
    record = load_mesh_cycles(SHIPPED_TREE_CYCLES)
    [measured] = [row for row in record.rows if row.flits == 8192]
    row = rows()["time", "all-reduce of 8,192 flits, MultiTree's schedule tables on the mesh"]
    hz = load_link_record("mesh-5x4").record.clock.hz
    assert row.mesh == pytest.approx(measured.cycles / hz * 1e6)
    assert row.source.endswith("; endpoints of the mesh with two read ports and a schedule table")
    endpoint = record.spec.endpoint
    assert endpoint.read_ports == 2 and endpoint.schedule_entries > 0
    assert sum("two read ports" in one.source for one in rows().values()) == 1


def test_the_page_has_the_table_of_today() -> None:
    page = (EXAMPLES.parent / "docs/explanation/hardware.md").read_text()
    shown = COLUMNS.titled[1:-1]
    for row in hardware_rows():
        line = f"| {' | '.join(column.shown(row) for column in shown)} |"
        assert line in page, line


def test_the_table_is_printed_and_written(fred: Fred, place: Path) -> None:
    said = fred.json("compare", "--hardware", "--csv", "hardware.csv")["rows"]
    assert {row["part"] for row in said} == {"area", "clock", "rate", "latency", "traffic", "time"}
    assert all(row["ratio"] == pytest.approx(row["fred"] / row["mesh"]) for row in said)
    assert len((place / "hardware.csv").read_text().splitlines()) == 1 + len(said)
    out = fred("compare", "--hardware")[1]
    assert "bytes over links" in out and "2.5" in out
    status, out, err = fred("compare", "--hardware", "--workload", "gpt-3")
    line = "error: compare: --workload: must not be given with --hardware\n"
    assert (status, out, err) == (2, "", line)
