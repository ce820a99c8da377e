"""Property of a link: packets over a channel that may lose any flit."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import selected
from fred_hw.link.arrival import queued_layout
from fred_hw.link.credits import link_sequence_bits
from fred_hw.link.deframer import Deframer
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.link.sender import Sender
from fred_hw.member import member
from fred_hw.protocol import CRC_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.properties.links import SPEC
from testbench.formal.property import Bound, prove

__all__ = ["LossyLink"]

_SOON = {"timeout_cycles": 2, "packet_timeout_cycles": 2}
_PROTOCOL: Any = SPEC.protocol.model_copy(update=_SOON)
_SPEC = SPEC.model_copy(update={"protocol": _PROTOCOL})


class LossyLink(Unit):
    """Sender with its framer, a channel that may lose any flit, a deframer and receive queues.

    The channel chooses the CRC of each flit too, so that the deframer may find any flit damaged.
    Packets are sent one after the other. Limits of credits arrive at any time, or never.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    """

    begins = member(In, 1)
    """Start a packet, if there is space and none is being handed over."""
    circuit = member(In, lambda u: u.spec.protocol.fields["circuit"])
    """Its buffer; also that of a limit that arrives."""
    descriptor: data.View = member(In, lambda u: descriptor_layout(u.spec))
    """Its descriptor."""
    hands = member(In, 1)
    """Hand the next flit to the sender."""
    payload = member(In, lambda u: u.spec.data_width)
    """Payload of that flit."""
    lost = member(In, 1)
    """Lose the flit of this cycle."""
    crc = member(In, CRC_BITS)
    """CRC of that flit as it arrives; the deframer drops a flit with a wrong one."""
    reports = member(In, 1)
    """The receiver sends its limits."""
    hears = member(In, 1)
    """The limit of a buffer arrives."""
    frees = member(In, lambda u: len(u.spec.protocol.buffers))
    """Receive queues from which a flit is taken."""
    sent = member(Out, 1)
    """A flit is handed over."""
    sent_to = member(Out, lambda u: u.spec.protocol.fields["circuit"])
    """Its buffer."""
    word: data.View = member(Out, lambda u: queued_layout(u.spec))
    """The flit as it must arrive."""
    flies = member(Out, 1)
    """A flit is on the channel."""
    came = member(Out, lambda u: len(u.spec.protocol.buffers))
    """A flit arrives at a receive queue."""
    arrived: data.View = member(Out, lambda u: queued_layout(u.spec))
    """That flit."""
    dropped = member(Out, 1)
    """The deframer drops a flit."""
    overflow = member(Out, 1)
    """A flit is lost since its queue is full."""

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec, self.unit_name = spec, "lossy_link"
        super().__init__()

    def build(self, m: Module) -> None:
        protocol = self.spec.protocol
        sender = place(m, "sender", Sender(spec=self.spec, depth=2))
        deframer = place(m, "deframer", Deframer(spec=self.spec))
        self._hand_over(m, sender)
        m.d.comb += [
            sender.o.ready.eq(1),
            self.flies.eq(sender.o.valid),
            deframer.i.valid.eq(sender.o.valid & ~self.lost),
            deframer.i.header.eq(sender.o.payload.header),
            deframer.i.data.eq(sender.o.payload.data),
            deframer.i.crc.eq(self.crc),
            self.overflow.eq(deframer.overflow),
            self.dropped.eq(deframer.dropped),
            self.arrived.eq(deframer.o[0].word),
        ]
        for number, arrival in enumerate(deframer.o):
            inside = Signal(range(protocol.buffer_flits + 1), name=f"queued_{number}")
            came, gone = self.came[number], self.frees[number] & (inside != 0)
            m.d.comb += [
                arrival.used.eq(inside),
                arrival.ready.eq(inside != protocol.buffer_flits),
                came.eq(arrival.valid & arrival.ready),
            ]
            m.d.sync += inside.eq(inside + came - gone)
        limits = [
            Signal(link_sequence_bits(self.spec), name=f"said_{k}", init=protocol.buffer_flits)
            for k in range(len(deframer.o))
        ]
        with m.If(self.reports):
            m.d.sync += [one.eq(deframer.credit.here.limit[k]) for k, one in enumerate(limits)]
        m.d.comb += [
            sender.credit.grant.valid.eq(self.hears),
            sender.credit.grant.circuit.eq(self.circuit),
            sender.credit.grant.limit.eq(selected(self.circuit, limits)),
        ]

    def _hand_over(self, m: Module, sender: Sender) -> None:
        """Start a packet, and hand its flits to the sender one by one."""
        busy, starts = Signal(name="busy"), Signal(name="starts")
        descriptor = Signal(descriptor_layout(self.spec), name="told")
        frame, index = sender.i.frame, Signal.like(sender.i.frame.index)
        last = index == descriptor.length
        m.d.comb += [
            starts.eq(self.begins & ~busy & selected(self.circuit, list(sender.space))),
            sender.start.eq(starts.replicate(len(sender.start)) & (1 << self.circuit)),
            sender.length.eq(self.descriptor.length),
            sender.i.valid.eq(busy & self.hands),
            sender.i.data.eq(self.payload),
            frame.last.eq(last),
            frame.index.eq(index),
            frame.circuit.eq(self.sent_to),
            frame.descriptor.eq(descriptor),
            frame.link_sequence.eq(sender.link_sequence),
            self.sent.eq(sender.i.valid),
            self.word.first.eq(index == 0),
            self.word.last.eq(last),
            self.word.descriptor.eq(descriptor),
            self.word.data.eq(self.payload),
        ]
        with m.If(starts):
            m.d.sync += [
                busy.eq(1),
                descriptor.eq(self.descriptor),
                self.sent_to.eq(self.circuit),
                index.eq(0),
            ]
        with m.If(self.sent):
            m.d.sync += [index.eq(index + 1), busy.eq(~last)]


@broken(LossyLink, {})
def joins_over_a_loss(m: Module, sound: Any, ports: Any) -> None:
    """After a loss, the first flit of a packet continues the packet before it."""
    missing = Signal()
    with m.If(ports.flies & ports.lost):
        m.d.sync += missing.eq(1)
    m.d.comb += ports.arrived.first.eq(sound.arrived.first & ~missing)


def _told(word: Any) -> Value:
    """Return what a flit tells: a phase has a generation, and a unicast has its ends."""
    descriptor = word.descriptor
    flow = Mux(
        descriptor.phase == _PROTOCOL.online,
        Cat(descriptor.destination, descriptor.source),
        descriptor.generation,
    )
    own = (descriptor.phase, descriptor.sequence, descriptor.length)
    return Cat(word.first, word.last, word.data, *own, flow)


CYCLES = 14


@prove(
    lambda: LossyLink(_SPEC),
    shows="Framer and deframer: whatever flits the channel loses, each flit arrives at most once, "
    "in order and unchanged, at its buffer. A flit that does not begin a packet follows the one "
    "before it. Without a loss none is missing. Credits never let a queue overflow.",
    omits="handshakes; control messages between flits; the value of the CRC; longer packets",
    mutant=joins_over_a_loss,
    bound=Bound(
        CYCLES,
        "a flit arrives 5 cycles after the start of its packet; so two packets of two flits, a "
        "loss at any place, the timeouts of 2 cycles that end a packet and request credits",
    ),
    fast=False,
)
def link_delivers_once(c: Harness, u: Any) -> None:
    m, bits = c.m, len(u.payload)
    c.assume(u.descriptor.length < _PROTOCOL.packet_flits)
    c.assume(u.descriptor.phase <= _PROTOCOL.online)
    c.assume(u.circuit < len(_PROTOCOL.buffers))
    # Nothing depends on the payload, so it can be the number of the flit.
    sent, came = Signal(bits, name="sent_flits"), Signal(bits, name="came_flits")
    m.d.sync += sent.eq(sent + u.sent)
    c.assume(u.payload == sent)
    number, arrives = u.arrived.data, Signal(name="arrives")
    m.d.comb += arrives.eq(u.came.any())
    chosen = c.constant(bits, "chosen")
    kept, to = Signal.like(u.word, name="chosen_word"), Signal.like(u.sent_to, name="chosen_to")
    with m.If(u.sent & (sent == chosen)):
        m.d.sync += [kept.eq(u.word), to.eq(u.sent_to)]
    lossy, before = Signal(name="lossy"), Signal.like(u.came, name="came_before")
    with m.If((u.flies & u.lost) | u.dropped):
        m.d.sync += lossy.eq(1)
    with m.If(arrives):
        m.d.sync += [came.eq(number + 1), before.eq(u.came)]
        c.check("sent", number < sent)
        c.check("once_in_order", number >= came)
        c.check("none_missing", lossy | (number == came))
        c.check("whole", u.arrived.first | ((number == came) & (u.came == before)))
        with m.If(number == chosen):
            c.check("unchanged", (_told(u.arrived) == _told(kept)) & (u.came == 1 << to))
    c.check("fits", ~u.overflow)
    c.cover("second_flit", arrives & ~u.arrived.first & u.arrived.last)
    c.cover("after_a_loss", arrives & lossy & (number > came) & ~u.arrived.last)
