"""Flits as they cross a link."""

from amaranth.lib import data, stream
from amaranth.lib.wiring import Out

from fred_hw.member import Bundle, member
from fred_hw.protocol import CRC_BITS
from fred_hw.spec import SwitchSpec

from .header import header_layout

__all__ = ["LinkFlit", "framed_layout", "framed_signature"]


class LinkFlit(Bundle):
    """One direction of a link, as seen by its sender."""

    valid = member(Out, 1)
    """High for one cycle per flit; nothing can hold a flit back."""
    header: data.View = member(Out, header_layout())
    """See ``header_layout``."""
    data = member(Out, lambda spec: spec.data_width)
    """Payload; 0 in control flits."""
    crc = member(Out, CRC_BITS)
    """CRC of the header followed by the payload."""


def framed_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a flit to a link: ``header``, ``data``, ``crc`` and ``last``.

    ``last`` is high at the end of each packet and with each control flit.
    """
    fields = {"header": header_layout(), "data": spec.data_width, "crc": CRC_BITS}
    return data.StructLayout({**fields, "last": 1})


def framed_signature(spec: SwitchSpec) -> stream.Signature:
    """Return the stream of flits to a link; see ``framed_layout``."""
    return stream.Signature(framed_layout(spec))
