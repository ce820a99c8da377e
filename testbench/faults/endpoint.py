"""Broken parts of the endpoint."""

# Amaranth has no types.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false

from typing import Any, ClassVar

from amaranth.hdl import Module, Signal

from fred_hw.endpoint.flow_receiver import FlowReceiver

from .fault import Fault

__all__ = ["AnyFlit", "AnyPacket", "NoReply"]


class AnyFlit(Fault):
    """A packet that begins again is taken for the rest of what came of it."""

    unit = FlowReceiver
    noticed: ClassVar = {"link": "wrong"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        inside, word = Signal(), ports.i.word
        with m.If(ports.i.valid):
            m.d.sync += inside.eq(~word.last)
        m.d.comb += sound.i.word.first.eq(word.first & ~inside)


class AnyPacket(Fault):
    """A packet of any number is taken for the one that is due."""

    unit = FlowReceiver
    noticed: ClassVar = {"link": "wrong"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        word = ports.i.word
        number = Signal.like(word.descriptor.sequence)
        with m.If(ports.i.valid & word.last):
            m.d.sync += number.eq(number + 1)
        m.d.comb += sound.i.word.descriptor.sequence.eq(number)


class NoReply(Fault):
    """A destination answers no ask."""

    unit = FlowReceiver
    noticed: ClassVar = {"switch with endpoints": ""}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.ask.valid.eq(0)
