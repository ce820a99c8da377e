"""cocotb tests of the switch core without the link layer: phases, priorities, pauses."""

import os
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

from fred_hw.compiler.configuration import Configuration, configuration_width
from fred_hw.compiler.flows import Flow
from fred_hw.control.phase_entry import entry_word
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from testbench.models.golden import walk
from testbench.stimulus.phases import Packet, Phase, Turn, make_turn, phase_table
from testbench.stimulus.traffic import random_flit, routed

from .measurements import record

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
CORE = SPEC.protocol
LATENCY = latency_cycles(SPEC)
CONFIGURATION = configuration_width(SPEC.ports, SPEC.middle)
TURNS = int(os.environ.get("FRED_TURNS", "60"))
test = cocotb.test(timeout_time=20, timeout_unit="ms")


class CoreBench:
    """Sources and sinks on all ports; each source sends its packets in the order given."""

    def __init__(self, dut: Any, rng: random.Random, stall: float) -> None:
        self.dut, self.rng, self.stall = dut, rng, stall
        self.queues: list[deque[tuple[int, ...]]] = [deque() for _ in range(SPEC.ports)]
        # By phase, which stands for a source and a circuit at the default index.
        self.wanted: list[dict[int, deque[Packet]]] = [
            {key: deque() for key in range(CORE.phases + 3 * SPEC.ports)} for _ in range(SPEC.ports)
        ]
        self.partial: list[list[int]] = [[] for _ in range(SPEC.ports)]
        self.order: list[list[Packet]] = [[] for _ in range(SPEC.ports)]
        self.arrivals: list[list[int]] = [[] for _ in range(SPEC.ports)]
        self.accepted: list[list[int]] = [[] for _ in range(SPEC.ports)]
        self.held_sinks: set[int] = set()
        self.cycle = self.flits = 0
        self.written: bool | None = None

    async def start(self, table: Sequence[Phase]) -> None:
        """Reset, and write the table."""
        dut = self.dut
        dut.rst.value = 1
        for name in ("write", "number", "entry"):
            dut[f"table__{name}"].value = 0
        for port in range(SPEC.ports):
            for name in ("valid", "data", "last", "phase", "circuit", "peer"):
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
        word = entry_word(SPEC, phase.configuration, phase.flows, phase.circuit)
        assert await self.write_word(phase.number, word), f"phase {phase.number} was refused"

    async def write_word(self, number: int, word: int) -> bool:
        """Write an entry; return whether it was accepted."""
        self.dut.table__write.value = 1
        self.dut.table__number.value = number
        self.dut.table__entry.value = word
        for _ in range(10 * LATENCY + 100):
            await self.step()
            if self.written is not None:
                self.dut.table__write.value = 0
                return self.written
        raise AssertionError("the entry was not dealt with")

    def offer(self, turn: Turn, ports: Sequence[int] | None = None) -> None:
        """Queue the packets of a turn at its ports, or at some of them."""
        for port, packet in turn.sent.items():
            if ports is None or port in ports:
                last = len(packet.flits) - 1
                self.queues[port] += [
                    (flit, int(place == last), packet.phase, packet.circuit, 0)
                    for place, flit in enumerate(packet.flits)
                ]

    def unicast(self, source: int, destination: int, circuit: int) -> None:
        """Queue a packet of the default index, and expect it."""
        flits = [random_flit(self.rng, SPEC) for _ in range(self.rng.randint(1, CORE.packet_flits))]
        last = len(flits) - 1
        self.queues[source] += [
            (flit, int(place == last), CORE.online, circuit, destination)
            for place, flit in enumerate(flits)
        ]
        key = CORE.online + 3 * source + circuit
        self.wanted[destination][key].append(Packet(key, circuit, tuple(flits)))

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
        self.written = bool(dut.table__accepted.value) if int(dut.table__done.value) else None
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
        names = ("data", "last", "phase", "circuit", "peer")
        values = zip(names, self.queues[port][0], strict=True)
        self.dut[f"i__{port}__valid"].value = 1
        for name, value in values:
            self.dut[f"i__{port}__{name}"].value = value

    def _check(self, port: int) -> None:
        """Take a flit of an output; at the end of its packet compare it."""
        data, last, phase, circuit, peer = (
            int(self.dut[f"o__{port}__{name}"].value)
            for name in ("data", "last", "phase", "circuit", "peer")
        )
        if phase == CORE.online:
            phase += 3 * peer + circuit
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


