"""Tests of docs.generate.ports: tables of ports are those of the generated tops."""

from collections.abc import Callable, Sequence

import pytest

from docs.generate.ports import REFERENCE, TABLES, Table, port_rows, ports_page
from fred_hw.member import declared
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


def rows(table: Table, change: Callable[[Port], Sequence[Port]] = lambda one: [one]) -> list[str]:
    """Return the rows of a table with changed ports."""
    described, ports = table.top()
    return list(port_rows(described, [new for one in ports for new in change(one)]))


def wider(name: str) -> Callable[[Port], Sequence[Port]]:
    """Return a change of the width of a port."""
    return lambda one: [(*one[:2], one[2] + (one[0] == name))]


@EACH
def test_another_port_must_be_described(table: Table) -> None:
    with pytest.raises(ValueError, match=r"^declarations must describe the ports added$"):
        rows(table, lambda one: [one, ("added", *one[1:])] if one[0] == "session_id" else [one])


@EACH
def test_a_described_port_must_exist(table: Table) -> None:
    with pytest.raises(ValueError, match=r"^there must be a port session_id, which is described$"):
        rows(table, lambda one: [] if one[0] == "session_id" else [one])


@EACH
def test_another_width_changes_the_table(table: Table) -> None:
    changed = set(rows(table, wider("session_id"))) - set(rows(table))
    assert [row.split("|")[1].strip() for row in changed] == ["`session_id`"]


def test_ports_of_all_links_are_alike() -> None:
    table = next(one for one in TABLES if one.page == "switch.md")
    with pytest.raises(ValueError, match=r"^s3_axis_tdata must have \('input', 4096\) like others"):
        rows(table, wider("s3_axis_tdata"))


@pytest.mark.parametrize("text", [mesh_ports.__doc__, declared(MeshRouter)["errors"].description])
def test_errors_are_described_in_the_order_of_their_bits(text: str) -> None:
    names = ", ".join(f"``{one}``" for one in ERRORS)
    assert f"{names}, from bit 0 on" in " ".join(text.split())
