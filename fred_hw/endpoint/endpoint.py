"""The link endpoint, with one outgoing and one incoming flow per virtual channel."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import first_of, one_hot_mux
from fred_hw.link.axis import axis_members, join_axis
from fred_hw.link.crowding import crowding_layout
from fred_hw.link.deframer import Deframer
from fred_hw.link.message import Message
from fred_hw.link.packet_stream import PayloadStream
from fred_hw.link.session import LinkSession, join_session
from fred_hw.member import member, members
from fred_hw.per_class import array_per_class, channels_of, per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .flow import flow_layout
from .flow_receiver import FlowReceiver
from .flow_sender import FlowSender, replay_name
from .transmitter import Transmitter

__all__ = ["Endpoint"]


class Endpoint(Unit):
    """Connect an NPU to a link with a switch or another endpoint (docs/reference/protocol.md).

    Each virtual channel carries one outgoing and one incoming flow; flows may change, and each
    continues with its own sequence numbers. No two channels may have the same flow in the same
    direction; an unused channel gets a phase in which the port takes no part.

    Parameters
    ----------
    spec : SwitchSpec
        Specification of the switch.

    Timing
    ------
    Latency : 5 cycles from the last flit of a packet on ``send`` to its first flit on ``m_axis``;
        2 from a flit on ``s_axis`` to the same flit on ``receive``.
    Throughput : one flit per cycle in each direction, without a gap between packets; a control
        message takes the place of a flit.
    Paths : ``send_flow`` to ``send.ready``, ``receive_flow`` and ``receive_enough`` to
        ``receive_came``.
    Reset : forgets all packets, link sequence numbers and numbers, and begins the link anew.
    """

    address = member(In, lambda u: u.spec.protocol.fields["source"])
    """Address of this endpoint in the fabric; constant."""
    session_id = member(In, lambda u: u.spec.protocol.fields["session_id"])
    """Session ID: another number after each reset, constant between resets."""
    up = member(Out, 1)
    """Whether the link is up."""
    refused = member(Out, 1)
    """High for a cycle for each handshake of an incompatible neighbour."""
    link_axis = members(lambda u: axis_members(u.spec.data_width))
    """Flits from the link (``s_axis``) and to it (``m_axis``), see docs/reference/protocol.md.
    ``s_axis_tready`` is always high. ``s_axis_tlast`` is ignored, since the header has the same
    information."""
    send: list[PayloadStream] = member(
        In, lambda u: PayloadStream.signature(u.spec), array=per_class
    )
    """Packets to send on channel c: 0 MP, 1 PP, 2 DP."""
    send_flow: data.View = member(In, array_per_class(lambda u: flow_layout(u.spec)))
    """Flow of each channel, that of channel 0 in the low bits: its generation, the destination of
    unicasts, and the phase (``phases`` for unicasts). Constant while the channel's ``idle`` is low;
    a flow of a new generation starts with number 0."""
    send_clear = member(In, per_class)
    """Restart the flow's numbers at 0 when the phase is written into the switch; only while
    ``idle``, with no flit offered, and not in the cycle in which the flow changes."""
    receive: list[PayloadStream] = member(
        Out, lambda u: PayloadStream.signature(u.spec), array=per_class
    )
    """Packets received on channel c. While ``ready`` is low, only this channel runs out of
    credits."""
    receive_flow: data.View = member(In, array_per_class(lambda u: flow_layout(u.spec)))
    """Flow of each channel, as ``send_flow``, with the source of unicasts. Each flow resumes where
    it stopped, also within a packet; packets of other generations are dropped."""
    receive_clear = member(In, per_class)
    """Restart the flow's numbers at 0; not in the cycle in which the flow changes."""
    forget = member(In, lambda u: u.spec.protocol.phases)
    """High for a cycle for each phase that is rewritten in the switch: its numbers restart at 0 on
    all channels. A configured flow of the phase must be at rest, as for ``send_clear`` and
    ``receive_clear``."""
    receive_enough = member(In, per_class)
    """Accept no flit of the channel: flits are dropped, and requested again when it falls. 0 if
    unused."""
    receive_came = member(Out, per_class)
    """High for a cycle for each flit that is accepted for ``receive``."""
    idle = member(Out, per_class)
    """Whether all accepted packets are acknowledged."""
    rewinds = member(Out, per_class)
    """High for a cycle when packets of a channel will be retransmitted."""
    dropped = member(Out, 1)
    """High for a cycle for each flit that has a wrong CRC, or does not continue its packet."""
    unknown = member(Out, 1)
    """High for a cycle for each flit that is dropped because its flow was never configured."""
    kind_error = member(Out, 1)
    """High for a cycle for each flit that is dropped because its kind does not exist."""
    length_error = member(Out, 1)
    """High for a cycle for each flit that is dropped because its packet is too long."""
    overflow = member(Out, 1)
    """High for a cycle for each flit that is dropped because the buffer is full."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Endpoint", spec)
        self.unit_name = replay_name("endpoint", spec)
        super().__init__()

    def build(self, m: Module) -> None:
        deframer = place(m, "deframer", Deframer(spec=self.spec))
        transmitter = place(m, "transmitter", Transmitter(spec=self.spec))
        wiring.connect(m, deframer.credit, transmitter.credit)
        session = place(m, "session", LinkSession(spec=self.spec))
        join_session(m, session.link, deframer, transmitter.link)
        m.d.comb += [
            session.session_id.eq(self.session_id),
            self.up.eq(session.up),
            self.refused.eq(session.link.refused),
        ]
        join_axis(m, self, None, deframer.i, transmitter.o)
        m.d.comb += [
            self.dropped.eq(deframer.dropped),
            self.kind_error.eq(deframer.kind_error),
            self.length_error.eq(deframer.length_error),
            self.overflow.eq(deframer.overflow),
        ]
        received = Message.signature(self.spec).create()
        message = deframer.message.payload
        m.d.comb += [
            received.valid.eq(
                deframer.message.valid
                & (
                    (message.phase != self.spec.protocol.online)
                    | (message.destination == self.address)
                )
            ),
            received.payload.eq(message),
        ]
        self._send(m, received, transmitter, self._crowding(m, deframer))
        self._reply(m, self._receive(m, received, deframer), transmitter)

    def _crowding(self, m: Module, deframer: Deframer) -> data.View | None:
        """Return the router's last reported load of its routes, if sources choose routes."""
        if self.spec.protocol.routes is None:
            return None
        known = Signal(crowding_layout(), name="crowding")
        with m.If(deframer.crowding.valid):
            m.d.sync += known.eq(deframer.crowding.payload)
        return known

    def _send(
        self, m: Module, received: Message, transmitter: Transmitter, crowding: data.View | None
    ) -> None:
        """Place the source of each virtual channel's flow."""
        for k, name in enumerate(channels_of(self).names):
            sender = place(m, f"send_{name}", FlowSender(spec=self.spec))
            if crowding is not None:
                m.d.comb += sender.crowding.eq(crowding)
            wiring.connect(m, wiring.flipped(self.send[k]), sender.i)
            wiring.connect(m, received, sender.message)
            wiring.connect(m, sender.o, transmitter.i[k])
            m.d.comb += [
                sender.address.eq(self.address),
                sender.flow.eq(self.send_flow[k]),
                sender.clear.eq(self.send_clear[k]),
                sender.forget.eq(self.forget),
                self.idle[k].eq(sender.idle),
                self.rewinds[k].eq(sender.retransmit),
            ]

    def _receive(self, m: Module, received: Message, deframer: Deframer) -> list[FlowReceiver]:
        """Place the destination of each virtual channel's flow."""
        receivers: list[FlowReceiver] = []
        # A dropped flit makes its packet incomplete; the rest of the packet must not be accepted.
        dropped = Signal(name="dropped_before")
        incoming = Signal(per_class(self))
        pause = Signal(range(self.spec.protocol.quiet_cycles + 1))
        m.d.sync += [
            dropped.eq(deframer.dropped),
            incoming.eq(Cat(arrival.incoming for arrival in deframer.o)),
        ]
        with m.If(Cat(arrival.valid for arrival in deframer.o).any()):
            m.d.sync += pause.eq(0)
        with m.Elif(pause != self.spec.protocol.quiet_cycles):
            m.d.sync += pause.eq(pause + 1)
        for k, name in enumerate(channels_of(self).names):
            receiver = place(m, f"receive_{name}", FlowReceiver(spec=self.spec))
            wiring.connect(m, deframer.o[k], receiver.i)
            wiring.connect(m, received, receiver.ask)
            wiring.connect(m, receiver.o, wiring.flipped(self.receive[k]))
            m.d.comb += [
                receiver.address.eq(self.address),
                receiver.flow.eq(self.receive_flow[k]),
                receiver.clear.eq(self.receive_clear[k]),
                receiver.forget.eq(self.forget),
                receiver.enough.eq(self.receive_enough[k]),
                self.receive_came[k].eq(receiver.came),
                receiver.busy.eq(pause != self.spec.protocol.quiet_cycles),
                receiver.broken.eq(dropped & incoming[k] & ~deframer.o[k].incoming),
            ]
            receivers.append(receiver)
        m.d.comb += self.unknown.eq(Cat(receiver.unknown for receiver in receivers).any())
        return receivers

    def _reply(self, m: Module, receivers: list[FlowReceiver], transmitter: Transmitter) -> None:
        """Offer control messages one at a time, the most urgent virtual channel's first."""
        message = transmitter.message
        offers = Signal(per_class(self))
        taken = Signal(per_class(self))
        valid = Signal()
        load = Signal()
        held = Signal(message.payload.shape(), reset_less=True)
        m.d.comb += [
            offers.eq(Cat(receiver.message.valid for receiver in receivers)),
            load.eq(~valid | message.ready),
            taken.eq(first_of(m, "offers", offers) & load.replicate(per_class(self))),
            message.valid.eq(valid),
            message.payload.eq(held),
            *(receiver.message_ready.eq(taken[k]) for k, receiver in enumerate(receivers)),
        ]
        with m.If(load):
            messages = [receiver.message.payload for receiver in receivers]
            m.d.sync += [valid.eq(offers.any()), held.eq(one_hot_mux(taken, messages))]
