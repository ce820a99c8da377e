"""Contract of fred_hw.link.circuit_credits, cycle by cycle."""

from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.credits import ticket_bits
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

MOST = LINK.protocol.buffer_packets
WATCH = ["room", "owed", "ticket"]


def test_throughput_is_a_packet_per_cycle_until_the_room_is_used() -> None:
    inputs = [{"start": int(cycle < MOST)} for cycle in range(MOST + 2)]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)
    assert seen == [(1, 0, 0), *((1, 1, k) for k in range(1, MOST)), *[(0, 1, MOST)] * 2]


def test_latency_of_a_limit_is_a_cycle_and_two_to_room() -> None:
    used = [{"start": 1}] * MOST
    inputs = [*used, {"grant": 1, "limit": 2 * MOST}, {"limit": MOST}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, ["room", "owed"])
    assert seen[MOST:] == [(0, 1), (0, 0), (1, 0), (1, 0)]


def test_room_counts_a_start_a_cycle_later_and_a_limit_two() -> None:
    last = {"start": 1, "grant": 1, "limit": MOST + 1}  # takes the last ticket that was granted
    inputs = [*[{"start": 1}] * (MOST - 1), last, {}, {"start": 1}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)
    assert [word[0] for word in seen[MOST - 1 :]] == [1, 0, 1, 0, 0]
    assert [word[2] for word in seen[MOST - 1 :]] == [MOST - 1, MOST, MOST, MOST + 1, MOST + 1]


def test_a_limit_in_the_cycle_before_the_last_start_keeps_room() -> None:
    grant = {"start": 1, "grant": 1, "limit": MOST + 1}
    inputs = [*[{"start": 1}] * (MOST - 2), grant, {"start": 1}, {"start": 1}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, ["room"])
    assert seen == [1] * (MOST + 1) + [0] * 2


def test_tickets_wrap() -> None:
    count = 1 << ticket_bits(LINK)
    inputs = [{"start": 1, "grant": 1, "limit": (k + 1 + MOST) % count} for k in range(count + 2)]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)
    assert [word[2] for word in seen] == [k % count for k in range(count + 2)]
    assert {word[:2] for word in seen} == {(1, 0)}


def test_a_limit_behind_the_next_ticket_is_no_room() -> None:
    # A limit that gives room first, so that the one behind the ticket is seen to take it.
    used, behind = [{"start": 1}] * MOST, {"grant": 1, "limit": MOST - 1}
    inputs = [*used, {"grant": 1, "limit": MOST + 1}, behind, {}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, ["room", "owed"])
    assert seen[MOST:] == [(0, 1), (0, 1), (1, 1), (0, 1), (0, 1)]


def test_reset_grants_all_room() -> None:
    inputs = [*[{"start": 1}] * MOST, {"rst": 1}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)
    assert seen[MOST:] == [(0, 1, MOST), (1, 0, 0), (1, 0, 0)]


def test_reset_forgets_a_limit_and_a_start() -> None:
    told = {"start": 1, "grant": 1, "limit": 1, "rst": 1}
    seen = trace(CircuitCredits(spec=LINK), [{"start": 1}, told, {}, {}], WATCH)
    assert seen[2:] == [(1, 0, 0)] * 2
