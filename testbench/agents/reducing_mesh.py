"""Agents of the bench of a mesh whose routers reduce: NPUs by address, and registers of routers."""

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from fred_hw.compiler.flows import Flow
from fred_hw.control.phase_entry import entry_word
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.trees import RouterPaths
from testbench.models.golden import lanes_of, word_of
from testbench.models.golden_plane import walk_units
from testbench.stimulus.traffic import random_flit

from .registers import Registers
from .scoreboard import Packets
from .switch import SwitchBench

__all__ = ["ReducingMeshBench"]


class ReducingMeshBench(SwitchBench):
    """Endpoints at the NPUs of a mesh of switches, its software, and the expected packets.

    Parameters
    ----------
    dut : handle
        The mesh.
    plan : ReducingMesh
        Its plan.
    stall : float
        Share of cycles in which streams pause.
    """

    def __init__(self, dut: Any, plan: ReducingMesh, stall: float = 0.0) -> None:
        super().__init__(dut, plan.mesh.link.with_changes(ports=plan.addresses), stall)
        self.plan = plan
        self.routers = [Registers(one.spec) for one in plan.units]

    async def begin(self) -> None:
        """Reset, start all endpoints, and write the X-Y routes of unicasts."""
        await self._reset()
        for one, registers in zip(self.plan.units, self.routers, strict=True):
            registers.attach(self.dut, prefix=f"{one.name}_s_axil")
        streams = self._attach(lambda number: number)
        if self.stall:
            self.pause(streams)
        await self._run()
        while not all(self.informed(watch) for watch in (*self.inputs, *self.outputs)):
            await RisingEdge(self.dut.clk)
        await self.cycles(8)
        await _at_once(self._write_unit_routes(unit) for unit in range(len(self.routers)))

    async def _write_unit_routes(self, unit: int) -> None:
        """Write the X-Y routes of unicasts to a router."""
        for address in range(self.plan.addresses):
            port = self.plan.port_for(unit, address)
            await self.routers[unit].access.write_route(address, port)

    async def write_paths(self, number: int, circuit: int, paths: RouterPaths) -> None:
        """Write the entries of a phase that no router had before."""
        words = {
            unit: entry_word(self.plan.units[unit].spec, paths.configurations[unit], flows, circuit)
            for unit, flows in paths.flows.items()
        }
        await _at_once(
            self.routers[unit].access.write_phase(number, word) for unit, word in words.items()
        )

    def play_flows(
        self,
        number: int,
        circuit: int,
        paths: RouterPaths,
        flows: Sequence[Flow],
        lengths: Mapping[Flow, Sequence[int]],
    ) -> None:
        """Send packets of the flows of a phase, with given flits, and expect the golden results."""
        for npu, packets in self.expect_flows(number, paths, flows, lengths).items():
            self.ports[npu].send(number, circuit, packets)

    def expect_flows(
        self,
        number: int,
        paths: RouterPaths,
        flows: Sequence[Flow],
        lengths: Mapping[Flow, Sequence[int]],
    ) -> dict[int, Packets]:
        """Expect the golden results of the flows of a phase.

        Return the packets that each NPU has to send, which are random numbers.
        """
        to_send: dict[int, Packets] = {}
        for flow in flows:
            sent: dict[int, Packets] = {npu: [] for npu in flow.inputs}
            wanted: dict[int, Packets] = {npu: [] for npu in flow.outputs}
            for length in lengths[flow]:
                for packets in sent.values():
                    packets.append(tuple(random_flit(self.rng, self.spec) for _ in range(length)))
                results: dict[int, list[int]] = {npu: [] for npu in flow.outputs}
                for place in range(length):
                    inputs = {npu: lanes_of(one[-1][place], self.spec) for npu, one in sent.items()}
                    found = walk_units(self.plan, paths.configurations, inputs)
                    assert found.keys() == wanted.keys()
                    for npu, words in found.items():
                        results[npu].append(word_of(words, self.spec))
                for npu, flits in results.items():
                    wanted[npu].append(tuple(flits))
            to_send |= sent
            for npu, packets in wanted.items():
                self.want(npu, number, 0, packets)
        return to_send

    async def no_errors(self) -> None:
        """Check that no router reports an error."""
        for one, registers in zip(self.plan.units, self.routers, strict=True):
            found = await registers.access.errors()
            assert found.raised == (), f"{one.name}: {found}"


async def _at_once(writes: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Write to several routers at once, as each has registers of its own."""
    for task in [cocotb.start_soon(one) for one in writes]:
        await task
