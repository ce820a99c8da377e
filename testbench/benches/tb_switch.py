"""cocotb tests of the whole switch: collectives, priorities, phases."""

import os
import random
from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import Any

import cocotb

from fred_hw.compiler.collectives import COLLECTIVES, collective_steps
from fred_hw.compiler.flows import Flow
from fred_hw.datapath.network import network_latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.core import READ_CYCLES
from fred_hw.switch.ports.output_port import OutputPort
from testbench.agents import collectives
from testbench.agents.switch import SwitchBench
from testbench.stimulus.phases import Phase, phase_table

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
PROTOCOL = SPEC.protocol
PORTS = SPEC.ports
LATENCY = int(os.environ.get("FRED_LATENCY", "0"))
PACKETS = int(os.environ.get("FRED_PACKETS", "6"))
Kind: Any = Enum("Kind", {name: name for name in COLLECTIVES})  # names appear in the results


def scenario(there: bool = True) -> Any:
    """Return a decorator for tests that apply only if a switch has what they need."""
    return cocotb.test(timeout_time=20, timeout_unit="ms", skip=not there)


test = scenario()
one_phase_each = scenario(PROTOCOL.phases >= 2)
SEEN_CYCLES = 3  # cycles from a head flit until nothing less urgent starts
BEGUN = (
    OutputPort(spec=SPEC, latency=network_latency_cycles(SPEC) + READ_CYCLES).depth + 1
) // PROTOCOL.packet_flits
"""Number of largest packets that start although none can leave beyond the offered flit."""
waiting_test = scenario(PROTOCOL.phases >= 2 and PROTOCOL.buffer_packets > BEGUN)


phase_of = partial(collectives.phase_of, SPEC)
everyone = partial(collectives.all_reduce, SPEC)
runs_of = partial(collectives.runs_of, SPEC)


async def started(
    dut: Any, stall: float = 0.0, phases: Sequence[Phase] = ()
) -> tuple[SwitchBench, random.Random]:
    bench = SwitchBench(dut, SPEC, stall)
    await bench.start(phases)
    return bench, bench.rng


def several(rng: random.Random) -> list[Phase]:
    """Return phases on all virtual channels, one per channel and up to 8."""
    return phase_table(rng, SPEC, 8)[: PROTOCOL.phases]


@test
@cocotb.parametrize(kind=list(Kind))
async def collective_is_delivered_phase_by_phase(dut: Any, kind: Any) -> None:
    bench, rng = await started(dut, 0.2)
    members = rng.sample(range(PORTS), 2 if kind.value == "unicast" else PORTS)
    steps = collective_steps(kind.value, members)
    for first in range(0, len(steps), PROTOCOL.phases):
        phases = [
            phase_of(number, (first + number) % 3, *flows)
            for number, flows in enumerate(steps[first : first + PROTOCOL.phases])
        ]
        for phase in phases:
            await bench.write(phase)
        for phase in phases:
            bench.play(runs_of(rng, phase, 2))
        await bench.drain()
    await bench.finish_clean()


