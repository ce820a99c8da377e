"""cocotb workloads of a mesh of routers, recorded for its power."""

import os
from typing import Any

from testbench.agents.recorder import Recorder

from .tb_mesh import ENDS, MESH, PROTOCOL, MeshBench, test

CYCLES = int(os.environ["FRED_CYCLES"])
MOST = PROTOCOL.packet_flits
WARM = 100
COUNT = 2 * (WARM + CYCLES) // MOST


async def recorded(dut: Any, name: str, count: int) -> None:
    """Record a window of packets between random ends."""
    recorder = Recorder(dut, name)
    bench = MeshBench(dut, MESH)
    await bench.begin()
    for _ in range(count):
        for source in range(ENDS):
            other = bench.rng.choice([end for end in range(ENDS) if end != source])
            bench.unicast(source, other, 1, MOST)
    await bench.cycles(WARM)
    recorder.begin()
    first = bench.cycle
    await bench.cycles(CYCLES)
    flits = crossings = 0
    for end, watch in enumerate(bench.outputs):
        for beat in bench.data(watch):
            if first <= beat.cycle < first + CYCLES:
                source = bench.codec.unpack(beat.flit)["source"]
                flits += 1
                crossings += bench.routers_between(source, end)
    recorder.end(flits=flits, crossings=crossings, additions=0)
    bench.check()


@test
async def idle(dut: Any) -> None:
    await recorded(dut, "idle", 0)


@test
async def random(dut: Any) -> None:
    await recorded(dut, "random", COUNT)
