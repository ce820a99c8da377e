"""Tests of perfmodel.libra.wafer."""

import pytest

from perfmodel.libra.wafer import communication, wires
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.workloads.workload import Workload, load_workload


def asked(topology: Topology, training: Workload) -> list[tuple[float, ...]]:
    """Return what the collectives of a workload send, those with most bytes on NPUs first."""
    placed = default_placement(Request.of(topology, training))
    return sorted(communication(topology, training, placed).collectives, reverse=True)


@pytest.mark.parametrize(("name", "links"), [("fred-d", (20, 5, 18)), ("mesh:5x4", (0, 31, 18))])
def test_links_of_each_class(name: str, links: tuple[int, ...]) -> None:
    assert wires(parse_topology(name, "ideal")) == links


def test_gradients_cross_each_link_of_an_npu_once_in_the_network() -> None:
    # MP3-DP3-PP2: an NPU has a sixth of the layers' parameters, 2 bytes each.
    fred, training = parse_topology("fred-d", "ideal"), load_workload("transformer-17b")
    sent = training.network.parameters / 6 * 2
    [(end, inner, io)] = [
        one for one in asked(fred, training) if one[0] == pytest.approx(sent, rel=0.02)
    ]
    assert io == 0
    # Three of the four NPUs of an L1 are of different groups, whose flows share its uplink.
    assert inner == pytest.approx(3 * end, rel=1e-6)


def test_streams_are_on_links_of_controllers() -> None:
    streams = [
        one for one in asked(parse_topology("fred-d", "ideal"), load_workload("gpt-3")) if one[2]
    ]
    assert len(streams) == 4  # two stages, weights in and gradients out


def test_mesh_has_links_between_npus_alone() -> None:
    found = asked(parse_topology("mesh:5x4", "ideal"), load_workload("transformer-17b"))
    assert found and all(one[0] == 0 and one[1] > 0 for one in found)
