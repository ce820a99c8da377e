"""cocotb tests of a mesh whose routers reduce: collectives on trees of routers, and unicasts."""

import os
import random
from collections.abc import Sequence
from typing import Any

import cocotb

from fred_hw.compiler.flows import Flow
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.reducing.trees import find_trees, router_paths, tree_of
from fred_hw.per_class import per_class
from testbench.agents.measurements import record
from testbench.agents.reducing_mesh import ReducingMeshBench
from testbench.stimulus.traffic import random_flows

MESH = ReducingMeshSpec.model_validate_json(os.environ["FRED_MESH"])
PLAN = ReducingMesh(MESH)
NPUS, ENDS, MOST = MESH.routers, PLAN.addresses, MESH.protocol.packet_flits
PACKETS = int(os.environ.get("FRED_PACKETS", "4"))
LATENCY = int(os.environ.get("FRED_LATENCY", "0"))
ALL = Flow(range(NPUS), range(NPUS))

test = cocotb.test(timeout_time=20, timeout_unit="ms")


async def started(dut: Any, stall: float = 0.0) -> ReducingMeshBench:
    bench = ReducingMeshBench(dut, PLAN, stall)
    await bench.begin()
    return bench


def lengths(rng: random.Random, packets: int) -> list[int]:
    """Return the flits of packets."""
    return [rng.randint(1, MOST) for _ in range(packets)]


async def run_phase(
    bench: ReducingMeshBench, number: int, roots: Sequence[tuple[Flow, int]]
) -> None:
    """Run flows that are reduced at given routers, as a phase."""
    circuit = number % per_class(bench.spec)
    paths = router_paths(PLAN, [tree_of(PLAN, flow, root) for flow, root in roots])
    await bench.write_paths(number, circuit, paths)
    flows = [flow for flow, _ in roots]
    sizes = {flow: lengths(bench.rng, PACKETS) for flow in flows}
    bench.play_flows(number, circuit, paths, flows, sizes)
    await bench.drain()


@test
@cocotb.parametrize(stall=[0.0, 0.3])
async def all_reduce_is_reduced_at_any_router(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    for number in range(min(NPUS, MESH.protocol.phases)):
        await run_phase(bench, number, [(ALL, number)])
    await bench.no_errors()
    bench.finish()


@test
async def multicast_and_reduction_reach_all(dut: Any) -> None:
    bench = await started(dut, 0.1)
    for number in range(min(NPUS, MESH.protocol.phases)):
        flow = Flow([number], range(NPUS)) if number % 2 else Flow(range(NPUS), [number])
        await run_phase(bench, number, [(flow, number)])
    await bench.no_errors()
    bench.finish()


@test
async def flows_without_common_links_run_at_once(dut: Any) -> None:
    """Run random sets of flows, the last flows of which are left out until the others fit."""
    bench = await started(dut, 0.1)
    most = 0
    for number in range(MESH.protocol.phases):
        flows = random_flows(bench.rng, NPUS) or [ALL]
        while (trees := find_trees(PLAN, flows)) is None:
            flows.pop()
        most = max(most, len(flows))
        roots = [(flow, tree.root) for flow, tree in zip(flows, trees, strict=True)]
        await run_phase(bench, number, roots)
    assert most > 1
    await bench.no_errors()
    bench.finish()


@test
@cocotb.parametrize(stall=[0.0, 0.3])
async def every_end_sends_to_every_end(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    for distance in range(ENDS):
        for source in range(ENDS):
            bench.unicast(source, (source + distance) % ENDS, PACKETS)
    await bench.drain()
    await bench.no_errors()
    bench.finish()


@test
async def unicasts_go_between_packets_of_a_collective(dut: Any) -> None:
    bench = await started(dut, 0.1)
    paths = router_paths(PLAN, [tree_of(PLAN, ALL, NPUS // 2)])
    await bench.write_paths(0, 0, paths)
    bench.play_flows(0, 0, paths, [ALL], {ALL: lengths(bench.rng, 4 * PACKETS)})
    for source in range(NPUS):
        bench.unicast(source, NPUS - 1 - source, PACKETS, circuit=1)
    await bench.drain()
    await bench.no_errors()
    bench.finish()


@test
async def lone_flit_takes_as_long_at_every_router_of_a_size(dut: Any) -> None:
    """Compare a lone unicast's cycles with the sum of the latencies of the routers on its path."""
    bench = await started(dut)
    found: dict[int, int] = {}
    for source in range(NPUS):
        end = NPUS - 1 - source
        bench.unicast(source, end, 1, 1, 0)
        await bench.drain()
        begin = bench.data(bench.inputs[source])[-1].cycle
        cycles = bench.data(bench.outputs[end])[-1].cycle - begin
        routers = len(PLAN.route(source, end)) - 1
        assert cycles <= routers * LATENCY, f"{cycles} cycles through {routers} routers"
        found[routers] = max(cycles, found.get(routers, 0))
    most = max(found)
    record(
        "longest_route_cycles",
        found[most],
        "cycles",
        "A lone unicast from corner to corner, port to port",
    )
    bench.finish()
