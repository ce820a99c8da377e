"""Tests of fred_hw.endpoint.endpoint: cycle by cycle, flit by flit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.protocol import CONTROL, HEADER_BITS, KINDS, ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Flit, FlitCodec
from tests.fred_hw.endpoint.simulated import greet, simulation
from tests.fred_hw.simulation import trace

DATA, ACK, NACK, CREDIT, SYNC, ASK, HANDSHAKE = range(len(KINDS))
MP, PP, DP = range(3)
SPEC = SwitchSpec(
    ports=4,
    lanes=2,
    protocol=ProtocolSpec(
        phases=6,
        packet_flits=4,
        buffer_packets=3,
        round_trip_cycles=8,
        ack_interval=3,
        window_packets=8,
        timeout_cycles=300,
        nack_timeout_cycles=40,
        packet_timeout_cycles=12,
    ),
)
CODEC = FlitCodec(SPEC)
LIMITS, NUMBERS = (1 << SPEC.protocol.fields[name] for name in ("link_sequence", "sequence"))
PHASES = (1, 4, SPEC.protocol.online)
PEERS = (0, 0, 2)
ADDRESS = 100
COMES = {"phase": 1}, {"phase": 4}, {"unicast": 1, "destination": ADDRESS, "source": 2}
"""What headers say of the flow of each circuit."""

STROBES = ("rewinds", "receive_came", "refused", "dropped", "unknown")
STROBES += ("kind_error", "length_error", "overflow")

Fields = dict[str, int]


@dataclass
class Run:
    """What to do to an endpoint, and what it does.

    ``flits`` come from the link, each in the cycle that is its key; ``packets`` go in per circuit
    from ``start`` on; from the cycles of ``phases`` on those are the flows. ``sent`` are cycle and
    fields of flits to the link, ``received`` cycle, circuit, payload and end of flits given.
    ``watch`` maps names of strobes to cycles; ``state`` has ``idle`` and ``up`` of each cycle.
    """

    cycles: int
    flits: dict[int, Flit] = field(default_factory=dict)
    packets: dict[int, list[list[int]]] = field(default_factory=dict)
    start: dict[int, int] = field(default_factory=dict)
    clear: int = -1
    phases: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ready: Callable[[int], bool] = lambda cycle: True
    takes: Callable[[int], bool] = lambda cycle: True
    offers: Callable[[int], bool] = lambda cycle: True
    react: Callable[[int, Fields], Sequence[tuple[int, Flit]]] | None = None
    taken: list[int] = field(default_factory=list)
    sent: list[tuple[int, Fields]] = field(default_factory=list)
    received: list[tuple[int, int, int, int]] = field(default_factory=list)
    watch: dict[str, list[int]] = field(default_factory=dict)
    state: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Of each circuit the flits that go in, each with whether it is its packet's last.
        self.queues = [
            [(flit, k == len(packet) - 1) for packet in packets for k, flit in enumerate(packet)]
            for packets in (self.packets.get(circuit, []) for circuit in range(3))
        ]

    def of(self, *kinds: int) -> list[Fields]:
        return [fields for _, fields in self.sent if fields["kind"] in kinds]


def run(**options: Any) -> Run:
    """Carry out a run in Amaranth's simulator, from the state after power-up."""
    one = Run(**options)
    dut, simulator, what = simulation(SPEC)

    async def bench(ctx: Any) -> None:
        await greet(ctx, dut)
        assert ctx.get(dut.up)
        for cycle in range(one.cycles):
            drive(ctx, dut, one, cycle)
            look(ctx, dut, one, cycle)
            await ctx.tick()

    if what:
        simulator.reset()
    what["bench"] = bench
    simulator.run()
    return one


