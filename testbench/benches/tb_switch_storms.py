"""cocotb tests of the switch under heavy load: all routes, unexpected messages, many faults."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from fred_hw.compiler.flows import Flow
from fred_hw.per_class import per_class
from fred_hw.protocol import ADDRESSES, CONTROL, GENERATIONS, KINDS
from testbench.agents.line import FaultyLink
from testbench.agents.switch import SwitchBench
from testbench.models.endpoint import Flit
from testbench.stimulus.addresses import address_of

from .tb_switch import (
    LATENCY,
    PACKETS,
    PORTS,
    PROTOCOL,
    SPEC,
    phase_of,
    runs_of,
    scenario,
    several,
    started,
)

CHANNELS = range(per_class(SPEC))
MESSAGES = [KINDS.index(name) for name in ("ack", "nack", "ask")]
test = scenario()
phases_test = scenario(PROTOCOL.phases >= 2)


@test
async def unicasts_leave_by_the_route_of_any_address(dut: Any) -> None:
    """Send to one address at a time on each virtual channel of each port; no port takes packets."""
    bench, rng = await started(dut)
    senders = [(port, circuit) for port in range(PORTS) for circuit in CHANNELS]
    addresses = rng.sample(range(ADDRESSES), ADDRESSES)
    while addresses:
        sent = dict(zip(addresses, senders, strict=False))
        addresses = addresses[len(sent) :]
        ways = {address: rng.randrange(PORTS) for address in sent}
        for address, way in ways.items():
            await bench.access.write_route(address, way)
        before = [len(watch.beats) for watch in bench.outputs]
        for address, (port, circuit) in sent.items():
            bench.ports[port].endpoint.send(PROTOCOL.online, circuit, [(address,)], address)
        await bench.cycles(3 * LATENCY + 10 * len(sent))
        for port in bench.ports:
            port.endpoint.forget(PROTOCOL.online)
            port.received.clear()
        came = {
            fields["destination"]: way
            for way, watch in enumerate(bench.outputs)
            for fields in (bench.codec.unpack(one.flit) for one in watch.beats[before[way] :])
            if fields["kind"] == 0 and fields["unicast"]
        }
        assert {address: came.get(address) for address in ways} == ways


@phases_test
async def messages_of_other_flows_do_no_harm(dut: Any) -> None:
    """Send bursts of messages with other generations and of flows that do not exist.

    Some have bits in fields that their kind does not use. Some ports take no flits meanwhile.
    """
    table = several(SwitchBench(dut, SPEC).rng)
    bench, rng = await started(dut, 0.0, table)
    for _ in range(8):
        bench.play(runs_of(rng, rng.choice(table), PACKETS))
        bench.unicast(rng.randrange(PORTS), rng.randrange(PORTS), 2)
        for port in bench.ports:
            for _ in range(rng.choice((1, 6, 40))):
                kind, number = rng.choice(MESSAGES), rng.getrandbits(8)
                flow = {"phase": rng.randrange(PROTOCOL.phases)}
                flow["generation"] = rng.randrange(1, GENERATIONS)
                if not rng.randrange(4):
                    end = address_of(rng.randrange(PORTS))
                    source = rng.randrange(ADDRESSES // 2)
                    flow = {"unicast": 1, "destination": end, "source": source}
                about = {"kind": kind, "circuit": CONTROL, "sequence": number}
                port.to_switch.put(bench.codec.pack(**about, **flow))
            port.sink.pause = bool(rng.randrange(2))
        await bench.cycles(rng.randrange(120))
        for port in bench.ports:
            port.sink.pause = False
    await bench.drain()
    bench.finish()


@phases_test
async def nack_is_obeyed_while_nothing_is_served(dut: Any) -> None:
    """Keep acks of a phase from the switch, and rewrite the phase that is served after it."""
    phases = [phase_of(number, number, Flow((0,), (1,))) for number in range(2)]
    bench, rng = await started(dut, 0.0, phases)
    back, ack, nack = bench.ports[1].to_switch, *MESSAGES[:2]

    def lose(flit: Flit) -> Sequence[Flit]:
        fields = bench.codec.unpack(flit)
        return () if (fields["kind"], fields["phase"]) == (ack, 0) else (flit,)

    back.change = lose
    for phase in phases:
        bench.play(runs_of(rng, phase, 2, 1))
        await bench.arrive([phase])
    await bench.write(phases[1])
    assert not await bench.access.read("STATUS") & 1
    back.change = None
    about = {"circuit": CONTROL, "phase": 0, "sequence": 1}
    back.put(bench.codec.pack(kind=nack, **about))
    await bench.drain()
    sent = [bench.codec.unpack(one.flit) for one in bench.data(bench.outputs[1])]
    assert [one["sequence"] for one in sent if not one["phase"]] == [0, 1, 1]
    bench.finish()


@phases_test
async def any_channel_yields_to_more_urgent_ones(dut: Any) -> None:
    bench, rng = await started(dut)
    for urgent, other in combinations(CHANNELS, 2):
        phases = [
            phase_of(0, other, Flow(tuple(range(PORTS)), (0,))),
            phase_of(1, urgent, Flow((PORTS - 1,), (0,))),
        ]
        for phase in phases:
            await bench.write(phase)
        for wait in range(PROTOCOL.packet_flits + 1):
            bench.play(runs_of(rng, phases[0], 2 * PACKETS, PROTOCOL.packet_flits))
            await bench.cycles(LATENCY + wait)
            bench.play(runs_of(rng, phases[1], 1))
            await bench.drain()
    await bench.finish_clean()


@test
async def flows_on_any_channel_pass_links_with_many_faults(dut: Any) -> None:
    """Let each phase have a random virtual channel, and pause between parts of the traffic."""
    bench = SwitchBench(dut, SPEC, 0.05)
    rng = bench.rng
    table = [replace(one, circuit=rng.choice(CHANNELS)) for one in several(rng)]
    await bench.start(table)
    change = FaultyLink(rng, SPEC.data_width, 0.03)
    for port in bench.ports:
        port.to_switch.change = port.from_switch.change = change
    for _ in range(6):
        for _ in range(4):
            bench.play(runs_of(rng, rng.choice(table), PACKETS))
            bench.unicast(rng.randrange(PORTS), rng.randrange(PORTS), 2)
            await bench.cycles(rng.choice((0, 0, 40)))
        await bench.drain()
    # While a source waits for its timeout, packets of others may exceed theirs.
    assert set((await bench.access.errors()).raised) <= {"stuck"}
    bench.finish()
