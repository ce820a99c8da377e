"""Tests of docs.generate.ports: tables of ports are those of the generated tops."""

from collections.abc import Sequence

import pytest

from docs.generate.ports import REFERENCE, TABLES, Table, port_rows, ports_page
from fred_hw.mesh.router import ERRORS, MeshRouter
from gen.mesh_top import mesh_ports
from gen.ports import Port

EACH = pytest.mark.parametrize("table", TABLES, ids=lambda one: f"{one.page} {one.name}")


@pytest.mark.parametrize("page", sorted({one.page for one in TABLES}))
def test_committed_tables_are_those_of_the_tops(page: str) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    assert ports_page(page) == text, "make docs writes them"


@pytest.mark.parametrize("page", sorted({one.page for one in TABLES}))
def test_each_page_of_hardware_shows_its_block_diagram(page: str) -> None:
    assert "-blocks.svg)" in (REFERENCE / page).read_text(encoding="utf-8")


def rows(table: Table, ports: Sequence[Port]) -> list[str]:
    return list(port_rows(table.described, ports))


@EACH
def test_another_port_must_be_described(table: Table) -> None:
    with pytest.raises(ValueError, match=r"^docstrings must describe the ports added$"):
        rows(table, [*table.ports(), ("added", "input", 1)])


@EACH
def test_a_described_port_must_exist(table: Table) -> None:
    ports = [one for one in table.ports() if one[0] != "session_id"]
    with pytest.raises(ValueError, match=r"^there must be a port session_id, which is described$"):
        rows(table, ports)


@EACH
def test_another_width_changes_the_table(table: Table) -> None:
    ports = [(name, way, bits + (name == "session_id")) for name, way, bits in table.ports()]
    changed = set(rows(table, ports)) - set(rows(table, table.ports()))
    assert [row.split("|")[1].strip() for row in changed] == ["`session_id`"]


def test_ports_of_all_links_are_alike() -> None:
    table = next(one for one in TABLES if one.page == "switch.md")
    ports = [(name, way, bits + (name == "s3_axis_tdata")) for name, way, bits in table.ports()]
    with pytest.raises(ValueError, match=r"^s3_axis_tdata must have \('input', 4096\) like others"):
        rows(table, ports)


@pytest.mark.parametrize("described", [mesh_ports, MeshRouter])
def test_errors_are_described_in_the_order_of_their_bits(described: object) -> None:
    names = ", ".join(f"``{one}``" for one in ERRORS)
    assert f"{names}, from bit 0 on" in " ".join(str(described.__doc__).split())
