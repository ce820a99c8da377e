"""Tests of fred_hw.ace.engine: one alone sends to itself; see tests/testbench/collectives too."""

from typing import Any, ClassVar

import pytest

from fred_hw.ace.endpoint_map import CAUSES, COUNTERS
from fred_hw.ace.engine import AceEngine
from fred_hw.ace.memory_port import READ_PORTS
from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring, exchange
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import class_number
from tests.fred_hw.simulation import played, simulate

from .works import SPEC, TWO, MemoryBench

SIZE = 24
PP = class_number("pp")


class EngineBench(MemoryBench):
    """Memory, registers and streams of an engine, a cycle at a time."""

    spec: ClassVar[SwitchSpec] = SPEC

    def __init__(self) -> None:
        memory = {place: 1000 + place for place in range(SIZE)}
        super().__init__(AceEngine(spec=self.spec), memory)
        prefixes = READ_PORTS[: self.spec.endpoint.read_ports]
        self.queues: dict[str, list[int]] = {prefix: [] for prefix in prefixes}
        self.times |= {f"{prefix}read": [] for prefix in prefixes}
        self.times["send"] = []
        self.now = 0
        self.space: int | None = None  # whether the link takes a flit, if it does not loop it
        # So often memory does not take what is offered.
        self.refused = {**{f"{prefix}read": 0 for prefix in prefixes}, "write": 0}

    async def cycle(self, ctx: Any) -> None:
        """Serve memory, loop what circuit PP sends back to it, and tick."""
        unit = self.dut
        memory, send, receive = unit.memory, unit.send[PP], unit.receive[PP]
        ctx.set(unit.idle, 7)
        taken = {name: self.takes(ctx, name) for name in self.refused}
        for prefix, queue in self.queues.items():
            words = getattr(memory, f"{prefix}data")
            ctx.set(words.valid, int(bool(queue)))
            ctx.set(words.payload, queue[0] if queue else 0)
        ctx.set(receive.valid, ctx.get(send.valid))
        ctx.set(receive.data, ctx.get(send.data))
        ctx.set(send.ready, self.space if self.space is not None else ctx.get(receive.ready))
        for prefix, queue in self.queues.items():
            words, read = (getattr(memory, f"{prefix}{name}") for name in ("data", "read"))
            if ctx.get(words.valid) and ctx.get(words.ready):
                queue.pop(0)
            if taken[f"{prefix}read"]:
                queue.append(self.memory[ctx.get(read.payload)])
                self.times[f"{prefix}read"].append(self.now)
        if ctx.get(send.valid) and ctx.get(send.ready):
            self.times["send"].append(self.now)
        if taken["write"]:
            self.memory[ctx.get(memory.write.payload.address)] = ctx.get(memory.write.payload.data)
            self.times["write"].append(self.now)
        self.now += 1
        await ctx.tick()

    async def reset(self, ctx: Any) -> None:
        """Reset the engine for a cycle; memory forgets what it was asked for."""
        await super().reset(ctx)
        for queue in self.queues.values():
            queue.clear()

    def takes(self, ctx: Any, name: str) -> bool:
        """Return whether memory takes a word that is offered now."""
        port = getattr(self.dut.memory, name)
        offered, refuses = bool(ctx.get(port.valid)), self.refused[name] > 0
        self.refused[name] -= offered and refuses
        ctx.set(port.ready, not refuses)
        return offered and not refuses

    async def copy(self, ctx: Any, to: int) -> None:
        """Queue a copy of the buffer, by way of the streams, to a place in memory [flits]."""
        send = Buffer(0, 2 * SIZE), FlowId(1)
        receive = Buffer(2 * to, 2 * SIZE), FlowId(2)
        await self.write(ctx, *exchange("pp", send, receive).writes(2))
        self.times["command"] = [self.now - 1]

    def copied(self, to: int) -> list[int | None]:
        """Return what is in memory where a copy goes."""
        return [self.memory.get(to + place) for place in range(SIZE)]


ORIGINAL = [1000 + place for place in range(SIZE)]


@played(EngineBench)
async def test_latency_and_throughput_of_a_buffer_that_is_sent_and_received(
    bench: EngineBench, ctx: Any
) -> None:
    await bench.copy(ctx, 100)
    await bench.run(ctx, 110)
    assert bench.copied(100) == ORIGINAL
    assert bench.times["read"][0] - bench.times["command"][0] == 14
    assert len(bench.times["read"]) == len(bench.times["write"]) == SIZE
    # A chunk is sent without a gap.
    assert bench.times["send"][7] - bench.times["send"][0] == 7


@played(EngineBench)
async def test_latency_from_an_error_of_the_link_to_the_interrupt_is_two_cycles(
    bench: EngineBench, ctx: Any
) -> None:
    seen, link_error = [], 1 << list(CAUSES).index("link")
    for enabled in (0, link_error):
        await bench.write(ctx, ("IRQ_ENABLE", 0, enabled))
        for link in (1, 0, 0, 0):
            ctx.set(bench.dut.link, link)
            seen.append(ctx.get(bench.dut.irq))
            await bench.cycle(ctx)
        await bench.write(ctx, ("ERROR", 0, link_error))
    assert seen == [0, 0, 0, 0, 0, 0, 1, 1]


