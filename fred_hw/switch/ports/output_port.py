"""Output port: a queue after the interconnect, which never has to stall."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int, check_kind
from fred_hw.datapath.flit import Flit
from fred_hw.gates.late_choice import choose_late
from fred_hw.gates.select import gated
from fred_hw.link.credits import Credits
from fred_hw.link.crowding import crowding_layout
from fred_hw.link.descriptor import descriptor_layout
from fred_hw.link.flit import framed_signature
from fred_hw.link.frame import frame_layout
from fred_hw.link.message import message_stream
from fred_hw.link.sender import Sender
from fred_hw.link.session import handshake_layout
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place
from fred_hw.virtual_channels import CLASS_BITS

from .signatures import Injection

__all__ = ["OutputPort"]


class OutputPort(Unit):
    """Take flits from the interconnect, and reserve space before they enter it.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    latency : int
        Cycles that the interconnect takes, 1 or more.
    guarded : bool, optional
        Whether buffer space may be reserved.

    Timing
    ------
    Latency : 2 cycles from a flit given to the same flit offered; 1 from ``injection.start`` to
        ``injection.space``, as from ``reserved``; 2 from the end of a short packet, from ``given``
        and ``credit.grant``.
    Throughput : one flit per cycle; packet follows packet without a gap while ``o.ready`` is high.
    Paths : ``o.ready`` and ``message`` to ``given`` and ``message.ready``.
    Reset : forgets all packets and promises.
    """

    injection: Injection = member(In, lambda u: Injection.signature(u.spec))
    """Flits that enter the interconnect for this port. There is ``space`` for a packet if there is
    space here, beyond all that is promised, and in the next receiver."""
    reserved = member(In, per_class, when=lambda u: u.guarded)
    """If ``guarded``: channels whose space is reserved, so that ``injection.space`` is low."""
    vacant = member(Out, per_class, when=lambda u: u.guarded)
    """If ``guarded``: channels that have space here, reserved or not."""
    granted = member(Out, per_class, when=lambda u: u.guarded)
    """If ``guarded``: channels that have space in the next receiver."""
    starts = member(Out, 1, when=lambda u: u.guarded)
    """If ``guarded``: a packet started in the previous cycle."""
    started = member(Out, CLASS_BITS, when=lambda u: u.guarded)
    """If ``guarded``: channel of that packet."""
    i: Flit = member(In, lambda u: Flit.signature(u.spec.data_width))
    """Output of the interconnect for this port, ``latency`` cycles after ``injection.fire``."""
    given = member(Out, 1)
    """High for a cycle for each data flit that leaves."""
    o: stream.Interface = member(Out, lambda u: framed_signature(u.spec))
    """Flits to outside."""
    message: stream.Interface = member(In, lambda u: message_stream(u.spec))
    """Control messages to send."""
    credit: Credits = member(In, lambda u: Credits.signature(u.spec))
    """Credits from this port's ``InputPort``."""
    crowding: data.View = member(
        In, crowding_layout(), when=lambda u: u.spec.protocol.routes is not None
    )
    """See ``Sender``."""
    handshake: stream.Interface = member(In, stream.Signature(handshake_layout()))
    """Handshakes to send, see ``Sending``."""
    down = member(In, 1)
    """See ``Sending``. While high, packets start and are lost, so that they do not block others."""
    closing = member(In, 1)
    """See ``Sending``."""
    begins = member(In, 1)
    """See ``Sending``."""
    empty = member(Out, 1)
    """See ``Sending``."""

    def __init__(self, *, spec: SwitchSpec, latency: int, guarded: bool = False) -> None:
        self.spec = check_spec("OutputPort", spec)
        self.latency = check_int("OutputPort latency", latency, minimum=1)
        self.guarded = check_kind("OutputPort guarded", guarded, bool)
        self.unit_name = (
            f"output_port_w{spec.data_width}_p{spec.ports}_l{latency}"
            f"{'_guarded' if guarded else ''}_{spec.protocol.suffix}"
        )
        super().__init__()

    @property
    def depth(self) -> int:
        """Queue size: flits inside the interconnect and around the queue, and two packets."""
        return self.latency + 6 + 2 * self.spec.protocol.packet_flits

    def build(self, m: Module) -> None:
        # Injected flits settle late in their cycle, and are examined in the next one.
        enters = Injection.signature(self.spec).create()
        names = ("start", "fire", "last", "bad", "circuit")
        m.d.sync += [getattr(enters, name).eq(getattr(self.injection, name)) for name in names]
        known = Signal(descriptor_layout(self.spec), reset_less=True)
        m.d.sync += known.eq(self.injection.descriptor)
        index = Signal(range(self.spec.protocol.packet_flits))  # of the injected flit
        space, spaces = self._promise(m, enters, index)
        if self.guarded:
            m.d.comb += [self.starts.eq(enters.start), self.started.eq(enters.circuit)]
        frame = Signal(frame_layout(self.spec))
        descriptor = Signal(descriptor_layout(self.spec), reset_less=True)
        m.d.comb += [
            frame.last.eq(enters.last),
            frame.circuit.eq(enters.circuit),
            frame.descriptor.eq(Mux(enters.start, known, descriptor)),
            frame.bad.eq(enters.bad),
            frame.index.eq(index),
        ]
        m.d.sync += descriptor.eq(frame.descriptor)
        sender = self._send(m, enters, frame)
        m.d.comb += self.injection.space.eq(sender.space & spaces)
        if self.guarded:
            m.d.comb += [
                self.vacant.eq(sender.space & space.replicate(per_class(self))),
                self.granted.eq(sender.space),
            ]

    def _promise(self, m: Module, enters: Injection, index: Signal) -> tuple[Signal, Value]:
        """Count flits that have reserved space, whether they have arrived or not.

        Return whether a largest packet fits, and for which channels its space is not reserved.
        """
        largest = self.spec.protocol.packet_flits
        promised = Signal(range(self.depth + 1))
        spare = Signal(range(largest))
        space = Signal(init=1)
        counted = promised + Mux(enters.start, largest, 0) - spare
        # One more packet, and two more.
        fits, more = (counted <= self.depth - count * largest for count in (1, 2))
        m.d.sync += [
            promised.eq(counted - self.given),
            space.eq(choose_late(m, "space_then", self.injection.start, more, fits)),
        ]
        with m.If(enters.fire):
            m.d.sync += index.eq(index + 1)
            with m.If(enters.last):
                m.d.sync += index.eq(0)
                # A short packet returns the buffer space that it did not use.
                m.d.comb += spare.eq(largest - 1 - index)
        if not self.guarded:
            return space, space.replicate(len(self.injection.space))
        kept = self.reserved
        spaces = Signal(per_class(self), init=-1)
        then = (gated(~kept, one) for one in (more, fits))
        m.d.sync += spaces.eq(choose_late(m, "spaces_then", self.injection.start, *then))
        return space, spaces

    def _carried(self, m: Module, enters: Injection, frame: Any) -> tuple[Value, Any]:
        """Return whether a flit leaves the interconnect, with data recorded when it entered."""
        fire: Value = enters.fire
        for cycle in range(1, self.latency):
            valid = Signal(name=f"expected_q{cycle + 1}")
            register = Signal(frame_layout(self.spec), name=f"frame_q{cycle + 1}", reset_less=True)
            m.d.sync += [valid.eq(fire), register.eq(frame)]
            fire, frame = valid, register
        return fire, frame

    def _send(self, m: Module, enters: Injection, frame: data.View) -> Sender:
        """Send flits from the interconnect; return the sender."""
        sender = place(m, "sender", Sender(spec=self.spec, depth=self.depth))
        m.d.comb += [
            frame.link_sequence.eq(sender.link_sequence),
            sender.start.eq(
                Cat(
                    self.injection.start & (self.injection.circuit == number)
                    for number in range(len(self.injection.space))
                )
            ),
            sender.length.eq(self.injection.descriptor.length),
            self.given.eq(sender.gone),
            sender.swallows.eq(1),
            sender.down.eq(self.down),
            sender.closing.eq(self.closing),
            sender.begins.eq(self.begins),
            self.empty.eq(sender.empty),
        ]
        if self.spec.protocol.routes is not None:
            m.d.comb += sender.crowding.eq(self.crowding)
        expected, known = self._carried(m, enters, frame)
        m.d.comb += [
            sender.i.valid.eq(expected),
            sender.i.data.eq(self.i.data),
            sender.i.frame.eq(known),
            # Flits that never arrived would block the packet forever: send it marked as bad.
            sender.i.frame.bad.eq(known.bad | ~self.i.valid),
        ]
        wiring.connect(m, wiring.flipped(self.credit), sender.credit)
        wiring.connect(m, wiring.flipped(self.message), sender.message)
        wiring.connect(m, wiring.flipped(self.handshake), sender.handshake)
        wiring.connect(m, sender.o, wiring.flipped(self.o))
        return sender
