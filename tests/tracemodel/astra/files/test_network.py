"""Tests of tracemodel.astra.files.network."""

from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fred_hw.errors import InputError
from perfmodel.topology.files import KINDS
from tests.documented import documented_keys, read_keys
from tests.written import written
from tracemodel.astra.files.network import NetworkFile, load_network
from tracemodel.astra.fluid.fabric import FabricLine
from tracemodel.astra.fluid.lines import BlockLine
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Dimension, Network

LINES = {
    "topology": "[Ring, FullyConnected, Switch]",
    "npus_count": "[2, 8, 4]",
    "bandwidth": "[200.0, 100.0, 50]",
    "latency": "[50, 500, 2000.5]",
}


def text(**changes: str | None) -> str:
    lines = {**LINES, **changes}
    return "".join(f"{key}: {value}\n" for key, value in lines.items() if value is not None)


@pytest.mark.parametrize(
    "topology", [LINES["topology"], "[ring, FULLYCONNECTED, switch]"], ids=["exact", "other-case"]
)
def test_file_is_a_network(tmp_path: Path, topology: str) -> None:
    path = written(tmp_path / "net.yml", text(topology=topology))
    network = load_network(path)
    assert isinstance(network, Network) and network.npus == 64
    assert network.dimensions == (
        Dimension("ring", 2, 200.0, 50.0),
        Dimension("fully_connected", 8, 100.0, 500.0),
        Dimension("switch", 4, 50.0, 2000.5),
    )


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"topology": "[Ring, Mesh, Switch]"},
            "topology.1: must be one of the .* 'fred schema astra-network' .*, not 'Mesh'",
        ),
        ({"topology": "[]"}, r"topology: must have 1 or more entries, not \[\]"),
        ({"npus_count": "[2, 8]"}, "npus_count: must have as many entries as topology, 3, not 2"),
        ({"bandwidth": "[1, 2, 3, 4]"}, "bandwidth: must have as many .* as topology, 3, not 4"),
        ({"latency": "[1]"}, "latency: must have as many entries as topology, 3, not 1"),
        ({"npus_count": "[2, 1, 4]"}, "npus_count.1: must be an integer from 2 to 65536, not 1"),
        ({"npus_count": "[2, 8.0, 4]"}, "npus_count.1: must be an integer .*, not 8.0"),
        ({"npus_count": "[512, 512, 4]"}, "npus_count: must be at most 65536 .*, not 1048576"),
        ({"bandwidth": "[200, 0, 50]"}, r"bandwidth.1: must be a number from 1e-06 .*, not 0"),
        ({"latency": "[50, -1, 3]"}, r"latency.1: must be a number from 0 to 1e\+12, not -1"),
        ({"latency": None}, "latency: is required and was not given"),
        ({"bandwidth": "[200, null, 5]"}, "bandwidth.1: must be a number for Fully.*, not null"),
        (
            {"topology": "[fred-d, Ring, Ring]"},
            "npus_count.0: must be 20, the number of NPUs of .*, not 2",
        ),
        (
            {"topology": "[Ring, 'mesh:4x2', Ring]"},
            "bandwidth.1: must be null, because mesh:4x2 has its own, not 100",
        ),
        ({"topology": "[Ring, 'mesh:0x2', Ring]"}, "topology.1: .*"),
        ({"dimensions": "3"}, "dimensions: unknown key; allowed are topology, npus_count, .*"),
    ],
)
def test_bad_file_is_refused(changes: dict[str, str | None], line: str, tmp_path: Path) -> None:
    path = written(tmp_path / "net.yml", text(**changes))
    with pytest.raises(InputError, match=rf"net\.yml: {line}$"):
        load_network(path)


def test_name_of_nothing_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"fred-z: must be an existing file or one of mesh:.*fred-d"
    ):
        load_network("fred-z")


def test_fabrics_of_ours_are_dimensions(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(
        "kind: mesh\ncolumns: 3\nrows: 2\nlink_bytes_per_s: 1.0e12\n"
    )
    path = tmp_path / "net.yml"
    lists = {"npus_count": "[20, 6, 4]", "bandwidth": "[null, null, 50]"}
    lists["latency"] = "[null, null, 500]"
    path.write_text(text(topology="[fred-d, small.yaml, Switch]", **lists))
    network = load_network(path)
    assert isinstance(network, FluidNetwork) and not network.fabric
    assert network.sizes == (20, 6, 4)
    kinds = [type(one) for one in network.lines]
    assert kinds == [FabricLine, FabricLine, BlockLine]


@pytest.mark.parametrize("name", ["fred-b", "mesh:3x2", "small.yaml"])
def test_a_fabric_of_ours_is_a_network(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.yaml").write_text(
        "kind: mesh\ncolumns: 3\nrows: 2\nlink_bytes_per_s: 1.0e12\n"
    )
    monkeypatch.chdir(tmp_path)
    network = load_network(name)
    assert isinstance(network, FluidNetwork) and network.fabric
    assert network.fabric.name == name


@pytest.mark.parametrize("name", ["wafers:2xsmall.yaml", "net.yml"])
def test_wafers_of_a_file_are_a_network_in_any_folder(name: str, tmp_path: Path) -> None:
    written(tmp_path / "small.yaml", "kind: mesh\ncolumns: 3\nrows: 2\n")
    lists = {"npus_count": "[12]", "bandwidth": "[null]", "latency": "[null]"}
    path = written(tmp_path / "net.yml", text(topology="['wafers:2xsmall.yaml']", **lists))
    network = load_network(path if name == "net.yml" else name, base=tmp_path)
    assert network.npus == 12
    assert network.fabric and network.fabric.name == "wafers:2xsmall.yaml"


def test_schema_takes_names_of_all_topologies() -> None:
    def taken() -> list[str]:
        check = Draft202012Validator(NetworkFile.model_json_schema())
        names = ("mesh:5x4", "fred-d", "net.json", "new:3x3", "newest", "fred-e")
        lists = {"npus_count": [20], "bandwidth": [None], "latency": [None]}
        return [one for one in names if check.is_valid({"topology": [one], **lists})]

    assert taken() == ["mesh:5x4", "fred-d", "net.json"]
    with KINDS.lending("new", replace(KINDS["mesh"], names=("new:COLUMNSxROWS", "newest"))):
        assert taken() == ["mesh:5x4", "fred-d", "net.json", "new:3x3", "newest"]


@pytest.mark.parametrize("kind", ["astra-network", "astra-system", "astra-memory", "astra-groups"])
def test_ranges_and_defaults_are_those_of_the_reference(kind: str) -> None:
    assert read_keys(kind) == documented_keys(kind) != []
