"""Tests of perfmodel.network.packet.exchanges: unicasts of endpoints, packet by packet."""

import pytest

from perfmodel.collectives.select import build_schedule
from perfmodel.network.packet.exchanges import Exchanges, exchanges_of
from perfmodel.network.run import profile, run_collectives
from perfmodel.switch_timing.endpoint import load_endpoint_record
from perfmodel.switch_timing.record import RECORDS, load_record
from perfmodel.topology.fred import L1, FredTopology, Level
from perfmodel.topology.graph import Topology
from perfmodel.topology.mesh import MeshFile, MeshTopology
from studies.rtl_mesh import load_mesh_cycles, mesh_topology
from studies.rtl_plane import load_plane_cycles, plane_topology
from tests.perfmodel.network.packet.test_rings import BARE

ROWS = [[first, first + 1, first + 2, first + 3] for first in range(0, 20, 4)]
"""Groups of all-to-alls with EP4, which meet in rows and columns."""


@pytest.fixture(scope="module")
def mesh() -> MeshTopology:
    return mesh_topology(load_mesh_cycles())


def exchanges(
    mesh: Topology, groups: list[list[int]], pattern: str = "all_to_all", how: str = "direct"
) -> Exchanges | None:
    schedule = build_schedule(mesh, pattern, groups, 1.0, how, lockstep=True)
    return exchanges_of(mesh, schedule.messages)


def cycles(mesh: Topology, found: Exchanges | None, flits: int) -> float:
    assert found is not None and mesh.endpoint is not None
    return found.time_s(flits * 512.0) * mesh.endpoint.clock.hz


def test_it_is_for_what_endpoints_do_by_unicasts(mesh: MeshTopology) -> None:
    assert exchanges(mesh, ROWS) is not None
    assert exchanges(mesh, [[0, 1, 2]], "broadcast") is not None
    assert exchanges(mesh, [[0, 1, 2]], "reduce") is None
    assert exchanges(mesh, [[0, 1, 2]], "all_reduce") is None
    assert exchanges(mesh, [[0, 1, 2]], "all_reduce", "ring") is None
    assert exchanges(BARE, ROWS) is None


def test_one_packet_takes_its_way(mesh: MeshTopology) -> None:
    """Start, memory, a chunk, links and routers, its other flits, and software that reads."""
    found = exchanges(mesh, [[0, 1]], "broadcast")
    assert cycles(mesh, found, 8) == pytest.approx(37 + 40 + 8 + 3 * 24 + 2 * 8 + 7 + 19)


def test_the_next_one_is_sent_to_when_all_is_acknowledged(mesh: MeshTopology) -> None:
    """From the last flit of one to the first of the next: its ack, both ways, memory, a chunk."""
    found = exchanges(mesh, [[0, 1, 5]], "broadcast")
    first = 37 + 40 + 8 + 3 * 24 + 2 * 8 + 7
    ack = 16 + 4 + 3 * 24 + 2 * 4
    expected = first + ack + 29 + 40 + 8 + 3 * 24 + 2 * 8 + 7 + 19
    assert cycles(mesh, found, 8) == pytest.approx(expected)


@pytest.mark.parametrize(("flits", "rtl"), [(128, 1524), (512, 2008), (2048, 4996)])
def test_turns_that_meet_take_what_they_do_in_rtl(mesh: MeshTopology, flits: int, rtl: int) -> None:
    """Of 2,048 flits some packets are sent again: to NPUs that do not expect them yet."""
    assert cycles(mesh, exchanges(mesh, ROWS), flits) == pytest.approx(rtl, rel=0.01)


def test_it_is_the_time_of_a_collective_alone(mesh: MeshTopology) -> None:
    size = 512 * 512.0
    alone = run_collectives(
        mesh, "all_to_all", size, ROWS, algorithm="direct", network_model="packet"
    )
    found = exchanges(mesh, ROWS)
    assert found is not None and alone.time_s == found.time_s(size)
    summed, _ = profile(mesh, "all_to_all", size, ROWS, "direct")
    assert 1.1 < summed.time_s / alone.time_s < 1.3


