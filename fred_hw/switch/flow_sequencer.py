"""Sequencer of one flow of the served phase: start, continue, end a packet."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import first_of, one_hot_mux
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

__all__ = ["FlowSequencer", "PortStates", "port_states_signature"]


class PortStates(wiring.PureInterface):
    """What each port has."""

    may: Signal
    here: Signal
    space: Signal
    valid: Signal
    broken: Signal
    last: Signal
    descriptors: data.View


def port_states_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of what all flows know of the ports.

    Members
    -------
    may : Out(1)
        Whether packets may start.
    here, space : Out(P)
        Inputs with a packet that is due, outputs with space for one.
    valid, broken, last : Out(P)
        Inputs with a flit, without the rest of their packet, with its last flit.
    descriptors : Out(ArrayLayout(descriptor_layout(spec), P))
        What is known of the packets.
    """
    ports = spec.ports
    members = {
        "may": Out(1),
        **dict.fromkeys(("here", "space", "valid", "broken", "last"), Out(ports)),
        "descriptors": Out(data.ArrayLayout(descriptor_layout(spec), ports)),
    }
    return wiring.Signature(members)


class FlowSequencer(Unit):
    """Take a flit from every input of a flow, in each cycle in which all inputs have one.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    members, ends : In(P), In(P)
        Inputs and outputs of the flow; constant while a packet is in progress.
    ports : In(port_states_signature(spec))
        States of the ports.
    able, start, fire, ending, bad : Out(1)
        A packet is ready to start; a packet starts; a flit enters the interconnect; this flit ends
        the packet; the packet is broken and must not be used.
    goes, closes : Out(1)
        A flit of a packet from an earlier cycle enters; a flit that enters in this cycle would end
        its packet.
    under_way, stays, lasts : Out(1)
        A packet from an earlier cycle is in progress; that packet continues after this cycle; that
        packet, or one that starts in this cycle, continues after this cycle.
    descriptor : Out(descriptor_layout(spec))
        Header fields of the packet that starts.
    longer : Out(P)
        Inputs whose packet has more flits than the packet that ends.

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

    members: Signal
    ends: Signal
    ports: PortStates
    able: Signal
    start: Signal
    fire: Signal
    ending: Signal
    bad: Signal
    goes: Signal
    closes: Signal
    under_way: Signal
    stays: Signal
    lasts: Signal
    descriptor: data.View
    longer: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("FlowSequencer", spec)
        descriptor = descriptor_layout(spec)
        self.unit_name = f"flow_sequencer_p{spec.ports}_a{descriptor.size}"
        strobes = ("able", "start", "fire", "ending", "bad", "goes", "closes")
        strobes += ("under_way", "stays", "lasts")
        members = {
            "members": In(spec.ports),
            "ends": In(spec.ports),
            "ports": In(port_states_signature(spec)),
            **dict.fromkeys(strobes, Out(1)),
            "descriptor": Out(descriptor),
            "longer": Out(spec.ports),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        of, ports = self.ports, self.spec.ports
        members, ends, stops = self.members, self.ends, Signal(ports)
        under_way, cut, there = self.under_way, Signal(), Signal()
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
            # All inputs end together, or their packets are of unequal length.
            self.bad.eq(self.ending & (cut | (stops != members))),
            # One that a broken packet of another port has cut is not too long.
            self.longer.eq(Mux(self.ending & ~cut, members & ~stops, 0)),
            self.stays.eq(under_way & ~(there & self.closes)),
            self.lasts.eq(self.stays | (self.start & ~self.closes)),
            self.descriptor.eq(one_hot_mux(first_of(m, "first", members), list(of.descriptors))),
        ]
        m.d.sync += under_way.eq(self.lasts)
