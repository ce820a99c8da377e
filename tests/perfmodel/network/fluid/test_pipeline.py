"""Tests of perfmodel.network.fluid.pipeline: by hand, bounds, and against single messages."""

import random
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import build_schedule
from perfmodel.network.fluid.flow import FluidFlow
from perfmodel.network.fluid.pipeline import Pipeline
from perfmodel.network.run import run_collectives
from perfmodel.topology.parse import FABRICS, shared_topology
from tests.examples import examples
from tests.perfmodel.reference.engine import simulate
from tests.perfmodel.reference.plan import Batch

SIZE = 64e6
GROUPS = {
    "wafer": [range(20)],
    "unequal": [[0, 1, 2, 5, 9]],
    "four at once": [[k + 4 * dp for dp in range(5)] for k in range(4)],
    "mixed at once": [[0, 1], [2, 9, 4], [5, 6, 13, 14]],
}


def flow(link: int, size: float, latency_s: float = 0.0, after: tuple[int, ...] = ()) -> FluidFlow:
    return FluidFlow(((link, 1.0),), size, latency_s, after)


def time_s(flows: list[FluidFlow], capacities: list[float], chunks: float) -> float:
    """Return the time of so many chunks of a byte."""
    return Pipeline(flows, capacities).time_s(chunks, 1.0)


@pytest.mark.parametrize("chunks", [1, 2.5, 100, 5000])
def test_single_flow_takes_its_bytes_and_its_latency_once(chunks: float) -> None:
    assert time_s([flow(0, 3.0, 0.5)], [6.0], chunks) == pytest.approx(chunks * 0.5 + 0.5)


def test_slower_of_two_flows_sets_the_pace() -> None:
    flows = [flow(0, 1.0, 0.25), flow(1, 3.0, 0.5, after=(0,))]
    # Chunk 0 reaches the second link after 1 + 0.25; then ten chunks of 3, and the latency.
    assert time_s(flows, [1.0, 1.0], 10) == pytest.approx(1.25 + 30 + 0.5)


def test_slower_flow_before_a_quick_one_sets_the_pace() -> None:
    flows = [flow(0, 3.0, 0.25), flow(1, 1.0, 0.5, after=(0,))]
    assert time_s(flows, [1.0, 1.0], 10) == pytest.approx(30 + 0.25 + 1 + 0.5)


def test_flows_of_a_chunk_that_follow_each_other_share_a_link_without_idling_it() -> None:
    flows = [flow(0, 1.0), flow(0, 1.0, after=(0,)), flow(0, 2.0, after=(1,))]
    assert time_s(flows, [1.0], 50) == pytest.approx(200.0)


def test_latency_between_two_uses_of_a_link_is_hidden_behind_other_chunks() -> None:
    flows = [flow(0, 1.0, 5.0), flow(0, 1.0, 0.5, after=(0,))]
    assert time_s(flows, [1.0], 1) == pytest.approx(1 + 5 + 1 + 0.5)
    assert time_s(flows, [1.0], 50) == pytest.approx(100 + 0.5)


def test_flow_that_fills_in_before_and_behind_takes_nothing_off_what_comes_late() -> None:
    # The second comes to link 0 after 9.01 and leaves it 9 before the end; ten chunks of 3 lie
    # between. The third could begin at 0 and end behind it, but that helps the second nothing.
    late = [flow(1, 0.01, 9.0), flow(0, 3.0, 9.0, after=(0,))]
    assert time_s(late, [1.0, 1.0], 10) == pytest.approx(9.01 + 30 + 9)
    assert time_s([*late, flow(0, 1.0)], [1.0, 1.0], 10) == pytest.approx(9.01 + 30 + 9)
    assert time_s([*late, flow(0, 2.0)], [1.0, 1.0], 10) == pytest.approx(10 * (3 + 2))


def test_flows_that_come_late_or_leave_early_may_be_any_of_a_link() -> None:
    # On link 0: after 1, 2 and 3, and 5, 1 and 4 before the end.
    flows = [flow(i, 0.0, float(i)) for i in (1, 2, 3)]
    flows += [flow(0, 4.0, late, after=(i,)) for i, late in enumerate((5.0, 1.0, 4.0))]
    capacities = [1.0] * 4
    assert time_s(flows, capacities, 10) == pytest.approx(1 + 120 + 1)
    flows[4] = flow(0, 0.1, 1.0, after=(1,))  # takes less than the 3 by which it leaves later
    assert time_s(flows, capacities, 10) == pytest.approx(1 + 80 + 4)
    flows[3] = flow(0, 0.1, 5.0, after=(0,))
    assert time_s(flows, capacities, 10) == pytest.approx(3 + 40 + 4)


