"""Tests of perfmodel.libra.network."""

import pytest

from perfmodel.libra.network import Dimension, cost_per_byte_per_s

from .reference import network


@pytest.mark.parametrize(
    ("net", "costs"),
    [("3d", (16384, 16384, 235110.4)), ("4d", (8192, 16384, 16384, 235110.4))],
)
def test_cost_of_the_published_networks(net: str, costs: tuple[float, ...]) -> None:
    # [$ per GB/s]; the prices in the files end in .00001 to .00004.
    found = [one * 1e9 for one in cost_per_byte_per_s(network(net))]
    assert found == pytest.approx(costs, rel=1e-5)


def test_switch_and_interface_count_in_dimensions_with_switches_alone() -> None:
    ring, switch = (Dimension(one, 4, link=1.0, switch=2.0, nic=4.0) for one in ("ring", "switch"))
    full = Dimension("fully_connected", 8, link=1.0, switch=2.0, nic=4.0)
    assert cost_per_byte_per_s((ring, full, switch)) == (128.0, 128.0, 7 * 128.0)
