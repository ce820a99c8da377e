"""Broken parts of a link."""

# Amaranth has no types.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false

from typing import Any, ClassVar

from amaranth.hdl import Module, Signal

from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.flit_check import FlitCheck
from fred_hw.link.framer import Framer
from fred_hw.link.sender import Sender

from .fault import Fault

__all__ = ["NoCrc", "NoCredit", "StompKeepsCrc", "WrongBit"]


class NoCrc(Fault):
    """Every flit is taken as right, whatever its CRC."""

    unit = FlitCheck
    noticed: ClassVar = {
        "switch": "flow_goes_on_after_one_fault/direction=to_switch/kind=bit_of_data",
        "loaded switch": "want",
        "link": "wrong",
    }

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += [ports.good.eq(sound.good | sound.bad), ports.bad.eq(0)]


class NoCredit(Fault):
    """Packets are started whether the neighbour has room for them or not."""

    unit = CircuitCredits
    noticed: ClassVar = {
        "loaded switch": "but the limit is",
        "link": "credit",
    }

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.room.eq(1)


class WrongBit(Fault):
    """A bit of the data changes in one flit of 256, before its CRC is computed."""

    unit = Sender
    noticed: ClassVar = {"loaded switch": "want"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        count = Signal(8)
        m.d.sync += count.eq(count + ports.i.valid)
        m.d.comb += sound.i.data.eq(ports.i.data ^ (count == 0))


class StompKeepsCrc(Fault):
    """The end of a broken packet gets a CRC that is right."""

    unit = Framer
    noticed: ClassVar = {"loaded switch": "tlast 1 at flit"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.i.payload.frame.bad.eq(0)