def test_flow_waits_for_all_before_it() -> None:
    flows = [flow(0, 1.0), flow(1, 5.0), flow(2, 1.0, after=(0, 1))]
    assert time_s(flows, [1.0, 1.0, 1.0], 1) == pytest.approx(6.0)


def test_flow_with_fewer_others_before_it_goes_first() -> None:
    # Listed last, but nothing stands before it: link 1 serves it while link 0 is at work.
    flows = [flow(0, 2.0), flow(1, 2.0, after=(0,)), flow(1, 2.0)]
    assert time_s(flows, [1.0, 1.0], 1) == pytest.approx(4.0)


def test_blocked_link_does_not_hold_up_the_others() -> None:
    # The second flow waits for link 0 only; its bytes on link 1 go at once, before the third.
    flows = [flow(0, 4.0), FluidFlow(((0, 1.0), (1, 1.0)), 1.0, 0.0), flow(1, 4.0)]
    assert time_s(flows, [1.0, 1.0], 1) == pytest.approx(5.0)


def test_empty_flow_takes_its_latency() -> None:
    flows = [flow(0, 0.0, 0.5), flow(1, 0.0, 0.25, after=(0,))]
    assert time_s(flows, [1.0, 1.0], 20) == pytest.approx(0.75)


def test_no_flows_take_no_time() -> None:
    assert time_s([], [], 3) == 0.0


def random_flows(seed: int) -> tuple[list[FluidFlow], list[float]]:
    rng = random.Random(seed)
    capacities = [rng.choice([1.0, 1.0, 2.0]) for _ in range(rng.randint(1, 6))]
    flows: list[FluidFlow] = []
    for number in range(rng.randint(1, 9)):
        links = rng.sample(range(len(capacities)), rng.randint(1, min(2, len(capacities))))
        before = rng.sample(range(number), min(number, rng.choice([0, 0, 1, 2])))
        loads = tuple((link, 1.0) for link in links)
        late_s = rng.choice([0.0, 0.5, 9.0])
        flows.append(FluidFlow(loads, rng.choice([1.0, 3.0]), late_s, tuple(sorted(before))))
    return flows, capacities


@examples(80)
@given(seed=st.integers(0, 2**32), chunks=st.sampled_from([1.0, 2.5, 30.0]))
def test_time_is_at_least_that_of_the_busiest_link_and_of_the_longest_path(
    seed: int, chunks: float
) -> None:
    flows, capacities = random_flows(seed)
    found_s = time_s(flows, capacities, chunks)
    busy_s = [0.0] * len(capacities)
    ends_s: list[float] = []
    for flow in flows:
        alone_s = 0.0
        for link, load in flow.loads:
            busy_s[link] += chunks * load * flow.payload_bytes / capacities[link]
            alone_s = max(alone_s, load * flow.payload_bytes / capacities[link])
        start_s = max((ends_s[before] for before in flow.after), default=0.0)
        ends_s.append(start_s + alone_s + flow.latency_s)
    assert found_s >= max(*busy_s, *ends_s) * (1 - 1e-9)
    # One chunk after the other would take this, and each link in its turn at most this.
    assert found_s <= (sum(busy_s) + sum(flow.latency_s for flow in flows)) * (1 + 1e-9)


@examples(150)
@given(
    seed=st.integers(0, 2**32),
    chunks=st.sampled_from([1.0, 2.5, 30.0]),
    change=st.sampled_from(["slower", "later", "larger", "longer"]),
    factor=st.floats(1.0, 8.0),
)
def test_slower_links_longer_latencies_and_more_bytes_never_take_less(
    seed: int, chunks: float, change: str, factor: float
) -> None:
    flows, capacities = random_flows(seed)
    before_s = time_s(flows, capacities, chunks)
    rng = random.Random(seed)
    one = rng.randrange(len(flows))
    if change == "slower":
        capacities[rng.randrange(len(capacities))] /= factor
    elif change == "later":
        flows[one] = replace(flows[one], latency_s=flows[one].latency_s * factor)
    elif change == "larger":
        flows[one] = replace(flows[one], payload_bytes=flows[one].payload_bytes * factor)
    else:
        chunks *= factor
    assert time_s(flows, capacities, chunks) >= before_s * (1 - 1e-12)


