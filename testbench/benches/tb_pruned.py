"""cocotb tests of an interconnect for some configurations: what it keeps is bit-exact."""

import os
import random
from collections.abc import Iterator
from typing import Any

import cocotb

from fred_hw.spec import SwitchSpec
from testbench.agents.interconnect import InterconnectBench, Stimulus
from testbench.agents.measurements import count_flits, record
from testbench.stimulus.traffic import flits_for, needed_runs

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
FLITS = int(os.environ.get("FRED_FLITS", "20"))  # per configuration
RUNS = list(needed_runs(SPEC))
test = cocotb.test(timeout_time=10, timeout_unit="ms")


@test
async def needed_configurations_deliver(dut: Any) -> None:
    bench, rng = InterconnectBench(dut, SPEC), random.Random(cocotb.RANDOM_SEED)
    await bench.start()
    for flows, configuration in RUNS:
        flits = (Stimulus(configuration, flits_for(rng, SPEC, flows)) for _ in range(FLITS))
        await bench.follow(flits)
    outputs = sum(len(flow.outputs) for flows, _ in RUNS for flow in flows)
    latency = await bench.finish(minimum=outputs * FLITS)
    want = int(os.environ.get("FRED_LATENCY", latency))
    assert latency == want, f"counted {latency} cycles, but the manifest says {want}"
    count_flits(bench.board.matched)
    record("latency_cycles", latency, "cycles", "From a flit on the inputs to it on the outputs")


@test
async def needed_configurations_alternate_while_some_flows_pause(dut: Any) -> None:
    bench, rng = InterconnectBench(dut, SPEC), random.Random(cocotb.RANDOM_SEED)
    await bench.start()

    def stimuli() -> Iterator[Stimulus]:
        for _ in range(len(RUNS) * FLITS):
            flows, configuration = rng.choice(RUNS)
            yield Stimulus(configuration, flits_for(rng, SPEC, flows, busy=0.7))

    await bench.play(stimuli())
    await bench.finish(minimum=len(RUNS) * FLITS // 2)
    count_flits(bench.board.matched)
