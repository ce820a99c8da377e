"""Tests of docs.generate.networks: the figure has every network, inside its axes."""

from xml.etree import ElementTree

from docs.generate.networks import HEIGHT, LEFT, WIDTH, draw_networks
from fred_hw.files import load_model
from perfmodel.switch_timing.networks import SHIPPED_NETWORKS, NetworkRecord

SVG = "{http://www.w3.org/2000/svg}"


def test_each_network_with_a_latency_has_a_point_which_is_filled_on_the_front() -> None:
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    shown = [one.name for one in record.networks if one.latency_ns is not None]
    points = [*ElementTree.fromstring(draw_networks()).iter(f"{SVG}circle")]
    assert len(points) == len(shown)
    fronts = [one.name for n in {one.ports for one in record.networks} for one in record.front(n)]
    filled = sum(one.get("fill") != "white" for one in points)
    assert filled == len([name for name in fronts if name in shown])
    for one in points:
        assert LEFT < float(one.get("cx", "0")) < WIDTH
        assert 0 < float(one.get("cy", "0")) < HEIGHT
