"""Tests of perfmodel.fluid.pipeline: by hand, without shortcuts, and against single messages."""

import pytest

from perfmodel.collectives.run import run_collectives
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import build_schedule
from perfmodel.engine import simulate
from perfmodel.fluid.flow import Flow
from perfmodel.fluid.pipeline import WINDOW, Shortcuts, run_pipeline
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.transfer import Batch

SIZE = 64e6
NONE = Shortcuts(symmetry=False, steady_state=False)
GROUPS = {
    "wafer": [range(20)],
    "unequal": [[0, 1, 2, 5, 9]],
    "four at once": [[k + 4 * dp for dp in range(5)] for k in range(4)],
    "mixed at once": [[0, 1], [2, 9, 4], [5, 6, 13, 14]],
}


def flow(link: int, size: float, latency_s: float = 0.0, after: tuple[int, ...] = ()) -> Flow:
    return Flow(((link, 1.0),), size, latency_s, after)


@pytest.mark.parametrize("chunks", [1, 2, 100, 5000])
def test_single_flow_takes_its_bytes_and_its_latency_once(chunks: int) -> None:
    result = run_pipeline([flow(0, 3.0, 0.5)], [6.0], chunks)
    assert result.time_s == pytest.approx(chunks * 0.5 + 0.5)


def test_slower_of_two_flows_sets_the_pace() -> None:
    flows = [flow(0, 1.0, 0.25), flow(1, 3.0, 0.5, after=(0,))]
    # Chunk 0 reaches the second link after 1 + 0.25; then ten chunks of 3, and the latency.
    assert run_pipeline(flows, [1.0, 1.0], 10).time_s == pytest.approx(1.25 + 30 + 0.5)


def test_flows_of_a_chunk_that_follow_each_other_share_a_link_without_idling_it() -> None:
    flows = [flow(0, 1.0), flow(0, 1.0, after=(0,)), flow(0, 2.0, after=(1,))]
    assert run_pipeline(flows, [1.0], 50).time_s == pytest.approx(200.0)


def test_flow_waits_for_all_before_it() -> None:
    flows = [flow(0, 1.0), flow(1, 5.0), flow(2, 1.0, after=(0, 1))]
    assert run_pipeline(flows, [1.0, 1.0, 1.0], 1).time_s == pytest.approx(6.0)


def test_empty_flow_takes_its_latency() -> None:
    flows = [flow(0, 0.0, 0.5), flow(1, 0.0, 0.25, after=(0,))]
    assert run_pipeline(flows, [1.0, 1.0], 20).time_s == pytest.approx(0.75)


def test_latency_longer_than_the_window_is_covered() -> None:
    chunks = 40 * WINDOW
    result = run_pipeline([flow(0, 1.0, 4.0 * WINDOW), flow(1, 1.0, 0.0, (0,))], [1.0, 1.0], chunks)
    assert result.time_s == pytest.approx(chunks + 4.0 * WINDOW + 1.0)


def test_number_of_chunks_does_not_matter() -> None:
    flows = [flow(0, 1.0, 0.25), flow(1, 3.0, 0.5, after=(0,))]
    few, many = (run_pipeline(flows, [1.0, 1.0], chunks) for chunks in (1_000, 16_000))
    assert many.events <= few.events + 2
    plain = run_pipeline(flows, [1.0, 1.0], 1_000, NONE)
    assert plain.events > 10 * few.events
    assert plain.time_s == pytest.approx(few.time_s)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("topology", FABRICS)
def test_shortcuts_change_no_time(topology: str, pattern: str, groups: list[list[int]]) -> None:
    wafer = parse_topology(topology)
    quick, plain = (
        run_collectives(wafer, pattern, SIZE, groups, 40, shortcuts=shortcuts).time_s
        for shortcuts in (Shortcuts(), NONE)
    )
    assert plain == pytest.approx(quick, rel=1e-6)


@pytest.mark.parametrize("topology", ["fred-a", "fred-c", "mesh:4x3"])
@pytest.mark.parametrize("group", [range(12), [0, 1, 2, 5, 9]], ids=["many", "unequal"])
def test_every_message_of_a_ring_on_its_own_takes_the_same(topology: str, group: list[int]) -> None:
    wafer = parse_topology(topology)
    quick, plain = (
        run_collectives(wafer, "all_reduce", SIZE, [group], 24, shortcuts=shortcuts).time_s
        for shortcuts in (Shortcuts(), Shortcuts(lockstep=False))
    )
    assert plain == pytest.approx(quick, rel=0.02)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
@pytest.mark.parametrize("pattern", ["all_reduce", "all_gather", "broadcast", "reduce"])
@pytest.mark.parametrize("topology", FABRICS)
def test_single_messages_served_in_order_take_about_the_same(
    topology: str, pattern: str, groups: list[list[int]]
) -> None:
    wafer, chunks = parse_topology(topology), 48
    fluid_s = run_collectives(wafer, pattern, SIZE, groups, chunks).time_s
    transfers = build_schedule(wafer, pattern, groups, SIZE / chunks).transfers
    messages_s = simulate(wafer, [Batch(transfers, chunks)]).finish_s[0]
    # Groups of unequal size end one after the other, and the order of service then matters most.
    assert fluid_s == pytest.approx(messages_s, rel=0.08)


@pytest.mark.parametrize("topology", FABRICS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_link_carries_more_than_it_can(topology: str, pattern: str) -> None:
    result = run_collectives(parse_topology(topology), pattern, SIZE, [range(20)])
    assert max(load.utilisation for load in result.links) <= 1 + 1e-9
