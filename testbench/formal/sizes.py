"""Sizes of the smallest links, with which proofs of the link layer end."""

from collections.abc import Mapping
from typing import Any

from fred_hw.protocol import ProtocolSpec

__all__ = ["SMALLEST_LINK", "narrow_link"]

SMALLEST_LINK: dict[str, int] = {
    "phases": 1,
    "packet_flits": 2,
    "buffer_packets": 2,
    "round_trip_cycles": 1,
    "ack_interval": 1,
    "window_packets": 4,
    "timeout_cycles": 16,
    "nack_timeout_cycles": 4,
    "packet_timeout_cycles": 4,
    "head_of_line_timeout_cycles": 256,
}
"""Fields of a ``ProtocolSpec``: the least values with packets of two flits, and the shortest nack
timeout whose quarter is a cycle."""


def narrow_link(widths: Mapping[str, int], **changes: int) -> Any:
    """Return a smallest link whose packet numbers wrap within a bounded proof.

    The window has two packets. It is a quarter of the range of packet numbers of 3 bits, as the
    longest window is of those of 8 bits.

    Parameters
    ----------
    widths : mapping
        Bits of header fields, in place of those of all links.
    **changes : int
        Fields of ``ProtocolSpec``, in place of those of ``SMALLEST_LINK``.
    """

    class _Narrow(ProtocolSpec):
        @property
        def fields(self) -> dict[str, int]:
            return {**super().fields, **widths}

    return _Narrow.model_validate(SMALLEST_LINK | changes).model_copy(update={"window_packets": 2})
