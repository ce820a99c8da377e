"""A neighbour's end of a link, with a flow out and a flow in on each data circuit."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import first_of, one_hot_mux
from fred_hw.link.deframer import Deframer
from fred_hw.link.flit import CRC
from fred_hw.link.message import Message
from fred_hw.protocol import DATA_CIRCUITS, HEADER_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .flow_receiver import FlowReceiver
from .flow_sender import FlowSender
from .payload import PayloadStream, payload_signature
from .transmitter import Transmitter

__all__ = ["Endpoint"]

COUNT = len(DATA_CIRCUITS)
MESSAGE = ("kind", "phase", "peer", "sequence")


class Endpoint(Unit):
    """Speak docs/protocol.md with a switch, or with another endpoint, on behalf of an NPU.

    Each data circuit carries one flow out and one flow in; flows take turns and go on with the
    numbers that they had come to. No two circuits may have the same flow in the same direction; one
    that is not used gets a phase that the port has no part in.

    Parameters
    ----------
    spec : SwitchSpec
        That of the switch; with the link layer.

    Members
    -------
    s_axis_tdata, tvalid, tready, tlast, tuser : In, In(1), Out(1), In(1), In
        Flits from the link, see docs/protocol.md. ``tready`` is always high, and ``tlast``, which
        the header says too, is not looked at.
    m_axis_tdata, tvalid, tready, tlast, tuser : Out, Out(1), In(1), Out(1), Out
        Flits to the link.
    send : In(payload stream).array(3)
        Packets of each circuit to send.
    send_phase, send_peer : In of 3 each
        Their flows: phase, and at the default index the destination. Constant while ``idle`` of
        the circuit is low.
    send_clear : In(3)
        Start the flow's numbers at 0, as the phase is written into the switch; only while ``idle``,
        with no flit offered, and not in the cycle in which the flow changes.
    idle : Out(3)
        Whether all packets taken are acknowledged.
    receive : Out(payload stream).array(3)
        Packets received on each circuit.
    receive_phase, receive_peer : In of 3 each
        Their flows: phase, and at the default index the source. They change only when all that is
        wanted of the flow has come.
    receive_clear : In(3)
        Start the flow's numbers at 0; only between packets, and not in the cycle in which the flow
        changes.
    gone_back : Out(3)
        High for a cycle when packets of a circuit will be sent again.
    dropped : Out(1)
        High for a cycle per flit with a wrong CRC, or that does not go on its packet.
    unknown, kind_error, length_error, overflow : Out(1)
        High for a cycle per flit dropped as it is of a flow that has not had its turn, its kind
        does not exist, its packet is too long, or there is no room for it.

    Timing
    ------
    Latency : 5 cycles from the last flit of a packet on ``send`` to its first flit on ``m_axis``;
        2 from a flit on ``s_axis`` to the same flit on ``receive``.
    Throughput : one flit per cycle in each direction, without a gap between packets; a control
        message takes the place of a flit.
    Paths : ``send_phase`` and ``send_peer`` to ``send.ready``, ``receive_phase`` and
        ``receive_peer`` to ``unknown``.
    Reset : forgets all packets, tickets and numbers; the neighbour must be reset with it.
    """

    s_axis_tdata: Signal
    s_axis_tvalid: Signal
    s_axis_tready: Signal
    s_axis_tlast: Signal
    s_axis_tuser: Signal
    m_axis_tdata: Signal
    m_axis_tvalid: Signal
    m_axis_tready: Signal
    m_axis_tlast: Signal
    m_axis_tuser: Signal
    send: list[PayloadStream]
    send_phase: data.View
    send_peer: data.View
    send_clear: Signal
    idle: Signal
    receive: list[PayloadStream]
    receive_phase: data.View
    receive_peer: data.View
    receive_clear: Signal
    gone_back: Signal
    dropped: Signal
    unknown: Signal
    kind_error: Signal
    length_error: Signal
    overflow: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        if not spec.protocol.link:
            raise ValueError("protocol.link must be True for Endpoint, not False")
        self.spec = spec
        self.unit_name = f"endpoint_w{spec.data_width}_p{spec.ports}_{spec.protocol.suffix}"
        fields = spec.protocol.fields(spec.ports)
        phase, peer = (data.ArrayLayout(fields[name], COUNT) for name in ("phase", "peer"))
        user = HEADER_BITS + CRC.crc_width
        super().__init__(
            {
                "s_axis_tdata": In(spec.data_width),
                "s_axis_tvalid": In(1),
                "s_axis_tready": Out(1),
                "s_axis_tlast": In(1),
                "s_axis_tuser": In(user),
                "m_axis_tdata": Out(spec.data_width),
                "m_axis_tvalid": Out(1),
                "m_axis_tready": In(1),
                "m_axis_tlast": Out(1),
                "m_axis_tuser": Out(user),
                "send": In(payload_signature(spec)).array(COUNT),
                "send_phase": In(phase),
                "send_peer": In(peer),
                "send_clear": In(COUNT),
                "idle": Out(COUNT),
                "receive": Out(payload_signature(spec)).array(COUNT),
                "receive_phase": In(phase),
                "receive_peer": In(peer),
                "receive_clear": In(COUNT),
                "gone_back": Out(COUNT),
                "dropped": Out(1),
                "unknown": Out(1),
                "kind_error": Out(1),
                "length_error": Out(1),
                "overflow": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        deframer = place(m, "deframer", Deframer(spec=self.spec))
        transmitter = place(m, "transmitter", Transmitter(spec=self.spec))
        m.d.comb += [
            self.s_axis_tready.eq(1),
            deframer.i.valid.eq(self.s_axis_tvalid),
            deframer.i.data.eq(self.s_axis_tdata),
            Cat(deframer.i.header.as_value(), deframer.i.crc).eq(self.s_axis_tuser),
            self.m_axis_tvalid.eq(transmitter.o.valid),
            self.m_axis_tdata.eq(transmitter.o.data),
            self.m_axis_tlast.eq(transmitter.o.last),
            self.m_axis_tuser.eq(Cat(transmitter.o.header.as_value(), transmitter.o.crc)),
            transmitter.o.ready.eq(self.m_axis_tready),
            *(
                getattr(transmitter, name).eq(getattr(deframer, name))
                for name in ("granted", "granted_circuit", "granted_limit", "limit", "synced")
            ),
            *(
                getattr(self, name).eq(getattr(deframer, name))
                for name in ("dropped", "kind_error", "length_error", "overflow")
            ),
        ]
        self._senders(m, deframer, transmitter)
        receivers = self._receivers(m, deframer)
        self._reply(m, receivers, transmitter)
        return m

    def _senders(self, m: Module, deframer: Deframer, transmitter: Transmitter) -> None:
        for k, name in enumerate(DATA_CIRCUITS):
            sender = place(m, f"send_{name}", FlowSender(spec=self.spec))
            _connect(m, sender.i, self.send[k])
            _tell(m, sender.message, deframer.message)
            m.d.comb += [
                sender.phase.eq(self.send_phase[k]),
                sender.peer.eq(self.send_peer[k]),
                sender.clear.eq(self.send_clear[k]),
                sender.take.eq(transmitter.take[k]),
                transmitter.waiting[k].eq(sender.waiting),
                transmitter.ends[k].eq(sender.ends),
                *(
                    getattr(transmitter.flit[k], part).eq(getattr(sender.o, part))
                    for part in ("data", "about", "index", "last")
                ),
                self.idle[k].eq(sender.idle),
                self.gone_back[k].eq(sender.gone_back),
            ]

    def _receivers(self, m: Module, deframer: Deframer) -> list[FlowReceiver]:
        receivers: list[FlowReceiver] = []
        # A packet breaks when a flit is dropped, and no more flits may come of it from then on.
        dropped, incoming = Signal(), Signal(COUNT)
        m.d.sync += [dropped.eq(deframer.dropped), incoming.eq(deframer.incoming)]
        for k, name in enumerate(DATA_CIRCUITS):
            receiver = place(m, f"receive_{name}", FlowReceiver(spec=self.spec))
            _connect(m, self.receive[k], receiver.o)
            _tell(m, receiver.ask, deframer.message)
            m.d.comb += [
                receiver.phase.eq(self.receive_phase[k]),
                receiver.peer.eq(self.receive_peer[k]),
                receiver.clear.eq(self.receive_clear[k]),
                receiver.valid.eq(deframer.valid[k]),
                receiver.word.eq(deframer.word),
                receiver.broken.eq(dropped & incoming[k] & ~deframer.incoming[k]),
                deframer.ready[k].eq(receiver.ready),
                deframer.used[k].eq(receiver.used),
            ]
            receivers.append(receiver)
        m.d.comb += self.unknown.eq(Cat(receiver.unknown for receiver in receivers).any())
        return receivers

    def _reply(self, m: Module, receivers: list[FlowReceiver], transmitter: Transmitter) -> None:
        """Offer one message after the other, the most urgent circuit's first."""
        message, offers, taken = transmitter.message, Signal(COUNT), Signal(COUNT)
        valid, load = Signal(), Signal()
        m.d.comb += [
            offers.eq(Cat(receiver.message.valid for receiver in receivers)),
            load.eq(~valid | transmitter.message_ready),
            taken.eq(first_of(offers) & load.replicate(COUNT)),
            message.valid.eq(valid),
        ]
        for k, receiver in enumerate(receivers):
            m.d.comb += receiver.message_ready.eq(taken[k])
        with m.If(load):
            m.d.sync += valid.eq(offers.any())
        for name in MESSAGE:
            held = Signal.like(getattr(message, name), reset_less=True)
            m.d.comb += getattr(message, name).eq(held)
            with m.If(load):
                parts = [getattr(receiver.message, name) for receiver in receivers]
                m.d.sync += held.eq(one_hot_mux(taken, parts))


def _connect(m: Module, target: PayloadStream, source: PayloadStream) -> None:
    m.d.comb += [
        target.valid.eq(source.valid),
        target.data.eq(source.data),
        target.last.eq(source.last),
        source.ready.eq(target.ready),
    ]


def _tell(m: Module, target: Message, source: Message) -> None:
    for name in ("valid", *MESSAGE):
        m.d.comb += getattr(target, name).eq(getattr(source, name))
