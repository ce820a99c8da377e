"""Contract of fred_hw.switch.core, cycle by cycle."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from amaranth.hdl import Module

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control import events
from fred_hw.control.phase_entry import entry_word
from fred_hw.control.switch_map import COUNTERS, PORT_COUNTERS
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.protocol import CONTROL, Kind
from fred_hw.switch import core
from fred_hw.switch.core import SwitchCore
from testbench.models.endpoint import Flit, FlitCodec
from testbench.stimulus.addresses import address_of
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK, kind_of, link_flit

QUEUED = 8
"""Messages in a queue: an ack and a nack per urgency class, and two."""

PAIR = LINK.with_changes(ports=2)
FLITS = 4
ADDED = 10
_PROTOCOL = LINK.protocol.model_dump() | {"buffer_packets": 12, "window_packets": 16}
CROWD = LINK.with_changes(ports=3, protocol=_PROTOCOL)
"""A switch with space for many packets of one flit."""


def ends_of(source: int, destination: int) -> dict[str, int]:
    """Return the addresses of a unicast from a port to another."""
    return {"destination": address_of(destination), "source": address_of(source)}


ROUTES = {f"routes[{address_of(port)}]": port + 1 for port in range(CROWD.ports)}
ROUTES_OF_PAIR = {name: port for name, port in ROUTES.items() if port <= PAIR.ports}


def entry(circuit: int = 0) -> int:
    """Return an entry: from port 0 to port 1."""
    flows = (Flow([0], [1]),)
    configuration = route(flows, PAIR.ports, PAIR.middle_switches).configuration
    assert configuration is not None
    return entry_word(PAIR, configuration, flows, circuit)


def flits(number: int, **fields: int) -> list[Flit]:
    """Return a largest packet of phase 1."""
    codec, last = FlitCodec(PAIR), FLITS - 1
    fields = {
        "phase": 1,
        "sequence": number,
        "link_sequence": number * FLITS,
        "last": last,
    } | fields
    return [codec.pack(k + 1, index=k, kind=Kind.DATA, **fields) for k in range(FLITS)]


def on_port(port: int, flits: Sequence[Flit]) -> list[dict[str, int]]:
    """Return flits as inputs of a port."""
    return [
        {f"i[{port}].{name[2:]}": value for name, value in link_flit(flit).items()}
        for flit in flits
    ]


def packet(number: int, **fields: int) -> list[dict[str, int]]:
    """Return a packet as inputs of port 0."""
    return on_port(0, flits(number, **fields))


def unicast(number: int) -> list[dict[str, int]]:
    """Return a unicast from port 0 to port 1."""
    return packet(number, phase=0, unicast=1, **ends_of(0, 1))


def words(count: int, source: int, destination: int) -> list[Flit]:
    """Return unicasts of one flit of ``CROWD``."""
    codec = FlitCodec(CROWD)
    fields = {"kind": Kind.DATA, "unicast": 1, **ends_of(source, destination)}
    return [codec.pack(k, sequence=k, link_sequence=k, **fields) for k in range(count)]


def arrivals(cycles: Sequence[dict[str, int]]) -> list[tuple[int, int, int]]:
    """Return cycle, source and data of what comes out of port 2 of ``CROWD``."""
    setup, ready = 10, {"o[2].ready": 1}
    watch = [f"o[2].{name}" for name in ("valid", "payload.header", "payload.data")]
    inputs = [{}] * setup + [*cycles, *[{}] * 30]
    seen = trace(SwitchCore(spec=CROWD), [ready | ROUTES | one for one in inputs], watch)
    codec, found = FlitCodec(CROWD), []
    for cycle, (valid, header, data) in enumerate(seen[setup:]):
        fields = codec.unpack(Flit(header, data, 0))
        if valid and fields["kind"] == Kind.DATA:
            found.append((cycle, address_of(fields["source"]), data))
    return found


def together(*streams: tuple[int, int, int]) -> list[dict[str, int]]:
    """Return what ports send to port 2: each with its first cycle and its packets."""
    cycles: list[dict[str, int]] = [{} for _ in range(20)]
    for port, first, count in streams:
        for k, inputs in enumerate(on_port(port, words(count, port, 2))):
            cycles[first + k] |= inputs
    return cycles


def run(cycles: list[dict[str, int]]) -> tuple[list[int], list[int]]:
    """Return cycle and data of the data flits at port 1, the first of ``cycles`` being 0."""
    write = {"table.write": 1, "table.number": 1, "table.entry": entry()}
    setup = [{}] * 10 + [write] * 10 + [{}] * 5
    watch = ["table.accepted", "o[1].valid", "o[1].payload.data", "o[1].payload.header"]
    inputs = [{"o[1].ready": 1} | ROUTES_OF_PAIR | cycle for cycle in [*setup, *cycles, *[{}] * 20]]
    seen = trace(SwitchCore(spec=PAIR), inputs, watch)
    assert [accepted for accepted, *_ in seen].count(1) == 1
    found = [
        (cycle, data)
        for cycle, (_, valid, data, header) in enumerate(seen[len(setup) :])
        if valid and kind_of(header) == Kind.DATA
    ]
    return [cycle for cycle, _ in found], [data for _, data in found]


@pytest.mark.slow
@pytest.mark.parametrize("make", [packet, unicast])
def test_latency_and_throughput_from_port_to_port(make: Callable[..., Any]) -> None:
    cycles, data = run([*make(0), *make(1)])
    start = latency_cycles(PAIR) + ADDED
    assert cycles == list(range(start, start + 2 * FLITS))
    assert data == [1, 2, 3, 4] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flits", "phase", "queued", "unicasts"),
    [(packet(0), 1, 1 << 1, 0), (unicast(0), PAIR.protocol.online, 0, 1 << 0)],
    ids=["of a phase", "unicast"],
)
def test_what_is_in_queues_and_what_is_served_is_told_three_and_eight_cycles_behind_a_flit(
    flits: list[dict[str, int]], phase: int, queued: int, unicasts: int
) -> None:
    write = {"table.write": 1, "table.number": 1, "table.entry": entry()}
    setup = [{}] * 10 + [write] * 12 + [{}] * 5
    inputs = [{"o[1].ready": 1} | ROUTES_OF_PAIR | one for one in [*setup, *flits, *[{}] * 8]]
    seen = trace(SwitchCore(spec=PAIR), inputs, ["active", "phase", "queued", "unicasts"])
    assert seen[len(setup) :] == [
        *[(0, 0, 0, 0)] * 3,
        *[(0, 0, queued, unicasts)] * 5,
        # It starts with the cycle in which its phase is served, and two later it has left.
        *[(1, phase, queued, unicasts)] * 2,
        *[(1, phase, 0, 0)] * 2,
    ]


@pytest.mark.slow
def test_two_sources_of_unicasts_of_one_flit_to_one_destination_take_turns() -> None:
    found = arrivals(together((0, 0, 5), (1, 0, 5)))
    start = latency_cycles(CROWD) + ADDED
    # Two in a turn, as a path takes a cycle; behind the last a cycle more.
    order = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3), (0, 4)]
    assert found == [*((start + k, *one) for k, one in enumerate(order)), (start + 10, 1, 4)]


@pytest.mark.slow
def test_throughput_of_unicasts_of_one_flit_is_full_while_another_source_comes() -> None:
    found = arrivals(together((0, 0, 10), (1, 9, 2)))
    start = latency_cycles(CROWD) + ADDED
    assert [cycle for cycle, *_ in found] == list(range(start, start + 12))
    assert [source for _, source, _ in found] == [0] * 7 + [1, 1] + [0] * 3
    assert [data for _, source, data in found if source == 0] == list(range(10))


def test_reset_forgets_all_packets_and_phases() -> None:
    assert run([*packet(0), {"rst": 1}, *packet(0)]) == ([], [])


@pytest.mark.slow
def test_two_sources_of_unicasts_behind_one_port_need_no_numbers_in_the_switch() -> None:
    # As behind another switch: numbers are those of each source, and only it knows them.
    fields = {"phase": 0, "unicast": 1, "destination": address_of(1)}
    sent = [packet(k, source=100 + k % 2, sequence=77 * k, **fields) for k in range(3)]
    cycles, data = run([one for own in sent for one in own])
    assert data == [1, 2, 3, 4] * 3
    assert cycles == list(range(cycles[0], cycles[0] + 12))


@pytest.mark.slow
def test_a_control_message_that_is_lost_is_counted_at_its_port() -> None:
    # Asks of many unicasts come at port 0 and go by port 1, whose link takes nothing.
    codec, asks = FlitCodec(PAIR), 2 * QUEUED
    cycles: list[dict[str, int]] = [{}] * 10
    for number in range(asks):
        ends = {"destination": address_of(1), "source": 100 + number}
        ask = codec.pack(0, kind=Kind.ASK, circuit=CONTROL, unicast=1, **ends)
        cycles += [*on_port(0, [ask]), {}, {}]
    inputs = [ROUTES_OF_PAIR | one for one in [*cycles, *[{}] * 20]]
    dropped = trace(SwitchCore(spec=PAIR), inputs, ["counts.dropped"])
    # One is in the register that offers it.
    assert [ports for ports in dropped if ports] == [0b10] * (asks - QUEUED - 1)


COUNTED = (*COUNTERS, *PORT_COUNTERS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pause", "behind", "counts"),
    [
        # The second packet is under way when the urgent one comes, which is behind it; then the
        # third one has to be waited for.
        (0, 1, {"phase_starts": 3, "preemptions": 1, "reconfiguration_cycles": 1}),
        # Nothing is under way, and nothing moves, when the urgent one comes.
        (20, 0, {"phase_starts": 2, "preemptions": 0, "reconfiguration_cycles": 1}),
    ],
)
def test_counters_say_how_many_there_were_at_each_port(
    pause: int, behind: int, counts: dict[str, int]
) -> None:
    """Phases start and give way; then a packet that went is asked for, and one comes once more."""
    setup: list[dict[str, int]] = [{}] * 10
    for number, circuit in ((1, 0), (2, 2)):
        write = {"table.write": 1, "table.number": number, "table.entry": entry(circuit)}
        setup += [write] * 12 + [{}] * 5
    less = [one for k in range(2 + behind) for one in packet(k, phase=2, circuit=2)]
    urgent = packet(0, phase=1, circuit=0)
    nack = FlitCodec(PAIR).pack(kind=Kind.NACK, circuit=CONTROL, phase=2, sequence=1)
    cycles = [*less[: 2 * FLITS], *[{}] * pause, *urgent, *less[2 * FLITS :], *[{}] * 60]
    cycles += [*on_port(1, [nack]), *[{}] * 20, *urgent, *[{}] * 20]
    inputs = [{"o[1].ready": 1} | ROUTES_OF_PAIR | cycle for cycle in [*setup, *cycles]]
    seen = trace(SwitchCore(spec=PAIR), inputs, [f"counts.{name}" for name in COUNTED])
    found: dict[str, Any] = {}
    for name, words in zip(COUNTED, zip(*seen, strict=True), strict=True):
        ports = range(PAIR.ports if name in PORT_COUNTERS else 1)
        high = [sum(word >> port & 1 for word in words) for port in ports]
        found[name] = high if name in PORT_COUNTERS else high[0]
    assert found == {
        "cycles": len(inputs),
        **counts,
        "flits_in": [(3 + behind) * FLITS, 0],
        "flits_out": [0, (3 + behind) * FLITS],
        "dropped": [FLITS, 0],
        "rewinds": [1, 0],
    }


@pytest.mark.parametrize("names", ["COUNTERS", "PORT_COUNTERS", "PORT_CAUSES"])
def test_what_the_map_has_and_the_core_not_is_not_built(
    names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (core, events):
        monkeypatch.setattr(module, names, [*getattr(module, names), "new"])
    with pytest.raises(AssertionError, match=r"^{'new'}$"):
        SwitchCore(spec=PAIR).build(Module())
