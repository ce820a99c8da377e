"""The endpoint in Python: two of them on a lossy link."""

import random
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from amaranth.lib.crc.catalog import CRC32_ISCSI

from fred_hw.protocol import (
    CONTROL,
    HEADER_BITS,
    HEADER_FIELDS,
    KINDS,
    PROTOCOL_VERSION,
    ProtocolSpec,
    absent_fields,
)
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Endpoint, Flit, FlitCodec, crc32c

SPEC = SwitchSpec(
    ports=2,
    lanes=1,
    format="int32",
    protocol=ProtocolSpec(
        phases=4,
        packet_flits=4,
        buffer_packets=6,
        round_trip_cycles=16,
        ack_interval=4,
        window_packets=16,
        timeout_cycles=200,
        nack_timeout_cycles=20,
        packet_timeout_cycles=40,
    ),
)
CODEC = FlitCodec(SPEC)
LINK_SEQUENCES = 1 << HEADER_FIELDS["link_sequence"].bits
NAMES = 100, 7
"""Addresses of two ends."""

WINDOW, SIZE = SPEC.protocol.window_packets, SPEC.protocol.packet_flits
Packets = list[tuple[int, ...]]


class Channel:
    """Delays flits, and loses, doubles and changes a share of them."""

    def __init__(self, rng: random.Random, faults: float, delay: int = 6) -> None:
        self.rng, self.faults = rng, faults
        self.line: deque[Flit | None] = deque([None] * delay)
        self.lost = 0

    def step(self, flit: Flit | None) -> Flit | None:
        if flit is not None and self.rng.random() < self.faults:
            self.lost += 1
            kind = self.rng.randrange(3)
            if kind == 0:
                flit = None
            elif kind == 1:
                flit = Flit(flit.header ^ 1 << self.rng.randrange(HEADER_BITS), flit.data, flit.crc)
            else:
                self.line.append(flit)
        elif flit is None and len(self.line) > 6 and None in self.line:
            self.line.remove(None)
        self.line.append(flit)
        return self.line.popleft()


def packets(rng: random.Random, count: int) -> Packets:
    return [tuple(rng.getrandbits(32) for _ in range(rng.randint(1, 4))) for _ in range(count)]


def run(
    ends: tuple[Endpoint, Endpoint],
    rng: random.Random,
    faults: float = 0.0,
    pauses: float = 0.0,
    cycles: int | None = None,
) -> tuple[int, int]:
    """Let so many cycles pass, or until all is acknowledged; return them and the faults."""
    link = [Channel(rng, faults) for _ in range(2)]
    come: list[Flit | None] = [None, None]
    for cycle in range(100_000):
        if cycle == cycles or (cycles is None and all(end.done for end in ends)):
            return cycle, sum(channel.lost for channel in link)
        for k, end in enumerate(ends):
            sent = end.step(come[k], may_send=rng.random() >= pauses)
            come[1 - k] = link[k].step(sent)
    pytest.fail(f"not done: {[end.counts for end in ends]}")


@pytest.mark.parametrize("content", [b"", b"\0", b"123456789", bytes(range(256))])
def test_crc_is_that_of_amaranth(content: bytes) -> None:
    assert crc32c(content) == CRC32_ISCSI(data_width=8).compute(content)


def test_crc_of_the_catalogue() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_fields_come_back_and_changes_are_seen() -> None:
    rng = random.Random(1)
    for _ in range(50):
        fields = {name: rng.getrandbits(place.bits) for name, place in HEADER_FIELDS.items()}
        fields |= dict.fromkeys(absent_fields(fields["kind"], fields["unicast"]), 0)
        fields["version"] = PROTOCOL_VERSION
        flit = CODEC.pack(rng.getrandbits(32), **fields)
        assert CODEC.unpack(flit) == fields
        assert CODEC.is_good(flit)
        assert not CODEC.is_good(
            Flit(flit.header ^ 1 << rng.randrange(HEADER_BITS), flit.data, flit.crc)
        )
        assert not CODEC.is_good(Flit(flit.header, flit.data ^ 1 << rng.randrange(32), flit.crc))
        assert flit.user == flit.header | flit.crc << HEADER_BITS
        assert not CODEC.is_good(CODEC.pack(flit.data, **fields | {"version": 2}))


