"""cocotb tests that count cycles of routers, with links that take no time of their own."""

import os
from typing import Any

import cocotb

from fred_hw.mesh.router import HOP_CYCLES, MESSAGE_CYCLES
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import Kind
from testbench.benches.agents.mesh import MeshBench
from testbench.benches.agents.switch import Watch
from testbench.stimulus.meshes import PATTERNS

from .efficiency import shares
from .measurements import record

MESH = MeshSpec.model_validate_json(os.environ["FRED_MESH"])
PROTOCOL, NPUS = MESH.protocol, MESH.routers
MOST = PROTOCOL.packet_flits
FAR = 6
"""Routers on the longest way that is tried."""

test = cocotb.test(timeout_time=20, timeout_unit="ms")


async def started(dut: Any) -> MeshBench:
    bench = MeshBench(dut, MESH)
    await bench.begin()
    return bench


@test
async def lone_flit_takes_as_long_at_every_router(dut: Any) -> None:
    """Measure ``router_latency_cycles``: from the beat into a router to the beat out of it.

    A router whose path stays from the packet before takes a cycle less.
    """
    bench = await started(dut)
    found = set()
    for end in range(len(MESH.places)):
        source = NPUS - 1 - end % NPUS
        routers = bench.routers_between(source, end)
        if routers > FAR:
            continue
        sent = len(bench.data(bench.inputs[source]))
        came = len(bench.data(bench.outputs[end]))
        bench.send(source, end, 1, 1, 0)
        await bench.drain()
        begin = bench.data(bench.inputs[source])[sent].cycle
        found.add((bench.data(bench.outputs[end])[came].cycle - begin) / routers)
    most = max(found)
    assert most == HOP_CYCLES, f"counted {found}, but stated are {HOP_CYCLES}"
    assert min(found) >= HOP_CYCLES - 1, f"counted {found}"
    record(router_latency_cycles=int(most), flits=len(MESH.places))
    bench.check()


@test
async def flit_that_follows_another_one_takes_as_long_at_every_router(dut: Any) -> None:
    """Measure ``router_follow_cycles``: where all paths have stayed from the packet before."""
    bench = await started(dut)
    found = set()
    for end in range(len(MESH.places)):
        source = NPUS - 1 - end % NPUS
        routers = bench.routers_between(source, end)
        if routers > FAR:
            continue
        for _ in range(2):
            bench.send(source, end, 1, 1, 0)
            await bench.drain()
        begin = bench.data(bench.inputs[source])[-1].cycle
        found.add((bench.data(bench.outputs[end])[-1].cycle - begin) / routers)
    assert found == {HOP_CYCLES - 1}, f"counted {found}, but stated are {HOP_CYCLES - 1}"
    record(router_follow_cycles=int(max(found)), flits=2 * len(MESH.places))
    bench.check()


@test
async def ack_takes_as_long_at_every_router(dut: Any) -> None:
    """Measure ``router_message_cycles``: from the beat of an ack into a router to that out."""
    bench = await started(dut)

    def last_ack(watch: Watch) -> int:
        kinds = [bench.codec.unpack(beat.flit)["kind"] for beat in watch.beats]
        return watch.beats[max(k for k, kind in enumerate(kinds) if kind == Kind.ACK)].cycle

    found = set()
    for end in range(len(MESH.places)):
        source = NPUS - 1 - end % NPUS
        routers = bench.routers_between(end, source)
        if routers > FAR:
            continue
        bench.send(source, end, 1, 1, 0)
        await bench.drain()
        cycles = last_ack(bench.outputs[source]) - last_ack(bench.inputs[end])
        found.add(cycles / routers)
    assert found == {MESSAGE_CYCLES}, f"counted {found}, but stated are {MESSAGE_CYCLES}"
    record(router_message_cycles=int(max(found)), flits=len(MESH.places))
    bench.check()


@test
async def links_carry_data_at_full_load(dut: Any) -> None:
    """Measure ``efficiency`` on the links to NPUs, each of which sends to the one beside it."""
    bench = await started(dut)
    count = max(80, 5 * PROTOCOL.ack_interval)
    to = PATTERNS["neighbor"]
    for source in range(NPUS):
        end = to(MESH, source)
        assert end is not None
        bench.send(source, end, count, MOST, 0)
    await bench.drain()
    efficiency = shares(bench, bench.outputs[:NPUS])
    record(efficiency=efficiency, flits=NPUS * count * MOST)
    # A packet behind another that goes the same way misses no cycle but for what ends answer.
    most = 1 - 1 / (1 + PROTOCOL.ack_interval * MOST)
    assert efficiency["data_flits_per_cycle"] >= most - 0.01, efficiency
    bench.check()
