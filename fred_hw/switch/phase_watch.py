"""State of one phase for the scheduler."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import selected
from fred_hw.protocol import DATA_COUNT
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .scheduler_signatures import PhaseUpdate, phase_update_signature

__all__ = ["PhaseWatch"]


class PhaseWatch(Unit):
    """Track the ports of a phase, and which of them have packets and space.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    number : In(phase)
        Number of the phase; constant.
    update : In(phase_update_signature(spec))
        Changes of phases; the unit takes those with its number.
    waiting, space : In(ArrayLayout(3, P)), In(ArrayLayout(3, P))
        Per port and virtual channel: a packet waits, and there is buffer space for a packet.
    heads : In(ArrayLayout(ArrayLayout(phase, 3), P))
        Phases of the waiting packets.
    used, circuit, takes : Out(1), Out(2), Out(P)
        Whether the phase has an entry, its virtual channel, and its input ports.
    there, free : Out(P), Out(P)
        Ports with a packet of the phase at the head of the queue of its virtual channel; ports
        with buffer space for a packet.
    complete, some : Out(1), Out(1)
        Whether all inputs have a packet and all outputs have space; whether any input has a
        packet. Both are a cycle old.

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

    number: Signal
    update: PhaseUpdate
    waiting: data.View
    space: data.View
    heads: data.View
    used: Signal
    circuit: Signal
    takes: Signal
    there: Signal
    free: Signal
    complete: Signal
    some: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("PhaseWatch", spec)
        protocol, ports = spec.protocol, spec.ports
        phase = protocol.fields["phase"]
        self.unit_name = f"phase_watch_p{ports}_f{protocol.phases}"
        members = {
            "number": In(phase),
            "update": In(phase_update_signature(spec)),
            "waiting": In(data.ArrayLayout(DATA_COUNT, ports)),
            "space": In(data.ArrayLayout(DATA_COUNT, ports)),
            "heads": In(data.ArrayLayout(data.ArrayLayout(phase, DATA_COUNT), ports)),
            "used": Out(1),
            "circuit": Out(2),
            "takes": Out(ports),
            "there": Out(ports),
            "free": Out(ports),
            "complete": Out(1),
            "some": Out(1),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        ports, update = self.spec.ports, self.update
        gives = Signal(ports)
        for k in range(ports):
            waits = [
                self.waiting[k][c] & (self.heads[k][c] == self.number) for c in range(DATA_COUNT)
            ]
            m.d.comb += [
                self.there[k].eq(selected(self.circuit, waits)),
                self.free[k].eq(
                    selected(self.circuit, [self.space[k][c] for c in range(DATA_COUNT)])
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
                # They are of what was before.
                self.complete.eq(0),
                self.some.eq(0),
            ]
