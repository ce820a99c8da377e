"""Control messages: acks, nacks and ack requests."""

from amaranth.hdl import Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import Out

from fred_hw.spec import SwitchSpec

from .descriptor import FLOW

__all__ = ["Message", "message_layout", "message_signature", "message_stream"]


class Message(wiring.PureInterface):
    """A control message, which is never stalled."""

    valid: Signal
    payload: data.View


def message_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a control message: fields of the header (docs/reference/protocol.md)."""
    fields = spec.protocol.fields
    return data.StructLayout({name: fields[name] for name in ("kind", *FLOW, "sequence")})


def message_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of control messages received from a link.

    Members
    -------
    valid : Out(1)
        High for one cycle per message.
    payload : Out(message_layout(spec))
        The message.
    """
    return wiring.Signature({"valid": Out(1), "payload": Out(message_layout(spec))})


def message_stream(spec: SwitchSpec) -> stream.Signature:
    """Return the stream of control messages to a link."""
    return stream.Signature(message_layout(spec))
