"""The port to the memory of the NPU."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec

from .work import word_bits

__all__ = ["MemoryPort", "memory_signature", "write_layout"]


class MemoryPort(wiring.PureInterface):
    """Reads, what was read, and writes."""

    read: stream.Interface
    data: stream.Interface
    write: stream.Interface


def write_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return a write: address in flits, and a flit."""
    return data.StructLayout({"address": word_bits(spec), "data": spec.data_width})


def memory_signature(spec: SwitchSpec) -> wiring.Signature:
    """Return the signature of the port to memory, as the engine sees it; a word is a flit.

    Members
    -------
    read : Out(stream.Signature(word_bits(spec)))
        Addresses of words to read, in flits.
    data : In(stream.Signature(data_width))
        The words, in the order of ``read``.
    write : Out(stream.Signature(write_layout(spec)))
        Words to write; one that was taken is written before any that is taken later, and any read
        behind it.
    """
    members = {
        "read": Out(stream.Signature(word_bits(spec))),
        "data": In(stream.Signature(spec.data_width)),
        "write": Out(stream.Signature(write_layout(spec))),
    }
    return wiring.Signature(members)
