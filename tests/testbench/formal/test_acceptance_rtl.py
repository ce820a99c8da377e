"""The rule of the exhaustive search is that of the hardware, for queues of exchanges."""

import random
from collections import Counter
from typing import Any

import pytest

from fred_hw.ace.channel import QUEUE_DEPTH, AceChannel
from fred_hw.ace.intake import WRITES
from fred_hw.ace.work import work_layout
from testbench.formal.acceptance import Descriptor, exchange, judged
from tests.fred_hw.ace.works import SPEC, packed
from tests.fred_hw.simulation import known, simulate

DEPTH = SPEC.protocol.buffer_flits
SETTLES = 16
"""Cycles after which an event has had all its effects."""


def work_of(job: Descriptor) -> int:
    flow = {"phase": job.source, "peer": 0, "generation": 0}
    flits = len(job.receives)
    layout = work_layout(SPEC)
    return packed(layout, direct=flits, expected=flits, sets_receive=1, receive=flow)


class Driver:
    """Does random steps of the model at a channel, and counts what the rule said."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.unit = known(AceChannel(spec=SPEC))
        self.work: list[Descriptor] = []
        self.now, self.over = -1, True
        self.taken, self.stored, self.queued = 0, 0, 0
        self.said = Counter[str]()

    def rule(self) -> str:
        """Return what the model does with a flit of the flow that is set, if one is."""
        source = self.work[self.now].source if self.now >= 0 else 0
        return judged(
            self.work,
            self.now,
            source,
            sent=0,
            taken=self.taken,
            queued=self.queued,
            depth=DEPTH,
        )

    async def run(self, ctx: Any, steps: int) -> None:
        ctx.set(self.unit.idle, 1)
        for _ in range(steps):
            await self.step(ctx)
            said = self.rule()
            self.said[said] += 1
            assert ctx.get(self.unit.enough) == (said == "drop"), vars(self)

    async def step(self, ctx: Any) -> None:
        """Queue a descriptor, or accept, take or store a flit; then wait."""
        unit, steps = self.unit, list[str]()
        if len(self.work) - self.now - 1 < QUEUE_DEPTH:
            steps.append("queue")
        if self.rule() != "drop":
            steps += ["came"] * 6
        # No more flits are on their way to memory than an intake has space for.
        if self.queued and self.taken - self.stored < WRITES and ctx.get(unit.receive.valid):
            steps += ["take"] * 2
        if self.stored < self.taken:
            steps.append("store")
        step = self.rng.choice(steps or ["wait"])
        if step == "queue":
            flits = self.rng.choice((1, 2, 3, DEPTH + 4))
            self.work.append(exchange(source=self.rng.choice((1, 1, 2)), flits=flits))
            ctx.set(unit.i.payload, work_of(self.work[-1]))
        for name, port in (
            *(("queue", unit.i.valid), ("came", unit.came)),
            *(("take", unit.receive.take), ("store", unit.receive.stored)),
        ):
            ctx.set(port, int(step == name))
        self.queued += (step == "came") - (step == "take")
        self.taken += step == "take"
        self.stored += step == "store"
        await self.settle(ctx)

    async def settle(self, ctx: Any) -> None:
        """Wait; a descriptor that ends lets the next one begin."""
        unit = self.unit
        for cycle in range(SETTLES):
            self.over |= bool(ctx.get(unit.done))
            await ctx.tick()
            if cycle == 0:
                for port in (unit.i.valid, unit.came, unit.receive.take, unit.receive.stored):
                    ctx.set(port, 0)
        if self.over and self.now + 1 < len(self.work):
            self.over = False
            self.now += 1
            self.taken = self.stored = 0


@pytest.mark.parametrize("seed", range(4))
def test_a_channel_accepts_what_the_rule_accepts(seed: int) -> None:
    driver = Driver(seed)
    simulate(driver.unit, lambda ctx: driver.run(ctx, 400))
    assert driver.now > 10
    assert min(driver.said[one] for one in ("accept", "drop")) > 50
