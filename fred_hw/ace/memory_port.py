"""Port to the NPU's memory."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec

from .work import word_bits

__all__ = ["READ_PORTS", "MemoryPort", "memory_signature", "write_layout"]

READ_PORTS = ("", "operand_")
"""Prefixes of the first and the optional second memory read port."""


class MemoryPort(wiring.PureInterface):
    """Read requests, read data and writes; optionally the same for operand reads."""

    read: stream.Interface
    data: stream.Interface
    operand_read: stream.Interface
    operand_data: stream.Interface
    write: stream.Interface


def write_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a write: address in flits, and the flit."""
    return data.StructLayout({"address": word_bits(spec), "data": spec.data_width})


def memory_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of the memory port, as seen by the engine; a word is a flit.

    Members
    -------
    read : Out(stream.Signature(word_bits(spec)))
        Addresses of words to read, in flits.
    data : In(stream.Signature(data_width))
        The words, in the order of ``read``.
    operand_read : Out(stream.Signature(word_bits(spec)))
        If ``endpoint.read_ports`` is 2: addresses of words that are added to flits that come, in
        their own order.
    operand_data : In(stream.Signature(data_width))
        If ``endpoint.read_ports`` is 2: those words, in the order of ``operand_read``.
    write : Out(stream.Signature(write_layout(spec)))
        Words to write; one that was taken is written before any that is taken later, and any read
        behind it.
    """
    members = {
        "read": Out(stream.Signature(word_bits(spec))),
        "data": In(stream.Signature(spec.data_width)),
        "write": Out(stream.Signature(write_layout(spec))),
    }
    if spec.endpoint.read_ports == 2:
        members["operand_read"] = Out(stream.Signature(word_bits(spec)))
        members["operand_data"] = In(stream.Signature(spec.data_width))
    return wiring.Signature(members)
