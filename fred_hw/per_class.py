"""Members with a value for each urgency class or each buffer of a link.

The functions take a unit or a specification, so that :func:`fred_hw.member.member` takes them as
shape or as length of an array.
"""

from collections.abc import Callable
from typing import Any

from amaranth.lib import data

from .virtual_channels import VirtualChannels

__all__ = ["array_per_class", "buffer_number", "channels_of", "per_buffer", "per_class"]


def channels_of(sizes: Any) -> VirtualChannels:
    """Return the virtual channels of a unit, its specification or a protocol."""
    spec = getattr(sizes, "spec", sizes)
    return getattr(spec, "protocol", spec).channels


def per_class(sizes: Any) -> int:
    """Return the shape of a bit for each urgency class, or the length of an array over them."""
    return channels_of(sizes).classes


def per_buffer(sizes: Any) -> int:
    """Return the shape of a bit for each buffer, or the length of an array over them."""
    return len(channels_of(sizes).buffers)


def buffer_number(sizes: Any) -> int:
    """Return the shape of the number of a buffer."""
    return channels_of(sizes).buffer_bits


def array_per_class(shape: Callable[[Any], Any]) -> Callable[[Any], data.ArrayLayout]:
    """Return the layout of a value for each urgency class, given that of one."""

    def layout(sizes: Any) -> data.ArrayLayout:
        return data.ArrayLayout(shape(sizes), per_class(sizes))

    return layout
