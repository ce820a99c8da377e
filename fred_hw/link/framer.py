"""Flits, control messages and credits on a link, one at a time, with header and CRC."""

from collections.abc import Sequence
from functools import reduce
from operator import xor

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import next_grant, selected
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.protocol import (
    CONTROL,
    CRC_BITS,
    HANDSHAKE_FIELDS,
    HEADER_BITS,
    HEADER_FIELDS,
    PROTOCOL_VERSION,
    Kind,
)
from fred_hw.spec import SwitchSpec, check_spec, sized_name
from fred_hw.unit import Unit

from .crc import crc_masks
from .credits import Limits, link_sequence_bits
from .crowding import crowding_layout, write_crowding
from .flit import framed_signature
from .frame import checked_layout
from .header import header_layout, name_flow
from .message import message_stream
from .session import handshake_layout

__all__ = ["Framer"]


class Framer(Unit):
    """Put data flits and control messages on a link, and report credits with them.

    The order is handshakes, control messages, requests for missing credits, data, and credits that
    no other flit carried. Changed limits are reported one at a time, round-robin over the
    buffers, each with its value in the cycle in which its flit is taken: an offered flit may
    change until then.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : none, from what is offered to ``o``; 1 cycle from a limit that changed.
    Throughput : one flit per cycle.
    Paths : ``i``, ``here`` and ``message`` to ``o``, ``o.ready`` to ``i.ready`` and
        ``message.ready``.
    Reset : forgets the reported limits.
    """

    i: stream.Interface = member(In, lambda u: stream.Signature(checked_layout(u.spec)))
    """Data flits."""
    message: stream.Interface = member(In, lambda u: message_stream(u.spec))
    """Control messages."""
    handshake: stream.Interface = member(In, stream.Signature(handshake_layout()))
    """Handshakes, which precede all other flits."""
    down = member(In, 1)
    """All flits but handshakes are lost, also behind a handshake that is not taken, except for a
    flit that was offered before."""
    begins = member(In, 1)
    """All limits must be reported again."""
    here: Limits = member(In, lambda u: Limits.signature(u.spec))
    """Limits to report."""
    lacks = member(In, lambda u: len(u.spec.protocol.buffers))
    """For each of the B buffers whether credits are missing, which must be requested if this lasts
    for ``timeout_cycles``."""
    link_sequence: data.View = member(
        In, lambda u: data.ArrayLayout(link_sequence_bits(u.spec), len(u.spec.protocol.buffers))
    )
    """The next sequence number of each buffer."""
    crowding: data.View = member(
        In, crowding_layout(), when=lambda u: u.spec.protocol.routes is not None
    )
    """If sources choose routes: load to send with control messages and credits."""
    o: stream.Interface = member(Out, lambda u: framed_signature(u.spec))
    """The link."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Framer", spec)
        self.unit_name = sized_name("framer", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        gone, kept, syncs = (Signal(name=name) for name in ("gone", "kept", "syncs"))
        # An offered flit stays the same until it is taken.
        m.d.comb += [gone.eq(self.o.valid & self.o.ready), kept.eq(self.o.valid & ~self.o.ready)]
        reports = Signal()
        news, credit_circuit, limit = self._credits(m, reports, kept)
        sync, sync_circuit, sync_link_sequence = self._syncs(m, gone & syncs, kept & syncs)
        choices = [self.handshake.valid, self.message.valid, sync, self.i.valid, news]
        grants, stalled = self._grants(m, choices, kept)
        handshake, message, sync_granted, packet, _ = grants
        loses = Signal()
        behind = Signal(name="lost_behind_handshake")
        # The receiver of a handshake may not be up yet, and would ignore credits.
        m.d.comb += [
            loses.eq(self.down & ~stalled),
            # A dead neighbour may never accept a handshake.
            behind.eq(self.down & handshake),
            reports.eq(gone & ~handshake),
        ]
        header = Signal(header_layout())
        m.d.comb += [
            syncs.eq(sync_granted),
            header.version.eq(PROTOCOL_VERSION),
            header.credit_circuit.eq(Mux(handshake, CONTROL, credit_circuit)),
            header.credit_limit.eq(Mux(handshake, 0, limit)),
        ]
        with m.If(handshake):
            m.d.comb += [header.kind.eq(Kind.HANDSHAKE), header.circuit.eq(CONTROL)]
            m.d.comb += [header[name].eq(self.handshake.payload[name]) for name in HANDSHAKE_FIELDS]
        with m.Elif(packet):
            self._data_header(m, header)
        with m.Elif(message):
            own = self.message.payload
            m.d.comb += [
                header.circuit.eq(CONTROL),
                header.kind.eq(own.kind),
                header.sequence.eq(own.sequence),
            ]
            self._report_crowding(m, header)
            name_flow(m, header, own, own.phase == self.spec.protocol.online)
        with m.Elif(syncs):
            m.d.comb += [
                header.kind.eq(Kind.SYNC),
                header.circuit.eq(sync_circuit),
                header.link_sequence.eq(sync_link_sequence),
            ]
        with m.Else():
            m.d.comb += [header.kind.eq(Kind.CREDIT), header.circuit.eq(CONTROL)]
            self._report_crowding(m, header)
        checked, o = self.i.payload, self.o.payload
        m.d.comb += [
            self.o.valid.eq(handshake | (Cat(grants).any() & ~loses)),
            o.header.eq(header),
            o.data.eq(Mux(packet, checked.data, 0)),
            o.last.eq(~packet | checked.frame.last),
            o.crc.eq(self._crc(header.as_value(), packet)),
            self.handshake.ready.eq(handshake & self.o.ready),
            self.i.ready.eq(behind | (packet & (self.o.ready | loses))),
            self.message.ready.eq(behind | (message & (self.o.ready | loses))),
        ]

    def _report_crowding(self, m: Module, header: data.View) -> None:
        if self.spec.protocol.routes is not None:
            write_crowding(m, header, self.crowding)

    def _grants(
        self, m: Module, choices: Sequence[Value], kept: Value
    ) -> tuple[list[Signal], Signal]:
        """Grant the first source that offers, until its offer is accepted.

        Return the grants, and whether an offer of before is not taken yet.
        """
        before = Const(0, 1)
        stalled = Signal()
        m.d.sync += stalled.eq(kept)
        grants = [Signal(name=f"grant_{k}") for k in range(len(choices))]
        for grant, choice in zip(grants, choices, strict=True):
            held = Signal(name=f"{grant.name}_held")
            m.d.sync += held.eq(grant)
            m.d.comb += grant.eq(Mux(stalled, held, choice & ~before))
            before = before | choice
        return grants, stalled

    def _data_header(self, m: Module, header: data.View) -> None:
        """Fill in the header of the offered data flit."""
        frame = self.i.payload.frame
        descriptor = frame.descriptor
        name_flow(m, header, descriptor, descriptor.phase == self.spec.protocol.online)
        m.d.comb += [
            header.kind.eq(Kind.DATA),
            header.circuit.eq(frame.circuit),
            header.sequence.eq(descriptor.sequence),
            header.index.eq(frame.index),
            header.last.eq(descriptor.length),
            header.link_sequence.eq(frame.link_sequence),
        ]
        if self.spec.protocol.routes is not None:
            m.d.comb += header.alternate.eq(descriptor.alternate)

    def _crc(self, header: Value, packet: Value) -> Value:
        """Return the CRC of a flit, inverted for the last flit of a broken packet.

        It is the exclusive or of that of its header and that of its data.
        """
        checked = self.i.payload
        masks, zero = crc_masks(HEADER_BITS + self.spec.data_width)
        parities = Cat(
            reduce(xor, [header[k] for k in range(HEADER_BITS) if mask >> k & 1]) for mask in masks
        )
        rest = Mux(packet, checked.crc, zero)
        broken = (packet & checked.frame.bad).replicate(CRC_BITS)
        return parities ^ rest ^ broken

    def _credits(self, m: Module, taken: Value, kept: Value) -> tuple[Value, Value, Value]:
        """Return whether a limit is to be reported, its buffer, and the limit.

        The buffer is chosen a cycle ahead; the limit is the current one.
        """
        bits, most = link_sequence_bits(self.spec), self.spec.protocol.buffer_flits
        requests = self.here.synced
        circuit = Signal(HEADER_FIELDS["credit_circuit"].bits, init=CONTROL)
        changed = Signal.like(requests)
        behind = Signal.like(requests)
        chosen, later = next_grant(m, "report", changed, behind)
        news = wire(m, "news", selected(circuit, list(changed)))
        loads = taken | (~news & ~kept)
        with m.If(loads):
            m.d.sync += circuit.eq(CONTROL)
        for number, here in enumerate(self.here.limit):
            reported = Signal(bits, name=f"reported_{number}", init=most)
            asked = Signal(name=f"asked_{number}")
            m.d.comb += changed[number].eq((here != reported) | asked)
            with m.If(loads & chosen[number]):
                m.d.sync += [circuit.eq(number), behind.eq(later)]
            with m.If(taken & (circuit == number)):
                m.d.sync += [reported.eq(here), asked.eq(0)]
            with m.If(requests[number] | self.begins):
                m.d.sync += asked.eq(1)
        return news, circuit, selected(circuit, list(self.here.limit))

    def _syncs(self, m: Module, sent: Value, kept: Value) -> tuple[Value, Value, Value]:
        """Return whether to request missing credits, the buffer, and its next number.

        Called with whether a question is taken, and whether one is offered and is not.
        """
        timeout = self.spec.protocol.timeout_cycles
        timer = Signal(range(timeout + 1))
        due = Signal()
        still = Signal()
        bits = self.spec.protocol.fields["circuit"]
        circuit = Signal(bits, name="sync_circuit")
        following = Signal(bits)
        link_sequence = Signal(link_sequence_bits(self.spec), name="sync_link_sequence")
        m.d.comb += [due.eq(timer == timeout), still.eq(selected(circuit, list(self.lacks)))]
        for number in range(len(self.lacks)):
            with m.If(self.lacks[number] & ((circuit != number) | (self.lacks == 1 << number))):
                m.d.comb += following.eq(number)
        # An offered flit stays the same even if a packet has started since; the packet follows it.
        with m.If(~kept & (self.down | ~self.lacks.any() | sent | (due & ~still))):
            m.d.sync += timer.eq(0)
        with m.Elif(~due):
            m.d.sync += [
                timer.eq(timer + 1),
                circuit.eq(following),
                link_sequence.eq(selected(following, list(self.link_sequence))),
            ]
        return due & still, circuit, link_sequence
