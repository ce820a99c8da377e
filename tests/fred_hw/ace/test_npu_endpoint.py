"""Tests of fred_hw.ace.npu_endpoint; what several do together: tests/testbench/collectives."""

from typing import Any

import pytest

from fred_hw.ace.endpoint_map import CAUSES
from fred_hw.ace.npu_endpoint import BEGIN_CYCLES, END_CYCLES, NpuEndpoint
from fred_hw.ace.operations import Buffer, Descriptor, FlowId, exchange
from fred_hw.ace.work import ADDRESS_BITS
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.protocol import Kind
from tests.fred_hw.endpoint.simulated import greet
from tests.fred_hw.simulation import played, simulate
from tests.fred_hw.specs import kind_of

from .works import SPEC, MemoryBench

SIZE = 48  # flits of a buffer
AHEAD = SPEC.with_changes(
    endpoint=EndpointSpec(fsms=2, slots=4, chunk_flits=8, memory_reads=8)
)  # loads chunks ahead
ADDRESS = 5
DATA = int(Kind.DATA)


class Loop(MemoryBench):
    """An endpoint whose link out is its link in, and its memory, a cycle at a time."""

    def __init__(self) -> None:
        memory = {2 * place: 1000 + place for place in range(SIZE)}
        super().__init__(NpuEndpoint(spec=AHEAD), memory)
        self.kinds: list[int | None] = []
        self.interrupts: list[int] = []

    async def cycle(self, ctx: Any) -> None:
        """Serve memory, give the endpoint what it sends, and tick."""
        unit = self.dut
        for name in ("m_axis", "m_axis_read", "m_axis_write"):
            ctx.set(getattr(unit, f"{name}_tready"), 1)
        for name in ("tvalid", "tdata", "tuser"):
            ctx.set(getattr(unit, f"s_axis_{name}"), ctx.get(getattr(unit, f"m_axis_{name}")))
        ctx.set(unit.s_axis_data_tvalid, int(bool(self.reads)))
        ctx.set(unit.s_axis_data_tdata, self.reads[0] if self.reads else 0)
        now = len(self.kinds)
        self.kinds.append(
            kind_of(ctx.get(unit.m_axis_tuser)) if ctx.get(unit.m_axis_tvalid) else None
        )
        if ctx.get(unit.irq):
            self.interrupts.append(now)
        if self.reads and ctx.get(unit.s_axis_data_tready):
            self.reads.pop(0)
        if ctx.get(unit.m_axis_read_tvalid):
            self.reads.append(self.memory[ctx.get(unit.m_axis_read_tdata)])
            self.times["read"].append(now)
        if ctx.get(unit.m_axis_write_tvalid):
            self.memory[ctx.get(unit.m_axis_write_tuser)] = ctx.get(unit.m_axis_write_tdata)
            self.times["write"].append(now)
        await ctx.tick()

    async def begin(self, ctx: Any) -> None:
        """Write the address and wait for the link."""
        await self.write(ctx, ("ADDRESS", 0, ADDRESS))
        for _ in range(9):
            if await self.read(ctx, "STATUS") & 1:
                return
        raise AssertionError("the link does not come up")

    async def copy(self, ctx: Any, to: int, cycles: int) -> int:
        """Send a buffer to itself, in so many cycles; return when COMMAND was taken."""
        send, receive = FlowId(ADDRESS, unicast=True), FlowId(ADDRESS, unicast=True)
        whole = 2 * SIZE
        copy = exchange("pp", (Buffer(0, whole), send), (Buffer(to, whole), receive))
        await self.write(ctx, *copy.writes(2))
        taken = len(self.kinds) - 1
        await self.run(ctx, cycles)
        return taken

    def copied(self, to: int) -> list[int | None]:
        """Return what is in memory where a copy goes."""
        return [self.memory.get(to + 2 * place) for place in range(SIZE)]


ORIGINAL = [1000 + place for place in range(SIZE)]


@pytest.mark.slow
def test_link_of_a_neighbour_comes_up_after_reset() -> None:
    unit, kinds = NpuEndpoint(spec=SPEC), list[int]()

    async def play(ctx: Any) -> None:
        kinds.extend(await greet(ctx, unit, 25))

    simulate(unit, play)
    assert kinds[0] == Kind.HANDSHAKE


@pytest.mark.slow
@played(Loop)
async def test_latency_and_throughput_of_a_buffer_sent_to_itself(bench: Loop, ctx: Any) -> None:
    await bench.begin(ctx)
    await bench.write(ctx, ("DONE_ENABLE", 0, 7))
    taken = await bench.copy(ctx, 200, 150)
    assert bench.copied(200) == ORIGINAL
    assert bench.times["read"][0] - taken == BEGIN_CYCLES == 14
    assert bench.interrupts[0] - bench.times["write"][-1] == END_CYCLES == 4
    # A flit per cycle, chunk after chunk; on the link messages go between them, and twice there is
    # nothing behind one that held up the flits.
    assert [now - bench.times["read"][0] for now in bench.times["read"]] == list(range(SIZE))
    sent = [now for now, kind in enumerate(bench.kinds) if kind == DATA]
    assert len(sent) == SIZE
    assert bench.kinds[sent[0] : sent[-1]].count(None) <= 2
    assert [now - sent[0] for now in sent] == [
        now - bench.times["write"][0] for now in bench.times["write"]
    ]


@pytest.mark.slow
@played(Loop)
async def test_reset_forgets_all_and_begins_the_link_anew(bench: Loop, ctx: Any) -> None:
    await bench.begin(ctx)
    await bench.copy(ctx, 200, 0)
    await bench.until_written(ctx, 3)
    await bench.reset(ctx)
    bench.kinds.clear()
    before = bench.counts()
    assert before["write"] < SIZE
    await bench.begin(ctx)
    await bench.run(ctx, 150)
    assert bench.counts() == before
    assert next(kind for kind in bench.kinds if kind is not None) == Kind.HANDSHAKE
    assert DATA not in bench.kinds
    await bench.copy(ctx, 300, 150)
    assert None in bench.copied(200)
    assert bench.copied(300) == ORIGINAL


def test_addresses_are_in_bytes_and_whole_bytes_wide() -> None:
    unit = NpuEndpoint(spec=SPEC)
    assert len(unit.m_axis_read_tdata) == len(unit.m_axis_write_tuser) == ADDRESS_BITS == 40
    assert len(unit.s_axis_data_tdata) == len(unit.m_axis_write_tdata) == SPEC.data_width


@pytest.mark.slow
@played(Loop)
async def test_buffer_without_a_flow_is_refused_and_not_sent_for_good(
    bench: Loop, ctx: Any
) -> None:
    await bench.begin(ctx)
    lost = Descriptor(operation="exchange", circuit="pp", source=Buffer(0, 4))
    await bench.write(ctx, *lost.writes(2))
    await bench.run(ctx, 40)
    assert await bench.read(ctx, "ERROR") == 1 << list(CAUSES).index("flow")
    assert DATA not in bench.kinds
