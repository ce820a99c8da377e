"""Sending side of a port with the link layer: headers, CRC, control flits, credits."""

from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import selected
from fred_hw.protocol import CONTROL, DATA_CIRCUITS, HEADER_BITS, KINDS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit

from .crc import crc_masks
from .descriptor import about_layout
from .flit import CRC
from .header import flit_link_signature, header_layout
from .message import message_signature

__all__ = ["Framer", "frame_layout", "framed_signature"]

COUNT = len(DATA_CIRCUITS)


def framed_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return a link flit that waits for ``ready``, with ``last`` at the end of each packet."""
    members = dict(flit_link_signature(spec).members)
    return wiring.Signature({**members, "ready": In(1), "last": Out(1)})


def frame_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return what a flit takes through the interconnect beside its data."""
    fields = spec.protocol.fields(spec.ports)
    names = {"last": 1, "circuit": 2, "about": about_layout(spec)}
    if spec.protocol.link:
        names |= {"bad": 1, "index": fields["index"], "ticket": fields["ticket"]}
    return data.StructLayout(names)


class Framer(Unit):
    """Put data flits and control messages on a link, and tell credits with them.

    Control messages go first, then what asks for missing credits, then data, then credits that
    nothing took along.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    valid, ready, data, frame, crc : In(1), Out(1), In, In, In(32)
        A data flit, and the CRC of a header of zeros and its data.
    message, message_ready : In, Out(1)
        A control message.
    limit, synced : In
        Limits to tell, and circuits whose limit must be told, changed or not; see ``Deframer``.
    ticket, owed : In
        For each circuit the next ticket, and whether some of its credits are not back.
    quiet : In(3)
        For each circuit whether no packet waits or is on its way here.
    o : Out(framed flit)
        The link.

    Timing
    ------
    Latency : none.
    Throughput : one flit per cycle.
    Paths : what is offered to ``o``, and ``o.ready`` back.
    Reset : forgets what was told.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol = spec.protocol
        self.unit_name = f"framer_w{spec.data_width}_p{spec.ports}_{protocol.suffix}"
        ticket = protocol.fields(spec.ports)["ticket"]
        super().__init__(
            {
                "valid": In(1),
                "ready": Out(1),
                "data": In(spec.data_width),
                "frame": In(frame_layout(spec)),
                "crc": In(CRC.crc_width),
                "message": In(message_signature(spec)),
                "message_ready": Out(1),
                "limit": In(data.ArrayLayout(ticket, COUNT)),
                "synced": In(COUNT),
                "ticket": In(data.ArrayLayout(ticket, COUNT)),
                "owed": In(COUNT),
                "quiet": In(COUNT),
                "o": Out(framed_signature(spec)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec, header = self.spec, Signal(header_layout(self.spec))
        stalled, gone, kept = Signal(), Signal(), Signal()
        # A flit that is offered stays as it is until it is taken.
        m.d.comb += [gone.eq(self.o.valid & self.o.ready), kept.eq(self.o.valid & ~self.o.ready)]
        m.d.sync += stalled.eq(kept)
        circuit, limit, news = self._credits(m, gone, kept)
        syncs = Signal()
        sync, sync_circuit, sync_ticket = self._syncs(m, gone & syncs, kept)
        choices = [self.message.valid, sync, self.valid, news]
        turns = [Signal(name=f"turn_{k}") for k in range(len(choices))]
        before: Value = Const(0, 1)
        for turn, choice in zip(turns, choices, strict=True):
            held = Signal(name=f"{turn.name}_held")
            m.d.sync += held.eq(turn)
            m.d.comb += turn.eq(Mux(stalled, held, choice & ~before))
            before = before | choice
        message, sync_turn, packet, _ = turns
        m.d.comb += syncs.eq(sync_turn)
        about = self.frame.about
        payload = Signal(spec.data_width)
        with m.If(packet):
            m.d.comb += [
                payload.eq(self.data),
                header.kind.eq(KINDS.index("data")),
                header.circuit.eq(self.frame.circuit),
                header.phase.eq(about.phase),
                header.peer.eq(about.peer),
                header.sequence.eq(about.sequence),
                header.index.eq(self.frame.index),
                header.last.eq(about.length),
                header.ticket.eq(self.frame.ticket),
            ]
        with m.Elif(message):
            m.d.comb += header.circuit.eq(CONTROL)
            m.d.comb += [
                getattr(header, name).eq(getattr(self.message, name))
                for name in ("kind", "phase", "peer", "sequence")
            ]
        with m.Elif(syncs):
            m.d.comb += [
                header.kind.eq(KINDS.index("sync")),
                header.circuit.eq(sync_circuit),
                header.ticket.eq(sync_ticket),
            ]
        with m.Else():
            m.d.comb += [header.kind.eq(KINDS.index("credit")), header.circuit.eq(CONTROL)]
        m.d.comb += [header.credit_circuit.eq(circuit), header.credit_limit.eq(limit)]
        # The CRC of a flit is the exclusive or of that of its header and that of its data.
        masks, zero = crc_masks(HEADER_BITS + spec.data_width)
        low = (1 << HEADER_BITS) - 1
        parities = Cat(
            reduce(xor, [header.as_value()[k] for k in range(HEADER_BITS) if mask & low & 1 << k])
            for mask in masks
        )
        rest = Mux(packet, self.crc, zero)
        broken = (packet & self.frame.bad).replicate(CRC.crc_width)
        m.d.comb += [
            self.o.valid.eq(Cat(turns).any()),
            self.o.header.eq(header),
            self.o.data.eq(payload),
            self.o.last.eq(~packet | self.frame.last),
            self.o.crc.eq(parities ^ rest ^ broken),
            self.ready.eq(packet & self.o.ready),
            self.message_ready.eq(message & self.o.ready),
        ]
        return m

    def _credits(self, m: Module, gone: Value, kept: Value) -> tuple[Value, Value, Value]:
        """Return the circuit and limit to tell, and whether that is news."""
        bits = self.spec.protocol.fields(self.spec.ports)["ticket"]
        circuit, limit, news = Signal(2, init=CONTROL), Signal(bits), Signal()
        m.d.comb += news.eq(circuit != CONTROL)
        changed = Signal(COUNT)
        for number in range(COUNT):
            told = Signal(bits, name=f"told_{number}", init=self.spec.protocol.buffer_packets)
            asked = Signal(name=f"asked_{number}")
            tells = gone & (circuit == number)
            with m.If(tells):
                m.d.sync += [told.eq(limit), asked.eq(0)]
            with m.If(self.synced[number]):
                m.d.sync += asked.eq(1)
            m.d.comb += changed[number].eq(
                ((self.limit[number] != told) | asked) & (circuit != number)
            )
        with m.If(gone | ((circuit == CONTROL) & ~kept)):
            # Circuits take turns, as the one just told is left out.
            m.d.sync += circuit.eq(CONTROL)
            for number in reversed(range(COUNT)):
                with m.If(changed[number]):
                    m.d.sync += [circuit.eq(number), limit.eq(self.limit[number])]
        return circuit, limit, news

    def _syncs(self, m: Module, sent: Value, kept: Value) -> tuple[Value, Value, Value]:
        """Return whether to ask for missing credits, of which circuit, and its next ticket."""
        timeout = self.spec.protocol.timeout_cycles
        timer, due, still = Signal(range(timeout + 1)), Signal(), Signal()
        circuit, following = Signal(2), Signal(2)
        ticket = Signal(self.spec.protocol.fields(self.spec.ports)["ticket"])
        lacks = Signal(COUNT)
        m.d.comb += [
            lacks.eq(self.owed & self.quiet),
            due.eq(timer == timeout),
            still.eq(selected(circuit, list(lacks))),
        ]
        for number in range(COUNT):
            with m.If(lacks[number] & ((circuit != number) | (lacks == 1 << number))):
                m.d.comb += following.eq(number)
        # One that is offered stays, though a packet has started since, which goes behind it.
        with m.If(~kept & (~lacks.any() | sent | (due & ~still))):
            m.d.sync += timer.eq(0)
        with m.Elif(~due):
            m.d.sync += [
                timer.eq(timer + 1),
                circuit.eq(following),
                ticket.eq(selected(following, list(self.ticket))),
            ]
        return due & still, circuit, ticket