def drive(ctx: Any, dut: Any, one: Run, cycle: int) -> None:
    """Set the inputs of a cycle."""
    ctx.set(dut.address, ADDRESS)
    if cycle in {0, *one.phases}:
        for k, phase in enumerate(one.phases.get(cycle, PHASES)):
            for side in ("send", "receive"):
                ctx.set(getattr(dut, f"{side}_flow")[k], {"phase": phase, "peer": PEERS[k]})
    flit = one.flits.get(cycle)
    ctx.set(dut.s_axis_tvalid, flit is not None)
    if flit is not None:
        ctx.set(dut.s_axis_tdata, flit.data)
        ctx.set(dut.s_axis_tuser, flit.user)
    ctx.set(dut.m_axis_tready, one.ready(cycle))
    for name in ("send_clear", "receive_clear"):
        ctx.set(getattr(dut, name), 7 if cycle == one.clear else 0)
    for k, queue in enumerate(one.queues):
        here = bool(queue) and cycle >= one.start.get(k, 0) and one.offers(cycle)
        ctx.set(dut.send[k].valid, here)
        if here:
            ctx.set(dut.send[k].data, queue[0][0])
            ctx.set(dut.send[k].last, queue[0][1])
        ctx.set(dut.receive[k].ready, one.takes(cycle))


def look(ctx: Any, dut: Any, one: Run, cycle: int) -> None:
    """Write down what happens in a cycle."""
    for k, queue in enumerate(one.queues):
        if ctx.get(dut.send[k].valid & dut.send[k].ready):
            queue.pop(0)
            one.taken.append(cycle)
        if ctx.get((end := dut.receive[k]).valid & end.ready):
            one.received.append((cycle, k, ctx.get(end.data), ctx.get(end.last)))
    if ctx.get(dut.m_axis_tvalid & dut.m_axis_tready):
        user = ctx.get(dut.m_axis_tuser)
        flit = Flit(
            user & ((1 << HEADER_BITS) - 1),
            ctx.get(dut.m_axis_tdata),
            user >> HEADER_BITS,
            bool(ctx.get(dut.m_axis_tlast)),
        )
        fields = CODEC.unpack(flit)
        assert flit == CODEC.pack(flit.data, **fields)
        one.sent.append((cycle, {**fields, "data": flit.data}))
        if one.react is not None:
            one.flits.update(dict(one.react(cycle, fields)))
    one.state.append((ctx.get(dut.idle), ctx.get(dut.up)))
    for name in STROBES:
        if ctx.get(getattr(dut, name)):
            one.watch.setdefault(name, []).append(cycle)


def data(number: int, *payload: int, circuit: int = MP, first: int | None = None) -> list[Flit]:
    """Return the flits of a packet to the endpoint, by default with the next link sequence."""
    first = number * len(payload) if first is None else first
    return [
        CODEC.pack(
            word,
            kind=DATA,
            circuit=circuit,
            **COMES[circuit],
            sequence=number,
            index=k,
            last=len(payload) - 1,
            link_sequence=first % LIMITS,
        )
        for k, word in enumerate(payload)
    ]


def message(kind: int, number: int = 0, circuit: int = MP) -> Flit:
    return CODEC.pack(kind=kind, circuit=CONTROL, **COMES[circuit], sequence=number)


def credit(circuit: int, limit: int) -> Flit:
    return CODEC.pack(
        kind=CREDIT, circuit=CONTROL, credit_circuit=circuit, credit_limit=limit % LIMITS
    )


def at(first: int, flits: Sequence[Flit]) -> dict[int, Flit]:
    return dict(enumerate(flits, start=first))


def begun(one: Run) -> list[tuple[int, int]]:
    """Return circuit and number of the packets sent, one after the other."""
    return [(f["circuit"], f["sequence"]) for f in one.of(DATA) if f["index"] == 0]


@pytest.mark.slow
def test_latency_from_the_last_flit_of_a_packet_to_the_link_is_five_cycles() -> None:
    one = run(cycles=20, packets={MP: [[5, 6, 7]]}, start={MP: 2})
    assert one.taken == [2, 3, 4]
    assert [cycle for cycle, _ in one.sent] == [9, 10, 11]
    assert [fields["data"] for fields in one.of(DATA)] == [5, 6, 7]
    fixed = {"circuit": MP, "phase": 1, "sequence": 0, "last": 2, "link_sequence": 0}
    for index, fields in enumerate(one.of(DATA)):
        assert fields.items() >= (fixed | {"index": index, "credit_circuit": CONTROL}).items()


