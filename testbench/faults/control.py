"""Broken parts of the control unit."""

from typing import Any

from amaranth.hdl import Module, Signal

from fred_hw.control.axi_lite import AxiLiteRegisters
from fred_hw.control.counter import SaturatingCounter
from fred_hw.control.switch_map import COMMANDS
from fred_hw.control.unit import ControlUnit

from .fault import broken

__all__ = ["no_interrupt"]


@broken(AxiLiteRegisters, {"control": "written_values_stay"})
def answers_dropped(m: Module, sound: Any, ports: Any) -> None:
    """The answer to a write is offered for one cycle only."""
    offered = Signal()
    m.d.sync += offered.eq(sound.s_axil_bvalid)
    m.d.comb += ports.s_axil_bvalid.eq(sound.s_axil_bvalid & ~offered)


@broken(AxiLiteRegisters, {"control": "registers_read_their_reset_values"})
def data_changes(m: Module, sound: Any, ports: Any) -> None:
    """Read data changes before it is accepted."""
    waited = Signal()
    m.d.sync += waited.eq(sound.s_axil_rvalid & ~sound.s_axil_rready)
    m.d.comb += ports.s_axil_rdata.eq(sound.s_axil_rdata ^ waited)


@broken(AxiLiteRegisters, {"control": "writes_of_less_than_a_word_are_refused"})
def strobes_ignored(m: Module, sound: Any, ports: Any) -> None:
    """Writes ignore the byte strobes."""
    m.d.comb += sound.s_axil_wstrb.eq(-1)


@broken(AxiLiteRegisters, {"control": "addresses_of_no_register_are_refused"})
def addresses_not_reported(m: Module, sound: Any, ports: Any) -> None:
    """Accesses to unmapped addresses are answered correctly but not reported."""
    m.d.comb += ports.bad_address.eq(0)


@broken(AxiLiteRegisters, {"control": "addresses_of_no_register_are_refused"})
def unaligned(m: Module, sound: Any, ports: Any) -> None:
    """The two lowest bits of addresses are ignored."""
    m.d.comb += [sound.s_axil_awaddr[:2].eq(0), sound.s_axil_araddr[:2].eq(0)]


@broken(SaturatingCounter, {"control": "errors_of_all_ports_are_counted"})
def ports_counted_once(m: Module, sound: Any, ports: Any) -> None:
    """Simultaneous events are counted as one."""
    m.d.comb += sound.events.eq(ports.events.any())


@broken(AxiLiteRegisters, {"control": "staging_is_locked_while_an_entry_is_written"})
def no_lock(m: Module, sound: Any, ports: Any) -> None:
    """Software can write the staging registers while they are copied to the core."""
    m.d.comb += sound.lock.eq(0)


@broken(AxiLiteRegisters, {"control": "entries_are_written_read_and_erased"})
def early_load(m: Module, sound: Any, ports: Any) -> None:
    """The stored entry is loaded in the second cycle after the command."""
    early = Signal(2)
    m.d.sync += early.eq(early << 1 | (sound.command_command == COMMANDS.index("load")))
    m.d.comb += sound.entry_value_load.eq(early[1])


@broken(AxiLiteRegisters, {"control": "entries_are_written_read_and_erased"})
def refusal_hidden(m: Module, sound: Any, ports: Any) -> None:
    """A refusal by the core is not reported."""
    m.d.comb += sound.command_status_refused.eq(0)


@broken(ControlUnit, {"control": "entries_are_written_read_and_erased"})
def write_given_up(m: Module, sound: Any, ports: Any) -> None:
    """A write to the core ends after its first cycle."""
    begun = Signal()
    m.d.sync += begun.eq(sound.table.write)
    m.d.comb += [
        ports.table.write.eq(sound.table.write & ~begun),
        sound.table.done.eq(ports.table.done | begun),
    ]


@broken(AxiLiteRegisters, {"control": "counters_count_unless_frozen"})
def freeze_ignored(m: Module, sound: Any, ports: Any) -> None:
    """Counters continue while they should be frozen."""
    m.d.comb += ports.control_freeze.eq(0)


@broken(ControlUnit, {"switch": "header_of_unknown_kind_is_reported"})
def no_interrupt(m: Module, sound: Any, ports: Any) -> None:
    """The control unit never interrupts."""
    m.d.comb += ports.irq.eq(0)
