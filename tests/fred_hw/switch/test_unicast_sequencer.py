"""Contract of fred_hw.switch.unicast_sequencer, cycle by cycle."""

import pytest

from fred_hw.switch.unicast_sequencer import UnicastSequencer
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

READY = {"may": 1, "here": 1, "space": 1, "valid": 1}
LAST = READY | {"last": 1}
STATE = ["start", "fire", "ending", "under_way", "stays", "lasts"]


def states(cycles: list[dict[str, int]], watch: list[str]) -> list[tuple[int, ...]]:
    return trace(UnicastSequencer(spec=LINK), cycles, watch)


def test_without_latency_a_packet_starts_when_all_is_there() -> None:
    lacking = [{**READY, name: 0} for name in ("may", "here", "space")]
    seen = states([*lacking, READY, READY], ["able", *STATE])
    assert seen == [
        (1, 0, 0, 0, 0, 0, 0),
        *[(0, 0, 0, 0, 0, 0, 0)] * 2,
        (1, 1, 1, 0, 0, 0, 1),
        (0, 0, 1, 0, 1, 1, 1),
    ]


def test_throughput_is_a_flit_per_cycle_without_a_gap_between_packets() -> None:
    seen = states([READY, READY, LAST, READY, LAST, LAST, LAST, {}], STATE)
    first, between, last = (1, 1, 0, 0, 0, 1), (0, 1, 0, 1, 1, 1), (0, 1, 1, 1, 0, 0)
    alone = (1, 1, 1, 0, 0, 0)
    assert seen == [first, between, last, first, last, alone, alone, (0,) * 6]


def test_a_packet_that_has_started_waits_for_its_flits_and_needs_nothing_else() -> None:
    waits = READY | {"valid": 0, "last": 1}
    seen = states([READY, waits, {"valid": 1}, {"valid": 1, "last": 1}], STATE)
    assert seen == [
        (1, 1, 0, 0, 0, 1),
        (0, 0, 0, 1, 1, 1),
        (0, 1, 0, 1, 1, 1),
        (0, 1, 1, 1, 0, 0),
    ]


@pytest.mark.parametrize(("end", "bad"), [(LAST, 0), ({"broken": 1}, 1)], ids=["whole", "broken"])
def test_the_end_is_bad_if_the_rest_is_not_there(end: dict[str, int], bad: int) -> None:
    seen = states([READY, end, {}], ["fire", "ending", "bad", "under_way"])
    assert seen == [(1, 0, 0, 0), (1, 1, bad, 1), (0, 0, 0, 0)]


@pytest.mark.parametrize("flits", [2, 3, 4])
def test_that_the_next_flit_is_the_last_is_told_while_it_does_not_come(flits: int) -> None:
    packet = [READY | {"length": flits - 1}, *[{"valid": 1}] * (flits - 2), {}, {}, LAST]
    seen = states(packet, ["lasts", "closing"])
    assert seen[:-1] == [*[(1, 0)] * (flits - 2), *[(1, 1)] * 3]
    assert seen[-1][0] == 0


def test_reset_forgets_the_packet() -> None:
    assert states([READY, {"rst": 1}, {}], ["under_way"]) == [0, 1, 0]
