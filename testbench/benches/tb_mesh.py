"""cocotb tests of a mesh: traffic patterns, link faults, endpoints that stop or restart."""

import os
from collections.abc import Sequence
from enum import Enum
from typing import Any

import cocotb

from fred_hw.mesh.router import HOP_CYCLES
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CONTROL
from testbench.agents.axis import StreamMonitor
from testbench.agents.line import FaultyLink
from testbench.agents.mesh import MeshBench
from testbench.stimulus.meshes import PATTERNS

MESH = MeshSpec.model_validate_json(os.environ["FRED_MESH"])
PROTOCOL = MESH.protocol
NPUS, ENDS = MESH.routers, MESH.plan.addresses
PACKETS = int(os.environ.get("FRED_PACKETS", "4"))
THERE = [name for name, to in PATTERNS.items() if any(to(MESH, k) is not None for k in range(NPUS))]
Pattern: Any = Enum("Pattern", {name: name for name in THERE})

test = cocotb.test(timeout_time=20, timeout_unit="ms")
among_three = cocotb.test(timeout_time=20, timeout_unit="ms", skip=NPUS < 3)


async def started(dut: Any, stall: float = 0.0, dead: Sequence[int] = ()) -> MeshBench:
    bench = MeshBench(dut, MESH, stall)
    await bench.begin(dead)
    return bench


@test
async def every_end_sends_to_every_end(dut: Any) -> None:
    """Check that controllers also send, that self-sends arrive, and nothing is duplicated."""
    bench = await started(dut)
    bench.probe(errors=dut.errors, dropped=dut.dropped)
    for distance in range(ENDS):
        for source in range(ENDS):
            bench.unicast(source, (source + distance) % ENDS, PACKETS)
    await bench.drain()
    assert bench.seen == {"errors": [], "dropped": []}
    assert sum(one.endpoint.counts["resent"] for one in bench.ports) == 0
    bench.finish()


@test
@cocotb.parametrize(pattern=list(Pattern))
async def pattern_goes_through_on_all_circuits(dut: Any, pattern: Any) -> None:
    bench = await started(dut, 0.1)
    for source in range(NPUS):
        end = PATTERNS[pattern.value](MESH, source)
        if end is None:
            continue
        for circuit in range(3):
            bench.unicast(source, (end + circuit) % NPUS, 3 * PACKETS, circuit=circuit)
    await bench.drain()
    bench.finish()


@test
async def traffic_to_one_npu_does_not_block_another_channel(dut: Any) -> None:
    """Check that traffic to one NPU does not block another virtual channel."""
    bench = await started(dut)
    hot = NPUS // 2
    for source in range(NPUS):
        bench.unicast(source, hot, 2 * PACKETS, PROTOCOL.packet_flits, 1)
        bench.unicast(source, (source + 1) % NPUS, PACKETS, circuit=0)
    await bench.drain()
    bench.finish()


@among_three
async def urgent_packet_overtakes_others_at_every_router(dut: Any) -> None:
    """Let at most the packet in progress at each router precede it, for any flit position.

    Other NPUs keep the links on its route busy, on the least urgent virtual channel.
    """
    bench = await started(dut)
    hot, most = NPUS // 2, PROTOCOL.packet_flits
    source = max(range(NPUS), key=lambda npu: bench.routers_between(npu, hot))
    routers = bench.routers_between(source, hot)

    def crossed(watch: StreamMonitor) -> list[int]:
        return [b.cycle for b in bench.data(watch) if bench.codec.unpack(b.flit)["circuit"] == 0]

    for wait in range(most + 2):
        for other in set(range(NPUS)) - {hot, source}:
            bench.unicast(other, hot, 4 * PACKETS, most, circuit=2)
        await bench.cycles(2 * most * routers + wait)
        bench.unicast(source, hot, 1, 1, circuit=0)
        await bench.drain()
        begin, end = (crossed(one)[-1] for one in (bench.inputs[source], bench.outputs[hot]))
        # Each link may carry a control flit first, too.
        least, longest = routers * (HOP_CYCLES - 1), routers * (HOP_CYCLES + most + 1)
        assert least <= end - begin <= longest, f"{end - begin} cycles, after {wait}"
        assert bench.data(bench.outputs[hot])[-1].cycle > end, f"overtook nothing after {wait}"
    bench.finish()


@test
async def random_traffic_comes_through_faults(dut: Any) -> None:
    bench = await started(dut, 0.1)
    change = FaultyLink(bench.rng, bench.spec.data_width, 0.01)
    for one in bench.ports:
        one.to_switch.change = one.from_switch.change = change
    for _ in range(4 * ENDS):
        source, end = (bench.rng.randrange(ENDS) for _ in range(2))
        bench.unicast(source, end, PACKETS)
    await bench.drain(limit=4 * bench.timeout)
    bench.finish()


