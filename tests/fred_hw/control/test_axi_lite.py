"""Contract of fred_hw.control.axi_lite, cycle by cycle, in Amaranth's simulator."""

from typing import Any

import pytest
from amaranth.sim import Simulator

from fred_hw.control.axi_lite import OKAY, SLVERR, AxiLiteRegisters
from fred_hw.control.registers import Field, Register, RegisterMap
from tests.fred_hw.simulation import known, played, trace

KEPT, PULSE, BITS, SHOWN, STAGED, FIXED = 0, 4, 8, 12, 16, 32
MAP = RegisterMap(
    "test",
    "",
    (
        Register(
            "KEPT",
            KEPT,
            "Kept",
            (Field("low", 0, 4, "rw", "Low", 5), Field("high", 30, 2, "rw", "High")),
        ),
        Register("PULSE", PULSE, "Pulse", (Field("act", 1, 3, "pulse", "Act"),), lockable=True),
        Register("BITS", BITS, "Bits", (Field("set", 4, 4, "w1c", "Bits"),)),
        Register("SHOWN", SHOWN, "Shown", (Field("value", 8, 8, "ro", "Given"),)),
        Register(
            "STAGED",
            STAGED,
            "Staged",
            (Field("value", 0, 32, "rw", "Words", 0x80000001, loads=True),),
            count=3,
            total_bits=70,
            lockable=True,
        ),
        Register("FIXED", FIXED, "Fixed", (Field("value", 0, 8, "constant", "Fixed", 0xA5),)),
    ),
)


class RegistersBench:
    """A slave in the simulator; all drives are for the cycle that the next tick ends."""

    def __init__(self) -> None:
        self.dut: Any = known(AxiLiteRegisters(registers=MAP))

    def offer(self, ctx: Any, address: int, value: int, strobe: int = 15) -> None:
        dut = self.dut
        ctx.set(dut.s_axil_awaddr, address)
        ctx.set(dut.s_axil_wdata, value)
        ctx.set(dut.s_axil_wstrb, strobe)
        ctx.set(dut.s_axil_awvalid, 1)
        ctx.set(dut.s_axil_wvalid, 1)

    async def begin(self, ctx: Any, address: int, value: int, strobe: int = 15) -> None:
        """Have a write taken; it acts in the cycle in which this ends."""
        self.offer(ctx, address, value, strobe)
        await ctx.tick()
        ctx.set(self.dut.s_axil_awvalid, 0)
        ctx.set(self.dut.s_axil_wvalid, 0)

    async def write(self, ctx: Any, address: int, value: int, strobe: int = 15) -> int:
        await self.begin(ctx, address, value, strobe)
        return await self.answer(ctx)

    async def answer(self, ctx: Any) -> int:
        """Take the answer to a write, which must come in the next cycle."""
        dut = self.dut
        assert ctx.get(dut.s_axil_bvalid) == 0
        await ctx.tick()
        assert ctx.get(dut.s_axil_bvalid) == 1
        ctx.set(dut.s_axil_bready, 1)
        resp = ctx.get(dut.s_axil_bresp)
        await ctx.tick()
        ctx.set(dut.s_axil_bready, 0)
        return resp

    async def read(self, ctx: Any, address: int) -> tuple[int, int]:
        dut = self.dut
        ctx.set(dut.s_axil_araddr, address)
        ctx.set(dut.s_axil_arvalid, 1)
        await ctx.tick()
        ctx.set(dut.s_axil_arvalid, 0)
        assert ctx.get(dut.s_axil_rvalid) == 0
        await ctx.tick()
        assert ctx.get(dut.s_axil_rvalid) == 1
        ctx.set(dut.s_axil_rready, 1)
        found = ctx.get(dut.s_axil_rdata), ctx.get(dut.s_axil_rresp)
        await ctx.tick()
        ctx.set(dut.s_axil_rready, 0)
        return found


def test_members_of_one_name_are_refused() -> None:
    fields = (Field("a", 0, 1, "w1c", "Bit"), Field("a_set", 1, 1, "rw", "Bit"))
    registers = RegisterMap("twice", "", (Register("R", 0, "Bits", fields),))
    with pytest.raises(
        ValueError, match=r"^members of R must have names that are not in use, not \['r_a_set'\]$"
    ):
        AxiLiteRegisters(registers=registers)


@played(RegistersBench)
async def test_fields_start_with_their_values(bench: RegistersBench, ctx: Any) -> None:
    assert await bench.read(ctx, KEPT) == (5, OKAY)
    assert await bench.read(ctx, FIXED) == (0xA5, OKAY)
    words = [await bench.read(ctx, STAGED + 4 * index) for index in range(3)]
    assert words == [(0x80000001, OKAY), (0x80000001, OKAY), (1, OKAY)]


