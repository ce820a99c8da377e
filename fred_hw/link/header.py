"""Header of a flit."""

from amaranth.lib import data

from fred_hw.protocol import HEADER_BITS
from fred_hw.spec import SwitchSpec

__all__ = ["header_layout"]


def header_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the header of a flit as bits; see ``ProtocolSpec.fields`` and docs/protocol.md."""
    fields = spec.protocol.fields(spec.ports)
    return data.StructLayout({**fields, "zero": HEADER_BITS - sum(fields.values())})
