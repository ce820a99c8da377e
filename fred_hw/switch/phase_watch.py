"""State of one phase for the scheduler."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import selected
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit
from fred_hw.virtual_channels import CLASS_BITS

from .scheduler_signatures import PhaseUpdate

__all__ = ["PhaseWatch"]


class PhaseWatch(Unit):
    """Track the ports of a phase, and which of them have packets and buffer space.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle to ``complete`` and ``some``, 2 from ``update``; 1 from that to ``used``,
        ``circuit`` and ``takes``.
    Throughput : every cycle.
    Paths : ``waiting`` and ``heads`` to ``there``, ``space`` to ``free``.
    Reset : forgets the phase.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    number = member(In, lambda u: u.spec.protocol.fields["phase"])
    """Number of the phase; constant."""
    update: PhaseUpdate = member(In, lambda u: PhaseUpdate.signature(u.spec))
    """Changes of phases; the unit takes those with its number."""
    waiting: data.View = member(In, lambda u: data.ArrayLayout(per_class(u), u.spec.ports))
    """Per port and virtual channel: a packet waits."""
    space: data.View = member(In, lambda u: data.ArrayLayout(per_class(u), u.spec.ports))
    """Per port and virtual channel: there is buffer space for a packet."""
    heads: data.View = member(
        In,
        lambda u: data.ArrayLayout(
            data.ArrayLayout(u.spec.protocol.fields["phase"], per_class(u)), u.spec.ports
        ),
    )
    """Phases of the waiting packets."""
    used = member(Out, 1)
    """Whether the phase has an entry."""
    circuit = member(Out, CLASS_BITS)
    """Virtual channel of the phase."""
    takes = member(Out, lambda u: u.spec.ports)
    """Input ports of the phase."""
    there = member(Out, lambda u: u.spec.ports)
    """Ports with a packet of the phase at the head of the queue of its virtual channel."""
    free = member(Out, lambda u: u.spec.ports)
    """Ports with buffer space for a packet."""
    complete = member(Out, 1)
    """Whether all inputs have a packet and all outputs have space, a cycle ago."""
    some = member(Out, 1)
    """Whether any input has a packet, a cycle ago."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("PhaseWatch", spec)
        protocol, ports = spec.protocol, spec.ports
        self.unit_name = f"phase_watch_p{ports}_f{protocol.phases}{protocol.channels.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        ports, update = self.spec.ports, self.update
        gives = Signal(ports)
        for k in range(ports):
            waits = [
                self.waiting[k][c] & (self.heads[k][c] == self.number)
                for c in range(per_class(self))
            ]
            m.d.comb += [
                self.there[k].eq(selected(self.circuit, waits)),
                self.free[k].eq(
                    selected(self.circuit, [self.space[k][c] for c in range(per_class(self))])
                ),
            ]
        m.d.sync += [
            self.complete.eq(
                self.used
                & self.takes.any()
                & (self.there | ~self.takes).all()
                & (self.free | ~gives).all()
            ),
            self.some.eq(self.used & (self.there & self.takes).any()),
        ]
        with m.If(update.write & (update.number == self.number)):
            m.d.sync += [
                self.used.eq(update.used),
                self.circuit.eq(update.circuit),
                self.takes.eq(update.takes),
                gives.eq(update.gives),
                # They belong to the previous entry.
                self.complete.eq(0),
                self.some.eq(0),
            ]