def test_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^fields must be of version, .*, not \['number'\]$"):
        CODEC.pack(number=1)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("pauses", [0.0, 0.3])
@pytest.mark.parametrize("faults", [0.0, 0.01, 0.1])
def test_packets_come_in_order_each_once(faults: float, pauses: float) -> None:
    for seed in range(4):
        rng = random.Random(seed)
        ends = Endpoint(SPEC, NAMES[0]), Endpoint(SPEC, NAMES[1])
        online = SPEC.protocol.online
        sent: list[dict[tuple[int, int], Packets]] = [{}, {}]
        for k, end in enumerate(ends):
            for phase, circuit in ((0, 0), (1, 1), (2, 1), (3, 2), (online, 2), (0, 0)):
                some = packets(rng, rng.randint(1, 60))
                end.send(phase, circuit, some, peer=NAMES[1 - k] if phase == online else 0)
                key = (phase, NAMES[k] if phase == online else 0)
                sent[1 - k].setdefault(key, []).extend(some)
        _, lost = run(ends, rng, faults, pauses)
        assert [end.received for end in ends] == sent
        resent = sum(end.counts["resent"] for end in ends)
        assert (lost > 0, resent > 0) == (faults > 0, faults > 0)


def test_full_window_goes_out_without_a_gap() -> None:
    rng = random.Random(2)
    ends = Endpoint(SPEC), Endpoint(SPEC)
    ends[0].send(0, 0, [(1, 2, 3, 4)] * 200)
    cycles, _ = run(ends, rng)
    assert cycles < 200 * 4 + 60
    assert ends[0].counts["resent"] == ends[0].counts["timeouts"] == 0
    assert ends[1].counts["ack"] == 200 // SPEC.protocol.ack_interval


def test_urgent_packets_go_before_those_that_wait() -> None:
    end = Endpoint(SPEC)
    end.send(0, 2, [(1, 2)] * 3)
    first = end.step(None)
    end.send(1, 0, [(3,)])
    flits = [first, *(end.step(None) for _ in range(3))]
    circuits = [CODEC.unpack(flit)["circuit"] for flit in flits if flit]
    assert circuits == [2, 2, 0, 2]


def test_next_phase_of_a_circuit_waits_for_acks() -> None:
    end = Endpoint(SPEC)
    end.send(0, 0, [(1,)])
    end.send(1, 0, [(2,)])
    sent = [end.step(None) for _ in range(20)]
    assert [flit.data for flit in sent if flit] == [1]
    ack = CODEC.pack(kind=KINDS.index("ack"), circuit=CONTROL, phase=0, sequence=1)
    following = end.step(ack)
    assert following is not None
    assert CODEC.unpack(following)["phase"] == 1


def test_sender_stops_at_the_limit_and_asks_for_it() -> None:
    rng = random.Random(3)
    ends = Endpoint(SPEC), Endpoint(SPEC, keeps_space=True)
    space = SPEC.protocol.buffer_packets
    ends[0].send(0, 0, [tuple(rng.getrandbits(32) for _ in range(SIZE)) for _ in range(3 * space)])
    run(ends, rng, cycles=600)
    assert len(ends[1].received[0, 0]) == space
    assert ends[0].counts["sync"] >= 1
    for _ in range(2):
        ends[1].free()
        run(ends, rng, cycles=100)
    assert ends[0].done
    assert len(ends[1].received[0, 0]) == 3 * space


