"""cocotb tests of the switch core: phases, priorities, pauses on all sides."""

import os
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.spec import CoreSpec

from .measurements import record
from .phases import Packet, Phase, Turn, entry, make_turn, phase_table

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
CORE = CoreSpec.model_validate_json(os.environ["FRED_CORE"])
LATENCY = latency_cycles(SPEC)
TURNS = int(os.environ.get("FRED_TURNS", "60"))
test = cocotb.test(timeout_time=20, timeout_unit="ms")


class Bench:
    """Sources and sinks on all ports; each source sends its packets in the order given."""

    def __init__(self, dut: Any, rng: random.Random, stall: float) -> None:
        self.dut, self.rng, self.stall = dut, rng, stall
        self.queues: list[deque[tuple[int, int, int, int]]] = [deque() for _ in range(SPEC.ports)]
        self.wanted: list[dict[int, deque[Packet]]] = [
            {phase: deque() for phase in range(CORE.phases)} for _ in range(SPEC.ports)
        ]
        self.partial: list[list[int]] = [[] for _ in range(SPEC.ports)]
        self.order: list[list[Packet]] = [[] for _ in range(SPEC.ports)]
        self.arrivals: list[list[int]] = [[] for _ in range(SPEC.ports)]
        self.accepted: list[list[int]] = [[] for _ in range(SPEC.ports)]
        self.held_sinks: set[int] = set()
        self.cycle = self.flits = 0

    async def start(self, table: Sequence[Phase]) -> None:
        """Reset, and write the table."""
        dut = self.dut
        dut.rst.value = 1
        for name in ("write", "write_phase", "entry"):
            dut[name].value = 0
        for port in range(SPEC.ports):
            for name in ("valid", "data", "last", "phase", "circuit"):
                dut[f"i__{port}__{name}"].value = 0
            dut[f"o__{port}__ready"].value = 0
        cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        for phase in table:
            await self.write(phase)

    async def write(self, phase: Phase) -> None:
        """Write the entry of a phase."""
        self.dut.write.value = 1
        self.dut.write_phase.value = phase.number
        self.dut.entry.value = entry(phase, SPEC)
        await self.step()
        self.dut.write.value = 0

    def offer(self, turn: Turn, ports: Sequence[int] | None = None) -> None:
        """Queue the packets of a turn at its ports, or at some of them."""
        for port, packet in turn.sent.items():
            if ports is None or port in ports:
                last = len(packet.flits) - 1
                self.queues[port] += [
                    (flit, int(place == last), packet.phase, packet.circuit)
                    for place, flit in enumerate(packet.flits)
                ]

    def expect(self, turn: Turn) -> None:
        """Expect what a turn must give, after all that was expected before of its phase."""
        for port, packet in turn.wanted.items():
            self.wanted[port][packet.phase].append(packet)

    async def step(self) -> None:
        """Let one cycle pass on all ports."""
        dut = self.dut
        for port, queue in enumerate(self.queues):
            valid = dut[f"i__{port}__valid"]
            if not int(valid.value) and queue and self.rng.random() >= self.stall:
                self._show(port)
            sink = port not in self.held_sinks and self.rng.random() >= self.stall
            dut[f"o__{port}__ready"].value = int(sink)
        await FallingEdge(dut.clk)
        taken = [
            port
            for port in range(SPEC.ports)
            if int(dut[f"i__{port}__valid"].value) and int(dut[f"i__{port}__ready"].value)
        ]
        for port in range(SPEC.ports):
            if int(dut[f"o__{port}__valid"].value) and int(dut[f"o__{port}__ready"].value):
                self._check(port)
        await RisingEdge(dut.clk)
        for port in taken:
            self.queues[port].popleft()
            self.accepted[port].append(self.cycle)
            dut[f"i__{port}__valid"].value = 0
            if self.queues[port] and self.rng.random() >= self.stall:
                self._show(port)
        self.cycle += 1

    def _show(self, port: int) -> None:
        values = zip(("data", "last", "phase", "circuit"), self.queues[port][0], strict=True)
        self.dut[f"i__{port}__valid"].value = 1
        for name, value in values:
            self.dut[f"i__{port}__{name}"].value = value

    def _check(self, port: int) -> None:
        """Take a flit of an output; at the end of its packet compare it."""
        data, last, phase, circuit = (
            int(self.dut[f"o__{port}__{name}"].value)
            for name in ("data", "last", "phase", "circuit")
        )
        self.partial[port].append(data)
        self.arrivals[port].append(self.cycle)
        self.flits += 1
        if not last:
            return
        got = Packet(phase, circuit, tuple(self.partial[port]))
        self.partial[port] = []
        assert self.wanted[port][phase], f"port {port} gave {got}, which nobody sent it"
        want = self.wanted[port][phase].popleft()
        assert got == want, f"cycle {self.cycle}, port {port}: got {got}, want {want}"
        self.order[port].append(got)

    @property
    def left(self) -> int:
        """Packets that have not come."""
        return sum(len(queue) for port in self.wanted for queue in port.values())

    async def drain(self, limit: int = 20_000) -> None:
        """Run until all packets have come, then see that nothing else does."""
        for _ in range(limit):
            if not self.left:
                break
            await self.step()
        assert not self.left, f"{self.left} packets have not come in {limit} cycles"
        before = self.flits
        for _ in range(30):
            await self.step()
        assert self.flits == before and not any(self.partial)


