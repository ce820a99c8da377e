"""Properties of links: credits of both ends, and go-back-N over a lossy channel."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fred_hw.endpoint.flow_receiver import FlowReceiver
from fred_hw.endpoint.flow_sender import FlowSender
from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.packet_stream import PayloadStream
from fred_hw.member import member
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.properties.fifo import followed
from testbench.formal.property import Bound, prove
from testbench.formal.sizes import narrow_link

__all__ = ["LossyFlow"]


_PROTOCOL = narrow_link({"sequence": 3, "link_sequence": 4})
SPEC = SwitchSpec(ports=2, lanes=1, format="int8", protocol=_PROTOCOL)
BUFFER = _PROTOCOL.buffer_flits


@broken(CircuitCredits, {})
def starts_are_free(m: Module, sound: Any, ports: Any) -> None:
    """A packet of more than one flit takes the space of one flit."""
    m.d.comb += sound.length.eq(0)


@prove(
    lambda: CircuitCredits(spec=SPEC),
    shows="Flits in flight and in the buffer together never exceed the buffer, whatever the "
    "delay of credit limits. All freed space is granted again eventually.",
    omits="lost flits and lost credit limits; the deframer, which a model of credit limits "
    "replaces; link sequence numbers of more than 4 bits",
    mutant=starts_are_free,
    fast=False,
)
def credits_are_conserved(c: Harness, u: Any) -> None:
    m, bits = c.m, len(u.limit)
    inside, freed = Signal(range(BUFFER * 4), name="inside"), Signal(bits, name="freed")
    frees = c.free(1, "frees")
    c.assume(~frees | (inside != 0))
    c.assume(u.length < _PROTOCOL.packet_flits)
    c.assume(~u.start | u.space)
    c.assume(~(u.begins | u.closed | u.lost))
    m.d.sync += [
        inside.eq(inside + Mux(u.start, u.length + 1, 0) - frees),
        freed.eq(freed + frees),
    ]
    # The receiver sends its limit at any time, and it arrives at any later time.
    sends, said = c.free(1, "sends"), Signal(bits, name="said", init=BUFFER)
    with m.If(sends):
        m.d.sync += said.eq(freed + BUFFER)
    c.assume(u.limit == said)
    c.check("fits", inside <= BUFFER)
    with m.If(u.space):
        c.check("space", inside + _PROTOCOL.packet_flits <= BUFFER)
    # Two cycles after a limit without news all space is granted.
    quiet = Signal(3, name="quiet")
    news = u.start | frees | (said != (freed + BUFFER)[:bits]) | ~u.grant
    m.d.sync += quiet.eq(Cat(~news, quiet[:2] & (~news).replicate(2)))
    c.check("returned", ~quiet.all() | (inside != 0) | (u.space & ~u.owed))
    c.cover("full", inside == BUFFER)
    wrapped = Signal(name="wrapped")
    with m.If(freed + frees == 1 << bits):
        m.d.sync += wrapped.eq(1)
    c.cover("full_after_wrap", wrapped & (inside == BUFFER))


class LossyFlow(Unit):
    """Source and destination of a flow, with a channel between them that may lose anything.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    """

    i: PayloadStream = member(In, lambda u: PayloadStream.signature(u.spec))
    """Packets into the source."""
    o: PayloadStream = member(Out, lambda u: PayloadStream.signature(u.spec))
    """Packets out of the destination."""
    takes = member(In, 1)
    """The channel takes a flit that waits."""
    flit_lost = member(In, 1)
    """Lose the flit of this cycle."""
    message_lost = member(In, 1)
    """Lose the ack or nack of this cycle."""
    hears = member(In, 1)
    """The channel takes an ack or nack."""
    retransmit = member(Out, 1)
    """The source retransmits."""
    number = member(Out, lambda u: u.spec.protocol.fields["sequence"])
    """Number of the packet of the flit of this cycle."""

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec, self.unit_name = spec, "lossy_flow"
        super().__init__()

    def build(self, m: Module) -> None:
        source = place(m, "source", FlowSender(spec=self.spec))
        sink = place(m, "sink", FlowReceiver(spec=self.spec))
        wiring.connect(m, wiring.flipped(self.i), source.i)
        wiring.connect(m, sink.o, wiring.flipped(self.o))
        flies, word, last_index = Signal(), sink.i.word, Signal(len(source.o.index))
        more, told = Signal(), Signal.like(source.o.descriptor.sequence)
        m.d.comb += [
            source.o.take.eq(source.o.waiting & self.takes),
            # The link layer hands on flits of a packet in order, though the end may be missing.
            sink.i.valid.eq(
                flies
                & ~self.flit_lost
                & (
                    (source.o.index == 0)
                    | (
                        more
                        & (source.o.index == last_index + 1)
                        & (told == source.o.descriptor.sequence)
                    )
                )
            ),
            word.first.eq(source.o.index == 0),
            word.last.eq(source.o.last),
            word.data.eq(source.o.data),
            word.descriptor.eq(source.o.descriptor),
            source.message.valid.eq(sink.message.valid & self.hears & ~self.message_lost),
            source.message.payload.eq(sink.message.payload),
            sink.message_ready.eq(self.hears),
            self.retransmit.eq(source.retransmit),
            self.number.eq(source.o.descriptor.sequence),
        ]
        m.d.sync += flies.eq(source.o.take)
        with m.If(sink.i.valid):
            m.d.sync += [
                more.eq(1),
                last_index.eq(source.o.index),
                told.eq(source.o.descriptor.sequence),
            ]


@broken(LossyFlow, {})
def changed_after_retransmission(m: Module, sound: Any, ports: Any) -> None:
    """The lowest bit of data is inverted after a retransmission."""
    again = Signal()
    with m.If(ports.retransmit):
        m.d.sync += again.eq(1)
    m.d.comb += ports.o.data.eq(sound.o.data ^ again)


@prove(
    lambda: LossyFlow(SPEC),
    shows="Go-back-N: flits leave the destination in the order of the source, unchanged, without "
    "gaps and without duplicates. This holds whatever flits, acks and nacks the channel loses.",
    omits="the wrap of packet numbers, after 24 cycles; delay in the channel; changing flows; "
    "that every packet arrives eventually",
    mutant=changed_after_retransmission,
    bound=Bound(13, "two packets of one flit, a loss, its nack, and both retransmissions"),
    fast=False,
)
def go_back_n_delivers_once(c: Harness, u: Any) -> None:
    came, gone = Signal(), Signal()
    c.m.d.comb += [came.eq(u.i.valid & u.i.ready), gone.eq(u.o.valid & u.o.ready)]
    word = Cat(u.i.data, u.i.last)
    inside, leaves, value = followed(c, came, gone, word, 14)
    with c.m.If(u.o.valid):
        c.check("appears", inside != 0)
        with c.m.If(leaves):
            c.check("data", u.o.data == value[: len(u.o.data)])
            c.check("last", u.o.last >= value[-1])
    c.cover("retransmitted", u.retransmit & leaves)
    again = Signal(name="again")
    with c.m.If(u.retransmit):
        c.m.d.sync += again.eq(1)
    c.cover("delivered_after_retransmission", again & leaves & gone)


@broken(FlowSender, {})
def ack_of_the_next_one(m: Module, sound: Any, ports: Any) -> None:
    """An ack acknowledges one packet too many."""
    m.d.comb += sound.message.payload.sequence.eq(ports.message.payload.sequence + 1)


@prove(
    lambda: FlowSender(spec=SPEC),
    shows="The window of a source stays correct when packet numbers wrap, whatever acks and "
    "nacks arrive. Each packet sent is in the window after the last valid ack. The source "
    "accepts no more packets than fit. It is idle exactly when all packets are acknowledged.",
    omits="changing flows; numbers of more than 3 bits, windows of more than 2 packets",
    mutant=ack_of_the_next_one,
    fast=False,
)
def sender_window_wraps(c: Harness, u: Any) -> None:
    m, said, bits = c.m, u.message.payload, len(u.message.payload.sequence)
    window = _PROTOCOL.window_packets
    flow = c.constant(len(u.flow.as_value()), "the_flow")
    c.assume(u.flow.as_value() == flow)
    c.assume(~(u.clear | u.forget.any()))
    oldest, kept, newest = (Signal(bits, name=f"{name}_model") for name in ("old", "begun", "new"))
    index, sending = Signal(2, name="index_model"), Signal(name="sending")
    taken, base = Signal(name="taken"), Signal(bits, name="oldest_at_take")
    number, begun = u.o.descriptor.sequence, Signal(bits, name="begun")
    c.assume(~u.o.take | u.o.waiting)
    m.d.comb += begun.eq(kept + (taken & (number == kept)))
    m.d.sync += [taken.eq(u.o.take & ~sending), base.eq(oldest), kept.eq(begun)]
    with m.If(u.o.take):
        m.d.sync += sending.eq(~u.o.ends)
    mine = u.message.valid & (said.phase == u.flow.phase) & (said.generation == u.flow.generation)
    mine = mine & ((said.phase != _PROTOCOL.online) | (said.source == u.flow.peer))
    ahead = (said.sequence - oldest)[:bits]
    with m.If(mine & (said.kind == Kind.ACK) & (ahead <= (begun - oldest)[:bits])):
        m.d.sync += oldest.eq(said.sequence)
    ends = u.i.last | (index == _PROTOCOL.packet_flits - 1)
    with m.If(u.i.valid & u.i.ready):
        m.d.sync += [index.eq(Mux(ends, 0, index + 1)), newest.eq(newest + ends)]
    with m.If(taken):
        c.check("in_window", (number - base)[:bits] < window)
    c.check("accepted", (newest - oldest)[:bits] <= window)
    c.check("idle", u.idle == ((newest == oldest) & ~sending & (index == 0)))
    wrapped = Signal(name="wrapped")
    with m.If(oldest == (1 << bits) - 1):
        m.d.sync += wrapped.eq(1)
    c.cover("wrapped", wrapped & (oldest == 0) & taken)
