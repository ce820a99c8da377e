"""Contract of fred_hw.mesh.router, cycle by cycle; testbench has the rest."""

from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.router import ERRORS, HOP_CYCLES, MeshRouter
from fred_hw.protocol import CONTROL, HEADER_BITS, Kind
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Flit, FlitCodec
from tests.fred_hw.mesh.links import CODEC, greeting, on_axis, packet, shown_data
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import MESH, TORUS, kind_of

NUMBERS = range(len(DIRECTIONS))
EAST, WEST, LOCAL = (DIRECTIONS.index(one) for one in ("east", "west", "local"))
READY = {f"m{k}_axis_tready": 1 for k in NUMBERS} | {"position.x": 1, "position.y": 0}
SETUP = greeting(NUMBERS)


def out(number: int) -> list[str]:
    return [f"m{number}_axis_t{name}" for name in ("valid", "data", "user")]


def seen(cycles: Sequence[dict[str, int]], watch: Sequence[str]) -> list[Any]:
    """Return what the router in the middle of the first row shows once its links are up."""
    inputs = [READY | one for one in [*SETUP, *cycles, *[{}] * 20]]
    unit = MeshRouter(mesh=MESH, directions=DIRECTIONS)
    return trace(unit, inputs, watch)[len(SETUP) :]


@pytest.mark.slow
def test_latency_is_eight_cycles_and_throughput_a_flit_per_cycle() -> None:
    four = [*packet(4, 2), *packet(4, 2, link_sequence=4, sequence=1)]
    found = shown_data(seen(on_axis(WEST, four), out(EAST)))
    want = [(HOP_CYCLES + k, k % 4 + 1) for k in range(8)]
    assert HOP_CYCLES == 8
    assert found == want


@pytest.mark.slow
def test_latency_of_a_message_is_four_cycles() -> None:
    ack = CODEC.pack(kind=Kind.ACK, circuit=CONTROL, unicast=1, destination=2, sequence=7)
    assert shown_data(seen(on_axis(WEST, [ack]), out(EAST)), kind=Kind.ACK) == [(4, 0)]


@pytest.mark.slow
def test_all_ports_go_together() -> None:
    """Each port but one sends to the next but one, round."""
    ends = {"north": 10, "east": 0, "south": 7, "west": 1, "local": 2}
    sent = {DIRECTIONS.index(name): packet(4, end) for name, end in ends.items()}
    every = [on_axis(number, flits) for number, flits in sent.items()]
    cycles = [{k: v for one in cycle for k, v in one.items()} for cycle in zip(*every, strict=True)]
    # From the south to the north, from the east to the west, and so on: five different ports.
    gone = {WEST, EAST, LOCAL, 0}
    shown = seen(cycles, [name for number in sorted(gone) for name in out(number)])
    for k in range(len(gone)):
        found = shown_data([values[3 * k : 3 * k + 3] for values in shown])
        assert [data for _, data in found][:4] == [1, 2, 3, 4]
        assert found[0][0] == HOP_CYCLES


@pytest.mark.slow
def test_two_ports_to_one_take_turns_by_packets() -> None:
    both = [
        on_axis(WEST, [f for k in range(2) for f in packet(2, 1, 0, 2 * k, sequence=k)]),
        on_axis(EAST, [f for k in range(2) for f in packet(2, 1, 2, 2 * k, sequence=k)]),
    ]
    cycles = [one | two for one, two in zip(*both, strict=True)]
    watched = seen(cycles, out(LOCAL))
    users = [user for valid, _, user in watched if valid and kind_of(user) == Kind.DATA]
    sources = [CODEC.unpack(Flit(user, 0, 0))["source"] for user in users]
    assert sorted(sources) == [0] * 4 + [2] * 4
    assert sources[:4] in ([0, 0, 2, 2], [2, 2, 0, 0])
    cycles_of = [cycle for cycle, _ in shown_data(watched)]
    assert cycles_of == list(range(HOP_CYCLES, HOP_CYCLES + 8))


def test_errors_are_told_by_kind() -> None:
    bad = [CODEC.pack(kind=7, circuit=CONTROL), None, *packet(1, 99)]
    found = seen(on_axis(LOCAL, bad), ["errors", "dropped"])
    assert [one for one in found if any(one)] == [
        (1 << ERRORS.index("kind"), 0),
        (1 << ERRORS.index("route"), 1),
    ]


@pytest.mark.slow
def test_links_come_up_and_reset_begins_them_anew() -> None:
    found = seen([{}, {"rst": 1}, {}, *SETUP], ["up"])
    assert (found[0], found[2]) == (31, 0)
    assert found[len(SETUP)] == 31


def test_reset_forgets_all_packets() -> None:
    cycles = [*on_axis(WEST, packet(4, 2)), {}, {"rst": 1}, *SETUP]
    found = seen(cycles, out(EAST))
    assert shown_data(found) == []


ADAPTIVE = MESH.with_changes(routing="odd_even_adaptive")


