"""Agent of a router's bench: endpoints in the places of its neighbours."""

from typing import Any

from cocotb.triggers import RisingEdge

from fred_hw.mesh.plan import DIRECTIONS, Router
from fred_hw.mesh.spec import MeshSpec

from .switch import SwitchBench

__all__ = ["RouterBench"]

_NOBODY = 127
"""Address at a port without a neighbour."""


class RouterBench(SwitchBench):
    """A router with most neighbours in its mesh, each of which is an endpoint.

    A neighbouring router is an endpoint with the address of that router's NPU. A port without a
    neighbour is never served.

    Parameters
    ----------
    dut : handle
        The router.
    mesh : MeshSpec
        Its mesh.
    stall : float
        Share of cycles in which streams pause.

    Attributes
    ----------
    living : list of int
        Ports with a neighbour.
    """

    def __init__(self, dut: Any, mesh: MeshSpec, stall: float = 0.0) -> None:
        super().__init__(dut, mesh.link.with_changes(ports=len(DIRECTIONS)), stall)
        self.unit = max(mesh.plan.units, key=_neighbours)
        ends = zip(self.unit.directions, self.unit.ends, strict=True)
        self._addresses = {DIRECTIONS.index(name): end.number for name, end in ends}
        self.living = sorted(self._addresses)

    async def begin(self) -> None:
        """Reset, and start all endpoints."""
        self.dut.position.value = self.unit.position
        await self._reset()
        streams = self._attach(lambda port: self._addresses.get(port, _NOBODY))
        for number, port in enumerate(self.ports):
            if number not in self._addresses:
                port.dead = port.sink.pause = True
        if self.stall:
            self.pause([one for port in self.living for one in streams[2 * port : 2 * port + 2]])
        await self._run()
        await self.until_up()

    async def until_up(self) -> None:
        """Wait until all links are up."""
        end = self.cycle + 40 * self.spec.protocol.timeout_cycles
        living = sum(1 << port for port in self.living)
        while int(self.dut.up.value) & living != living:
            assert self.cycle < end, "a link does not come up"
            await RisingEdge(self.dut.clk)
        await self.cycles(8)


def _neighbours(unit: Router) -> int:
    return sum(end.kind == "unit" for end in unit.ends)
