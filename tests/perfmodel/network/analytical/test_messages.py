"""Tests of perfmodel.network.analytical.messages, by results of ASTRA-sim (arXiv 2303.14006).

Its cases are of one chunk without reduction cost and with an endpoint delay of 1 ns, which is paid
before each step and once at the end; here that delay is taken off.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import SCATTERED
from perfmodel.collectives.select import build_schedule
from perfmodel.network.analytical.messages import Aware, Unaware
from perfmodel.network.model import Conditions
from perfmodel.network.run import run_collective
from perfmodel.topology.files import build_topology
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import shared_topology
from studies.rtl_mesh import load_mesh_cycles, mesh_topology
from tests.examples import examples

BLOCKS = str(Path(__file__).parents[2] / "collectives" / "blocks.yaml")
MESH = mesh_topology(load_mesh_cycles())
MIB, GIB = 1 << 20, 1 << 30


def block(kind: str, npus: int, gigabytes_per_s: float) -> Topology:
    """Return a block whose links have 20 ns; a gigabyte is 2^30 bytes, as in ASTRA-sim."""
    rates = {"bytes_per_s": gigabytes_per_s * GIB, "latency_s": 20e-9}
    one = {"block": kind, "npus": npus, **rates}
    file = {"kind": "blocks", "protocol": "ideal", "blocks": [one]}
    return build_topology(file, "blocks")


RING, SWITCH = block("ring", 20, 750), block("switch", 20, 3000)


@pytest.mark.parametrize(
    ("topology", "model", "pattern", "algorithm", "size", "published_ns", "delays"),
    [
        (SWITCH, "unaware", "all_reduce", "ring", MIB, 2_167, 39),
        (SWITCH, "unaware", "all_reduce", "ring", GIB, 634_867, 39),
        (RING, "unaware", "all_reduce", "ring", MIB, 3_269, 39),
        (RING, "unaware", "all_reduce", "ring", GIB, 2_534_107, 39),
        (SWITCH, "aware", "all_reduce", "ring", MIB, 2_775, 39),
        (SWITCH, "aware", "all_reduce", "ring", GIB, 1_268_175, 39),
        (SWITCH, "aware", "all_to_all", "direct", MIB, 362, 2),
        (SWITCH, "aware", "all_to_all", "direct", GIB, 333_362, 2),
        (RING, "aware", "all_to_all", "direct", MIB, 3_617, 2),
        (RING, "aware", "all_to_all", "direct", GIB, 3_666_672, 2),
    ],
)
def test_times_are_those_of_astra_sim(
    topology: Topology,
    model: str,
    pattern: str,
    algorithm: str,
    size: int,
    published_ns: int,
    delays: int,
) -> None:
    found = run_collective(topology, pattern, size, None, None, algorithm, model)
    assert round(found.time_s * 1e9) == published_ns - delays


def test_chunks_go_one_after_the_other() -> None:
    one, four = (
        run_collective(RING, "all_reduce", size, None, count, "ring", "aware").time_s
        for size, count in ((MIB, 1), (4 * MIB, 4))
    )
    assert four == pytest.approx(4 * one, rel=1e-12)


@pytest.mark.parametrize("model", ["unaware", "aware"])
def test_routers_beside_npus_are_crossed_at_both_ends(model: str) -> None:
    """Two neighbours exchange halves twice."""
    found = run_collective(MESH, "all_reduce", 2e6, [0, 1], None, "ring", model)
    hops = MESH.hops((0,), (1,))
    rates = [MESH.links[one].payload_bytes_per_s for one, _ in hops]
    moved_s = [1e6 / rate for rate in rates]
    wanted_s = MESH.latency_s(hops) + (sum(moved_s) if model == "aware" else max(moved_s))
    assert MESH.latency_s(hops) > sum(MESH.links[one].latency_s for one, _ in hops)
    assert found.time_s == pytest.approx(2 * wanted_s, abs=1e-9 * 2 * (len(hops) + 1))


@examples(40)
@given(
    topology=st.sampled_from(["mesh:3x3", "fred-c", BLOCKS]),
    pattern=st.sampled_from(["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]),
    algorithm=st.sampled_from(["ring", "direct", "halving_doubling"]),
    size=st.floats(1e7, 1e9),
)
def test_congestion_never_saves_time(
    topology: str, pattern: str, algorithm: str, size: float
) -> None:
    wafer = shared_topology(topology)
    how = (wafer, pattern, size, None, None)
    try:
        unaware, aware = (run_collective(*how, algorithm, model) for model in ("unaware", "aware"))
    except InputError:  # the pattern or the group does not fit the algorithm
        return
    # Each link cuts a part of a nanosecond.
    assert unaware.time_s <= aware.time_s * 1.01
    assert aware.bottleneck.utilisation <= 1.01


@pytest.mark.parametrize("count", [0, 1, 1000, GIB])
@pytest.mark.parametrize("name", ["mesh:5x4", "fred-d"])
def test_links_of_a_route_are_busy_while_they_send_and_its_end_never(name: str, count: int) -> None:
    topology = shared_topology(name)
    schedule = build_schedule(topology, "all_gather", [range(20)], 1.0, "ring")
    model = Aware(topology, schedule, Conditions())
    for message in schedule.transfers:
        *links, (_, busy_ns) = model.hops_ns(message.hops, count)
        assert busy_ns == 0
        for takes_ns, sends_ns in links:
            assert 0 <= sends_ns <= takes_ns


ALONE = [
    ("mesh:5x4", range(20)),
    ("mesh:5x4", [0, 2, 3, 9]),  # edges share links
    ("mesh:3x3", range(9)),  # without a cycle of neighbours
    ("fred-a", range(20)),
    ("examples/links-6.yaml", range(6)),
]


@pytest.mark.parametrize("model", ["aware", "unaware"])
@pytest.mark.parametrize("algorithm", ["ring", "bidirectional_ring"])
@pytest.mark.parametrize(("name", "group"), ALONE)
def test_passes_around_rings_take_as_long_as_their_messages(
    name: str, group: Sequence[int], algorithm: str, model: str
) -> None:
    topology, timed = shared_topology(name), {"aware": Aware, "unaware": Unaware}[model]
    for pattern in SCATTERED:
        every, passes = (
            timed(
                topology,
                build_schedule(topology, pattern, [group], 1.0, algorithm, lockstep=lockstep),
                Conditions(),
            )
            for lockstep in (False, True)
        )
        for size in (1e3, 3.3e7):
            assert passes.time_s(size, size) == every.time_s(size, size)
        assert dict(passes.loads) == pytest.approx(dict(every.loads), rel=1e-12)
