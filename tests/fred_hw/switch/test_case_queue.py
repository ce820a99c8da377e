"""Contract of fred_hw.switch.case_queue, cycle by cycle."""

import pytest

from fred_hw.protocol import Kind
from fred_hw.switch.case_queue import CaseQueue
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

QUEUED = 8
"""Messages in a queue: an ack and a nack per urgency class, and two."""

ONLINE = LINK.protocol.online
FIELDS = (
    "kind",
    "from_input",
    "late",
    "nacks",
    "passes",
    "exit",
    "phase",
    "number",
    "port",
    "of_neighbour",
)
CASE = [f"served.{name}" for name in FIELDS]


def message(port: int, kind: Kind, phase: int = 1, sequence: int = 0) -> dict:
    path = f"message[{port}]"
    values = {"kind": int(kind), "phase": phase, "sequence": sequence}
    return {f"{path}.valid": 1} | {f"{path}.payload.{name}": v for name, v in values.items()}


def seen(cycles: list[dict[str, int]], watch: list[str]) -> list:
    return trace(CaseQueue(spec=LINK), cycles, watch)


def test_latency_is_one_cycle_to_found_and_one_from_pick() -> None:
    cycles = [message(2, Kind.ACK, 1, 7), {}, {"pick": 1}, {}, {}]
    found = seen(cycles, ["found", *CASE])
    # It leaves its queue in the cycle behind the pick.
    assert [one for one, *_ in found] == [0, 1, 1, 1, 0]
    assert found[3][1:] == (Kind.ACK, 0, 0, 0, 0, 0, 1, 7, 2, 1)


def test_an_ask_comes_from_an_input_and_wants_both_answers() -> None:
    found = seen([message(1, Kind.ASK, 3), {"pick": 1}, {}], CASE)
    assert found[2] == (Kind.ASK, 1, 1, 1, 0, 0, 3, 0, 1, 1)


@pytest.mark.parametrize("late", [0, 1])
def test_an_event_is_found_in_the_same_cycle_and_taken_behind_pick(late: int) -> None:
    event = {"event[3].late": late, "event[3].early": 1 - late, "event[3].key": 2}
    found = seen([event, event | {"pick": 1}, event, {}], ["found", "event[3].taken", *CASE])
    assert [one[:2] for one in found] == [(1, 0), (1, 0), (1, 1), (0, 0)]
    assert found[2][2:] == (Kind.ASK, 1, late, 1 - late, 0, 0, 2, 0, 3, 0)


def test_a_message_keeps_its_generation() -> None:
    said = message(1, Kind.NACK) | {"message[1].payload.generation": 6}
    assert seen([said, {"pick": 1}, {}], ["served.generation"])[2] == 6


def test_a_message_about_a_unicast_passes_by_the_exit_that_it_came_with() -> None:
    ends = {"destination": 127, "source": 96}
    said = message(1, Kind.NACK, ONLINE, 9) | {"exits[1]": 3}
    said |= {f"message[1].payload.{name}": value for name, value in ends.items()}
    watch = ["served.passes", "served.exit", "served.number", *(f"served.{name}" for name in ends)]
    assert seen([said, {"pick": 1}, {}], watch)[2] == (1, 3, 9, 127, 96)


def test_throughput_is_one_in_two_cycles_and_ports_take_turns() -> None:
    everybody = message(0, Kind.ACK) | message(2, Kind.ACK) | message(3, Kind.ACK)
    event = {"event[1].late": 1}
    cycles = [everybody, everybody, *[{"pick": 1} | event, event] * 7]
    assert seen(cycles, ["served.port"])[3::2] == [0, 2, 3, 1, 0, 2, 3]


def test_a_message_too_many_is_lost_and_told() -> None:
    said = [
        message(0, Kind.ACK, k % 4) | {"message[0].payload.generation": k // 4}
        for k in range(QUEUED + 1)
    ]
    found = seen([*said, {}, *[{"pick": 1}, {}] * (QUEUED + 1)], ["found", "lost"])
    assert [one for one, _ in found[QUEUED + 2 :: 2]] == [1] * QUEUED + [0]
    assert [cycle for cycle, (_, lost) in enumerate(found) if lost] == [QUEUED + 2]


def test_reset_forgets_all_messages() -> None:
    assert seen([message(0, Kind.ACK), {"rst": 1}, {}], ["found"]) == [0, 1, 0]
