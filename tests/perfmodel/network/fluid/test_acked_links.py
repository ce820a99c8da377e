"""Tests of perfmodel.network.fluid.acked_links."""

from collections.abc import Sequence
from itertools import pairwise

from perfmodel.collectives.select import build_schedule
from perfmodel.network.fluid.acked_links import acked_capacities
from perfmodel.switch_timing.record import RECORDS
from perfmodel.topology.fred import FredTopology
from perfmodel.topology.fred_file import FredFile
from perfmodel.topology.parse import parse_topology
from studies.rtl_plane import load_plane_cycles, plane_topology


def plane(name: str, *, in_network: bool = False) -> FredTopology:
    return plane_topology(load_plane_cycles(RECORDS / f"{name}.json"), in_network=in_network)


def left(topology: FredTopology, groups: Sequence[Sequence[int]]) -> set[float]:
    """Return what rings have of the capacity of each link, where it is not all of it."""
    algorithm = "ring" if not topology.in_network else "in_network"
    messages = build_schedule(topology, "all_reduce", groups, 1.0, algorithm).messages
    pairs = zip(acked_capacities(topology, messages), topology.capacities, strict=True)
    return {round(mine / whole, 6) for mine, whole in pairs if mine != whole}


def test_who_has_a_link_alone_is_answered_for_many_packets_at_once() -> None:
    assert left(plane("wafer-20-a"), [(0, 4, 8, 12)]) == set()


def test_packets_that_wait_for_those_of_another_are_answered_for_one_by_one() -> None:
    """Two to a link of half a port: 16 cycles between packets, a quarter of the timeout."""
    topology = plane("wafer-20-a")
    assert topology.endpoint is not None
    share = topology.endpoint.record.endpoint.flits_per_cycle
    assert left(topology, [(0, 4), (1, 5)]) == {round(8 / 9 / share, 6)}
    # Four links up to each L1, of which each has one of four.
    assert left(plane("wafer-20"), [(npu, npu + 4) for npu in range(4)]) == set()


def test_nothing_else_is_acknowledged_so() -> None:
    groups = [(0, 4), (1, 5)]
    assert left(plane("wafer-20-a", in_network=True), [(0, 4)]) == set()
    free = parse_topology("fred-a")  # without endpoints
    messages = build_schedule(free, "all_reduce", groups, 1.0, "ring").messages
    assert acked_capacities(free, messages) == free.capacities


def test_more_sources_never_have_more_of_a_link() -> None:
    topology, found = plane("wafer-20-a"), []
    for count in range(1, 5):
        groups = [(npu, npu + 4) for npu in range(count)]
        messages = build_schedule(topology, "all_reduce", groups, 1.0, "ring").messages
        found.append(acked_capacities(topology, messages))
    for fewer, more in pairwise(found):
        assert all(a >= b for a, b in zip(fewer, more, strict=True))


def test_a_faster_link_of_an_npu_makes_no_acks() -> None:
    """A pause is as many cycles of an endpoint, whatever links below carry."""
    found = []
    for npu_bytes_per_s in (2.9e12, 2.99e12, 3.0e12, 3.2e12):
        file = FredFile.model_validate(
            {
                "kind": "fred",
                "endpoint_record": "endpoint",
                "l1": [{"count": 2, "npus": 2, "io_controllers": 0, "record": "l1-12"}],
                "l2_record": "l2-10",
                "in_network": False,
                "npu_l1_bytes_per_s": npu_bytes_per_s,
                "l1_l2_bytes_per_s": 1.5e12,
            }
        )
        topology = file.build("narrow")
        messages = build_schedule(topology, "all_reduce", [(0, 2), (1, 3)], 1.0, "ring").messages
        capacities = acked_capacities(topology, messages)
        up = topology.link_index[topology.switch_of[0], topology.switch_of[0] + 2]
        found.append(capacities[up])
    assert found == sorted(found)
