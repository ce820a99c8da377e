"""Header of a flit, and the flit as it crosses a link."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from fred_hw.protocol import HEADER_BITS
from fred_hw.spec import SwitchSpec

from .flit import CRC

__all__ = ["flit_link_signature", "header_layout"]


def header_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the header of a flit as bits; see ``ProtocolSpec.fields`` and docs/protocol.md."""
    fields = spec.protocol.fields(spec.ports)
    return data.StructLayout({**fields, "zero": HEADER_BITS - sum(fields.values())})


def flit_link_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of one direction of a link, as its sender sees it.

    Members
    -------
    valid : Out(1)
        High for one cycle per flit; nothing can hold a flit back.
    header : Out(48)
        See ``header_layout``.
    data : Out(data_width)
        Payload; 0 in control flits.
    crc : Out(32)
        Of header, then payload.
    """
    return wiring.Signature(
        {
            "valid": Out(1),
            "header": Out(header_layout(spec)),
            "data": Out(spec.data_width),
            "crc": Out(CRC.crc_width),
        }
    )
