"""Credit signals from the receiver to the sender of a link."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from fred_hw.spec import SwitchSpec

__all__ = [
    "Credits",
    "Grant",
    "Limits",
    "credit_signature",
    "grant_signature",
    "limit_signature",
    "link_sequence_bits",
]


class Grant(wiring.PureInterface):
    """Buffer space that the neighbour grants to a virtual channel."""

    valid: Signal
    circuit: Signal
    limit: Signal


class Limits(wiring.PureInterface):
    """Buffer space of this side, as limits."""

    limit: data.View
    synced: Signal


class Credits(wiring.PureInterface):
    """Credits of both directions."""

    grant: Grant
    here: Limits


def link_sequence_bits(spec: SwitchSpec) -> int:
    """Return the bits of a link sequence number; a limit is the first flit without space."""
    return spec.protocol.fields["link_sequence"]


def limit_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of the limits to report to the neighbour.

    Members
    -------
    limit : Out(ArrayLayout(link_sequence_bits(spec), B))
        Credit limit of each of the B buffers.
    synced : Out(B)
        High for a cycle when the neighbour requests the limit of a buffer, changed or not.
    """
    buffers = len(spec.protocol.buffers)
    limits = data.ArrayLayout(link_sequence_bits(spec), buffers)
    return wiring.Signature({"limit": Out(limits), "synced": Out(buffers)})


def grant_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of the neighbour's grants.

    Members
    -------
    valid, circuit, limit : Out(1), Out(circuit), Out(link_sequence_bits(spec))
        High for a cycle when the neighbour reports a limit, with its buffer.
    """
    circuit, limit = spec.protocol.fields["circuit"], link_sequence_bits(spec)
    return wiring.Signature({"valid": Out(1), "circuit": Out(circuit), "limit": Out(limit)})


def credit_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of credits that a ``Deframer`` passes to the opposite ``Sender``.

    Members
    -------
    grant : Out(grant_signature(spec))
        Credits granted by the neighbour.
    here : Out(limit_signature(spec))
        Credit limits to report to the neighbour.
    """
    members = {"grant": Out(grant_signature(spec)), "here": Out(limit_signature(spec))}
    return wiring.Signature(members)