@played(EngineBench)
async def test_flow_stays_while_flits_wait_for_the_link(bench: EngineBench, ctx: Any) -> None:
    """A full window hides them from the link: acks of all before come, and it is idle."""
    unit, seen = bench.dut, []
    bench.space = 0
    for flow in (1, 2):
        await bench.write(ctx, *exchange("pp", (Buffer(0, 6), FlowId(flow))).writes(2))
    await bench.run(ctx, 60)
    status = await bench.read(ctx, "STATUS")
    seen.append((ctx.get(unit.send_flow[PP].phase), status >> 8 & 7))
    bench.space = 1
    await bench.run(ctx, 60)
    seen.append((ctx.get(unit.send_flow[PP].phase), len(bench.times["send"])))
    assert seen == [(1, 7 & ~(1 << PP)), (2, 6)]


@pytest.mark.parametrize("flits", [1, 2, 3])
@played(EngineBench)
async def test_phase_is_not_forgotten_while_its_flits_wait_for_the_link(
    bench: EngineBench, ctx: Any, flits: int
) -> None:
    """The virtual channel is not at rest between the end of the descriptor and its last flit."""
    bench.space = 0
    await bench.write(ctx, *exchange("pp", (Buffer(0, 2 * flits), FlowId(1))).writes(2))
    await bench.run(ctx, 80)
    assert await bench.read(ctx, "COMPLETED", PP) == 1
    for space, locked in ((0, 1 << list(CAUSES).index("locked")), (1, 0)):
        bench.space = space
        await bench.run(ctx, 40)
        await bench.write(ctx, ("FORGET", 0, 0b10))
        await bench.run(ctx, 10)
        assert await bench.read(ctx, "ERROR") == locked
        await bench.write(ctx, ("ERROR", 0, locked))


@pytest.mark.parametrize("others", [0, 1, 2])
@played(EngineBench)
async def test_phase_of_a_descriptor_that_waits_in_the_queue_is_not_forgotten(
    bench: EngineBench, ctx: Any, others: int
) -> None:
    """The link takes no flit of the first one. Eight writings later packets have equal bits."""

    async def send(phase: int, generation: int = 0) -> None:
        flow = FlowId(phase, generation=generation)
        await bench.write(ctx, *exchange("pp", (Buffer(0, 6), flow)).writes(2))
        await bench.run(ctx, 10)

    async def errors() -> int:
        found = await bench.read(ctx, "ERROR")
        await bench.write(ctx, ("ERROR", 0, found))
        return found

    async def forget() -> None:
        await bench.write(ctx, ("FORGET", 0, 0b10))
        await bench.run(ctx, 10)

    locked, flow = (1 << list(CAUSES).index(one) for one in ("locked", "flow"))
    bench.space = 0
    for phase in (*[2] * (1 + others), 1):
        await send(phase)
    await bench.run(ctx, 40)
    await forget()
    assert await errors() == locked
    await send(1, generation=8)
    assert await errors() == flow
    bench.space = 1
    await bench.run(ctx, 200)
    await forget()
    await send(1, generation=8)
    await bench.run(ctx, 60)
    assert await errors() == 0
    assert await bench.read(ctx, "COMPLETED", PP) == others + 3
    assert ctx.get(bench.dut.send_flow[PP].phase) == 1
    assert len(bench.times["send"]) == 3 * (others + 3)


@played(EngineBench)
async def test_reset_forgets_descriptors(bench: EngineBench, ctx: Any) -> None:
    """A reset in the middle of one, with another waiting: neither goes on, a new one is done."""
    await bench.copy(ctx, 100)
    await bench.copy(ctx, 200)
    await bench.until_written(ctx, 3)
    assert await bench.read(ctx, "STATUS") >> 4 & 7 == 1 << PP
    await bench.reset(ctx)
    before = bench.counts()
    assert 3 <= before["write"] < before["send"] < SIZE
    await bench.run(ctx, 150)
    assert bench.counts() == before
    assert await bench.read(ctx, "STATUS") >> 4 & 7 == 0
    await bench.copy(ctx, 300)
    await bench.run(ctx, 110)
    assert await bench.read(ctx, "COMPLETED", PP) == 1
    assert None in bench.copied(100)
    assert bench.copied(200) == SIZE * [None]
    assert bench.copied(300) == ORIGINAL


# A buffer of 5 flits is copied; one of 8 reduced in a ring of 4, which sends 3 blocks of 2, adds to
# each that comes and writes the last; one of 3 is sent, and comes nowhere. No two are equal.
COUNTS = {
    "memory_reads": 5 + 8 + 3,
    "memory_writes": 5 + 2,
    "read_stalls": 9,
    "write_stalls": 4,
    "flits_sent": 5 + 6 + 3,
    "flits_received": 5 + 6,
    "flits_reduced": 6,
    "rewinds": 3,
    "dropped": 2,
}


