"""Control messages: acks, nacks and asks."""

from amaranth.hdl import Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from fred_hw.spec import SwitchSpec

__all__ = ["Message", "message_signature"]


class Message(wiring.PureInterface):
    """A control message."""

    valid: Signal
    kind: Signal
    phase: Signal
    peer: Signal
    sequence: Signal


def message_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of control messages: an ack, nack or ask; see docs/protocol.md."""
    fields = spec.protocol.fields(spec.ports)
    return wiring.Signature(
        {"valid": Out(1)}
        | {name: Out(fields[name]) for name in ("kind", "phase", "peer", "sequence")}
    )