@examples(150)
@given(
    seed=st.integers(0, 2**32),
    chunks=st.sampled_from([1.0, 2.5, 30.0]),
    more=st.integers(0, 2**32),
    first=st.booleans(),
)
def test_flows_that_nothing_waits_for_never_take_time_off(
    seed: int, chunks: float, more: int, first: bool
) -> None:
    flows, capacities = random_flows(seed)
    others, bandwidths = random_flows(more)
    both = (others, flows) if first else (flows, others)
    behind = [
        replace(one, after=tuple(len(both[0]) + before for before in one.after)) for one in both[1]
    ]
    capacities = [*capacities, *bandwidths[len(capacities) :]]
    alone_s = time_s(flows, capacities, chunks)
    assert time_s([*both[0], *behind], capacities, chunks) >= alone_s * (1 - 1e-12)


@examples(150)
@given(seed=st.integers(0, 2**32), chunks=st.sampled_from([2.5, 7.0, 30.0]))
def test_time_is_that_of_the_slowest_of_all_sets_of_flows_of_a_link(
    seed: int, chunks: float
) -> None:
    flows, capacities = random_flows(seed)
    pipeline = Pipeline(flows, capacities)
    longest_s, ready = pipeline._one(1.0)  # pyright: ignore[reportPrivateUsage]
    after = pipeline._rest(1.0)  # pyright: ignore[reportPrivateUsage]
    for link, capacity in enumerate(capacities):
        users = [
            (ready[i], after[i], load * one.payload_bytes / capacity)
            for i, one in enumerate(flows)
            for there, load in one.loads
            if there == link
        ]
        for count in range(1, len(users) + 1):
            for some in combinations(users, count):
                first, left = (min(one[i] for one in some) for i in (0, 1))
                longest_s = max(longest_s, first + chunks * sum(s for *_, s in some) + left)
    assert pipeline.time_s(chunks, 1.0) == pytest.approx(longest_s, rel=1e-12)


def differ_from_single_messages(
    topology: str, pattern: str, groups: list[list[int]], chunks: int
) -> float:
    """Return the difference to messages served one by one, in times of a chunk."""
    wafer = shared_topology(topology, "ideal")
    fluid_s = run_collectives(wafer, pattern, SIZE, groups, chunks, "published").time_s
    transfers = build_schedule(wafer, pattern, groups, SIZE / chunks).transfers
    messages_s = simulate(wafer, [Batch(transfers, chunks)]).finish_s[0]
    return (fluid_s / messages_s - 1) * chunks


@pytest.mark.slow_after_first
@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("topology", FABRICS)
def test_single_messages_served_in_order_take_the_same_but_for_filling_the_pipeline(
    topology: str, pattern: str, groups: list[list[int]]
) -> None:
    assert -2.0 < differ_from_single_messages(topology, pattern, groups, 48) < 1.0


@pytest.mark.parametrize("group", [range(16), [0, 1, 2, 5, 9]], ids=["wafer", "unequal"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_single_messages_on_a_square_mesh_take_the_same_but_for_filling_the_pipeline(
    pattern: str, group: list[int]
) -> None:
    assert -2.0 < differ_from_single_messages("mesh:4x4", pattern, [group], 48) < 1.0


@pytest.mark.parametrize("chunks", [16, 48, 120])
def test_chains_that_share_links_take_what_single_messages_take(chunks: int) -> None:
    difference = differ_from_single_messages("fred-a", "broadcast", GROUPS["four at once"], chunks)
    assert abs(difference) < 0.05


@pytest.mark.parametrize("topology", FABRICS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_link_carries_more_than_it_can(topology: str, pattern: str) -> None:
    result = run_collectives(shared_topology(topology, "ideal"), pattern, SIZE, [range(20)])
    assert max(load.utilisation for load in result.links) <= 1 + 1e-9
