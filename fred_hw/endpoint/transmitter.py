"""Arbitration of virtual channels on a link: packet by packet, most urgent first."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import first_of, one_hot_mux
from fred_hw.link.credits import Credits
from fred_hw.link.flit import framed_signature
from fred_hw.link.message import message_stream
from fred_hw.link.sender import Sender
from fred_hw.link.session import Sending, Session
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec, sized_name
from fred_hw.unit import Unit, place

from .departure import Departure

__all__ = ["Transmitter"]

DEPTH = 8
"""Flits between a sender and the link: 4 in flight, and as many waiting for the link."""


class Transmitter(Unit):
    """Send packets of the virtual channels, and control messages, on a link.

    A packet starts when the neighbour has space for it, on the most urgent virtual channel first,
    and is sent to its end. Control messages are sent between its flits.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 3 cycles from a flit taken to the link, 2 from ``credit.grant`` to the start of a
        packet.
    Throughput : one flit per cycle, without a gap between packets, while there are credits and
        ``o.ready`` is high.
    Paths : ``i.waiting`` to ``i.take``, that, ``message`` and ``o.ready`` to ``message.ready``.
    Reset : forgets what is on the way, link sequence numbers and limits; the neighbour must be
        reset with it.
    """

    i: list[Departure] = member(In, lambda u: Departure.signature(u.spec), array=per_class)
    """Flits from the ``FlowSender`` of each channel."""
    credit: Credits = member(In, lambda u: Credits.signature(u.spec))
    """Credits from the ``Deframer`` of the other direction."""
    message: stream.Interface = member(In, lambda u: message_stream(u.spec))
    """Control messages to send."""
    link: Session = member(In, Sending.signature())
    """Flits that the session allows on the link."""
    o: stream.Interface = member(Out, lambda u: framed_signature(u.spec))
    """The link."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Transmitter", spec)
        self.unit_name = sized_name("transmitter", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        sender = place(m, "sender", Sender(spec=self.spec, depth=DEPTH))
        wiring.connect(m, wiring.flipped(self.credit), sender.credit)
        wiring.connect(m, wiring.flipped(self.message), sender.message)
        wiring.connect(m, wiring.flipped(self.link.handshake), sender.handshake)
        m.d.comb += [
            sender.down.eq(self.link.down),
            sender.closing.eq(self.link.closing | self.link.down),
            sender.begins.eq(self.link.begins),
            self.link.empty.eq(sender.empty),
        ]
        wiring.connect(m, sender.o, wiring.flipped(self.o))
        # packet being sent
        busy = Signal()
        circuit = Signal(per_class(self))
        waiting = Signal(per_class(self))
        ends = Signal(per_class(self))
        take = Signal(per_class(self))
        chosen = Signal(per_class(self))
        held = Signal(range(DEPTH + 1))
        valid = Signal()
        m.d.comb += [
            waiting.eq(Cat(flow.waiting for flow in self.i)),
            ends.eq(Cat(flow.ends for flow in self.i)),
            chosen.eq(Mux(busy, circuit, first_of(m, "waiting", waiting & sender.space))),
            take.eq(chosen & (held < DEPTH).replicate(per_class(self))),
            sender.wanted.eq(waiting),
            sender.start.eq(take & ~busy.replicate(per_class(self))),
            sender.length.eq(one_hot_mux(chosen, [flow.length for flow in self.i])),
            *(flow.take.eq(take[number]) for number, flow in enumerate(self.i)),
        ]
        m.d.sync += [held.eq(held + take.any() - sender.gone), valid.eq(take.any())]
        with m.If(take.any()):
            m.d.sync += [circuit.eq(chosen), busy.eq(~(take & ends).any())]
        frame = sender.i.frame
        m.d.comb += [
            sender.i.valid.eq(valid),
            sender.i.data.eq(one_hot_mux(circuit, [flow.data for flow in self.i])),
            frame.last.eq(one_hot_mux(circuit, [flow.last for flow in self.i])),
            frame.index.eq(one_hot_mux(circuit, [flow.index for flow in self.i])),
            frame.descriptor.eq(one_hot_mux(circuit, [flow.descriptor for flow in self.i])),
            frame.link_sequence.eq(sender.link_sequence),
        ]
        for number in range(per_class(self)):
            with m.If(circuit[number]):
                m.d.comb += frame.circuit.eq(number)