@pytest.mark.slow
def test_latency_from_the_link_to_a_flit_given_is_two_cycles() -> None:
    one = run(cycles=10, flits=at(2, data(0, 8, 9, circuit=DP)))
    assert one.received == [(4, DP, 8, 0), (5, DP, 9, 1)]


def test_throughput_is_a_flit_per_cycle_in_each_direction_at_once() -> None:
    came = [flit for number in range(2) for flit in data(number, 1, 2, 3, 4, circuit=PP)]
    one = run(cycles=30, packets={MP: [[5, 6, 7, 8]] * 3}, start={MP: 2}, flits=at(4, came))
    assert one.taken == list(range(2, 14))
    assert [cycle for cycle, f in one.sent if f["kind"] == DATA] == list(range(10, 22))
    assert [cycle for cycle, *_ in one.received] == list(range(6, 14))


def test_reset_forgets_packets_numbers_link_sequences_and_the_neighbour() -> None:
    came = [
        CODEC.handshake(session_id=9, peer_known=1, up=1),
        *[None] * 6,
        credit(MP, SPEC.protocol.buffer_flits),
    ]
    packet = {"send[0].valid": 1, "send[0].last": 1}
    once = [
        {} if flit is None else {"s_axis_tvalid": 1, "s_axis_tuser": flit.user} for flit in came
    ]
    once += [{}, {}, packet, *[{}] * 6]
    rest = {"m_axis_tready": 1, "send_flow[0].phase": 1}
    inputs = [rest | one for one in [*once, packet, {"rst": 1}, *once]]
    seen = trace(Endpoint(spec=SPEC), inputs, ["m_axis_tvalid", "m_axis_tuser", "up"])
    seen = [(valid, valid and user, up) for valid, user, up in seen]
    assert seen[len(once) + 2 :] == seen[: len(once)]
    said = [CODEC.unpack(Flit(user, 0, 0)) for valid, user, _ in seen[: len(once)] if valid]
    kinds = [fields["kind"] for fields in said]
    assert kinds == [HANDSHAKE, HANDSHAKE, *[CREDIT] * 3, DATA]


def test_packets_without_last_end_at_the_largest_size() -> None:
    one = run(cycles=30, packets={PP: [list(range(6))]})
    assert [(f["index"], f["last"]) for f in one.of(DATA)] == [
        *((k, 3) for k in range(4)),
        (0, 1),
        (1, 1),
    ]


def test_urgent_circuit_goes_first_but_cuts_no_packet() -> None:
    packets = {k: [[10 * k + n] * 4 for n in range(3)] for k in range(3)}
    one = run(cycles=80, packets=packets, start={DP: 0, PP: 0, MP: 6})
    assert begun(one)[:3] == [(PP, 0), (PP, 1), (MP, 0)]
    assert begun(one)[3:] == [(MP, 1), (MP, 2), (PP, 2), (DP, 0), (DP, 1), (DP, 2)]
    indices = [f["index"] for f in one.of(DATA)]
    assert indices == [0, 1, 2, 3] * 9
    cycles = [cycle for cycle, f in one.sent if f["kind"] == DATA]
    assert cycles == list(range(cycles[0], cycles[0] + 36))


