"""Contract of fred_hw.switch.starvation_guard, cycle by cycle."""

from itertools import groupby
from typing import Any

import pytest

from fred_hw.switch.starvation_guard import (
    CLAIM_CYCLES,
    RECENT_CYCLES,
    RESERVE_CYCLES,
    SETTLE_CYCLES,
    URGENT_CYCLES,
    WATCH_CYCLES,
    StarvationGuard,
)
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

MP, PP, DP = range(3)
PHASES, ONLINE = LINK.protocol.phases, LINK.protocol.online
Cycle = dict[str, int]

SPACE = {f"ports[{k}].{name}": 7 for k in range(LINK.ports) for name in ("vacant", "granted")}
FULL = SPACE | {"ports[2].vacant": 0}
PASSED = {"ports[2].starts": 1, "ports[2].circuit": PP}
"""A packet to output 2 starts."""
UNICAST = {
    "ports[1].waiting": 1 << PP,
    f"ports[1].phases[{PP}]": ONLINE,
    f"ports[1].exits[{PP}]": 2,
}
# Phase 3 reduces ports 1 and 3 to outputs 0 and 2.
FLOW = {"ports[1].waiting": 1 << PP, f"ports[1].phases[{PP}]": 3, "there": 0b1010}
FLOW |= {f"probed.{ends}[{k}]": 4 for ends, k in (("inputs", 1), ("inputs", 3))}
FLOW |= {f"probed.outputs[{k}]": 4 for k in (0, 2)}
FLOW |= {"probes": 1, "probe": 3}
ANEW = {"ports[1].anew": 1 << PP}
SEEN = [f"ports[{k}].reserved" for k in range(LINK.ports)]
SEEN += ["claims", "holds"]
NOTHING = (0,) * len(SEEN)
SEEK = 2 * 3 * LINK.ports
"""Cycles in which each queue has been looked at."""
SOON = SEEK + WATCH_CYCLES + 8
"""When space is kept, at the latest."""


def seen(cycles: list[Cycle], waits: Cycle = UNICAST) -> list[Any]:
    return trace(StarvationGuard(spec=LINK), [FULL | waits | cycle for cycle in cycles], SEEN)


def reserved(of_output: int, circuit: int = PP) -> tuple[int, ...]:
    held = (-1 << circuit) & 7  # less urgent ones, too
    return *(held if k == of_output else 0 for k in range(LINK.ports)), 0, 0


PASSING = [PASSED] * SOON


def first_kept(found: list[Any]) -> int:
    return next(t for t, row in enumerate(found) if row != NOTHING)


@pytest.mark.parametrize(
    ("waits", "keeps", "claims"),
    [(UNICAST, (0, 0, 6, 0), 1 << PHASES + PP), (FLOW, (6, 0, 6, 0), 1 << 3)],
    ids=["unicast", "flow"],
)
def test_latency_until_space_is_kept_and_then_claimed(
    waits: Cycle, keeps: tuple[int, ...], claims: int
) -> None:
    phase = waits[f"ports[1].phases[{PP}]"]
    served = {"active": 1, "online": int(phase == ONLINE), "phase": phase}
    # The space of all outputs is kept for a while first, if only that of the full ones was.
    settles = SETTLE_CYCLES if waits is FLOW else 0
    space = [SPACE] * (settles + 4)
    found = seen([*PASSING, *space, SPACE | served, SPACE | ANEW, *[SPACE] * 4], waits)
    assert WATCH_CYCLES < first_kept(found) <= SOON
    assert set(found[first_kept(found) : SOON]) == {(0, 0, 6, 0, 0, 0)}
    # Space is seen a cycle late, and a cycle later it is claimed.
    claimed = (*keeps, claims, 0b110)
    assert found[SOON:] == [
        *[(0, 0, 6, 0, 0, 0)] * 3,
        *[(*keeps, 0, 0)] * settles,
        claimed,
        claimed,
        (0, 0, 0, 0, claims, 0b110),
        *[claimed] * 2,
        *[NOTHING] * 2,
    ]


