"""cocotb workloads of a mesh whose routers reduce, recorded for its power."""

import os
from typing import Any

from fred_hw.mesh.reducing.trees import router_paths, tree_of
from testbench.agents.recorder import Recorder
from testbench.agents.reducing_mesh import ReducingMeshBench

from .tb_reducing_mesh import ALL, ENDS, MESH, MOST, NPUS, PLAN, started, test

CYCLES = int(os.environ["FRED_CYCLES"])
WARM = 100 + 20 * (MESH.width + MESH.height)
"""Cycles until all NPUs receive: a flit passes twice half of the rows and columns at most."""
COUNT = 2 * (WARM + CYCLES) // MOST
CENTRE = MESH.width // 2 + MESH.width * (MESH.height // 2)


async def recorded(bench: ReducingMeshBench, recorder: Recorder, sums: float = 0.0) -> None:
    """Record a window of the traffic that is under way."""
    await bench.cycles(WARM)
    recorder.begin()
    first = bench.cycle
    await bench.cycles(CYCLES)
    beats = [beat for watch in bench.outputs for beat in bench.data(watch)]
    flits = sum(first <= beat.cycle < first + CYCLES for beat in beats)
    additions = sums * flits / NPUS * bench.spec.lanes
    recorder.end(flits=flits, crossings=flits, additions=additions)
    bench.check()


@test
async def idle(dut: Any) -> None:
    recorder = Recorder(dut, "idle")
    await recorded(await started(dut), recorder)


@test
async def random(dut: Any) -> None:
    """Send unicasts from each endpoint to random others, on all virtual channels."""
    recorder = Recorder(dut, "random")
    bench = await started(dut)
    for _ in range(COUNT):
        for source in range(ENDS):
            other = bench.rng.choice([end for end in range(ENDS) if end != source])
            bench.unicast(source, other, 1, MOST)
    await recorded(bench, recorder)


@test
async def all_reduce(dut: Any) -> None:
    """Reduce and multicast along the X-Y routes to and from the middle."""
    recorder = Recorder(dut, "all_reduce")
    bench = await started(dut)
    paths = router_paths(PLAN, [tree_of(PLAN, ALL, CENTRE)])
    await bench.write_paths(0, 0, paths)
    bench.play_flows(0, 0, paths, [ALL], {ALL: [MOST] * COUNT})
    await recorded(bench, recorder, NPUS - 1)
