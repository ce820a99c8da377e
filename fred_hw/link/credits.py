"""Credit signals from the receiver to the sender of a link."""

from amaranth.lib import data
from amaranth.lib.wiring import Out

from fred_hw.member import Bundle, member
from fred_hw.spec import SwitchSpec

__all__ = ["Credits", "Grant", "Limits", "link_sequence_bits"]


def link_sequence_bits(spec: SwitchSpec) -> int:
    """Return the bits of a link sequence number; a limit is the first flit without space."""
    return spec.protocol.fields["link_sequence"]


class Grant(Bundle):
    """Buffer space that the neighbour grants to a virtual channel."""

    valid = member(Out, 1)
    """High for a cycle when the neighbour reports a limit."""
    circuit = member(Out, lambda spec: spec.protocol.fields["circuit"])
    """Buffer of the limit."""
    limit = member(Out, link_sequence_bits)
    """The limit."""


class Limits(Bundle):
    """Buffer space of this side, as limits."""

    limit: data.View = member(
        Out, lambda spec: data.ArrayLayout(link_sequence_bits(spec), len(spec.protocol.buffers))
    )
    """Credit limit of each of the B buffers."""
    synced = member(Out, lambda spec: len(spec.protocol.buffers))
    """High for a cycle when the neighbour requests the limit of a buffer, changed or not."""


class Credits(Bundle):
    """Credits of both directions, which a ``Deframer`` passes to the opposite ``Sender``."""

    grant: Grant = member(Out, Grant.signature)
    """Credits granted by the neighbour."""
    here: Limits = member(Out, Limits.signature)
    """Credit limits to report to the neighbour."""
