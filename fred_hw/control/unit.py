"""The control unit of a switch: configuration memory, errors and counters behind registers."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.member import member, members
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .axi_lite import AxiLiteRegisters, axi_lite_members, pass_axi_lite
from .common_registers import COUNT_BITS
from .counter import SaturatingCounter
from .entry_port import EntryPort
from .events import Counts, Errors
from .routes import routes_layout
from .switch_map import CAUSES, COMMANDS, COUNTERS, PORT_CAUSES, PORT_COUNTERS, switch_map

__all__ = ["ControlUnit"]


class ControlUnit(Unit):
    """Make configuration memory, errors and counters of a switch accessible as registers.

    The registers are those of ``switch_map``; docs/reference/registers.md lists them.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Timing
    ------
    Latency : ``table.write`` rises with ``bvalid`` of the write of COMMAND, and falls, and
        ``busy`` with it, 1 cycle after ``table.done``; a load takes 3 cycles from ``bvalid``;
        1 cycle from an event to its counter, and from an error to ERROR and ERROR_FIRST, 2 to
        ERROR_COUNT and ``irq``.
    Throughput : an event per cycle of each input, also of all ports at once.
    Paths : none.
    Reset : clears all registers and gives up a command that is under way.
    """

    s_axil = members(lambda u: axi_lite_members(u.registers.address_bits))
    """AXI4-Lite slave, see ``axi_lite_members``."""
    irq = member(Out, 1)
    """High while a bit is set in both ERROR and IRQ_ENABLE."""
    table: EntryPort = member(Out, lambda u: EntryPort.signature(u.spec))
    """Connection to the configuration memory."""
    errors: Errors = member(In, lambda u: Errors.signature(u.spec))
    """Errors of ports."""
    active = member(In, 1)
    """Whether a phase is active."""
    active_phase = member(In, lambda u: u.spec.protocol.phases.bit_length())
    """The active phase; the number of phases stands for online routing."""
    counts: Counts = member(In, lambda u: Counts.signature(u.spec))
    """Events for the performance counters."""
    queued = member(In, lambda u: u.spec.protocol.phases)
    """Phases with a packet in a queue of an input port."""
    unicasts = member(In, lambda u: u.spec.ports)
    """Input ports with a queued unicast."""
    links = member(In, lambda u: u.spec.ports)
    """Ports whose link is up."""
    routes: data.View = member(Out, lambda u: routes_layout(u.spec))
    """Port by which unicasts leave, for each address."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("ControlUnit", spec)
        self.registers = switch_map(spec)
        self.unit_name = f"control_unit_{self.registers.name}"
        super().__init__()

    def build(self, m: Module) -> None:
        registers = place(m, "registers", AxiLiteRegisters(registers=self.registers))
        pass_axi_lite(m, self, registers)
        m.d.comb += [
            registers.status_active.eq(self.active),
            registers.status_phase.eq(self.active_phase),
            registers.queued_value.eq(self.queued),
            registers.unicasts_value.eq(self.unicasts),
            registers.links_value.eq(self.links),
            self.routes.eq(registers.route_exit),
        ]
        refused = self._commands(m, registers)
        self._errors(m, registers, refused)
        self._counters(m, registers)

    def _commands(self, m: Module, registers: AxiLiteRegisters) -> Signal:
        """Execute commands; return whether one is refused in this cycle."""
        busy = Signal()
        erases = Signal()
        loads = Signal(3)
        refused = Signal()
        sticky = Signal()
        start = Signal()
        command, phase = registers.command_command, registers.phase_number
        exists = Signal()
        table, entry = self.table, self.table.entry.as_value()
        m.d.comb += [
            exists.eq(phase < self.spec.protocol.phases),
            start.eq(command != 0),
            busy.eq(table.write | loads.any()),
            refused.eq((start & ~exists) | (table.write & table.done & ~table.accepted)),
            registers.lock.eq(busy),
            registers.command_status_busy.eq(busy),
            registers.command_status_refused.eq(sticky),
            entry.eq(Mux(erases, 0, registers.entry_value)),
            registers.entry_value_next.eq(table.stored.as_value()),
            # The number changes in the cycle of the lowest bit; the entry follows 2 cycles later.
            registers.entry_value_load.eq(loads[2]),
        ]
        m.d.sync += loads.eq(loads << 1)
        with m.If(start):
            m.d.sync += sticky.eq(0)
            with m.If(exists):
                m.d.sync += [
                    table.number.eq(phase),
                    erases.eq(command == COMMANDS.index("erase")),
                    table.write.eq(command != COMMANDS.index("load")),
                    loads[0].eq(command == COMMANDS.index("load")),
                ]
        with m.If(table.write & table.done):
            m.d.sync += table.write.eq(0)
        with m.If(refused):
            m.d.sync += sticky.eq(1)
        return refused

    def _errors(self, m: Module, registers: AxiLiteRegisters, refused: Signal) -> None:
        """Keep errors, the first error, and a count for each cause."""
        events: dict[str, Any] = {cause: getattr(self.errors, cause) for cause in PORT_CAUSES}
        events |= {
            "configuration": Cat(refused, registers.bad_lock),
            "address": registers.bad_address,
            "strobe": registers.bad_strobe,
        }
        clear = registers.control_clear_errors
        first_cause = Signal(range(len(CAUSES)))
        first_port = Signal(range(self.spec.ports))
        came, raised, counts = [], [], []
        for cause in CAUSES:
            here = Signal(name=f"{cause}_came")
            m.d.comb += [
                here.eq(events[cause].any()),
                getattr(registers, f"error_{cause}_set").eq(here),
                getattr(registers, f"error_{cause}_clear").eq(clear),
            ]
            came.append(here)
            enabled = getattr(registers, f"irq_enable_{cause}")
            raised.append(getattr(registers, f"error_{cause}") & enabled)
            counter = SaturatingCounter(sources=len(events[cause]), width=COUNT_BITS)
            placed = place(m, f"{cause}_counter", counter)
            m.d.comb += [placed.events.eq(events[cause]), placed.clear.eq(clear)]
            counts.append(placed.count)
        m.d.sync += self.irq.eq(Cat(raised).any())
        m.d.comb += [
            registers.error_count_value.eq(Cat(counts)),
            registers.error_first_valid_set.eq(Cat(came).any()),
            registers.error_first_valid_clear.eq(clear),
        ]
        for first, value in (
            (registers.error_first_cause, first_cause),
            (registers.error_first_port, first_port),
        ):
            shown = registers.error_first_valid.replicate(len(value))
            m.d.comb += first.eq(value & shown)
        with m.If(~registers.error_first_valid_kept):
            # The last assignment wins, so it is that of the lowest cause and its lowest port.
            for number, cause in reversed(list(enumerate(CAUSES))):
                with m.If(came[number]):
                    m.d.sync += [first_cause.eq(number), first_port.eq(0)]
                    for port in reversed(range(1, self.spec.ports if cause in PORT_CAUSES else 1)):
                        with m.If(~events[cause][:port].any() & events[cause][port]):
                            m.d.sync += first_port.eq(port)

    def _counters(self, m: Module, registers: AxiLiteRegisters) -> None:
        """Count events of the switch and of each port."""
        clear, runs = registers.control_clear, ~registers.control_freeze
        for counter in (*COUNTERS, *PORT_COUNTERS):
            counts = []
            for index, source in enumerate(getattr(self.counts, counter)):
                count = Signal(COUNT_BITS, name=f"{counter}_{index}")
                with m.If(clear):
                    m.d.sync += count.eq(0)
                with m.Elif(runs & source):
                    m.d.sync += count.eq(count + 1)
                counts.append(count)
            m.d.comb += getattr(registers, f"{counter}_value").eq(Cat(counts))