@pytest.mark.parametrize("spare", [-1, 0])
def test_ask_is_answered_by_a_nack_too_when_nothing_came_for_long(spare: int) -> None:
    end = Endpoint(SPEC)
    for number in range(3):
        end.step(
            CODEC.pack(7, circuit=1, phase=2, sequence=number, link_sequence=number), may_send=False
        )
    for _ in range(SPEC.protocol.nack_timeout_cycles + spare - 1):
        end.step(None, may_send=False)
    said = [end.step(CODEC.pack(kind=KINDS.index("ask"), circuit=CONTROL, phase=2)), end.step(None)]
    answers = [CODEC.unpack(flit) for flit in said if flit]
    wanted = ["ack"] if spare < 0 else ["ack", "nack"]
    assert [KINDS[fields["kind"]] for fields in answers] == wanted
    assert all((fields["phase"], fields["sequence"]) == (2, 3) for fields in answers)


SPACE = SPEC.protocol.buffer_flits


@pytest.mark.parametrize(
    ("link_sequence", "taken"), [(0, False), (2, True), (SPACE, True), (1 + SPACE, False)]
)
def test_first_flit_with_a_link_sequence_ahead_is_taken(link_sequence: int, taken: bool) -> None:
    end = Endpoint(SPEC)
    end.step(CODEC.pack(7, circuit=1, phase=2, sequence=0, link_sequence=0))
    end.step(CODEC.pack(8, circuit=1, phase=2, sequence=1, link_sequence=link_sequence))
    assert end.received == {(2, 0): [(7,), (8,)] if taken else [(7,)]}


def kinds_of(flits: Iterable[Flit | None]) -> list[str]:
    return [KINDS[CODEC.unpack(flit)["kind"]] for flit in flits if flit]


def test_packet_with_a_gap_is_refused_and_taken_from_its_start() -> None:
    end = Endpoint(SPEC)

    def said(*flits: int) -> list[str]:
        """Send flits, each of its packet and place as digits."""
        places = [divmod(one, 10) for one in flits]
        about = {"circuit": 1, "phase": 2, "last": 2}
        sent = [CODEC.pack(k, **about, link_sequence=3 * k, index=place) for k, place in places]
        return kinds_of(end.step(flit) for flit in sent)

    assert "nack" in said(0, 2)
    assert end.received == {(2, 0): []}
    assert "nack" not in said(10, 11, 20, 21, 21)
    assert "nack" in said(30, 32)  # at once, as flits have come since
    said(40, 41, 42)
    assert end.received == {(2, 0): [(4, 4, 4)]}


@pytest.mark.parametrize(("behind", "refused"), [(WINDOW, False), (WINDOW + 1, True)])
def test_packets_before_the_window_are_ahead(behind: int, refused: bool) -> None:
    said = Endpoint(SPEC).step(CODEC.pack(circuit=1, phase=2, sequence=-behind))
    assert ("nack" in kinds_of([said])) == refused


def test_window_limits_what_is_out() -> None:
    end = Endpoint(SPEC)
    end.send(0, 0, [(1,)] * (WINDOW + 9))
    credit = KINDS.index("credit")
    reported = [
        CODEC.pack(kind=credit, credit_circuit=0, credit_limit=k + SIZE) for k in range(WINDOW + 8)
    ]
    assert kinds_of(end.step(flit) for flit in reported) == ["data"] * WINDOW


def test_limit_beyond_all_space_grants_nothing() -> None:
    end = Endpoint(SPEC)
    end.send(0, 0, [(1,)])
    reported = CODEC.pack(kind=KINDS.index("credit"), credit_circuit=0, credit_limit=SPACE + 1)
    assert end.step(reported) is None


def test_answers_beyond_what_is_out_change_nothing() -> None:
    end = Endpoint(SPEC)
    end.send(2, 0, [(k,) for k in range(4)])
    assert [flit.data for _ in range(2) if (flit := end.step(None))] == [0, 1]

    def reported(kind: str, sequence: int) -> int:
        flit = end.step(
            CODEC.pack(kind=KINDS.index(kind), circuit=CONTROL, phase=2, sequence=sequence)
        )
        return -1 if flit is None else flit.data

    assert [reported("ack", 3), reported("nack", 0), reported("ack", 2), reported("nack", 5)] == [
        2,
        0,
        2,
        3,
    ]
    assert not end.done
    reported("ack", 4)
    assert end.done


