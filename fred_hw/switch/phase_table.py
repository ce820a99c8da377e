"""The configuration memory: phase entries, checked before they are written."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.control.entry_port import EntryPort, entry_layout, number_bits
from fred_hw.gates.fsm import Fsm
from fred_hw.gates.memory_ports import read_port, write_port
from fred_hw.gates.select import selected
from fred_hw.member import Bundle, member
from fred_hw.protocol import GENERATIONS
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .entry_check import EntryCheck
from .scheduler_signatures import PhaseHalt, PhaseUpdate

__all__ = ["PhaseTable", "TableRead", "restart_layout"]


class TableRead(Bundle):
    """A read of the configuration memory, as seen by its reader."""

    enable = member(Out, 1)
    """Read the entry of a phase."""
    number = member(Out, number_bits)
    """The phase."""
    entry: data.View = member(In, entry_layout)
    """The entry, from the next cycle on."""


def restart_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a restarted phase, ``key``, and its new ``generation``."""
    generation = spec.protocol.fields["generation"]
    return data.StructLayout({"key": number_bits(spec), "generation": generation})


class PhaseTable(Unit):
    """Store the entry of each phase; accept only entries that keep flows separate.

    Old packets are recognised by their generation, which is modulo 8. So an entry is also refused
    if its generation is not above that of the previous entry while packets of the phase are in
    queues. As long as there are any, generations only rise, and no two entries have the same.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    readers : int
        Read ports, 1 or more.

    Timing
    ------
    Latency : 1 cycle from ``number`` to ``entry``, and to ``stored`` if ``control.write`` is low,
        else until it falls; from the first cycle of ``control.write`` to ``done`` 4 cycles and one
        for each port, those until ``halt.stands`` and those that ``restart`` takes; 2 less if the
        entry is refused.
    Throughput : one entry in that time, and one cycle more.
    Paths : ``control.number`` and ``control.entry`` to ``update``, ``halt`` and ``restart``.
    Reset : forgets what is under way and erases all entries, which takes a cycle for each; writes
        wait meanwhile, and what other reads than ``stored`` give is not known.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    control: EntryPort = member(In, lambda u: EntryPort.signature(u.spec))
    """Writes and reads of software."""
    reads: list[TableRead] = member(
        In, lambda u: TableRead.signature(u.spec), array=lambda u: u.readers
    )
    """Reads of the hardware."""
    queued = member(In, lambda u: u.spec.protocol.phases)
    """Phases with packets in the queues of inputs."""
    update: PhaseUpdate = member(Out, lambda u: PhaseUpdate.signature(u.spec))
    """The written entry, for the scheduler."""
    halt: PhaseHalt = member(Out, lambda u: PhaseHalt.signature(u.spec))
    """Halts the phase of an entry before it is written."""
    restart: stream.Interface = member(Out, lambda u: stream.Signature(restart_layout(u.spec)))
    """Phases whose numbers must restart at 0 before their entry is written, and their
    generation."""

    def __init__(self, *, spec: SwitchSpec, readers: int) -> None:
        self.spec = check_spec("PhaseTable", spec)
        self.readers = check_int("PhaseTable readers", readers, minimum=1)
        self.unit_name = f"phase_table_{spec.name}_n{readers}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        control, update = self.control, self.update
        erased, stale = self._keep(m, update.write)
        self._write(m, erased, stale)
        m.d.comb += [
            update.number.eq(control.number),
            self.halt.number.eq(control.number),
            update.used.eq(control.entry.used),
            update.circuit.eq(control.entry.circuit),
            update.takes.eq(Cat(flow.any() for flow in control.entry.inputs)),
            update.gives.eq(Cat(flow.any() for flow in control.entry.outputs)),
        ]

    def _keep(self, m: Module, written: Value) -> tuple[Value, Value]:
        """Store the entries, one copy per reader.

        Return whether all are erased yet, and whether there may be packets of the generation of the
        entry that is to be written.
        """
        control, layout, phases = self.control, entry_layout(self.spec), self.spec.protocol.phases
        walk = Signal(range(phases))
        erases = Signal(init=1)
        stored = Signal(layout)
        hidden = Signal(init=1)  # whether the entry was read while entries were erased
        m.d.sync += hidden.eq(erases)
        with m.If(erases):
            m.d.sync += [walk.eq(walk + 1), erases.eq(walk != phases - 1)]
        m.d.comb += control.stored.as_value().eq(Mux(hidden, 0, stored.as_value()))
        reads = [(reader.enable, reader.number, reader.entry) for reader in self.reads]
        # Software does not read in the cycle in which an entry is written.
        reads.append((~control.write, control.number, stored))
        for k, (enable, number, entry) in enumerate(reads):
            memory = Memory(shape=layout, depth=phases, init=[])
            m.submodules[f"entries_{k}"] = memory
            read = read_port(memory, f"entries_{k}_read")
            write = write_port(memory, f"entries_{k}_write")
            m.d.comb += [
                read.en.eq(enable),
                read.addr.eq(number),
                entry.eq(read.data),
                write.en.eq(written | erases),
                write.addr.eq(Mux(erases, walk, control.number)),
                write.data.as_value().eq(Mux(erases, 0, control.entry.as_value())),
            ]
        # One more than the generation of the last entry, or 0 if none was written since reset.
        least = Memory(shape=range(GENERATIONS + 1), depth=phases, init=[])
        m.submodules.generations = least
        read = read_port(least, "generations_read")
        write = write_port(least, "generations_write")
        used, generation = control.entry.used, control.entry.generation
        m.d.comb += [
            read.en.eq(1),
            read.addr.eq(control.number),
            write.en.eq((written & used) | erases),
            write.addr.eq(Mux(erases, walk, control.number)),
            write.data.eq(Mux(erases, 0, generation + 1)),
        ]
        there = selected(control.number, list(self.queued))
        return ~erases, used & there & (generation < read.data)

    def _write(self, m: Module, erased: Value, stale: Value) -> None:
        """Check an entry, stop its phase, restart the numbers of its flows, and write it."""
        control, restart = self.control, self.restart
        check = place(m, "check", EntryCheck(spec=self.spec))
        m.d.comb += check.entry.eq(control.entry)
        fsm = Fsm(m, "idle", "check", "stop", "number", "write")
        with fsm.state("idle"), m.If(control.write & erased):
            m.d.comb += check.start.eq(1)
            fsm.go("check")
        with fsm.state("check"):
            with m.If(check.done & (~check.right | stale)):
                m.d.comb += control.done.eq(1)
                fsm.go("idle")
            with m.Elif(check.done):
                fsm.go("stop")
        with fsm.state("stop"), m.If(self.halt.stands):
            fsm.go("number")
        m.d.comb += [
            restart.payload.key.eq(control.number),
            restart.payload.generation.eq(control.entry.generation),
            restart.valid.eq(fsm.ongoing("number")),
        ]
        with fsm.state("number"), m.If(restart.ready):
            fsm.go("write")
        with fsm.state("write"):
            m.d.comb += [self.update.write.eq(1), control.done.eq(1), control.accepted.eq(1)]
            fsm.go("idle")
        stops = [fsm.ongoing(state) for state in ("stop", "number", "write")]
        m.d.comb += self.halt.asked.eq(Cat(stops).any())
