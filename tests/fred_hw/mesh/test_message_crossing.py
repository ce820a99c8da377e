"""Contract of fred_hw.mesh.message_crossing, cycle by cycle."""

from collections.abc import Sequence
from typing import Any

from fred_hw.mesh.message_crossing import MessageCrossing
from fred_hw.protocol import Kind
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

QUEUED = 8
"""Messages in a queue: an ack and a nack per urgency class, and two."""

PORTS, ONLINE = LINK.ports, LINK.protocol.online
READY = {f"o[{k}].ready": 1 for k in range(PORTS)}


def says(port: int, exit: int, source: int, number: int = 0) -> dict[str, int]:
    about = {"kind": int(Kind.ACK), "phase": ONLINE, "source": source, "sequence": number}
    said = {f"i[{port}].payload.{name}": value for name, value in about.items()}
    return {f"i[{port}].valid": 1, f"exits[{port}]": exit} | said


def run(cycles: Sequence[dict[str, int]], watch: Sequence[str]) -> list[Any]:
    return trace(MessageCrossing(spec=LINK), cycles, watch)


def shown(port: int, *fields: str) -> list[str]:
    return [f"o[{port}].valid", *(f"o[{port}].payload.{name}" for name in fields)]


def test_latency_is_two_cycles_and_throughput_a_message_per_port_and_cycle() -> None:
    watch = [*shown(2, "source", "phase", "kind"), *shown(0, "source", "phase", "kind")]
    cycles = [READY | says(1, 2, k) | says(2, 0, k + 9) for k in range(6)]
    found = run([*cycles, READY, READY], watch)
    assert [one[0] for one in found[:2]] == [0, 0]
    assert found[2:] == [(1, k, ONLINE, Kind.ACK, 1, k + 9, ONLINE, Kind.ACK) for k in range(6)]


def test_inputs_take_turns_at_an_output_and_nothing_is_lost_in_a_burst() -> None:
    cycles = [READY | says(0, 3, 2 * k) | says(1, 3, 2 * k + 1) for k in range(QUEUED - 1)]
    found = run([*cycles, *[READY] * (2 * QUEUED)], [*shown(3, "source"), "lost"])
    came = [source for valid, source, _ in found if valid]
    assert came == list(range(2 * (QUEUED - 1)))
    assert not any(lost for _, _, lost in found)


def test_an_output_that_takes_nothing_is_in_nobodys_way() -> None:
    some = READY | {"o[3].ready": 0}
    cycles = [some | says(0, 3, k) for k in range(3 * QUEUED)]
    found = run([*cycles, some | says(0, 1, 99), *[some] * 3], [*shown(1, "source"), "lost"])
    assert found[-2][:2] == (1, 99)
    # The queue of the output is full, and says so.
    assert {lost for _, _, lost in found} == {0, 8}


def test_the_newest_number_takes_the_place_of_one_that_waits() -> None:
    cycles = [says(0, 3, 5, 1), says(0, 3, 6, 2), says(1, 3, 6, 4)]
    found = run([*cycles, {}, {}, {}, *[READY] * 3], shown(3, "source", "sequence"))
    assert found[-3:] == [(1, 5, 1), (1, 6, 4), (0, 0, 0)]


def test_reset_forgets_all_messages() -> None:
    found = run([says(0, 3, 5), {}, {"rst": 1}, READY, READY], shown(3))
    assert found[-2:] == [0, 0]
