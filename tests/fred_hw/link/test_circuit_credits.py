"""Contract of fred_hw.link.circuit_credits, cycle by cycle."""

import pytest

from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.credits import link_sequence_bits
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

SIZE, MOST = LINK.protocol.packet_flits, LINK.protocol.buffer_flits
PACKETS = LINK.protocol.buffer_packets
WATCH = ["space", "owed", "link_sequence"]
START = {"start": 1, "length": SIZE - 1}


def test_throughput_is_a_packet_per_cycle_until_the_space_is_used() -> None:
    inputs = [*[START] * PACKETS, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)
    before = [(1, int(k > 1), SIZE * k) for k in range(PACKETS)]
    assert seen == [*before, *[(0, 1, MOST)] * 2]


@pytest.mark.parametrize("flits", range(1, SIZE + 1))
def test_there_is_space_for_short_packets_while_a_largest_one_fits(flits: int) -> None:
    begun = (MOST - SIZE) // flits + 1
    inputs = [{"start": int(cycle < begun), "length": flits - 1} for cycle in range(begun + 2)]
    seen = trace(CircuitCredits(spec=LINK), inputs, ["space", "link_sequence"])
    assert seen == [*((1, flits * k) for k in range(begun)), *[(0, flits * begun)] * 2]


def test_the_link_sequence_of_a_packet_is_told_in_the_cycle_behind_its_start() -> None:
    inputs = [{}, START, {"start": 1, "length": 0}, {}, START, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, ["link_sequence", "taken"])
    # ``taken`` is of no use but behind a start.
    assert [seen[k] for k in (2, 3, 5)] == [(SIZE, 0), (SIZE + 1, SIZE), (2 * SIZE + 1, SIZE + 1)]


def test_latency_of_a_limit_is_two_cycles() -> None:
    inputs = [*[START] * PACKETS, {"grant": 1, "limit": 2 * MOST}, {"limit": MOST}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, ["space", "owed"])
    assert seen[PACKETS:] == [(0, 1), (0, 1), (1, 0), (1, 0)]


def test_space_counts_a_start_a_cycle_later_and_a_limit_two() -> None:
    last = START | {"grant": 1, "limit": MOST + SIZE}  # takes the last space that was granted
    inputs = [*[START] * (PACKETS - 1), last, {}, START, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)[PACKETS - 1 :]
    assert [word[0] for word in seen] == [1, 0, 1, 0, 0]
    places = [MOST - SIZE, MOST, MOST, MOST + SIZE, MOST + SIZE]
    assert [word[2] for word in seen] == [k % (1 << link_sequence_bits(LINK)) for k in places]


@pytest.mark.parametrize("more", [SIZE, SIZE - 1])
def test_a_limit_keeps_space_if_a_largest_packet_fits(more: int) -> None:
    grant = START | {"grant": 1, "limit": MOST + more}
    inputs = [*[START] * (PACKETS - 2), grant, START, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, ["space"])
    assert seen == [*[1] * PACKETS, *[int(more == SIZE)] * 2]


@pytest.mark.parametrize(("limit", "space"), [(MOST, 1), (MOST + 1, 0), (MOST + SIZE, 0)])
def test_a_limit_beyond_the_ring_is_no_space_but_owed(limit: int, space: int) -> None:
    seen = trace(CircuitCredits(spec=LINK), [{"grant": 1, "limit": limit}, {}, {}, {}], WATCH)
    assert seen[-1] == (space, 1 - space, 0)


def test_link_sequences_wrap() -> None:
    count = 1 << link_sequence_bits(LINK)
    inputs = [
        {"start": 1, "grant": 1, "limit": (k + 1 + MOST) % count, "length": 0}
        for k in range(count + 2)
    ]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)
    assert [word[2] for word in seen] == [k % count for k in range(count + 2)]
    assert {word[:2] for word in seen} == {(1, 0)}


def test_a_limit_behind_the_next_link_sequence_is_no_space() -> None:
    # First a limit that gives space: the limit behind the link sequence number takes it.
    behind = {"grant": 1, "limit": MOST - 1}
    inputs = [*[START] * PACKETS, {"grant": 1, "limit": MOST + SIZE}, behind, {}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, ["space", "owed"])
    assert seen[PACKETS:] == [(0, 1), (0, 1), (1, 1), (0, 1), (0, 1)]


def test_reset_grants_all_space() -> None:
    inputs = [*[START] * PACKETS, {"rst": 1}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)
    assert seen[PACKETS:] == [(0, 1, MOST), (1, 0, 0), (1, 0, 0)]


def test_reset_forgets_a_limit_and_a_start() -> None:
    told = START | {"grant": 1, "limit": 1, "rst": 1}
    seen = trace(CircuitCredits(spec=LINK), [START, told, {}, {}], WATCH)
    assert seen[2:] == [(1, 0, 0)] * 2


def test_a_link_that_begins_has_no_space_until_it_is_told_of_some() -> None:
    begins = {"begins": 1} | {"grant": 1, "limit": 1}
    inputs = [START, begins, {}, {"grant": 1, "limit": SIZE}, {}, {}]
    seen = trace(CircuitCredits(spec=LINK), inputs, WATCH)
    assert seen[2:] == [(0, 1, 0), (0, 1, 0), (0, 1, 0), (1, 1, 0)]