def test_beyond_a_size_more_data_take_longer_in_proportion(mesh: MeshTopology) -> None:
    found = exchanges(mesh, [[0, 1]])
    assert found is not None and mesh.endpoint is not None
    most = 16 * 4 * mesh.endpoint.chunk_bytes
    half_s, whole_s = found.time_s(most / 2), found.time_s(most)
    assert found.time_s(10 * most) == pytest.approx(whole_s + 9 * 2 * (whole_s - half_s))


def plane(record: str, *, in_network: bool = False) -> Topology:
    return plane_topology(load_plane_cycles(RECORDS / f"{record}.json"), in_network=in_network)


COPIES = [[3, 0, 1, 2], [9, 6, 7, 8], [15, 12, 13, 14]]
"""Each copies to three, one after the other, on L1s with four NPUs."""


def test_switches_are_simulated_where_each_link_is_a_port_of_endpoints_alone() -> None:
    """A link of several ports would be shared out by destinations."""
    assert exchanges(plane("wafer-20-a"), COPIES, "broadcast") is not None
    assert exchanges(plane("wafer-20-a", in_network=True), COPIES, "broadcast") is None
    assert exchanges(plane("wafer-20"), COPIES, "broadcast") is None


@pytest.mark.parametrize(("flits", "rtl"), [(2048, 11_760), (8192, 43_332)])
def test_what_waits_at_the_head_of_a_queue_takes_what_it_does_in_rtl(flits: int, rtl: int) -> None:
    """Links that are shared alone would take a fifth less."""
    topology = plane("wafer-20-a")
    found = exchanges(topology, COPIES, "broadcast")
    assert cycles(topology, found, flits) == pytest.approx(rtl, rel=0.02)


def fabric(
    npu: float,
    uplink: float,
    *,
    latency_s: float = 3e-8,
    l1: tuple[int, ...] = (4, 1),
) -> FredTopology:
    timing = load_record("l1-12")
    return FredTopology(
        name="own",
        l1=[L1(npus, 0, timing) for npus in l1],
        levels=[Level((load_record("l2-10"),), len(l1), uplink)],
        npu_l1_bytes_per_s=npu,
        io_bytes_per_s=npu,
        link_latency_s=latency_s,
        in_network=False,
        endpoint=load_endpoint_record("endpoint", memory_s=3.4e-8),
    )


def test_an_ack_that_comes_while_a_packet_waits_for_its_link_leaves_none_of_no_flits() -> None:
    """It was offered as no ack had come in time; the last one is sent again, not one beyond it."""
    topology, group = fabric(6e11, 3e11), [[4, 1, 0, 3]]
    times = [
        run_collectives(
            topology, "all_to_all", 512.0 * flits, group, algorithm="direct", network_model="packet"
        ).time_s
        for flits in (256, 257, 384)
    ]
    assert times == sorted(times)


def test_links_that_make_no_whole_cycles_end() -> None:
    topology = fabric(6e11, 2.997e11, latency_s=0.0, l1=(1, 3, 2))
    found = run_collectives(
        topology, "all_gather", 49_536.0, [range(6)], algorithm="direct", network_model="packet"
    )
    assert found.time_s > 0


def test_links_of_no_whole_ports_are_not_followed_by_packets() -> None:
    assert fabric(6e11, 6e11).single_ports and fabric(3e12, 1.5e12).single_ports
    assert not fabric(6e11, 6.1e11).single_ports
    assert not fabric(1e11, 1e11).single_ports and not fabric(1e12, 5e11).single_ports


@pytest.mark.parametrize(
    ("pattern", "algorithm"), [("all_reduce", "ring"), ("all_to_all", "direct")]
)
def test_slow_links_of_a_mesh_are_as_slow_alone(pattern: str, algorithm: str) -> None:
    """A hundredth of the rate that routers were measured at: nothing there is a flit per cycle."""
    slow, usual = (
        MeshFile(
            kind="mesh", columns=3, rows=1, endpoint_record="endpoint", link_bytes_per_s=rate
        ).build("mesh")
        for rate in (7.5e9, 7.5e11)
    )
    assert usual.single_ports and not slow.single_ports
    times = [
        run_collectives(
            one, pattern, 1e6, [range(3)], algorithm=algorithm, network_model="packet"
        ).time_s
        for one in (usual, slow)
    ]
    assert times[1] > 50 * times[0]
