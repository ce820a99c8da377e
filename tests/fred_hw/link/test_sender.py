"""Contract of fred_hw.link.sender, cycle by cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.link.sender import Sender
from fred_hw.protocol import Kind
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import CODEC, FRAMED, LINK, STOMP, framed_flit

MP, PP, DP = range(3)
PACKETS, MOST = LINK.protocol.buffer_packets, LINK.protocol.buffer_flits
SIZE, TIMEOUT = LINK.protocol.packet_flits, LINK.protocol.timeout_cycles
REST = {"o.ready": 1, **{f"credit.here.limit[{k}]": MOST for k in range(3)}}


def flit(data: int, index: int = 0, last: int = 0, **fields: int) -> dict[str, int]:
    frame = {"last": index == last, "index": index, "descriptor.length": last, **fields}
    values = {f"i.frame.{name}": int(value) for name, value in frame.items()}
    return {"i.valid": 1, "i.data": data, **values}


def start(circuit: int, flits: int = 1) -> dict[str, int]:
    return {"start": 1 << circuit, "length": flits - 1}


def grant(circuit: int, limit: int) -> dict[str, int]:
    return {"credit.grant.valid": 1, "credit.grant.circuit": circuit, "credit.grant.limit": limit}


def run(inputs: Sequence[Mapping[str, int]], watch: Sequence[str]) -> list[Any]:
    return trace(Sender(spec=LINK, depth=8), inputs, watch, **REST)


def link(inputs: Sequence[Mapping[str, int]]) -> list[dict[str, int]]:
    """Return cycle and fields of the flits that are taken."""
    found = []
    for cycle, word in enumerate(run(inputs, ["o.valid", "o.ready", *FRAMED])):
        if all(word[:2]):
            sent = framed_flit(word[2:])
            assert CODEC.is_good(sent)
            found.append({"cycle": cycle, "data": sent.data, **CODEC.unpack(sent)})
    return found


def test_latency_is_two_cycles_and_throughput_a_flit_per_cycle_with_a_right_crc() -> None:
    packet = [flit(k + 5, k, 3, circuit=PP, link_sequence=1) for k in range(4)]
    sent = link([start(PP) | packet[0], *packet[1:], start(PP) | packet[0], *packet[1:], *[{}] * 3])
    assert [word["cycle"] for word in sent] == list(range(2, 10))
    assert [word["data"] for word in sent] == [5, 6, 7, 8] * 2
    assert {(word["kind"], word["circuit"], word["link_sequence"]) for word in sent} == {(0, PP, 1)}


def test_gone_is_high_in_the_cycle_before_a_flit_is_offered() -> None:
    inputs = [flit(1), flit(2), {"o.ready": 0}, {}, {}, {}]
    assert run(inputs, ["gone", "o.valid"]) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 1), (0, 0)]


@pytest.mark.parametrize("held", range(1, 7))
def test_flits_that_wait_for_the_link_stay_in_order_and_whole(held: int) -> None:
    packet = [flit(k + 5, k, 3, circuit=PP, link_sequence=1) for k in range(4)]
    stalled = [one | {"o.ready": 0} for one in [*packet, {}, {}][:held]]
    rest = [*packet, {}, {}][held:]
    sent = link([*stalled, *rest, *[{}] * 4])
    assert [word["data"] for word in sent] == [5, 6, 7, 8]
    first = max(held, 2)
    assert [word["cycle"] for word in sent] == list(range(first, first + 4))


def test_a_message_leaves_in_the_next_cycle_and_takes_the_place_of_a_flit() -> None:
    message = {"message.valid": 1, "message.payload.kind": Kind.ACK}
    watch = ["o.valid", "message.ready", "gone"]
    seen = run([message, flit(1), message, {}, {}], watch)
    assert seen == [(0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1), (1, 0, 0)]


def test_the_link_sequence_of_a_packet_is_there_from_the_cycle_behind_its_start_on() -> None:
    inputs = [start(MP, 3), start(PP), {}, start(MP, 2), start(DP), start(MP), {}, {}]
    assert run(inputs, ["link_sequence"]) == [0, 0, 0, 0, 3, 0, 5, 5]


def test_there_is_space_for_as_many_packets_as_granted() -> None:
    used = [start(PP, SIZE)] * PACKETS
    inputs = [*used, {}, grant(PP, MOST + SIZE), {}, grant(DP, MOST), {}]
    seen = run(inputs, ["space"])
    # A cycle after a start, two after a grant.
    assert seen == [*[7] * PACKETS, *[7 & ~(1 << PP)] * 3, 7, 7]


@pytest.mark.parametrize("waits", [False, True])
def test_missing_credits_are_asked_for_once_the_circuit_is_quiet(waits: bool) -> None:
    rest = [{"wanted": int(waits)}] * (TIMEOUT + 3)
    sent = link([start(MP), {}, {}, flit(1), *rest])
    # Quiet from the cycle in which the flit leaves, if no packet waits for its grant.
    syncs = [word["cycle"] for word in sent if word["kind"] == Kind.SYNC]
    assert syncs == ([] if waits else [3 + 2 + 1 + TIMEOUT])


def test_a_packet_that_is_about_to_start_takes_the_question_back_in_its_cycle() -> None:
    quiet = [start(MP), {}, {}, flit(1), *[{}] * (TIMEOUT + 1)]
    assert run([*quiet, {}, {}, {}], ["o.valid"])[-3:] == [0, 1, 0]
    assert run([*quiet, {"wanted": 1}, {}, {}], ["o.valid"])[-3:] == [0, 0, 0]


def test_a_packet_that_waits_without_space_has_its_credits_asked_for() -> None:
    packets = [start(MP, SIZE) | flit(1, link_sequence=SIZE * k) for k in range(PACKETS)]
    sent = link([*packets, *[{"wanted": 1}] * (TIMEOUT + 4)])
    syncs = [word for word in sent if word["kind"] == Kind.SYNC]
    assert [(word["cycle"], word["link_sequence"]) for word in syncs] == [
        (PACKETS + 2 + TIMEOUT, MOST)
    ]


def test_limits_of_this_end_are_reported() -> None:
    sent = link([{"credit.here.limit[2]": 5}] * 4)
    assert [(w["cycle"], w["credit_circuit"], w["credit_limit"]) for w in sent] == [(2, DP, 5)]


def test_a_bad_flit_is_sent_with_its_crc_inverted() -> None:
    word = run([start(MP), flit(3, bad=1), {}, {}], ["o.valid", *FRAMED])[3]
    assert word[0] and word[3] == CODEC.crc(word[1], word[2]) ^ STOMP


def test_reset_forgets_flits_link_sequences_and_limits() -> None:
    used = [start(MP, SIZE) | flit(k) for k in range(PACKETS)]
    seen = run([*used, {"rst": 1, "o.ready": 0}, *[{}] * 3], ["o.valid", "space", "link_sequence"])
    assert seen[PACKETS + 1 :] == [(0, 7, 0)] * 3


@pytest.mark.parametrize("swallows", [0, 1])
def test_while_a_link_is_down_packets_start_to_be_lost_until_it_closes(swallows: int) -> None:
    rest = {"down": 1, "swallows": swallows}
    used = [start(PP, SIZE)] * PACKETS
    seen = run([*used, {}, rest, rest | {"closing": 1}, {"closing": 1}, {}], ["space"])
    # A cycle later.
    assert seen[PACKETS:] == [5, 5, 7 if swallows else 5, 0, 0]


def test_empty_is_low_while_a_packet_has_started_that_has_not_left() -> None:
    rest = {"down": 1, "swallows": 1, "o.ready": 0}
    packet = [rest | start(PP, 2) | flit(1, 0, 1, circuit=PP), rest | flit(2, 1, 1, circuit=PP)]
    seen = run([rest, *packet, *[rest] * 4], ["empty", "o.valid"])
    assert seen == [(1, 0), (1, 0), (0, 0), (0, 0), (1, 0), (1, 0), (1, 0)]
    # Where it begins anew link sequence numbers start at 0.
    assert (
        run([start(MP, 3), {"begins": 1, "closing": 1}, {}, start(MP), {}], ["link_sequence"])[-1]
        == 0
    )
