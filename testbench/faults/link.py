"""Broken parts of a link."""

# Amaranth has no types.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false

from typing import Any

from amaranth.hdl import Module, Signal

from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.flit_check import FlitCheck
from fred_hw.link.framer import Framer
from fred_hw.link.sender import Sender

from .fault import broken

__all__ = ["no_crc", "no_credit", "stomp_keeps_crc", "wrong_bit"]


@broken(
    FlitCheck,
    {
        "switch": "flow_goes_on_after_one_fault/direction=to_switch/kind=bit_of_data",
        "loaded switch": "want",
        "link": "wrong",
    },
)
def no_crc(m: Module, sound: Any, ports: Any) -> None:
    """Every flit is taken as right, whatever its CRC."""
    m.d.comb += [ports.good.eq(sound.good | sound.bad), ports.bad.eq(0)]


@broken(
    CircuitCredits,
    {
        "loaded switch": "but the limit is",
        "link": "credit",
    },
)
def no_credit(m: Module, sound: Any, ports: Any) -> None:
    """Packets are started whether the neighbour has room for them or not."""
    m.d.comb += ports.room.eq(1)


@broken(Sender, {"loaded switch": "want"})
def wrong_bit(m: Module, sound: Any, ports: Any) -> None:
    """A bit of the data changes in one flit of 256, before its CRC is computed."""
    count = Signal(8)
    m.d.sync += count.eq(count + ports.i.valid)
    m.d.comb += sound.i.data.eq(ports.i.data ^ (count == 0))


@broken(Framer, {"loaded switch": "tlast 1 at flit"})
def stomp_keeps_crc(m: Module, sound: Any, ports: Any) -> None:
    """The end of a broken packet gets a CRC that is right."""
    m.d.comb += sound.i.payload.frame.bad.eq(0)
