"""Port to the NPU's memory."""

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from fred_hw.member import Bundle, member
from fred_hw.spec import SwitchSpec

from .work import word_bits

__all__ = ["READ_PORTS", "MemoryPort", "write_layout"]

READ_PORTS = ("", "operand_")
"""Prefixes of the first and the optional second memory read port."""


class MemoryPort(Bundle):
    """Port to memory, as seen by the engine; a word is a flit."""

    read: stream.Interface = member(Out, lambda spec: stream.Signature(word_bits(spec)))
    """Addresses of words to read, in flits."""
    data: stream.Interface = member(In, lambda spec: stream.Signature(spec.data_width))
    """The words, in the order of ``read``."""
    write: stream.Interface = member(Out, lambda spec: stream.Signature(write_layout(spec)))
    """Words to write; one that was taken is written before any that is taken later, and any read
    behind it."""
    operand_read: stream.Interface = member(
        Out,
        lambda spec: stream.Signature(word_bits(spec)),
        when=lambda spec: spec.endpoint.read_ports == 2,
    )
    """If ``endpoint.read_ports`` is 2: addresses of words that are added to flits that come, in
    their own order."""
    operand_data: stream.Interface = member(
        In,
        lambda spec: stream.Signature(spec.data_width),
        when=lambda spec: spec.endpoint.read_ports == 2,
    )
    """If ``endpoint.read_ports`` is 2: those words, in the order of ``operand_read``."""


def write_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a write: address in flits, and the flit."""
    return data.StructLayout({"address": word_bits(spec), "data": spec.data_width})
