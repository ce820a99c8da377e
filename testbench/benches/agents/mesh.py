"""Agents of a mesh's bench: NPUs and I/O controllers, by their addresses."""

import logging
from collections.abc import Iterable
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.ways import way
from fred_hw.spec import SwitchSpec
from testbench.benches.agents.switch import LinkPort, SwitchBench, Watch
from testbench.models.endpoint import Endpoint
from testbench.stimulus.traffic import random_flit

__all__ = ["MeshBench"]


class EndPort(LinkPort):
    """An NPU or controller, whose address is the number of its port.

    Attributes
    ----------
    dead : bool
        Whether it does nothing at all, not even take a flit.
    """

    dead = False

    def step(self) -> None:
        if not self.dead:
            super().step()

    def reboot(self, spec: SwitchSpec | None = None) -> Endpoint:
        self._incarnation += 1
        self.endpoint = Endpoint(spec or self.spec, self.port, incarnation=self._incarnation)
        return self.endpoint


class MeshBench(SwitchBench):
    """Ends on all links of a mesh, or of some, and what must come out.

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
        ends = mesh.link.with_changes(ports=len(mesh.places))
        super().__init__(dut, ends, stall, delay)
        self.mesh = mesh
        self.ends: list[EndPort] = []

    def routers_between(self, source: int, end: int) -> int:
        """Return how many routers a packet crosses from one address to another."""
        return len(way(self.mesh, source, end)) - 1

    async def begin(self, dead: Iterable[int] = ()) -> None:
        """Reset, and let all ends run but some, which do nothing at all."""
        dut, every = self.dut, range(self.spec.ports)
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        dut.rst.value = 1
        dut.incarnation.value = self.incarnation
        for port in range(self.spec.ports):
            for name in ("tvalid", "tdata", "tlast", "tuser"):
                dut[f"s{port}_axis_{name}"].value = 0
            dut[f"m{port}_axis_tready"].value = 0
        cocotb.start_soon(Clock(dut.clk, 10, unit="ns", impl="gpi").start())
        await self._edges(2)
        self.ends = [EndPort(dut, self.spec, port, self.delay) for port in every]
        for port in dead:
            self.ends[port].dead = self.ends[port].sink.pause = True
        self.ports = list(self.ends)
        self.inputs = [Watch(dut, f"s{port}_axis") for port in every]
        self.outputs = [Watch(dut, f"m{port}_axis") for port in every]
        if self.stall:
            self.pause([agent for one in self.ends for agent in (one.source, one.sink)])
        await self._edges(2)
        dut.rst.value = 0
        cocotb.start_soon(self._run())
        await self.until_up()

    async def until_up(self) -> None:
        """Wait until all links are up."""
        end = self.cycle + 40 * self.spec.protocol.timeout_cycles
        living = sum(1 << one.port for one in self.ends if not one.dead)
        while int(self.dut.up.value) & living != living or not int(self.dut.inner_up.value):
            assert self.cycle < end, "a link does not come up"
            await RisingEdge(self.dut.clk)
        await self.cycles(self.delay + 8)

    def send(
        self, source: int, destination: int, packets: int = 1, flits: int = 0, circuit: int = -1
    ) -> None:
        """Send and expect packets of random payload, those of a pair on one circuit.

        Parameters
        ----------
        source, destination : int
            Addresses.
        packets, flits : int
            How many, and how long each is; 0 for any length.
        circuit : int
            Which, -1 for the one that follows from the addresses.
        """
        most, online = self.spec.protocol.packet_flits, self.spec.protocol.online
        new = [
            tuple(
                random_flit(self.rng, self.spec) for _ in range(flits or self.rng.randint(1, most))
            )
            for _ in range(packets)
        ]
        used = (source + destination) % 3 if circuit < 0 else circuit
        self.ports[source].send(online, used, new, destination)
        self.want(destination, online, source, new)
