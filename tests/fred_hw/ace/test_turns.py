"""Tests of fred_hw.ace.turns."""

from typing import Any

from fred_hw.ace.turns import AceTurns
from fred_hw.ace.work import work_layout
from tests.fred_hw.simulation import simulate, trace

from .works import SPEC, packed

WORK = packed(work_layout(SPEC), block=5, message=2, total=5, steps=3, last_fsm=2)


def test_order_of_three_chunks_and_three_steps() -> None:
    """Two chunks go through their steps together, then the third alone."""
    unit, seen = AceTurns(spec=SPEC), []

    async def bench(ctx: Any) -> None:
        ctx.set(unit.work, WORK)
        ctx.set(unit.begin, 1)
        await ctx.tick()
        ctx.set(unit.begin, 0)
        for _ in range(60):
            if turn := ctx.get(unit.turn):
                seen.append((turn, ctx.get(unit.first), ctx.get(unit.base)))
            ctx.set(unit.advance, int(bool(turn)))
            await ctx.tick()
        assert not ctx.get(unit.active)

    simulate(unit, bench)
    assert [turn for turn, _, _ in seen] == [1, 2] * 3 + [1] * 3
    assert [base for _, first, base in seen if first] == [0, 2, 4]


def test_latency_and_throughput_of_turns() -> None:
    unit = AceTurns(spec=SPEC)
    inputs = [{"begin": 1}, *[{}] * 3, {"advance": 1}, *[{}] * 4]
    seen = trace(unit, inputs, ["turn"], work=WORK)
    assert seen == [0, 0, 0, 0, 1, 0, 0, 0, 2]


def test_reset_leaves_no_turn() -> None:
    unit = AceTurns(spec=SPEC)
    seen = trace(unit, [{"begin": 1}, {"rst": 1}, *[{}] * 6], ("turn", "active"), work=WORK)
    assert seen[2:] == [(0, 0)] * 6
