"""Sequencer of one flow of the served phase: starts, continues and ends packets."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import first_of, one_hot_mux
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.member import Bundle, member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

__all__ = ["FlowSequencer", "PortStates"]


class PortStates(Bundle):
    """States of the ports, which all flows share."""

    may = member(Out, 1)
    """Whether packets may start."""
    here = member(Out, lambda spec: spec.ports)
    """Inputs with an expected packet."""
    space = member(Out, lambda spec: spec.ports)
    """Outputs with space for a packet."""
    valid = member(Out, lambda spec: spec.ports)
    """Inputs with a flit."""
    broken = member(Out, lambda spec: spec.ports)
    """Inputs without the rest of their packet."""
    last = member(Out, lambda spec: spec.ports)
    """Inputs with the last flit of their packet."""
    descriptors: data.View = member(
        Out, lambda spec: data.ArrayLayout(descriptor_layout(spec), spec.ports)
    )
    """Descriptors of the packets."""


class FlowSequencer(Unit):
    """Take a flit from every input of a flow, in each cycle in which all inputs have one.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : none, a packet starts in the cycle in which all its inputs and outputs are ready.
    Throughput : a flit per cycle, and packets follow each other without a gap.
    Paths : all inputs to the outputs.
    Reset : forgets the packet.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    members = member(In, lambda u: u.spec.ports)
    """Inputs of the flow; constant while a packet is in progress."""
    ends = member(In, lambda u: u.spec.ports)
    """Outputs of the flow; constant while a packet is in progress."""
    ports: PortStates = member(In, lambda u: PortStates.signature(u.spec))
    """States of the ports."""
    able = member(Out, 1)
    """A packet is ready to start."""
    start = member(Out, 1)
    """A packet starts."""
    fire = member(Out, 1)
    """A flit enters the interconnect."""
    ending = member(Out, 1)
    """This flit ends the packet."""
    bad = member(Out, 1)
    """The packet is broken and must not be used."""
    goes = member(Out, 1)
    """A flit of a packet from an earlier cycle enters."""
    closes = member(Out, 1)
    """A flit that enters in this cycle would end its packet."""
    under_way = member(Out, 1)
    """A packet from an earlier cycle is in progress."""
    stays = member(Out, 1)
    """The packet from an earlier cycle continues after this cycle."""
    lasts = member(Out, 1)
    """The packet from an earlier cycle, or one that starts in this cycle, continues after this
    cycle."""
    descriptor: data.View = member(Out, lambda u: descriptor_layout(u.spec))
    """Header fields of the packet that starts."""
    longer = member(Out, lambda u: u.spec.ports)
    """Inputs whose packet has more flits than the packet that ends."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("FlowSequencer", spec)
        descriptor = descriptor_layout(spec)
        self.unit_name = f"flow_sequencer_p{spec.ports}_a{descriptor.size}"
        super().__init__()

    def build(self, m: Module) -> None:
        of, ports = self.ports, self.spec.ports
        members, ends = self.members, self.ends
        stops = Signal(ports)
        under_way = self.under_way
        cut = Signal()
        there = Signal()
        m.d.comb += [
            self.able.eq(
                ~under_way & members.any() & (of.here | ~members).all() & (of.space | ~ends).all()
            ),
            self.start.eq(of.may & self.able),
            there.eq((of.valid | of.broken | ~members).all()),
            self.goes.eq(under_way & there),
            self.fire.eq(self.start | self.goes),
            stops.eq(members & (of.last | of.broken)),
            self.closes.eq(stops.any()),
            self.ending.eq(self.fire & self.closes),
            cut.eq((members & of.broken).any()),
            # All inputs end together; otherwise their packets have unequal lengths.
            self.bad.eq(self.ending & (cut | (stops != members))),
            # A packet is not too long if a broken packet of another port ended the flow early.
            self.longer.eq(Mux(self.ending & ~cut, members & ~stops, 0)),
            self.stays.eq(under_way & ~(there & self.closes)),
            self.lasts.eq(self.stays | (self.start & ~self.closes)),
            self.descriptor.eq(one_hot_mux(first_of(m, "first", members), list(of.descriptors))),
        ]
        m.d.sync += under_way.eq(self.lasts)
