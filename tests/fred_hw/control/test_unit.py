"""Contract of fred_hw.control.unit, cycle by cycle, in Amaranth's simulator."""

from typing import Any

import pytest

from fred_hw.control.switch_map import CAUSES, COMMANDS, switch_map
from fred_hw.control.unit import ControlUnit
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from tests.fred_hw.simulation import known, played, port, trace

SPEC = SwitchSpec(ports=3, lanes=1, protocol=ProtocolSpec(phases=5))


class ControlUnitBench:
    """A control unit in the simulator, its bus driven one access at a time."""

    def __init__(self, spec: SwitchSpec = SPEC) -> None:
        self.dut: Any = known(ControlUnit(spec=spec))
        self.registers = self.dut.registers

    async def write(self, ctx: Any, name: str, value: int, index: int = 0) -> int:
        """Write a register; this ends in the first cycle of ``bvalid``, which is taken."""
        dut = self.dut
        ctx.set(dut.s_axil_awaddr, self.registers.register(name).address + 4 * index)
        ctx.set(dut.s_axil_wdata, value)
        ctx.set(dut.s_axil_wstrb, 15)
        for valid in (1, 0):
            ctx.set(dut.s_axil_awvalid, valid)
            ctx.set(dut.s_axil_wvalid, valid)
            ctx.set(dut.s_axil_bready, 1)
            await ctx.tick()
        assert ctx.get(dut.s_axil_bvalid)
        return ctx.get(dut.s_axil_bresp)

    async def read(self, ctx: Any, name: str, index: int = 0) -> int:
        """Read a register as it is in the cycle after the one in which this starts."""
        dut = self.dut
        ctx.set(dut.s_axil_araddr, self.registers.register(name).address + 4 * index)
        ctx.set(dut.s_axil_rready, 1)
        for valid in (1, 0):
            ctx.set(dut.s_axil_arvalid, valid)
            await ctx.tick()
        assert ctx.get(dut.s_axil_rvalid)
        value = ctx.get(dut.s_axil_rdata)
        await ctx.tick()
        return value

    async def command(self, ctx: Any, command: str, phase: int) -> None:
        await self.write(ctx, "PHASE", phase)
        await ctx.tick()
        await self.write(ctx, "COMMAND", COMMANDS.index(command))


def shown(ctx: Any, dut: Any) -> tuple[int, int, int]:
    """Return what is to be written."""
    table = dut.table
    return ctx.get(table.write), ctx.get(table.number), ctx.get(table.entry.as_value())


@pytest.mark.parametrize("wait", [0, 1, 9])
@pytest.mark.parametrize("accepted", [0, 1])
@played(ControlUnitBench)
async def test_write_is_high_until_and_with_done(
    bench: ControlUnitBench, ctx: Any, wait: int, accepted: int
) -> None:
    dut = bench.dut
    await bench.write(ctx, "ENTRY", 0xABCD)
    await ctx.tick()
    await bench.command(ctx, "commit", 4)
    for _ in range(wait):
        assert (ctx.get(dut.table.write), ctx.get(dut.table.number)) == (1, 4)
        assert ctx.get(dut.table.entry.as_value()) == 0xABCD
        await ctx.tick()
    assert shown(ctx, dut) == (1, 4, 0xABCD)
    ctx.set(dut.table.done, 1)
    ctx.set(dut.table.accepted, accepted)
    await ctx.tick()
    ctx.set(dut.table.done, 0)
    assert ctx.get(dut.table.write) == 0
    assert await bench.read(ctx, "COMMAND_STATUS") == (0 if accepted else 2)


@played(ControlUnitBench)
async def test_erase_writes_zeros_and_leaves_staging(bench: ControlUnitBench, ctx: Any) -> None:
    await bench.write(ctx, "ENTRY", 0xFFFF)
    await ctx.tick()
    await bench.command(ctx, "erase", 2)
    assert (ctx.get(bench.dut.table.write), ctx.get(bench.dut.table.entry.as_value())) == (1, 0)
    ctx.set(bench.dut.table.done, 1)
    ctx.set(bench.dut.table.accepted, 1)
    await ctx.tick()
    assert await bench.read(ctx, "ENTRY") == 0xFFFF


