"""Unicasts and an all-reduce through two switches: each with two NPUs, and a link between them."""

import random
from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Module

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.phase_entry import entry_word
from fred_hw.switch.core import SwitchCore
from testbench.models.endpoint import Endpoint, Flit
from tests.fred_hw.simulation import simulate
from tests.fred_hw.specs import LINK

PROTOCOL = LINK.protocol.model_dump() | {"timeout_cycles": 200, "window_packets": 16}
SPEC = LINK.with_changes(ports=3, protocol=PROTOCOL)
UPLINK, NPUS = 2, range(4)  # NPU k is at port k % 2 of switch k // 2
ONLINE = SPEC.protocol.online
ADDRESSES = (90, 17, 3, 127)
PACKETS = 3
# The first switch adds what its NPUs send, the second adds that to its own and sends it back.
PHASE, CIRCUIT = 2, 1
ALL_REDUCE = (Flow((0, 1), (2,)), Flow((2,), (0, 1))), (Flow((0, 1, 2), (0, 1, 2)),)


@cache
def design() -> tuple[Module, list[SwitchCore]]:
    """Return two switches in a module, the same for all tests, as it is compiled once."""
    top, switches = Module(), [SwitchCore(spec=SPEC) for _ in range(2)]
    top.submodules += switches
    return top, switches


class Fabric:
    """Two switches in the simulator, with NPUs, and links that lose a share of the flits."""

    def __init__(self, seed: int, faults: float) -> None:
        self.rng, self.faults = random.Random(seed), faults
        self.top, self.switches = design()
        self.npus = [Endpoint(SPEC, address) for address in ADDRESSES]
        self.lines = {end: deque[Flit | None]([None] * 3) for end in product(range(2), range(3))}

    def routes(self, switch: int) -> Iterator[tuple[int, int]]:
        for npu, address in enumerate(ADDRESSES):
            yield address, npu % 2 if npu // 2 == switch else UPLINK

    async def write(self, ctx: Any) -> None:
        """Write the phase into both switches."""
        await ctx.tick().repeat(10)  # entries are erased
        for switch, flows in zip(self.switches, ALL_REDUCE, strict=True):
            configuration = route(flows, SPEC.ports, SPEC.middle_switches).configuration
            assert configuration is not None
            ctx.set(switch.table.number, PHASE)
            ctx.set(switch.table.entry, entry_word(SPEC, configuration, flows, CIRCUIT))
            ctx.set(switch.table.write, 1)
            await ctx.tick().until(switch.table.done)
            ctx.set(switch.table.write, 0)

    async def run(self, ctx: Any) -> None:
        """Let all ports go on until all is acknowledged."""
        for s, switch in enumerate(self.switches):
            for address, port in self.routes(s):
                ctx.set(switch.routes[address], port + 1)
            for out in switch.o:
                ctx.set(out.ready, 1)
        for _ in range(12_000):
            if all(npu.done for npu in self.npus):
                return
            self.step(ctx)
            await ctx.tick()

    def step(self, ctx: Any) -> None:
        """Move a flit on each link."""
        sent = {}
        for (s, port), line in self.lines.items():
            into, came = self.switches[s].i[port], line.popleft()
            ctx.set(into.valid, came is not None)
            if came is not None:
                for name in ("header", "data", "crc"):
                    value = getattr(into, name)
                    ctx.set(value.as_value() if name == "header" else value, getattr(came, name))
        for s, port in self.lines:
            out = self.switches[s].o[port]
            sent[s, port] = self.seen(ctx, out) if ctx.get(out.valid) else None
        for (s, port), flit in sent.items():
            if port == UPLINK:
                self.lines[1 - s, UPLINK].append(self.lossy(flit))
            else:
                self.lines[s, port].append(self.lossy(self.npus[2 * s + port].step(flit)))

    def seen(self, ctx: Any, out: Any) -> Flit:
        flit = out.payload
        return Flit(ctx.get(flit.header.as_value()), ctx.get(flit.data), ctx.get(flit.crc))

    def lossy(self, flit: Flit | None) -> Flit | None:
        return None if self.rng.random() < self.faults else flit


@pytest.mark.slow
@pytest.mark.parametrize("faults", [0.0, 0.02])
def test_unicasts_of_all_npus_reach_all_others_in_order_each_once(faults: float) -> None:
    fabric = Fabric(1, faults)
    wanted: list[dict[tuple[int, int], list[tuple[int, ...]]]] = [{} for _ in NPUS]
    for source, destination in product(NPUS, NPUS):
        packets = [
            tuple(fabric.rng.getrandbits(16) for _ in range(fabric.rng.randint(1, 4)))
            for _ in range(PACKETS)
        ]
        # Bursts of a circuit of the link between begin at all ports in the same order.
        circuit = (source + destination) % 3
        peer = ADDRESSES[destination]
        fabric.npus[source].send(ONLINE, circuit, packets, peer)
        wanted[destination][ONLINE, ADDRESSES[source]] = packets

    simulate(fabric.top, fabric.run)
    assert [npu.received for npu in fabric.npus] == wanted
    assert all(npu.done for npu in fabric.npus)
    assert (sum(npu.counts["resent"] for npu in fabric.npus) > 0) == (faults > 0)


@pytest.mark.slow
def test_an_all_reduce_of_all_npus_comes_to_all_of_them_through_faults() -> None:
    fabric = Fabric(2, 0.02)
    lengths = [fabric.rng.randint(1, 4) for _ in range(6)]
    sent = [[tuple(fabric.rng.getrandbits(8) for _ in range(n)) for n in lengths] for _ in NPUS]
    for npu, packets in zip(fabric.npus, sent, strict=True):
        npu.send(PHASE, CIRCUIT, packets)
    sums = [tuple(map(sum, zip(*packets, strict=True))) for packets in zip(*sent, strict=True)]

    async def bench(ctx: Any) -> None:
        await fabric.write(ctx)
        await fabric.run(ctx)

    simulate(fabric.top, bench)
    assert [npu.received for npu in fabric.npus] == [{(PHASE, 0): sums}] * len(NPUS)
    assert all(npu.done for npu in fabric.npus)
    assert sum(npu.counts["resent"] for npu in fabric.npus) > 0
