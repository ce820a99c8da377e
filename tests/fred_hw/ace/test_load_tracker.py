"""Tests of fred_hw.ace.load_tracker."""

import random
import re
from collections.abc import Sequence
from math import lcm
from typing import Any

import pytest

from fred_hw.ace.load_tracker import LoadTracker
from perfmodel.collectives.themis.network import QueueDimension
from perfmodel.collectives.themis.plan import plan_sizes
from tests.fred_hw.simulation import known, simulate, trace
from tests.perfmodel.collectives.themis import reference

EQUAL = ((8, 8, 8), (1, 1, 1))
UNLIKE = ((16, 8, 8), (1, 2, 4))
FOUR = ((4, 4, 8, 8), (1, 2, 4, 8))
FLAT = ((8, 2), (1, 8))
AREA = ((8, 8, 8), (4, 7, 14))
"""The unit whose area is published."""
ODD = ((16, 8, 8), (3, 5, 7))
POWERS = "1 to 8 powers of two from 2 on"
TWO = "2 integers from 1 on, one for each of npus"


def tracker(npus: Sequence[int], reciprocals: Sequence[int], load_width: int = 48) -> LoadTracker:
    sizes = {"npus": npus, "reciprocals": reciprocals}
    return known(LoadTracker(**sizes, load_width=load_width, chunk_width=24))


def orders(unit: LoadTracker, chunks: Sequence[int], ready: float = 1.0) -> list[tuple[int, ...]]:
    """Return the orders of chunks that come as soon as they can."""
    found: list[tuple[int, ...]] = []
    rng = random.Random(1)

    async def bench(ctx: Any) -> None:
        left = list(chunks)
        while len(found) < len(chunks):
            ctx.set(unit.i.valid, bool(left))
            ctx.set(unit.i.payload, left[0] if left else 0)
            taken = rng.random() < ready
            ctx.set(unit.o.ready, taken)
            if ctx.get(unit.o.valid) and taken:
                found.append(tuple(ctx.get(unit.o.payload[d]) for d in range(len(unit.npus))))
            if left and ctx.get(unit.i.ready):
                left.pop(0)
            await ctx.tick()

    simulate(unit, bench)
    return found


def planned(npus: Sequence[int], reciprocals: Sequence[int], chunk: int, count: int) -> list[Any]:
    """Return the orders of the planner, whose loads are floats, and check them by exact loads."""
    rates = [lcm(*reciprocals) // one for one in reciprocals]
    dimensions = [QueueDimension(n, float(rate)) for n, rate in zip(npus, rates, strict=True)]
    plans = plan_sizes(dimensions, [chunk] * count, "reduce_scatter", "themis")
    exact = reference.orders([*zip(npus, rates, strict=True)], chunk, count)
    assert [[*one.order] for one in plans] == exact
    return [one.order for one in plans]


@pytest.mark.parametrize(
    "sizes",
    [EQUAL, UNLIKE, FOUR, FLAT, AREA, ODD],
    ids=["equal", "unlike", "4", "flat", "area", "odd"],
)
@pytest.mark.parametrize("chunk", [1 << 12, 3 << 14, 1 << 23], ids=["4K", "48K", "8M"])
@pytest.mark.parametrize("ready", [1.0, 0.4])
def test_orders_are_those_of_the_planner(
    sizes: tuple[Sequence[int], Sequence[int]], chunk: int, ready: float
) -> None:
    assert orders(tracker(*sizes), [chunk] * 64, ready) == planned(*sizes, chunk, 64)


def test_one_dimension_is_all_there_is() -> None:
    assert orders(tracker([8], [3]), [4096] * 3) == [(0,)] * 3


@pytest.mark.parametrize("sizes", [EQUAL, FLAT], ids=["three", "two"])
def test_latency_and_throughput(sizes: tuple[Sequence[int], Sequence[int]]) -> None:
    unit, count = tracker(*sizes), len(sizes[0])
    cycles = [{"i.valid": 1, "i.payload": 4096, "o.ready": 1}] * 40
    seen = trace(unit, cycles, ["i.ready", "o.valid"])
    period = 2 * count + 5
    assert [at for at, (ready, _) in enumerate(seen) if ready] == [*range(0, 40, period)]
    assert [at for at, (_, valid) in enumerate(seen) if valid] == [*range(period - 1, 40, period)]


def test_an_order_stays_until_it_is_taken() -> None:
    cycles = [{"i.valid": 1, "i.payload": 4096}] * 18
    seen = trace(tracker(*EQUAL), cycles, ["i.ready", "o.valid", "o.payload"])
    assert [valid for _, valid, _ in seen] == [0] * 10 + [1] * 8
    assert len({order for *_, order in seen[10:]}) == 1 and not any(one[0] for one in seen[1:])


@pytest.mark.parametrize("how", ["clear", "rst"])
def test_clear_and_reset_forget_the_loads(how: str) -> None:
    unit = tracker(*UNLIKE)
    feed = {"i.valid": 1, "i.payload": 4096, "o.ready": 1}
    period = 2 * len(unit.npus) + 5
    again = 7 * period
    more = {"clear": 1} if how == "clear" else {"rst": 1, "i.valid": 0}
    cycles = [*[feed] * again, {**feed, **more}, *[feed] * again]
    seen = trace(unit, cycles, ["o.valid", "o.payload"])
    before = [order for valid, order in seen[:again] if valid]
    after = [order for valid, order in seen[again:] if valid]
    assert after[: len(before)] == before and len({*before}) > 1


def test_loads_saturate() -> None:
    unit = tracker(*EQUAL, load_width=13)  # 3,584 bytes of the first chunk, and twice that: full
    found = orders(unit, [4096] * 40)
    # All loads are at their end: no gap is left, and every chunk takes the fixed order.
    assert found[-5:] == [(0, 1, 2)] * 5


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"npus": [2] * 9}, f"npus must be {POWERS}, not {[2] * 9}"),
        ({"npus": [8, 6]}, f"npus must be {POWERS}, not [8, 6]"),
        ({"npus": [8, 1]}, f"npus must be {POWERS}, not [8, 1]"),
        ({"npus": [8, 2.0]}, f"npus must be {POWERS}, not [8, 2.0]"),
        ({"reciprocals": [1]}, f"reciprocals must be {TWO}, not [1]"),
        ({"reciprocals": [1, 0]}, f"reciprocals must be {TWO}, not [1, 0]"),
        ({"load_width": 0}, "load_width must be 1 or more, not 0"),
        ({"chunk_width": 0}, "chunk_width must be 1 or more, not 0"),
    ],
)
def test_bad_sizes_are_refused(sizes: dict[str, Any], message: str) -> None:
    usual = {"npus": [8, 8], "reciprocals": [1, 1], "load_width": 8, "chunk_width": 8}
    with pytest.raises((TypeError, ValueError), match=f"^LoadTracker {re.escape(message)}$"):
        LoadTracker(**{**usual, **sizes})
