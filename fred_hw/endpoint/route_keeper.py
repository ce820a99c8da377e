"""Route of a flow, which changes only when no packet of the flow can be in flight."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.link.crowding import crowding_layout
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .flow import flow_layout, route_layout

__all__ = ["RouteKeeper"]


class RouteKeeper(Unit):
    """Choose a flow's route by load, and keep it while its packets may be in flight.

    No packet is in flight when all started packets are acknowledged, unless some were
    retransmitted. Duplicates have left the network when a packet is acknowledged that was first
    sent after them, since packets on one route stay in order. The route is the one with less load
    at the first router, or the one given by the addresses if both are equal. When packets are
    blocked there on the flow's route and not on the other, no new packet starts until all are
    acknowledged; then the flow uses the other route.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes, of a mesh whose sources choose routes.

    Timing
    ------
    Latency : 1 cycle from an input to the choice of the route, 2 to ``holds``.
    Throughput : a packet in each cycle.
    Paths : ``begins``, ``oldest`` and ``begun`` to ``alternate``, the latter two to ``holds``.
    Reset : forgets all.

    Raises
    ------
    TypeError, ValueError
        ``spec`` is not a specification, or its sources do not choose routes.
    """

    address = member(In, lambda u: u.spec.protocol.fields["source"])
    """Address of this endpoint."""
    flow: data.View = member(In, lambda u: flow_layout(u.spec))
    """The flow."""
    crowding: data.View = member(In, crowding_layout())
    """The latest load report of the router."""
    oldest = member(In, lambda u: u.spec.protocol.fields["sequence"])
    """The first packet that is not acknowledged."""
    begun = member(In, lambda u: u.spec.protocol.fields["sequence"])
    """The first packet that was never started."""
    number = member(In, lambda u: u.spec.protocol.fields["sequence"])
    """Number of the first packet that is not acknowledged by this ack."""
    first = member(In, lambda u: u.spec.protocol.fields["sequence"])
    """Next packet of the new flow."""
    begins = member(In, 1)
    """A packet starts for the first time."""
    again = member(In, 1)
    """Packets will be retransmitted."""
    acknowledged = member(In, 1)
    """Packets before ``number`` are acknowledged."""
    load = member(In, 1)
    """The flow changes."""
    stored: data.View = member(In, route_layout())
    """Stored state of the new flow's route."""
    alternate = member(Out, 1)
    """Route of the packet that starts, or continues."""
    holds = member(Out, 1)
    """No packet may start for the first time."""
    kept: data.View = member(Out, route_layout())
    """State of the route to be stored."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("RouteKeeper", spec)
        routes = spec.protocol.routes
        if routes is None:
            raise ValueError(
                f"RouteKeeper spec must be of a mesh whose sources choose, not {spec!r}"
            )
        self.routes = routes
        self.unit_name = f"route_keeper_p{spec.ports}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        choice = place(m, "choice", self.routes.choice(self.spec))
        m.d.comb += [
            choice.source.eq(self.address),
            choice.destination.eq(self.flow.peer),
            choice.crowding.eq(self.crowding),
        ]
        may = Signal()
        less = Signal()
        blocked = Signal(2)
        m.d.sync += [
            may.eq(choice.forks & (self.flow.phase == self.spec.protocol.online)),
            less.eq(choice.other < choice.named),
            blocked.eq(Cat(choice.named[-1], choice.other[-1])),
        ]
        kept = self.kept
        none = Signal()
        chooses = Signal()
        leaving = Signal()
        mine = Signal()
        its = Signal()
        m.d.comb += [
            none.eq(self.oldest == self.begun),
            chooses.eq(self.begins & may & none & ~kept.doubtful),
            self.alternate.eq(Mux(chooses, Mux(leaving, ~kept.alternate, less), kept.alternate)),
            self.holds.eq(leaving & ~none),
            Cat(mine, its).eq(Mux(kept.alternate, Cat(blocked[1], blocked[0]), blocked)),
        ]
        m.d.sync += kept.alternate.eq(self.alternate)
        with m.If(chooses | self.again | self.load):
            m.d.sync += leaving.eq(0)
        with m.Elif(may & mine & ~its & ~none & ~kept.doubtful):
            m.d.sync += leaving.eq(1)
        self._doubt(m)

    def _doubt(self, m: Module) -> None:
        """Track whether duplicates of retransmitted packets may be in flight."""
        # The first packet sent after all of these.
        behind = Signal.like(self.begun)
        past = Signal.like(self.begun)
        m.d.comb += past.eq(self.number - behind - 1)
        with m.If(self.again):
            m.d.sync += [self.kept.doubtful.eq(1), behind.eq(self.begun + self.begins)]
        with m.Elif(self.acknowledged & ~past[-1]):
            m.d.sync += self.kept.doubtful.eq(0)
        with m.If(self.load):
            m.d.sync += [self.kept.eq(self.stored), behind.eq(self.first)]
