"""Tests of perfmodel.topology.infragraph."""

from typing import Any

import pytest
import yaml

from fred_hw.errors import InputError
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.files import build_topology
from perfmodel.topology.infragraph import infragraph_text, read_infragraph

TEXT = """
infrastructure:
  devices:
    - name: node
      components:
        - {name: xpu, type: xpu, count: 2}
        - {name: nic, type: nic, count: 1}
      links:
        - name: pcie
          bandwidth: {choice: giga_transfers_per_second, giga_transfers_per_second: 8}
      connections: [xpu.0.pcie.nic.0, xpu.1.pcie.nic.0]
  instances:
    - {name: host, device: node, count: 2}
    - {name: leaf, device: generic-switch}
  links:
    - name: eth
      physical:
        bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}
        latency: {choice: us, us: 2}
  connections:
    - host.0.nic.0.eth.leaf.0.port.0
    - host.1.nic.0.eth.leaf.0.port.1
"""


def _data() -> dict[str, Any]:
    return yaml.safe_load(TEXT)


def test_components_become_npus_and_switches() -> None:
    topology = build_topology(_data(), "net.yaml")
    assert (topology.npus, len(topology.nodes) - topology.io_controllers) == (4, 7)
    hops = [topology.links[link] for link, _ in topology.hops((0,), (3,))]
    assert [one.bytes_per_s for one in hops] == [16e9, 50e9, 50e9, 16e9]
    assert sum(one.latency_s for one in hops) == pytest.approx(4e-6)


def test_what_is_written_is_read_again() -> None:
    clos = Clos(
        gpus_per_leaf=8, pods=(2,), widths=(2,), gbps=(200, 400), latency_us=(5, 1), nvswitches=2
    )
    file = clos_file(clos)
    again = build_topology(yaml.safe_load(infragraph_text(file, "clos")), "clos.yaml")
    built = file.build("clos.yaml")
    assert [node.name for node in again.nodes] == [node.name for node in built.nodes]
    for one, other in zip(again.links, built.links, strict=True):
        assert (one.source, one.target) == (other.source, other.target)
        assert one.bytes_per_s == pytest.approx(other.bytes_per_s)
        assert one.latency_s == pytest.approx(other.latency_s)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("leaf.0.port.1", "spine.0.port.1", "must join instances of host, leaf, not 'spine'"),
        ("host.1.nic.0", "host.1.nic.4", "must join components that exist, not 'host.1.nic.4'"),
        ("host.1.nic.0", "host.7.nic.0", "must join components that exist, not 'host.7.nic.0'"),
        (
            "nic.0.eth.leaf.0.port.1",
            "nic.0.ib.leaf.0.port.1",
            "must name one of the links eth, not",
        ),
        ("xpu.1.pcie.nic.0", "xpu.9.pcie.nic.0", "must join components of node, not 'xpu.9'"),
        (
            "count: 2}\n    - {name: leaf",
            "count: 0}\n    - {name: leaf",
            "must be an integer from 1",
        ),
        (
            "gigabits_per_second: 400",
            "gigabits_per_second: 0",
            "must be from 1 to 1e+24 bytes per second",
        ),
        (
            "gigabits_per_second, gigabits",
            "furlongs, gigabits",
            "must have a number for the chosen unit",
        ),
        ("host.1.nic.0.eth.leaf.0.port.1", "nonsense", "must have the form INSTANCE.0.COMPONENT"),
    ],
)
def test_bad_descriptions_are_refused(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError) as caught:
        read_infragraph(yaml.safe_load(TEXT.replace(old, new)), "net.yaml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("net.yaml: ")


@pytest.mark.parametrize(
    ("entry", "key", "quantity", "message"),
    [
        (
            "links.0",
            "bandwidth",
            {"gigabits_per_second": 1e-14},
            "must be from 1 to 1e+24 bytes per second, not 1.25e-06",
        ),
        ("links.0", "latency", {"s": 1e14}, "must be at most 1e+06 s, not 1e+14"),
    ],
)
def test_quantities_out_of_range_name_their_field(
    entry: str, key: str, quantity: dict[str, float], message: str
) -> None:
    data = _data()
    data["infrastructure"]["links"][0]["physical"][key] = quantity
    with pytest.raises(InputError) as refused:
        read_infragraph(data, "net.yaml")
    assert str(refused.value) == f"net.yaml: infrastructure.{entry}.{key}: {message}"


@pytest.mark.parametrize("kind", ["devices", "instances", "links"])
def test_a_name_that_is_taken_is_refused(kind: str) -> None:
    data = _data()
    entries = data["infrastructure"][kind]
    entries.append(entries[0])
    with pytest.raises(InputError) as refused:
        read_infragraph(data, "net.yaml")
    assert str(refused.value) == (
        f"net.yaml: infrastructure.{kind}.{len(entries) - 1}.name: must be a name that is not "
        f"taken, not {entries[0]['name']!r}"
    )


def test_too_many_npus_are_refused() -> None:
    data = _data()
    top = data["infrastructure"]
    top["devices"] = []
    top["instances"] = [
        {"name": name, "device": "gpu", "count": 4096} for name in ("first", "second")
    ]
    top["connections"] = [f"first.{i}.port.0.eth.second.{i}.port.0" for i in range(4096)]
    with pytest.raises(InputError) as refused:
        read_infragraph(data, "net.yaml")
    assert str(refused.value) == "net.yaml: npus: must be an integer from 2 to 4096, not 8192"
