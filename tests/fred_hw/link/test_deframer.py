"""Contract of fred_hw.link.deframer, cycle by cycle."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fred_hw.link.credits import link_sequence_bits
from fred_hw.link.deframer import PACKET_FIELDS, Deframer
from fred_hw.protocol import CONTROL, Kind
from testbench.models.endpoint import Flit
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import CODEC, HANDSHAKE, LINK, link_flit

MP, PP, DP = range(3)
READY = {f"o[{k}].ready": 1 for k in range(3)}
VALID = [f"o[{k}].valid" for k in range(3)]
INCOMING = [f"o[{k}].incoming" for k in range(3)]
SIZE, MOST = LINK.protocol.packet_flits, LINK.protocol.buffer_flits
LINK_SEQUENCES = 1 << link_sequence_bits(LINK)


def packet(
    length: int = SIZE, circuit: int = MP, link_sequence: int = 0, **fields: int
) -> list[Flit]:
    return [
        CODEC.pack(
            k + 1, circuit=circuit, link_sequence=link_sequence, index=k, last=length - 1, **fields
        )
        for k in range(length)
    ]


def run(
    flits: Sequence[Flit | None], watch: Sequence[str], more: Mapping[int, Any] | None = None
) -> list[Any]:
    """Return what is seen in each cycle; ``more`` are other inputs by cycle."""
    cycles = [{} if flit is None else link_flit(flit) for flit in flits]
    inputs = [one | (more or {}).get(cycle, {}) for cycle, one in enumerate(cycles)]
    return trace(Deframer(spec=LINK), inputs, watch, **READY)


@pytest.mark.parametrize("circuit", [MP, PP, DP])
def test_latency_to_the_circuit_is_a_cycle_and_throughput_a_flit_per_cycle(circuit: int) -> None:
    fields = {"phase": 2, "sequence": 9, "generation": 5}
    flits = [*packet(4, circuit, 0, **fields), *packet(2, circuit, 4, **fields)]
    word = [f"o[{circuit}].word.{name}" for name in ("first", "last", "data")]
    known = [f"o[{circuit}].word.descriptor.{name}" for name in (*fields, "length")]
    seen = run([*flits, None], [*VALID, "came", "dropped", *word, *known])
    assert seen[0][:5] == (0, 0, 0, 0, 0)
    mine = tuple(int(k == circuit) for k in range(3))
    places = [(k, 4) for k in range(4)] + [(k, 2) for k in range(2)]
    assert seen[1:] == [
        (*mine, 1, 0, int(k == 0), int(k == n - 1), k + 1, *fields.values(), n - 1)
        for k, n in places
    ]


def test_latency_of_messages_is_a_cycle() -> None:
    said = [("kind", int(kind)) for kind in (Kind.ACK, Kind.NACK, Kind.ASK)]
    flits = [
        CODEC.pack(kind=kind, circuit=CONTROL, phase=1, sequence=k, generation=k + 1)
        for k, (_, kind) in enumerate(said)
    ]
    names = [f"message.payload.{name}" for name in ("kind", "phase", "sequence", "generation")]
    seen = run([*flits, None, None], ["message.valid", *names])
    assert [word[0] for word in seen] == [0, 1, 1, 1, 0]
    assert [word[1:] for word in seen[1:4]] == [
        (kind, 1, k, k + 1) for k, (_, kind) in enumerate(said)
    ]


@pytest.mark.parametrize("kind", [Kind.DATA, Kind.ACK])
def test_a_unicast_has_the_phase_of_unicasts_and_keeps_its_addresses(kind: Kind) -> None:
    ends = {"destination": 127, "source": 96}
    circuit = MP if kind == Kind.DATA else CONTROL
    flit = CODEC.pack(kind=kind, circuit=circuit, unicast=1, sequence=9, **ends)
    known = "o[0].word.descriptor" if kind == Kind.DATA else "message.payload"
    names = ("phase", "generation", *ends, "sequence")
    seen = run([flit, None], [f"{known}.{name}" for name in names])
    assert seen[1] == (LINK.protocol.online, 0, 127, 96, 9)


@pytest.mark.parametrize("phase", [LINK.protocol.phases, 63])
def test_a_phase_that_there_is_not_is_none(phase: int) -> None:
    seen = run([CODEC.pack(phase=phase), None], ["came", "o[0].word.descriptor.phase"])
    assert seen[1] == (1, LINK.protocol.online + 1)


def test_latency_of_grants_is_a_cycle() -> None:
    flit = CODEC.pack(kind=Kind.CREDIT, circuit=CONTROL, credit_circuit=PP, credit_limit=5)
    names = [f"credit.grant.{name}" for name in ("valid", "circuit", "limit")]
    seen = run([flit, packet(1)[0], None], names)
    assert (seen[0][0], seen[1], seen[2][0]) == (0, (1, PP, 5), 0)


def test_latency_of_limits_is_three_cycles_from_link_sequences_and_one_from_space() -> None:
    watch = [f"credit.here.limit[{k}]" for k in range(3)]
    seen = run([packet(1, PP)[0], None, None, None, None], watch)
    assert [word[PP] for word in seen] == [MOST, MOST, MOST, MOST + 1, MOST + 1]
    assert {word[MP] for word in seen} == {MOST}
    full = run([None] * 4, watch, {1: {"o[1].used": SIZE + 1}, 2: {"o[1].used": 1}})
    assert [word[PP] for word in full] == [MOST, MOST, MOST - SIZE - 1, MOST - 1]


def test_a_packet_takes_its_space_with_its_first_flit_and_gives_it_back_flit_by_flit() -> None:
    # The flits leave the queue at once, the last does not come.
    flits = packet(3, link_sequence=2)
    seen = run([*flits[:2], *[None] * 12], ["credit.here.limit[0]"])
    # Two flits were lost before; the third has its space until it is given up.
    assert seen[:3] == [MOST] * 3
    assert [seen[k] for k in (3, 4, -1)] == [(2 + MOST + k) % LINK_SEQUENCES for k in (1, 2, 3)]


@pytest.mark.parametrize(
    ("link_sequence", "taken"), [(2, 0), (3, 1), (2 + MOST, 1), (3 + MOST, 0), (4 + MOST, 0)]
)
def test_a_packet_begins_if_its_link_sequence_is_next_or_ahead(
    link_sequence: int, taken: int
) -> None:
    seen = run([*packet(3), *packet(1, link_sequence=link_sequence), None], ["came", "dropped"])
    assert seen[4] == (taken, 1 - taken)


def test_a_sync_sets_the_link_sequence_that_comes_next() -> None:
    sync = CODEC.pack(kind=Kind.SYNC, circuit=DP, link_sequence=4)
    seen = run([sync, None, None, None], ["credit.here.synced", "credit.here.limit[2]"])
    assert seen == [(0, MOST), (1 << DP, MOST), (0, MOST), (0, (4 + MOST) % LINK_SEQUENCES)]


def test_behind_a_missing_flit_all_of_the_packet_are_dropped() -> None:
    flits = packet()
    seen = run(
        [flits[0], flits[2], flits[3], *packet(1, link_sequence=4), None], [*VALID[:1], "dropped"]
    )
    assert seen == [(0, 0), (1, 0), (0, 1), (0, 1), (1, 0)]


@pytest.mark.parametrize("name", [*PACKET_FIELDS, "phase", "generation"])
def test_a_flit_of_another_packet_goes_on_none(name: str) -> None:
    flits = packet(4)
    other = CODEC.unpack(flits[2]) | {"index": 2}
    strange = CODEC.pack(3, **other | {name: other[name] ^ 1})
    seen = run([*flits[:2], strange, *flits[2:], None], ["came", "dropped", *INCOMING])
    assert [one[:2] for one in seen[1:]] == [(1, 0), (1, 0), (0, 1), (0, 1), (0, 1)]
    assert seen[4][2:] == (0, 0, 0)


@pytest.mark.parametrize(("circuit", "open_after"), [(MP, 0), (PP, 1)])
def test_a_sync_of_its_circuit_ends_a_packet(circuit: int, open_after: int) -> None:
    flits, sync = packet(4), CODEC.pack(kind=Kind.SYNC, circuit=circuit, link_sequence=4)
    seen = run([flits[0], sync, flits[1], None], ["came", "dropped", *INCOMING])
    assert seen[2][2] == 1
    assert seen[3] == (open_after, 1 - open_after, open_after, 0, 0)


def test_a_flit_that_comes_twice_changes_nothing() -> None:
    flits = packet()
    seen = run([*flits[:2], flits[1], *flits[2:], None], ["came", "dropped"])
    assert seen[1:] == [(1, 0), (1, 0), (0, 1), (1, 0), (1, 0)]


def test_a_packet_that_begins_again_is_dropped() -> None:
    seen = run([*packet(1), *packet(1), None], ["came", "dropped"])
    assert seen[1:] == [(1, 0), (0, 1)]


def test_a_wrong_crc_is_dropped_and_tells_nothing() -> None:
    flits = [*packet(1), CODEC.pack(kind=Kind.ACK, circuit=CONTROL, credit_circuit=PP)]
    wrong = [replace(flit, crc=flit.crc ^ 2) for flit in flits]
    watch = ["came", "dropped", "message.valid", "credit.grant.valid"]
    assert run([*wrong, None], watch)[1:] == [(0, 1, 0, 0)] * 2


def test_a_queue_that_is_not_ready_loses_the_flit_in_the_same_cycle() -> None:
    watch = ["o[0].valid", "came", "overflow"]
    flits = packet()
    seen = run([*flits, None], watch, {2: {"o[0].ready": 0}})
    assert seen[1:] == [(1, 1, 0), (1, 0, 1), (0, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"kind": 7}, "kind_error"),
        ({"kind": Kind.DATA, "circuit": CONTROL}, "kind_error"),
        ({"kind": Kind.SYNC, "circuit": CONTROL}, "kind_error"),
        ({"kind": Kind.ACK, "circuit": CONTROL, "phase": 5}, "kind_error"),
        ({"kind": Kind.DATA, "index": 2, "last": 1}, "length_error"),
    ],
    ids=["kind", "data", "sync", "phase", "length"],
)
def test_wrong_headers_are_refused_by_name(fields: dict[str, int], error: str) -> None:
    watch = ["kind_error", "length_error", "came", "message.valid"]
    seen = run([CODEC.pack(1, **fields), None], watch)
    assert seen[1] == (error == "kind_error", error == "length_error", 0, 0)


def test_more_is_incoming_until_the_end_or_until_timeout_ends() -> None:
    assert run([*packet(2), None, None], ["o[0].incoming"]) == [0, 0, 1, 0]
    timeout = LINK.protocol.packet_timeout_cycles
    seen = run([packet(2)[0], *[None] * (timeout + 4)], ["o[0].incoming"])
    assert seen == [0, 0, *[1] * (timeout + 1), 0, 0]


@pytest.mark.parametrize(
    ("after", "seen_after"), [(packet(2)[1], (0, 1)), (packet(1)[0], (1, 0))], ids=["rest", "new"]
)
def test_reset_forgets_the_packet_and_all_link_sequences(
    after: Flit, seen_after: tuple[int, int]
) -> None:
    flits = [packet(2)[0], None, None, None, after, None]
    watch = ["o[0].incoming", "credit.here.limit[0]", "came", "dropped"]
    seen = run(flits, watch, {3: {"rst": 1}})
    assert seen[3][:2] == (1, MOST + 1)
    assert seen[4] == (0, MOST, 0, 0)
    assert seen[5][2:] == seen_after


def test_while_a_link_is_down_only_handshakes_count() -> None:
    handshake = CODEC.handshake(**HANDSHAKE)
    ack = CODEC.pack(kind=Kind.ACK, circuit=CONTROL, credit_circuit=MP, credit_limit=3)
    broken = replace(handshake, crc=handshake.crc ^ 1)
    watch = ["handshake.valid", "message.valid", "credit.grant.valid", *VALID, "dropped", "came"]
    flits = [handshake, ack, *packet(2), broken, None, None]
    down = {cycle: {"down": 1} for cycle in range(len(flits))}
    assert run(flits, watch, down) == [(0,) * 8, (1, *[0] * 7), *[(0,) * 8] * 5]
    fields = [f"handshake.payload.{name}" for name in HANDSHAKE]
    assert run(flits, fields)[1] == tuple(HANDSHAKE.values())


def test_a_link_that_goes_down_ends_the_packet_and_starts_link_sequences_at_0() -> None:
    old, new = packet(SIZE, PP, 0), packet(1, PP, 0)
    watch = [*INCOMING, *VALID, "credit.here.limit[1]"]
    seen = run([*old[:2], *[None] * 3, *new, *[None] * 3], watch, {2: {"down": 1}, 3: {"down": 1}})
    # What came in the cycle before is the last that counts.
    assert [word[PP] for word in seen] == [0, 0, 1, *[0] * 6]
    assert [word[3 + PP] for word in seen] == [0, 1, 0, 0, 0, 0, 1, 0, 0]
    assert [word[-1] for word in seen][-4:] == [MOST, MOST, MOST, 1 + MOST]
