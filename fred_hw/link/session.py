"""Link handshake: sessions of both sides of a link."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.member import Bundle, member
from fred_hw.protocol import HANDSHAKE_FIELDS, HEADER_FIELDS
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

__all__ = ["Handshake", "LinkSession", "Sending", "Session", "handshake_layout", "join_session"]


def handshake_layout() -> data.StructLayout:
    """Return the layout of a handshake message (docs/reference/protocol.md)."""
    return data.StructLayout({name: HEADER_FIELDS[name].bits for name in HANDSHAKE_FIELDS})


class Handshake(Bundle):
    """Received handshake messages of a link."""

    valid = member(Out, 1)
    """High for a cycle with each handshake."""
    payload: data.View = member(Out, handshake_layout())
    """Contents of the handshake."""


class Sending(Bundle):
    """State of a session for the sending unit of a link, as seen by the session."""

    handshake: stream.Interface = member(Out, stream.Signature(handshake_layout()))
    """Handshake to send, before all other flits."""
    down = member(Out, 1)
    """Only handshakes are sent and accepted; other flits are lost."""
    closing = member(Out, 1)
    """No packet may start from the next cycle on."""
    begins = member(Out, 1)
    """Sequence numbers restart at 0, and no limits are known; those of this end are reported."""
    empty = member(In, 1)
    """All started packets have left."""


class Receiving(Bundle):
    """State of a session for the receiving unit of a link, as seen by the session."""

    came: Handshake = member(In, Handshake.signature())
    """Received handshakes."""
    refused = member(Out, 1)
    """High for a cycle for each handshake of an incompatible neighbour."""


class Session(Sending, Receiving):
    """State of a session, for receiver and sender of a port."""


def join_session(m: Module, link: Session, receiver: Any, sender: Any) -> None:
    """Connect a session to both directions of its link.

    Parameters
    ----------
    m : Module
        Module of both units.
    link : Session
        The session.
    receiver, sender : units
        Units with ``handshake`` and ``down`` as in ``Deframer``, and with the members of
        ``Sending``.
    """
    wiring.connect(m, receiver.handshake, link.came)
    wiring.connect(m, link.handshake, sender.handshake)
    m.d.comb += [
        receiver.down.eq(link.down),
        *(getattr(sender, name).eq(getattr(link, name)) for name in ("down", "closing", "begins")),
        link.empty.eq(sender.empty),
    ]


class LinkSession(Unit):
    """Link handshake: start a session with the neighbour after a reset of either side.

    Each end has a session ID (session_id), which changes with each reset. A link is up when each
    end has received the session ID of the other and acknowledged it. An end that receives a new
    session ID ends the packets in flight, restarts sequence numbers and limits, and acknowledges
    the session ID; only handshakes pass until the link is up again. With an end of another
    protocol or other sizes it never gets up.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from a handshake to ``up``, 2 to ``link.handshake``, 4 if it has another
        session ID and no packet has to leave. A handshake goes a cycle after reset, and
        ``timeout_cycles + 2`` after one that was taken at once, until it is up.
    Throughput : one handshake per cycle.
    Paths : ``link.empty`` to ``link.begins``.
    Reset : down, and the session ID of the other end is unknown.
    """

    session_id = member(In, HEADER_FIELDS["session_id"].bits)
    """Session ID of this end; constant between resets, and changed by each."""
    link: Session = member(Out, Session.signature())
    """Connection to the units of the link."""
    up = member(Out, 1)
    """The link is up."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("LinkSession", spec)
        self.unit_name = f"link_session_t{spec.protocol.timeout_cycles}_d{spec.digest:x}"
        super().__init__()

    def build(self, m: Module) -> None:
        link, came, handshake = self.link, self.link.came.payload, self.link.handshake
        timeout = self.spec.protocol.timeout_cycles
        peer_session_id = Signal.like(came.peer_session_id, name="peer_session_id")
        timer = Signal(range(timeout + 1))
        peer_known, fresh, agreed, drained, fits, renewed = (
            Signal(name=name)
            for name in ("peer_known", "fresh", "agreed", "drained", "fits", "renewed")
        )
        due = Signal(init=1)
        changing = {
            name: handshake.payload.shape()[name].shape
            for name in ("peer_session_id", "peer_known", "up")
        }
        sent = Signal(data.StructLayout(changing))
        m.d.comb += [
            fits.eq(link.came.valid & (came.digest == self.spec.digest)),
            link.refused.eq(link.came.valid & ~fits),
            renewed.eq(fits & (~peer_known | (came.session_id != peer_session_id))),
            self.up.eq(fresh & agreed),
            link.down.eq(~self.up),
            # A start in the first cycle is counted in the next.
            link.closing.eq(peer_known & ~self.up),
            link.begins.eq(link.closing & (fresh | (drained & link.empty))),
            handshake.payload.session_id.eq(self.session_id),
            handshake.payload.digest.eq(self.spec.digest),
            handshake.payload.peer_session_id.eq(sent.peer_session_id),
            handshake.payload.peer_known.eq(sent.peer_known),
            handshake.payload.up.eq(sent.up),
        ]
        m.d.sync += [drained.eq(link.closing & ~renewed), timer.eq(timer + 1)]
        with m.If(self.up | due | (timer == timeout)):
            m.d.sync += timer.eq(0)
        # An offered handshake stays the same.
        with m.If(~handshake.valid | handshake.ready):
            m.d.sync += [
                due.eq(0),
                handshake.valid.eq(due),
                sent.peer_session_id.eq(peer_session_id),
                sent.peer_known.eq(fresh),
                sent.up.eq(self.up),
            ]
        with m.If(~self.up & (timer == timeout)):
            m.d.sync += due.eq(1)
        with m.If(link.begins & ~fresh):
            m.d.sync += [fresh.eq(1), due.eq(1)]
        with m.If(renewed):
            m.d.sync += [peer_session_id.eq(came.session_id), peer_known.eq(1), fresh.eq(0)]
        with m.If(fits):
            m.d.sync += agreed.eq(came.peer_known & (came.peer_session_id == self.session_id))
            # A neighbour that is not up waits for an answer, useless before this end is ready.
            with m.If(~came.up & fresh & ~renewed):
                m.d.sync += due.eq(1)
        with m.If(link.refused):
            m.d.sync += [peer_known.eq(0), fresh.eq(0), agreed.eq(0)]
