"""Addresses of the NPUs around a switch."""

from fred_hw.protocol import ADDRESSES

__all__ = ["address_of"]


def address_of(port: int) -> int:
    """Return the address of the NPU at a port, which never equals a port number."""
    return ADDRESSES - 1 - port
