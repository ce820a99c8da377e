"""Tests of tests.fred_hw.quick_compiler: its simulators show what Amaranth's own show."""

import random
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, Signal, signed
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator
from amaranth.sim import _pyrtl as amaranth_compiler

from tests.fred_hw.quick_compiler import quick_compiler
from tests.fred_hw.simulation import simulate


class Mixed(Elaboratable):
    """A design with each kind of statement and value that the compiler writes differently."""

    def __init__(self) -> None:
        self.a, self.b, self.index = Signal(8), Signal(signed(5)), Signal(2)
        self.shown = [Signal(12, name="sum"), Signal(signed(9), name="part", init=-3)]
        self.shown += [Signal(8, name=f"item{k}", reset_less=k == 1, init=k) for k in range(4)]
        self.shown += [Signal(16, name="bits"), Signal(8, name="read"), Signal(8, name="held")]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        total, part, *items, bits, read, held = self.shown
        m.d.comb += [
            total.eq(self.a * 3 + self.b - Mux(self.index[0], items[1], part)),
            bits.eq(Cat(self.b, self.a[2:6], ~self.a.bit_select(self.index, 3), self.a.any())),
            bits[15].eq(self.b < 0),
        ]
        m.submodules.words = words = Memory(shape=8, depth=4, init=[1, 2, 3, 4])
        port, ahead = words.write_port(granularity=4), words.read_port(domain="comb")
        m.d.comb += [port.addr.eq(self.index), port.data.eq(self.a), port.en.eq(self.b[:2])]
        m.d.comb += [ahead.addr.eq(self.index + 1), read.eq(ahead.data)]
        m.d.sync += Array(items)[self.index].eq(self.a)
        m.d.sync += part[2:6].eq(part[1:5] ^ self.b[:4])
        with m.Switch(self.a):
            with m.Case("1-------"):
                m.d.sync += part.eq(-self.b)
            with m.Case(3, 7):
                m.d.sync += held[4:].eq(self.index)
            with m.Default():
                m.d.sync += held.eq(held + 1)
        return m


def shown_by(simulator: Simulator, design: Mixed) -> list[list[int]]:
    """Return what all outputs show after each of many inputs."""
    seen: list[list[int]] = []
    draw = random.Random(5)

    async def bench(ctx: Any) -> None:
        for _ in range(400):
            ctx.set(design.a, draw.getrandbits(8))
            ctx.set(design.b, draw.randrange(-16, 16))
            ctx.set(design.index, draw.getrandbits(2))
            seen.append([ctx.get(one) for one in design.shown])
            await ctx.tick()

    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def test_every_signal_shows_the_same_in_every_cycle() -> None:
    plain, quick = Mixed(), Mixed()
    want = shown_by(Simulator(plain), plain)
    with quick_compiler():
        simulator = Simulator(quick)
    assert all(len(set(values)) > 10 or k == 1 for k, values in enumerate(zip(*want, strict=True)))
    assert shown_by(simulator, quick) == want


def test_amaranth_is_as_it_was_afterwards() -> None:
    before = amaranth_compiler._PythonEmitter
    with quick_compiler():
        assert amaranth_compiler._PythonEmitter is not before
    assert amaranth_compiler._PythonEmitter is before


def test_inputs_set_together_are_seen_together_and_outputs_are_not_set() -> None:
    design = Mixed()

    async def bench(ctx: Any) -> None:
        ctx.set(design.a[4:8], 0xA)
        ctx.set(design.a[:4][1:3], 0b111)  # which has two bits
        ctx.set(design.b, -3)
        assert (ctx.get(design.a), ctx.get(design.b)) == (0xA6, -3)
        assert ctx.get(design.a[1:8][1:4]) == 0b001
        assert ctx.get(design.shown[0]) == 0xA6 * 3 - 3 + 3
        with pytest.raises(Exception, match="driven"):
            ctx.set(design.shown[0], 1)

    simulate(design, bench)
