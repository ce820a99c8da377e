"""cocotb tests of two collective endpoints, connected by a link with faults."""

import logging
import os
import random
from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from fred_hw.ace.npu_endpoint import BEGIN_CYCLES
from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring, exchange
from fred_hw.protocol import KINDS
from fred_hw.spec import SwitchSpec
from testbench.agents.endpoint import EndpointPort
from testbench.agents.line import Fault, FaultyLink, Line, link_faults
from testbench.agents.measurements import count_flits, record
from testbench.agents.outputs import start_clock
from testbench.agents.terminator import connect
from testbench.models.endpoint import FlitCodec
from testbench.models.golden import lanes_of, reduction_of, word_of
from testbench.stimulus.traffic import random_flit

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
FLIT = SPEC.data_width // 8
FLITS = int(os.environ.get("FRED_FLITS", "32"))
ADDRESSES = (5, 9)
DATA = KINDS.index("data")
WRITE_CYCLES = 2  # from a word on the bus until the register has it
SOURCE, RESULT = Buffer(0, FLITS * FLIT), Buffer(FLITS * FLIT, FLITS * FLIT)
test = cocotb.test(timeout_time=5, timeout_unit="ms")


class PairBench:
    """Two endpoints with memories and software, and both directions of their link."""

    def __init__(self, dut: Any, stall: float) -> None:
        self.dut, self.stall, self.cycle, self.sessions = dut, stall, 0, 0
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.lines = [Line(2), Line(2)]
        self.ends = [
            EndpointPort(dut, SPEC, prefix, address, self.rng, stall)
            for prefix, address in zip("ab", ADDRESSES, strict=True)
        ]

    async def start(self) -> None:
        """Reset, connect everything and wait until the link is up."""
        dut = self.dut
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        dut.rst.value = 1
        self._drive()
        start_clock(dut)
        for _ in range(2):
            await RisingEdge(dut.clk)
        self.watches = [
            connect(dut, source, destination, line, lambda: self.cycle, self._stalls)
            for source, destination, line in zip("ab", "ba", self.lines, strict=True)
        ]
        for end in self.ends:
            end.bus.attach(dut, dut.rst, f"{end.prefix}_s_axil")
            cocotb.start_soon(end.serve())
        cocotb.start_soon(self._count())
        dut.rst.value = 0
        await self.begin()

    def _drive(self) -> None:
        self.sessions += 1
        for number, end in enumerate(self.ends):
            end.reset(2 * self.sessions + number)

    def _stalls(self) -> bool:
        return self.rng.random() < self.stall

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.cycle += 1

    async def restart(self) -> None:
        """Reset both endpoints for a cycle, and wait until the link is up."""
        await RisingEdge(self.dut.clk)
        self.dut.rst.value = 1
        self._drive()
        await FallingEdge(self.dut.clk)
        for watch in self.watches:
            watch.forget()
        await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        for watch in self.watches:
            watch.forget()
        await self.begin()

    async def begin(self) -> None:
        for end in self.ends:
            await end.begin()

    def fill(self) -> list[list[int]]:
        """Write random flits to the sources in both memories, and return them."""
        flits = [[random_flit(self.rng, SPEC) for _ in range(FLITS)] for _ in self.ends]
        for end, own in zip(self.ends, flits, strict=True):
            end.memory.update({FLIT * k: flit for k, flit in enumerate(own)})
        return flits

    def results(self) -> list[list[int | None]]:
        """Return the flits at the results in both memories."""
        places = range(RESULT.address, RESULT.address + RESULT.size, FLIT)
        return [[end.memory.get(place) for place in places] for end in self.ends]

    async def reduce(self, circuit: str) -> None:
        """All-reduce new buffers, and check the results."""
        flits = self.fill()
        await self.run(rings(circuit))
        assert self.results() == [summed(flits)] * 2
        count_flits(2 * FLITS)

    async def exchange(self, circuit: str) -> None:
        """Exchange new buffers, and check the results."""
        flits = self.fill()
        await self.run(copies(circuit))
        assert self.results() == flits[::-1]
        count_flits(2 * FLITS)

    async def run(self, parts: Sequence[Sequence[Descriptor]]) -> None:
        """Run the descriptors of both endpoints to their end, which must raise interrupts."""
        for end, own in zip(self.ends, parts, strict=True):
            await end.queue(own)
        for end in self.ends:
            await end.finish()
            assert int(end.pin("irq").value) == 1
            await end.write("DONE", await end.read("DONE"))
            for _ in range(4):
                await RisingEdge(self.dut.clk)
            assert int(end.pin("irq").value) == 0


