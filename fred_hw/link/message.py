"""Control messages: acks, nacks and ack requests."""

from amaranth.lib import data, stream
from amaranth.lib.wiring import Out

from fred_hw.member import Bundle, member
from fred_hw.spec import SwitchSpec

from .descriptor import FLOW

__all__ = ["Message", "message_layout", "message_stream"]


def message_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a control message: fields of the header (docs/reference/protocol.md)."""
    fields = spec.protocol.fields
    return data.StructLayout({name: fields[name] for name in ("kind", *FLOW, "sequence")})


def message_stream(spec: SwitchSpec) -> stream.Signature:
    """Return the stream of control messages to a link."""
    return stream.Signature(message_layout(spec))


class Message(Bundle):
    """A control message, which is never stalled."""

    valid = member(Out, 1)
    """High for one cycle per message."""
    payload: data.View = member(Out, message_layout)
    """The message."""
