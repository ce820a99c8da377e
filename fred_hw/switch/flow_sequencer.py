"""One flow of the phase that is served: when it starts, goes on, and ends a packet."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import first_of, one_hot_mux
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit

__all__ = ["FlowSequencer"]


class FlowSequencer(Unit):
    """Take a flit from every input of a flow in the cycles in which all of them have one.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    number : In
        Of the flow, from 1; constant.
    takes, gives : In(P numbers)
        Flow that each input and output port is in, 0 for none; the same while a packet goes on.
    may : In(1)
        Whether packets may start.
    here, room : In(P)
        Inputs with a packet that is due, outputs with room for one.
    valid, broken, last : In(P)
        Inputs with a flit, without the rest of their packet, with its last flit.
    abouts : In(P)
        What is known of the packets.
    start, fire, ending, bad : Out(1)
        A packet starts; a flit goes in; it ends the packet; the packet must not be used.
    busy, goes_on : Out(1)
        Whether a packet is under way in this cycle, in the next.
    about : Out
        What is known of the packet that starts.
    longer : Out(P)
        Inputs whose packet has more flits than the one that ends.

    Timing
    ------
    Latency : none.
    Throughput : a flit per cycle.
    Paths : all inputs to the outputs.
    Reset : forgets the packet.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        ports, flow = spec.ports, spec.ports.bit_length()
        about = descriptor_layout(spec)
        kind = "link" if spec.protocol.link else "bare"
        self.unit_name = f"flow_sequencer_p{ports}_a{about.size}_{kind}"
        super().__init__(
            {
                "number": In(flow),
                "takes": In(data.ArrayLayout(flow, ports)),
                "gives": In(data.ArrayLayout(flow, ports)),
                "may": In(1),
                "here": In(ports),
                "room": In(ports),
                "valid": In(ports),
                "broken": In(ports),
                "last": In(ports),
                "abouts": In(data.ArrayLayout(about.size, ports)),
                "start": Out(1),
                "fire": Out(1),
                "ending": Out(1),
                "bad": Out(1),
                "busy": Out(1),
                "goes_on": Out(1),
                "about": Out(about.size),
                "longer": Out(ports),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        ports = self.spec.ports
        members, ends, stops = (Signal(ports, name=name) for name in ("members", "ends", "stops"))
        inside, cut = Signal(), Signal()
        m.d.comb += [
            members.eq(Cat(one == self.number for one in self.takes)),
            ends.eq(Cat(one == self.number for one in self.gives)),
            self.start.eq(
                self.may
                & ~inside
                & members.any()
                & (self.here | ~members).all()
                & (self.room | ~ends).all()
            ),
            self.fire.eq(self.start | (inside & (self.valid | self.broken | ~members).all())),
            stops.eq(members & (self.last | self.broken)),
            self.ending.eq(self.fire & stops.any()),
            cut.eq((members & self.broken).any()),
            # All inputs end together, or their packets are of unequal length.
            self.bad.eq(self.ending & (cut | (stops != members))),
            # One that a broken packet of another port has cut is not too long.
            self.longer.eq(Mux(self.ending & ~cut, members & ~stops, 0)),
            self.busy.eq(inside | self.start),
            self.goes_on.eq(self.busy & ~self.ending),
            self.about.eq(one_hot_mux(first_of(members), list(self.abouts))),
        ]
        m.d.sync += inside.eq(self.goes_on)
        return m
