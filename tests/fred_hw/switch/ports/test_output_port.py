"""Contract of fred_hw.switch.ports.output_port, cycle by cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.protocol import Kind
from fred_hw.switch.ports.output_port import OutputPort
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import CODEC, FRAMED, LINK, STOMP, framed_flit

LATENCY = 2
MP, PP, DP = range(3)
MOST, SIZE = LINK.protocol.buffer_packets, LINK.protocol.packet_flits
ADDED = 2


def run(inputs: Sequence[Mapping[str, int]], watch: Sequence[str]) -> list[Any]:
    rest = {"o.ready": 1} | {f"credit.here.limit[{k}]": MOST for k in range(3)}
    return trace(OutputPort(spec=LINK, latency=LATENCY), inputs, watch, **rest)


def packets(*lengths: int, circuit: int = MP, **more: int) -> list[dict[str, int]]:
    """Return inputs of packets without a gap, and of the interconnect that carries them."""
    entries: list[dict[str, int]] = []
    for length in lengths:
        entries += [
            {
                "injection.fire": 1,
                "injection.start": int(k == 0),
                "injection.last": int(k == length - 1),
                "injection.circuit": circuit,
            }
            | (more if k == 0 else {})
            for k in range(length)
        ]
    flits = [{}] * LATENCY + [{"i.valid": 1, "i.data": k + 1} for k in range(len(entries))]
    entries += [{"injection.circuit": circuit}] * (LATENCY + 4)
    flits += [{}] * (len(entries) - len(flits))
    return [entry | flit for entry, flit in zip(entries, flits, strict=True)]


def test_latency_and_throughput_of_packets_without_a_gap() -> None:
    seen = run(packets(4, 2, 1), ["o.valid", "given", "o.payload.data"])
    first = LATENCY + ADDED
    assert [cycle for cycle, word in enumerate(seen) if word[0]] == list(range(first, first + 7))
    assert [word[1] for word in seen] == [word[0] for word in seen]
    assert [word[2] for word in seen if word[0]] == list(range(1, 8))


def test_headers_say_what_was_known_at_the_start() -> None:
    known = {"phase": 3, "peer": 2, "sequence": 9, "length": 1}
    inputs = packets(2, 2, circuit=DP, **{f"injection.descriptor.{k}": v for k, v in known.items()})
    words = [word[1:] for word in run(inputs, ["o.valid", *FRAMED]) if word[0]]
    flits = [framed_flit(word) for word in words]
    fields = {"circuit": DP, "phase": 3, "peer": 2, "sequence": 9, "last": 1}
    places = [(index, ticket) for ticket in range(2) for index in range(2)]
    assert flits == [
        CODEC.pack(k + 1, **fields, index=index, ticket=ticket)
        for k, (index, ticket) in enumerate(places)
    ]


def test_room_is_promised_for_whole_packets() -> None:
    # Two largest packets, and what is on the way, fit while nothing leaves.
    depth = LATENCY + 4 + 2 * SIZE
    inputs = [
        {"injection.start": int(k < depth // SIZE), "injection.circuit": k % 3}
        for k in range(depth // SIZE + 2)
    ]
    seen = run([one | {"o.ready": 0} for one in inputs], ["injection.room"])
    assert [room == 7 for room in seen] == [*[True] * (depth // SIZE), False, False]


def test_a_short_packet_gives_back_the_room_that_it_did_not_take() -> None:
    short = {"injection.start": 1, "injection.fire": 1, "injection.last": 1, "o.ready": 0}
    count = 3 * SIZE // 2  # more than largest packets fit
    seen = run([short | {"injection.circuit": k % 3} for k in range(count)], ["injection.room"])
    assert all(seen[:7])


def test_room_is_that_of_the_next_receiver_too() -> None:
    seen = run(packets(*[1] * MOST), ["injection.room"])
    assert seen[: MOST + 1] == [*[7] * MOST, 0b110]


@pytest.mark.parametrize(("bad", "valid"), [(1, 1), (0, 0)], ids=["bad", "missing"])
def test_what_must_not_be_used_leaves_with_a_crc_inverted(bad: int, valid: int) -> None:
    inputs = packets(1)
    inputs[0] |= {"injection.bad": bad}
    inputs[LATENCY] |= {"i.valid": valid}
    word = run(inputs, ["o.valid", *FRAMED])[LATENCY + 2]
    assert word[0] and word[3] == CODEC.crc(word[1], word[2]) ^ STOMP


def test_a_message_leaves_in_the_same_cycle() -> None:
    message = {"message.valid": 1, "message.payload.kind": Kind.ASK}
    assert run([message, {}], ["o.valid", "message.ready", "given"]) == [(1, 1, 0), (0, 0, 0)]


def test_reset_forgets_all_packets_and_promises() -> None:
    begun = [{"injection.start": 1, "injection.circuit": k} | {"o.ready": 0} for k in range(3)]
    fired = [{"injection.fire": 1, "o.ready": 0}] * 3
    seen = run([*begun, *fired, {"rst": 1, "o.ready": 0}, *[{}] * 6], ["injection.room", "o.valid"])
    assert seen[6][0] != 7
    assert seen[7:] == [(7, 0)] * 6
