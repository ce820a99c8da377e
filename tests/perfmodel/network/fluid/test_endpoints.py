"""Tests of perfmodel.network.fluid.endpoints: by hand, and without endpoints."""

from pathlib import Path

import pytest

from perfmodel.network.run import profile, run_collectives
from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.switch_timing.record import load_record
from perfmodel.topology.files import build_topology
from perfmodel.topology.fred import L1, FredTopology, Level
from tests.perfmodel.switch_timing.test_endpoint import timing

HZ = load_record("l1-12").record.clock.hz
FLIT = 512
RATE = HZ * FLIT * 4192 / 4096  # a flit per cycle
WAY = (24 + 25 + 24) / HZ  # through an L1
BEHIND = (24 + 22 + 24) / HZ  # of a message of a ring, whose path has stayed


def topology(endpoint: EndpointTiming | None, *, in_network: bool) -> FredTopology:
    """Return two L1s of four NPUs, with links of 24 cycles."""
    return FredTopology(
        name="plane",
        l1=[L1(4, 4, load_record("l1-12"))] * 2,
        levels=[Level((load_record("l2-10"),), 2, 4 * RATE)],
        npu_l1_bytes_per_s=RATE,
        io_bytes_per_s=RATE,
        link_latency_s=24 / HZ,
        in_network=in_network,
        endpoint=endpoint,
    )


def time_s(one: FredTopology, pattern: str, flits: int, group: list[int], algorithm: str) -> float:
    return run_collectives(
        one, pattern, flits * FLIT, [group], algorithm=algorithm, network_model="packet"
    ).time_s


def test_flows_of_switches_have_a_start_and_an_end(tmp_path: Path) -> None:
    own = timing(tmp_path, 40 / HZ)
    one = topology(own, in_network=True)
    found = time_s(one, "all_reduce", 1000, [0, 1, 2], "published")
    # A chunk is loaded, 0.9 flits leave per cycle, and it is done 20 cycles of 1 ns later.
    wanted = own.start_s + 128e-9 + 1000 / 0.9 / HZ + WAY + own.finish_s
    assert found == pytest.approx(wanted, rel=1e-6)
    assert any(use.measured == "endpoint" for use in one.provenance.records)


def test_copies_one_after_the_other_wait_for_acks(tmp_path: Path) -> None:
    own = timing(tmp_path)
    one = topology(own, in_network=False)
    found = time_s(one, "broadcast", 64, [0, 1, 2], "direct")
    wanted = own.start_s + 2 * 64e-9 + 2 * 64 / 0.9 / HZ + WAY + own.finish_s
    wanted += 2 * WAY + own.ack_s + own.next_s
    assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("shape", [(4, 1), (1, 4), (2, 1)])
@pytest.mark.parametrize("pattern", ["all_reduce", "reduce_scatter", "all_gather"])
def test_rows_and_columns_of_a_line_are_its_ring(shape: tuple[int, int], pattern: str) -> None:
    """Rings of one NPU pass nothing around."""
    line = {"kind": "mesh", "columns": shape[0], "rows": shape[1], "endpoint_record": "endpoint"}
    one, group = build_topology(line, "line"), list(range(max(shape)))
    ring, both = (
        run_collectives(one, pattern, 1e6, [group], algorithm=name, network_model="packet").time_s
        for name in ("ring", "hierarchical_2d")
    )
    assert both == ring > 0.5e6 / one.links[0].bytes_per_s  # of two each sends a half


def test_acks_of_whole_intervals_wait_for_no_pause(tmp_path: Path) -> None:
    """128 flits are 16 packets; a quarter of the idle cycles passes behind what is less."""
    own = timing(tmp_path, ack_cycles=20)
    one = topology(own, in_network=False)
    less, whole = (time_s(one, "broadcast", n, [0, 1, 2], "direct") for n in (120, 128))
    assert whole - less == pytest.approx(16e-9 + 16 / 0.9 / HZ - 16e-9, rel=1e-6)
    # In fluid a message that grows takes no less.
    first, last = (
        profile(one, "broadcast", n * FLIT, [[0, 1, 2]], "direct")[0].time_s for n in (120, 128)
    )
    assert last - first == pytest.approx(16e-9 + 16 / 0.9 / HZ, rel=1e-6)


def test_rings_wait_for_their_state_machines(tmp_path: Path) -> None:
    own = timing(tmp_path)
    one = topology(own, in_network=False)
    found = time_s(one, "all_reduce", 4, [0, 1], "published")  # a flit in each of two steps
    rate = RATE * own.ring_efficiency
    steps = sum(own.ring_s(2, 2 * FLIT, BEHIND, rate, first=first) for first in (True, False))
    wanted = own.ring_start_s + 1e-9 + steps + own.finish_s
    assert found == pytest.approx(wanted, abs=1e-9)


def test_two_levels_of_rings_are_three_descriptors(tmp_path: Path) -> None:
    own = timing(tmp_path)
    more = timing(tmp_path, next_cycles=130)
    both = [
        time_s(topology(each, in_network=False), "all_reduce", 800, list(range(8)), "published")
        for each in (own, more)
    ]
    assert both[1] - both[0] == pytest.approx(2 * 100e-9)


@pytest.mark.parametrize("pattern", ["all_reduce", "broadcast", "reduce_scatter", "all_to_all"])
@pytest.mark.parametrize("in_network", [False, True])
def test_endpoints_only_take_time_and_more_for_more(
    tmp_path: Path, pattern: str, in_network: bool
) -> None:
    own = timing(tmp_path)
    group = list(range(8))
    free, taken = (topology(each, in_network=in_network) for each in (None, own))
    times = [time_s(taken, pattern, flits, group, "published") for flits in (1, 7, 100, 5000)]
    assert times == sorted(times)
    free.waits_for_acks = False  # endpoints count their own ways
    for flits, found in zip((1, 7, 100, 5000), times, strict=True):
        assert found > time_s(free, pattern, flits, group, "published")
