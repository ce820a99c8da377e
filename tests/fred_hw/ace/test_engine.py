"""Tests of fred_hw.ace.engine: one alone sends to itself; see tests/testbench/collectives too."""

from typing import Any

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.engine import AceEngine
from fred_hw.ace.operations import Buffer, Flow, exchange
from tests.fred_hw.simulation import known, simulate

from .works import SPEC

MAP = endpoint_map(SPEC)
SIZE = 24


class Bench:
    """Memory, registers and streams of an engine, a cycle at a time."""

    def __init__(self) -> None:
        self.unit = known(AceEngine(spec=SPEC))
        self.memory = {place: 1000 + place for place in range(SIZE)}
        self.reads: list[int] = []
        self.times: dict[str, list[int]] = {"read": [], "send": [], "write": []}
        self.now = 0

    async def cycle(self, ctx: Any) -> None:
        """Serve memory, loop what circuit 1 sends back to it, and tick."""
        unit = self.unit
        memory, send, receive = unit.memory, unit.send[1], unit.receive[1]
        for name, value in ((memory.read.ready, 1), (memory.write.ready, 1), (unit.idle, 7)):
            ctx.set(name, value)
        ctx.set(memory.data.valid, int(bool(self.reads)))
        ctx.set(memory.data.payload, self.reads[0] if self.reads else 0)
        ctx.set(receive.valid, ctx.get(send.valid))
        ctx.set(receive.data, ctx.get(send.data))
        ctx.set(send.ready, ctx.get(receive.ready))
        if ctx.get(memory.data.valid) and ctx.get(memory.data.ready):
            self.reads.pop(0)
        if ctx.get(memory.read.valid):
            self.reads.append(self.memory[ctx.get(memory.read.payload)])
            self.times["read"].append(self.now)
        if ctx.get(send.valid) and ctx.get(send.ready):
            self.times["send"].append(self.now)
        if ctx.get(memory.write.valid):
            self.memory[ctx.get(memory.write.payload.address)] = ctx.get(memory.write.payload.data)
            self.times["write"].append(self.now)
        self.now += 1
        await ctx.tick()

    async def write(self, ctx: Any, register: str, index: int, value: int) -> None:
        """Write a register."""
        unit: Any = self.unit
        address = MAP.register(register).address + 4 * index
        for name, one in (("awaddr", address), ("wdata", value), ("wstrb", 15), ("bready", 1)):
            ctx.set(getattr(unit, f"s_axil_{name}"), one)
        for name in ("awvalid", "wvalid"):
            ctx.set(getattr(unit, f"s_axil_{name}"), 1)
        await self.cycle(ctx)
        for name in ("awvalid", "wvalid"):
            ctx.set(getattr(unit, f"s_axil_{name}"), 0)
        for _ in range(2):
            await self.cycle(ctx)


def run(cycles: int) -> Bench:
    """Copy a buffer by way of the streams; return after so many cycles from COMMAND on."""
    bench = Bench()
    copy = exchange("pp", (Buffer(0, 2 * SIZE), Flow(1)), (Buffer(200, 2 * SIZE), Flow(2)))

    async def play(ctx: Any) -> None:
        for register, index, value in copy.writes(2):
            await bench.write(ctx, register, index, value)
        bench.times["command"] = [bench.now - 1]
        for _ in range(cycles):
            await bench.cycle(ctx)

    simulate(bench.unit, play)
    return bench


def test_latency_and_throughput_of_a_buffer_that_is_sent_and_received() -> None:
    bench = run(110)
    copied = [bench.memory.get(100 + place) for place in range(SIZE)]
    assert copied == [1000 + place for place in range(SIZE)]
    assert bench.times["read"][0] - bench.times["command"][0] == 14
    assert len(bench.times["read"]) == len(bench.times["write"]) == SIZE
    # A chunk is sent without a gap.
    assert bench.times["send"][7] - bench.times["send"][0] == 7


def test_reset_forgets_descriptors() -> None:
    assert not run(10).times["write"]
    assert not run(0).times["read"]
