"""Contract of fred_hw.gates.fifo, cycle by cycle."""

import random
from collections import deque
from typing import Any

import pytest

from fred_hw.gates.fifo import Fifo
from tests.fred_hw.simulation import known, simulate, trace


@pytest.mark.parametrize(
    ("parameters", "kind", "text"),
    [
        ({"shape": 8, "depth": 1}, ValueError, "Fifo depth must be 2 or more, not 1"),
        ({"shape": 8, "depth": True}, TypeError, "Fifo depth must be an integer, not True"),
        ({"shape": 0, "depth": 2}, ValueError, "Fifo width must be 1 or more, not 0"),
    ],
)
def test_bad_parameters_are_refused(
    parameters: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=f"^{text}$"):
        Fifo(**parameters)


def test_latency_is_one_cycle() -> None:
    word = {"i.valid": 1, "i.payload": 9}
    seen = trace(Fifo(shape=4, depth=2), [word, {}, {}], ["o.valid", "o.payload", "used"])
    assert seen[0][0] == 0
    assert seen[1:] == [(1, 9, 1)] * 2


@pytest.mark.parametrize("depth", [2, 3, 8])
def test_throughput_is_a_word_per_cycle_unless_full(depth: int) -> None:
    for inside in range(1, depth):
        cycles = [
            {"i.valid": 1, "i.payload": n, "o.ready": int(n >= inside)} for n in range(inside + 20)
        ]
        seen = trace(Fifo(shape=8, depth=depth), cycles, ["i.ready", "used", "o.payload"])
        assert seen[inside:] == [(1, inside, n) for n in range(20)]


@pytest.mark.parametrize("depth", [2, 5])
def test_a_full_queue_takes_nothing_until_a_word_has_left(depth: int) -> None:
    fill = [{"i.valid": 1}] * (depth + 1)
    seen = trace(Fifo(shape=1, depth=depth), [*fill, {"o.ready": 1}, {}], ["i.ready", "used"])
    assert seen == [*((1, n) for n in range(depth)), (0, depth), (0, depth), (1, depth - 1)]


def test_reset_forgets_all_words() -> None:
    cycles = [{"i.valid": 1}, {"i.valid": 1}, {"i.valid": 1, "rst": 1}, {}]
    seen = trace(Fifo(shape=4, depth=3), cycles, ["used", "o.valid", "i.ready"])
    assert seen[2:] == [(2, 1, 1), (0, 0, 1)]


@pytest.mark.parametrize("depth", [2, 3, 7])
def test_words_come_out_in_order_and_stay_until_taken(depth: int) -> None:
    unit, rng, inside = known(Fifo(shape=16, depth=depth)), random.Random(depth), deque[int]()
    moved = 0

    async def bench(ctx: Any) -> None:
        nonlocal moved
        for _ in range(1500):
            word, comes, goes = rng.getrandbits(16), rng.random() < 0.6, rng.random() < 0.6
            ctx.set(unit.i.payload, word)
            ctx.set(unit.i.valid, comes)
            ctx.set(unit.o.ready, goes)
            assert ctx.get(unit.used) == len(inside)
            assert ctx.get(unit.i.ready) == (len(inside) < depth)
            assert ctx.get(unit.o.valid) == bool(inside)
            assert not inside or ctx.get(unit.o.payload) == inside[0]
            full = len(inside) == depth
            if goes and inside:
                inside.popleft()
                moved += 1
            if comes and not full:
                inside.append(word)
            await ctx.tick()

    simulate(unit, bench)
    assert moved > 500
