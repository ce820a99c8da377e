"""Tests of perfmodel.network.fluid.latencies: routes, each worked out once."""

from perfmodel.network.fluid.latencies import latency_of
from perfmodel.topology.parse import shared_topology


def test_a_latency_is_that_of_the_topology() -> None:
    wafer = shared_topology("fred-d")
    routes = [wafer.hops((0,), (target,)) for target in (1, 19)]
    for urgent in (False, True):
        latency_s = latency_of(wafer, urgent=urgent)
        wanted = [wafer.latency_s(route, urgent=urgent) for route in routes]
        assert [latency_s(route) for route in routes * 2] == wanted * 2
    assert len({*wanted}) == 2
