"""Contract of fred_hw.endpoint.transmitter, cycle by cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

from fred_hw.endpoint.transmitter import DEPTH, Transmitter
from fred_hw.protocol import Kind
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import CODEC, FRAMED, LINK, framed_flit

MP, PP, DP = range(3)
PACKETS, MOST = LINK.protocol.buffer_packets, LINK.protocol.buffer_flits
SIZE = LINK.protocol.packet_flits
REST = {"o.ready": 1, **{f"credit.here.limit[{k}]": MOST for k in range(3)}}
TAKE = [f"i[{k}].take" for k in range(3)]


def waits(*circuits: int, ends: int = 1) -> dict[str, int]:
    values = {"waiting": 1, "ends": ends, "length": SIZE - 1}
    return {f"i[{k}].{name}": value for k in circuits for name, value in values.items()}


def run(inputs: Sequence[Mapping[str, int]], watch: Sequence[str]) -> list[Any]:
    return trace(Transmitter(spec=LINK), inputs, watch, **REST)


def circuits(inputs: Sequence[Mapping[str, int]]) -> list[int | None]:
    """Return the circuit that a flit is taken of in each cycle."""
    seen = run(inputs, TAKE)
    assert all(sum(word) <= 1 for word in seen)
    return [word.index(1) if 1 in word else None for word in seen]


def test_latency_from_a_flit_taken_to_the_link_is_three_cycles() -> None:
    given = {"i[1].data": 9, "i[1].last": 1, "i[1].descriptor.phase": 3, "i[1].index": 0}
    seen = run([waits(PP), given, {}, {}, {}], ["o.valid", *FRAMED])
    assert [word[0] for word in seen] == [0, 0, 0, 1, 0]
    assert framed_flit(seen[3][1:]) == CODEC.pack(9, circuit=PP, phase=3)


def test_throughput_is_a_flit_per_cycle_packet_after_packet() -> None:
    inputs = [waits(MP, ends=int(k % 3 == 2)) for k in range(9)]
    assert circuits(inputs) == [MP] * 9
    assert run([*inputs, *[{}] * 4], ["o.valid"]) == [*[0] * 3, *[1] * 9, 0]


def test_the_most_urgent_circuit_begins_but_cuts_no_packet() -> None:
    inputs = [waits(DP, ends=0), waits(MP, PP, DP, ends=0), waits(MP, PP, DP)]
    inputs += [waits(MP, PP, DP), waits(PP, DP), waits(DP)]
    assert circuits(inputs) == [DP, DP, DP, MP, PP, DP]


def test_no_packet_begins_without_credits() -> None:
    inputs = [waits(MP, PP)] * (2 * PACKETS + 1)
    assert circuits(inputs) == [*[MP] * PACKETS, *[PP] * PACKETS, None]
    grant = {"credit.grant.valid": 1, "credit.grant.circuit": PP, "credit.grant.limit": MOST + SIZE}
    granted = [*inputs, waits(PP) | grant, *[waits(PP)] * 3]
    assert circuits(granted)[-3:] == [None, PP, None]


def test_a_link_that_is_not_ready_fills_the_queue_alone() -> None:
    inputs = [waits(MP, ends=0) | {"o.ready": 0}] * (DEPTH + 3)
    # And the register behind it.
    assert circuits(inputs) == [*[MP] * (DEPTH + 1), None, None]
    assert circuits([*inputs, waits(MP, ends=0), waits(MP, ends=0)])[-2:] == [None, MP]


def test_messages_go_between_flits_at_once() -> None:
    message = {"message.valid": 1, "message.payload.kind": Kind.ACK}
    watch = ["o.valid", "message.ready", "o.payload.data"]
    flits = [waits(MP), waits(MP) | {"i[0].data": 7}, {"i[0].data": 7} | message, {}, {}, {}]
    seen = run(flits, watch)
    assert seen[2:5] == [(0, 1, 0), (1, 0, 0), (1, 0, 7)]
    assert [word[0] for word in seen] == [0, 0, 0, 1, 1, 1]


def test_reset_forgets_what_is_on_the_way_and_link_sequences() -> None:
    inputs = [*[waits(MP)] * PACKETS, waits(MP) | {"rst": 1}, waits(MP), *[{}] * 3]
    seen = run(inputs, ["o.valid", "i[0].take"])
    assert [word[1] for word in seen] == [*[1] * PACKETS, 0, 1, 0, 0, 0]
    assert [word[0] for word in seen[PACKETS + 1 :]] == [0, 0, 0, 1]