def lengths(rng: random.Random, phase: Phase, full: bool = False) -> list[int]:
    most = CORE.packet_flits
    return [most if full else rng.randint(1, most) for _ in phase.flows]


async def started(dut: Any, stall: float) -> tuple[Bench, random.Random, list[Phase]]:
    rng = random.Random(cocotb.RANDOM_SEED)
    bench, table = Bench(dut, rng, stall), phase_table(rng, SPEC, CORE.phases)
    await bench.start(table)
    return bench, rng, table


@test
@cocotb.parametrize(stall=[0.0, 0.2, 0.6])
async def turns_of_all_phases_are_delivered(dut: Any, stall: float) -> None:
    bench, rng, table = await started(dut, stall)
    for _ in range(TURNS):
        phase = rng.choice(table)
        turn = make_turn(rng, SPEC, phase, lengths(rng, phase))
        bench.offer(turn)
        bench.expect(turn)
    await bench.drain()
    record(flits=bench.flits)


@test
async def ports_may_start_at_any_time(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.1)
    for _ in range(TURNS // 4):
        phase = rng.choice(table)
        turn = make_turn(rng, SPEC, phase, lengths(rng, phase))
        bench.expect(turn)
        ports = list(turn.sent)
        rng.shuffle(ports)
        for port in ports:
            bench.offer(turn, [port])
            for _ in range(rng.randrange(12)):
                await bench.step()
    await bench.drain()
    record(flits=bench.flits)


def by_circuit(table: Sequence[Phase], wanted: Callable[[int], bool]) -> Phase:
    """Return the phase of such a circuit with most ports."""
    found = [phase for phase in table if wanted(phase.circuit)]
    return max(found, key=lambda one: sum(len(flow.inputs) for flow in one.flows))


@test
async def urgent_phase_overtakes_at_every_place(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.0)
    urgent = by_circuit(table, lambda circuit: circuit == 0)
    patient = by_circuit(table, lambda circuit: circuit == 2)
    shared = set(patient.flows[0].outputs) & {p for flow in urgent.flows for p in flow.outputs}
    port = min(shared)
    for wait in range(CORE.packet_flits + 2):
        bench.order = [[] for _ in range(SPEC.ports)]
        before = [make_turn(rng, SPEC, patient, lengths(rng, patient, True)) for _ in range(3)]
        late = make_turn(rng, SPEC, urgent, lengths(rng, urgent, True))
        # Packets of the patient phase wait for one port; then that one sends while the urgent
        # packets come in ``wait`` cycles later, behind them on the streams of all other ports.
        held = min(patient.flows[0].inputs)
        others = [k for k in range(SPEC.ports) if k != held]
        for turn in before:
            bench.expect(turn)
            bench.offer(turn, others)
        bench.expect(late)
        bench.offer(late, others)
        for _ in range(5 * CORE.packet_flits):
            await bench.step()
        bench.offer(before[0], [held])
        for _ in range(wait):
            await bench.step()
        bench.offer(late, [held])
        for turn in before[1:]:
            bench.offer(turn, [held])
        await bench.drain()
        circuits = [packet.circuit for packet in bench.order[port]]
        assert circuits.index(0) < len(circuits) - 1, f"after {wait} cycles: {circuits}"
    record(flits=bench.flits)


@test
async def urgent_phase_goes_before_those_that_waited_longer(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.0)
    urgent = by_circuit(table, lambda circuit: circuit == 0)
    patient = by_circuit(table, lambda circuit: circuit == 2)
    port = min(set(patient.flows[0].outputs) & {p for flow in urgent.flows for p in flow.outputs})
    # Nobody takes packets, so that turns wait for room; then all can go on.
    bench.held_sinks = set(range(SPEC.ports))
    outputs_hold = (LATENCY + 2 + 2 * CORE.packet_flits) // CORE.packet_flits
    begun = 0
    for _ in range(outputs_hold + 2):
        turn = make_turn(rng, SPEC, patient, lengths(rng, patient, True))
        bench.expect(turn)
        bench.offer(turn)
    late = make_turn(rng, SPEC, urgent, lengths(rng, urgent, True))
    for _ in range((outputs_hold + 6) * CORE.packet_flits):
        await bench.step()
        begun += int(dut.starts.value)
    bench.expect(late)
    bench.offer(late)
    for _ in range(6 * CORE.packet_flits):
        await bench.step()
        begun += int(dut.starts.value)
    assert begun == outputs_hold and not any(bench.queues)
    bench.held_sinks = set()
    await bench.drain()
    circuits = [packet.circuit for packet in bench.order[port]]
    assert circuits.index(0) == begun, f"{begun} had begun, but the order is {circuits}"
    record(flits=bench.flits)


@test
async def full_packets_follow_each_other_without_a_gap(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.0)
    phase = max(table, key=lambda one: sum(len(flow.outputs) for flow in one.flows))
    for _ in range(TURNS):
        turn = make_turn(rng, SPEC, phase, lengths(rng, phase, True))
        bench.offer(turn)
        bench.expect(turn)
    await bench.drain()
    port = phase.flows[0].outputs[0]
    arrivals = bench.arrivals[port]
    rate = len(arrivals) / (arrivals[-1] - arrivals[0] + 1)
    assert len(arrivals) == TURNS * CORE.packet_flits
    assert rate == 1.0, f"{rate} flits per cycle"
    record(flits=bench.flits, throughput_flits_per_cycle=rate)


@test
async def lone_packet_takes_the_latency_that_is_stated(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.0)
    seen = set()
    for phase in table:
        turn = make_turn(rng, SPEC, phase, [1] * len(phase.flows))
        for record_of in (bench.accepted, bench.arrivals):
            for one in record_of:
                one.clear()
        bench.offer(turn)
        bench.expect(turn)
        await bench.drain()
        sent = {cycle for port in bench.accepted for cycle in port}
        came = {cycle for port in bench.arrivals for cycle in port}
        assert len(sent) == len(came) == 1
        seen.add(came.pop() - sent.pop())
    assert len(seen) == 1, f"latencies differ: {sorted(seen)}"
    latency = seen.pop()
    want = int(os.environ.get("FRED_LATENCY", str(latency)))
    assert latency == want, f"counted {latency} cycles, but stated are {want}"
    record(flits=bench.flits, latency_cycles=latency)


@test
async def port_that_is_not_ready_holds_up_only_its_phases(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.0)
    blocked = by_circuit(table, lambda circuit: circuit == 2)
    port = blocked.flows[0].outputs[0]
    free = [
        phase
        for phase in table
        if phase.circuit != blocked.circuit
        and all(port not in flow.outputs for flow in phase.flows)
    ]
    bench.held_sinks = {port}
    for _ in range(8):
        turn = make_turn(rng, SPEC, blocked, lengths(rng, blocked, True))
        bench.offer(turn)
        bench.expect(turn)
    for _ in range(20 * CORE.packet_flits):
        await bench.step()
    stuck = bench.left
    assert stuck
    for phase in free:
        turn = make_turn(rng, SPEC, phase, lengths(rng, phase))
        bench.offer(turn)
        bench.expect(turn)
    for _ in range(20 * CORE.packet_flits):
        await bench.step()
    assert bench.left == stuck
    bench.held_sinks = set()
    await bench.drain()
    record(flits=bench.flits)


@test
async def entry_is_rewritten_while_other_phases_run(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.1)
    busy, idle = table[: len(table) // 2], table[len(table) // 2 :]
    for _ in range(TURNS // 6):
        for phase in rng.sample(busy, 2):
            turn = make_turn(rng, SPEC, phase, lengths(rng, phase))
            bench.offer(turn)
            bench.expect(turn)
        old, other = rng.choice(idle), rng.choice(phase_table(rng, SPEC, CORE.phases))
        new = Phase(old.number, other.circuit, other.flows, other.configuration)
        for _ in range(rng.randrange(10)):
            await bench.step()
        await bench.write(new)
        idle[idle.index(old)] = new
        turn = make_turn(rng, SPEC, new, lengths(rng, new))
        bench.offer(turn)
        bench.expect(turn)
        await bench.drain()
    record(flits=bench.flits)


@test
async def circuit_that_does_not_exist_is_dropped_and_told(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.0)
    bench.queues[0].append((5, 1, 0, 3))
    told = 0
    for _ in range(12):
        await bench.step()
        told += int(dut.refused.value) & 1
    assert not bench.queues[0] and told
    turn = make_turn(rng, SPEC, table[0], lengths(rng, table[0]))
    bench.offer(turn)
    bench.expect(turn)
    await bench.drain()
    record(flits=bench.flits)
