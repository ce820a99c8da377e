"""cocotb tests of two collective endpoints: descriptors of all kinds, bad ones, and registers."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from fred_hw.ace.channel import QUEUE_DEPTH
from fred_hw.ace.endpoint_map import causes_of
from fred_hw.ace.operations import OPERATIONS, RINGS, Buffer, Descriptor, FlowId, Ring, exchange
from fred_hw.protocol import CONTROL
from testbench.agents.endpoint import EndpointPort
from testbench.agents.measurements import count_flits
from testbench.models.endpoint import FlitCodec
from testbench.stimulus.traffic import random_flit

from .tb_endpoint import ADDRESSES, FLIT, SPEC, PairBench, added, started, test

CAUSES = list(causes_of(SPEC))
NAMES = SPEC.protocol.channels.names
PHASES = SPEC.protocol.phases
MOST = 3 * SPEC.endpoint.chunk_flits  # flits of a buffer
ALL = (1 << len(NAMES)) - 1
Writes = list[tuple[str, int, int]]


class Works:
    """Random pieces of work of both endpoints, and what memories hold in the end.

    Messages about a flow do not name its virtual channel: at a time a flow is on one of them.
    """

    def __init__(self, bench: PairBench) -> None:
        self.bench, self.rng = bench, bench.rng
        self.generations = [0] * PHASES
        self.place = 0
        self.unicasts = self.rng.choice(NAMES)  # channel of unicasts until all is at rest
        self.want: list[dict[int, int]] = [{}, {}]

    def flow(self, end: int, phase: int | None) -> FlowId:
        if phase is None:
            return FlowId(ADDRESSES[1 - end], unicast=True)
        return FlowId(phase, generation=self.generations[phase])

    def add(self, circuit: str) -> list[Descriptor]:
        """Return the descriptors of a piece of work, one for each end."""
        rng, flits = self.rng, self.rng.randint(1, MOST)
        operation = rng.choice(("exchange", "exchange", *RINGS))
        phase = rng.choice(range(NAMES.index(circuit), PHASES, len(NAMES)))
        if circuit == self.unicasts:
            phase = rng.choice((None, phase))
        size = FLIT * MOST
        source, result = self.place, self.place + size
        self.place += 2 * size
        if operation == "all_gather":  # in place
            source = result
        values = [[random_flit(rng, SPEC) for _ in range(flits)] for _ in ADDRESSES]
        for end, own in zip(self.bench.ends, values, strict=True):
            end.memory.update({source + FLIT * k: flit for k, flit in enumerate(own)})
        half = -(-flits // 2)
        for k, end in product(range(flits), range(2)):
            owner = k // half
            self.want[end][result + FLIT * k] = {
                "exchange": values[1 - end][k],
                "all_gather": values[owner][k],
            }.get(operation, added(values[1 - owner][k], values[owner][k]))
            if operation == "reduce_scatter" and owner != end:
                del self.want[end][result + FLIT * k]
        count_flits(2 * flits)
        buffers = Buffer(source, FLIT * flits), Buffer(result, FLIT * flits)
        flows = [self.flow(end, phase) for end in range(2)]
        if operation == "exchange":
            pairs = [[(buffer, flow) for buffer in buffers] for flow in flows]
            return [exchange(circuit, *pair) for pair in pairs]
        message = FLIT * rng.randint(1, SPEC.endpoint.chunk_flits // 2)
        fsms = rng.randint(1, SPEC.endpoint.fsms)
        return [
            Descriptor(
                operation=operation,
                circuit=circuit,
                source=buffers[0],
                destination=buffers[1],
                send=flow,
                receive=flow,
                ring=Ring(members=2, rank=rank, message_bytes=message, fsms=fsms),
            )
            for rank, flow in enumerate(flows)
        ]

    def check(self) -> None:
        """Compare the results in both memories."""
        for end, want in zip(self.bench.ends, self.want, strict=True):
            assert {at: end.memory.get(at) for at in want} == want
        self.want = [{}, {}]
        self.unicasts = self.rng.choice(NAMES)

    async def forget(self, phases: int, generations: int) -> None:
        """Let both endpoints forget phases, whose generation then is a number of steps higher."""
        for end in self.bench.ends:
            await end.write("FORGET", phases)
        for phase in range(PHASES):
            self.generations[phase] += generations * (phases >> phase & 1)


async def rest(bench: PairBench) -> None:
    """Wait until all is complete and acknowledged."""
    for end in bench.ends:
        await end.finish()
        await end.until("STATUS", ALL << 8, ALL << 8 | ALL << 4)


async def queue_all(bench: PairBench, works: Works, count: int) -> None:
    """Queue random work at both endpoints, each of which goes at its own pace."""
    parts = [works.add(works.rng.choice(NAMES)) for _ in range(count)]

    async def queue(number: int) -> None:
        for part in parts:
            await bench.ends[number].queue([part[number]])
            for _ in range(works.rng.choice((0, 0, 100))):
                await RisingEdge(bench.dut.clk)

    for task in [cocotb.start_soon(queue(number)) for number in range(2)]:
        await task


@test
@cocotb.parametrize(stall=[0.0, 0.5])
async def work_of_all_kinds_is_done_between_other_writes(dut: Any, stall: float) -> None:
    """Restart numbers, freeze and clear counters, and change what interrupts, in between."""
    bench = await started(dut, stall)
    works, rng = Works(bench), bench.rng
    for _ in range(8):
        await queue_all(bench, works, rng.randint(1, 6))
        for end in bench.ends:
            enabled = rng.getrandbits(len(CAUSES))
            await end.write("IRQ_ENABLE", enabled)
            assert await end.read("IRQ_ENABLE") == enabled
        await rest(bench)
        works.check()
        await works.forget(rng.getrandbits(PHASES), rng.randrange(2))
        sends, receives = rng.getrandbits(len(NAMES)), rng.getrandbits(len(NAMES))
        for end, masks in zip(bench.ends, ((sends, receives), (receives, sends)), strict=True):
            await end.write("CLEAR", masks[0] | masks[1] << 4)
            await counters_obey(end, rng.randrange(2))


async def counters_obey(end: EndpointPort, frozen: int) -> None:
    """Clear counters, and freeze them or let them go on."""
    await end.write("CONTROL", 0b11)
    assert await end.read("CYCLES") == 0
    assert await end.read("MEMORY_READS") == 0
    await end.write("CONTROL", frozen)
    assert (await end.read("CYCLES") > 0) == (not frozen)


def bad_descriptors() -> Iterator[tuple[str, Writes]]:
    """Yield an error, and the writes of a descriptor that causes it after one in phase 0."""
    flow = FlowId(ADDRESSES[1], unicast=True)
    buffer, moved = Buffer(0, 8 * FLIT), Buffer(64 * FLIT, 8 * FLIT)
    good = exchange("mp", (buffer, flow), (moved, flow)).writes(FLIT)
    both = replace(exchange("mp", (buffer, FlowId(0))), receive=FlowId(0, generation=1))
    ring = Ring(members=2, rank=0, message_bytes=FLIT)
    reduces = Descriptor(
        operation="all_reduce",
        circuit="mp",
        source=buffer,
        destination=moved,
        send=flow,
        receive=flow,
        ring=ring,
    ).writes(FLIT)
    yield "operation", changed(good, COMMAND=7)
    yield "operation", changed(good, COMMAND=OPERATIONS.index("exchange") | 3 << 8)
    yield "flow", changed(good, SEND_FLOW=PHASES)
    yield "flow", changed(good, RECEIVE_FLOW=1 << 9)
    yield "flow", exchange("mp", (buffer, FlowId(0, generation=1))).writes(FLIT)
    yield "flow", both.writes(FLIT)
    yield "size", changed(good, BYTES=1 << 31)
    yield "size", changed(good, RECEIVE_BYTES=1 << 31)
    yield "size", [*good[:1], ("SOURCE", 1, 1 << 8), *good[2:]]
    end = Buffer((1 << 40) - FLIT, 8 * FLIT)
    yield "size", exchange("mp", (end, flow)).writes(FLIT)
    yield "size", exchange("mp", None, (end, flow)).writes(FLIT)
    for members, rank, fsms in ((1, 0, 1), (65, 0, 1), (4, 4, 1), (2, 0, 0), (2, 0, 99)):
        yield "size", changed(reduces, RING=members | rank << 8 | fsms << 16)
    yield "size", changed(reduces, BLOCK_BYTES=0)
    yield "size", changed(reduces, BLOCK_BYTES=3 * FLIT)
    yield "size", changed(reduces, MESSAGE_BYTES=0)
    yield "size", changed(reduces, MESSAGE_BYTES=SPEC.endpoint.chunk_flits * FLIT)


def changed(writes: Writes, **values: int) -> Writes:
    """Return writes with other values in some registers."""
    return [(name, index, values.get(name, value)) for name, index, value in writes]


async def refused(bench: PairBench, end: EndpointPort, cause: str) -> None:
    """Check that an error is reported alone, with its interrupt, and clear it."""
    bit = 1 << CAUSES.index(cause)
    await end.until("ERROR", bit, (1 << len(CAUSES)) - 1)
    for enabled in (bit, ~bit & (1 << len(CAUSES)) - 1):
        await end.write("IRQ_ENABLE", enabled)
        for _ in range(4):
            await RisingEdge(bench.dut.clk)
        assert int(end.pin("irq").value) == (enabled == bit)
    await end.write("ERROR", bit)
    assert await end.read("ERROR") == 0


@test
async def bad_descriptors_are_refused(dut: Any) -> None:
    """Check that work before and after is done."""
    bench = await started(dut, 0.1)
    works, end = Works(bench), bench.ends[0]
    for number, one in enumerate(bench.ends):
        await one.queue(
            [replace(exchange("pp"), operation="set_flows", send=works.flow(number, 0))]
        )
    await rest(bench)
    for one in bench.ends:
        await one.write("DONE", ALL)
    for cause, writes in bad_descriptors():
        for register, index, value in writes:
            await end.write(register, value, index)
        await end.until("STATUS", 0, 2)
        await refused(bench, end, cause)
    await queue_all(bench, works, 3)
    await rest(bench)
    works.check()


@test
async def accesses_at_a_bad_time_are_refused(dut: Any) -> None:
    """Write COMMAND while a descriptor is prepared, for a full queue, and at wrong addresses."""
    bench = await started(dut)
    works, end = Works(bench), bench.ends[0]
    assert await end.bus.write_raw((1 << end.map.address_bits) - 4, 0) == AxiResp.SLVERR
    await refused(bench, end, "address")
    assert await end.bus.write_raw(end.map.register("BYTES").address, 0, 7) == AxiResp.SLVERR
    await refused(bench, end, "strobe")
    # A ring of many members takes long to prepare; with this rank it is refused then.
    command = end.map.register("COMMAND").address
    await end.write("RING", 64 | 64 << 8 | 1 << 16)
    assert await end.bus.write_raw(command, OPERATIONS.index("all_reduce")) == AxiResp.OKAY
    assert await end.bus.write_raw(command, OPERATIONS.index("exchange")) == AxiResp.SLVERR
    await end.until("STATUS", 0, 2)
    both = 1 << CAUSES.index("size") | 1 << CAUSES.index("locked")
    assert await end.read("ERROR") == both
    await end.write("ERROR", both)
    # The other end sends nothing yet, so descriptors stay in the queue.
    parts = [works.add("dp") for _ in range(QUEUE_DEPTH + 2)]
    for part in parts[:-1]:
        await end.queue([part[0]])
    await end.until("STATUS", 1 << 14, 1 << 14)
    for register, index, value in parts[-1][0].writes(FLIT):
        await end.write(register, value, index)
    await end.until("STATUS", 0, 2)
    await refused(bench, end, "full")
    await bench.ends[1].queue([part[1] for part in parts[:-1]])
    await end.queue([parts[-1][0]])
    await bench.ends[1].queue([parts[-1][1]])
    await rest(bench)
    works.check()


@test
async def a_phase_in_use_is_not_forgotten(dut: Any) -> None:
    bench = await started(dut)
    works = Works(bench)
    buffer = Buffer(0, 8 * FLIT)
    bench.fill()
    end, other = bench.ends
    await end.queue([exchange("dp", None, (Buffer(64 * FLIT, 8 * FLIT), works.flow(0, 1)))])
    await end.write("FORGET", 0b10)
    await refused(bench, end, "locked")
    await other.queue([exchange("dp", (buffer, works.flow(1, 1)))])
    await rest(bench)
    await works.forget(0b10, 1)
    await end.queue([exchange("dp", None, (Buffer(64 * FLIT, 8 * FLIT), works.flow(0, 1)))])
    await other.queue([exchange("dp", (buffer, works.flow(1, 1)))])
    await rest(bench)
    count_flits(16)


@test
async def errors_of_the_neighbour_are_reported(dut: Any) -> None:
    bench, codec = await started(dut), FlitCodec(SPEC)
    end = bench.ends[1]
    await end.write("DONE", ALL)
    bench.lines[0].put(codec.pack(0, kind=7, circuit=CONTROL))
    await refused(bench, end, "link")
    bench.lines[0].put(codec.handshake(session_id=1, digest=SPEC.digest ^ 1))
    await refused(bench, end, "partner")
    await end.until("STATUS", 1, 1)
    await bench.exchange("mp")
