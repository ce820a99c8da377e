"""Receiving side of a link: checked flits, credits, control messages."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import any_of, selected
from fred_hw.member import member
from fred_hw.protocol import HANDSHAKE_FIELDS, Kind
from fred_hw.spec import SwitchSpec, check_spec, sized_name
from fred_hw.unit import Unit, place

from .arrival import Arrival
from .credits import Credits
from .crowding import Crowding, read_crowding
from .descriptor import FLOW
from .flit import LinkFlit
from .flit_check import FlitCheck
from .message import Message
from .session import Handshake

__all__ = ["PACKET_FIELDS", "Deframer"]

PACKET_FIELDS = ("circuit", "link_sequence", "unicast", "destination", "source", "sequence", "last")
"""Header fields that are equal in all flits of a packet; phase and generation share the bits of
addresses."""


class Deframer(Unit):
    """Check received flits, and pass them to queues or as control messages.

    Flits of a packet are handed on in order; if one is missing, all after it are dropped. A packet
    ends if no flit of it arrives for ``packet_timeout_cycles``, or if the neighbour requests
    credits for its buffer: later flits of it do not continue a packet.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from ``i`` to ``o``, ``message`` and ``credit.grant``, 3 to
        ``credit.here.limit``, which follows ``o.used`` after 1.
    Throughput : one flit per cycle.
    Paths : ``o.ready`` to ``came`` and ``overflow``.
    Reset : forgets the packet being received and all sequence numbers.
    """

    i: LinkFlit = member(In, lambda u: LinkFlit.signature(u.spec))
    """The link."""
    o: list[Arrival] = member(
        Out, lambda u: Arrival.signature(u.spec), array=lambda u: len(u.spec.protocol.buffers)
    )
    """Flits to each of the B buffers; a flit whose queue is not ready is lost."""
    handshake: Handshake = member(Out, Handshake.signature())
    """Received handshakes."""
    down = member(In, 1)
    """Ignore everything but handshakes, restart sequence numbers at 0, and end all packets."""
    message: Message = member(Out, lambda u: Message.signature(u.spec))
    """Ack, nack or request."""
    credit: Credits = member(Out, lambda u: Credits.signature(u.spec))
    """Credits granted by the neighbour, and limits to report to it."""
    dropped = member(Out, 1)
    """High for a cycle for each flit that has a wrong CRC or does not continue its packet."""
    came = member(Out, 1)
    """High for a cycle for each other data flit."""
    kind_error = member(Out, 1)
    """High for a cycle for each flit that is dropped because its kind does not exist."""
    length_error = member(Out, 1)
    """High for a cycle for each flit that is dropped because its packet is too long."""
    overflow = member(Out, 1)
    """High for a cycle for each flit that is dropped because the buffer is full."""
    crowding: Crowding = member(
        Out, Crowding.signature(), when=lambda u: u.spec.protocol.routes is not None
    )
    """If sources choose routes: load that the neighbour reports."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Deframer", spec)
        self.unit_name = sized_name("deframer", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        check = place(m, "check", FlitCheck(spec=self.spec))
        wiring.connect(m, wiring.flipped(self.i), check.i)
        flow = self._flow(m, check.header)
        handshake = self.handshake.payload
        good = Signal()
        m.d.comb += [
            good.eq(check.good & ~self.down),
            self.handshake.valid.eq(check.good & (check.header.kind == Kind.HANDSHAKE)),
            *(handshake[name].eq(check.header[name]) for name in HANDSHAKE_FIELDS),
        ]
        wanted, sync = self._sort(m, good, check.header, flow)
        left = Signal.like(check.header.last)
        begins = self._limits(m, check.header, wanted, sync, left)
        misfit = self._join(m, check.header, wanted, sync, begins, left)
        m.d.comb += self.dropped.eq((check.bad & ~self.down) | misfit)
        for arrival in self.o:
            word, header = arrival.word, check.header
            m.d.comb += [
                word.first.eq(header.index == 0),
                word.last.eq(header.index == header.last),
                *(word.descriptor[name].eq(flow[name]) for name in FLOW),
                word.descriptor.sequence.eq(header.sequence),
                word.descriptor.length.eq(header.last),
                word.data.eq(check.data),
            ]
        if self.spec.protocol.routes is not None:
            self._note_routes(m, good, check.header)

    def _note_routes(self, m: Module, good: Value, header: data.View) -> None:
        """Output the route of packets, and the neighbour's reported load."""
        kinds = (Kind.ACK, Kind.NACK, Kind.CREDIT)
        m.d.comb += [
            *(arrival.word.descriptor.alternate.eq(header.alternate) for arrival in self.o),
            self.crowding.valid.eq(good & any_of([header.kind == kind for kind in kinds])),
        ]
        read_crowding(m, header, self.crowding.payload)

    def _flow(self, m: Module, header: data.View) -> dict[str, Value]:
        """Return the flow in a header, in the form of a descriptor."""
        online = self.spec.protocol.online
        phase = Signal(self.spec.protocol.fields["phase"])
        with m.If(header.unicast):
            m.d.comb += phase.eq(online)
        with m.Elif(_above(header.phase, online - 1)):
            m.d.comb += phase.eq(online + 1)
        with m.Else():
            m.d.comb += phase.eq(header.phase)
        ends = (header.destination, header.source)
        values = (phase, Mux(header.unicast, 0, header.generation), *ends)
        return dict(zip(FLOW, values, strict=True))

    def _sort(
        self, m: Module, good: Value, header: data.View, flow: Mapping[str, Value]
    ) -> tuple[Value, Value]:
        """Output messages and grants; return whether a data flit and whether a sync arrived."""
        protocol = self.spec.protocol
        kinds = {kind: good & (header.kind == kind) for kind in Kind}
        nowhere = _from(header.circuit, len(protocol.buffers))
        long = _above(header.last, protocol.packet_flits - 1) | (header.index > header.last)
        reports = kinds[Kind.ACK] | kinds[Kind.NACK] | kinds[Kind.ASK]
        no_flow = flow["phase"] > protocol.online
        wanted = Signal()
        carries = kinds[Kind.DATA]
        m.d.comb += [
            self.kind_error.eq(
                (good & _above(header.kind, len(Kind) - 1))
                | ((carries | kinds[Kind.SYNC]) & nowhere)
                | (reports & no_flow)
            ),
            self.length_error.eq(carries & ~nowhere & long),
            wanted.eq(carries & ~nowhere & ~long),
            self.message.valid.eq(reports & ~no_flow),
            *(self.message.payload[name].eq(flow[name]) for name in FLOW),
            self.message.payload.kind.eq(header.kind),
            self.message.payload.sequence.eq(header.sequence),
            self.credit.grant.valid.eq(good & ~_from(header.credit_circuit, len(protocol.buffers))),
            self.credit.grant.circuit.eq(header.credit_circuit),
            self.credit.grant.limit.eq(header.credit_limit),
        ]
        return wanted, kinds[Kind.SYNC]

    def _join(
        self, m: Module, header: data.View, wanted: Value, sync: Value, begins: Value, left: Signal
    ) -> Value:
        """Offer flits that start or continue a packet; return whether a flit does neither."""
        protocol = self.spec.protocol
        # Sequence numbers wrap, and a source may send anything: compare the whole headers.
        route = () if protocol.routes is None else ("alternate",)
        fields = Cat(header[name] for name in (*PACKET_FIELDS, *route))
        opened = Signal()
        circuit = Signal(protocol.fields["circuit"])
        packet = Signal.like(fields)
        next_index = Signal.like(header.index)
        timeout = Signal(range(protocol.packet_timeout_cycles + 1))
        same, goes_on, again, fits, taken = (
            Signal(name=name) for name in ("same", "goes_on", "again", "fits", "taken")
        )
        m.d.comb += [
            same.eq(opened & (packet == fields)),
            goes_on.eq(same & (header.index == next_index)),
            # A repeated flit changes nothing.
            again.eq(wanted & same & (header.index < next_index)),
            fits.eq(wanted & (((header.index == 0) & begins) | goes_on)),
            taken.eq(fits & selected(header.circuit, [arrival.ready for arrival in self.o])),
            self.overflow.eq(fits & ~taken),
            self.came.eq(taken),
        ]
        for number, arrival in enumerate(self.o):
            m.d.comb += [
                arrival.valid.eq(fits & (header.circuit == number)),
                arrival.incoming.eq(opened & (circuit == number)),
            ]
        with m.If(wanted & ~again):
            m.d.sync += [
                opened.eq(taken & (header.index != header.last)),
                next_index.eq(header.index + 1),
                left.eq(header.last - header.index),
                circuit.eq(header.circuit),
                packet.eq(fields),
                timeout.eq(0),
            ]
        with m.Elif(sync & (header.circuit == circuit)):
            # A source that requests credits has no rest of a packet left to send.
            m.d.sync += opened.eq(0)
        with m.Elif(opened & (timeout == protocol.packet_timeout_cycles)):
            m.d.sync += opened.eq(0)
        with m.Elif(opened):
            m.d.sync += timeout.eq(timeout + 1)
        with m.If(self.down):
            m.d.sync += opened.eq(0)
        return wanted & ~fits

    def _limits(
        self, m: Module, header: data.View, wanted: Value, sync: Value, left: Value
    ) -> Value:
        """Update the limits, from received sequence numbers and buffer space.

        ``left`` flits are to come of the packet that comes in. Return whether a packet that begins
        is one that had not begun before.
        """
        protocol, here = self.spec.protocol, self.credit.here
        news: list[Value] = []
        for number, arrival in enumerate(self.o):
            link_sequence = Signal.like(
                header.link_sequence, name=f"link_sequence_{number}"
            )  # of the next flit
            mine = header.circuit == number
            ahead = Signal.like(header.link_sequence, name=f"ahead_{number}")
            m.d.comb += ahead.eq(header.link_sequence - link_sequence)
            news.append(mine & (ahead < protocol.buffer_flits))
            with m.If(wanted & news[-1]):
                m.d.sync += link_sequence.eq(header.link_sequence + header.last + 1)
            with m.Elif(sync & mine):
                m.d.sync += link_sequence.eq(header.link_sequence)
            with m.Elif(self.down):
                m.d.sync += link_sequence.eq(0)
            # Buffer space for the incoming packet is reserved already.
            kept = Signal.like(left, name=f"kept_{number}")
            space = Signal(range(protocol.buffer_flits + 1), name=f"space_{number}")
            m.d.comb += [
                kept.eq(Mux(arrival.incoming, left, 0)),
                space.eq(protocol.buffer_flits - arrival.used - kept),
                here.synced[number].eq(sync & mine),
            ]
            limit = Signal.like(
                header.link_sequence, name=f"limit_{number}", init=protocol.buffer_flits
            )
            m.d.sync += limit.eq(link_sequence + space)
            m.d.comb += here.limit[number].eq(limit)
        return Cat(news).any()


def _above(field: Value, highest: int) -> Value:
    """Return whether a field exceeds a number; constant 0 if it cannot."""
    return field > highest if highest < (1 << len(field)) - 1 else Const(0, 1)


def _from(field: Value, first: int) -> Value:
    """Return whether a field is a number or above it."""
    return field >= first if first < (1 << len(field)) - 1 else field == first
