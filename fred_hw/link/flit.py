"""The flit on a link: header, payload, CRC."""

from amaranth.hdl import Signal
from amaranth.lib import data, wiring
from amaranth.lib.crc import Algorithm
from amaranth.lib.crc.catalog import CRC32_ISCSI
from amaranth.lib.wiring import Out

from .spec import HEADER_BITS, LinkSpec

__all__ = ["CRC", "LinkFlit", "header_layout", "link_signature"]

CRC: Algorithm = CRC32_ISCSI
"""CRC-32C, polynomial 0x1EDC6F41 (Castagnoli, Braeuer and Herrmann, IEEE Transactions on
Communications 41, 1993).

Up to 5,243 bits of data its Hamming distance is 6 (Koopman, "32-bit cyclic redundancy codes for
internet applications", DSN 2002): the largest flit, 48 + 4,096 bits, shows every error of up to
five bits and every burst of up to 32, and misses others once in 2^32. (CRC-32 of Ethernet has a
distance of 4 at this length.)
"""


class LinkFlit(wiring.PureInterface):
    """A flit on a link; nothing can hold it back, so there is no ready wire."""

    valid: Signal
    header: data.View
    data: Signal
    crc: Signal


def header_layout(spec: LinkSpec) -> data.StructLayout:
    """Return the header of a flit as bits; see ``LinkSpec.fields``."""
    used = sum(spec.fields.values())
    return data.StructLayout({**spec.fields, "zero": HEADER_BITS - used})


def link_signature(spec: LinkSpec) -> wiring.Signature:
    """Return the signature of a link, as its sender sees it.

    Members
    -------
    valid : Out(1)
        High for one cycle per flit.
    header : Out(48)
        See ``LinkSpec.fields``.
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
