"""Phases and unicasts with packets in the queues of an input port."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import sum_of
from fred_hw.member import member
from fred_hw.per_class import array_per_class, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

__all__ = ["Occupancy"]


class Occupancy(Unit):
    """Count the packets of each phase, and the unicasts, that are in queues.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

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

    enters = member(In, 1)
    """A packet arrives."""
    comes = member(In, lambda u: u.spec.protocol.fields["phase"])
    """Phase of the arriving packet."""
    leaves = member(In, per_class)
    """For each channel whether a packet leaves."""
    goes: data.View = member(In, array_per_class(lambda u: u.spec.protocol.fields["phase"]))
    """For each channel the phase of the packet that leaves."""
    queued = member(Out, lambda u: u.spec.protocol.phases)
    """Phases with a packet."""
    unicasts = member(Out, 1)
    """Whether there is a unicast."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Occupancy", spec)
        self.unit_name = f"occupancy_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        most = per_class(self) * self.spec.protocol.buffer_flits
        # Arrivals and departures settle late in their cycle.
        enters = Signal.like(self.enters, name="enters_before")
        comes = Signal.like(self.comes, name="comes_before")
        leaves = Signal.like(self.leaves, name="leaves_before")
        goes = Signal.like(self.goes, name="goes_before")
        m.d.sync += [
            enters.eq(self.enters),
            comes.eq(self.comes),
            leaves.eq(self.leaves),
            goes.eq(self.goes),
        ]
        indices = [*enumerate(self.queued), (self.spec.protocol.online, self.unicasts)]
        for number, queued in indices:
            count = Signal(range(most + 1), name=f"packets_{number}")
            came, gone = (
                Signal(name=f"came_{number}"),
                Signal(per_class(self), name=f"gone_{number}"),
            )
            m.d.comb += [
                came.eq(enters & (comes == number)),
                gone.eq(leaves & Cat(phase == number for phase in goes)),
                queued.eq(count != 0),
            ]
            m.d.sync += count.eq(count + came - sum_of(gone))
