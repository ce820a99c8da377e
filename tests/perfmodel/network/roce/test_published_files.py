"""Files of the public ns-3 simulator and of InfraGraph, and the figures of them that we test.

The files lie beside the project and not in it. Tests that read them are skipped where there are
none; the figures below are always compared.
"""

from hashlib import sha256
from pathlib import Path

import pytest

from perfmodel.network.roce.ns3_config import read_config
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.ns3 import links_text, read_links
from perfmodel.topology.parse import parse_topology

_FOLDERS = [root / "shared/data" for root in Path(__file__).resolve().parents]

_CLOS = "roce/128_nodes_16_switch_topology.txt"
_CLOS_HEAD = "144 16 192"
_CLOS_SHA256 = "c5f881470380037ad4b6467f32a85063e9b377c38adb25ecc273ad987737d082"
"""First line (nodes, switches, links) and hash of mix/128_nodes_16_switch_topology.txt of
github.com/astra-sim/deprecated-astra-network-ns3, without spaces at the ends of lines."""

_GPUS = {
    "infragraph/two-tier-clos-fabric-infrastructure.yaml": 4,
    "infragraph/scaleup-scaleout.yaml": 8,
}
"""GPUs of example files of InfraGraph (copyright Keysight, MIT licence)."""

_PUBLISHED = Clos(gpus_per_leaf=16, pods=(8,), widths=(8,), gbps=(200, 200), latency_us=(5, 12.5))


def _file(name: str) -> Path:
    for folder in _FOLDERS:
        if (folder / name).is_file():
            return folder / name
    pytest.skip(f"no {name} in ../shared/data")


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def test_generator_writes_the_published_topology() -> None:
    text = _stripped(links_text(clos_file(_PUBLISHED)))
    assert text.splitlines()[0] == _CLOS_HEAD
    assert sha256(text.encode()).hexdigest() == _CLOS_SHA256


def test_published_topology_is_read_and_generated() -> None:
    path = _file(_CLOS)
    found = read_links(path)
    assert (found.npus + found.switches, len(found.links)) == (144, 192)
    assert _stripped(path.read_text("utf-8")) == _stripped(links_text(clos_file(_PUBLISHED)))
    assert links_text(found) == links_text(clos_file(_PUBLISHED))


def test_published_configuration_has_the_defaults() -> None:
    assert read_config(_file("roce/config.txt")) == RoceFile()


@pytest.mark.parametrize("name", _GPUS)
def test_infragraph_examples_are_read(name: str) -> None:
    assert parse_topology(str(_file(name))).npus == _GPUS[name]
