"""cocotb tests that count cycles of routers, with links without delay."""

import os
from typing import Any

import cocotb

from fred_hw.mesh.router import HOP_CYCLES, MESSAGE_CYCLES
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import Kind
from testbench.agents.axis import StreamMonitor
from testbench.agents.measurements import count_flits, record
from testbench.agents.mesh import MeshBench
from testbench.stimulus.meshes import PATTERNS

from .efficiency import shares

MESH = MeshSpec.model_validate_json(os.environ["FRED_MESH"])
PROTOCOL, NPUS = MESH.protocol, MESH.routers
MOST = PROTOCOL.packet_flits
FAR = 6
"""Largest number of routers on a path that is measured."""

ENDS = range(MESH.plan.addresses)
NEIGHBOURS = {
    end: [other for other in ENDS if other != end and len(MESH.plan.route(other, end)) == 2]
    for end in ENDS
}
"""Endpoints of the same router, keyed by the endpoint they send to."""
HOT = max(NEIGHBOURS, key=lambda end: len(NEIGHBOURS[end]))

test = cocotb.test(timeout_time=20, timeout_unit="ms")
with_two_neighbours = cocotb.test(timeout_time=20, timeout_unit="ms", skip=len(NEIGHBOURS[HOT]) < 2)


async def started(dut: Any) -> MeshBench:
    bench = MeshBench(dut, MESH)
    await bench.begin()
    return bench


async def cycles_per_router(bench: MeshBench, before: int) -> set[float]:
    """Return the cycles from a beat into a router to the beat out, on paths to all endpoints.

    The measured flit is the last of several lone flits on the same route, with ``before`` flits
    ahead of it.
    """
    found = set()
    for end in range(MESH.plan.addresses):
        source = NPUS - 1 - end % NPUS
        routers = bench.routers_between(source, end)
        if routers > FAR:
            continue
        for _ in range(before + 1):
            bench.unicast(source, end, 1, 1, 0)
            await bench.drain()
        begin = bench.data(bench.inputs[source])[-1].cycle
        found.add((bench.data(bench.outputs[end])[-1].cycle - begin) / routers)
    return found


@test
async def lone_flit_takes_as_long_at_every_router(dut: Any) -> None:
    bench = await started(dut)
    found = await cycles_per_router(bench, 0)
    most = max(found)
    assert most == HOP_CYCLES, f"counted {found}, but stated are {HOP_CYCLES}"
    assert min(found) >= HOP_CYCLES - 1, f"counted {found}"
    record(
        "router_latency_cycles",
        int(most),
        "cycles",
        "A lone flit through a router, port to port; with an unchanged path it takes a cycle less",
    )
    count_flits(MESH.plan.addresses)
    bench.check()


@test
async def flit_that_follows_another_one_takes_as_long_at_every_router(dut: Any) -> None:
    bench = await started(dut)
    found = await cycles_per_router(bench, 1)
    assert found == {HOP_CYCLES - 1}, f"counted {found}, but stated are {HOP_CYCLES - 1}"
    record(
        "router_follow_cycles",
        int(max(found)),
        "cycles",
        "A flit through a router that follows another flit on the same route",
    )
    count_flits(2 * MESH.plan.addresses)
    bench.check()


@with_two_neighbours
async def urgent_packet_waits_for_the_end_of_one_packet_at_most(dut: Any) -> None:
    """Send an urgent flit at every flit of a less urgent packet from another end.

    That packet crosses the same router to the same end, between others of its kind.
    """
    bench = await started(dut)
    patient, urgent = NEIGHBOURS[HOT][:2]
    found: list[int] = []
    for place in range(MOST):
        bench.unicast(patient, HOT, 6, MOST, circuit=2)
        await bench.cycles(3 * MOST + place)
        bench.unicast(urgent, HOT, 1, 1, circuit=0)
        await bench.drain()
        begin = bench.data(bench.inputs[urgent])[-1].cycle
        out = bench.data(bench.outputs[HOT])
        kinds = [bench.codec.unpack(one.flit)["circuit"] for one in out[-6 * MOST - 1 :]]
        overtaken = len(kinds) - 1 - kinds.index(0)
        assert MOST <= overtaken < 6 * MOST, f"{overtaken} flits came behind it, at {place}"
        found.append(out[-overtaken - 1].cycle - begin - HOP_CYCLES)
    # The first cycles of its own route overlap with the packet that it waits for.
    assert MOST - HOP_CYCLES // 2 < max(found) <= MOST, f"waited {found} cycles"
    record(
        "router_preemption_cycles",
        max(found),
        "cycles",
        "Largest additional latency of a lone urgent flit that meets less urgent packets",
    )
    count_flits(MOST * (6 * MOST + 1))
    bench.check()


@test
async def ack_takes_as_long_at_every_router(dut: Any) -> None:
    bench = await started(dut)

    def last_ack(watch: StreamMonitor) -> int:
        kinds = [bench.codec.unpack(beat.flit)["kind"] for beat in watch.beats]
        return watch.beats[max(k for k, kind in enumerate(kinds) if kind == Kind.ACK)].cycle

    found = set()
    for end in range(MESH.plan.addresses):
        source = NPUS - 1 - end % NPUS
        routers = bench.routers_between(end, source)
        if routers > FAR:
            continue
        bench.unicast(source, end, 1, 1, 0)
        await bench.drain()
        cycles = last_ack(bench.outputs[source]) - last_ack(bench.inputs[end])
        found.add(cycles / routers)
    assert found == {MESSAGE_CYCLES}, f"counted {found}, but stated are {MESSAGE_CYCLES}"
    record("router_message_cycles", int(max(found)), "cycles", "An ack through a router")
    count_flits(MESH.plan.addresses)
    bench.check()


@test
async def links_carry_data_at_full_load(dut: Any) -> None:
    bench = await started(dut)
    count = max(80, 5 * PROTOCOL.ack_interval)
    to = PATTERNS["neighbor"]
    for source in range(NPUS):
        end = to(MESH, source)
        assert end is not None
        bench.unicast(source, end, count, MOST, 0)
    await bench.drain()
    efficiency = shares(bench, bench.outputs[:NPUS])
    record(
        "efficiency",
        efficiency,
        "",
        "Use of the links to NPUs, each of which sends to its neighbour, as shares of their cycles",
    )
    count_flits(NPUS * count * MOST)
    # Packets in a row on the same route lose no cycles except for the acks of endpoints.
    most = 1 - 1 / (1 + PROTOCOL.ack_interval * MOST)
    assert efficiency["data_flits_per_cycle"] >= most - 0.01, efficiency
    bench.check()
