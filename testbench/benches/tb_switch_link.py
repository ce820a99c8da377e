"""cocotb tests of the switch's links: faults, credits, sequence numbers."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import cocotb

from fred_hw.compiler.flows import Flow
from fred_hw.protocol import CONTROL, CRC_BITS, KINDS
from testbench.agents.line import Fault, FaultyLink, Line, link_faults
from testbench.agents.switch import SwitchBench
from testbench.models.endpoint import Flit

from .tb_switch import (
    LATENCY,
    PACKETS,
    PORTS,
    PROTOCOL,
    SPEC,
    contest,
    everyone,
    phase_of,
    runs_of,
    scenario,
    several,
    started,
)
from .tb_switch_registers import expect_error

BURST = 11 + 20  # a burst of acks, and the time in which two are answered
test, stuck_test = scenario(), scenario(PROTOCOL.head_of_line_timeout_cycles <= 10_000)
acks_test = scenario(PROTOCOL.ack_interval > 2)
parts_test = scenario(PROTOCOL.packet_flits > 1)
preempted_test = scenario(PROTOCOL.packet_flits > 1 and PROTOCOL.phases >= 2)
DATA, ACK, NACK, ASK = (KINDS.index(name) for name in ("data", "ack", "nack", "ask"))
FAULTS = link_faults(SPEC.data_width)
FaultKind: Any = Enum("FaultKind", {name: name for name in FAULTS})
Direction: Any = Enum("Direction", {"to_switch": "to_switch", "from_switch": "from_switch"})


def line_of(bench: SwitchBench, port: int, direction: Any) -> Line:
    return getattr(bench.ports[port], direction.value)


@test
@cocotb.parametrize(direction=list(Direction), kind=list(FaultKind))
async def flow_goes_on_after_one_fault(dut: Any, direction: Any, kind: Any) -> None:
    phase = everyone()
    bench, rng = await started(dut, 0.0, [phase])
    act = FAULTS[kind.value]
    wrong = spare = 0  # flits changed on the way, and flits that nobody sent
    for _ in range(3):
        port = rng.randrange(PORTS)
        suffered: list[tuple[Flit, Sequence[Flit]]] = []

        def suffer(flit: Flit, suffered: Any = suffered) -> Sequence[Flit]:
            suffered.append((flit, act(rng, flit)))
            return suffered[-1][1]

        fault = Fault(
            bench.codec,
            lambda fields: fields["kind"] == DATA,
            suffer,
            rng.randrange(PROTOCOL.packet_flits * PACKETS // 2),
        )
        before = [one.endpoint.counts["resent"] for one in bench.ports]
        line_of(bench, port, direction).change = fault
        bench.play(runs_of(rng, phase, PACKETS, PROTOCOL.packet_flits))
        await bench.drain()
        ((sent, came),) = suffered
        resent = [
            one.endpoint.counts["resent"] - old
            for one, old in zip(bench.ports, before, strict=True)
        ]
        assert any(resent) == (sent not in came), resent
        wrong += sum(one != sent for one in came)
        spare += len(came) - (sent in came)
    dropped = [await bench.access.read("DROPPED", k) for k in range(PORTS)]
    refused = sum(one.endpoint.counts["refused"] for one in bench.ports)
    if direction.value == "to_switch":
        assert sum(dropped) >= spare
    else:
        assert refused == wrong
    await bench.finish_clean()


@test
@cocotb.parametrize(direction=list(Direction))
async def flow_goes_on_after_a_lost_ack(dut: Any, direction: Any) -> None:
    phase = everyone()
    bench, rng = await started(dut, 0.0, [phase])
    for _ in range(2):
        port = rng.randrange(PORTS)
        fault = Fault(bench.codec, lambda fields: fields["kind"] == ACK, lambda _: ())
        line_of(bench, port, direction).change = fault
        bench.play(runs_of(rng, phase, PACKETS))
        await bench.drain()
        assert fault.done
    await bench.finish_clean()


@parts_test
async def broken_packet_is_stomped_and_retransmitted(dut: Any) -> None:
    phase = everyone()
    most = PROTOCOL.packet_flits
    bench, rng = await started(dut, 0.0, [phase])
    for broken in range(1, most):
        place = rng.randrange(PORTS)
        silent = [0]

        def cut(flit: Flit, port: int = place, place: int = broken, silent: Any = silent) -> Any:
            """Lose all from a flit of the first packet on, for longer than is waited for."""
            fields = bench.codec.unpack(flit)
            if not silent[0] and fields["kind"] == DATA and fields["index"] == place:
                silent[0] = bench.cycle
            lost = silent[0] and bench.cycle < silent[0] + 2 * PROTOCOL.packet_timeout_cycles
            return () if lost else (flit,)

        for watch in bench.outputs:
            watch.beats.clear()
        bench.ports[place].to_switch.change = cut
        bench.play(runs_of(rng, phase, 2, most))
        await bench.drain()
        bench.ports[place].to_switch.change = None
        for watch in bench.outputs:
            bad = [beat.flit for beat in watch.beats if not bench.codec.is_good(beat.flit)]
            assert len(bad) == 1, f"{watch.prefix}: {len(bad)} flits with a wrong CRC"
            right = bench.codec.crc(bad[0].header, bad[0].data)
            assert bad[0].crc == right ^ ((1 << CRC_BITS) - 1)
            fields = bench.codec.unpack(bad[0])
            assert (fields["kind"], fields["index"], bad[0].last) == (DATA, broken, True)
    await bench.finish_clean()


@test
@cocotb.parametrize(share=[0.002, 0.02], delay=[0, 3])
async def flows_go_on_on_faulty_links(dut: Any, share: float, delay: int) -> None:
    bench = SwitchBench(dut, SPEC, 0.1, delay)
    table = several(bench.rng)
    await bench.start(table)
    rng = bench.rng
    change = FaultyLink(rng, SPEC.data_width, share)
    for port in bench.ports:
        port.to_switch.change = port.from_switch.change = change
    # By chance the first few flits of a small switch may all be left intact.
    for _ in range(100):
        for _ in range(PACKETS):
            bench.play(runs_of(rng, rng.choice(table), PACKETS))
            bench.unicast(rng.randrange(PORTS), rng.randrange(PORTS), 2)
        await bench.drain()
        if change.count:
            break
    assert change.count
    # While a source waits for its timeout, packets of others may exceed theirs.
    assert set((await bench.access.errors()).raised) <= {"stuck"}
    bench.finish()


@test
async def numbers_wrap(dut: Any) -> None:
    phase = everyone(circuit=1)
    bench, rng = await started(dut, 0.0, [phase])
    count = (1 << PROTOCOL.fields["sequence"]) + PROTOCOL.window_packets
    bench.play(runs_of(rng, phase, count, 1))
    await bench.drain()
    sequences = [bench.codec.unpack(beat.flit)["sequence"] for beat in bench.data(bench.outputs[0])]
    assert len(sequences) == count
    assert sequences.count(0) == 2
    assert not any(one.endpoint.counts["resent"] for one in bench.ports)
    bench.finish()


@test
async def flit_beyond_the_credits_is_reported(dut: Any) -> None:
    phase, most = phase_of(0, 0, Flow((0, 1), (0,))), PROTOCOL.packet_flits
    bench, rng = await started(dut, 0.0, [phase])
    space = PROTOCOL.buffer_packets
    runs = runs_of(rng, phase, space, most)
    bench.offer(runs, [0])
    await bench.cycles(space * most + 10)
    about = {"circuit": 0, "phase": 0, "sequence": space, "last": most - 1}
    rogue = bench.codec.pack(7, **about, link_sequence=space * most)
    bench.ports[0].to_switch.put(rogue)
    await bench.cycles(10)
    bench.offer(runs, [1])
    bench.expect(runs)
    await bench.drain()
    await expect_error(bench, "overflow", 0)
    bench.play(runs_of(rng, phase, space))
    await bench.finish_clean()


@test
async def short_packets_share_the_space_flit_by_flit(dut: Any) -> None:
    phase = phase_of(0, 0, Flow((0, 1), (0,)))
    bench, rng = await started(dut, 0.0, [phase])
    # As long as a largest packet still fits, packets may be sent.
    fit = PROTOCOL.buffer_flits - PROTOCOL.packet_flits + 1
    count = min(fit, PROTOCOL.window_packets)
    runs = runs_of(rng, phase, PROTOCOL.window_packets, 1)
    bench.offer(runs, [0])
    await bench.cycles(2 * PROTOCOL.window_packets + 10)
    assert len(bench.data(bench.inputs[0])) == count
    # The same for the receiver's buffer.
    bench.ports[0].endpoint.keeps_space = True
    bench.offer(runs, [1])
    bench.expect(runs)
    await bench.cycles(2 * PROTOCOL.window_packets + LATENCY + 10)
    assert len(bench.data(bench.outputs[0])) == count
    bench.ports[0].endpoint.keeps_space = False
    bench.ports[0].endpoint.free()
    await bench.finish_clean()


@acks_test
async def acks_in_a_burst_are_all_heeded(dut: Any) -> None:
    phase = phase_of(0, 0, Flow((0,), (1,)))
    bench, rng = await started(dut, 0.0, [phase])
    await bench.access.clear_counters()
    bench.play(runs_of(rng, phase, 2, 1))
    while len(bench.data(bench.outputs[1])) < 2:
        await bench.cycles(1)
    said = {"kind": ACK, "circuit": CONTROL, "phase": 0}
    for number in [1] * 10 + [2]:
        bench.ports[1].to_switch.put(bench.codec.pack(**said, sequence=number))
    begin = bench.cycle
    await bench.cycles(BURST)
    # The last ack is not lost, and waits for few of the others.
    fields = [bench.codec.unpack(one.flit) for one in bench.outputs[0].beats if one.cycle > begin]
    assert [one["sequence"] for one in fields if one["kind"] == ACK][-1:] == [2]
    await bench.drain()
    assert not any((await bench.access.counters())["dropped"])
    bench.finish()


@test
async def nacks_and_requests_at_any_time_do_no_harm(dut: Any) -> None:
    """Send unasked messages while others are served, so that they come in each state."""
    phase = everyone()
    bench, rng = await started(dut, 0.0, [phase])
    bench.play(runs_of(rng, phase, PACKETS))
    said = {"circuit": CONTROL, "phase": 0, "sequence": 0}
    for _ in range(200):
        port = bench.ports[rng.randrange(PORTS)]
        port.to_switch.put(bench.codec.pack(kind=rng.choice((NACK, NACK, ASK)), **said))
        await bench.cycles(rng.randint(1, 4))
    await bench.drain()
    bench.finish()


@preempted_test
async def retransmissions_while_phases_preempt_each_other(dut: Any) -> None:
    """Ask for the packet that comes out, in each cycle before a preemption."""
    patient, urgent = contest()
    bench, rng = await started(dut, 0.0, [patient, urgent])
    most = PROTOCOL.packet_flits
    said = {"kind": NACK, "circuit": CONTROL, "phase": patient.number}
    for wait in range(LATENCY):
        seen = len(bench.data(bench.outputs[0]))
        bench.play(runs_of(rng, patient, 3 + 2 * LATENCY // most, most))
        while len(bench.data(bench.outputs[0])) == seen:
            await bench.cycles(1)
        fields = bench.codec.unpack(bench.data(bench.outputs[0])[seen].flit)
        bench.ports[0].to_switch.put(bench.codec.pack(**said, sequence=fields["sequence"]))
        await bench.cycles(wait)
        bench.play(runs_of(rng, urgent, 1, most))
        await bench.drain()
    assert await bench.access.read("PREEMPTIONS") > 0
    assert sum((await bench.access.counters())["rewinds"]) > 0
    bench.finish()


@stuck_test
async def packet_that_waits_too_long_is_given_up_and_reported(dut: Any) -> None:
    phase, most = phase_of(0, 0, Flow((0, 1), (0,))), PROTOCOL.packet_flits
    bench, rng = await started(dut, 0.0, [phase])
    runs = runs_of(rng, phase, 2, most)
    bench.offer(runs, [1])
    await bench.cycles(PROTOCOL.head_of_line_timeout_cycles + 2 * LATENCY)
    bench.offer(runs, [0])
    bench.expect(runs)
    await bench.drain()
    await expect_error(bench, "stuck", 1)
    bench.play(runs_of(rng, phase, 2))
    await bench.finish_clean()
