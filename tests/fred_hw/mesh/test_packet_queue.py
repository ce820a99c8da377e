"""Contract of fred_hw.mesh.packet_queue, cycle by cycle."""

from itertools import pairwise

import pytest

from fred_hw.mesh.packet_queue import PacketQueue
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

DEPTH = LINK.protocol.buffer_flits
STATE = ["waiting", "valid", "last", "broken", "leaves"]
START = {"start": 1, "take": 1}
TAKE, END = {"take": 1}, {"take": 1, "finish": 1}


def flit(index: int, last: int, sequence: int = 0) -> dict[str, int]:
    return {
        "arrives": 1,
        "mark.first": int(index == 0),
        "mark.last": int(index == last),
        "mark.descriptor.sequence": sequence,
        "mark.descriptor.length": last,
    }


def seen(cycles: list[dict[str, int]], watch: list[str]) -> list[tuple[int, ...]]:
    return trace(PacketQueue(spec=LINK), cycles, watch)


def test_latency_is_a_cycle_to_the_head_and_throughput_a_flit_per_cycle() -> None:
    cycles = [flit(0, 1), flit(1, 1) | START, flit(0, 0, 1) | END, START | END, {}]
    watch = [*STATE, "enters", "descriptor.sequence", "place"]
    assert seen(cycles, watch) == [
        (0, 0, 0, 0, 0, 1, 0, 0),
        (1, 1, 0, 0, 1, 0, 0, 0),
        (0, 1, 1, 0, 0, 1, 0, 1),
        (1, 1, 1, 0, 1, 0, 1, 2),
        (0, 0, 1, 0, 0, 0, 1, 3),
    ]


def test_payload_goes_round_and_a_full_queue_is_not_ready() -> None:
    cycles = [*[flit(0, 0)] * DEPTH, {}, START | END, {}, {}]
    found = seen(cycles, ["tail", "used", "ready"])
    assert [tail for tail, _, _ in found[:DEPTH]] == list(range(DEPTH))
    assert [(used, ready) for _, used, ready in found[DEPTH:]] == [
        (DEPTH, 0),
        (DEPTH, 0),
        (DEPTH, 0),  # what goes counts for a cycle more
        (DEPTH - 1, 1),
    ]


def test_a_packet_that_has_started_waits_for_its_flits_until_it_is_broken() -> None:
    comes = {"incoming": 1}
    found = seen([flit(0, 1) | comes, START | comes, comes, {}, END, {}], STATE)
    assert found[2:] == [(0, 0, 0, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 0)]


def test_a_packet_that_is_followed_by_another_before_its_end_is_broken() -> None:
    found = seen([flit(0, 2), flit(0, 0, 1) | START, {}, {"finish": 1}, {}], STATE)
    assert found[2:] == [(0, 0, 1, 1, 0), (0, 0, 1, 1, 0), (1, 1, 1, 0, 0)]


def test_latency_to_stuck_is_a_cycle_behind_the_second_tick() -> None:
    tick = {"tick": 1}
    cycles = [flit(0, 2), flit(1, 2), tick, {}, tick, {}, flit(2, 2), flit(0, 0, 1), {}]
    found = seen(cycles, ["stuck", "waiting", "leaves", "used"])
    assert found[4:] == [
        (0, 1, 0, 2),
        (1, 0, 1, 2),  # thrown away
        (0, 0, 0, 2),  # its second flit follows
        (0, 0, 0, 2),  # and one that comes later; what goes counts for a cycle more
        (0, 1, 0, 2),
    ]
    assert seen([*cycles, {}], ["waiting", "descriptor.sequence"])[-1] == (1, 1)


@pytest.mark.parametrize("ahead", [0, 3, 8])
def test_a_full_queue_that_nothing_leaves_is_empty_after_two_ticks_for_each_flit(
    ahead: int,
) -> None:
    """The bound of docs/explanation/mesh.md: packets of one flit, the first just behind a tick."""
    period = 9
    cycles = [flit(0, 0) if k < DEPTH else {} for k in range((2 * DEPTH + 1) * period)]
    for k in range(ahead, len(cycles), period):
        cycles[k] = cycles[k] | {"tick": 1}
    found = seen(cycles, ["stuck", "leaves"])
    gone = [k for k, (stuck, _) in enumerate(found) if stuck]
    assert gone == [k for k, (_, leaves) in enumerate(found) if leaves]
    assert len(gone) == DEPTH
    assert [two - one for one, two in pairwise(gone)] == (DEPTH - 1) * [2 * period]
    assert gone[-1] <= 2 * period * DEPTH + 2


@pytest.mark.parametrize("between", [START | END, {}], ids=["goes", "waits"])
def test_a_packet_that_starts_in_time_is_not_thrown_away(between: dict[str, int]) -> None:
    tick = {"tick": 1}
    cycles = [flit(0, 0), flit(0, 0, 1) | tick, between, tick, {}, {}]
    found = seen(cycles, ["stuck"])
    assert any(found) == (not between)


def test_reset_forgets_all_packets() -> None:
    found = seen([flit(0, 1), flit(1, 1), {"rst": 1}, {}, {}], ["valid", "used"])
    assert found[3:] == [(0, 0)] * 2
