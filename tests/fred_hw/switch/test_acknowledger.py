"""Contract of fred_hw.switch.acknowledger, cycle by cycle."""

from typing import Any

import pytest

from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec
from fred_hw.switch.acknowledger import Acknowledger
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

ONLINE, FLOWS = LINK.protocol.online, LINK.protocol.phases + LINK.ports
# In every phase a flow goes from port 0 to ports 1 and 2; packet 3 is due.
ENTRY = {f"flows.entry.{side}": 1 for side in ("inputs[0]", "outputs[1]", "outputs[2]")}
ENTRY |= {f"due[{k}].due": 3 for k in range(4)} | {f"reply[{k}].ready": 1 for k in range(4)}
REPLIES = [f"reply[{k}].{name}" for k in range(4) for name in ("valid", "payload")]
WRITES = [f"due[{k}].write" for k in range(4)]


def message(port: int, kind: Kind, sequence: int = 0, phase: int = 1, peer: int = 0) -> dict:
    path = f"message[{port}]"
    values = {"kind": int(kind), "phase": phase, "peer": peer, "sequence": sequence}
    return {f"{path}.valid": 1} | {f"{path}.payload.{name}": v for name, v in values.items()}


def run(cycles: list[dict[str, int]], watch: list[str], spec: SwitchSpec = LINK) -> list[Any]:
    """Return what shows from the first cycle in which it is ready."""
    inputs = [ENTRY] * FLOWS + [ENTRY | cycle for cycle in cycles]
    return trace(Acknowledger(spec=spec), inputs, watch)[FLOWS:]


def told(cycles: list[dict[str, int]]) -> list[tuple[int, int, Kind, int]]:
    """Return cycle, port, kind and number of each reply."""
    protocol = LINK.protocol.fields(LINK.ports)
    found, low = [], protocol["kind"] + protocol["phase"] + protocol["peer"]
    for cycle, replies in enumerate(run(cycles, REPLIES)):
        for port in range(4):
            valid, payload = replies[2 * port : 2 * port + 2]
            if valid:
                kind = Kind(payload & (1 << protocol["kind"]) - 1)
                found.append((cycle, port, kind, payload >> low))
    return found


IDLE = [{}] * 12


def test_latency_from_a_message_to_the_first_that_it_causes() -> None:
    assert told([message(1, Kind.NACK, 1), *IDLE]) == [(7, 0, Kind.NACK, 1)]


def test_the_smallest_ack_of_all_outputs_goes_to_the_input_once() -> None:
    first, second = message(1, Kind.ACK, 2), message(2, Kind.ACK, 1)
    assert told([first, *IDLE]) == []
    assert told([first, second, *IDLE]) == [(13, 0, Kind.ACK, 1)]
    assert told([first, second, *IDLE, second, *IDLE]) == [(13, 0, Kind.ACK, 1)]


def test_throughput_is_a_message_in_six_cycles_and_an_answered_one_in_eight() -> None:
    acks = [message(1, Kind.ACK, n) | message(2, Kind.ACK, n) for n in (1, 2)]
    assert [cycle for cycle, *_ in told([*acks, *IDLE, *IDLE])] == [13, 25]
    asks = [message(0, Kind.ASK)] * 2
    answers = told([*asks, *IDLE, *IDLE])
    assert [cycle for cycle, port, kind, _ in answers if kind == Kind.NACK] == [7, 15]


def test_an_ask_is_answered_and_goes_to_outputs_that_lack_acks() -> None:
    assert told([message(1, Kind.ACK, 3), *IDLE, message(0, Kind.ASK), *IDLE]) == [
        (20, 0, Kind.NACK, 3),
        (21, 0, Kind.ACK, 0),
        (22, 2, Kind.ASK, 0),
    ]


@pytest.mark.parametrize(("patience", "cycles"), [(12, [6]), (10, [6, 12])])
def test_a_nack_sends_all_inputs_back_but_not_again_soon(patience: int, cycles: list[int]) -> None:
    both = message(1, Kind.NACK, 2) | message(2, Kind.NACK, 2)
    protocol = LINK.protocol.model_dump() | {"patience_cycles": patience}
    watch = ["retransmit", *WRITES, "due[0].key", "due[0].number"]
    found = run([both, *IDLE, *IDLE], watch, LINK.with_changes(protocol=protocol))
    back = [(cycle, *what) for cycle, what in enumerate(found) if what[0]]
    assert back == [(cycle, 1, 1, 0, 0, 0, 1, 2) for cycle in cycles]


