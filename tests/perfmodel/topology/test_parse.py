"""Tests of perfmodel.topology.parse."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.parse import FABRICS, parse_topology, shared_topology, topology_names
from tests.written import written


@pytest.mark.parametrize("name", FABRICS)
def test_published_fabric_has_twenty_npus(name: str) -> None:
    wafer = parse_topology(name)
    assert (wafer.name, wafer.npus, wafer.io_controllers) == (name, 20, 18)


def test_path_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "wafer.yaml", "kind: mesh\ncolumns: 2\nrows: 3\n")
    assert parse_topology(str(path)).npus == 6


@pytest.mark.parametrize("name", ["mesh:2x3", *FABRICS])
def test_protocol_is_measured_unless_asked_for(name: str) -> None:
    found = [parse_topology(name, one).protocol for one in (None, "measured", "ideal")]
    assert found == ["measured", "measured", "ideal"]


def test_unknown_protocol_is_refused() -> None:
    with pytest.raises(InputError, match=r"^protocol: must be one of measured, ideal, not 'no'$"):
        parse_topology("fred-d", "no")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["mesh", "mesh:5", "mesh:5x", "mesh:-5x4", "fred-e", ""])
def test_unknown_name_is_refused(text: str) -> None:
    names = ", ".join(topology_names())
    assert names.startswith("mesh:COLUMNSxROWS, fred-a, fred-b, fred-c, fred-d")
    message = f"topology: must be one of {names} or a path ending in .yaml or .txt, not {text!r}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        parse_topology(text)


def test_case_of_a_name_does_not_matter() -> None:
    assert parse_topology("FRED-D").name == "fred-d"
    assert shared_topology("Fred-D") is shared_topology("fred-d")
    assert parse_topology("MESH:2X3").npus == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mesh:0x4", "topology mesh:0x4: columns: must be an integer from 1 to 256, not 0"),
        ("mesh:5x999", "topology mesh:5x999: rows: must be an integer from 1 to 256, not 999"),
        ("mesh:1x1", "mesh:1x1: must have 2 or more NPUs, not 1"),
        ("none.yaml", r"none\.yaml: must be an existing file, not a missing one"),
    ],
)
def test_impossible_topology_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^{message}$"):
        parse_topology(text)


@pytest.mark.parametrize("name", FABRICS)
def test_shared_topology_is_the_same_of_a_protocol_every_time(name: str) -> None:
    shared = shared_topology(name)
    assert shared is shared_topology(name, "measured") is not shared_topology(name, "ideal")
    fresh = parse_topology(name)
    assert shared is not fresh
    assert (shared.links, shared.nodes) == (fresh.links, fresh.nodes)


def test_shared_topology_follows_the_records(give_whole_switches: Callable[..., None]) -> None:
    before = shared_topology("fred-d")
    give_whole_switches(0.5, {"l1-11": 7, "l1-12": 7, "l2-10": 7})
    assert {link.efficiency for link in shared_topology("fred-d").links} == {0.5}
    assert {link.efficiency for link in before.links} != {0.5}
