"""cocotb tests of one router of a mesh, with an endpoint in the place of each neighbour."""

import os
from typing import Any

import cocotb

from fred_hw.mesh.router import HOP_CYCLES
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CONTROL
from testbench.agents.line import FaultyLink
from testbench.agents.router import RouterBench

MESH = MeshSpec.model_validate_json(os.environ["FRED_MESH"])
PROTOCOL = MESH.protocol
PACKETS = int(os.environ.get("FRED_PACKETS", "4"))

test = cocotb.test(timeout_time=20, timeout_unit="ms")


async def started(dut: Any, stall: float = 0.0) -> RouterBench:
    bench = RouterBench(dut, MESH, stall)
    await bench.begin()
    return bench


@test
@cocotb.parametrize(stall=[0.0, 0.4])
async def every_port_sends_to_every_port(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    bench.probe(errors=dut.errors, dropped=dut.dropped)
    for source in bench.living:
        for end in bench.living:
            bench.unicast(source, end, PACKETS)
    await bench.drain()
    assert bench.seen["errors"] == []
    # Acks are repeated; those that wait behind others at a port that pauses may be lost.
    assert stall or bench.seen["dropped"] == []
    bench.finish()


@test
async def lone_packet_takes_the_cycles_of_a_hop(dut: Any) -> None:
    bench, found = await started(dut), set[int]()
    for source in bench.living:
        for end in bench.living:
            streams = (bench.inputs[source], bench.outputs[end])
            before = [len(bench.data(one)) for one in streams]
            bench.unicast(source, end, 1, 1, 0)
            await bench.drain()
            # With a timeout shorter than the round trip, the source sends the packet again. The
            # duplicate takes a cycle less on the unchanged path, so only the first flit counts.
            begin, came = (
                bench.data(one)[count].cycle for one, count in zip(streams, before, strict=True)
            )
            found.add(came - begin)
    assert found == {HOP_CYCLES}, f"counted {found}"
    bench.finish()


@test
async def random_traffic_comes_through_faults(dut: Any) -> None:
    bench = await started(dut, 0.1)
    change = FaultyLink(bench.rng, bench.spec.data_width, 0.02)
    for port in bench.living:
        bench.ports[port].to_switch.change = bench.ports[port].from_switch.change = change
    while not change.count:
        for _ in range(4 * len(bench.living)):
            source, end = (bench.rng.choice(bench.living) for _ in range(2))
            bench.unicast(source, end, PACKETS)
        await bench.drain(limit=4 * bench.timeout)
    bench.finish()


@test
async def router_resets_in_traffic(dut: Any) -> None:
    """Lose no packet, since sources send again what the router forgets."""
    bench = await started(dut, 0.1)
    for _ in range(2):
        for source in bench.living:
            bench.unicast(source, bench.rng.choice(bench.living), 2 * PACKETS)
        await bench.cycles(bench.rng.randrange(8 * PROTOCOL.packet_flits))
        await bench.restart()
        await bench.until_up()
    await bench.drain(limit=4 * bench.timeout)
    bench.finish()


@test
async def nonsense_is_counted_and_harms_nobody(dut: Any) -> None:
    """Drop packets of phases, to unknown addresses and of invalid kinds."""
    bench = await started(dut)
    bench.probe(errors=dut.errors)
    bad, *others = bench.living
    for source in others:
        bench.unicast(source, others[0], PACKETS)
    for number in range(20):
        fields = ({"unicast": 1, "destination": 126}, {"kind": 7, "circuit": CONTROL})[number % 2]
        bench.ports[bad].to_switch.put(bench.codec.pack(number, **fields))
        await bench.cycles(bench.rng.randrange(1, 6))
    await bench.arrive(limit=2 * bench.timeout)
    assert bench.seen["errors"]
    bench.finish()