@played(RegistersBench)
async def test_write_keeps_fields_and_ignores_other_bits(bench: RegistersBench, ctx: Any) -> None:
    assert await bench.write(ctx, KEPT, 0xFFFFFFFA) == OKAY
    assert await bench.read(ctx, KEPT) == (0xC000000A, OKAY)
    assert (ctx.get(bench.dut.kept_low), ctx.get(bench.dut.kept_high)) == (10, 3)
    assert await bench.write(ctx, STAGED + 8, 0xFFFFFFFF) == OKAY
    assert await bench.read(ctx, STAGED + 8) == (0x3F, OKAY)
    assert ctx.get(bench.dut.staged_value) == 0x3F_80000001_80000001


@played(RegistersBench)
async def test_latency_of_a_written_value_is_that_of_the_answer(
    bench: RegistersBench, ctx: Any
) -> None:
    await bench.begin(ctx, KEPT, 9)
    assert ctx.get(bench.dut.kept_low) == 5
    await ctx.tick()
    assert (ctx.get(bench.dut.kept_low), ctx.get(bench.dut.s_axil_bvalid)) == (9, 1)


@pytest.mark.parametrize("address_first", [True, False])
@pytest.mark.parametrize("wait", [1, 5])
@played(RegistersBench)
async def test_address_and_data_come_in_either_order(
    bench: RegistersBench, ctx: Any, address_first: bool, wait: int
) -> None:
    dut = bench.dut
    bench.offer(ctx, KEPT, 3)
    late, early = ("w", "aw") if address_first else ("aw", "w")
    ctx.set(getattr(dut, f"s_axil_{late}valid"), 0)
    await ctx.tick()
    ctx.set(getattr(dut, f"s_axil_{early}valid"), 0)
    for _ in range(wait):
        assert ctx.get(getattr(dut, f"s_axil_{early}ready")) == 0
        assert ctx.get(getattr(dut, f"s_axil_{late}ready")) == 1
        assert ctx.get(dut.s_axil_bvalid) == 0
        await ctx.tick()
    ctx.set(getattr(dut, f"s_axil_{late}valid"), 1)
    await ctx.tick()
    ctx.set(getattr(dut, f"s_axil_{late}valid"), 0)
    assert await bench.answer(ctx) == OKAY
    assert ctx.get(dut.kept_low) == 3


@played(RegistersBench)
async def test_answers_wait_and_hold_up_what_follows(bench: RegistersBench, ctx: Any) -> None:
    dut = bench.dut
    bench.offer(ctx, KEPT, 1)
    await ctx.tick().repeat(2)
    bench.offer(ctx, 0x40, 2)
    ctx.set(dut.s_axil_araddr, FIXED)
    ctx.set(dut.s_axil_arvalid, 1)
    await ctx.tick().repeat(2)
    ctx.set(dut.s_axil_araddr, 0x40)
    for _ in range(5):
        assert (ctx.get(dut.s_axil_bvalid), ctx.get(dut.s_axil_bresp)) == (1, OKAY)
        assert (ctx.get(dut.s_axil_rvalid), ctx.get(dut.s_axil_rdata)) == (1, 0xA5)
        assert ctx.get(dut.s_axil_rresp) == OKAY
        await ctx.tick()
    assert (ctx.get(dut.s_axil_awready), ctx.get(dut.s_axil_wready)) == (0, 0)
    assert ctx.get(dut.s_axil_arready) == 0
    ctx.set(dut.s_axil_bready, 1)
    ctx.set(dut.s_axil_rready, 1)
    await ctx.tick().repeat(2)
    assert (ctx.get(dut.s_axil_bvalid), ctx.get(dut.s_axil_bresp)) == (1, SLVERR)
    assert (ctx.get(dut.s_axil_rvalid), ctx.get(dut.s_axil_rresp)) == (1, SLVERR)


@played(RegistersBench)
async def test_throughput_is_a_write_and_a_read_every_second_cycle(
    bench: RegistersBench, ctx: Any
) -> None:
    dut, counts = bench.dut, {"b": 0, "r": 0}
    bench.offer(ctx, KEPT, 1)
    ctx.set(dut.s_axil_arvalid, 1)
    ctx.set(dut.s_axil_bready, 1)
    ctx.set(dut.s_axil_rready, 1)
    for _ in range(100):
        for channel in counts:
            counts[channel] += ctx.get(getattr(dut, f"s_axil_{channel}valid"))
        await ctx.tick()
    assert counts == {"b": 49, "r": 49}


@pytest.mark.parametrize("address", [KEPT + 1, KEPT + 2, 36, 2048, 4092, SHOWN, FIXED])
@played(RegistersBench)
async def test_write_that_finds_nothing_to_write_is_refused(
    bench: RegistersBench, ctx: Any, address: int
) -> None:
    await bench.begin(ctx, address, 0xFFFFFFFF)
    assert ctx.get(bench.dut.bad_address) == 1
    assert (ctx.get(bench.dut.bad_strobe), ctx.get(bench.dut.bad_lock)) == (0, 0)
    assert await bench.answer(ctx) == SLVERR
    assert ctx.get(bench.dut.bad_address) == 0
    assert ctx.get(bench.dut.kept_low) == 5