@played(ControlUnitBench)
async def test_latency_of_a_load_is_two_cycles_from_the_number(
    bench: ControlUnitBench, ctx: Any
) -> None:
    dut = bench.dut
    await bench.write(ctx, "PHASE", 3)
    await ctx.tick()
    assert ctx.get(dut.table.number) == 0
    await bench.write(ctx, "COMMAND", COMMANDS.index("load"))
    # With the answer the number changes: cycle 0. Each cycle shows another entry.
    for cycle in range(5):
        assert ctx.get(dut.table.number) == 3
        assert ctx.get(dut.table.write) == 0
        ctx.set(dut.table.stored.as_value(), 0x100 + cycle)
        await ctx.tick()
        want = 0x102 if cycle >= 2 else 0
        assert ctx.get(dut.table.entry.as_value()) == want


@pytest.mark.parametrize("phase", [5, 8, 13, 1 << 31])
@pytest.mark.parametrize("command", COMMANDS[1:])
@played(ControlUnitBench)
async def test_phase_out_of_range_changes_nothing(
    bench: ControlUnitBench, ctx: Any, command: str, phase: int
) -> None:
    dut = bench.dut
    ctx.set(dut.table.stored.as_value(), 0x55)
    await bench.command(ctx, command, phase)
    for _ in range(6):
        assert shown(ctx, dut) == (0, 0, 0)
        await ctx.tick()
    assert await bench.read(ctx, "COMMAND_STATUS") == 2
    assert await bench.read(ctx, "ERROR") == 1 << list(CAUSES).index("configuration")


async def sampled(
    bench: ControlUnitBench, ctx: Any, name: str, index: int, cycle: int, events: dict[str, int]
) -> int:
    """Give events in cycle 0, and return what a register is in another cycle, 0 or later."""
    dut, found = bench.dut, 0
    for now in range(-1, cycle + 2):
        for member, value in events.items():
            ctx.set(port(dut, member), value * (now == 0))
        ctx.set(dut.s_axil_araddr, bench.registers.register(name).address + 4 * index)
        ctx.set(dut.s_axil_arvalid, now == cycle - 1)
        ctx.set(dut.s_axil_rready, 1)
        assert ctx.get(dut.s_axil_rvalid) == (now == cycle + 1)
        found = ctx.get(dut.s_axil_rdata)
        await ctx.tick()
    return found


KIND = list(CAUSES).index("kind")


@pytest.mark.parametrize(
    ("events", "name", "index", "latency", "want"),
    [
        ({"errors.kind": 0b110}, "ERROR", 0, 1, 1 << KIND),
        ({"errors.kind": 0b110}, "ERROR_FIRST", 0, 1, 1 | KIND << 8 | 1 << 16),
        ({"errors.kind": 0b110}, "ERROR_COUNT", KIND, 2, 2),
        ({"counts.phase_starts": 1}, "PHASE_STARTS", 0, 1, 1),
        ({"counts.preemptions": 1}, "PREEMPTIONS", 0, 1, 1),
        ({"counts.reconfiguration_cycles": 1}, "RECONFIGURATION_CYCLES", 0, 1, 1),
        ({"counts.flits_in": 0b110}, "FLITS_IN", 2, 1, 1),
        ({"counts.rewinds": 0b010}, "REWINDS", 1, 1, 1),
    ],
)
@played(ControlUnitBench)
async def test_latency_from_an_event_to_its_register(
    bench: ControlUnitBench,
    ctx: Any,
    events: dict[str, int],
    name: str,
    index: int,
    latency: int,
    want: int,
) -> None:
    for cycle in range(latency + 1):
        for clear in (4, 2):
            await bench.write(ctx, "CONTROL", clear)
            await ctx.tick()
        found = await sampled(bench, ctx, name, index, cycle, events)
        assert found == (want if cycle >= latency else 0)


@played(ControlUnitBench)
async def test_latency_from_an_error_that_is_enabled_to_the_interrupt(
    bench: ControlUnitBench, ctx: Any
) -> None:
    dut = bench.dut
    await bench.write(ctx, "IRQ_ENABLE", 1 << KIND)
    await ctx.tick()
    ctx.set(dut.errors.length, 1)
    await ctx.tick()
    ctx.set(dut.errors.length, 0)
    for _ in range(3):
        assert ctx.get(dut.irq) == 0
        await ctx.tick()
    ctx.set(dut.errors.kind, 1)
    await ctx.tick()
    ctx.set(dut.errors.kind, 0)
    assert ctx.get(dut.irq) == 0
    await ctx.tick()
    assert ctx.get(dut.irq) == 1


