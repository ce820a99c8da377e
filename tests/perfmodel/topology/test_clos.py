"""Tests of perfmodel.topology.clos."""

import pytest

from fred_hw.errors import InputError
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.graph import Link
from perfmodel.topology.links import LinksTopology

PUBLISHED = Clos(
    gpus_per_leaf=16, pods=(8,), widths=(8,), gbps=(200, 200), latency_us=(5, 12.5), nvswitches=0
)


def _ethernet(topology: LinksTopology) -> tuple[int, list[Link]]:
    """Return the nodes of a network, and its links, without those that load input."""
    nodes = len(topology.nodes) - topology.io_controllers
    return nodes, [one for one in topology.links if max(one.source, one.target) < nodes]


def test_the_published_network_has_144_nodes_and_192_links() -> None:
    topology = clos_file(PUBLISHED).build("clos")
    nodes, links = _ethernet(topology)
    assert (nodes, len(links), topology.npus) == (144, 2 * 192, 128)
    assert {link.bytes_per_s for link in links} == {25e9}
    assert topology.bisection_bytes_per_s() == 4 * 8 * 25e9


def test_with_nvswitches_it_has_240_nodes_and_960_links() -> None:
    clos = Clos(
        gpus_per_leaf=16,
        pods=(8,),
        widths=(8,),
        gbps=(200, 200),
        latency_us=(5, 12.5),
        nvswitches=6,
    )
    topology = clos_file(clos).build("servers")
    nodes, links = _ethernet(topology)
    assert (nodes, len(links) // 2) == (240, 960)
    assert len(topology.hops((0,), (7,))) == 2
    assert len(topology.hops((0,), (8,))) == 2  # of the same leaf, not of the same server
    assert len(topology.hops((0,), (16,))) == 4
    link, _ = topology.hops((0,), (7,))[0]
    assert topology.links[link].bytes_per_s == 300e9


def test_levels_three_and_four_reach_every_gpu() -> None:
    for pods, widths, most in (((2, 2), (2, 4), 6), ((2, 2, 2), (2, 2, 2), 8)):
        rates = (200.0,) * (len(pods) + 1)
        clos = Clos(gpus_per_leaf=2, pods=pods, widths=widths, gbps=rates, latency_us=rates)
        topology = clos_file(clos).build("clos")
        assert topology.npus == clos.gpus == 2 ** (len(pods) + 1)
        assert max(len(topology.hops((0,), (one,))) for one in range(1, topology.npus)) == most


def test_pairs_are_spread_over_the_spines() -> None:
    topology = clos_file(PUBLISHED).build("clos")
    used = {topology.hops((a,), (b,))[1][0] for a in range(16) for b in range(16, 128)}
    assert len(used) == 8


def test_servers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"^gpus_per_server: must be a divisor of the number of GPUs, 12, not 8$"
    ):
        clos_file(Clos(gpus_per_leaf=12, nvswitches=1))


def test_switches_and_links_are_counted() -> None:
    clos = Clos(gpus_per_leaf=2, pods=(3, 2), widths=(4, 5), gbps=(1, 1, 1), latency_us=(1, 1, 1))
    file = clos_file(clos)
    assert (clos.switches, clos.links) == (file.switches, len(file.links)) == (19, 76)
