"""Contract of fred_hw.switch.ports.input_port, cycle by cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.protocol import CONTROL, Kind
from fred_hw.switch.ports.input_port import InputPort
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import CODEC, LINK, link_flit

MP, PP, DP = range(3)
PATIENCE = LINK.protocol.patience_cycles
ADDED = 2
REST = {"enable": 1, "serves[0]": 15, "serves[1]": 15, "serves[2]": 15}

Inputs = list[dict[str, int]]


def run(inputs: Sequence[Mapping[str, int]], watch: Sequence[str]) -> list[Any]:
    return trace(InputPort(spec=LINK), inputs, watch, **REST)


def packet(
    length: int,
    *,
    circuit: int = MP,
    phase: int = 0,
    peer: int = 0,
    number: int = 0,
    ticket: int | None = None,
    generation: int = 0,
) -> Inputs:
    """Return the flits of a packet as inputs."""
    return [
        link_flit(
            CODEC.pack(
                k + 1,
                circuit=circuit,
                phase=phase,
                peer=peer,
                sequence=number,
                index=k,
                last=length - 1,
                ticket=number if ticket is None else ticket,
                generation=generation,
            )
        )
        for k in range(length)
    ]


def zero(*keys: int) -> Inputs:
    """Return inputs that make 0 the number that is due of flows."""
    return [{"due.write": 1, "due.key": key} for key in keys]


@pytest.mark.parametrize("circuit", [MP, PP, DP])
def test_latency_from_a_flit_to_the_head_of_its_circuit(circuit: int) -> None:
    ready = zero(2)
    inputs = [*ready, *packet(2, circuit=circuit, phase=2, peer=1), *[{}] * 3]
    names = [f"head.descriptor[{circuit}].phase", f"head.descriptor[{circuit}].peer"]
    seen = run([one | {"head.circuit": circuit} for one in inputs], ["head.waiting", *names])
    first = len(ready) + ADDED
    assert [word[0] for word in seen[:first]] == [0] * first
    assert seen[first] == (1 << circuit, 2, 1)


def test_throughput_is_a_flit_per_cycle() -> None:
    ready = zero(0)
    inputs = [*ready, *packet(4), *packet(3, number=1), *({} for _ in range(6))]
    first = len(ready) + ADDED
    starts, ends = {first, first + 4}, {first + 3, first + 6}
    for cycle, one in enumerate(inputs):
        one.update(
            {"head.take": 1, "head.start": int(cycle in starts), "head.finish": int(cycle in ends)}
        )
    seen = run(inputs, ["head.valid", "head.word", "head.last"])
    assert [word[1:] for word in seen if word[0]] == [
        (k + 1, int(k == length - 1)) for length in (4, 3) for k in range(length)
    ]
    assert [word[0] for word in seen[first : first + 7]] == [1] * 7


def test_the_circuit_selects_in_the_same_cycle() -> None:
    inputs = [*zero(0, 1), *packet(1), *packet(1, circuit=PP, phase=1, ticket=0), {}, {}]
    inputs += [{"head.circuit": circuit} for circuit in (MP, PP, DP)]
    assert run(inputs, ["head.valid"])[-3:] == [1, 1, 0]


def test_what_came_and_was_dropped_is_told() -> None:
    wrong = packet(1, circuit=CONTROL)
    seen = run([*packet(1), *wrong, {}], ["came", "kind", "dropped"])
    # Data of no circuit is an error of another kind than a flit that is dropped.
    assert seen[1:] == [(1, 0, 0), (0, 1, 0)]


def test_numbers_are_written_and_read_by_key() -> None:
    inputs = [{"due.write": 1, "due.key": k, "due.number": k + 3} for k in range(8)]
    seen = run([*inputs, *({"due.key": k} for k in range(8))], ["due.due"])
    assert seen[8:] == [k + 3 for k in range(8)]


def test_a_packet_that_starts_makes_the_next_one_due() -> None:
    inputs = [*zero(0), *packet(1), {}, {"head.start": 1, "head.take": 1, "head.finish": 1}, {}]
    assert run(inputs, ["head.waiting", "due.due"])[2:] == [(0, 0), (1, 0), (0, 1)]


@pytest.mark.parametrize(("number", "what"), [(2, "early"), (31, "late")])
def test_a_packet_that_is_not_due_is_told_once_in_a_while(number: int, what: str) -> None:
    zeros = [*zero(4 + 1), *[{}] * (PATIENCE + 1)]
    first = len(zeros) + 2
    again = [packet(1, phase=4, peer=1, number=number, ticket=k) for k in range(3)]
    inputs = [*zeros, *again[0], *again[1], {}, {"event.taken": 1}, *[{}] * PATIENCE, *again[2]]
    watch = ["event.late", "event.early", "event.key", "dropped"]
    seen = run([*inputs, *[{}] * 4], watch)
    told = (int(what == "late"), int(what == "early"))
    cycles = [cycle for cycle, word in enumerate(seen) if word[:2] == told]
    after = len(inputs) + 2
    # The second one comes too soon after the first.
    assert cycles == [first + 1, after, after + 1]
    assert all(seen[cycle][2] == 4 + 1 for cycle in cycles)
    assert not any(word[:2] == told[::-1] for word in seen)


def test_nothing_is_told_soon_after_a_number_was_written() -> None:
    inputs = [*zero(0), *packet(1, number=2, ticket=0), *[{}] * (PATIENCE + 6)]
    assert set(run(inputs, ["event.late", "event.early"])) == {(0, 0)}


def test_messages_and_credits_come_through() -> None:
    ack = CODEC.pack(
        kind=Kind.ACK, circuit=CONTROL, phase=1, sequence=6, credit_circuit=DP, credit_limit=5
    )
    watch = ["message.valid", "message.payload.sequence", "credit.grant.valid"]
    watch += ["credit.grant.circuit", "credit.grant.limit"]
    assert run([link_flit(ack), {}], watch)[1] == (1, 6, 1, DP, 5)


def test_reset_forgets_all_packets() -> None:
    inputs = [*zero(0), *packet(1), *[{}] * 2, {"rst": 1}, {}]
    seen = run(inputs, ["head.waiting"])
    assert seen[-3:] == [1, 1, 0]


def test_packets_of_another_generation_are_dropped_and_no_event() -> None:
    begin = {"due.write": 1, "due.key": 2, "due.number": 0, "due.generation": 3}
    old = packet(2, phase=2, generation=2) + packet(1, phase=2, number=4, ticket=1, generation=4)
    new = packet(1, phase=2, ticket=2, generation=3)
    watch = ["head.waiting", "dropped", "unknown", "event.late", "event.early"]
    seen = run([begin, *old, *new, *[{}] * PATIENCE], watch)
    assert [cycle for cycle, word in enumerate(seen) if word[1]] == [3, 5]
    assert {word[2:] for word in seen} == {(0, 0, 0)}
    assert seen[-1][0] == 1


def test_a_packet_that_starts_leaves_its_flow_in_its_generation() -> None:
    begin = {"due.write": 1, "due.key": 2, "due.number": 0, "due.generation": 3}
    both = [*packet(1, phase=2, generation=3), *packet(1, phase=2, number=1, generation=3)]
    served = {"head.start": 1, "head.take": 1, "head.finish": 1}
    seen = run([begin, *both, served, {}], ["head.waiting", "dropped"])
    assert seen[-2:] == [(1, 0), (1, 0)]


def test_phases_with_packets_in_a_queue_are_told() -> None:
    inputs = [*zero(1), *packet(1, phase=1), *packet(2, circuit=DP, phase=3), *[{}] * 3]
    inputs += [{"head.start": 1, "head.take": 1, "head.finish": 1}, {}]
    assert run(inputs, ["queued"]) == [0, 0, 0, 0b0010, *[0b1010] * 4, 0b1000]
