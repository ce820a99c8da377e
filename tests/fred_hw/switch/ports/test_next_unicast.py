"""Contract of fred_hw.switch.ports.next_unicast, cycle by cycle."""

import random
from collections import deque

from fred_hw.switch.ports.next_unicast import NextUnicast
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK


def comes(exit: int, online: int = 1) -> dict[str, int]:
    return {"enters": 1, "online": online, "exit": exit}


GOES = {"leaves": 1}


def seen(cycles: list[dict[str, int]]) -> list[int]:
    return trace(NextUnicast(spec=LINK), cycles, ["destination"])


def test_latency_is_two_cycles_from_what_comes_and_one_from_what_leaves() -> None:
    assert seen([comes(3), {}, {}, GOES, {}]) == [0, 0, 8, 8, 0]
    assert seen([comes(3), comes(1), {}, GOES, {}, GOES, {}]) == [0, 0, 8, 8, 2, 2, 0]


def test_a_packet_that_leaves_at_once_is_not_seen() -> None:
    assert seen([comes(3), comes(1) | GOES, {}, {}, GOES, {}]) == [0, 0, 0, 2, 2, 0]


def test_throughput_is_a_packet_in_and_one_out_per_cycle() -> None:
    cycles = [comes(0), comes(1), *[comes(k % 4) | GOES for k in range(2, 9)], {}]
    assert seen(cycles) == [0, 0, *[1 << k % 4 for k in range(8)]]


def test_a_packet_of_a_phase_has_no_destination_but_its_place() -> None:
    assert seen([comes(1, 0), comes(2), {}, GOES, {}]) == [0, 0, 0, 0, 4]


def test_random_packets_come_and_go_in_order() -> None:
    rng, inside, cycles, want = random.Random(1), deque[dict[str, int]](), [], []
    fresh: dict[str, int] | None = None  # has come in the cycle before
    for number in range(400):
        seen_here = bool(inside) and inside[0] is not fresh
        want.append(1 << inside[0]["exit"] if seen_here and inside[0]["online"] else 0)
        enters = len(inside) < LINK.protocol.buffer_flits and rng.random() < (number % 90) / 60
        leaves = bool(inside) and rng.random() < 0.5
        packet, fresh = comes(rng.randrange(4), min(rng.randrange(4), 1)), None
        cycles.append((packet if enters else {}) | (GOES if leaves else {}))
        if leaves:
            inside.popleft()
        if enters:
            inside.append(packet)
            fresh = packet
    assert seen(cycles) == want


def test_reset_forgets_all_packets() -> None:
    assert seen([comes(1), comes(2), {"rst": 1}, {}, {}]) == [0, 0, 2, 0, 0]
