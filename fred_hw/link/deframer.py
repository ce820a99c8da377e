"""Receiving side of a port with the link layer: checked flits, credits, control messages."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import selected
from fred_hw.protocol import CONTROL, DATA_CIRCUITS, KINDS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .crc import FlitCrc
from .descriptor import queued_layout
from .header import flit_link_signature, header_layout
from .message import message_signature

__all__ = ["Deframer"]


class Deframer(Unit):
    """Check flits, and give each to the queue of its circuit or to whom its message is for.

    Flits of a packet go on in order; if one is missing, so are all behind it.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    i : In(link flit)
        The link.
    valid, ready, word : Out(3), In(3), Out(queued)
        A flit for one of the data circuits; one that is not ready loses it.
    incoming : Out(3)
        Whether more flits may come of the packet of each circuit whose flit came last.
    used : In(3 counts)
        Flits in each queue.
    message : Out(message)
        Ack, nack or ask.
    granted, granted_circuit, granted_limit : Out
        High for a cycle when the neighbour tells the limit of a circuit.
    limit : Out(3 tickets)
        Limits to tell the neighbour.
    synced : Out(3)
        High for a cycle when the neighbour wants to know a limit.
    dropped, came : Out(1)
        High for a cycle per flit with a wrong CRC, or that does not go on its packet; per other
        data flit.
    kind_error, length_error, overflow : Out(1)
        High for a cycle per flit dropped as its kind does not exist, its packet is too long, or
        there is no room for it.

    Timing
    ------
    Latency : 1 cycle.
    Throughput : one flit per cycle.
    Paths : ``ready`` to ``dropped``.
    Reset : forgets the packet that comes in and all tickets.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = spec
        protocol, count = spec.protocol, len(DATA_CIRCUITS)
        fields = protocol.fields(spec.ports)
        self.unit_name = f"deframer_w{spec.data_width}_p{spec.ports}_{protocol.suffix}"
        super().__init__(
            {
                "i": In(flit_link_signature(spec)),
                "valid": Out(count),
                "ready": In(count),
                "word": Out(queued_layout(spec)),
                "incoming": Out(count),
                "used": In(data.ArrayLayout((protocol.buffer_flits).bit_length(), count)),
                "message": Out(message_signature(spec)),
                "granted": Out(1),
                "granted_circuit": Out(2),
                "granted_limit": Out(fields["ticket"]),
                "limit": Out(data.ArrayLayout(fields["ticket"], count)),
                "synced": Out(count),
                "dropped": Out(1),
                "came": Out(1),
                "kind_error": Out(1),
                "length_error": Out(1),
                "overflow": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec, protocol = self.spec, self.spec.protocol
        header, good, bad = self._check(m)
        kinds = {kind: good & (header.kind == number) for number, kind in enumerate(KINDS)}
        wanted, index_first = Signal(), header.index == 0
        nowhere = header.circuit == CONTROL
        long = _above(header.last, protocol.packet_flits - 1) | (header.index > header.last)
        says = kinds["ack"] | kinds["nack"] | kinds["ask"]
        no_flow = _above(header.phase, protocol.online) | _above(header.peer, spec.ports - 1)
        m.d.comb += [
            self.kind_error.eq(
                (good & _above(header.kind, len(KINDS) - 1))
                | ((kinds["data"] | kinds["sync"]) & nowhere)
                | (says & no_flow)
            ),
            self.length_error.eq(kinds["data"] & ~nowhere & long),
            wanted.eq(kinds["data"] & ~nowhere & ~long),
        ]
        opened, next_index = Signal(), Signal.like(header.index)
        circuit, ticket = Signal(2), Signal.like(header.ticket)
        patience = Signal(range(protocol.patience_cycles + 1))
        same, goes_on, again = Signal(), Signal(), Signal()
        begins = self._tell(m, header, wanted, kinds["sync"], next_index)
        m.d.comb += [
            same.eq(opened & (header.circuit == circuit) & (header.ticket == ticket)),
            goes_on.eq(same & (header.index == next_index)),
            # A flit that comes twice changes nothing.
            again.eq(wanted & same & (header.index < next_index)),
        ]
        fits, taken = Signal(), Signal()
        m.d.comb += [
            fits.eq(wanted & ((index_first & begins) | goes_on)),
            taken.eq(fits & selected(header.circuit, list(self.ready))),
            self.overflow.eq(fits & ~taken),
            self.came.eq(taken),
            self.dropped.eq(bad | (wanted & ~fits)),
            self.word.first.eq(index_first),
            self.word.last.eq(header.index == header.last),
            self.word.about.phase.eq(header.phase),
            self.word.about.peer.eq(header.peer),
            self.word.about.sequence.eq(header.sequence),
            self.word.about.length.eq(header.last),
        ]
        for number in range(len(DATA_CIRCUITS)):
            m.d.comb += [
                self.valid[number].eq(fits & (header.circuit == number)),
                self.incoming[number].eq(opened & (circuit == number)),
            ]
        with m.If(wanted & ~again):
            m.d.sync += [
                opened.eq(taken & (header.index != header.last)),
                next_index.eq(header.index + 1),
                circuit.eq(header.circuit),
                ticket.eq(header.ticket),
                patience.eq(0),
            ]
        with m.Elif(opened & (patience == protocol.patience_cycles)):
            m.d.sync += opened.eq(0)
        with m.Elif(opened):
            m.d.sync += patience.eq(patience + 1)
        m.d.comb += [
            self.message.valid.eq(says & ~no_flow),
            *(
                getattr(self.message, name).eq(getattr(header, name))
                for name in ("kind", "phase", "peer", "sequence")
            ),
            self.granted.eq(good & (header.credit_circuit != CONTROL)),
            self.granted_circuit.eq(header.credit_circuit),
            self.granted_limit.eq(header.credit_limit),
        ]
        return m

    def _check(self, m: Module) -> tuple[data.View, Value, Value]:
        """Return the header of the flit that came, and whether its CRC is right or wrong."""
        check = place(m, "check", FlitCrc(data_width=self.spec.data_width))
        seen, header = Signal(), Signal(header_layout(self.spec), reset_less=True)
        payload = Signal(self.spec.data_width, reset_less=True)
        crc, equal = Signal.like(self.i.crc, reset_less=True), Signal()
        m.d.comb += [
            check.word.eq(Cat(self.i.header.as_value(), self.i.data)),
            equal.eq(crc == check.crc),
            self.word.data.eq(payload),
        ]
        m.d.sync += [
            seen.eq(self.i.valid),
            header.eq(self.i.header),
            payload.eq(self.i.data),
            crc.eq(self.i.crc),
        ]
        return header, seen & equal, seen & ~equal

    def _tell(
        self,
        m: Module,
        header: data.View,
        wanted: Value,
        sync: Value,
        next_index: Value,
    ) -> Value:
        """Keep the limits, from the tickets seen and the room in the queues.

        Return whether a packet that begins is one that had not begun before.
        """
        protocol = self.spec.protocol
        news: list[Value] = []
        for number in range(len(DATA_CIRCUITS)):
            ticket = Signal.like(header.ticket, name=f"ticket_{number}")  # that comes next
            mine = header.circuit == number
            ahead = Signal.like(header.ticket, name=f"ahead_{number}")
            m.d.comb += ahead.eq(header.ticket - ticket)
            news.append(mine & (ahead <= protocol.buffer_packets))
            with m.If(wanted & news[-1]):
                m.d.sync += ticket.eq(header.ticket + 1)
            with m.Elif(sync & mine):
                m.d.sync += ticket.eq(header.ticket)
            # The packet that comes in has its room already.
            kept = Signal(range(protocol.packet_flits + 1), name=f"kept_{number}")
            room = Signal(range(protocol.buffer_flits + 1), name=f"room_{number}")
            m.d.comb += [
                kept.eq(Mux(self.incoming[number], protocol.packet_flits - next_index, 0)),
                room.eq(protocol.buffer_flits - self.used[number] - kept),
                self.synced[number].eq(sync & mine),
            ]
            packets = sum(
                room >= count * protocol.packet_flits
                for count in range(1, protocol.buffer_packets + 1)
            )
            limit = Signal.like(header.ticket, name=f"limit_{number}", init=protocol.buffer_packets)
            m.d.sync += limit.eq(ticket + packets)
            m.d.comb += self.limit[number].eq(limit)
        return Cat(news).any()


def _above(field: Value, highest: int) -> Value:
    """Return whether a field is above a number, which it may not be able to."""
    return field > highest if highest < (1 << len(field)) - 1 else Const(0, 1)
