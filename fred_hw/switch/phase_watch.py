"""What the scheduler knows of one phase."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import selected
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit

__all__ = ["PhaseWatch"]

COUNT = len(DATA_CIRCUITS)


class PhaseWatch(Unit):
    """Keep who takes part in a phase, and see which of them have packets and room.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    number : In
        Of the phase; constant.
    write, entry_used, entry_circuit, entry_takes, entry_gives : In
        Change what is known of it.
    waiting, heads, room : In
        See ``Scheduler``.
    used, circuit, takes : Out
        Whether there is such a phase, its circuit, and the ports that it takes packets from.
    there, free : Out(P)
        Ports with a packet of it at the head of its circuit; ports with room for one.
    complete, some : Out(1)
        Whether all of its inputs and outputs are such ports; whether one of its inputs is. A
        cycle old.

    Timing
    ------
    Latency : 1 cycle to ``complete`` and ``some``.
    Throughput : every cycle.
    Paths : ``waiting`` and ``heads`` to ``there``, ``room`` to ``free``.
    Reset : forgets the phase.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol, ports = spec.protocol, spec.ports
        phase = protocol.fields(ports)["phase"]
        self.unit_name = f"phase_watch_p{ports}_f{protocol.phases}"
        super().__init__(
            {
                "number": In(phase),
                "write": In(1),
                "entry_used": In(1),
                "entry_circuit": In(2),
                "entry_takes": In(ports),
                "entry_gives": In(ports),
                "waiting": In(data.ArrayLayout(COUNT, ports)),
                "room": In(data.ArrayLayout(COUNT, ports)),
                "heads": In(data.ArrayLayout(data.ArrayLayout(phase, COUNT), ports)),
                "used": Out(1),
                "circuit": Out(2),
                "takes": Out(ports),
                "there": Out(ports),
                "free": Out(ports),
                "complete": Out(1),
                "some": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        ports = self.spec.ports
        gives = Signal(ports)
        with m.If(self.write):
            m.d.sync += [
                self.used.eq(self.entry_used),
                self.circuit.eq(self.entry_circuit),
                self.takes.eq(self.entry_takes),
                gives.eq(self.entry_gives),
            ]
        for k in range(ports):
            waits = [self.waiting[k][c] & (self.heads[k][c] == self.number) for c in range(COUNT)]
            m.d.comb += [
                self.there[k].eq(selected(self.circuit, waits)),
                self.free[k].eq(selected(self.circuit, [self.room[k][c] for c in range(COUNT)])),
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
        return m
