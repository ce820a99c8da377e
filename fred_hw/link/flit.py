"""Flits as they cross a link."""

from amaranth.hdl import Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import Out

from fred_hw.protocol import CRC_BITS
from fred_hw.spec import SwitchSpec

from .header import header_layout

__all__ = ["LinkFlit", "framed_layout", "framed_signature", "link_flit_signature"]


class LinkFlit(wiring.PureInterface):
    """A flit received from a link."""

    valid: Signal
    header: data.View
    data: Signal
    crc: Signal


def link_flit_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of one direction of a link, as seen by its sender.

    Members
    -------
    valid : Out(1)
        High for one cycle per flit; nothing can hold a flit back.
    header : Out(header_layout(protocol))
        See ``header_layout``.
    data : Out(data_width)
        Payload; 0 in control flits.
    crc : Out(32)
        CRC of the header followed by the payload.
    """
    return wiring.Signature({"valid": Out(1), **{k: Out(v) for k, v in _parts(spec).items()}})


def framed_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a flit to a link: ``header``, ``data``, ``crc`` and ``last``.

    ``last`` is high at the end of each packet and with each control flit.
    """
    return data.StructLayout({**_parts(spec), "last": 1})


def framed_signature(spec: SwitchSpec) -> stream.Signature:
    """Return the stream of flits to a link; see ``framed_layout``."""
    return stream.Signature(framed_layout(spec))


def _parts(spec: SwitchSpec) -> dict[str, object]:
    return {"header": header_layout(spec.protocol), "data": spec.data_width, "crc": CRC_BITS}