async def counters(bench: EngineBench, ctx: Any) -> None:
    """Compare all counters with what was done."""
    out, back = FlowId(1), FlowId(2)
    ring = Ring(members=4, rank=0, message_bytes=4)
    sums = Descriptor(
        operation="reduce_scatter",
        circuit="pp",
        source=Buffer(0, 16),
        destination=Buffer(400, 16),
        send=out,
        receive=back,
        ring=ring,
    )
    stalls = COUNTS["read_stalls"]
    bench.refused = {"read": stalls, "write": COUNTS["write_stalls"]}
    if bench.spec.endpoint.read_ports == 2:
        bench.refused |= {"read": stalls - 4, "operand_read": 4}
    await bench.write(ctx, *exchange("pp", (Buffer(0, 10), out), (Buffer(200, 10), back)).writes(2))
    await bench.write(ctx, *sums.writes(2))
    await bench.run(ctx, 150)
    bench.space = 1
    await bench.write(ctx, *exchange("pp", (Buffer(0, 6), out)).writes(2))
    for name in ("rewinds", "dropped"):
        event = getattr(bench.dut, name)
        ctx.set(event, 1)
        await bench.run(ctx, COUNTS[name])
        ctx.set(event, 0)
    await bench.run(ctx, 60)
    await bench.write(ctx, ("CONTROL", 0, 1))  # freeze
    cycles = bench.now - 2  # a counter counts a cycle two cycles later
    assert await bench.read(ctx, "COMPLETED", PP) == 3
    found = {name: await bench.read(ctx, name.upper()) for name in COUNTERS}
    assert found == {"cycles": cycles, **COUNTS}


@played(EngineBench)
async def test_counters_say_how_many_there_were(bench: EngineBench, ctx: Any) -> None:
    await counters(bench, ctx)


class TwoPorts(EngineBench):
    """An engine with two ports to read memory."""

    spec = TWO


@pytest.mark.slow
@played(TwoPorts)
async def test_counters_have_what_both_ports_did(bench: TwoPorts, ctx: Any) -> None:
    """What is added is read on the second port: each flit on one of them, and once."""
    await counters(bench, ctx)
    counts = bench.counts()
    assert (counts["read"], counts["operand_read"]) == (5 + 2 + 3, 6)


def ring_of(operation: str, to: int) -> Descriptor:
    """Return a ring of four whose flits this one sends to itself."""
    return Descriptor(
        operation=operation,
        circuit="pp",
        source=Buffer(0, 2 * SIZE),
        destination=Buffer(2 * to, 2 * SIZE),
        send=FlowId(1),
        receive=FlowId(2),
        ring=Ring(members=4, rank=1, message_bytes=4, fsms=2),
    )


def results(bench: EngineBench, *stalls: tuple[str, int]) -> dict[int, int]:
    """Return what is in memory behind rings and a copy between them, and how long that took.

    Memory does not take the first so many words that each port offers.
    """

    async def play(ctx: Any) -> None:
        bench.refused |= dict(stalls)
        for operation, to in (("all_reduce", 100), ("reduce_scatter", 200)):
            await bench.write(ctx, *ring_of(operation, to).writes(2))
            await bench.run(ctx, 12)
        await bench.copy(ctx, 300)
        await bench.run(ctx, 12)
        await bench.write(ctx, *ring_of("all_reduce", 400).writes(2))
        await bench.run(ctx, 700)
        assert await bench.read(ctx, "COMPLETED", PP) == 4
        assert await bench.read(ctx, "ERROR") == 0
        reads = sum(len(times) for name, times in bench.times.items() if name.endswith("read"))
        assert reads == await bench.read(ctx, "MEMORY_READS") == 4 * SIZE

    simulate(bench.dut, play)
    return bench.memory


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "stalls",
    [
        (),
        (("read", 90),),
        (("operand_read", 90),),
        (("read", 40), ("operand_read", 55), ("write", 9)),
    ],
    ids=["none", "first", "second", "all"],
)
def test_two_ports_do_what_one_does_whichever_waits(stalls: tuple[tuple[str, int], ...]) -> None:
    assert results(TwoPorts(), *stalls) == results(EngineBench())


@played(TwoPorts)
async def test_reset_forgets_what_both_ports_read(bench: TwoPorts, ctx: Any) -> None:
    """In the middle of a ring, with chunks in slots: the next one begins with slot 0."""
    await bench.write(ctx, *ring_of("all_reduce", 100).writes(2))
    while len(bench.times["operand_read"]) < 7:
        await bench.cycle(ctx)
    await bench.reset(ctx)
    before = bench.counts()
    await bench.run(ctx, 100)
    assert bench.counts() == before and before["write"] < SIZE
    await bench.write(ctx, *ring_of("all_reduce", 400).writes(2))
    await bench.run(ctx, 300)
    assert await bench.read(ctx, "COMPLETED", PP) == 1
    whole = results(EngineBench())
    assert bench.copied(400) == [whole[400 + place] for place in range(SIZE)]
