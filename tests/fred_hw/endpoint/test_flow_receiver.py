"""Contract of fred_hw.endpoint.flow_receiver, cycle by cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.endpoint.flow_receiver import FlowReceiver
from fred_hw.protocol import Kind
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

PROTOCOL = LINK.protocol
WINDOW = PROTOCOL.window_packets
IDLE, TIMEOUT, INTERVAL = (
    PROTOCOL.nack_timeout_cycles,
    PROTOCOL.packet_timeout_cycles,
    PROTOCOL.ack_interval,
)
REST = {"o.ready": 1, "message_ready": 1, "flow.phase": 1}
Inputs = list[dict[str, int]]


def packet(number: int, length: int = 1, data: int = 0, phase: int = 1, source: int = 0) -> Inputs:
    known = {"phase": phase, "source": source, "sequence": number, "length": length - 1}
    return [
        {
            "i.valid": 1,
            "i.word.first": int(k == 0),
            "i.word.last": int(k == length - 1),
            "i.word.data": data + k,
            **{f"i.word.descriptor.{name}": value for name, value in known.items()},
        }
        for k in range(length)
    ]


def ask(phase: int = 1) -> dict[str, int]:
    return {"ask.valid": 1, "ask.payload.kind": Kind.ASK, "ask.payload.phase": phase}


def run(inputs: Sequence[Mapping[str, int]], watch: Sequence[str]) -> list[Any]:
    return trace(FlowReceiver(spec=LINK), inputs, watch, **REST)


def messages(inputs: Sequence[Mapping[str, int]]) -> list[tuple[int, ...]]:
    """Return cycle, kind, phase and number of the messages."""
    names = [f"message.payload.{name}" for name in ("kind", "phase", "sequence")]
    # The flow is another than in the cycle before the first.
    seen = run([{}, *inputs], ["message.valid", *names])[1:]
    return [(cycle, *word[1:]) for cycle, word in enumerate(seen) if word[0]]


def nacks(inputs: Sequence[Mapping[str, int]]) -> list[int]:
    """Return the cycles of the nacks."""
    return [word[0] for word in messages(inputs) if word[1] == Kind.NACK]


def test_latency_of_a_flit_is_a_cycle_and_throughput_one_per_cycle() -> None:
    inputs = [{}, *packet(0, 3, 10), *packet(1, 2, 20), {}]
    seen = run(inputs, ["o.valid", "o.data", "o.last", "i.ready"])
    assert [word[0] for word in seen] == [0, 0, 1, 1, 1, 1, 1]
    assert [word[1:3] for word in seen[2:]] == [(10, 0), (11, 0), (12, 1), (20, 0), (21, 1)]
    assert {word[3] for word in seen} == {1}


def test_latency_of_an_ack_from_the_packet_that_fills_the_interval_is_a_cycle() -> None:
    inputs = [one for k in range(2 * INTERVAL) for one in packet(k)]
    found = messages([*inputs, {}, {}])
    assert found == [(INTERVAL, Kind.ACK, 1, INTERVAL), (2 * INTERVAL, Kind.ACK, 1, 2 * INTERVAL)]


def test_an_ack_comes_once_no_flit_has_come_for_a_while() -> None:
    found = messages([*packet(0), *[{}] * (2 * IDLE)])
    assert found == [(PROTOCOL.quiet_cycles + 1, Kind.ACK, 1, 1)]


def test_while_other_circuits_are_busy_an_ack_waits_for_four_times_as_long() -> None:
    # The next packet comes when theirs have had their turn.
    found = messages([one | {"busy": 1} for one in [*packet(0), *[{}] * (2 * IDLE)]])
    assert found == [(IDLE + 1, Kind.ACK, 1, 1)]


def test_an_ack_comes_before_its_source_gives_up_waiting() -> None:
    # Flits that end no packet come all the time.
    ahead = packet(1, 2)[0]
    found = messages([*packet(0), *[ahead] * (2 * PROTOCOL.ack_cycles)])
    acks = [word for word in found if word[1] == Kind.ACK]
    assert acks == [(PROTOCOL.ack_cycles + 1, Kind.ACK, 1, 1)]


def test_an_ask_is_answered_two_cycles_later_and_with_a_nack_if_it_is_quiet() -> None:
    inputs = [*packet(0), ask(), *[{}] * (IDLE + 2), ask(), {}, {}, {}]
    quiet = IDLE + 4
    assert messages(inputs) == [
        (2, Kind.ACK, 1, 1),
        (quiet + 1, Kind.ACK, 1, 1),
        (quiet + 2, Kind.NACK, 1, 1),
    ]


def test_a_packet_that_is_ahead_is_nacked_a_cycle_later() -> None:
    assert messages([*packet(1), *[{}] * 3]) == [(1, Kind.NACK, 1, 0)]


def test_one_nack_in_packet_timeout_cycles() -> None:
    inputs = [one for k in range(1, 2 * TIMEOUT + 3) for one in packet(k % 8 + 1)]
    assert nacks(inputs) == [1, TIMEOUT + 2]
    # What comes makes the next loss worth a nack at once.
    assert nacks([*packet(1), *packet(0), *packet(2), {}]) == [1, 3]


def test_a_packet_that_breaks_is_nacked() -> None:
    assert nacks([packet(0, 3)[0], {"broken": 1}, *[{}] * 3]) == [2]


@pytest.mark.parametrize(
    "before",
    [
        packet(0, 3),
        [*packet(0), packet(0, 3)[0]],
        [packet(0, 3, phase=2)[0]],
        [packet(0, 3)[0], packet(0, 3, phase=2)[0]],
        [],
    ],
    ids=["whole", "had before", "of another flow", "of another flow behind it", "none"],
)
def test_a_packet_that_breaks_is_not_nacked_if_nothing_is_lost(before: Inputs) -> None:
    assert nacks([*before, {"broken": 1}, *[{}] * IDLE]) == []


def test_a_packet_that_was_turned_away_and_breaks_is_not_nacked() -> None:
    enough = {"enough": 1}
    inputs = [packet(0, 3)[0] | enough, {"broken": 1} | enough, *[enough] * (IDLE + 3)]
    assert nacks(inputs) == []


def test_packets_in_order_are_never_nacked() -> None:
    whole = [one for k in range(8) for one in packet(k, k % 4 + 1)]
    assert nacks([*whole, *[{}] * (IDLE + 3)]) == []


@pytest.mark.parametrize(("expected", "lost"), [(WINDOW - 1, 0), (WINDOW, 0), (WINDOW + 1, 1)])
def test_a_packet_is_old_up_to_a_window_behind(expected: int, lost: int) -> None:
    """The oldest packet that a source may send again has been expected a whole window ago."""
    whole = [one for k in range(expected) for one in packet(k)]
    assert len(nacks([*whole, *packet(0), {}, {}])) == lost


def test_packets_that_come_again_are_acknowledged_and_not_given() -> None:
    inputs = [*packet(0), *packet(1), {}, *packet(0, 2, 5), *packet(1), {}, {}]
    assert messages(inputs) == [(2, Kind.ACK, 1, 2), (6, Kind.ACK, 1, 2)]
    assert sum(run([{}, *inputs], ["o.valid"])) == 2


def test_what_came_of_a_packet_before_is_passed_over() -> None:
    inputs = [{}, *packet(0, 3, 5)[:2], {"broken": 1}, *packet(0, 3, 5), {}]
    seen = run(inputs, ["o.valid", "o.data"])
    assert [data for valid, data in seen if valid] == [5, 6, 7]
    assert nacks(inputs[1:] + [{}] * 3) == [3]


def test_flits_are_dropped_while_enough_has_come_and_asked_for_then() -> None:
    enough = {"enough": 1}
    before = [packet(0)[0], packet(1, 2)[0], packet(1, 2, 5)[1] | enough]
    again = [one | enough for one in [*packet(2, 2), *packet(3), *packet(0), *[{}] * IDLE]]
    inputs = [{}, *before, *again, {}, {}, *packet(1, 2, 7), *packet(2, 2, 20), {}]
    seen = run(inputs, ["came", "o.valid", "o.data"])
    # Of a packet that has begun the rest is dropped, and its beginning when it comes again.
    last = len(inputs)
    taken = [k for k, word in enumerate(seen) if word[0]]
    assert taken == [1, 2, last - 4, last - 3, last - 2]
    assert [data for _, valid, data in seen if valid] == [0, 0, 8, 20, 21]
    # What comes again is acknowledged, but nothing is asked for until more is wanted.
    asked = len(before) + len(again) + 1
    found = messages(inputs[1:])
    assert {word[1:] for word in found if word[0] < asked} == {(Kind.ACK, 1, 1)}
    assert [word for word in found if word[1] == Kind.NACK] == [(asked, Kind.NACK, 1, 1)]


@pytest.mark.parametrize("kept", range(1, 4))
def test_a_flow_goes_on_within_a_packet(kept: int) -> None:
    """Another flow comes in between; ``clear``, and another generation, begin the packet anew."""
    first = [one | ({} if k < kept else {"enough": 1}) for k, one in enumerate(packet(0, 4, 10))]
    other = [{"flow.phase": 2}, *(one | {"flow.phase": 2} for one in packet(0, 4, 50, phase=2))]
    again = [{}, *packet(0, 4, 20), {}]
    cases: dict[int, Inputs] = {
        kept: again,
        0: [{}, {"clear": 1}, *again[1:]],
        -1: [one | {"flow.generation": 4} for one in of(4, again)],
    }
    for passed, behind in cases.items():
        seen = run([{}, *first, *other, *behind], ["o.valid", "o.data"])
        expected = [*range(10, 10 + kept), *range(50, 54), *range(20 + max(0, passed), 24)]
        assert [data for valid, data in seen if valid] == expected


def test_what_was_turned_away_of_a_flow_is_not_asked_for_in_another() -> None:
    away = [one | {"enough": 1} for one in packet(0)]
    assert nacks([*away, *[{"flow.phase": 2, "enough": 1}] * 3, *[{"flow.phase": 2}] * 3]) == []


def test_a_flow_that_is_not_known_is_told_a_cycle_later() -> None:
    assert run([{}, *packet(0, phase=2), {}], ["unknown", "o.valid"]) == [(0, 0), (0, 0), (1, 0)]


def test_a_flow_that_had_its_turn_is_answered_two_cycles_later() -> None:
    turn = [*packet(0), *[{"flow.phase": 2}] * 4]
    late = [one | {"flow.phase": 2} for one in [*packet(0), {}, ask(), {}, {}, {}]]
    # The ack that waited goes when the flow changes.
    assert messages([*turn, *late]) == [
        (2, Kind.ACK, 1, 1),
        (7, Kind.ACK, 1, 1),
        (9, Kind.ACK, 1, 1),
        (10, Kind.NACK, 1, 1),
    ]
    assert set(run([{}, *turn, *late], ["unknown"])) == {0}


def test_a_message_waits_until_it_is_taken() -> None:
    wait = {"message_ready": 0}
    found = messages([packet(1)[0] | wait, *[wait] * 3, {}, {}])
    assert found == [(cycle, Kind.NACK, 1, 0) for cycle in range(1, 5)]


def fill(flits: int, number: int = 0) -> Inputs:
    """Return packets of 4 flits from a number on, none of which leaves the queue."""
    return [one | {"o.ready": 0} for n in range(flits // 4) for one in packet(number + n, 4)]


def test_flits_wait_until_they_are_taken() -> None:
    """The queue holds what the link has credits for at first, and one packet more."""
    size = PROTOCOL.buffer_flits + PROTOCOL.packet_flits
    seen = run([{"o.ready": 0}, *fill(size), *packet(size // 4), {}], ["i.ready", "o.valid"])
    assert [word[0] for word in seen] == [1] * (size + 1) + [0, 1]


FULL, SIZE, HOLD = PROTOCOL.buffer_flits, PROTOCOL.packet_flits, PROTOCOL.ack_cycles
STAYS = {"o.ready": 0}


def test_a_link_that_is_held_is_lent_space_for_a_packet() -> None:
    """Flits that leave later pay the space back; then the link may be held for as long again."""
    leaves, held = 3, FULL - SIZE + 1  # flits in the queue with which there is no space
    comes = fill(SIZE, FULL // SIZE)[:leaves]
    before = [STAYS, *fill(FULL), *[STAYS] * (HOLD + 1)]
    used = run([*before, *[{}] * leaves, *comes, *[STAYS] * (HOLD + 1)], ["i.used"])
    lends = held + 1 + HOLD + 1
    assert used[:lends] == [0, *range(FULL), *[FULL] * (lends - FULL - 1)]
    paid = len(before) + leaves + 1
    assert used[lends:paid] == [FULL - SIZE] * (paid - lends)
    again = paid + 1 + HOLD
    filled = FULL - SIZE + leaves
    assert used[paid:again] == [*range(held, filled), *[filled] * (again - paid + held - filled)]
    assert used[again:] == [FULL - SIZE] * 2


def test_a_link_that_gets_space_in_time_is_lent_none() -> None:
    used = run([STAYS, *fill(FULL), *[{}] * (FULL + 1)], ["i.used"])
    assert HOLD > 2 * SIZE - 1  # the queue has no space while it is filled and emptied so far
    assert used == [0, *range(FULL), *range(FULL, -1, -1)]


def test_clear_starts_the_number_at_0() -> None:
    for forgets in ({"clear": 1}, {"forget": 0b10}, {"rst": 1}):
        inputs = [{}, *packet(0), {}, forgets, {}, *packet(0, data=9), {}]
        seen = run(inputs, ["o.valid", "o.data"])
        assert [data for valid, data in seen if valid] == [0, 9]


def test_a_phase_is_forgotten_that_is_not_set() -> None:
    """Its packets are taken from number 0 on when it is set again, and not answered before."""
    away = [{"flow.phase": 2} | one for one in ({}, {"forget": 0b10}, *packet(0), {}, {}, {})]
    inputs = [*packet(0), {}, *away, {}, {}, *packet(0, data=9), {}]
    seen = run([{}, *inputs], ["o.valid", "o.data"])
    assert [data for valid, data in seen if valid] == [0, 9]
    acks = [word for word in messages(inputs) if word[1] == Kind.ACK]
    assert acks == [(3, Kind.ACK, 1, 1)]  # as the flow changes, of what had come


@pytest.mark.parametrize("received", [0, 1])
def test_a_generation_that_comes_round_starts_at_0(received: int) -> None:
    """Generations 0, 7 and 0 of a phase, whether anything came in generation 7 or not."""
    between = [one | {"flow.generation": 7} for one in ({}, *packet(0) * received, {})]
    for one in between:
        one["i.word.descriptor.generation"] = 7
    inputs = [{}, *packet(0), {}, *between, {}, *packet(0, data=9), {}]
    seen = run(inputs, ["o.valid", "o.data"])
    assert [data for valid, data in seen if valid] == [0, *[0] * received, 9]


def test_no_ack_of_0_is_said_of_numbers_that_are_forgotten() -> None:
    """An answer that waits for its turn is given up: 0 might mean 256 packets."""
    for forgets in ({"forget": 0b10}, {"flow.phase": 1, "flow.generation": 3}):
        held = {"flow.phase": 2, "message_ready": 0}
        inputs = [*packet(0), {}, held, held, held | forgets, *[{"flow.phase": 2}] * 4]
        watch = ["message.valid", "message.payload.phase", "message.payload.sequence"]
        seen = run([{}, *inputs], watch)
        assert (1, 1, 1) in seen
        assert (1, 1, 0) not in seen


def test_reset_forgets_all_packets_and_messages() -> None:
    inputs = [one | {"o.ready": 0, "message_ready": 0} for one in [{}, *packet(0), *packet(2), {}]]
    seen = run([*inputs, {"rst": 1, "o.ready": 0}, {}], ["o.valid", "message.valid"])
    assert seen[3] == (1, 1) and seen[-1] == (0, 0)


def of(generation: int, inputs: Inputs) -> Inputs:
    """Return packets, and asks, of a generation."""
    names = ("i.word.descriptor.generation", "ask.payload.generation")
    return [one | dict.fromkeys(names, generation) for one in inputs]


def test_what_is_of_another_generation_is_thrown_away_and_not_answered() -> None:
    old = [*packet(0, data=5), *packet(3), ask(), *packet(0, phase=2), ask(2)]
    inputs = [{}, *packet(0, phase=2), *packet(0, phase=2)]
    inputs = [one | {"flow.phase": 2} for one in inputs] + of(2, [*old, *[{}] * (IDLE + 2)])
    seen = run(inputs, ["o.valid", "unknown", "message.valid", "message.payload.generation"])
    # The flow that was set before is acknowledged, as it is left; nothing else is said.
    assert [word[:2] for word in seen[4:]] == [(0, 0)] * (len(inputs) - 4)
    assert sum(word[2] for word in seen) == 1


def test_a_flow_of_another_generation_starts_at_0_and_says_it() -> None:
    before, after = [{}, *packet(0), *packet(1)], of(4, [{}, *packet(0, data=7), ask(), {}, {}])
    inputs = [*before, *[{}] * IDLE, *(one | {"flow.generation": 4} for one in after)]
    names = [f"message.payload.{name}" for name in ("kind", "sequence", "generation")]
    seen = run(inputs, ["o.valid", "o.data", "message.valid", *names])
    assert [word[1] for word in seen if word[0]] == [0, 0, 7]
    assert [word[3:] for word in seen if word[2]] == [(Kind.ACK, 2, 0), (Kind.ACK, 1, 4)]
