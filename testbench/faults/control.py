"""Broken parts of the control unit."""

# Amaranth has no types.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportGeneralTypeIssues=false

from typing import Any, ClassVar

from amaranth.hdl import Module, Signal

from fred_hw.control.axi_lite import AxiLiteRegisters
from fred_hw.control.counter import SaturatingCounter
from fred_hw.control.switch_map import COMMANDS
from fred_hw.control.unit import ControlUnit

from .fault import Fault

__all__ = ["NoInterrupt"]


class AnswersDropped(Fault):
    """The answer to a write is offered for one cycle only."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "written_values_stay"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        offered = Signal()
        m.d.sync += offered.eq(sound.s_axil_bvalid)
        m.d.comb += ports.s_axil_bvalid.eq(sound.s_axil_bvalid & ~offered)


class DataChanges(Fault):
    """What was read changes while nobody takes it."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "registers_read_their_reset_values"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        waited = Signal()
        m.d.sync += waited.eq(sound.s_axil_rvalid & ~sound.s_axil_rready)
        m.d.comb += ports.s_axil_rdata.eq(sound.s_axil_rdata ^ waited)


class StrobesIgnored(Fault):
    """Whole words are written whatever the strobes say."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "writes_of_less_than_a_word_are_refused"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.s_axil_wstrb.eq(-1)


class AddressesNotReported(Fault):
    """Accesses to no register are answered rightly but not reported."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "addresses_of_no_register_are_refused"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.bad_address.eq(0)


class Unaligned(Fault):
    """The two lowest bits of addresses are ignored."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "addresses_of_no_register_are_refused"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += [sound.s_axil_awaddr[:2].eq(0), sound.s_axil_araddr[:2].eq(0)]


class PortsCountedOnce(Fault):
    """One event is counted per cycle, though there are more."""

    unit = SaturatingCounter
    noticed: ClassVar = {"control": "errors_of_all_ports_are_counted"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.events.eq(ports.events.any())


class NoLock(Fault):
    """Software writes the staging while it is written to the core."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "staging_is_locked_while_an_entry_is_written"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.lock.eq(0)


class EarlyLoad(Fault):
    """The stored entry is loaded in the second cycle after the command."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "entries_are_written_read_and_erased"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        early = Signal(2)
        m.d.sync += early.eq(early << 1 | (sound.command_command == COMMANDS.index("load")))
        m.d.comb += sound.entry_value_load.eq(early[1])


class RefusalHidden(Fault):
    """Nothing tells that the core has refused an entry."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "entries_are_written_read_and_erased"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += sound.command_status_refused.eq(0)


class WriteGivenUp(Fault):
    """A write ends after its first cycle."""

    unit = ControlUnit
    noticed: ClassVar = {"control": "entries_are_written_read_and_erased"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        begun = Signal()
        m.d.sync += begun.eq(sound.table.write)
        m.d.comb += [
            ports.table.write.eq(sound.table.write & ~begun),
            sound.table.done.eq(ports.table.done | begun),
        ]


class FreezeIgnored(Fault):
    """Counters count on when they should stand still."""

    unit = AxiLiteRegisters
    noticed: ClassVar = {"control": "counters_count_unless_frozen"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.control_freeze.eq(0)


class NoInterrupt(Fault):
    """The control unit never interrupts."""

    unit = ControlUnit
    noticed: ClassVar = {"switch": "header_of_unknown_kind_is_told"}

    @staticmethod
    def disturb(m: Module, sound: Any, ports: Any) -> None:
        m.d.comb += ports.irq.eq(0)
