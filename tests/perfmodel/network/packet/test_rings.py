"""Tests of perfmodel.network.packet.rings: message by message on a mesh with endpoints."""

import pytest

from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.select import build_schedule
from perfmodel.collectives.transfer import RingPass
from perfmodel.network.packet.rings import CircuitRings, rings_on_circuits
from perfmodel.network.run import profile, run_collectives
from perfmodel.topology.mesh import MeshFile, MeshTopology
from studies.rtl_mesh import load_mesh_cycles, mesh_topology

SPREAD = [[first + 6 * k for k in range(3)] for first in range(6)]
"""Groups whose rings share links, as those of DP of MP3-DP3-PP2."""


BARE = MeshTopology(
    name="bare", columns=5, rows=4, link_bytes_per_s=1e9, io_bytes_per_s=1e9, link_latency_s=1e-8
)
"""A mesh without endpoints."""


@pytest.fixture(scope="module")
def mesh() -> MeshTopology:
    return mesh_topology(load_mesh_cycles())


def rings(
    mesh: MeshTopology,
    algorithm: str,
    groups: list[list[int]],
    pattern: str = "all_reduce",
    *,
    second_first: bool = False,
) -> CircuitRings | None:
    assert algorithm in ALGORITHMS
    schedule = build_schedule(mesh, pattern, groups, 1.0, algorithm, lockstep=True)
    return rings_on_circuits(mesh, schedule.messages, pattern, second_first=second_first)


def of_twenty(ports: int, algorithm: str, flits: int) -> float:
    """Return the cycles of an all-reduce of 5 x 4 endpoints with so many ports to read memory."""
    record = load_mesh_cycles()
    endpoint = record.spec.endpoint.model_copy(update={"read_ports": ports})
    spec = record.spec.with_changes(endpoint=endpoint)
    one = mesh_topology(record.model_copy(update={"spec": spec}))
    assert one.endpoint is not None
    size = flits * one.endpoint.flit_bytes
    done = run_collectives(one, "all_reduce", size, [list(range(20))], algorithm=algorithm)
    return done.time_s * one.endpoint.clock.hz


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "flits", "one", "two"),
    [
        ("ring", 2048, 21776, 21776),
        ("hierarchical_2d_halves", 2048, 5908, 5768),
        pytest.param("hierarchical_2d_halves", 8192, 20344, 18832, marks=pytest.mark.long),
    ],
)
def test_a_second_port_to_read_saves_what_it_does_in_rtl(
    algorithm: str, flits: int, one: int, two: int
) -> None:
    """Cycles are those of `fred characterize examples/mesh-5x4.yaml --level mesh`, MP20."""
    for ports, cycles in ((1, one), (2, two)):
        assert of_twenty(ports, algorithm, flits) == pytest.approx(cycles, rel=0.05)
    assert (of_twenty(2, algorithm, flits) < of_twenty(1, algorithm, flits)) == (two < one)


def test_it_is_for_rings_of_endpoints_alone(mesh: MeshTopology) -> None:
    assert rings(mesh, "ring", SPREAD) is not None
    assert rings(mesh, "direct", SPREAD, "all_to_all") is None
    assert rings(mesh, "bidirectional_ring", SPREAD) is not None
    assert rings(BARE, "bidirectional_ring", SPREAD) is None


@pytest.mark.slow
def test_what_is_less_urgent_waits_where_links_are_shared(mesh: MeshTopology) -> None:
    """Sums of latencies and bytes miss a quarter of it."""
    size = 2048 * 512.0
    alone = run_collectives(
        mesh, "all_reduce", size, SPREAD, algorithm="bidirectional_ring", network_model="packet"
    )
    how = (mesh, "all_reduce", size, SPREAD, "bidirectional_ring")
    summed, found = (profile(*how, network_model=name)[0] for name in ("fluid", "packet"))
    assert 1.25 < alone.time_s / summed.time_s < 1.4
    assert found.time_s == alone.time_s


def test_what_is_reduced_waits_for_what_it_is_reduced_with(mesh: MeshTopology) -> None:
    """RTL takes 1,940 cycles around four neighbours; without that wait it would be 1,830."""
    found = rings(mesh, "bidirectional_ring", [[0, 1, 6, 5]])
    assert found is not None and mesh.endpoint is not None
    cycles = found.time_s(1024 * 512.0) * mesh.endpoint.clock.hz
    assert cycles == pytest.approx(1940, rel=0.01)


def test_rings_that_share_nothing_take_as_long_as_one_of_them(mesh: MeshTopology) -> None:
    """Those that are alike are simulated once; the longest of the others counts."""
    one, two, other = ([[0, 1, 6, 5]], [[0, 1, 6, 5], [2, 3, 8, 7]], [[15, 16, 17]])
    times = [rings(mesh, "bidirectional_ring", groups) for groups in (one, two, other, two + other)]
    alone, both, row, all_of_them = (found.time_s(2**18) for found in times if found is not None)
    assert both == alone != row and all_of_them == max(alone, row)


def test_a_pair_is_one_ring_to_endpoints(mesh: MeshTopology) -> None:
    """One flow may not be on two circuits."""
    both, one = (rings(mesh, name, [[0, 1]]) for name in ("bidirectional_ring", "ring"))
    assert both is not None and one is not None
    assert both.time_s(2**18) == one.time_s(2**18)
    times = [
        run_collectives(
            mesh, "all_reduce", 2**18, [[0, 1]], algorithm=name, network_model="packet"
        ).time_s
        for name in ("ring", "bidirectional_ring")
    ]
    assert times[0] == times[1]