@pytest.mark.parametrize(
    "cycle",
    [
        {"ports[2].starts": 0},
        PASSED | {"ports[2].circuit": MP},
        {"ports[2].starts": 0, "ports[1].starts": 1, "ports[1].circuit": PP},
        PASSED | {"online": 1},
        PASSED | {"ports[1].waiting": 1 << DP},
    ],
    ids=["nobody", "more urgent", "other output", "other unicasts", "nothing waits"],
)
def test_no_space_is_kept_for_a_unicast_that_phases_do_not_overtake(cycle: Cycle) -> None:
    assert set(seen([cycle | {"ports[2].starts": 0}, *[cycle] * SOON])) == {NOTHING}


@pytest.mark.parametrize(
    "cycle",
    [
        PASSED | {"there": 0b0010},
        PASSED | {"probed.inputs[1]": 0},
        PASSED | {"ports[0].vacant": 0},
        PASSED | {"probes": 0},
        PASSED | {"probe": 1},
    ],
    ids=["other input waits", "of no flow", "other output is full", "not looked at", "other phase"],
)
def test_no_space_is_kept_for_a_flow_that_waits_for_something_else(cycle: Cycle) -> None:
    assert set(seen([cycle] * (SOON + WATCH_CYCLES), FLOW)) == {NOTHING}


def test_packets_of_others_by_unicasts_count_for_a_flow() -> None:
    cycles = [FULL | {"online": 1}, *[PASSED | {"online": 1}] * SOON]
    assert seen(cycles, FLOW)[-1] == (0, 0, 6, 0, 0, 0)


@pytest.mark.parametrize("online", [0, 1])
def test_less_urgent_packets_of_any_kind_count_and_soon(online: int) -> None:
    cycles = [PASSED | {"ports[2].circuit": DP, "online": online}] * SOON
    found = seen(cycles)
    assert found[-1] == reserved(2)
    assert URGENT_CYCLES < first_kept(found) <= SEEK + URGENT_CYCLES + 8


