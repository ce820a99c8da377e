"""Ports of memories, with names of their own."""

from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.utils import ceil_log2

__all__ = ["read_port", "write_port"]


def read_port(memory: Memory, name: str, *, domain: str = "sync") -> ReadPort:
    """Return a new read port whose signals begin with ``name``.

    Ports that ``Memory.read_port`` returns are named after the variable. Two memories of a module
    then often have ports of one name.
    """
    signature = ReadPort.Signature(addr_width=ceil_log2(memory.depth), shape=memory.shape)
    return ReadPort(signature, memory=memory, domain=domain, path=(name,))


def write_port(memory: Memory, name: str) -> WritePort:
    """Return a new write port whose signals begin with ``name``, like :func:`read_port`."""
    signature = WritePort.Signature(addr_width=ceil_log2(memory.depth), shape=memory.shape)
    return WritePort(signature, memory=memory, domain="sync", path=(name,))