def test_a_ring_that_meets_nobody_takes_its_steps(mesh: MeshTopology) -> None:
    """Both ways around four neighbours share ports of endpoints alone: six messages in turn."""
    found = rings(mesh, "bidirectional_ring", [[0, 1, 6, 5]])
    assert found is not None and mesh.endpoint is not None
    hz = mesh.endpoint.clock.hz
    one = mesh.endpoint.record.endpoint
    # The second one is queued behind the first, and what is loaded is a flit.
    start = one.ring_start_cycles + 40 + one.finish_cycles + one.command_cycles
    least = start + one.turn_cycles + 6 * (1 + 3 * 24 + 2 * 8) + 5 * (one.step_cycles - 8)
    assert least <= round(found.time_s(8 * 512.0) * hz, 6) <= least + 6


@pytest.mark.parametrize(("flits", "cycles"), [(128, 668), (512, 1096), (2048, 3440)])
def test_a_ring_of_four_takes_what_it_does_in_rtl(
    mesh: MeshTopology, flits: int, cycles: int
) -> None:
    """Five rings share links of rows and columns; sums give 512 flits 12 % more."""
    groups = [list(range(first, first + 4)) for first in range(0, 20, 4)]
    found = rings(mesh, "ring", groups, "all_gather")
    assert found is not None and mesh.endpoint is not None
    hz = mesh.endpoint.clock.hz
    assert found.time_s(flits * 512.0) * hz == pytest.approx(cycles, rel=0.01)


def test_messages_whose_last_packet_is_a_flit_stay_in_order(mesh: MeshTopology) -> None:
    """Of 41 flits; RTL takes 22,560 cycles, and where it was overtaken it would be 27,600."""
    found = rings(mesh, "ring", SPREAD)
    assert found is not None and mesh.endpoint is not None
    assert found.time_s(8190 * 512.0) * mesh.endpoint.clock.hz == pytest.approx(22560, rel=0.02)


def test_one_descriptor_with_more_data_has_more_rounds_alike(mesh: MeshTopology) -> None:
    found = rings(mesh, "ring", [[0, 1, 6, 5]])
    assert found is not None and mesh.endpoint is not None
    each = 4 * mesh.endpoint.round_bytes(4)
    times = [found.time_s(rounds * each) for rounds in (2, 4, 5, 100)]
    grows = (times[1] - times[0]) / 2
    assert times[2] == pytest.approx(times[1] + grows)
    assert times[3] == pytest.approx(times[1] + 96 * grows)


def test_beyond_a_size_more_data_are_more_rounds_alike(mesh: MeshTopology) -> None:
    found = rings(mesh, "bidirectional_ring", [[0, 1, 6, 5]])
    assert found is not None and mesh.endpoint is not None
    most = 16 * 4 * mesh.endpoint.chunk_bytes
    half_s, whole_s = found.time_s(most / 2), found.time_s(most)
    assert 1.9 < whole_s / half_s < 2
    for times in (2, 1000):
        more_s = 2 * (whole_s - half_s) * (times - 1)
        assert found.time_s(times * most) == pytest.approx(whole_s + more_s)


def test_the_second_half_goes_first_in_phases_of_dp(mesh: MeshTopology) -> None:
    """Six groups of it would take 2 % more with the first one first."""
    size = 2048 * 512.0
    phase = run_collectives(
        mesh,
        "all_reduce",
        size,
        SPREAD,
        algorithm="bidirectional_ring",
        second_first=True,
        network_model="packet",
    )
    first = run_collectives(
        mesh, "all_reduce", size, SPREAD, algorithm="bidirectional_ring", network_model="packet"
    )
    found = rings(mesh, "bidirectional_ring", SPREAD, second_first=True)
    assert found is not None and found.time_s(size) == pytest.approx(phase.time_s)
    assert abs(first.time_s / phase.time_s - 1) > 0.001


def test_halves_by_rows_and_by_columns_have_no_flow_in_common(mesh: MeshTopology) -> None:
    """As endpoints do it: an endpoint has one number of packets for each peer."""
    schedule = build_schedule(
        mesh, "all_reduce", [list(range(20))], 1.0, "hierarchical_2d_halves", lockstep=True
    )
    flows: list[set[tuple[int, int]]] = [set(), set()]
    for item in schedule.messages:
        assert isinstance(item, RingPass)
        ring = item.members
        east = ring[1] == ring[0] + 1 or ring[1] == ring[0] + 5
        flows[east] |= set(zip(ring, (*ring[1:], ring[0]), strict=True))
    assert len(flows[0]) == len(flows[1]) == 40 and not flows[0] & flows[1]


def test_a_huge_vector_takes_no_more_memory_than_what_is_simulated() -> None:
    """Chunks of a petabyte would not fit; its rounds are alike."""
    topology = MeshFile(kind="mesh", columns=3, rows=1, endpoint_record="endpoint").build("mesh")
    times = [
        run_collectives(
            topology, "all_reduce", size, [range(3)], algorithm="ring", network_model="packet"
        ).time_s
        for size in (1e12, 1e15)
    ]
    assert times[1] == pytest.approx(1000 * times[0], rel=0.01)