def test_soon_is_for_less_urgent_packets_to_all_outputs_that_are_full() -> None:
    both = FULL | {"ports[0].vacant": 0}
    less, equal = ({"ports[0].starts": 1, "ports[0].circuit": c} for c in (DP, PP))
    for other, kept in ((less, (6, 0, 6, 0, 0, 0)), (equal, NOTHING), ({}, NOTHING)):
        cycles = [both | PASSED | other | {"ports[2].circuit": DP}] * (SOON - WATCH_CYCLES // 2)
        assert seen(cycles, FLOW)[-1] == kept
    # Those that are as urgent count later.
    cycles = [both | PASSED | equal | {"ports[2].circuit": DP}] * (SOON + 2 * URGENT_CYCLES)
    assert seen(cycles, FLOW)[-1] == (6, 0, 6, 0, 0, 0)


@pytest.mark.parametrize(
    ("before", "kept"), [(0, True), (RECENT_CYCLES - SOON, True), (2 * RECENT_CYCLES, False)]
)
def test_a_packet_before_the_watch_counts_for_a_time(before: int, kept: bool) -> None:
    # As from a receiver that makes space at fixed times, each time while another queue is watched.
    found = seen([PASSED, *[{"ports[1].waiting": 0}] * before, *[{}] * SOON])
    assert found[-1] == (reserved(2) if kept else NOTHING)


def test_less_urgent_packets_go_on_where_the_receiver_has_no_space() -> None:
    none = {"ports[2].granted": 7 & ~(1 << PP)}
    less = PASSED | {"ports[2].circuit": DP}
    assert set(seen([less | none] * (SOON + WATCH_CYCLES))) == {NOTHING}
    kept = (0, 0, 1 << PP, 0, 0, 0)
    assert seen([PASSED | none] * SOON)[-1] == kept
    # It has space, and the queue of the output has none.
    assert seen([*[PASSED | none] * SOON, {}, {}, {}])[-3:] == [kept, kept, reserved(2)]


def test_an_output_that_turns_out_to_be_full_has_its_space_kept_too() -> None:
    full = SPACE | {"ports[0].vacant": 0, "ports[0].starts": 1, "ports[0].circuit": PP}
    settling = SETTLE_CYCLES + 4
    # Output 2 has space and 0 has none; then that has some, while 2 is not full again.
    found = seen([*PASSING, *[full] * settling, *[full] * 20, *[SPACE] * settling], FLOW)
    assert (0, 0, 6, 0, 0, 0) in found[:SOON]
    assert set(found[SOON + settling :][:20]) == {(6, 0, 6, 0, 0, 0)}
    assert found[-1] == (6, 0, 6, 0, 1 << 3, 0b110)


def test_an_output_that_turns_out_to_be_dead_ends_it() -> None:
    dead = SPACE | {"ports[0].vacant": 0}
    found = seen([*PASSING, *[dead] * (SETTLE_CYCLES + 6)], FLOW)
    assert found[SOON] == (0, 0, 6, 0, 0, 0)
    assert found[-1] == NOTHING


def test_a_packet_that_moves_is_watched_anew() -> None:
    moves = [PASSED | (ANEW if t % WATCH_CYCLES == 0 else {}) for t in range(3 * SOON)]
    assert set(seen(moves)) == {NOTHING}


def test_space_that_was_there_before_is_not_claimed_until_nobody_takes_it() -> None:
    found = seen([PASSED | SPACE] * (SOON + 2 * SETTLE_CYCLES))
    kept = found.index(reserved(2))
    assert [row[-2] != 0 for row in found[kept:]].index(True) == SETTLE_CYCLES


def test_space_is_not_kept_for_longer_than_its_time() -> None:
    found = seen(PASSING + [{}] * (RESERVE_CYCLES + SEEK))
    assert sum(row != NOTHING for row in found) == RESERVE_CYCLES
    assert found[-1] == NOTHING


def test_a_claim_that_is_not_served_ends() -> None:
    found = seen(PASSING + [SPACE] * (CLAIM_CYCLES + 2 * 3 + SEEK))
    assert sum(row[-2] != 0 for row in found) == CLAIM_CYCLES
    assert found[-1] == NOTHING


def test_throughput_is_one_packet_at_a_time_queues_in_turns() -> None:
    both = UNICAST | {
        "ports[3].waiting": 1 << DP,
        f"ports[3].phases[{DP}]": ONLINE,
        f"ports[3].exits[{DP}]": 0,
        "ports[0].vacant": 0,
        "ports[0].starts": 1,
        "ports[0].circuit": DP,
    }
    found = seen([PASSED] * (2 * (SOON + RESERVE_CYCLES)), both)
    assert set(found) == {NOTHING, reserved(2), reserved(0, DP)}


@pytest.mark.slow
def test_each_queue_has_its_round_however_long_others_take() -> None:
    """All wait, space never comes, so each reservation lasts as long as one may."""
    everybody: Cycle = {}
    for k in range(LINK.ports):
        everybody |= {f"ports[{k}].waiting": 7, f"ports[{k}].granted": 7}
        everybody |= {f"ports[{k}].starts": 1, f"ports[{k}].circuit": DP}
        for c in range(3):
            everybody |= {f"ports[{k}].phases[{c}]": ONLINE}
            everybody |= {f"ports[{k}].exits[{c}]": (k + 1) % LINK.ports}
    rounds, longest = 3 * LINK.ports, WATCH_CYCLES + RESERVE_CYCLES + CLAIM_CYCLES
    found = trace(StarvationGuard(spec=LINK), [everybody] * rounds * longest, SEEN)
    kept = [row for row, _ in groupby(found) if row != NOTHING]
    # Queues are told apart by the output and by the circuits whose space is kept.
    turns = [
        reserved((k + 1) % LINK.ports, circuit) for k in range(LINK.ports) for circuit in range(3)
    ]
    assert kept[:rounds] == turns


def test_reset_watches_anew() -> None:
    assert seen([*PASSING, {"rst": 1}, {}])[-2:] == [reserved(2), NOTHING]
