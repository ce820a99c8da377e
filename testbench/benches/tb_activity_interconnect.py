"""cocotb workloads of the interconnect and its baselines, recorded for their power."""

import os
from typing import Any

from fred_hw.compiler.flows import Flow
from testbench.agents.interconnect import Stimulus
from testbench.agents.recorder import Recorder
from testbench.stimulus.traffic import ROUTERS, flits_for, random_run

from .tb_interconnect import LEVEL, SPEC, started, test

CYCLES = int(os.environ["FRED_CYCLES"])
PER_CONFIGURATION = 16


async def recorded(dut: Any, name: str) -> None:
    """Record flits on all ports: one all-reduce, or random flows that change now and then."""
    recorder = Recorder(dut, name)
    bench, rng = await started(dut)
    flows = [Flow(tuple(range(SPEC.ports)), tuple(range(SPEC.ports)))]
    configuration = ROUTERS[LEVEL](flows, SPEC)
    assert configuration is not None
    before = sums = 0
    for cycle in range(CYCLES // 4 + CYCLES):
        if cycle == CYCLES // 4:
            recorder.begin()
            before, sums = bench.board.matched, 0
        if name == "random" and cycle % PER_CONFIGURATION == 0:
            flows, configuration = random_run(rng, SPEC, LEVEL)
        await bench.step(Stimulus(configuration, flits_for(rng, SPEC, flows)))
        sums += sum(len(flow.inputs) - 1 for flow in flows)
    flits = bench.board.matched - before
    recorder.end(flits=flits, crossings=flits, additions=sums * SPEC.lanes)
    await bench.finish()


@test
async def idle(dut: Any) -> None:
    recorder = Recorder(dut, "idle")
    bench, _ = await started(dut)
    await bench.drain()
    recorder.begin()
    for _ in range(CYCLES):
        await bench.step(None)
    recorder.end(flits=0, crossings=0, additions=0)
    assert not bench.board.matched


@test
async def random(dut: Any) -> None:
    await recorded(dut, "random")


@test
async def all_reduce(dut: Any) -> None:
    await recorded(dut, "all_reduce")
