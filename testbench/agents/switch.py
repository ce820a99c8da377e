"""Bench of collectives in a switch: neighbours on all ports, software and a scoreboard."""

import gc
import logging
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from fred_hw.control.access import AsyncAccess
from fred_hw.control.phase_entry import entry_word
from fred_hw.link.axis import AXIS_FORTH, USER_BITS
from fred_hw.protocol import GENERATIONS
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import FlitCodec
from testbench.stimulus.addresses import address_of
from testbench.stimulus.phases import Phase, PhaseRun
from testbench.stimulus.traffic import random_flit

from .axis import Beat, StreamMonitor
from .link import LinkPort
from .measurements import count_flits
from .outputs import start_clock
from .registers import Registers
from .scoreboard import FlowKey, Packets, Scoreboard

__all__ = ["SwitchBench"]

# Objects of benches live long: garbage collection took a twentieth of the time.
gc.set_threshold(100_000, 20, 20)


class SwitchBench:
    """Neighbours on all ports, software, and the expected packets.

    Parameters
    ----------
    dut : handle
        The switch.
    spec : SwitchSpec
        Its specification.
    stall : float
        Share of cycles in which streams and registers pause.
    delay : int
        Cycles of each link in each direction, in addition to those of the agents.

    Attributes
    ----------
    board : Scoreboard
        Expected packets.
    inputs, outputs : list of StreamMonitor
        Flits on ``s<k>_axis`` and ``m<k>_axis``.
    probes : dict
        Internal signals by name; ``seen`` has for each the cycles in which it was not 0.
    generations : dict
        Generations of the written phases, by number.
    session_id : int
        Session ID of the switch.
    """

    def __init__(self, dut: Any, spec: SwitchSpec, stall: float = 0.0, delay: int = 0) -> None:
        self.dut, self.spec, self.stall, self.delay = dut, spec, stall, delay
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.codec = FlitCodec(spec)
        self.cycle = 0
        self.session_id = 77
        self.registers = Registers(spec)
        self.ports: list[LinkPort] = []
        self.inputs: list[StreamMonitor] = []
        self.outputs: list[StreamMonitor] = []
        self.board = Scoreboard(spec.ports)
        self.probes: dict[str, Any] = {}
        self.seen: dict[str, list[int]] = {}
        self.generations: dict[int, int] = {}

    async def start(self, phases: Iterable[Phase] = ()) -> None:
        """Reset, start the agents, and write the NPUs' routes and the phases."""
        await self._reset()
        self.registers.attach(self.dut)
        streams = self._attach(address_of)
        # Draw random numbers for registers even without pauses, so that a seed keeps its stimulus.
        self.pause([*self.registers.channels.values(), *(streams if self.stall else ())])
        await self._run()
        while not all(self.informed(watch) for watch in (*self.inputs, *self.outputs)):
            await RisingEdge(self.dut.clk)
        await self.cycles(self.delay + 8)
        await self.write_routes()
        for phase in phases:
            await self.write(phase)

    async def _reset(self) -> None:
        """Start the clock in reset; agents sample streams at once and need defined values."""
        dut = self.dut
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        dut.rst.value = 1
        dut.session_id.value = self.session_id
        for port in range(self.spec.ports):
            for name in AXIS_FORTH:
                dut[f"s{port}_axis_{name}"].value = 0
            dut[f"m{port}_axis_tready"].value = 0
        start_clock(dut)
        await self._edges(2)

    def _attach(self, address: Callable[[int], int]) -> list[Any]:
        """Attach a neighbour with a given address to each port, and return their streams."""
        dut = self.dut
        for port in range(self.spec.ports):
            self.ports.append(LinkPort(dut, self.spec, port, address(port), self.delay))
            self.inputs.append(StreamMonitor(dut, f"s{port}_axis"))
            self.outputs.append(StreamMonitor(dut, f"m{port}_axis"))
            assert len(dut[f"m{port}_axis_tuser"]) == USER_BITS
        return [one for port in self.ports for one in (port.source, port.sink)]

    async def _run(self) -> None:
        """End the reset, and start neighbours and checks."""
        await self._edges(2)
        self.dut.rst.value = 0
        cocotb.start_soon(self._step())

    async def restart(self) -> None:
        """Reset only the switch, which starts its next session."""
        watches = (*self.inputs, *self.outputs)
        self.session_id += 1
        self.dut.session_id.value = self.session_id
        for level in (1, 0):
            self.dut.rst.value = level
            # Offered flits stay until the next edge, and are withdrawn then.
            await self.cycles(1)
            for watch in watches:
                watch.forget()
            await self.cycles(2)

    @property
    def access(self) -> AsyncAccess:
        """The registers, accessed by name."""
        return self.registers.access

    def pause(self, agents: Sequence[Any]) -> None:
        """Make agents pause in a share ``stall`` of the cycles from now on.

        One task does it for all: a generator for each would be a task for each, half of all that
        is resumed in a cycle.
        """

        async def run() -> None:
            edge, draw, stall = RisingEdge(self.dut.clk), self.rng.random, self.stall
            while True:
                for agent in agents:
                    agent.pause = draw() < stall
                await edge

        cocotb.start_soon(run())

    async def _step(self) -> None:
        """Monitor and serve all ports, cycle by cycle."""
        while True:
            await FallingEdge(self.dut.clk)
            for watch in (*self.inputs, *self.outputs):
                watch.step(self.cycle)
            for name, handle in self.probes.items():
                if int(handle.value):
                    self.seen[name].append(self.cycle)
            for port in self.ports:
                port.step()
            self.cycle += 1

    async def _edges(self, count: int) -> None:
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def cycles(self, count: int) -> None:
        """Wait for a number of cycles."""
        end = self.cycle + count
        while self.cycle < end:
            await RisingEdge(self.dut.clk)

    def probe(self, **signals: Any) -> None:
        """Record the given signals inside the switch, and drop the record of others."""
        self.probes = signals
        self.seen = {name: [] for name in signals}

    def word(self, phase: Phase) -> int:
        """Return the entry of a phase with its generation."""
        generation = self.generations.get(phase.number, 0)
        return entry_word(
            self.spec, phase.configuration, phase.flows, phase.circuit, generation=generation
        )

    async def write(self, phase: Phase, *, checked: bool = True) -> None:
        """Write a phase in its next generation; numbers restart at 0, all packets have arrived.

        Unless it is ``checked``, received packets may include ones that nobody expects any more.
        """
        generation = (self.generations.get(phase.number, -1) + 1) % GENERATIONS
        self.generations[phase.number] = generation
        if not generation:  # the generation may have wrapped
            await self.emptied(phase.number, self.timeout if checked else 0)
        await self.access.write_phase(phase.number, self.word(phase))
        if checked:
            self.check()
        for port, wanted in zip(self.ports, self.board.wanted, strict=True):
            port.forget(phase.number, generation)
            for flow in [flow for flow in wanted if flow[0] == phase.number]:
                del wanted[flow]

    async def emptied(self, number: int, timeout: int = 0) -> None:
        """Wait until no packet of a phase is queued; erase the phase if that takes too long."""
        end = self.cycle + timeout
        while await self.access.queued(number):
            if self.cycle >= end:
                await self.access.erase_phase(number)

    def offer(self, runs: Sequence[PhaseRun], ports: Iterable[int] | None = None) -> None:
        """Send the packets of the given runs from all of their inputs, or from a subset."""
        for port in range(self.spec.ports) if ports is None else ports:
            packets = [run.sent[port] for run in runs if port in run.sent]
            for (phase, circuit), own in groupby(packets, lambda one: (one.phase, one.circuit)):
                self.ports[port].send(phase, circuit, [packet.flits for packet in own])

    def expect(self, runs: Sequence[PhaseRun]) -> None:
        """Expect the results of the given runs, after those expected before in their phases."""
        for run in runs:
            for port, packet in run.wanted.items():
                self.want(port, packet.phase, 0, [packet.flits])

    def want(self, port: int, phase: int, peer: int, packets: Packets) -> None:
        """Expect packets of a flow at a port."""
        self.board.want(port, (phase, peer), packets)

    def play(self, runs: Sequence[PhaseRun]) -> None:
        """Send and expect runs."""
        self.offer(runs)
        self.expect(runs)

    def unicast(
        self, source: int, destination: int, packets: int = 1, flits: int = 0, circuit: int = -1
    ) -> None:
        """Send and expect unicasts of random payload.

        Parameters
        ----------
        source, destination : int
            Ports.
        packets, flits : int
            Number of packets, and their length; 0 for any length.
        circuit : int
            Virtual channel, -1 for the one that follows from the ports.
        """
        most, online = self.spec.protocol.packet_flits, self.spec.protocol.online
        new = [
            tuple(
                random_flit(self.rng, self.spec) for _ in range(flits or self.rng.randint(1, most))
            )
            for _ in range(packets)
        ]
        used = (source + destination) % 3 if circuit < 0 else circuit
        self.ports[source].send(online, used, new, self.ports[destination].address)
        self.want(destination, online, self.ports[source].address, new)

    async def write_routes(self) -> None:
        """Write the output ports of unicasts to the neighbours."""
        for number, port in enumerate(self.ports):
            await self.access.write_route(port.address, number)

    def forget_unicasts(self) -> None:
        """Restart unicast numbers at 0 at all neighbours, and expect no further unicasts."""
        for port, wanted in zip(self.ports, self.board.wanted, strict=True):
            port.forget(self.spec.protocol.online, 0)
            wanted.clear()

    @property
    def received(self) -> list[dict[FlowKey, Packets]]:
        """Packets that each port received so far, by flow."""
        return [port.received for port in self.ports]

    def missing(self, phases: Iterable[Phase] | None = None) -> int:
        """Return the number of packets that have not arrived, for some phases or for all."""
        return self.board.missing(self.received, _numbers(phases))

    def check(self) -> None:
        """Compare all received packets with the beginning of the expected ones."""
        self.board.check(self.received)

    async def arrive(self, phases: Sequence[Phase] | None = None, limit: int | None = None) -> None:
        """Run until all expected packets have arrived, for some phases or all; check them.

        Parameters
        ----------
        phases : sequence of Phase, optional
            Which.
        limit : int, optional
            Cycles without a packet that are allowed.
        """
        limit = limit or self.timeout
        best, since = self.missing(phases), self.cycle
        while left := self.missing(phases):
            if left < best:
                best, since = left, self.cycle
            assert self.cycle - since < limit, f"{left} packets have not come; cycle {self.cycle}"
            await RisingEdge(self.dut.clk)
        self.board.check_complete(self.received, _numbers(phases))

    async def acknowledged(self, limit: int | None = None) -> None:
        """Run until all packets are acknowledged at their sources; phases may then be written."""
        await self.arrive(limit=limit)
        end = self.cycle + (limit or self.timeout)
        while not all(port.done for port in self.ports):
            assert self.cycle < end, f"not all is acknowledged; cycle {self.cycle}"
            await RisingEdge(self.dut.clk)

    async def drain(self, limit: int | None = None) -> None:
        """Run until all is acknowledged and some cycles more; check that nothing else arrives."""
        await self.acknowledged(limit)
        await self.cycles(30)
        assert not self.missing()
        self.check()

    def finish(self) -> None:
        """Check, at the end of a test, that packets arrived, and record their number."""
        self.check()
        assert self.board.flits
        count_flits(self.board.flits)

    async def finish_clean(self) -> None:
        """Finish as ``finish`` does, and check that no error is reported."""
        await self.drain()
        assert (await self.access.errors()).raised == ()
        self.finish()

    @property
    def timeout(self) -> int:
        """Cycles without packets within which any loss is recovered."""
        protocol = self.spec.protocol
        return 2000 + 8 * (protocol.timeout_cycles + protocol.nack_timeout_cycles)

    def informed(self, watch: StreamMonitor) -> bool:
        """Return whether credit limits of all virtual channels have crossed a stream."""
        circuits = {self.codec.unpack(beat.flit)["credit_circuit"] for beat in watch.beats}
        return circuits >= set(range(len(self.spec.protocol.buffers)))

    def data(self, watch: StreamMonitor) -> list[Beat]:
        """Return the beats of a stream that carry payload."""
        return [beat for beat in watch.beats if not self.codec.unpack(beat.flit)["kind"]]


def _numbers(phases: Iterable[Phase] | None) -> set[int] | None:
    return None if phases is None else {phase.number for phase in phases}