async def started(dut: Any, stall: float = 0.0) -> PairBench:
    bench = PairBench(dut, stall)
    await bench.start()
    return bench


def copies(
    circuit: str, source: Buffer = SOURCE, result: Buffer = RESULT
) -> list[list[Descriptor]]:
    """Return an exchange of both endpoints."""
    flows = [FlowId(ADDRESSES[1 - k], unicast=True) for k in range(2)]
    return [[exchange(circuit, (source, flow), (result, flow))] for flow in flows]


def rings(circuit: str) -> list[list[Descriptor]]:
    """Return an all-reduce of both endpoints."""
    made: list[list[Descriptor]] = []
    for rank in range(2):
        flow = FlowId(ADDRESSES[1 - rank], unicast=True)
        ring = Ring(members=2, rank=rank, message_bytes=4 * FLIT, fsms=1)
        one = Descriptor(
            operation="all_reduce",
            circuit=circuit,
            source=SOURCE,
            destination=RESULT,
            send=flow,
            receive=flow,
            ring=ring,
        )
        made.append([one])
    return made


def added(a: int, b: int) -> int:
    return word_of(reduction_of(SPEC)(lanes_of(a, SPEC), lanes_of(b, SPEC)), SPEC)


def summed(flits: Sequence[Sequence[int]]) -> list[int]:
    """Return the sum of both: of each block, that of its owner is added last."""
    half = -(-FLITS // 2)
    owners = [k // half for k in range(FLITS)]
    return [added(flits[1 - owner][k], flits[owner][k]) for k, owner in enumerate(owners)]


@test
@cocotb.parametrize(stall=[0.0, 0.4])
async def buffers_are_exchanged(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    for circuit in SPEC.protocol.channels.names:
        await bench.exchange(circuit)


@test
@cocotb.parametrize(stall=[0.0, 0.4])
async def buffers_are_reduced(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    await bench.reduce("dp")


@test
async def collectives_pass_faulty_links(dut: Any) -> None:
    bench = await started(dut, 0.1)
    change = FaultyLink(bench.rng, SPEC.data_width, 0.02)
    for line in bench.lines:
        line.change = change
    while not change.count:
        await bench.reduce("mp")


@test
async def a_broken_flit_is_retransmitted(dut: Any) -> None:
    """Break a flit of one endpoint. All packets of the other one are acknowledged in time."""
    bench = await started(dut)
    act = link_faults(SPEC.data_width)["bit_of_data"]
    bench.lines[0].change = Fault(
        FlitCodec(SPEC), lambda fields: fields["kind"] == DATA, lambda flit: act(bench.rng, flit)
    )
    await bench.exchange("mp")
    for register, counts in (("REWINDS", (True, False)), ("DROPPED", (False, True))):
        assert tuple([await end.read(register) > 0 for end in bench.ends]) == counts, register


@test
async def reset_at_any_time_forgets_all(dut: Any) -> None:
    bench = await started(dut, 0.1)
    for _ in range(3):
        bench.fill()
        for end, own in zip(bench.ends, rings("mp"), strict=True):
            await end.queue(own)
        for _ in range(bench.rng.randrange(4 * FLITS)):
            await RisingEdge(dut.clk)
        await bench.restart()
        await bench.exchange("mp")


@test
async def all_registers_are_defined_after_reset(dut: Any) -> None:
    bench = await started(dut)
    for end in bench.ends:
        for register in end.map.registers:
            for index in range(register.count or 1):
                await end.read(register.name, index)


@test
async def memory_is_read_soon_after_the_command(dut: Any) -> None:
    """Measure the latency from COMMAND to the first read."""
    bench = await started(dut)
    bench.fill()
    end = bench.ends[0]
    writes = copies("mp")[0][0].writes(FLIT)
    for register, index, value in writes[:-1]:
        await end.write(register, value, index)
    command = cocotb.start_soon(end.write("COMMAND", writes[-1][2]))
    valid, ready = (end.pin(f"s_axil_w{name}") for name in ("valid", "ready"))
    await FallingEdge(dut.clk)
    while not (int(valid.value) and int(ready.value)):
        await FallingEdge(dut.clk)
    begin = bench.cycle
    while not int(end.pin("m_axis_read_tvalid").value):
        await FallingEdge(dut.clk)
    await command
    latency = bench.cycle - begin - WRITE_CYCLES
    record(
        "endpoint_latency_cycles",
        latency,
        "cycles",
        "From the write of a descriptor to the first word that the endpoint requests from memory",
    )
    assert latency == BEGIN_CYCLES
