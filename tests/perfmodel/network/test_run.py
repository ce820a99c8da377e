"""Tests of perfmodel.network.run: published bandwidths, closed forms and cases by hand."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.derived import ALL_REDUCE_BANDWIDTH, DP_BANDWIDTH
from perfmodel.network.run import CollectiveResult, run_collective, run_collectives
from perfmodel.published import TRAFFIC_SAVED
from perfmodel.topology.fred import FredTopology
from perfmodel.topology.mesh import MeshTopology
from perfmodel.topology.parse import FABRICS, shared_topology

GIB = 1 << 30
WIRE_S = 20e-9
DP_GROUPS = [[k + 4 * dp for dp in range(5)] for k in range(4)]  # of MP2-DP5-PP2


def run(
    topology: str, pattern: str = "all_reduce", size: float = GIB, **more: object
) -> CollectiveResult:
    arguments = {"algorithm": "published", **more}
    return run_collective(shared_topology(topology, "ideal"), pattern, size, **arguments)  # type: ignore[arg-type]


def switch_s(topology: str, *names: str) -> float:
    wafer = shared_topology(topology, "ideal")
    return sum(wafer.nodes[wafer.node_index[name]].latency_s for name in names)


@pytest.mark.parametrize(
    ("topology", "published"), [(name, ALL_REDUCE_BANDWIDTH[name].value) for name in FABRICS]
)
def test_wafer_wide_all_reduce_reaches_the_published_bandwidth(
    topology: str, published: float
) -> None:
    result = run(topology)
    assert result.bus_bandwidth_bytes_per_s == pytest.approx(published, rel=0.05)


BOUND = {name: ALL_REDUCE_BANDWIDTH[name].value for name in FABRICS}
# Only "about" is published of FRED-A. Derived: of the vector, 2 * 4 / 5 cross the 1.5 TB/s between
# each of five L1 switches and L2, and 2 * 19 / 20 count as sent by an NPU.
BOUND["fred-a"] = 2 * 19 / 20 / (2 * 4 / 5 / 1.5e12)


@pytest.mark.parametrize(("topology", "bound"), BOUND.items())
def test_pipelining_costs_at_most_one_percent_of_the_bandwidth_bound(
    topology: str, bound: float
) -> None:
    result = run(topology)
    assert 0.99 * bound <= result.bus_bandwidth_bytes_per_s <= bound * (1 + 1e-9)


@pytest.mark.parametrize("topology", FABRICS)
def test_concurrent_dp_groups_reach_the_published_bandwidth(topology: str) -> None:
    expected = DP_BANDWIDTH[topology].value
    if topology in ("fred-b", "fred-d"):  # as if they had not saved traffic
        expected /= 1 - TRAFFIC_SAVED.value / 100
    result = run_collectives(shared_topology(topology, "ideal"), "all_reduce", GIB, DP_GROUPS)
    assert result.bus_bandwidth_bytes_per_s == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("topology", ["fred-a", "fred-b", "fred-c", "fred-d"])
def test_pairs_on_one_switch_run_at_link_rate(topology: str) -> None:
    pairs = [[2 * i, 2 * i + 1] for i in range(10)]
    result = run_collectives(shared_topology(topology, "ideal"), "all_reduce", GIB, pairs)
    assert result.bus_bandwidth_bytes_per_s == pytest.approx(3e12, rel=0.01)


@pytest.mark.parametrize(
    ("topology", "share"), list(zip(FABRICS, (1.9, 1.9, 1.0, 1.9, 1.0), strict=True))
)
def test_in_network_all_reduce_sends_the_data_once(topology: str, share: float) -> None:
    assert run(topology, size=1e6).bytes_per_npu == pytest.approx(share * 1e6)


def test_uncongested_ring_takes_its_closed_form() -> None:
    # Each step moves 1/4 of the data over two links and a switch: 2 (N - 1) steps.
    size = 1e6
    step_s = size / 4 / 3e12 + 2 * WIRE_S + switch_s("fred-c", "l1_0")
    result = run("fred-c", size=size, group=[0, 1, 2, 3], chunks=1)
    assert result.time_s == pytest.approx(6 * step_s, rel=1e-6)


def test_ring_all_to_all_takes_its_closed_form() -> None:
    # Step by step a member sends on 3, 2 and then 1 shard of a quarter of the data.
    size = 1e6
    hop_s = 2 * WIRE_S + switch_s("fred-c", "l1_0")
    ring = {"group": [0, 1, 2, 3], "chunks": 1, "algorithm": "ring"}
    result = run("fred-c", "all_to_all", size, **ring)
    assert result.bytes_per_npu == pytest.approx((3 + 2 + 1) / 4 * size)
    assert result.time_s == pytest.approx((3 + 2 + 1) / 4 * size / 3e12 + 3 * hop_s, rel=1e-6)


def test_ring_across_switches_takes_its_closed_form() -> None:
    size = 1e6
    path_s = 4 * WIRE_S
    longest_s = max(
        switch_s("fred-c", f"l1_{a}", "l2", f"l1_{b}") for a, b in pairwise((0, 1, 2, 3, 4, 0))
    )
    result = run("fred-c", size=size, group=[0, 4, 8, 12, 16], chunks=1)
    assert result.time_s <= 8 * (size / 5 / 3e12 + path_s + longest_s) * (1 + 1e-6)
    assert result.time_s >= 8 * (size / 5 / 3e12 + path_s) * (1 - 1e-6)


@pytest.mark.parametrize(("topology", "rate"), [("fred-b", 1.5e12), ("fred-d", 3e12)])
def test_in_network_all_reduce_takes_its_closed_form(topology: str, rate: float) -> None:
    size = 1e6
    result = run(topology, size=size, chunks=1)
    l1_s = max(switch_s(topology, f"l1_{i}") for i in range(5))
    latency_s = 4 * WIRE_S + 2 * l1_s + switch_s(topology, "l2")
    assert result.time_s == pytest.approx(size / rate + latency_s, rel=1e-6)


SHARES = {"l1-11": 0.5, "l1-12": 0.6, "l2-10": 0.25}
LATENCIES = {"l1-11": 60, "l1-12": 40, "l2-10": 100}
CLOCK_HZ = 1171875000.0


@pytest.mark.parametrize(
    # The slowest links are those of NPUs to an L1, and of L1s to the L2 at the lesser share.
    ("topology", "rate"),
    [("fred-d", 3e12 * 0.5), ("fred-b", 1.5e12 * 0.25)],
)
def test_measured_switches_delay_and_slow_an_in_network_all_reduce(
    give_whole_switches: Callable[..., None], topology: str, rate: float
) -> None:
    give_whole_switches(SHARES, LATENCIES)
    size = 1e6
    result = run_collective(shared_topology(topology), "all_reduce", size, chunks=1)
    latency_s = 4 * WIRE_S + (60 + 100 + 60) / CLOCK_HZ
    assert result.time_s == pytest.approx(size / rate + latency_s, rel=1e-6)


def test_measured_switch_delays_and_slows_every_step_of_a_ring(
    give_whole_switches: Callable[..., None],
) -> None:
    give_whole_switches(SHARES, LATENCIES)
    size = 1e6
    step_s = size / 4 / (3e12 * 0.6) + 2 * WIRE_S + 40 / CLOCK_HZ
    wafer = shared_topology("fred-c")
    ring = {"group": [0, 1, 2, 3], "chunks": 1, "algorithm": "ring"}
    result = run_collective(wafer, "all_reduce", size, **ring)  # type: ignore[arg-type]
    assert result.time_s == pytest.approx(6 * step_s, rel=1e-6)


def test_measured_protocol_slows_the_mesh_and_does_not_delay_it(
    give_whole_switches: Callable[..., None],
) -> None:
    give_whole_switches(SHARES, LATENCIES)
    size = 1e6
    wafer = shared_topology("mesh:5x4")
    result = run_collective(wafer, "broadcast", size, group=[0, 7], chunks=1)
    assert result.time_s == pytest.approx(size / (750e9 * 0.6) + 3 * WIRE_S, rel=1e-6)


@pytest.mark.parametrize("topology", FABRICS)
def test_ideal_protocol_does_not_depend_on_the_whole_switch(
    give_whole_switches: Callable[..., None], topology: str
) -> None:
    before = run(topology)
    give_whole_switches(SHARES, LATENCIES)
    assert run(topology).time_s == before.time_s
    slower = run_collective(shared_topology(topology), "all_reduce", GIB)
    assert slower.time_s > 1.5 * before.time_s


def test_tiny_message_takes_the_sum_of_its_hops() -> None:
    inside_s = 2 * WIRE_S + switch_s("fred-d", "l1_0")
    across_s = 4 * WIRE_S + switch_s("fred-d", "l1_0", "l2", "l1_1")
    assert run("fred-d", size=1, group=[0, 1, 2]).time_s == pytest.approx(inside_s, rel=1e-4)
    assert run("fred-d", "broadcast", 1, group=[0, 4]).time_s == pytest.approx(across_s, rel=1e-4)
    assert run("mesh:5x4", "broadcast", 1, group=[0, 19]).time_s == pytest.approx(
        7 * WIRE_S, rel=1e-4
    )


@pytest.mark.parametrize("topology", FABRICS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_time_grows_with_size(topology: str, pattern: str) -> None:
    times = [run(topology, pattern, size, chunks=4).time_s for size in (4, 1e3, 1e6, 1e9)]
    assert all(less < more for less, more in pairwise(times))


@pytest.mark.parametrize(
    ("topology", "scatter", "gather"),
    [
        ("mesh:5x4", 1.0, 1.0),
        ("fred-a", 1.0, 1.0),
        ("fred-c", 1.0, 1.0),
        # In-network, a reduce-scatter sends all data once, as much as an all-reduce does; an NPU
        # gathers all but its own twentieth. Between the switches, what stays on one is spared.
        ("fred-d", 0.5, 0.5 / 0.95),
        ("fred-b", 0.5 / 0.8, 0.5 / 0.8),
    ],
)
def test_halves_of_an_all_reduce_have_a_bandwidth_like_its_own(
    topology: str, scatter: float, gather: float
) -> None:
    whole = run(topology).bus_bandwidth_bytes_per_s
    found = [
        run(topology, half).bus_bandwidth_bytes_per_s / whole
        for half in ("reduce_scatter", "all_gather")
    ]
    assert found == pytest.approx([scatter, gather], rel=2e-3)


def test_more_bandwidth_is_faster() -> None:
    mesh = [
        MeshTopology(
            name="test",
            columns=4,
            rows=3,
            link_bytes_per_s=rate,
            io_bytes_per_s=1e9,
            link_latency_s=WIRE_S,
        )
        for rate in (1e9, 2e9, 4e9)
    ]
    times = [run_collective(wafer, "all_reduce", 1e6).time_s for wafer in mesh]
    assert times[0] > times[1] > times[2]


def test_time_of_a_large_message_is_bounded_by_its_bottleneck() -> None:
    result = run("fred-b", size=80e9)
    assert result.chunks == 128
    assert result.bottleneck.link == "l1_0 -> l2"
    assert result.bottleneck.utilisation == pytest.approx(1.0, rel=1e-3)
    assert result.time_s == pytest.approx(80e9 / 1.5e12, rel=1e-3)


def test_links_that_carry_nothing_are_not_listed() -> None:
    result = run("fred-d", size=1e6, group=[0, 1])
    assert [load.link for load in result.links] == [
        "npu_0 -> l1_0",
        "l1_0 -> npu_0",
        "npu_1 -> l1_0",
        "l1_0 -> npu_1",
    ]


def test_result_repeats() -> None:
    assert run("fred-a", size=1e7) == run("fred-a", size=1e7)


def test_provenance_is_that_of_the_topology_and_the_algorithm() -> None:
    fred = shared_topology("fred-d", "ideal")
    assert isinstance(fred, FredTopology)
    assert run_collective(fred, "all_reduce", 1.0).provenance == fred.provenance
    assumptions = run("mesh:5x4", "broadcast", 1).provenance.assumptions
    assert len(assumptions) == 3
    assert "mesh routers copy a multicast" in assumptions[2]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"size": 0}, "size: must be above 0 bytes, not 0"),
        ({"size": float("nan")}, "size: must be above 0 bytes, not nan"),
        ({"size": float("inf")}, "size: must be above 0 bytes, not inf"),
        ({"chunks": 0}, "chunks must be 1 to 16384, not 0"),
        ({"chunks": 1.5}, "chunks must be an integer, not 1.5"),
        (
            {"pattern": "gather"},
            (
                f"pattern: must be one of {', '.join(PATTERNS)}, not 'gather'; "
                "did you mean 'all_gather'?"
            ),
        ),
    ],
)
def test_bad_argument_is_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=rf"^{re.escape(message)}$"):
        run("fred-d", **more)  # type: ignore[arg-type]