@test
@cocotb.parametrize(stall=[0.0, 0.3, 0.6])
async def flows_and_phases_run_at_once(dut: Any, stall: float) -> None:
    table = several(random.Random(cocotb.RANDOM_SEED))
    bench, rng = await started(dut, stall, table)
    assert max(len(phase.flows) for phase in table) >= min(2, PORTS // 2)
    for _ in range(2 * PACKETS):
        bench.play(runs_of(rng, rng.choice(table), rng.randint(1, PACKETS)))
    await bench.finish_clean()


@test
async def ports_may_start_at_any_time(dut: Any) -> None:
    table = several(random.Random(cocotb.RANDOM_SEED))
    bench, rng = await started(dut, 0.1, table)
    runs = [run for _ in range(PACKETS) for run in runs_of(rng, rng.choice(table), 2)]
    bench.expect(runs)
    ports = rng.sample(range(PORTS), PORTS)
    for port in ports:
        bench.offer(runs, [port])
        await bench.cycles(rng.randrange(PROTOCOL.timeout_cycles // 4))
    await bench.finish_clean()


def contest() -> tuple[Phase, Phase]:
    """Return a less urgent phase of all ports but the last, and an urgent one to port 0."""
    patient = phase_of(0, 2, Flow(tuple(range(PORTS - 1)), tuple(range(PORTS))))
    return patient, phase_of(1, 0, Flow((PORTS - 1,), (0,)))


@one_phase_each
async def urgent_packet_overtakes_at_every_flit_position(dut: Any) -> None:
    patient, urgent = contest()
    bench, rng = await started(dut, 0.0, [patient, urgent])
    most = PROTOCOL.packet_flits
    for wait in range(most + 2):
        before = len(bench.data(bench.outputs[0]))
        bench.play(runs_of(rng, patient, 3 + LATENCY // most, most))
        sent = len(bench.inputs[0].beats)
        while len(bench.inputs[0].beats) == sent:
            await bench.cycles(1)
        await bench.cycles(wait)
        bench.play(runs_of(rng, urgent, 1, most))
        sent = len(bench.inputs[-1].beats)
        while len(bench.inputs[-1].beats) == sent:
            await bench.cycles(1)
        offered = bench.cycle - 1
        await bench.drain()
        kinds = phase_numbers(bench, before)
        at = kinds.index(urgent.number)
        assert set(kinds[at : at + most]) == {urgent.number}, f"a packet was cut: {kinds}"
        assert at % most == 0, f"a packet was cut: {kinds}"
        assert at + most < len(kinds), f"after {wait} cycles nothing was overtaken"
        # At most the packet being sent and a control flit precede it.
        first = bench.data(bench.outputs[0])[before + at].cycle
        assert first - offered <= LATENCY + most + 3, f"{first - offered} cycles after {wait}"
    # Packets of one flit cannot be interrupted.
    assert most == 1 or await bench.access.read("PREEMPTIONS") > 0
    await bench.finish_clean()


def phase_numbers(bench: SwitchBench, first: int = 0) -> list[int]:
    """Return the phases of the data flits at port 0, from a given flit on."""
    return [bench.codec.unpack(beat.flit)["phase"] for beat in bench.data(bench.outputs[0])[first:]]


@test
async def lone_packet_of_every_phase_takes_the_stated_latency(dut: Any) -> None:
    table = several(random.Random(cocotb.RANDOM_SEED))
    bench, rng = await started(dut, 0.0, table)
    for phase in (one for one in table if one.flows):
        streams = (bench.inputs, bench.outputs)
        before = [[len(bench.data(watch)) for watch in watches] for watches in streams]
        bench.play(runs_of(rng, phase, 1, 1))
        await bench.drain()
        (sent,), (came,) = (
            {
                beat.cycle
                for watch, old in zip(*one, strict=True)
                for beat in bench.data(watch)[old:]
            }
            for one in zip(streams, before, strict=True)
        )
        assert came - sent == LATENCY, f"counted {came - sent} cycles, but stated are {LATENCY}"
    bench.finish()


@one_phase_each
async def urgent_packet_overtakes_those_of_the_same_ports(dut: Any) -> None:
    patient, urgent, most = everyone(0, 2), everyone(1, 0), PROTOCOL.packet_flits
    bench, rng = await started(dut, 0.0, [patient, urgent])
    for wait in range(most + 2):
        before = len(bench.data(bench.outputs[0]))
        # Enough packets to last until the urgent phase is seen, 2 cycles after its packets.
        first, *others = runs_of(rng, patient, max(3, 8 // most), most)
        (late,) = runs_of(rng, urgent, 1, most)
        # All wait for one port; the urgent packets follow others on the streams of the other ports.
        bench.expect([first, *others, late])
        bench.offer([first, *others, late], range(1, PORTS))
        await bench.cycles(5 * most)
        bench.offer([first], [0])
        await bench.cycles(wait)
        bench.offer([late, *others], [0])
        await bench.drain()
        kinds = phase_numbers(bench, before)[::most]
        assert kinds.index(urgent.number) < len(kinds) - 1, f"after {wait} cycles: {kinds}"
    bench.finish()


@scenario(PROTOCOL.phases >= 2 and PORTS >= 3)
async def phases_of_a_circuit_are_served_round_robin(dut: Any) -> None:
    """Let two sources send to one destination at full rate, each in its own phase."""
    table = [phase_of(number, 1, Flow((number,), (PORTS - 1,))) for number in range(2)]
    bench, rng = await started(dut, 0.0, table)
    most, count = PROTOCOL.packet_flits, 2 * PROTOCOL.buffer_packets
    for phase in table:
        bench.play(runs_of(rng, phase, count, most))
    await bench.drain()
    packets = [
        fields["phase"]
        for fields in map(bench.codec.unpack, (b.flit for b in bench.data(bench.outputs[-1])))
        if fields["index"] == 0
    ]
    # An arbitration slot is a packet, or as many as start within two cycles.
    ahead = [abs(packets[:place].count(0) - packets[:place].count(1)) for place in range(count)]
    assert max(ahead) <= 1 + -(-2 // most), f"the order is {packets}"
    bench.finish()


@waiting_test
async def urgent_packet_goes_before_those_that_waited_longer(dut: Any) -> None:
    patient, urgent, most = everyone(0, 2), everyone(1, 0), PROTOCOL.packet_flits
    bench, rng = await started(dut, 0.0, [patient, urgent])
    sent = min(BEGUN + 4, PROTOCOL.buffer_packets)
    # Hold back the sinks, so that all wait for buffer space; then let all continue.
    for port in bench.ports:
        port.sink.pause = True
    bench.play(runs_of(rng, patient, BEGUN + 4, most))
    await bench.cycles((BEGUN + 6) * most)
    bench.play(runs_of(rng, urgent, 1, most))
    await bench.cycles(6 * most)
    assert {len(bench.data(watch)) for watch in bench.inputs} == {(sent + 1) * most}
    for port in bench.ports:
        port.sink.pause = False
    await bench.drain()
    kinds = phase_numbers(bench)[::most]
    # The served phase takes space that frees up before the urgent phase is seen to have it.
    # Counted: 14 packets of one flit where 11 had started.
    most_begun = BEGUN + -(-SEEN_CYCLES // most)
    assert kinds.index(urgent.number) <= most_begun, f"{BEGUN} had begun, the order is {kinds}"
    bench.finish()


@one_phase_each
async def receiver_that_grants_nothing_holds_up_only_its_flows(dut: Any) -> None:
    others = tuple(range(PORTS - 1))
    blocked = phase_of(0, 2, Flow((0,), (PORTS - 1,)))
    free = phase_of(1, 0, Flow(others, others))
    bench, rng = await started(dut, 0.0, [blocked, free])
    port, most = bench.ports[-1], PROTOCOL.packet_flits
    count = PROTOCOL.buffer_packets + 3
    port.endpoint.keeps_space = True
    bench.play(runs_of(rng, blocked, count, most))
    await bench.cycles(2 * LATENCY + 4 * most * count)
    came = len(bench.data(bench.outputs[-1]))
    assert came == PROTOCOL.buffer_packets * most
    stuck = bench.missing()
    bench.play(runs_of(rng, free, PACKETS))
    await bench.cycles(20 * LATENCY + 4 * most * PACKETS)
    assert bench.missing() == stuck
    assert len(bench.data(bench.outputs[-1])) == came
    port.endpoint.keeps_space = False
    port.endpoint.free()
    again = bench.cycle
    await bench.drain()
    first = bench.data(bench.outputs[-1])[came].cycle
    # The credit travels to the switch, and the packet through it.
    assert first - again <= LATENCY + 10, f"went on after {first - again} cycles"
    await bench.finish_clean()


@one_phase_each
async def phase_is_rewritten_while_others_run(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    table = several(rng)
    busy, number = table[:-1], table[-1].number
    bench, rng = await started(dut, 0.1, busy)
    for _ in range(3):
        circuit, other = rng.randrange(3), rng.choice(phase_table(rng, SPEC, 8))
        for phase in busy:
            bench.play(runs_of(rng, phase, PACKETS))
        # By then all its packets have arrived, and start at number 0 again; the others continue.
        again = Phase(number, circuit, other.flows, other.configuration)
        left = bench.missing()
        await bench.write(again)
        assert bench.missing() < left, "nothing came while the phase was written"
        assert await bench.access.read_phase(number) == bench.word(again)
        bench.play(runs_of(rng, again, PACKETS))
        await bench.drain()
    await bench.finish_clean()


@test
async def unicasts_reach_every_port_from_every_port(dut: Any) -> None:
    bench, rng = await started(dut, 0.1)
    pairs = [(a, b) for a in range(PORTS) for b in range(PORTS)]
    for source, destination in rng.sample(pairs, len(pairs)):
        bench.unicast(source, destination, 2)
    await bench.finish_clean()


@test
async def unicasts_share_ports_with_phases(dut: Any) -> None:
    table = several(random.Random(cocotb.RANDOM_SEED))
    bench, rng = await started(dut, 0.1, table)
    for _ in range(2 * PACKETS):
        bench.play(runs_of(rng, rng.choice(table), 2))
        bench.unicast(rng.randrange(PORTS), rng.randrange(PORTS), 2)
    await bench.finish_clean()