@pytest.mark.parametrize("address", [KEPT + 1, SHOWN + 3, 36, 2048, 4092])
def test_read_of_nothing_is_refused(address: int) -> None:
    bench, seen = RegistersBench(), []

    async def test(ctx: Any) -> None:
        ctx.set(bench.dut.shown_value, 0xFF)
        assert await bench.read(ctx, address) == (0, SLVERR)

    async def watch(ctx: Any) -> None:
        async for _, _, bad in ctx.tick().sample(bench.dut.bad_address):
            seen.append(bad)

    simulator = Simulator(bench.dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(test)
    simulator.add_process(watch)
    simulator.run()
    assert sum(seen) == 1


@pytest.mark.parametrize("strobe", range(16))
@played(RegistersBench)
async def test_only_whole_words_are_written(bench: RegistersBench, ctx: Any, strobe: int) -> None:
    await bench.begin(ctx, KEPT, 0, strobe)
    assert ctx.get(bench.dut.bad_strobe) == (strobe != 15)
    assert await bench.answer(ctx) == (OKAY if strobe == 15 else SLVERR)
    assert ctx.get(bench.dut.kept_low) == (0 if strobe == 15 else 5)


@played(RegistersBench)
async def test_lock_refuses_writes_to_its_registers_only(bench: RegistersBench, ctx: Any) -> None:
    dut = bench.dut
    ctx.set(dut.lock, 1)
    for address in (PULSE, STAGED, STAGED + 8):
        await bench.begin(ctx, address, 0)
        assert (ctx.get(dut.bad_lock), ctx.get(dut.pulse_act)) == (1, 0)
        assert await bench.answer(ctx) == SLVERR
    assert await bench.write(ctx, KEPT, 0) == OKAY
    assert await bench.read(ctx, STAGED) == (0x80000001, OKAY)
    ctx.set(dut.lock, 0)
    assert await bench.write(ctx, STAGED, 0) == OKAY
    assert await bench.read(ctx, STAGED) == (0, OKAY)


@played(RegistersBench)
async def test_pulse_lasts_one_cycle_and_reads_zero(bench: RegistersBench, ctx: Any) -> None:
    dut = bench.dut
    await bench.begin(ctx, PULSE, 0xFFFFFFFA)
    assert ctx.get(dut.pulse_act) == 5
    await ctx.tick()
    assert ctx.get(dut.pulse_act) == 0
    ctx.set(dut.s_axil_bready, 1)
    await ctx.tick()
    assert await bench.read(ctx, PULSE) == (0, OKAY)


@played(RegistersBench)
async def test_bits_are_set_by_hardware_and_cleared_by_ones(
    bench: RegistersBench, ctx: Any
) -> None:
    dut = bench.dut
    ctx.set(dut.bits_set_set, 0b0111)
    await ctx.tick()
    ctx.set(dut.bits_set_set, 0)
    assert await bench.read(ctx, BITS) == (0x70, OKAY)
    await bench.begin(ctx, BITS, 0x30)
    # One that comes in the cycle of its clearing stays, but is not among those kept.
    ctx.set(dut.bits_set_set, 0b0001)
    assert ctx.get(dut.bits_set_kept) == 0b0100
    await ctx.tick()
    assert ctx.get(dut.bits_set) == 0b0101
    ctx.set(dut.bits_set_set, 0b1000)
    ctx.set(dut.bits_set_clear, 1)
    await ctx.tick()
    assert ctx.get(dut.bits_set) == 0b1000


@played(RegistersBench)
async def test_loaded_value_wins_against_a_write(bench: RegistersBench, ctx: Any) -> None:
    dut = bench.dut
    ctx.set(dut.staged_value_next, 0x12_89ABCDEF_01234567)
    await bench.begin(ctx, STAGED, 0)
    ctx.set(dut.staged_value_load, 1)
    await ctx.tick()
    ctx.set(dut.staged_value_load, 0)
    await ctx.tick()
    assert ctx.get(dut.staged_value) == 0x12_89ABCDEF_01234567


@played(RegistersBench)
async def test_latency_of_a_value_that_is_read_is_a_cycle(bench: RegistersBench, ctx: Any) -> None:
    dut = bench.dut
    ctx.set(dut.s_axil_araddr, SHOWN)
    ctx.set(dut.s_axil_arvalid, 1)
    for value in (1, 2, 3):
        ctx.set(dut.shown_value, value)
        await ctx.tick()
    assert (ctx.get(dut.s_axil_rvalid), ctx.get(dut.s_axil_rdata)) == (1, 2 << 8)


def test_reset_gives_fields_their_values_and_forgets_answers() -> None:
    write = {"s_axil_awaddr": KEPT, "s_axil_wdata": 10, "s_axil_wstrb": 15}
    write |= {"s_axil_awvalid": 1, "s_axil_wvalid": 1}
    cycles = [write, {}, {}, {"rst": 1}, {}]
    seen = trace(AxiLiteRegisters(registers=MAP), cycles, ["kept_low", "s_axil_bvalid"])
    assert seen == [(5, 0), (5, 0), (10, 1), (10, 1), (5, 0)]