def test_no_more_packets_than_credits() -> None:
    packets = {MP: [[n] * 4 for n in range(6)]}
    one = run(cycles=100, packets=packets, flits={50: credit(MP, 15), 60: credit(MP, 16)})
    assert [f["link_sequence"] for f in one.of(DATA)] == [4 * (k // 4) for k in range(16)]
    fourth = [cycle for cycle, f in one.sent if f["kind"] == DATA][12]
    assert 60 < fourth <= 70


def test_missing_credits_are_asked_for_with_the_next_link_sequence() -> None:
    # All are acknowledged, so that nothing is sent again.
    one = run(cycles=400, packets={PP: [[1], [2]]}, flits={30: message(ACK, 2, PP)})
    assert [(f["circuit"], f["link_sequence"]) for f in one.of(SYNC)] == [(PP, 2)]
    cycle = next(cycle for cycle, f in one.sent if f["kind"] == SYNC)
    assert 300 < cycle < 330


@pytest.mark.slow
def test_busy_circuits_make_way_for_the_question_of_a_blocked_one() -> None:
    limit = {"next": 12}

    def tell(cycle: int, fields: Fields) -> list[tuple[int, Flit]]:
        # The neighbour frees the space of PP at once, and acknowledges it; MP is forgotten.
        if fields["kind"] == DATA and fields["circuit"] == PP and fields["index"] == 3:
            limit["next"] += 4
            return [
                (cycle + 1, credit(PP, limit["next"])),
                (cycle + 2, message(ACK, (fields["sequence"] + 1) % NUMBERS, PP)),
            ]
        return []

    one = run(
        cycles=700,
        packets={MP: [[1] * 4] * 3, PP: [[n] * 4 for n in range(200)]},
        flits={40: message(ACK, 3, MP)},
        react=tell,
    )
    syncs = [cycle for cycle, f in one.sent if f["kind"] == SYNC and f["circuit"] == MP]
    assert len(syncs) == 2
    # It costs the others little.
    assert sum(cycle > 20 for cycle, f in one.sent if f["kind"] == DATA) > 0.85 * 680


def test_sync_is_answered_even_if_nothing_changed() -> None:
    sync = CODEC.pack(kind=SYNC, circuit=DP, link_sequence=0)
    one = run(cycles=20, flits={3: sync})
    assert [(f["credit_circuit"], f["credit_limit"]) for f in one.of(CREDIT)] == [(DP, 12)]


def test_space_is_told_when_it_is_there() -> None:
    packets = [flit for n in range(3) for flit in data(n, n, n, n, n)]
    one = run(cycles=60, flits=at(0, packets), takes=lambda cycle: cycle >= 30)
    limits = [(cycle, f["credit_limit"]) for cycle, f in one.sent if f["credit_circuit"] == MP]
    # Three packets fill the space; then a flit is taken in a cycle, and what is told is of then.
    assert [limit for _, limit in limits] == [k % LIMITS for k in range(14, 25)]
    assert all(cycle > 30 for cycle, _ in limits)


def test_acks_come_after_an_interval_and_when_it_is_quiet() -> None:
    flits = [flit for n in range(3) for flit in data(n, n)] + data(3, 3)
    one = run(cycles=60, flits=at(0, flits))
    acks = [(cycle, f["sequence"]) for cycle, f in one.sent if f["kind"] == ACK]
    assert [number for _, number in acks] == [3, 4]
    assert acks[0][0] < 8
    assert acks[1][0] >= 3 + SPEC.protocol.quiet_cycles


def test_packets_that_came_before_are_acknowledged_again() -> None:
    first = data(0, 4)
    one = run(cycles=80, flits={0: first[0], 40: data(0, 4, first=1)[0]})
    assert [f["sequence"] for f in one.of(ACK)] == [1, 1]
    assert len(one.received) == 1


def test_nack_for_the_first_packet_that_is_ahead_and_again_later() -> None:
    flits = {2 * n: data(n, n)[0] for n in range(1, 8)} | {20: data(2, 2, first=8)[0]}
    one = run(cycles=60, flits=flits)
    nacks = [(cycle, f["sequence"], f["phase"]) for cycle, f in one.sent if f["kind"] == NACK]
    assert [nack[1:] for nack in nacks] == [(0, 1), (0, 1)]
    assert nacks[1][0] - nacks[0][0] >= SPEC.protocol.packet_timeout_cycles
    assert not one.received


def test_lost_flit_is_noticed_at_the_next_one_of_the_packet() -> None:
    packet = data(0, 1, 2, 3, 4)
    one = run(cycles=40, flits={0: packet[0], 2: packet[2], 3: packet[3], 20: packet[0]})
    nacks = [cycle for cycle, f in one.sent if f["kind"] == NACK]
    assert len(nacks) == 1
    assert nacks[0] <= 7


def test_what_came_of_a_packet_before_is_passed_over() -> None:
    again = data(0, 1, 2, 3, 4, first=4)
    one = run(cycles=40, flits={**at(0, data(0, 1, 2, 3, 4)[:2]), **at(20, again)})
    assert [word[2:] for word in one.received] == [(1, 0), (2, 0), (3, 0), (4, 1)]


def test_damaged_flit_is_dropped() -> None:
    flit = data(0, 1)[0]
    broken = Flit(flit.header, flit.data, flit.crc ^ 1)
    stomped = Flit(flit.header, flit.data, flit.crc ^ 0xFFFFFFFF)
    one = run(cycles=30, flits={0: broken, 1: stomped, 5: message(ASK)})
    assert not one.received
    assert one.watch["dropped"] == [1, 2]
    assert [f["sequence"] for f in one.of(ACK, NACK)] == [0]


@pytest.mark.parametrize("circuit", [MP, DP])
def test_ask_is_answered_by_ack_and_once_idle_by_nack_too(circuit: int) -> None:
    idle = SPEC.protocol.nack_timeout_cycles
    soon, late = 5, idle + 20
    flits = at(0, data(0, 1, circuit=circuit))
    flits |= {cycle: message(ASK, circuit=circuit) for cycle in (soon, late)}
    one = run(cycles=late + 30, flits=flits)
    answers = one.of(ACK, NACK)
    assert [(f["kind"], f["sequence"]) for f in answers] == [(ACK, 1), (ACK, 1), (NACK, 1)]
    back = {"source": ADDRESS, "destination": 2} if circuit == DP else {}
    assert all(fields.items() >= (COMES[circuit] | back).items() for fields in answers)


def test_what_is_for_another_address_is_neither_taken_nor_answered() -> None:
    ends = COMES[DP] | {"destination": ADDRESS + 1}
    said = [{"kind": DATA, "circuit": DP}, {"kind": ASK, "circuit": CONTROL}]
    said += [{"kind": ACK, "circuit": CONTROL, "sequence": 1}]
    one = run(cycles=80, packets={DP: [[7]]}, flits=at(30, [CODEC.pack(**ends | f) for f in said]))
    said = one.of(DATA, ACK, NACK)
    sent = [(f["kind"], f["unicast"], f["destination"], f["source"]) for f in said]
    assert sent == [(DATA, 1, 2, ADDRESS)]
    assert not one.received and "unknown" not in one.watch


def test_nack_sends_packets_again_with_new_link_sequences() -> None:
    one = run(
        cycles=120,
        packets={MP: [[n] for n in range(3)]},
        flits={30: message(NACK, 1), 31: credit(MP, 6)},
    )
    assert [(f["sequence"], f["link_sequence"]) for f in one.of(DATA)] == [
        (0, 0),
        (1, 1),
        (2, 2),
        (1, 3),
        (2, 4),
    ]
    assert one.watch["rewinds"] == [31]  # in the cycle behind the nack


def test_nack_for_another_packet_changes_nothing() -> None:
    flits = {30: message(NACK, 3), 31: message(NACK, 4), 32: message(NACK, 31)}
    one = run(cycles=120, packets={MP: [[n] for n in range(3)]}, flits=flits)
    assert len(one.of(DATA)) == 3
    assert "rewinds" not in one.watch


def test_without_acks_the_oldest_packet_is_sent_again() -> None:
    one = run(
        cycles=400,
        packets={MP: [[n] for n in range(3)]},
        flits={20: credit(MP, 12), 50: message(ACK, 1)},
    )
    cycles = [cycle for cycle, f in one.sent if f["kind"] == DATA]
    assert [f["sequence"] for f in one.of(DATA)] == [0, 1, 2, 1, 2]
    assert 350 < cycles[3] < 365


def test_window_ends_at_what_is_not_acknowledged() -> None:
    free = {20 + n: credit(MP, n + 12) for n in range(1, 9)}
    one = run(cycles=200, packets={MP: [[n] for n in range(12)]}, flits=free)
    assert [f["sequence"] for f in one.of(DATA)] == list(range(8))
    free[100] = message(ACK, 3)
    one = run(cycles=200, packets={MP: [[n] for n in range(12)]}, flits=free)
    assert [f["sequence"] for f in one.of(DATA)] == list(range(11))


def test_clear_starts_the_numbers_at_0() -> None:
    flits = {0: data(0, 1)[0], 20: message(ACK, 1), 40: data(0, 2, first=1)[0]}
    one = run(cycles=90, packets={MP: [[3]]}, flits=flits, clear=30)
    assert [word[2] for word in one.received] == [1, 2]
    assert [f["sequence"] for f in one.of(ACK)] == [1, 1]
    again = run(cycles=90, packets={MP: [[3], [4]]}, flits={20: message(ACK, 2)}, clear=30)
    assert [f["sequence"] for f in again.of(DATA)] == [0, 1]


def test_flow_that_no_receiver_has_is_reported() -> None:
    fields = {"kind": DATA, "circuit": MP, "phase": 3}
    one = run(cycles=20, flits={2: CODEC.pack(7, **fields)})
    assert one.watch["unknown"] == [4]
    assert not one.received and not one.of(ACK, NACK)
    online = {"kind": DATA, "circuit": DP, **COMES[DP], "source": 1}
    assert run(cycles=20, flits={2: CODEC.pack(7, **online)}).watch["unknown"] == [4]


def test_offered_flits_stay_until_they_are_taken() -> None:
    one = run(
        cycles=200,
        packets={MP: [[n] * 4 for n in range(3)]},
        flits=at(5, data(0, 1)) | {9: message(ASK)},
        ready=lambda cycle: cycle % 3 == 0,
    )
    assert [f["data"] for f in one.of(DATA)] == [n for n in range(3) for _ in range(4)]
    assert {f["sequence"] for f in one.of(ACK, NACK)} == {1}


OTHER = (2, 3, 5)


def test_flow_goes_on_with_the_number_that_it_had_come_to() -> None:
    flits = {10: data(0, 7)[0], 20: message(ACK, 1), 90: data(1, 8, first=1)[0]}
    one = run(
        cycles=160,
        packets={MP: [[1], [2]]},
        start={MP: 0},
        flits=flits,
        phases={30: OTHER, 80: PHASES},
        offers=lambda cycle: cycle < 2 or cycle > 85,
    )
    assert [f["sequence"] for f in one.of(DATA)] == [0, 1]
    assert [word[2] for word in one.received] == [7, 8]
    assert [f["sequence"] for f in one.of(ACK)] == [1, 2]


def test_ack_that_waits_is_sent_when_the_flow_changes() -> None:
    one = run(cycles=30, flits={2: data(0, 7)[0]}, phases={6: OTHER})
    acks = [(cycle, f["phase"], f["sequence"]) for cycle, f in one.sent if f["kind"] == ACK]
    assert [ack[1:] for ack in acks] == [(1, 1)]
    assert acks[0][0] <= 9


def test_flow_that_had_its_turn_is_answered() -> None:
    flits = {2: data(0, 7)[0], 30: message(ASK), 40: data(0, 7, first=1)[0]}
    one = run(cycles=60, flits=flits, phases={20: OTHER})
    said = [(f["kind"], f["phase"], f["sequence"]) for f in one.of(ACK, NACK)]
    # When it was quiet, to the ask, and to the packet that came again.
    assert said == [(ACK, 1, 1), (ACK, 1, 1), (NACK, 1, 1), (ACK, 1, 1)]
    assert "unknown" not in one.watch
    assert len(one.received) == 1
