"""Specification of a link: flits, packets, windows, buffers, and the header that follows."""

from typing import Annotated

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from fred_hw.files import FileModel, int_range

__all__ = ["CIRCUITS", "HEADER_BITS", "KINDS", "LinkSpec"]

HEADER_BITS = 48
"""Bits of the header of a flit: 6 bytes (FRED, arXiv 2406.19580)."""

CIRCUITS = ("mp", "pp", "dp", "control")
"""Virtual circuits, the most urgent data first (FRED, arXiv 2406.19580)."""

KINDS = ("data", "ack", "nack")
"""What a flit carries: payload, or the number of the packet that is expected next."""


def _bits(values: int) -> int:
    """Return the bits that tell so many values apart, at least 1."""
    return max(1, (values - 1).bit_length())


def _fits(value: int, info: ValidationInfo) -> int:
    """Check a field against those before it."""
    given = info.data
    if not {"packet_flits", "round_trip_cycles", "ack_interval"} <= given.keys():
        return value  # one of those is refused already
    if info.field_name == "buffer_packets":
        needed = -(-given["round_trip_cycles"] // given["packet_flits"])
        if value < needed:
            raise _too_few(needed, f"cover {given['round_trip_cycles']} cycles", value)
    if info.field_name == "window_packets":
        # An ACK comes when the interval is full, half a round trip late, and takes as long back.
        flight = -(-given["round_trip_cycles"] // given["packet_flits"])
        needed = given["ack_interval"] + flight + 1
        if value < needed:
            raise _too_few(needed, f"send on until an ACK of {given['ack_interval']}", value)
        if value & (value - 1):
            raise PydanticCustomError(
                "int_range",
                "must be a power of two such as {needed}, not {value}",
                {"needed": 1 << value.bit_length(), "value": value},
            )
    return value


def _too_few(needed: int, purpose: str, value: int) -> PydanticCustomError:
    return PydanticCustomError(
        "int_range",
        "must be {needed} or more to {purpose}, not {value}",
        {"needed": needed, "purpose": purpose, "value": value},
    )


class LinkSpec(FileModel, validate_default=True):
    """One direction of a link, and the control flits that come back; frozen and hashable.

    Parameters
    ----------
    flit_bytes : int
        Payload of a flit [B], 1 to 512.
    packet_flits : int
        Flits in the largest packet, 1 to 64: 8 flits of 512 B are the published 4 KB.
    phases : int
        Phases that a switch has configurations for, 1 to 255; one more index routes online.
    round_trip_cycles : int
        From a flit leaving to its credit coming back [cycles], 1 to 4096: 2 x 20 ns at a flit
        per cycle of 512 B and 600 GB/s are 47.
    ack_interval : int
        Packets per ACK, 1 to 256.
    window_packets : int
        Packets that may be unacknowledged, a power of two, 2 to 512.
    buffer_packets : int
        Packets that the receiver has room for, 1 to 256. The published 24 KB are 6 of 4 KB, which
        is the bandwidth times the round trip; as a packet starts only when there is room for all
        of it, full rate takes one more.
    timeout_cycles : int
        Without any progress for so long, the sender goes back to the oldest packet, 16 to 65535.
    idle_cycles : int
        Without any flit for so long, the receiver acknowledges what it has, 1 to 65535.

    Raises
    ------
    pydantic.ValidationError
        A key is unknown or a value is out of range, the buffer is shorter than the round trip, or
        the window than the wait for an ACK; names the number that would do.
    """

    flit_bytes: Annotated[int, int_range(1, 512)] = 512
    packet_flits: Annotated[int, int_range(1, 64)] = 8
    phases: Annotated[int, int_range(1, 255)] = 16
    round_trip_cycles: Annotated[int, int_range(1, 4096)] = 47
    ack_interval: Annotated[int, int_range(1, 256)] = 16
    window_packets: Annotated[int, int_range(2, 512), AfterValidator(_fits)] = 32
    buffer_packets: Annotated[int, int_range(1, 256), AfterValidator(_fits)] = 7
    timeout_cycles: Annotated[int, int_range(16, 65535)] = 1024
    idle_cycles: Annotated[int, int_range(1, 65535)] = 64

    @property
    def data_width(self) -> int:
        """Bits of payload in a flit."""
        return 8 * self.flit_bytes

    @property
    def fields(self) -> dict[str, int]:
        """Bits of each field of the header, the lowest first; the rest is 0.

        ``phase`` tells the phases and the index of online routing apart, ``circuit`` the four
        virtual circuits, ``kind`` the kinds. ``sequence`` counts packets and takes at least twice
        the window and the receiver's room, so that old packets are never taken for new ones, nor
        a limit that lies ahead for one behind; ``index`` is the place of a flit in its packet and
        ``last`` that of the packet's last flit.
        """
        return {
            "kind": _bits(len(KINDS)),
            "circuit": _bits(len(CIRCUITS)),
            "phase": _bits(self.phases + 1),
            "sequence": _bits(2 * (self.window_packets + self.buffer_packets)),
            "index": _bits(self.packet_flits),
            "last": _bits(self.packet_flits),
        }

    @property
    def name(self) -> str:
        """Stable short name for generated modules."""
        return (
            f"b{self.flit_bytes}_p{self.packet_flits}_f{self.phases}_w{self.window_packets}"
            f"_r{self.buffer_packets}_a{self.ack_interval}_t{self.timeout_cycles}"
            f"_i{self.idle_cycles}"
        )