@pytest.mark.parametrize("link_sequence", [0, 5])
@pytest.mark.parametrize("cut", [False, True])
def test_sync_is_answered_by_the_limit(link_sequence: int, cut: bool) -> None:
    end = Endpoint(SPEC)
    if cut:
        end.step(CODEC.pack(circuit=1, last=1))
    said = end.step(CODEC.pack(kind=KINDS.index("sync"), circuit=1, link_sequence=link_sequence))
    assert said is not None
    fields = CODEC.unpack(said)
    assert (KINDS[fields["kind"]], fields["credit_circuit"]) == ("credit", 1)
    assert fields["credit_limit"] == (link_sequence + SPACE) % LINK_SEQUENCES


def test_first_flit_out_of_place_is_refused_and_again_after_a_while() -> None:
    end = Endpoint(SPEC)
    ahead = [CODEC.pack(7, circuit=0, phase=0, sequence=1, link_sequence=k + 1) for k in range(80)]
    assert len(ahead) == 2 * SPEC.protocol.packet_timeout_cycles
    places = [place for place, flit in enumerate(ahead) if "nack" in kinds_of([end.step(flit)])]
    assert places == [0, SPEC.protocol.packet_timeout_cycles]
    assert end.received == {(0, 0): []}


def unicast(number: int, link_sequence: int = 0, destination: int = NAMES[0]) -> Flit:
    ends = {"destination": destination, "source": NAMES[1]}
    return CODEC.pack(7, circuit=2, unicast=1, sequence=number, link_sequence=link_sequence, **ends)


def test_unicast_to_another_address_is_neither_taken_nor_answered() -> None:
    end = Endpoint(SPEC, NAMES[0])
    said = [end.step(unicast(0, k, destination=NAMES[1])) for k in range(SPACE)]
    said += [end.step(None) for _ in range(2 * SPEC.protocol.nack_timeout_cycles)]
    assert set(kinds_of(said)) == {"credit"}
    assert end.received == {}


def test_packets_that_come_again_are_acknowledged_when_idle() -> None:
    end = Endpoint(SPEC, NAMES[0])
    idle = [None] * (SPEC.protocol.nack_timeout_cycles + 2)
    for link_sequence in range(2):
        flits = [end.step(flit) for flit in (unicast(0, link_sequence), *idle)]
        acks = [CODEC.unpack(f) for f in flits if f and kinds_of([f]) == ["ack"]]
        assert [(one["sequence"], one["destination"]) for one in acks] == [(1, NAMES[1])]
    assert end.received == {(SPEC.protocol.online, NAMES[1]): [(7,)]}


def acks_of_turns(turns: Sequence[int], idle: int = 0) -> list[tuple[int, int, int]]:
    """Send a whole packet of each source given; return cycle, source and number of the acks."""
    end = Endpoint(SPEC, NAMES[0])
    flits: list[Flit | None] = []
    for place, source in enumerate(turns):
        about = {"circuit": 2, "unicast": 1, "destination": NAMES[0], "source": source}
        about |= {
            "sequence": turns[:place].count(source),
            "link_sequence": SIZE * place,
            "last": SIZE - 1,
        }
        flits += [CODEC.pack(7, **about, index=index) for index in range(SIZE)]
    found = []
    for cycle, flit in enumerate([*flits, *[None] * idle]):
        said = end.step(flit)
        if said and kinds_of([said]) == ["ack"]:
            fields = CODEC.unpack(said)
            found.append((cycle, fields["destination"], fields["sequence"]))
    return found


@pytest.mark.parametrize("count", [1, 2, 5])
def test_sources_that_take_turns_get_an_ack_per_interval(count: int) -> None:
    rounds, interval = 40, SPEC.protocol.ack_interval
    acks = acks_of_turns([*range(count)] * rounds)
    assert [(source, number) for _, source, number in acks] == [
        (source, number)
        for number in range(interval, rounds + 1, interval)
        for source in range(count)
    ]


