"""Tests of perfmodel.libra.topology."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.libra.network import TIERS
from perfmodel.libra.topology import cost_of
from perfmodel.published import NPU_L1_BYTES_PER_S
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.parse import parse_topology

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("protocol", ["ideal", "measured"])
def test_cost_of_rings_and_a_switch(protocol: ProtocolModel) -> None:
    # Each of 64 NPUs has two links of 100 GB/s in each of two rings, and one of 50 GB/s.
    torus = parse_topology(str(EXAMPLES / "torus-64.yaml"), protocol)
    tiers = ("chiplet", "package", "pod")
    wanted = 64 * (200 * 2 + 200 * 4 + 50 * (7.8 + 18 + 31.6))
    assert cost_of(torus, [TIERS[one] for one in tiers]) == pytest.approx(wanted)


def test_cost_of_full_connections() -> None:
    network = parse_topology(str(EXAMPLES / "fc-ring-switch.yaml"), "ideal")
    rate, tiers = 53.687091200, ("chiplet", "package", "pod")
    wanted = 1024 * rate * (7 / 2 * 2 + 2 * 4 + 57.4)
    assert cost_of(network, [TIERS[one] for one in tiers]) == pytest.approx(wanted)


@pytest.mark.parametrize("protocol", ["ideal", "measured"])
def test_links_between_switches_are_shared_by_the_npus_below(protocol: ProtocolModel) -> None:
    fred = parse_topology(str(EXAMPLES / "fred-16.yaml"), protocol)
    wanted = 16 * NPU_L1_BYTES_PER_S / 1e9 * 17 + 4 * 6000 * 57.4
    assert cost_of(fred, [TIERS["node"], TIERS["pod"]]) == pytest.approx(wanted)


def test_a_topology_without_such_dimensions_has_no_cost() -> None:
    line = "^tiers: must be left out: mesh:2x2 does not consist of rings, full connections or sw"
    with pytest.raises(InputError, match=line):
        cost_of(parse_topology("mesh:2x2", "ideal"), [TIERS["node"]] * 2)


def test_each_dimension_has_a_tier() -> None:
    fred = parse_topology("fred-d", "ideal")
    with pytest.raises(InputError, match="must have 2 tiers, one per dimension of fred-d, not 1"):
        cost_of(fred, [TIERS["node"]])
