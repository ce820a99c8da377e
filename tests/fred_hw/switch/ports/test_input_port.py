"""Contract of fred_hw.switch.ports.input_port, cycle by cycle."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from fred_hw.protocol import CONTROL, HEADER_FIELDS, Kind
from fred_hw.switch.ports.input_port import InputPort
from tests.fred_hw.simulation import high, trace
from tests.fred_hw.specs import CODEC, LINK, link_flit

MP, PP, DP = range(3)
TIMEOUT, DEPTH = LINK.protocol.packet_timeout_cycles, LINK.protocol.buffer_flits
ONLINE = LINK.protocol.online
NUMBERS, LINK_SEQUENCES = (1 << HEADER_FIELDS[name].bits for name in ("sequence", "link_sequence"))
HEAD, QUICK, ASKED = 2, 3, 4
"""Cycles from a flit to the head, and to ``waiting`` if its number is read on the way or not."""

REST = {"enable": 1, "serves[0]": 15, "serves[1]": 15, "serves[2]": 15}
START, TAKE = {"head.start": 1, "head.take": 1}, {"head.take": 1}
WHOLE, END = {**START, "head.finish": 1}, {**TAKE, "head.finish": 1}

Inputs = list[dict[str, int]]
Moves = Mapping[int, Mapping[str, int]]


def run(
    inputs: Sequence[Mapping[str, int]], watch: Sequence[str], moves: Moves | None = None
) -> list[Any]:
    """Return what is seen in each cycle; ``moves`` are other inputs by cycle."""
    both = [{**one, **(moves or {}).get(cycle, {})} for cycle, one in enumerate(inputs)]
    return trace(InputPort(spec=LINK), both, watch, **REST)


def packet(
    length: int,
    *,
    circuit: int = MP,
    phase: int = 0,
    number: int = 0,
    link_sequence: int | None = None,
    generation: int = 0,
    word: int = 1,
    **more: int,
) -> Inputs:
    """Return the flits of a packet as inputs."""
    return [
        link_flit(
            CODEC.pack(
                word + k,
                circuit=circuit,
                phase=phase,
                sequence=number,
                index=k,
                last=length - 1,
                link_sequence=number * length if link_sequence is None else link_sequence,
                generation=generation,
                **more,
            )
        )
        for k in range(length)
    ]


def zero(*keys: int) -> Inputs:
    """Return inputs that make 0 the number that is due of flows."""
    return [{"due.write": 1, "due.at": key} for key in keys]


# From a flit to the head


@pytest.mark.parametrize("circuit", [MP, PP, DP])
def test_latency_from_a_flit_to_the_head_of_its_circuit_and_to_waiting(circuit: int) -> None:
    inputs = [*zero(2), *packet(2, circuit=circuit, phase=2, generation=0), *[{}] * 4]
    names = [f"head.descriptor[{circuit}].{name}" for name in ("phase", "sequence", "length")]
    seen = run(inputs, ["head.waiting", *names])
    assert [word[1:] for word in seen[: 1 + HEAD]] == [(0, 0, 0)] * (1 + HEAD)
    assert seen[1 + HEAD][1:] == (2, 0, 1)
    assert [word[0] for word in seen] == [0] * (1 + QUICK) + [1 << circuit] * 3


@pytest.mark.parametrize("circuit", [MP, PP, DP])
def test_a_packet_is_anew_in_its_first_cycle_at_the_head_and_behind_its_start(circuit: int) -> None:
    inputs = [*zero(2), *packet(2, circuit=circuit, phase=2), *[{}] * 6]
    moves = {6: {"head.circuit": circuit, **START}}
    assert run(inputs, ["head.anew"], moves) == [
        *[0] * (1 + HEAD),
        1 << circuit,
        *[0] * 3,
        1 << circuit,
        0,
    ]


@pytest.mark.parametrize("circuit", [MP, PP, DP])
def test_a_head_is_of_the_phase_that_is_served_in_that_cycle(circuit: int) -> None:
    inputs = [*zero(2), *packet(1, circuit=circuit, phase=2), *[{}] * 8]
    load = {"load": 1, "following": 2}
    for moves, cycles in (
        ({cycle: {"served": 2} for cycle in range(10)}, range(1 + HEAD, 10)),
        ({5: load, **{cycle: {"served": 2} for cycle in range(6, 10)}}, range(6, 10)),
        (
            {**{cycle: {"served": 2} for cycle in range(6)}, 5: {"served": 2, "load": 1}},
            range(1 + HEAD, 6),
        ),
    ):
        seen = run(inputs, ["head.of_phase"], moves)
        assert high([one >> circuit & 1 for one in seen[1 + HEAD :]]) == [
            cycle - (1 + HEAD) for cycle in cycles
        ]


@pytest.mark.parametrize("what", ["write", "start", "ask", "disabled", "changed"])
def test_latency_is_longer_if_the_number_is_not_read_on_the_way(what: str) -> None:
    # The packet of PP is at its queue in cycle 11, and at the head in cycle 12.
    other = packet(1, circuit=MP)
    sent = {"ask": 8, "start": 0}.get(what)
    before = [{}] * 10 if sent is None else [*[{}] * sent, *other, *[{}] * (9 - sent)]
    moves: dict[int, dict[str, int]] = {
        "write": {11: zero(5)[0]},
        "start": {11: WHOLE},
        # That of MP is not looked at before cycle 11.
        "ask": {9: {"enable": 0}, 10: {"enable": 0}},
        "disabled": {11: {"enable": 0}},
        "changed": {11: {"changed": 1}},
    }[what]
    inputs = [*before, *packet(1, circuit=PP, phase=1, link_sequence=0), *[{}] * 6]
    seen = run(inputs, ["head.waiting"], moves)
    assert high([one >> PP & 1 for one in seen]) == list(range(10 + ASKED, 17))


def test_circuits_that_ask_are_answered_one_after_the_other_the_most_urgent_first() -> None:
    packets = [
        packet(1, circuit=circuit, phase=circuit, link_sequence=0)[0] for circuit in (DP, PP, MP)
    ]
    moves = {cycle: {"enable": 0} for cycle in range(8)}
    seen = run([*packets, *[{}] * 12], ["head.waiting"], moves)
    assert seen == [*[0] * 10, 0b001, 0b011, *[0b111] * 3]


@pytest.mark.parametrize("circuit", [MP, PP, DP])
def test_throughput_is_a_flit_per_cycle(circuit: int) -> None:
    first, lengths = 1 + QUICK, (4, 3, 1, 1)
    packets = [
        packet(length, circuit=circuit, number=k, link_sequence=sum(lengths[:k]), word=10 * k)
        for k, length in enumerate(lengths)
    ]
    inputs = [*zero(0), *(one for each in packets for one in each), *[{}] * 6]
    ends = [sum(lengths[: k + 1]) + first - 1 for k in range(len(lengths))]
    moves: dict[int, dict[str, int]] = {
        cycle: {
            "head.take": 1,
            "head.start": int(cycle in {first, *(end + 1 for end in ends[:-1])}),
            "head.finish": int(cycle in ends),
        }
        for cycle in range(first, ends[-1] + 1)
    }
    always = {cycle: {"head.circuit": circuit, **moves.get(cycle, {})} for cycle in range(99)}
    seen = run(inputs, ["head.valid", "head.last", "flit.valid", "flit.data"], always)
    taken = list(range(first, ends[-1] + 1))
    assert [word[0] for word in seen] == [(n in taken) << circuit for n in range(len(seen))]
    assert high([word[0] & word[1] for word in seen]) == ends
    # Payload comes two cycles later.
    assert high([word[2] for word in seen]) == [cycle + 2 for cycle in taken]
    words = [10 * number + k for number, length in enumerate(lengths) for k in range(length)]
    assert [word[3] for word in seen if word[2]] == words


def test_latency_from_take_to_the_payload_is_two_cycles_and_nothing_comes_otherwise() -> None:
    inputs = [*packet(2, word=7), *[{}] * 8]
    # Nothing is there to take in cycles 1 and 7.
    moves = {1: TAKE, QUICK: START, QUICK + 2: END, QUICK + 4: TAKE}
    seen = run(inputs, ["flit.valid", "flit.data"], moves)
    assert high([word[0] for word in seen]) == [QUICK + 2, QUICK + 4]
    assert (seen[QUICK + 2][1], seen[QUICK + 4][1]) == (7, 8)


def test_each_circuit_shows_what_it_has() -> None:
    # MP has a packet of two flits, PP one, and DP none; then MP has begun its own.
    inputs = [*packet(2), *packet(1, circuit=PP, phase=1, link_sequence=0), *[{}] * 4]
    inputs += [{"head.circuit": MP, **START}, {"head.circuit": MP, **TAKE}, {}]
    seen = run(inputs, ["head.valid", "head.last", "head.broken"])
    both, last = 1 << MP | 1 << PP, 1 << PP
    assert [word[0] for word in seen[-4:]] == [both, both, both, 1 << PP]
    assert [word[0] & word[1] for word in seen[-4:]] == [last, last, both, last]
    assert [word[2] for word in seen[-4:]] == [0, 0, 0, 1 << MP]


def test_what_came_and_was_dropped_is_reported() -> None:
    wrong = packet(1, circuit=CONTROL)
    seen = run([*packet(1), *wrong, {}], ["came", "kind", "dropped"])
    # Data of no circuit is an error of another kind than a flit that is dropped.
    assert seen[1:] == [(1, 0, 0), (0, 1, 0)]


def test_messages_and_credits_come_through() -> None:
    ack = CODEC.pack(
        kind=Kind.ACK, circuit=CONTROL, phase=1, sequence=6, credit_circuit=DP, credit_limit=5
    )
    watch = ["message.valid", "message.payload.sequence", "credit.grant.valid"]
    watch += ["credit.grant.circuit", "credit.grant.limit"]
    assert run([link_flit(ack), {}], watch)[1] == (1, 6, 1, DP, 5)


# Numbers


def test_numbers_are_written_at_their_place_and_read_a_cycle_after_the_key() -> None:
    written = [
        {"due.write": 1, "due.at": k, "due.number": k + 3, "due.key": 3 - k} for k in range(4)
    ]
    seen = run([*written, *({"due.key": k} for k in range(4)), {}], ["due.due"])
    # What is read while it is written is the old one.
    assert seen[1:3] == [0] * 2 and seen[3:5] == [4, 3]
    assert seen[5:] == [k + 3 for k in range(4)]


@pytest.mark.parametrize("circuit", [MP, PP, DP])
def test_a_packet_that_starts_makes_the_next_one_due(circuit: int) -> None:
    key, last = 2, NUMBERS - 1
    number = {"due.write": 1, "due.at": key, "due.number": last, "due.generation": 3}
    flow = {"circuit": circuit, "phase": key, "generation": 3}
    inputs = [number, *packet(1, number=last, link_sequence=0, **flow), *[{}] * 6]
    inputs = [{"due.key": key, "head.circuit": circuit, **one} for one in inputs]
    seen = run(inputs, ["due.due", "head.waiting"], {1 + QUICK: WHOLE})
    # Numbers go round.
    assert [due for due, _ in seen] == [0, 0, last, last, last, last, 0, 0]
    assert [waiting for _, waiting in seen] == [0] * 4 + [1 << circuit] + [0] * 3


def test_a_packet_that_starts_leaves_its_flow_in_its_generation() -> None:
    begin = {"due.write": 1, "due.at": 2, "due.number": 0, "due.generation": 3}
    # The next one comes on the same circuit, or on another, and its number is looked up.
    for circuit, link_sequence in ((MP, 1), (PP, 0)):
        then = packet(
            1, circuit=circuit, phase=2, number=1, link_sequence=link_sequence, generation=3
        )
        inputs = [begin, *packet(1, phase=2, generation=3), {}, {}, WHOLE, *then, *[{}] * 4]
        seen = run(inputs, ["head.waiting", "dropped"])
        assert not any(dropped for _, dropped in seen)
        assert high([waiting for waiting, _ in seen])[0] == 1 + QUICK
        assert seen[-1][0] == 1 << circuit


def test_packets_of_another_generation_are_dropped_and_no_event() -> None:
    begin = {"due.write": 1, "due.at": 2, "due.number": 0, "due.generation": 3}
    old = packet(2, phase=2, generation=2) + packet(
        1, phase=2, number=4, link_sequence=2, generation=4
    )
    new = packet(1, phase=2, link_sequence=3, generation=3)
    watch = ["head.waiting", "dropped", "unknown", "event.late", "event.early"]
    seen = run([begin, *old, *new, *[{}] * 8], watch)
    # The first goes in cycle 4, its other flit in 5; the second asks in 6, the third in 9.
    assert high([word[1] for word in seen]) == [4, 8]
    assert {word[2:] for word in seen} == {(0, 0, 0)}
    assert high([word[0] for word in seen]) == [11, 12]


@pytest.mark.parametrize("what", ["changed", "write"])
def test_packets_are_judged_anew_when_numbers_or_phases_change(what: str) -> None:
    inputs = [*packet(1, phase=1), *[{}] * 14]
    change = {"changed": {"changed": 1}, "write": zero(6)[0]}[what]
    waiting = run(inputs, ["head.waiting"], {6: change})
    assert high(waiting) == [*range(QUICK, 7), *range(9, 15)]
    # What has changed counts.
    if what == "changed":
        moves = {cycle: {"serves[0]": 0b1101} for cycle in range(6, 15)}
        seen = run(inputs, ["head.waiting", "unknown"], {**moves, 6: {**change, **moves[6]}})
        assert [high(values) for values in zip(*seen, strict=True)] == [list(range(QUICK, 7)), [9]]
    else:
        write = {"due.write": 1, "due.at": 1, "due.generation": 1}
        seen = run(inputs, ["head.waiting", "dropped"], {6: write})
        assert [high(values) for values in zip(*seen, strict=True)] == [list(range(QUICK, 7)), [9]]


@pytest.mark.parametrize("sent", [1, 5, 7, 8, 9, 10, 11])
def test_a_packet_that_starts_on_one_circuit_makes_its_double_on_another_late(sent: int) -> None:
    # That of MP starts in cycle 10; that of PP comes when it likes.
    flow = {"phase": 1}
    inputs = [{} for _ in range(20)]
    inputs[sent].update(packet(1, circuit=PP, **flow)[0])
    inputs[4].update(packet(1, **flow)[0])
    seen = run(inputs, ["head.waiting", "event.late", "event.key"], {10: WHOLE})
    assert seen[10][0] & 1
    assert not any(waiting for waiting, *_ in seen[11:])
    # It is asked for in the cycle after the start, or when it comes.
    told = max(10 + 1 + QUICK, sent + QUICK + 1)
    assert high([late for _, late, _ in seen]) == list(range(told, 20))
    assert seen[told][2] == 1


# Unicasts

ROUTES = {"routes[127]": 3, "routes[96]": LINK.ports, "routes[5]": LINK.ports + 1}


def unicast(length: int, destination: int, **fields: int) -> Inputs:
    """Return a unicast and the routes that it needs."""
    ends = {"unicast": 1, "destination": destination, "source": 9}
    return [one | ROUTES for one in packet(length, **ends, **fields)]


@pytest.mark.parametrize(("destination", "exit_port"), [(127, 2), (96, LINK.ports - 1)])
def test_unicasts_leave_by_the_route_of_their_address_whatever_their_number(
    destination: int, exit_port: int
) -> None:
    inputs = [*unicast(2, destination, circuit=PP, number=77, link_sequence=0), *[{}] * 4]
    names = ["phase", "destination", "source"]
    seen = run(
        inputs, ["head.waiting", "head.exits[1]", *(f"head.descriptor[1].{n}" for n in names)]
    )
    assert seen[QUICK] == (1 << PP, exit_port, ONLINE, destination, 9)


def test_latency_from_a_unicast_to_where_the_next_one_goes_is_three_cycles() -> None:
    inputs = [*unicast(1, 127), *[{}] * 6]
    seen = run(inputs, ["head.coming[0]"], {5: WHOLE})
    assert seen == [0, 0, 0, 1 << 2, 1 << 2, 1 << 2, 0]


def test_messages_about_unicasts_leave_by_the_route_of_their_address() -> None:
    ends = {"unicast": 1, "destination": 127, "source": 9}
    flit = link_flit(CODEC.pack(kind=Kind.NACK, circuit=CONTROL, sequence=6, **ends))
    watch = ["message.valid", "exit", "message.payload.sequence", "message.payload.source"]
    assert run([flit | ROUTES, {}], watch)[1] == (1, 2, 6, 9)


@pytest.mark.parametrize("destination", [5, 126])
def test_a_unicast_without_a_route_takes_no_space_and_is_told_once(destination: int) -> None:
    inputs = [*unicast(3, destination), *unicast(1, 127, link_sequence=3, word=7), *[{}] * 4]
    seen = run(inputs, ["route", "dropped", "overflow", "head.waiting", "head.exits[0]"])
    assert high([word[0] for word in seen]) == high([word[1] for word in seen]) == [1]
    assert not any(word[2] for word in seen)
    # The one behind it is at the head as if there had been none before it.
    assert high([word[3] for word in seen]) == list(range(3 + QUICK, 8))
    assert seen[-1][4] == 2


@pytest.mark.parametrize("kind", [Kind.ACK, Kind.NACK, Kind.ASK])
def test_a_message_without_a_route_is_dropped_and_told(kind: Kind) -> None:
    ends = {"unicast": 1, "destination": 126, "source": 9}
    flit = link_flit(CODEC.pack(kind=kind, circuit=CONTROL, **ends))
    assert run([flit | ROUTES, {}, {}], ["message.valid", "route"])[1:] == [(0, 1), (0, 0)]


def test_a_packet_that_a_lost_one_cuts_short_is_broken() -> None:
    # Its end is missing; what comes instead has no route, and is not waited for. That nothing
    # more comes counts a cycle later.
    inputs = [packet(3)[0], *[{}] * 2, *unicast(3, 126, link_sequence=1)[:1], *[{}] * 4]
    seen = run(inputs, ["head.broken"], {QUICK: START})
    assert high(seen) == list(range(QUICK + 3, 8))


# Packets that are not due


@pytest.mark.parametrize(("number", "what"), [(2, "early"), (NUMBERS - 1, "late")])
def test_a_packet_that_is_not_due_is_told_once_in_a_while(number: int, what: str) -> None:
    watch = ["event.late", "event.early", "event.key", "dropped"]
    told = (int(what == "late"), int(what == "early"))
    # It is thrown away QUICK cycles behind its flit, and told a cycle later. What is thrown away
    # so soon after it is not told.
    for behind, again in ((1, False), (TIMEOUT, False), (TIMEOUT + 1, True)):
        inputs = [{} for _ in range(24)]
        for link_sequence, cycle in enumerate((2, 2 + behind)):
            one = packet(1, phase=1, number=number, link_sequence=link_sequence)
            inputs[cycle].update(one[0])
        seen = run(inputs, watch, {8: {"event.taken": 1}})
        assert not any(word[3] for word in seen)
        cycles = [cycle for cycle, word in enumerate(seen) if word[:2] == told]
        second = range(2 + behind + QUICK + 1, 24) if again else []
        assert cycles == [6, 7, 8, *second]
        assert all(seen[cycle][2] == 1 for cycle in cycles)
        assert not any(word[:2] == told[::-1] for word in seen)


def test_packets_of_two_circuits_that_are_not_due_are_told_both() -> None:
    """Else sources that send again at the same times would have one of them never answered."""
    inputs = [{} for _ in range(24)]
    for cycle, circuit, phase in ((2, MP, 1), (7, DP, 0)):
        inputs[cycle].update(
            packet(1, circuit=circuit, phase=phase, number=NUMBERS - 1, link_sequence=0)[0]
        )
    seen = run(inputs, ["event.late", "event.key"], {8: {"event.taken": 1}})
    told = [word for before, word in pairwise(seen) if word[0] and not before[0]]
    assert told == [(1, 1), (1, 0)]


def test_nothing_is_told_soon_after_a_number_was_written() -> None:
    # Written in cycle 3; thrown away QUICK cycles behind the flit.
    for sent, cycles in ((3 + TIMEOUT - QUICK, []), (4 + TIMEOUT - QUICK, [3 + TIMEOUT + 2])):
        inputs = [{} for _ in range(20)]
        inputs[3].update(zero(0)[0])
        inputs[sent].update(packet(1, number=2, link_sequence=0)[0])
        assert high(run(inputs, ["event.early"]))[:1] == cycles


def test_what_is_not_taken_is_forgotten_when_numbers_are_written() -> None:
    inputs = [*packet(1, number=2, link_sequence=0), *[{}] * 9]
    assert high(run(inputs, ["event.early"], {6: zero(7)[0]})) == [4, 5, 6]
    # Also what is thrown away in that cycle.
    assert high(run(inputs, ["event.early"], {3: zero(7)[0]})) == []


def test_a_packet_that_is_not_started_is_stuck_in_the_end() -> None:
    limit = LINK.protocol.head_of_line_timeout_cycles
    seen = run([*packet(1, circuit=DP), *[{}] * (limit + 5)], ["head.waiting", "stuck"])
    assert high([word[1] for word in seen]) == [QUICK + limit]
    assert high([word[0] for word in seen]) == list(range(QUICK, QUICK + limit))


# Space


def test_phases_with_packets_in_a_queue_are_reported() -> None:
    # Three cycles after a flit, and two after it has gone.
    inputs = [*packet(1, phase=1), *packet(2, circuit=DP, phase=3), *[{}] * 2, WHOLE, *[{}] * 3]
    assert run(inputs, ["queued", "unicasts"]) == [
        *[(0, 0)] * 3,
        (0b0010, 0),
        *[(0b1010, 0)] * 3,
        *[(0b1000, 0)] * 2,
    ]


def test_unicasts_in_a_queue_are_reported() -> None:
    inputs = [*unicast(1, 127), *[{}] * 5]
    assert run(inputs, ["queued", "unicasts"]) == [*[(0, 0)] * 3, *[(0, 1)] * 3]


@pytest.mark.parametrize("circuit", [MP, PP, DP])
def test_a_flit_beyond_the_space_does_not_overwrite_another(circuit: int) -> None:
    size, most = LINK.protocol.packet_flits, LINK.protocol.buffer_packets
    full = [
        one
        for place in (MP, PP, DP)
        for number in range(most)
        for one in packet(
            size, circuit=place, phase=place, number=number, word=100 * place + size * number
        )
    ]
    lost = packet(size, circuit=circuit, phase=circuit, number=most, word=999)
    served: Inputs = []
    for place in (MP, PP, DP):
        ends = [{}] * (size - 2)
        served += [{**one, "head.circuit": place} for one in [START, *ends, {}] * most]
    for cycle, one in enumerate(served):
        one.update({"head.take": 1, "head.finish": int(cycle % size == size - 1)})
    inputs = [*full, *lost, {}, {}, *served, {}, {}]
    seen = run(inputs, ["overflow", "came", "flit.valid", "flit.data", "dropped"])
    assert high([word[1] for word in seen]) == list(range(1, 3 * DEPTH + 1))
    # Without the first flit the others do not go on a packet.
    assert high([word[0] for word in seen]) == [3 * DEPTH + 1]
    assert high([word[4] for word in seen]) == [3 * DEPTH + 2 + k for k in range(size - 1)]
    words = [100 * place + k for place in (MP, PP, DP) for k in range(DEPTH)]
    assert [word[3] for word in seen if word[2]] == words


def test_reset_forgets_all_packets() -> None:
    inputs = [*packet(2), *[{}] * 2, {**START, "rst": 0}, {"rst": 1}, *[{}] * 3]
    seen = run(inputs, ["head.waiting", "head.valid", "queued", "flit.valid", "head.broken"])
    assert seen[4][:3] == (1, 1, 1) and seen[5][1:3] == (1, 1)
    assert seen[6:] == [(0, 0, 0, 0, 0)] * 3
    again = run([*inputs, *packet(1, number=1, link_sequence=0), *[{}] * 3], ["head.waiting"])
    assert again[-1] == 1
