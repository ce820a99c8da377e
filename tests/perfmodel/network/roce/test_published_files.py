"""Figures of public files of the ns-3 simulator and of InfraGraph, which are read or generated."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from perfmodel.network.roce.ns3_config import read_config
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.ns3 import links_text, read_links
from perfmodel.topology.parse import parse_topology

_CLOS_HEAD = "144 16 192"
_CLOS_SHA256 = "c5f881470380037ad4b6467f32a85063e9b377c38adb25ecc273ad987737d082"
"""First line (nodes, switches, links) and hash of mix/128_nodes_16_switch_topology.txt of
github.com/astra-sim/deprecated-astra-network-ns3, without spaces at the ends of lines."""

_PUBLISHED = Clos(gpus_per_leaf=16, pods=(8,), widths=(8,), gbps=(200, 200), latency_us=(5, 12.5))

_RATES = (25, 40, 100, 200, 400, 2400)
_CONFIGURATION: dict[str, Any] = {
    "ENABLE_QCN": 1,
    "USE_DYNAMIC_PFC_THRESHOLD": 1,
    "PACKET_PAYLOAD_SIZE": 1000,
    "CC_MODE": 12,
    "ALPHA_RESUME_INTERVAL": 1,
    "RATE_DECREASE_INTERVAL": 4,
    "CLAMP_TARGET_RATE": 0,
    "RP_TIMER": 900,
    "EWMA_GAIN": 0.00390625,
    "FAST_RECOVERY_TIMES": 1,
    "RATE_AI": "50Mb/s",
    "RATE_HAI": "100Mb/s",
    "MIN_RATE": "100Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
    "ERROR_RATE_PER_LINK": "0.0000",
    "L2_CHUNK_SIZE": 4000,
    "L2_ACK_INTERVAL": 1,
    "L2_BACK_TO_ZERO": 0,
    "HAS_WIN": 1,
    "GLOBAL_T": 0,
    "VAR_WIN": 1,
    "FAST_REACT": 1,
    "U_TARGET": 0.95,
    "MI_THRESH": 0,
    "INT_MULTI": 1,
    "MULTI_RATE": 0,
    "SAMPLE_FEEDBACK": 0,
    "PINT_LOG_BASE": 1.05,
    "PINT_PROB": "1.0",
    "RATE_BOUND": 1,
    "ACK_HIGH_PRIO": 0,
    "LINK_DOWN": "0 0 0",
    "BUFFER_SIZE": 32,
    **{
        name: " ".join(
            ["6", *(f"{rate}000000000 {one}" for rate, one in zip(_RATES, values, strict=True))]
        )
        for name, values in {
            "KMAX_MAP": (400, 800, 1600, 2400, 3200, 3200),
            "KMIN_MAP": (100, 200, 400, 600, 800, 800),
            "PMAX_MAP": (0.2,) * 6,
        }.items()
    },
}
"""Parameters of mix/config.txt of the same repository."""


def _bandwidth(unit: str, value: int) -> dict[str, Any]:
    return {"choice": unit, unit: value}


def _two_tiers() -> dict[str, Any]:
    """Return the structure of two-tier-clos-fabric-infrastructure.yaml of InfraGraph, 4 GPUs."""
    links = {"eth1": 100, "eth2": 400}
    devices = {"leafsw": "generic-switch", "spinesw": "generic-switch", "server": "generic-server"}
    four = range(4)
    return {
        "infrastructure": {
            "links": [
                {"name": name, "bandwidth": _bandwidth("gigabytes_per_second", rate)}
                for name, rate in links.items()
            ],
            "instances": [{"name": name, "device": device} for name, device in devices.items()],
            "connections": [
                *(f"server.{k}.nic.{n}.eth1.leafsw.{k}.port.{n}" for k in four for n in four),
                *(
                    f"leafsw.{k}.port.{4 + n}.eth2.spinesw.{n}.port.{k}"
                    for k in four
                    for n in (0, 1, 2)
                ),
            ],
        }
    }


def _scale_up() -> dict[str, Any]:
    """Return the structure of scaleup-scaleout.yaml of InfraGraph, 8 GPUs.

    One of its devices is described nowhere, and its instance is connected to nothing.
    """
    return {
        "devices": [
            {
                "name": "VendorA-Server",
                "components": [
                    {"name": "xpu", "count": 1, "type": "xpu"},
                    {"name": "nic", "count": 4, "type": "nic", "external": True},
                ],
                "links": [
                    {"name": "pcie3", "bandwidth": _bandwidth("giga_transfers_per_second", 8)}
                ],
                "connections": [f"xpu.0.pcie3.nic.{nic}" for nic in range(4)],
            },
            {
                "name": "VendorB-Switch",
                "components": [
                    {"name": "asic", "count": 1, "type": "custom"},
                    {"name": "port", "count": 8, "type": "nic", "external": True},
                ],
                "links": [{"name": "ic", "bandwidth": _bandwidth("giga_bytes_per_second", 800)}],
                "connections": [f"asic.0.ic.port.{port}" for port in range(8)],
            },
        ],
        "instances": [
            {"name": "host", "count": 8, "device": "VendorA-Server"},
            {"name": "susw", "count": 1, "device": "VendorB-Switch"},
            {"name": "sosw", "count": 1, "device": "VendorC-Router"},
        ],
        "links": [
            {"name": "su_eth", "bandwidth": _bandwidth("giga_bytes_per_second", 400)},
            {"name": "so_eth", "bandwidth": _bandwidth("giga_bytes_per_second", 800)},
        ],
        "connections": [f"host.{k}.nic.0.su_eth.susw.0.port.{k}" for k in range(8)],
    }


def _stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def test_generator_writes_the_published_topology() -> None:
    text = _stripped(links_text(clos_file(_PUBLISHED)))
    assert text.splitlines()[0] == _CLOS_HEAD
    assert sha256(text.encode()).hexdigest() == _CLOS_SHA256


def test_published_topology_is_read(tmp_path: Path) -> None:
    path, text = tmp_path / "links.txt", links_text(clos_file(_PUBLISHED))
    path.write_text(text.replace("\n", " \n"), encoding="utf-8")  # as published
    found = read_links(path)
    assert (found.npus + found.switches, len(found.links)) == (144, 192)
    assert links_text(found) == text


def test_published_configuration_has_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text("".join(f"{key} {value}\n" for key, value in _CONFIGURATION.items()))
    assert read_config(path) == RoceFile()


@pytest.mark.parametrize(("data", "npus"), [(_two_tiers(), 4), (_scale_up(), 8)])
def test_structures_of_infragraph_are_read(tmp_path: Path, data: Any, npus: int) -> None:
    path = tmp_path / "net.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    assert parse_topology(str(path)).npus == npus
