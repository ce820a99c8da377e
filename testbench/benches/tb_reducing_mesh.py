"""cocotb tests of a mesh whose routers reduce: collectives on trees of routers, and unicasts."""

import os
import random
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from fred_hw.compiler.flows import Flow
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.reducing.trees import RouterPaths, find_trees, router_paths, tree_of
from fred_hw.per_class import per_class
from fred_hw.phase_waits import PhaseFlow, phase_flow, successive_sets
from testbench.agents.measurements import record
from testbench.agents.reducing_mesh import ReducingMeshBench
from testbench.agents.scoreboard import Packets
from testbench.stimulus.traffic import random_flows

MESH = ReducingMeshSpec.model_validate_json(os.environ["FRED_MESH"])
PLAN = ReducingMesh(MESH)
NPUS, ENDS, MOST = MESH.routers, PLAN.addresses, MESH.protocol.packet_flits
PACKETS = int(os.environ.get("FRED_PACKETS", "4"))
LATENCY = int(os.environ.get("FRED_LATENCY", "0"))
ALL = Flow(range(NPUS), range(NPUS))
_PROTOCOL = MESH.protocol
PATIENT = _PROTOCOL.head_of_line_timeout_cycles > 8 * _PROTOCOL.timeout_cycles
"""Whether packets that wait for each other are not dropped while a test watches them."""
FILLS = _PROTOCOL.window_packets > 2 * _PROTOCOL.buffer_packets
"""Whether a source can fill the buffers of two links."""


def test_on(large: bool) -> Any:
    """Return the decorator of a test, which is skipped unless the mesh is large enough."""
    return cocotb.test(timeout_time=20, timeout_unit="ms", skip=not large)


test = test_on(True)


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


async def take_part(
    bench: ReducingMeshBench, npu: int, parts: Sequence[tuple[int, Packets, int]], late: int
) -> None:
    """Begin the phases of an NPU some cycles late, each when its part in the one before is over.

    A part has the number of the phase, packets to send, and how many are received at its end.
    """
    await bench.cycles(late)
    port = bench.ports[npu]
    for number, packets, count in parts:
        if packets:
            port.send(number, 0, packets)
        while not port.done or len(port.received.get((number, 0), ())) < count:
            await RisingEdge(bench.dut.clk)


def run_together(
    bench: ReducingMeshBench,
    flows: Sequence[PhaseFlow],
    paths: Mapping[str, RouterPaths],
    late: Sequence[int],
) -> None:
    """Begin flows on virtual channel 0, in their order at each NPU."""
    parts: list[list[tuple[int, Packets, int]]] = [[] for _ in range(NPUS)]
    for phase, own in groupby(flows, lambda one: one.phase):
        number, among = int(phase), [one.flow for one in own]
        sizes = {flow: lengths(bench.rng, PACKETS) for flow in among}
        sent = bench.expect_flows(number, paths[phase], among, sizes)
        for npu in range(NPUS):
            before = len(bench.ports[npu].received.get((number, 0), ()))
            count = before + PACKETS * sum(npu in flow.outputs for flow in among)
            parts[npu].append((number, sent.get(npu, []), count))
    for npu, own in enumerate(parts):
        cocotb.start_soon(take_part(bench, npu, own, late[npu]))


async def write_tree(
    bench: ReducingMeshBench, number: int, flow: Flow, root: int, paths: dict[str, RouterPaths]
) -> PhaseFlow:
    """Write a phase of one flow on virtual channel 0, and note its paths."""
    tree = tree_of(PLAN, flow, root)
    paths[str(number)] = router_paths(PLAN, [tree])
    await bench.write_paths(number, 0, paths[str(number)])
    return phase_flow(PLAN, str(number), 0, flow, tree.flows)


async def stops(bench: ReducingMeshBench) -> None:
    """Check that packets are missing, and that none arrives while all sources send them again."""
    cycles = 2 * MESH.protocol.timeout_cycles
    await bench.cycles(cycles)
    missing = bench.missing()
    await bench.cycles(cycles)
    assert bench.missing() == missing > 0


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
async def phases_of_a_set_without_a_cycle_run_together(dut: Any) -> None:
    """Run random phases whose NPUs begin at random times, in the sets of the check of waits."""
    bench = await started(dut, 0.1)
    paths: dict[str, RouterPaths] = {}
    flows: list[PhaseFlow] = []
    for number in range(MESH.protocol.phases):
        flow = (random_flows(bench.rng, NPUS) or [ALL])[0]
        flows.append(await write_tree(bench, number, flow, bench.rng.randrange(NPUS), paths))
    for own in successive_sets(flows):
        run_together(bench, own, paths, [bench.rng.randrange(300) for _ in range(NPUS)])
        await bench.drain()
    await bench.no_errors()
    bench.finish()


@test_on(NPUS > 2)
async def phases_with_a_cycle_of_waits_stop(dut: Any) -> None:
    """Let two phases wait for each other that pass if one begins when the other is over.

    The last NPU sends in phase 0 before phase 1. The first NPU begins phase 1 so early that its
    packet keeps one of phase 0 from the last router, until it is dropped and reported.
    """
    bench = await started(dut)
    first, *_, near, last = [link.number for link in PLAN.route(0, NPUS - 1)[1:]]
    paths: dict[str, RouterPaths] = {}
    flows = [
        await write_tree(bench, number, Flow((source, last), (last,)), last, paths)
        for number, source in enumerate((near, first))
    ]
    late = [0 if npu == first else 400 for npu in range(NPUS)]
    sets = successive_sets(flows)
    assert len(sets) == 2
    for own in sets:
        run_together(bench, own, paths, late)
        await bench.drain()
    run_together(bench, flows, paths, late)
    if PATIENT:
        await stops(bench)
        return
    await bench.drain(limit=bench.timeout + MESH.protocol.head_of_line_timeout_cycles)
    assert (await bench.routers[last].access.errors()).raised == ("stuck",)


@test_on(min(MESH.width, MESH.height) > 1 and PATIENT and FILLS)
async def unicasts_on_the_channel_of_turning_trees_stop(dut: Any) -> None:
    """Fill four links in a circle: trees turn at two corners, and unicasts at the two others."""
    bench = await started(dut)
    west, east, low = 0, 1, MESH.width
    flows = {Flow([east], [low]): low + 1, Flow([low], [east]): west}
    paths = router_paths(PLAN, [tree_of(PLAN, flow, root) for flow, root in flows.items()])
    await bench.write_paths(0, 0, paths)
    count = 4 * MESH.protocol.buffer_packets
    for circuit in (1, 0):
        bench.play_flows(0, 0, paths, [*flows], dict.fromkeys(flows, [MOST] * count))
        bench.unicast(west, low + 1, count, MOST, circuit)
        bench.unicast(low + 1, west, count, MOST, circuit)
        if circuit:
            await bench.drain()
    await stops(bench)


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
