"""Registers of an endpoint: descriptors, status, errors and counters."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.control.axi_lite import AxiLiteRegisters, axi_lite_members, pass_axi_lite
from fred_hw.control.common_registers import COUNT_BITS
from fred_hw.gates.select import any_of
from fred_hw.member import member, members
from fred_hw.per_class import channels_of, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .endpoint_map import COUNTERS, causes_of, endpoint_map
from .prepare import REASONS, AcePrepare
from .schedule import AceSchedule
from .work import work_layout

__all__ = ["AceControl"]


class AceControl(Unit):
    """Registers of the engine (docs/reference/endpoint.md).

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from ``done`` to DONE and COMPLETED, and from an error to ERROR, 2 to ``irq``;
        2 from an event to its counter.
    Throughput : an event of each input per cycle.
    Paths : none.
    Reset : clears all registers, and forgets a descriptor that is prepared.
    """

    s_axil = members(lambda u: axi_lite_members(u.registers.address_bits))
    """AXI4-Lite slave, see ``axi_lite_members``."""
    irq = member(Out, 1)
    """High while an enabled bit of ERROR or DONE is set."""
    valid = member(Out, per_class)
    """Channels whose queue gets the prepared descriptor."""
    ready = member(In, per_class)
    """Queues with space."""
    work: data.View = member(Out, lambda u: work_layout(u.spec))
    """The prepared descriptor."""
    busy = member(In, per_class)
    """Channels that execute a descriptor."""
    done = member(In, per_class)
    """Channels that end a descriptor."""
    idle = member(In, per_class)
    """Channels whose packets are all acknowledged."""
    up = member(In, 1)
    """The link is up."""
    address = member(Out, lambda u: u.spec.protocol.fields["source"])
    """Address of this endpoint in the fabric."""
    send_clear = member(Out, per_class)
    """Start the numbers of a channel's sent flow at 0."""
    receive_clear = member(Out, per_class)
    """Start the numbers of a channel's received flow at 0."""
    forget = member(Out, lambda u: u.spec.protocol.phases)
    """Phases whose numbers start at 0. None of them is in use: no descriptor of the phase is
    prepared, and each channel that got one has been at rest since."""
    partner = member(In, 1)
    """The neighbour is incompatible, see ``CAUSES``."""
    link = member(In, 1)
    """The link has an error, see ``CAUSES``."""
    counts = member(In, lambda u: u.spec.endpoint.read_ports * len(COUNTERS))
    """Increment of each of ``COUNTERS`` in this cycle, ``read_ports`` bits each, the first counter
    in the lowest bits."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("AceControl", spec)
        self.registers = endpoint_map(spec)
        self.unit_name = f"ace_control_{self.registers.name}"
        super().__init__()

    def build(self, m: Module) -> None:
        registers = place(m, "registers", AxiLiteRegisters(registers=self.registers))
        prepare = place(m, "prepare", AcePrepare(spec=self.spec))
        pass_axi_lite(m, self, registers)
        self._descriptors(m, registers, prepare)
        entry_refused = self._queues(m, registers, prepare)
        m.d.comb += [
            registers.status_up.eq(self.up),
            registers.status_preparing.eq(prepare.busy),
            registers.status_busy.eq(self.busy),
            registers.status_idle.eq(self.idle),
            registers.status_full.eq(~self.ready),
            self.address.eq(registers.address_value),
            self.send_clear.eq(registers.clear_send),
            self.receive_clear.eq(registers.clear_receive),
        ]
        refused = self._forget(m, registers, prepare)
        raised = self._errors(m, registers, prepare, refused, entry_refused)
        completed = []
        for k, name in enumerate(channels_of(self).names):
            count = Signal(COUNT_BITS, name=f"completed_{name}")
            m.d.sync += count.eq(count + self.done[k])
            completed.append(count)
            m.d.comb += getattr(registers, f"done_{name}_set").eq(self.done[k])
            enabled = getattr(registers, f"done_enable_{name}")
            raised.append(getattr(registers, f"done_{name}") & enabled)
        m.d.comb += registers.completed_value.eq(Cat(completed))
        m.d.sync += self.irq.eq(Cat(raised).any())
        self._counters(m, registers)

    def _descriptors(self, m: Module, registers: AxiLiteRegisters, prepare: AcePrepare) -> None:
        """Offer the descriptor in the registers for preparation."""
        asked = prepare.descriptor
        m.d.comb += [
            prepare.operation.eq(registers.command_operation),
            prepare.circuit.eq(registers.command_circuit),
            asked.source.eq(registers.source_value),
            asked.destination.eq(registers.destination_value),
            *(
                getattr(asked, name).eq(getattr(registers, f"{name}_value"))
                for name in ("bytes", "receive_bytes", "block_bytes", "message_bytes")
            ),
            *(
                getattr(asked, name).eq(getattr(registers, f"ring_{name}"))
                for name in ("members", "rank", "fsms")
            ),
        ]
        for name, flow in (("send", asked.send), ("receive", asked.receive)):
            m.d.comb += [
                getattr(flow, field).eq(getattr(registers, f"{name}_flow_{field}"))
                for field in ("number", "kind", "generation", "keep")
            ]

    def _queues(self, m: Module, registers: Any, prepare: AcePrepare) -> Value:
        """Pass prepared descriptors to queues; return whether a schedule entry is refused."""
        if not self.spec.endpoint.schedule_entries:
            m.d.comb += [
                registers.lock.eq(prepare.busy),
                self.valid.eq(prepare.valid),
                prepare.ready.eq(self.ready),
                self.work.eq(prepare.o),
            ]
            return Const(0)
        schedule = place(m, "schedule", AceSchedule(spec=self.spec))
        dependencies = ("send_tree", "send_waits", "receive_tree", "receive_waits", "receive_sets")
        m.d.comb += [
            registers.lock.eq(prepare.busy | schedule.running),
            schedule.begins.eq(registers.command_operation != 0),
            schedule.is_entry.eq(registers.command_entry),
            schedule.conditions.step.eq(registers.entry_step_value),
            *(
                schedule.conditions[name].eq(getattr(registers, f"entry_dependencies_{name}"))
                for name in dependencies
            ),
            schedule.given.eq(prepare.valid),
            schedule.i.eq(prepare.o),
            prepare.ready.eq(schedule.taken),
            prepare.discards.eq(schedule.refused),
            self.valid.eq(schedule.valid),
            self.work.eq(schedule.o),
            schedule.space.eq(self.ready),
            schedule.busy.eq(self.busy),
            schedule.done.eq(self.done),
            schedule.step_cycles.eq(registers.step_cycles_value),
            schedule.start.eq(registers.schedule_start),
            schedule.clear.eq(registers.schedule_clear),
            registers.schedule_status_running.eq(schedule.running),
            registers.schedule_status_step.eq(schedule.step),
            registers.schedule_status_entries.eq(schedule.entries),
        ]
        return schedule.refused

    def _forget(self, m: Module, registers: AxiLiteRegisters, prepare: AcePrepare) -> Signal:
        """Forget phases, unless one of them is in use; return whether that is refused."""
        asked, used = (Signal.like(self.forget, name=f"forget_{one}") for one in ("asked", "used"))
        refused = Signal(name="forget_refused")
        m.d.sync += [
            asked.eq(registers.forget_value),
            used.eq(prepare.phases | any_of(self._phases_in_use(m, prepare))),
            self.forget.eq(asked & ~refused.replicate(len(asked))),
        ]
        m.d.comb += [refused.eq((asked & used).any()), prepare.forget.eq(self.forget)]
        return refused

    def _phases_in_use(self, m: Module, prepare: AcePrepare) -> list[Signal]:
        """Return for each circuit the phases of descriptors that it got since it was at rest."""
        circuits: list[Signal] = []
        for k, name in enumerate(channels_of(self).names):
            used = Signal.like(self.forget, name=f"{name}_phases")
            keeps = (self.busy[k] | ~self.idle[k]).replicate(len(used))
            gets = self.valid[k].replicate(len(used))
            m.d.sync += used.eq((used & keeps) | (prepare.phases & gets))
            circuits.append(used)
        return circuits

    def _errors(
        self,
        m: Module,
        registers: AxiLiteRegisters,
        prepare: AcePrepare,
        held: Signal,
        entry_refused: Value,
    ) -> list[Any]:
        """Keep errors; return which errors interrupt."""
        events: dict[str, Any] = {
            reason: prepare.refused[index] for index, reason in enumerate(REASONS)
        }
        events |= {
            "locked": registers.bad_lock | held,
            "address": registers.bad_address,
            "strobe": registers.bad_strobe,
            "partner": self.partner,
            "link": self.link,
            "schedule": entry_refused,
        }
        raised = []
        for cause in causes_of(self.spec):
            m.d.comb += getattr(registers, f"error_{cause}_set").eq(events[cause])
            enabled = getattr(registers, f"irq_enable_{cause}")
            raised.append(getattr(registers, f"error_{cause}") & enabled)
        return raised

    def _counters(self, m: Module, registers: AxiLiteRegisters) -> None:
        """Count events, which are registered first since some arrive late in the cycle."""
        came = Signal(len(self.counts))
        m.d.sync += came.eq(self.counts)
        bits = self.spec.endpoint.read_ports
        for index, name in enumerate(COUNTERS):
            count = Signal(COUNT_BITS, name=f"{name}_count")
            with m.If(registers.control_clear):
                m.d.sync += count.eq(0)
            one = came.word_select(index, bits)
            there, number = (one, 1) if bits == 1 else (one.any(), one)
            with m.Elif(there & ~registers.control_freeze):
                m.d.sync += count.eq(count + number)
            m.d.comb += getattr(registers, f"{name}_value").eq(count)