@test
async def end_that_has_no_space_holds_up_others_of_its_circuit_for_a_while(dut: Any) -> None:
    """Drop packets that wait too long, while other virtual channels continue."""
    bench = await started(dut)
    deaf, stuck = 0, PROTOCOL.head_of_line_timeout_cycles
    bench.probe(errors=dut.errors)
    bench.ports[deaf].endpoint.keeps_space = True
    many = 3 * PROTOCOL.buffer_packets
    for source in range(1, NPUS):
        bench.ports[source].send(PROTOCOL.online, 1, [(1,) * PROTOCOL.packet_flits] * many, deaf)
    await bench.cycles(4 * many * PROTOCOL.packet_flits)
    for source in range(1, NPUS):
        bench.unicast(source, NPUS - source, PACKETS, circuit=0)
    begin = bench.cycle
    await bench.arrive(limit=stuck)
    assert bench.cycle - begin < stuck
    await bench.cycles(2 * stuck)
    assert bench.seen["errors"]
    # Sources give up; the destination discards the remaining flits, which nobody expects.
    for source in range(1, NPUS):
        bench.ports[source].endpoint.forget(PROTOCOL.online)
    bench.ports[deaf].endpoint.keeps_space = False
    bench.ports[deaf].endpoint.free()
    await bench.cycles(bench.timeout // 4)
    bench.ports[deaf].received.clear()
    bench.finish()


@among_three
async def dead_ends_hold_up_nobody(dut: Any) -> None:
    """Drop packets for an endpoint that never completes the handshake."""
    dead = NPUS - 1
    bench = await started(dut, 0.0, [dead])
    for one in bench.ports[:2]:
        packets = [(1,) * PROTOCOL.packet_flits] * (2 * PROTOCOL.buffer_packets)
        one.endpoint.send(PROTOCOL.online, 0, packets, dead)
    await bench.cycles(8 * PROTOCOL.buffer_packets * PROTOCOL.packet_flits)
    # A cancelled burst is ahead of another one in its virtual channel.
    bench.ports[0].endpoint.forget(PROTOCOL.online)
    bench.unicast(0, 1, PACKETS, circuit=0)
    for source in range(NPUS - 1):
        if source:
            bench.unicast(source, (source + 1) % (NPUS - 1), PACKETS, circuit=2)
        if source > 1:
            bench.unicast(source, 0, PACKETS, circuit=0)
    await bench.arrive(limit=2 * PROTOCOL.timeout_cycles)
    bench.finish()


@test
async def ends_begin_anew_in_traffic(dut: Any) -> None:
    """Lose only packets of an endpoint that restarts."""
    bench = await started(dut, 0.05)
    anew = bench.rng.randrange(NPUS)
    others = [k for k in range(NPUS) if k != anew]
    for source in others:
        bench.unicast(source, others[(source + 1) % len(others)], 3 * PACKETS)
    own = [(5,) * PROTOCOL.packet_flits] * PACKETS
    for peer in others:
        bench.ports[anew].endpoint.send(PROTOCOL.online, 0, own, peer)
    for _ in range(3):
        await bench.cycles(bench.rng.randrange(10, 100))
        bench.ports[anew].reboot()
    await bench.until_up()
    for number in others:
        for flow in [one for one in bench.ports[number].received if one[1] == anew]:
            del bench.ports[number].received[flow]
    await bench.arrive(limit=2 * bench.timeout)
    bench.finish()


@test
async def nonsense_from_an_end_is_counted_and_harms_nobody(dut: Any) -> None:
    """Drop packets of phases, to unknown addresses and of invalid kinds."""
    bench = await started(dut)
    bench.probe(errors=dut.errors)
    bad, codec = bench.ports[0], bench.codec
    for source in range(1, NPUS):
        bench.unicast(source, NPUS - source, 2 * PACKETS)
    for number in range(40):
        link_sequence = 0
        fields = (
            {"kind": number % 3, "phase": number % 8, "link_sequence": link_sequence},
            {"kind": number % 3, "unicast": 1, "destination": ENDS + number % (128 - ENDS)},
            {"kind": 7, "circuit": CONTROL},
            {"kind": 0, "circuit": CONTROL},
        )[number % 4]
        bad.to_switch.put(codec.pack(number, **fields))
        await bench.cycles(bench.rng.randrange(1, 6))
    await bench.arrive(limit=2 * bench.timeout)
    assert bench.seen["errors"]
    bench.finish()