@pytest.mark.slow
def test_neighbours_are_told_how_crowded_each_way_out_is() -> None:
    """Let two packets wait for the east without space, then one go west, as a credit reports."""
    codec = FlitCodec(ADAPTIVE.link)
    none = codec.pack(kind=Kind.CREDIT, circuit=CONTROL, credit_circuit=0, credit_limit=0)

    def unicast(destination: int, link_sequence: int, circuit: int = 0) -> Flit:
        about = {"unicast": 1, "destination": destination, "link_sequence": link_sequence}
        return codec.pack(circuit=circuit, sequence=link_sequence, **about)

    sent = [
        on_axis(EAST, [none, *[None] * 12]),
        on_axis(WEST, [*[None] * 4, unicast(2, 0), *[None] * 8]),
        on_axis(LOCAL, [*[None] * 4, unicast(2, 0), *[None] * 7, unicast(0, 0, 1)]),
    ]
    cycles = [one | two | three for one, two, three in zip(*sent, strict=True)]
    setup = greeting(NUMBERS, ADAPTIVE)
    inputs = [READY | one for one in [*setup, *cycles, *[{}] * 30]]
    unit = MeshRouter(mesh=ADAPTIVE, directions=DIRECTIONS)
    flits = [
        codec.unpack(Flit(user & (1 << HEADER_BITS) - 1, 0, 0))
        for valid, _, user in trace(unit, inputs, out(LOCAL))[len(setup) :]
        if valid
    ]
    told = [one for one in flits if one["kind"] in (Kind.ACK, Kind.NACK, Kind.CREDIT)]
    assert told
    # Two wait in different queues; that they have no space is above their number.
    assert told[-1]["last"] == 8 + 2
    assert told[-1]["index"] == told[-1]["link_sequence"] == 0


EDGE, WITHIN = 2, 1
"""Columns of a torus of three: the router whose eastern link leads around, and the one before."""


def greeted(spec: SwitchSpec, codec: FlitCodec) -> list[Flit | None]:
    """Return how a neighbour of a torus greets, and grants space to each buffer."""
    about = {
        "circuit": CONTROL,
        "session_id": 9,
        "peer_known": 1,
        "up": 1,
        "digest": spec.digest,
    }
    limits = [
        codec.pack(
            kind=Kind.CREDIT,
            circuit=CONTROL,
            credit_limit=spec.protocol.buffer_flits,
            credit_circuit=k,
        )
        for k in range(len(spec.protocol.buffers))
    ]
    return [codec.pack(kind=Kind.HANDSHAKE, **about), *[None] * 9, *limits, *[None] * 8]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "entry", "circuit", "destination", "leaves", "goes_on"),
    [
        # Buffers 2 and 3 are channels 0 and 1 of the second class.
        (EDGE, "west", 2, 0, "east", 3),
        (WITHIN, "west", 2, 2, "east", 2),
        (WITHIN, "west", 3, 2, "east", 3),
        (WITHIN, "west", 3, 4, "south", 2),
        (WITHIN, "west", 3, 7, "north", 3),
        (EDGE, "local", 1, 0, "east", 3),
        (EDGE, "west", 3, 2, "local", 1),
    ],
    ids=["around", "on channel 0", "on channel 1", "a turn", "a turn around", "from", "to an NPU"],
)
def test_packets_of_a_torus_change_channel_at_the_dateline(
    column: int, entry: str, circuit: int, destination: int, leaves: str, goes_on: int
) -> None:
    """The class stays the same, and a link to an NPU has one channel for each."""
    specs = [TORUS.router(DIRECTIONS, outside=name == "local") for name in DIRECTIONS]
    codecs = [FlitCodec(spec) for spec in specs]
    greetings = [greeted(spec, codec) for spec, codec in zip(specs, codecs, strict=True)]
    longest = max(map(len, greetings))
    into, out_of = DIRECTIONS.index(entry), DIRECTIONS.index(leaves)
    about = {"unicast": 1, "destination": destination, "last": 1, "circuit": circuit}
    flits = [codecs[into].pack(k + 1, kind=Kind.DATA, index=k, **about) for k in range(2)]
    sent = [
        [*one, *[None] * (longest - len(one)), *(flits if k == into else [])]
        for k, one in enumerate(greetings)
    ]
    inputs: list[dict[str, int]] = [{} for _ in range(longest + 22)]
    for k, one in enumerate(sent):
        for cycle, given in enumerate(on_axis(k, one)):
            inputs[cycle] |= given
    ready = {f"m{k}_axis_tready": 1 for k in NUMBERS} | {"position.x": column}
    unit = MeshRouter(mesh=TORUS, directions=DIRECTIONS)
    found = [
        codecs[out_of].unpack(Flit(user & (1 << HEADER_BITS) - 1, data, 0))
        for valid, data, user in trace(unit, [ready | one for one in inputs], out(out_of))
        if valid
    ]
    data = [one for one in found if one["kind"] == Kind.DATA]
    assert [(one["circuit"], one["index"], one["link_sequence"]) for one in data] == [
        (goes_on, 0, 0),
        (goes_on, 1, 0),
    ]
