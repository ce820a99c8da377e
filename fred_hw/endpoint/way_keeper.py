"""Route of a flow, which changes only when no packet of the flow can be in flight."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.link.crowding import crowding_layout
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .flow import flow_layout, way_layout

__all__ = ["WayKeeper"]


class WayKeeper(Unit):
    """Choose a flow's route by load, and keep it while its packets may be in flight.

    Nothing is under way when all packets that have begun are acknowledged, unless some were sent
    twice. Those are behind it when a packet is acknowledged that was sent first after them, since
    what goes one way stays in order. The way is the less crowded one at the first router, that of
    the addresses if both are alike. When packets are blocked there on the way of the flow and not
    on the other, no new one begins until all are acknowledged, and then it goes the other.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes, of a mesh whose sources choose ways.

    Members
    -------
    address : In(address)
        That of this end.
    flow : In(flow_layout(spec))
        The flow.
    crowding : In(crowding_layout())
        What the router told last.
    oldest, begun : In(sequence), In(sequence)
        The first packet that is not acknowledged, and the first that never began.
    begins : In(1)
        A packet begins that never did before.
    again : In(1)
        Packets will be sent again.
    acknowledged, number : In(1), In(sequence)
        Packets are acknowledged, those before ``number``.
    load, first, stored : In(1), In(sequence), In(way_layout())
        The flow is another one, its next packet, and what is known of its way.
    turned : Out(1)
        Way of the packet that begins, or goes on.
    holds : Out(1)
        No packet is to begin that never did before.
    kept : Out(way_layout())
        What is known.

    Timing
    ------
    Latency : 1 cycle from what is told to the choice, 2 to ``holds``.
    Throughput : a packet in each cycle.
    Paths : ``begins``, ``oldest`` and ``begun`` to ``turned``, the latter two to ``holds``.
    Reset : forgets all.

    Raises
    ------
    TypeError, ValueError
        ``spec`` is no specification; its sources do not choose.
    """

    address: Signal
    flow: data.View
    crowding: data.View
    oldest: Signal
    begun: Signal
    begins: Signal
    again: Signal
    acknowledged: Signal
    number: Signal
    load: Signal
    first: Signal
    stored: data.View
    turned: Signal
    holds: Signal
    kept: data.View

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("WayKeeper", spec)
        ways = spec.protocol.ways
        if ways is None:
            raise ValueError(f"WayKeeper spec must be of a mesh whose sources choose, not {spec!r}")
        self.ways = ways
        self.unit_name = f"way_keeper_p{spec.ports}_{spec.protocol.suffix}"
        sequence = spec.protocol.fields["sequence"]
        members = {
            "address": In(spec.protocol.fields["source"]),
            "flow": In(flow_layout(spec)),
            "crowding": In(crowding_layout()),
            **dict.fromkeys(("oldest", "begun", "number", "first"), In(sequence)),
            **dict.fromkeys(("begins", "again", "acknowledged", "load"), In(1)),
            "stored": In(way_layout()),
            **dict.fromkeys(("turned", "holds"), Out(1)),
            "kept": Out(way_layout()),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        choice = place(m, "choice", self.ways.choice(self.spec))
        m.d.comb += [
            choice.source.eq(self.address),
            choice.destination.eq(self.flow.peer),
            choice.crowding.eq(self.crowding),
        ]
        may, less, blocked = Signal(), Signal(), Signal(2)
        m.d.sync += [
            may.eq(choice.forks & (self.flow.phase == self.spec.protocol.online)),
            less.eq(choice.other < choice.named),
            blocked.eq(Cat(choice.named[-1], choice.other[-1])),
        ]
        kept, none, chooses, leaving = self.kept, Signal(), Signal(), Signal()
        mine, its = Signal(), Signal()
        m.d.comb += [
            none.eq(self.oldest == self.begun),
            chooses.eq(self.begins & may & none & ~kept.doubtful),
            self.turned.eq(Mux(chooses, Mux(leaving, ~kept.turned, less), kept.turned)),
            self.holds.eq(leaving & ~none),
            Cat(mine, its).eq(Mux(kept.turned, Cat(blocked[1], blocked[0]), blocked)),
        ]
        m.d.sync += kept.turned.eq(self.turned)
        with m.If(chooses | self.again | self.load):
            m.d.sync += leaving.eq(0)
        with m.Elif(may & mine & ~its & ~none & ~kept.doubtful):
            m.d.sync += leaving.eq(1)
        self._doubt(m)

    def _doubt(self, m: Module) -> None:
        """Track whether duplicates of retransmitted packets may be in flight."""
        # The first packet sent after all of these.
        behind, past = Signal.like(self.begun), Signal.like(self.begun)
        m.d.comb += past.eq(self.number - behind - 1)
        with m.If(self.again):
            m.d.sync += [self.kept.doubtful.eq(1), behind.eq(self.begun + self.begins)]
        with m.Elif(self.acknowledged & ~past[-1]):
            m.d.sync += self.kept.doubtful.eq(0)
        with m.If(self.load):
            m.d.sync += [self.kept.eq(self.stored), behind.eq(self.first)]
