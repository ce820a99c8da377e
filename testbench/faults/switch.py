"""Broken parts of the switch core and its edges."""

# Amaranth has no types.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false

from typing import Any, ClassVar

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
    noticed: ClassVar = {
        "bare switch": "urgent_turn_goes_before_those_that_waited_longer",
        "switch": "urgent_packet_overtakes_at_every_flit_position",
    }

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        # A packet always goes on, as it seems, until none is left.
        m.d.comb += [ports.service.leaving.eq(0), sound.service.runs.eq(1)]


class FlitEarly(Fault):
    """An input port says that a flit is there before it is."""

    unit = InputPort
    noticed: ClassVar = {"bare switch": "flows_and_phases_run_at_once"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.head.valid.eq(1)


class AlwaysRoom(Fault):
    """An output port promises room that there is not."""

    unit = OutputPort
    noticed: ClassVar = {
        "bare switch": "receiver_that_grants_nothing_holds_up_only_its_flows",
        "switch": "receiver_that_grants_nothing_holds_up_only_its_flows",
    }

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.injection.room.eq(-1)


class NeverStomps(Fault):
    """Broken packets end with a CRC that is right."""

    unit = OutputPort
    noticed: ClassVar = {"switch": "packet_that_breaks_half_way_is_stomped_and_sent_again"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.injection.bad.eq(0)


class AnyEntry(Fault):
    """Every entry of the configuration memory is taken."""

    unit = EntryCheck
    noticed: ClassVar = {
        "bare switch": "entry_that_joins_two_flows_is_refused",
        "switch": "entry_that_joins_two_flows_is_refused",
    }

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.right.eq(1)


class AnyNumber(Fault):
    """A packet of any number is taken as due."""

    unit = CircuitQueue
    noticed: ClassVar = {"loaded switch": "want"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.due.eq(sound.descriptor.sequence)


class EagerAck(Fault):
    """An ack of a phase is handed on as soon as one output has sent it."""

    unit = Acknowledger
    noticed: ClassVar = {"loaded switch": "but a destination waits for"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        online = sound.spec.protocol.online
        for said in ports.message:
            message = said.payload
            with m.If(
                said.valid & (message.kind == KINDS.index("ack")) & (message.phase != online)
            ):
                for heard in sound.message:
                    m.d.comb += [heard.valid.eq(1), heard.payload.eq(message)]


class NoAnswer(Fault):
    """Packets that come again are answered by nothing."""

    unit = Acknowledger
    noticed: ClassVar = {"loaded switch": ""}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        for heard, event in zip(sound.event, ports.event, strict=True):
            m.d.comb += [heard.late.eq(0), event.taken.eq(heard.taken | event.late)]


class OfferChanges(Fault):
    """The payload of a flit changes while it is offered and not taken."""

    unit = Switch
    noticed: ClassVar = {"switch": "flows_and_phases_run_at_once/stall=0.3"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        waits = Signal()
        m.d.sync += waits.eq(sound.m0_axis_tvalid & ~ports.m0_axis_tready)
        m.d.comb += ports.m0_axis_tdata.eq(sound.m0_axis_tdata ^ waits)