@pytest.mark.parametrize("number", [3, 4])
def test_a_nack_of_what_is_due_or_later_changes_nothing(number: int) -> None:
    assert told([message(1, Kind.NACK, number), *IDLE]) == []


def test_a_unicast_is_told_the_other_end() -> None:
    nack = message(3, Kind.NACK, 1, ONLINE, 2)
    found = run([nack, *IDLE], ["reply[2].valid", "reply[2].payload.peer", "due[2].key"])
    assert found[7][:2] == (1, 3)
    assert found[6][2] == ONLINE + 3


@pytest.mark.parametrize(("event", "kinds"), [("late", ["ACK", "ASK", "ASK"]), ("early", ["NACK"])])
def test_events_are_answered(event: str, kinds: list[str]) -> None:
    there = {f"event[0].{event}": 1, "event[0].key": 1}
    assert [kind.name for _, _, kind, _ in told([there, *IDLE])] == kinds


def test_a_flow_starts_at_0_again_before_its_entry_is_written() -> None:
    restart = {"restart.valid": 1, "restart.payload": 2}
    found = run([restart, restart, {}], ["restart.ready", *WRITES, "due[0].key", "due[0].number"])
    assert found[0] == (0, 1, 1, 1, 1, 2, 0)
    assert [cycle[:5] for cycle in found[1:]] == [(1, 0, 0, 0, 0), (0, 0, 0, 0, 0)]


def test_flows_start_in_their_generation_and_keep_it() -> None:
    nack = message(1, Kind.NACK, 2) | {"message[1].payload.generation": 5}
    entry = {"flows.entry.generation": 5}
    cycles = [{"restart.valid": 1, "restart.payload.generation": 6}, nack | entry, *[entry] * 8]
    found = run(cycles, [*WRITES, "due[0].generation"])
    assert [(cycle, word[4]) for cycle, word in enumerate(found) if word[0]] == [(0, 6), (7, 5)]


@pytest.mark.parametrize("kind", [Kind.ACK, Kind.NACK, Kind.ASK])
def test_a_message_of_another_generation_changes_nothing(kind: Kind) -> None:
    port = int(kind != Kind.ASK)
    entry = {"flows.entry.generation": 5, "flows.entry.outputs[2]": 0}
    for generation, answered in ((5, True), (4, False), (6, False)):
        said = message(port, kind, 2) | {f"message[{port}].payload.generation": generation}
        cycles = [one | entry for one in [said, *IDLE]]
        watch = [f"reply[{k}].{name}" for k in range(2) for name in ("valid", "payload.generation")]
        found = run(cycles, [*watch, *WRITES])
        told = {word[2 * k + 1] for word in found for k in range(2) if word[2 * k]}
        assert told == ({5} if answered else set())
        assert any(any(word[4:]) for word in found) == (answered and kind == Kind.NACK)


def test_unicasts_have_generation_0() -> None:
    nack = message(3, Kind.NACK, 1, ONLINE, 2)
    entry = {"flows.entry.generation": 5}
    watch = ["reply[2].valid", "reply[2].payload.generation"]
    assert run([one | entry for one in [nack, *IDLE]], watch)[7] == (1, 0)
    strange = nack | {"message[3].payload.generation": 5}
    assert not any(word[0] for word in run([one | entry for one in [strange, *IDLE]], watch))


def test_throughput_is_a_message_of_another_generation_in_three_cycles() -> None:
    old = message(1, Kind.NACK, 2) | {"message[1].payload.generation": 1}
    # It is the fourth one, behind three that change nothing.
    cycles = [old, old, old, message(1, Kind.NACK, 2), *IDLE, *IDLE]
    assert [cycle for cycle, *_ in told(cycles)] == [7 + 3 * 3]


def test_a_case_is_not_picked_before_the_entry_is_written() -> None:
    # The entry is another from the cycle behind that of ready on, when the table has written it.
    restart = {"restart.valid": 1, "restart.payload": 1}
    old = message(1, Kind.ACK, 3)
    written = {"flows.entry.generation": 1}
    cycles = [old, restart, restart, {}, *[written] * 12]
    watch = ["reply[0].valid"]
    assert not any(run(cycles, watch))


def test_reset_starts_all_numbers_at_0_a_flow_per_cycle() -> None:
    watch = ["ready", *WRITES, "due[0].key", "due[0].number"]
    found = trace(Acknowledger(spec=LINK), [ENTRY] * (FLOWS + 1), watch)
    assert found[:FLOWS] == [(0, 1, 1, 1, 1, flow, 0) for flow in range(FLOWS)]
    assert found[FLOWS][:5] == (1, 0, 0, 0, 0)
