"""Credit signals from the receiver to the sender of a link."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from fred_hw.protocol import CONTROL, DATA_COUNT
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
    """Buffer space of the neighbour for a virtual channel."""

    valid: Signal
    circuit: Signal
    limit: Signal


class Limits(wiring.PureInterface):
    """Buffer space of this side."""

    limit: data.View
    synced: Signal


class Credits(wiring.PureInterface):
    """Both."""

    grant: Grant
    here: Limits


def link_sequence_bits(spec: SwitchSpec) -> int:
    """Return the bits of a link sequence number; a limit is the first flit without space."""
    return spec.protocol.fields["link_sequence"]


def limit_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of the limits to tell the neighbour.

    Members
    -------
    limit : Out(ArrayLayout(link_sequence_bits(spec), 3))
        That of each data circuit.
    synced : Out(3)
        High for a cycle when the neighbour wants to know that of a circuit, changed or not.
    """
    limits = data.ArrayLayout(link_sequence_bits(spec), DATA_COUNT)
    return wiring.Signature({"limit": Out(limits), "synced": Out(DATA_COUNT)})


def grant_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of what the neighbour grants.

    Members
    -------
    valid, circuit, limit : Out(1), Out(2), Out(link_sequence_bits(spec))
        High for a cycle when the neighbour tells its limit of a circuit, and these.
    """
    circuit, limit = CONTROL.bit_length(), link_sequence_bits(spec)
    return wiring.Signature({"valid": Out(1), "circuit": Out(circuit), "limit": Out(limit)})


def credit_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of what a ``Deframer`` tells the ``Sender`` of the other direction.

    Members
    -------
    grant : Out(grant_signature(spec))
        What the neighbour grants.
    here : Out(limit_signature(spec))
        Limits to tell the neighbour.
    """
    members = {"grant": Out(grant_signature(spec)), "here": Out(limit_signature(spec))}
    return wiring.Signature(members)