@pytest.mark.parametrize(
    ("events", "cause", "port"),
    [
        ({"errors.phase": 0b100, "errors.stuck": 0b001}, "phase", 2),
        ({"errors.stuck": 0b110, "errors.overflow": 0b100}, "overflow", 2),
        ({"errors.length": 0b111, "errors.kind": 0b111}, "length", 0),
    ],
)
@played(ControlUnitBench)
async def test_first_error_is_that_of_the_lowest_cause_and_port(
    bench: ControlUnitBench, ctx: Any, events: dict[str, int], cause: str, port: int
) -> None:
    want = 1 | list(CAUSES).index(cause) << 8 | port << 16
    assert await sampled(bench, ctx, "ERROR_FIRST", 0, 2, events) == want
    # Others do not replace it.
    assert await sampled(bench, ctx, "ERROR_FIRST", 0, 2, {"errors.phase": 0b010}) == want


@pytest.mark.parametrize("by_control", [True, False])
@played(ControlUnitBench)
async def test_error_in_the_cycle_of_clearing_is_the_first_one(
    bench: ControlUnitBench, ctx: Any, by_control: bool
) -> None:
    dut = bench.dut
    await sampled(bench, ctx, "ERROR_FIRST", 0, 1, {"errors.phase": 0b001})
    name, value = ("CONTROL", 4) if by_control else ("ERROR_FIRST", 1)
    ctx.set(dut.s_axil_awaddr, bench.registers.register(name).address)
    ctx.set(dut.s_axil_wdata, value)
    ctx.set(dut.s_axil_wstrb, 15)
    ctx.set(dut.s_axil_bready, 1)
    for cycle in range(3):
        ctx.set(dut.s_axil_awvalid, cycle == 0)
        ctx.set(dut.s_axil_wvalid, cycle == 0)
        ctx.set(dut.errors.stuck, 0b100 * (cycle == 1))
        await ctx.tick()
    stuck = list(CAUSES).index("stuck")
    assert await bench.read(ctx, "ERROR_FIRST") == 1 | stuck << 8 | 2 << 16
    assert await bench.read(ctx, "ERROR_COUNT", stuck) == 1
    bits = 1 << stuck | (0 if by_control else 1)
    assert await bench.read(ctx, "ERROR") == bits


def test_each_spec_has_ports_of_its_size() -> None:
    wide = ControlUnit(spec=SwitchSpec(ports=12, protocol=ProtocolSpec(phases=64)))
    assert (len(wide.table.number), len(wide.active_phase), len(wide.errors.kind)) == (6, 7, 12)
    single = ControlUnit(spec=SwitchSpec(ports=2, protocol=ProtocolSpec(phases=1)))
    assert (len(single.table.number), len(single.active_phase), len(single.counts.dropped)) == (
        1,
        1,
        2,
    )
    assert len(single.table.entry.as_value()) == len(single.table.stored.as_value()) == 18


@played(ControlUnitBench)
async def test_queued_shows_which_phases_have_packets_and_unicasts_which_ports_have_some(
    bench: ControlUnitBench, ctx: Any
) -> None:
    ctx.set(bench.dut.queued, 0b10110)
    ctx.set(bench.dut.unicasts, 0b101)
    assert await bench.read(ctx, "QUEUED") == 0b10110
    assert await bench.read(ctx, "UNICASTS") == 0b101


@played(ControlUnitBench)
async def test_throughput_is_an_event_of_every_port_per_cycle(
    bench: ControlUnitBench, ctx: Any
) -> None:
    for cycle in range(4):
        ctx.set(bench.dut.counts.flits_in, 0b111 if cycle < 3 else 0)
        ctx.set(bench.dut.errors.kind, 0b111 if cycle < 3 else 0)
        await ctx.tick()
    assert [await bench.read(ctx, "FLITS_IN", port) for port in range(3)] == [3, 3, 3]
    assert await bench.read(ctx, "ERROR_COUNT", KIND) == 9


def test_reset_gives_up_a_command() -> None:
    registers = switch_map(SPEC)
    command = {"s_axil_awaddr": registers.register("COMMAND").address, "s_axil_wdata": 1}
    command |= {"s_axil_wstrb": 15, "s_axil_awvalid": 1, "s_axil_wvalid": 1}
    cycles = [command, {}, {}, {}, {"rst": 1}, {}]
    seen = trace(ControlUnit(spec=SPEC), cycles, ["table.write", "s_axil_bvalid"])
    assert seen == [(0, 0), (0, 0), (1, 1), (1, 1), (1, 1), (0, 0)]