async def started(dut: Any, stall: float) -> tuple[CoreBench, random.Random, list[Phase]]:
    rng = random.Random(cocotb.RANDOM_SEED)
    bench, table = CoreBench(dut, rng, stall), phase_table(rng, SPEC, CORE.phases)
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
        # Enough of them to last until the urgent phase is seen, 2 cycles after its packets.
        before = [
            make_turn(rng, SPEC, patient, lengths(rng, patient, True))
            for _ in range(max(3, 8 // CORE.packet_flits))
        ]
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
    begun = (LATENCY + 4 + 2 * CORE.packet_flits) // CORE.packet_flits
    for _ in range(begun + 2):
        turn = make_turn(rng, SPEC, patient, lengths(rng, patient, True))
        bench.expect(turn)
        bench.offer(turn)
    late = make_turn(rng, SPEC, urgent, lengths(rng, urgent, True))
    for _ in range((begun + 6) * CORE.packet_flits):
        await bench.step()
    bench.expect(late)
    bench.offer(late)
    for _ in range(6 * CORE.packet_flits):
        await bench.step()
    assert not any(bench.queues)
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


async def refused(bench: CoreBench, error: str, flits: Sequence[tuple[int, ...]]) -> None:
    """Send flits to port 0; see that they vanish, are told of, and that all else goes on."""
    dut, rng, table = bench.dut, bench.rng, phase_table(bench.rng, SPEC, CORE.phases)
    bench.queues[0] += flits
    told = 0
    for _ in range(4 * len(flits) + 20):
        await bench.step()
        told += int(dut[f"errors__{error}"].value) & 1
    assert told == 1 and not bench.queues[0], f"{error} was told {told} times"
    for phase in table[:3]:
        await bench.write(phase)
        turn = make_turn(rng, SPEC, phase, lengths(rng, phase))
        bench.offer(turn)
        bench.expect(turn)
    await bench.drain()
    record(flits=bench.flits)


@test
async def circuit_that_does_not_exist_is_dropped_and_told(dut: Any) -> None:
    bench, _, _ = await started(dut, 0.0)
    await refused(bench, "kind", [(5, 1, 0, 3, 0)])


@test
async def phase_without_a_configuration_is_dropped_and_told(dut: Any) -> None:
    bench, _, table = await started(dut, 0.0)
    assert await bench.write_word(table[-1].number, 0)
    last = CORE.packet_flits - 1
    await refused(
        bench, "phase", [(k, int(k == last), table[-1].number, 1, 0) for k in range(last + 1)]
    )


@test
async def packet_that_is_too_long_is_cut_and_told(dut: Any) -> None:
    bench, _, table = await started(dut, 0.0)
    flow = Flow([0], [SPEC.ports - 1])
    alone = Phase(table[0].number, 1, (flow,), routed_or_fail([flow]))
    await bench.write(alone)
    most = CORE.packet_flits
    want = Packet(alone.number, alone.circuit, tuple(range(most)))
    for port in flow.outputs:
        bench.wanted[port][alone.number].append(want)
    flits = [(k, int(k == most + 2), alone.number, alone.circuit, 0) for k in range(most + 3)]
    await refused(bench, "length", flits)


def routed_or_fail(flows: Sequence[Flow]) -> Configuration:
    configuration = routed(flows, SPEC)
    assert configuration is not None
    return configuration


@test
async def entry_that_joins_two_flows_is_refused(dut: Any) -> None:
    bench, rng, table = await started(dut, 0.0)
    tried = 0
    for phase in table:
        word = entry_word(SPEC, phase.configuration, phase.flows, phase.circuit)
        for _ in range(6):
            other = word ^ 1 << rng.randrange(CONFIGURATION)
            accepted = await bench.write_word(phase.number, other)
            assert accepted == is_right(other, phase), f"{other:#x} for {phase}"
            tried += not accepted
        await bench.write(phase)
    assert tried
    turn = make_turn(rng, SPEC, table[0], lengths(rng, table[0]))
    bench.offer(turn)
    bench.expect(turn)
    await bench.drain()
    record(flits=bench.flits)


def is_right(word: int, phase: Phase) -> bool:
    """Return whether an entry's configuration still carries the flows of a phase."""
    packed = word & ((1 << CONFIGURATION) - 1)
    configuration = Configuration.unpack(packed, SPEC.ports, SPEC.middle)
    flits = {port for flow in phase.flows for port in flow.inputs}
    sent = [frozenset({k}) if k in flits else None for k in range(SPEC.ports)]
    got = walk(configuration, sent, frozenset.union)
    want = {port: frozenset(flow.inputs) for flow in phase.flows for port in flow.outputs}
    return got == [want.get(port) for port in range(SPEC.ports)]


@test
async def unicast_packets_are_routed_online(dut: Any) -> None:
    bench, rng, _ = await started(dut, 0.2)
    for _ in range(TURNS):
        for source in range(SPEC.ports):
            bench.unicast(source, rng.randrange(SPEC.ports), rng.randrange(3))
    await bench.drain()
    record(flits=bench.flits)
