"""Agents of the mesh bench: NPUs and I/O controllers by address."""

from collections.abc import Iterable
from typing import Any

from cocotb.triggers import RisingEdge

from fred_hw.mesh.spec import MeshSpec

from .switch import SwitchBench

__all__ = ["MeshBench"]


class MeshBench(SwitchBench):
    """Endpoints on the links of a mesh, with the expected packets.

    Parameters
    ----------
    dut : handle
        The mesh.
    mesh : MeshSpec
        It.
    stall : float
        Share of cycles in which streams pause.
    delay : int
        Cycles of each link in each direction, beside those of the agents.
    """

    def __init__(self, dut: Any, mesh: MeshSpec, stall: float = 0.0, delay: int = 0) -> None:
        ends = mesh.link.with_changes(ports=mesh.plan.addresses)
        super().__init__(dut, ends, stall, delay)
        self.mesh = mesh

    def routers_between(self, source: int, end: int) -> int:
        """Return the number of routers between two addresses."""
        return len(self.mesh.plan.route(source, end)) - 1

    async def begin(self, dead: Iterable[int] = ()) -> None:
        """Reset, then start all endpoints except those given, which stay silent."""
        await self._reset()
        streams = self._attach(lambda number: number)
        for port in dead:
            self.ports[port].dead = self.ports[port].sink.pause = True
        if self.stall:
            self.pause(streams)
        await self._run()
        await self.until_up()

    async def until_up(self) -> None:
        """Wait until all links are up."""
        end = self.cycle + 40 * self.spec.protocol.timeout_cycles
        living = sum(1 << one.address for one in self.ports if not one.dead)
        while int(self.dut.up.value) & living != living or not int(self.dut.inner_up.value):
            assert self.cycle < end, "a link does not come up"
            await RisingEdge(self.dut.clk)
        await self.cycles(self.delay + 8)