def test_last_packets_of_all_sources_are_acknowledged_when_nothing_comes() -> None:
    acks = acks_of_turns(range(3), idle=SPEC.protocol.nack_timeout_cycles)
    quiet = 3 * SIZE - 1 + SPEC.protocol.quiet_cycles
    assert [cycle for cycle, *_ in acks] == [quiet, quiet + 1, quiet + 2]
    assert {ack[1:] for ack in acks} == {(0, 1), (1, 1), (2, 1)}


def test_last_packet_of_a_source_is_acknowledged_a_turn_after_it() -> None:
    quiet = SPEC.protocol.quiet_cycles
    first, *_ = acks_of_turns([0, *[1] * 9])
    assert first == (SIZE - 1 + 2 * quiet, 0, 1)


def test_sources_with_long_turns_get_an_ack_before_they_give_up() -> None:
    count, rounds, longest = 12, 30, SPEC.protocol.ack_cycles
    turn = count * SIZE
    assert SPEC.protocol.ack_interval * turn > longest
    acks = [cycle for cycle, source, _ in acks_of_turns([*range(count)] * rounds) if source == 0]
    # The first packet that it tells of came that much before, the last one at most a turn before.
    gaps = [later - earlier for earlier, later in pairwise(acks)]
    assert min(gaps) > longest and max(gaps) <= longest + turn + count < 200


def test_forgotten_phase_starts_at_0() -> None:
    end = Endpoint(SPEC)
    end.step(CODEC.pack(7, circuit=0, phase=0, sequence=0))
    end.forget(0)
    end.step(CODEC.pack(8, circuit=0, phase=0, sequence=0, link_sequence=1))
    assert end.received == {(0, 0): [(8,)]}


def test_what_is_of_another_generation_is_ignored() -> None:
    end = Endpoint(SPEC)
    end.forget(0, 3)
    about = {"circuit": 0, "phase": 0, "sequence": 0}
    end.step(CODEC.pack(7, **about))
    end.step(CODEC.pack(8, **about, link_sequence=1, generation=3))
    assert end.received == {(0, 0): [(8,)]}
    end.send(0, 0, [(9,)])
    said = [end.step(None) for _ in range(2 * SPEC.protocol.nack_timeout_cycles)]
    mine = [CODEC.unpack(flit) for flit in said if flit]
    kinds = ("data", "ack")
    assert {one["generation"] for one in mine if KINDS[one["kind"]] in kinds} == {3}
    for generation, done in ((2, False), (3, True)):
        ack = {"kind": KINDS.index("ack"), "circuit": CONTROL, "phase": 0, "sequence": 1}
        end.step(CODEC.pack(**ack, generation=generation))
        end.step(None)
        assert end.done is done


def test_packets_begin_an_interval_apart() -> None:
    end = Endpoint(SPEC)
    end.interval = 10
    end.step(None)
    end.send(0, 0, [(1, 2, 3)] * 3)
    begun = [cycle for cycle in range(40) if (flit := end.step(None)) and flit.data == 1]
    assert begun == [0, 10, 20]


def test_nothing_is_sent_or_said_of_a_forgotten_phase() -> None:
    end = Endpoint(SPEC)
    end.step(CODEC.pack(7, circuit=1, phase=2, sequence=0), may_send=False)
    end.step(CODEC.pack(kind=KINDS.index("ask"), circuit=CONTROL, phase=2), may_send=False)
    end.send(2, 0, [(8,)])
    end.forget(2)
    assert end.done
    said = [end.step(None) for _ in range(2 * SPEC.protocol.timeout_cycles)]
    assert set(kinds_of(said)) == {"credit"}


@pytest.mark.parametrize("kind", ["data", "sync"])
def test_payload_without_a_data_circuit_is_noticed(kind: str) -> None:
    with pytest.raises(AssertionError, match=r"has no circuit$"):
        Endpoint(SPEC).step(CODEC.pack(kind=KINDS.index(kind), circuit=CONTROL))
