"""AXI4-Lite bus master for benches with registers."""

from typing import Any

from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from cocotbext.axi.axil_channels import (
    AxiLiteARTransaction,
    AxiLiteAWTransaction,
    AxiLiteWTransaction,
)

from fred_hw.control.access import AsyncAccess
from fred_hw.control.switch_map import switch_map
from fred_hw.spec import SwitchSpec

from .deprecations import ignore_in_cocotbext_axi
from .measurements import record

__all__ = ["RegisterBus", "Registers"]

ignore_in_cocotbext_axi()


class RegisterBus:
    """Registers by address, accessible once the master is attached.

    Attributes
    ----------
    channels : dict
        By name, those of the master, which may pause.
    """

    def __init__(self) -> None:
        self.master: Any = None
        self.channels: dict[str, Any] = {}

    def attach(self, dut: Any, reset: Any = None, prefix: str = "s_axil") -> None:
        """Create the master, which samples the bus at once; the bus has no values before reset."""
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, prefix), dut.clk, reset)
        writes, reads = self.master.write_if, self.master.read_if
        self.channels = {
            "aw": writes.aw_channel,
            "w": writes.w_channel,
            "b": writes.b_channel,
            "ar": reads.ar_channel,
            "r": reads.r_channel,
        }

    async def read(self, address: int) -> int:
        """Read the register word at a valid address."""
        answer = await self.master.read(address, 4)
        assert answer.resp == AxiResp.OKAY, f"read of {address:#x}: {answer.resp!r}"
        return int.from_bytes(answer.data, "little")

    async def write(self, address: int, value: int) -> None:
        """Write a writable register word."""
        answer = await self.master.write(address, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, f"write of {address:#x}: {answer.resp!r}"

    def protection(self) -> int:
        """Return the AxPROT value of the next raw access, which registers ignore."""
        return 0

    async def read_raw(self, address: int) -> tuple[int, AxiResp]:
        """Read any address without the alignment that the master would apply."""
        ar = self.channels["ar"]
        await ar.send(AxiLiteARTransaction(araddr=address, arprot=self.protection()))
        answer = await self.channels["r"].recv()
        return int(answer.rdata), AxiResp(int(answer.rresp))

    def write_parts(self, address: int, value: int, strobe: int) -> list[tuple[Any, Any]]:
        """Return the channels and transactions of a raw write."""
        aw, w = self.channels["aw"], self.channels["w"]
        return [
            (aw, AxiLiteAWTransaction(awaddr=address, awprot=self.protection())),
            (w, AxiLiteWTransaction(wdata=value, wstrb=strobe)),
        ]

    async def write_raw(self, address: int, value: int, strobe: int = 15) -> AxiResp:
        """Write any bytes to any address."""
        for channel, transaction in self.write_parts(address, value, strobe):
            await channel.send(transaction)
        return await self.answer()

    async def answer(self) -> AxiResp:
        """Return the response to a raw write."""
        return AxiResp(int((await self.channels["b"].recv()).bresp))


class Registers(RegisterBus):
    """Registers of a switch, also by name as ``access``."""

    def __init__(self, spec: SwitchSpec) -> None:
        super().__init__()
        self.access = AsyncAccess(switch_map(spec), self.read, self.write, polls=1000)

    async def report(self) -> None:
        """Report each register whose value the hardware determines as a figure."""
        for register in self.access.registers.registers:
            fields = [one for one in register.fields if one.access in ("constant", "ro", "w1c")]
            for field in fields:
                words = range(register.words)
                values = [await self.access.read_field(register.name, field.name, k) for k in words]
                alone = len(register.fields) == 1
                record(
                    register.name if alone else f"{register.name}.{field.name}",
                    values[0] if register.count is None else values,
                    "",
                    register.description if alone else field.description,
                )
