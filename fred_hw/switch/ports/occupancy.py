"""Phases and unicasts with packets in the queues of an input port."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import sum_of
from fred_hw.protocol import DATA_COUNT
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

__all__ = ["Occupancy"]


class Occupancy(Unit):
    """Count the packets of each phase, and the unicasts, that are in queues.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    enters, comes : In(1), In(phase)
        A packet arrives; its phase.
    leaves, goes : In(3), In(ArrayLayout(phase, 3))
        For each channel whether a packet leaves, and its phase.
    queued : Out(phases)
        Phases with a packet.
    unicasts : Out(1)
        Whether there is a unicast.

    Timing
    ------
    Latency : 2 cycles.
    Throughput : a packet that comes, and one that goes from each circuit, per cycle.
    Paths : none.
    Reset : forgets all packets.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    enters: Signal
    comes: Signal
    leaves: Signal
    goes: data.View
    queued: Signal
    unicasts: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Occupancy", spec)
        phase = spec.protocol.fields["phase"]
        self.unit_name = f"occupancy_{spec.protocol.suffix}"
        members = {
            "enters": In(1),
            "comes": In(phase),
            "leaves": In(DATA_COUNT),
            "goes": In(data.ArrayLayout(phase, DATA_COUNT)),
            "queued": Out(spec.protocol.phases),
            "unicasts": Out(1),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        most = DATA_COUNT * self.spec.protocol.buffer_flits
        # Arrivals and departures settle late in their cycle.
        enters, comes = Signal.like(self.enters), Signal.like(self.comes)
        leaves, goes = Signal.like(self.leaves), Signal.like(self.goes)
        m.d.sync += [
            enters.eq(self.enters),
            comes.eq(self.comes),
            leaves.eq(self.leaves),
            goes.eq(self.goes),
        ]
        indices = [*enumerate(self.queued), (self.spec.protocol.online, self.unicasts)]
        for number, queued in indices:
            count = Signal(range(most + 1), name=f"packets_{number}")
            came, gone = Signal(name=f"came_{number}"), Signal(DATA_COUNT, name=f"gone_{number}")
            m.d.comb += [
                came.eq(enters & (comes == number)),
                gone.eq(leaves & Cat(phase == number for phase in goes)),
                queued.eq(count != 0),
            ]
            m.d.sync += count.eq(count + came - sum_of(gone))
