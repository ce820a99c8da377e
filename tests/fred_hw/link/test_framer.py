"""Contract of fred_hw.link.framer, cycle by cycle."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.link.framer import Framer
from fred_hw.protocol import CONTROL, Kind
from testbench.models.endpoint import Flit
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import CODEC, FRAMED, HANDSHAKE, LINK, STOMP, framed_flit

MP, PP, DP = range(3)
MOST, TIMEOUT = LINK.protocol.buffer_flits, LINK.protocol.timeout_cycles
FIELDS = {"circuit": PP, "phase": 3, "sequence": 7, "index": 1, "last": 2, "link_sequence": 4}
FIELDS |= {"generation": 6}
LIMITS = {f"here.limit[{k}]": MOST for k in range(3)}


def offered(data: int, **fields: int) -> dict[str, int]:
    """Return a data flit as inputs, with the CRC of a header of zeros and its data."""
    given = FIELDS | fields
    frame = {name: given[name] for name in ("circuit", "index", "link_sequence")}
    frame |= {"last": given["index"] == given["last"], "bad": fields.get("bad", 0)}
    known = {name: given[name] for name in ("phase", "sequence", "generation")}
    known |= {"length": given["last"]}
    return {
        "i.valid": 1,
        "i.payload.data": data,
        "i.payload.crc": CODEC.crc(0, data),
        **{f"i.payload.frame.{name}": int(value) for name, value in frame.items()},
        **{f"i.payload.frame.descriptor.{name}": value for name, value in known.items()},
    }


def message(kind: Kind, sequence: int) -> dict[str, int]:
    said = {"kind": int(kind), "phase": 1, "sequence": sequence, "generation": 2}
    return {"message.valid": 1, **{f"message.payload.{k}": v for k, v in said.items()}}


def run(inputs: Sequence[Mapping[str, int]]) -> tuple[list[Any], list[Flit | None]]:
    """Return ``i.ready`` and ``message.ready``, and the flit on the link, of each cycle."""
    rest = {"o.ready": 1, **LIMITS}
    watch = ["i.ready", "message.ready", "o.valid", *FRAMED]
    seen = trace(Framer(spec=LINK), inputs, watch, **rest)
    flits = [framed_flit(word[3:]) if word[2] else None for word in seen]
    return [word[:2] for word in seen], flits


def test_throughput_is_a_data_flit_per_cycle_in_the_same_cycle() -> None:
    readies, flits = run([offered(9), offered(8, index=2), {}])
    want = [CODEC.pack(9, **FIELDS), CODEC.pack(8, **FIELDS | {"index": 2}), None]
    assert flits == want
    assert readies == [(1, 0), (1, 0), (0, 0)]


def test_a_unicast_and_what_is_said_of_one_have_addresses_in_place_of_a_phase() -> None:
    ends = {"destination": 127, "source": 96}
    flow = {"phase": LINK.protocol.online, **ends}
    told = {f"i.payload.frame.descriptor.{name}": value for name, value in flow.items()}
    said = {f"message.payload.{name}": value for name, value in flow.items()}
    _, flits = run([message(Kind.ACK, 6) | said, offered(9) | told])
    rest = {name: value for name, value in FIELDS.items() if name not in ("phase", "generation")}
    assert flits == [
        CODEC.pack(kind=Kind.ACK, circuit=CONTROL, unicast=1, sequence=6, **ends),
        CODEC.pack(9, unicast=1, **rest, **ends),
    ]


def test_a_message_leaves_in_the_same_cycle_before_data() -> None:
    said = {"kind": Kind.NACK, "circuit": CONTROL, "phase": 1, "sequence": 6, "generation": 2}
    readies, flits = run([offered(9) | message(Kind.NACK, 6), offered(9)])
    assert flits == [CODEC.pack(**said), CODEC.pack(9, **FIELDS)]
    assert readies == [(0, 1), (1, 0)]


def test_what_is_offered_stays_until_it_is_taken() -> None:
    held = [offered(9) | {"o.ready": 0}, offered(9) | message(Kind.ACK, 1) | {"o.ready": 0}]
    readies, flits = run([*held, offered(9) | message(Kind.ACK, 1), message(Kind.ACK, 1)])
    assert flits[:3] == [CODEC.pack(9, **FIELDS)] * 3
    assert readies == [(0, 0), (0, 0), (1, 0), (0, 1)]
    assert flits[3] is not None and CODEC.unpack(flits[3])["kind"] == Kind.ACK


def test_the_end_of_a_bad_packet_has_its_crc_inverted() -> None:
    _, flits = run([offered(9, index=2, bad=1)])
    right = CODEC.pack(9, **FIELDS | {"index": 2})
    assert flits == [Flit(right.header, right.data, right.crc ^ STOMP)]


def test_latency_of_a_limit_that_changed_is_a_cycle() -> None:
    _, flits = run([{"here.limit[1]": 5}] * 4)
    told = CODEC.pack(kind=Kind.CREDIT, circuit=CONTROL, credit_circuit=PP, credit_limit=5)
    assert flits == [None, told, None, None]


def test_data_takes_a_limit_along() -> None:
    _, flits = run([{"here.limit[2]": 6}, offered(9) | {"here.limit[2]": 6}, {"here.limit[2]": 6}])
    assert flits == [None, CODEC.pack(9, **FIELDS, credit_circuit=DP, credit_limit=6), None]


def test_limits_are_told_one_after_the_other() -> None:
    changed = {f"here.limit[{k}]": 4 for k in range(3)}
    _, flits = run([changed] * 6)
    told = [flit and CODEC.unpack(flit)["credit_circuit"] for flit in flits]
    assert told == [None, MP, PP, DP, None, None]


def test_a_limit_is_told_in_every_cycle_in_which_it_changes_as_it_is_then() -> None:
    changes = [{"here.limit[1]": MOST + k} for k in range(4)]
    _, flits = run([*changes, changes[-1], changes[-1]])
    told = [flit and CODEC.unpack(flit)["credit_limit"] for flit in flits]
    assert told == [None, None, MOST + 2, MOST + 3, None, None]


def test_a_limit_that_changed_while_nothing_is_taken_is_told_once() -> None:
    stalled = [{"here.limit[1]": MOST + k, "o.ready": 0} for k in range(4)]
    _, flits = run([*stalled, *[{"here.limit[1]": MOST + 4}] * 3])
    told = [flit and CODEC.unpack(flit)["credit_limit"] for flit in flits[len(stalled) :]]
    assert told == [MOST + 4, None, None]


def test_limits_that_change_all_the_time_are_told_in_turn() -> None:
    _, flits = run([{f"here.limit[{k}]": n % 8 for k in range(3)} for n in range(9)])
    told = [flit and CODEC.unpack(flit)["credit_circuit"] for flit in flits[1:]]
    assert told == [MP, PP, DP, MP, PP, DP, MP, PP]


def test_a_limit_that_is_asked_for_is_told_though_it_has_not_changed() -> None:
    _, flits = run([{"here.synced": 1 << PP}, {}, {}, {}])
    told = CODEC.pack(kind=Kind.CREDIT, circuit=CONTROL, credit_circuit=PP, credit_limit=MOST)
    assert flits == [None, None, told, None]


def test_credits_that_stay_away_are_asked_for_after_a_timeout() -> None:
    lacking = {"lacks": 1 << DP, "link_sequence[2]": 5}
    _, flits = run([lacking] * (2 * TIMEOUT + 3))
    sync = CODEC.pack(kind=Kind.SYNC, circuit=DP, link_sequence=5)
    assert [cycle for cycle, flit in enumerate(flits) if flit] == [TIMEOUT, 2 * TIMEOUT + 1]
    assert {flit for flit in flits if flit} == {sync}


def test_credits_that_come_are_not_asked_for() -> None:
    inputs = [{"lacks": int(cycle != TIMEOUT)} for cycle in range(2 * TIMEOUT)]
    assert not any(run(inputs)[1])


def test_a_question_goes_behind_a_message_and_before_data() -> None:
    inputs = [{"lacks": 1}] * TIMEOUT
    inputs += [{"lacks": 1} | offered(9) | message(Kind.ACK, 1), {"lacks": 1} | offered(9)]
    _, flits = run([*inputs, offered(9)])
    kinds = [flit and CODEC.unpack(flit)["kind"] for flit in flits[TIMEOUT:]]
    assert kinds == [Kind.ACK, Kind.SYNC, Kind.DATA]


def test_reset_forgets_what_was_told() -> None:
    limit = {"here.limit[0]": 5}
    _, flits = run([limit, limit, limit, limit | {"rst": 1}, limit, limit, limit])
    assert [flit is not None for flit in flits] == [False, True, False, False, False, True, False]


SAYS = {
    "handshake.valid": 1,
    **{f"handshake.payload.{name}": value for name, value in HANDSHAKE.items()},
}


@pytest.mark.parametrize("down", [0, 1])
def test_a_handshake_goes_before_all_others_and_takes_no_limit_along(down: int) -> None:
    changed = {"here.limit[1]": 5}
    rest = offered(9) | message(Kind.ACK, 1) | changed
    _, flits = run([changed | {"down": down, "o.ready": 0}, SAYS | rest | {"down": down}, rest])
    assert flits[1] == CODEC.handshake(**HANDSHAKE)
    told = CODEC.unpack(flits[2] or flits[1])
    assert (told["credit_circuit"], told["credit_limit"]) == (PP, 5)


def test_while_a_link_is_down_all_but_handshakes_is_lost_at_once() -> None:
    inputs = [offered(9) | message(Kind.ACK, 1), offered(9), {"here.limit[1]": 5, "lacks": 1}]
    readies, flits = run([one | {"down": 1, "o.ready": 0} for one in inputs])
    assert readies == [(0, 1), (1, 0), (0, 0)]
    assert flits == [None] * 3


def test_while_a_link_is_down_all_is_lost_behind_a_handshake_that_nobody_takes() -> None:
    inputs = [SAYS, SAYS | offered(9) | message(Kind.ACK, 1), SAYS | offered(9)]
    readies, flits = run([one | {"down": 1, "o.ready": 0} for one in inputs])
    assert readies == [(1, 1)] * 3
    assert flits == [CODEC.handshake(**HANDSHAKE)] * 3


def test_what_was_offered_before_a_link_went_down_stays_until_it_is_taken() -> None:
    held = {"o.ready": 0}
    inputs = [offered(9) | held, offered(9) | held | {"down": 1}, offered(9) | {"down": 1}]
    readies, flits = run([*inputs, offered(8) | {"down": 1}])
    assert flits == [*[CODEC.pack(9, **FIELDS)] * 3, None]
    assert readies == [(0, 0), (0, 0), (1, 0), (1, 0)]


def test_a_link_that_begins_tells_all_limits() -> None:
    begins = {"down": 1, "begins": 1, "here.limit[0]": 3}
    _, flits = run([begins] * 3 + [{}] * 5)
    told = [flit and CODEC.unpack(flit)["credit_circuit"] for flit in flits]
    assert told == [None] * 3 + [MP, PP, DP, None, None]


def test_credits_are_not_asked_for_before_a_link_has_been_up_for_a_timeout() -> None:
    lacking = {"lacks": 1, "link_sequence[0]": 5}
    inputs = [lacking | {"down": 1}] * (TIMEOUT + 3) + [lacking | {"link_sequence[0]": 0}] * (
        TIMEOUT + 1
    )
    _, flits = run(inputs)
    assert [cycle for cycle, flit in enumerate(flits) if flit] == [2 * TIMEOUT + 3]
    assert flits[-1] == CODEC.pack(kind=Kind.SYNC, circuit=MP, link_sequence=0)


@pytest.mark.parametrize(
    "kept", [SAYS, offered(9), message(Kind.ACK, 1)], ids=["handshake", "data", "message"]
)
def test_what_is_not_taken_for_long_keeps_no_link_sequence_of_the_time_before(
    kept: dict[str, int],
) -> None:
    held = {"lacks": 1, "link_sequence[0]": 5, "o.ready": 0} | kept
    _, flits = run(
        [
            *[held, *[held | {"down": 1}] * (TIMEOUT + 3)],
            kept | {"lacks": 1},
            *[{"lacks": 1}] * TIMEOUT,
        ]
    )
    assert len({*flits[: TIMEOUT + 5]}) == 1
    assert flits[TIMEOUT + 5 :] == [None] * (TIMEOUT - 1) + [CODEC.pack(kind=Kind.SYNC)]


def test_a_question_that_is_offered_stays_when_the_link_goes_down() -> None:
    lacking = {"lacks": 1, "link_sequence[0]": 5}
    gone = {"link_sequence[0]": 0, "lacks": 2, "down": 1}
    inputs = [lacking] * TIMEOUT + [lacking | {"o.ready": 0}, *[gone | {"o.ready": 0}] * 3, gone]
    _, flits = run([*inputs, *[{"lacks": 1}] * TIMEOUT])
    assert flits[TIMEOUT:] == [CODEC.pack(kind=Kind.SYNC, link_sequence=5)] * 5 + [None] * TIMEOUT
