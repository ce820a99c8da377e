"""Agents of a collective endpoint: its memory, and its software."""

import random
from collections import deque
from collections.abc import Sequence
from typing import Any

from cocotb.triggers import FallingEdge, RisingEdge

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.memory_port import READ_PORTS
from fred_hw.ace.operations import Descriptor
from fred_hw.control.axi_lite import PREFIX
from fred_hw.link.axis import AXIS_FORTH
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import class_number

from .registers import RegisterBus

__all__ = ["EndpointPort"]

_BUS_INPUTS = ("awvalid", "wvalid", "bready", "arvalid", "rready")


class EndpointPort:
    """Memory and software of a collective endpoint.

    Parameters
    ----------
    dut : handle
        The design.
    spec : SwitchSpec
        Sizes.
    prefix : str
        Start of the names of the endpoint's ports.
    address : int
        Its address.
    rng : random.Random
        Source of pauses.
    stall : float
        Share of cycles in which a stream of memory pauses.

    Attributes
    ----------
    memory : dict of int to int
        Flits by their address [bytes].
    reads : int
        Flits read from memory so far.
    """

    def __init__(
        self,
        dut: Any,
        spec: SwitchSpec,
        prefix: str,
        address: int,
        rng: random.Random,
        stall: float,
    ) -> None:
        self.dut, self.spec, self.prefix, self.address = dut, spec, prefix, address
        self.rng, self.stall = rng, stall
        self.map = endpoint_map(spec)
        self.bus = RegisterBus()
        self.memory: dict[int, int] = {}
        self.reads = 0
        self.queued: dict[str, int] = dict.fromkeys(spec.protocol.channels.names, 0)
        self._ports = READ_PORTS[: spec.endpoint.read_ports]
        self._queues = {port: deque[int]() for port in self._ports}

    def pin(self, name: str) -> Any:
        """Return a port of the endpoint."""
        return self.dut[f"{self.prefix}_{name}"]

    def reset(self, session_id: int) -> None:
        """Drive all inputs while the design is in reset; memory forgets what it still reads."""
        inputs = {"session_id": session_id, "m_axis_tready": 0, "m_axis_write_tready": 0}
        inputs |= {f"s_axis_{wire}": 0 for wire in AXIS_FORTH}
        inputs |= {f"{PREFIX}{name}": 0 for name in _BUS_INPUTS}
        for port in self._ports:
            inputs |= {f"m_axis_{port}read_tready": 0, f"s_axis_{port}data_tvalid": 0}
            self._queues[port].clear()
        for name, value in inputs.items():
            self.pin(name).value = value
        self.queued = dict.fromkeys(self.queued, 0)

    async def serve(self) -> None:
        """Serve memory, cycle by cycle, from a reset on."""
        while True:
            await FallingEdge(self.dut.clk)
            resets = int(self.dut.rst.value)
            if self._moves("m_axis_write") and not resets:
                address = int(self.pin("m_axis_write_tuser").value)
                self.memory[address] = int(self.pin("m_axis_write_tdata").value)
            for port, queue in self._queues.items():
                if self._moves(f"s_axis_{port}data") and not resets:
                    queue.popleft()
                if self._moves(f"m_axis_{port}read") and not resets:
                    self.reads += 1
                    queue.append(self.memory[int(self.pin(f"m_axis_{port}read_tdata").value)])
            await RisingEdge(self.dut.clk)
            self._offer()

    def _moves(self, stream: str) -> bool:
        return all(int(self.pin(f"{stream}_{name}").value) for name in ("tvalid", "tready"))

    def _offer(self) -> None:
        """Drive the inputs of memory for the next cycle; an offered flit stays."""
        self.pin("m_axis_write_tready").value = self._goes()
        for port, queue in self._queues.items():
            self.pin(f"m_axis_{port}read_tready").value = self._goes()
            self.pin(f"s_axis_{port}data_tvalid").value = int(bool(queue))
            if queue:
                self.pin(f"s_axis_{port}data_tdata").value = queue[0]

    def _goes(self) -> int:
        return int(self.rng.random() >= self.stall)

    async def read(self, register: str, index: int = 0) -> int:
        """Read a word of a register."""
        return await self.bus.read(self.map.register(register).address + 4 * index)

    async def write(self, register: str, value: int, index: int = 0) -> None:
        """Write a word of a register."""
        await self.bus.write(self.map.register(register).address + 4 * index, value)

    async def until(self, register: str, value: int, mask: int, index: int = 0) -> None:
        """Read a register until its bits in ``mask`` equal ``value``."""
        for _ in range(2000):
            if await self.read(register, index) & mask == value:
                return
        raise AssertionError(f"{self.prefix}: {register} does not become {value}")

    async def begin(self) -> None:
        """Write the address, enable interrupts of DONE, and wait for the link."""
        await self.write("ADDRESS", self.address)
        await self.write("DONE_ENABLE", (1 << len(self.queued)) - 1)
        await self.until("STATUS", 1, 1)

    async def queue(self, descriptors: Sequence[Descriptor]) -> None:
        """Queue descriptors; each waits until the previous one is prepared."""
        for one in descriptors:
            full = 1 << 12 + class_number(one.circuit)
            await self.until("STATUS", 0, 2 | full)
            for register, index, value in one.writes(self.spec.data_width // 8):
                await self.write(register, value, index)
            self.queued[one.circuit] += 1

    async def finish(self) -> None:
        """Wait until all queued descriptors are complete, and check that no error is reported."""
        for index, name in enumerate(self.queued):
            await self.until("COMPLETED", self.queued[name], 0xFFFFFFFF, index)
        assert await self.read("ERROR") == 0
