"""cocotb workloads of the whole switch, recorded for its power."""

import os
from typing import Any

from testbench.agents.recorder import Recorder
from testbench.agents.switch import SwitchBench

from .tb_switch import PORTS, PROTOCOL, SPEC, everyone, runs_of, started, test

CYCLES = int(os.environ["FRED_CYCLES"])
MOST = PROTOCOL.packet_flits
WARM = 100
COUNT = 2 * (WARM + CYCLES) // MOST


async def recorded(bench: SwitchBench, recorder: Recorder, sums: float = 0.0) -> None:
    """Record a window of the traffic that is under way."""
    await bench.cycles(WARM)
    recorder.begin()
    first = bench.cycle
    await bench.cycles(CYCLES)
    beats = [beat for watch in bench.outputs for beat in bench.data(watch)]
    flits = sum(first <= beat.cycle < first + CYCLES for beat in beats)
    additions = sums * flits / PORTS * SPEC.lanes
    recorder.end(flits=flits, crossings=flits, additions=additions)
    bench.check()


@test
async def idle(dut: Any) -> None:
    recorder = Recorder(dut, "idle")
    bench, _ = await started(dut, 0.0)
    await recorded(bench, recorder)


@test
async def random(dut: Any) -> None:
    """Send unicasts from each port to random others, on all virtual channels."""
    recorder = Recorder(dut, "random")
    bench, rng = await started(dut, 0.0)
    for _ in range(COUNT):
        for source in range(PORTS):
            other = rng.choice([port for port in range(PORTS) if port != source])
            bench.unicast(source, other, 1, MOST)
    await recorded(bench, recorder)


@test
async def all_reduce(dut: Any) -> None:
    recorder = Recorder(dut, "all_reduce")
    phase = everyone()
    bench, rng = await started(dut, 0.0, [phase])
    bench.play(runs_of(rng, phase, COUNT, MOST))
    await recorded(bench, recorder, PORTS - 1)
