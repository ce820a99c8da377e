"""Broken parts of the switch core and its edges."""

# Amaranth has no types.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false

from typing import Any

from amaranth.hdl import Module, Signal

from fred_hw.protocol import KINDS
from fred_hw.switch.acknowledger import Acknowledger
from fred_hw.switch.entry_check import EntryCheck
from fred_hw.switch.ports.circuit_queue import CircuitQueue
from fred_hw.switch.ports.input_port import InputPort
from fred_hw.switch.ports.output_port import OutputPort
from fred_hw.switch.scheduler import Scheduler
from fred_hw.switch.switch import Switch

from .fault import Fault

__all__ = [
    "AlwaysRoom",
    "AnyEntry",
    "AnyNumber",
    "EagerAck",
    "FlitEarly",
    "NeverPreempts",
    "NeverStomps",
    "NoAnswer",
    "OfferChanges",
]


class NeverPreempts(Fault):
    """A phase is served to its end, however urgent another one is."""

    unit = Scheduler

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        # A packet always goes on, as it seems, until none is left.
        m.d.comb += [ports.service.leaving.eq(0), sound.service.runs.eq(1)]


class FlitEarly(Fault):
    """An input port says that a flit is there before it is."""

    unit = InputPort

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.head.valid.eq(1)


class AlwaysRoom(Fault):
    """An output port promises room that there is not."""

    unit = OutputPort

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.injection.room.eq(-1)


class NeverStomps(Fault):
    """Broken packets end with a CRC that is right."""

    unit = OutputPort

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.injection.bad.eq(0)


class AnyEntry(Fault):
    """Every entry of the configuration memory is taken."""

    unit = EntryCheck

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.right.eq(1)


class AnyNumber(Fault):
    """A packet of any number is taken as due."""

    unit = CircuitQueue

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.due.eq(sound.descriptor.sequence)


class EagerAck(Fault):
    """An ack of a phase is handed on as soon as one output has sent it."""

    unit = Acknowledger

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        online = sound.spec.protocol.online
        for said in ports.message:
            about = said.payload
            with m.If(said.valid & (about.kind == KINDS.index("ack")) & (about.phase != online)):
                for heard in sound.message:
                    m.d.comb += [heard.valid.eq(1), heard.payload.eq(about)]


class NoAnswer(Fault):
    """Packets that come again are answered by nothing."""

    unit = Acknowledger

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        for heard, event in zip(sound.event, ports.event, strict=True):
            m.d.comb += [heard.late.eq(0), event.taken.eq(heard.taken | event.late)]


class OfferChanges(Fault):
    """The payload of a flit changes while it is offered and not taken."""

    unit = Switch

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        waits = Signal()
        m.d.sync += waits.eq(sound.m0_axis_tvalid & ~ports.m0_axis_tready)
        m.d.comb += ports.m0_axis_tdata.eq(sound.m0_axis_tdata ^ waits)
