"""Tests of fred_hw.control.counter, in Amaranth's simulator."""

# Amaranth has no types.
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from fred_hw.control.counter import SaturatingCounter


@pytest.mark.parametrize(("sources", "width"), [(1, 1), (1, 4), (5, 4), (12, 9)])
def test_counts_every_source_up_to_the_largest_value(sources: int, width: int) -> None:
    dut, rng, most = SaturatingCounter(sources=sources, width=width), random.Random(1), 0
    clear = 0.5**width / sources

    async def bench(ctx: Any) -> None:
        nonlocal most
        want = before = 0
        for _ in range(2000):
            events, clears = rng.getrandbits(sources), rng.random() < clear
            ctx.set(dut.events, events)
            ctx.set(dut.clear, clears)
            await ctx.tick()
            want = 0 if clears else min(want + before, (1 << width) - 1)
            before = events.bit_count()
            assert ctx.get(dut.count) == want
            most += want == (1 << width) - 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert most > 100
