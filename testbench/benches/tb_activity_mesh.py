"""cocotb workloads of a mesh of routers, recorded for its power."""

import os
from collections.abc import Callable
from typing import Any

from fred_hw.compiler.mesh_rings import mesh_ring
from testbench.agents.mesh import MeshBench
from testbench.agents.recorder import Recorder

from .tb_mesh import ENDS, MESH, NPUS, PROTOCOL, test

CYCLES = int(os.environ["FRED_CYCLES"])
MOST = PROTOCOL.packet_flits
WARM = 100
COUNT = 2 * (WARM + CYCLES) // MOST
RING = mesh_ring(MESH.width, tuple(range(NPUS)))


def other(bench: MeshBench, source: int) -> int:
    return bench.rng.choice([end for end in range(ENDS) if end != source])


def next_in_ring(_bench: MeshBench, source: int) -> int:
    return RING[(RING.index(source) + 1) % NPUS] if source < NPUS else source


async def recorded(
    dut: Any,
    name: str,
    messages: int,
    packets: int = 1,
    to: Callable[[MeshBench, int], int] = other,
    sums: float = 0.0,
) -> None:
    """Record a window of packets from each end to others.

    Parameters
    ----------
    dut, name : Any, str
        The mesh, and the workload.
    messages, packets : int
        Messages of each end, and packets in each.
    to : Callable
        Returns the destination of the next message of an end.
    sums : float
        Share of the flits whose numbers are added by the NPU that they reach.
    """
    recorder = Recorder(dut, name)
    bench = MeshBench(dut, MESH)
    await bench.begin()
    for _ in range(messages):
        for source in range(ENDS):
            bench.unicast(source, to(bench, source), packets, MOST)
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
    additions = sums * flits * bench.spec.lanes
    recorder.end(flits=flits, crossings=crossings, additions=additions)
    bench.check()


@test
async def idle(dut: Any) -> None:
    await recorded(dut, "idle", 0)


@test
async def random(dut: Any) -> None:
    await recorded(dut, "random", COUNT)


@test
async def all_reduce(dut: Any) -> None:
    """Send along a ring; the flits of its first half, a reduce-scatter, are added by NPUs."""
    await recorded(dut, "all_reduce", 1, COUNT, next_in_ring, 0.5)
