"""Specification of what crosses a link: packets, phases, windows, buffers, header and CRC."""

from enum import IntEnum
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from .files import FileModel, int_range

__all__ = [
    "CIRCUITS",
    "CONTROL",
    "CRC_BITS",
    "CRC_POLYNOMIAL",
    "CRC_REFLECTED",
    "DATA_CIRCUITS",
    "GENERATIONS",
    "GENERATION_BITS",
    "HEADER_BITS",
    "KINDS",
    "Kind",
    "ProtocolSpec",
]

HEADER_BITS = 48
"""Bits of the header of a flit: 6 bytes (FRED, arXiv 2406.19580)."""

CRC_BITS, CRC_POLYNOMIAL = 32, 0x1EDC6F41
"""CRC-32C of a flit (Castagnoli, Braeuer and Herrmann, IEEE Transactions on Communications 41,
1993), low bit first, all ones before and inverted after.

Up to 5,243 bits of data its Hamming distance is 6 (Koopman, "32-bit cyclic redundancy codes for
internet applications", DSN 2002): the largest flit, 48 + 4,096 bits, shows every error of up to
five bits and every burst of up to 32, and misses others once in 2^32. (CRC-32 of Ethernet has a
distance of 4 at this length.)
"""

CRC_REFLECTED = int(f"{CRC_POLYNOMIAL:0{CRC_BITS}b}"[::-1], 2)
"""The polynomial as it divides words whose low bit goes first."""

CIRCUITS = ("mp", "pp", "dp", "control")
"""Virtual circuits, the most urgent data first (FRED, arXiv 2406.19580)."""

DATA_CIRCUITS = CIRCUITS[:3]
CONTROL = CIRCUITS.index("control")


GENERATION_BITS = 3
"""Bits of the generation of a phase's entry, which tells its packets from those of before."""

GENERATIONS = 1 << GENERATION_BITS
"""Generations; the one behind the last is 0 again."""


class Kind(IntEnum):
    """What a flit is; see docs/protocol.md."""

    DATA = 0
    ACK = 1
    NACK = 2
    CREDIT = 3
    SYNC = 4
    ASK = 5


KINDS = tuple(kind.name.lower() for kind in Kind)
"""Names of the kinds, each at its number."""

LARGEST_PORTS = 64


def _bits(values: int) -> int:
    """Return the bits that tell so many values apart, at least 1."""
    return max(1, (values - 1).bit_length())


def _flight(given: dict[str, int]) -> int:
    """Return the largest packets that fit into a round trip, rounded up."""
    return -(-given["round_trip_cycles"] // given["packet_flits"])


def _too_few(needed: int, purpose: str, value: int) -> PydanticCustomError:
    return PydanticCustomError(
        "int_range",
        "must be {needed} or more to {purpose}, not {value}",
        {"needed": needed, "purpose": purpose, "value": value},
    )


def _covers_round_trip(value: int, info: ValidationInfo) -> int:
    """Refuse a buffer that a sender at full rate finds full."""
    given = info.data
    if {"packet_flits", "round_trip_cycles"} <= given.keys():
        needed = max(2, _flight(given))
        if value < needed:
            purpose = f"cover round_trip_cycles, which are {given['round_trip_cycles']}"
            raise _too_few(needed, purpose, value)
    return value


def _covers_acks(value: int, info: ValidationInfo) -> int:
    """Refuse a window that is used up before an ack can come, and one that is no power of two."""
    given = info.data
    sizes = {"packet_flits", "round_trip_cycles", "ack_interval"}
    if sizes <= given.keys():
        # An ack comes when the interval is full; packet and ack cross two links each.
        needed = given["ack_interval"] + 2 * _flight(given) + 1
        if value < needed:
            raise _too_few(needed, f"send on until the ack of {given['ack_interval']}", value)
    if value & (value - 1):
        raise PydanticCustomError(
            "int_range",
            "must be a power of two such as {needed}, not {value}",
            {"needed": 1 << value.bit_length(), "value": value},
        )
    return value


class ProtocolSpec(FileModel, validate_default=True):
    """What a switch does at its ports, beside its interconnect; frozen and hashable.

    Parameters
    ----------
    phases : int
        Phases that the switch has configurations for, 1 to 64; one more index routes online.
    packet_flits : int
        Flits in the largest packet, 1 to 64: 8 flits of 512 B are the published 4 KB.
    round_trip_cycles : int
        From a flit leaving to its credit coming back [cycles], 1 to 512: 2 x 20 ns at a flit
        per cycle of 512 B and 600 GB/s are 47.
    buffer_packets : int
        Largest packets that each data circuit of an input port has room for, 2 to 64. The
        published 24 KB are 6 of 4 KB, which is the bandwidth times the round trip; full rate takes
        9, as a packet starts only when there is room for all of it, and credits take some cycles
        in the ports too (docs/switch.md).
    ack_interval : int
        Packets per ack, 1 to 64.
    window_packets : int
        Packets that a source may have unacknowledged, a power of two, 2 to 128.
    timeout_cycles : int
        Without progress for so long a source retransmits, and missing credits are asked for, 16 to
        65535.
    idle_cycles : int
        Without a data flit for so long a destination acknowledges what it has, 1 to 65535.
    patience_cycles : int
        A packet that stops half-way is given up after so long, and so long passes between two
        nacks to a source, 4 to 65535.
    stuck_cycles : int
        A packet that has been first in its circuit for so long, as other ports of its flow have
        none, is thrown away, to be sent again, 256 to 16777215: 1048575 are 0.9 ms.

    Raises
    ------
    pydantic.ValidationError
        A key is unknown or a value is out of range; the buffer is shorter than the round trip, or
        the window than the wait for an ack: names the number that would do.
    """

    phases: Annotated[int, int_range(1, 64)] = 16
    packet_flits: Annotated[int, int_range(1, 64)] = 8
    round_trip_cycles: Annotated[int, int_range(1, 512)] = 47
    buffer_packets: Annotated[int, int_range(2, 64), AfterValidator(_covers_round_trip)] = 9
    ack_interval: Annotated[int, int_range(1, 64)] = 16
    window_packets: Annotated[int, int_range(2, 128), AfterValidator(_covers_acks)] = 64
    timeout_cycles: Annotated[int, int_range(16, 65535)] = 1024
    idle_cycles: Annotated[int, int_range(1, 65535)] = 64
    patience_cycles: Annotated[int, int_range(4, 65535)] = 128
    stuck_cycles: Annotated[int, int_range(256, (1 << 24) - 1)] = (1 << 20) - 1

    @property
    def buffer_flits(self) -> int:
        """Flits that each data circuit of an input port has room for."""
        return self.packet_flits * self.buffer_packets

    @property
    def online(self) -> int:
        """The default index: its packets are routed online."""
        return self.phases

    def fields(self, ports: int) -> dict[str, int]:
        """Return the bits of each field of the header, the lowest first; the rest is 0.

        ``phase`` tells the phases and the default index apart, ``peer`` the ports, ``index`` and
        ``last`` the flits of a packet. ``sequence`` takes values for a window of packets behind
        the one that is due and one ahead, ``ticket`` for a buffer of packets behind and one ahead,
        so that neither is ever taken for the other.
        """
        return {
            "kind": _bits(len(KINDS)),
            "circuit": _bits(len(CIRCUITS)),
            "phase": _bits(self.phases + 1),
            "peer": _bits(ports),
            "sequence": _bits(2 * self.window_packets + 1),
            "index": _bits(self.packet_flits),
            "last": _bits(self.packet_flits),
            "ticket": _bits(2 * self.buffer_packets + 1),
            "credit_circuit": _bits(len(CIRCUITS)),
            "credit_limit": _bits(2 * self.buffer_packets + 1),
            "generation": GENERATION_BITS,
        }

    @property
    def suffix(self) -> str:
        """Part of a generated name that tells these sizes, defaults left out."""
        letters = {
            "phases": "f",
            "packet_flits": "k",
            "round_trip_cycles": "r",
            "buffer_packets": "b",
            "ack_interval": "a",
            "window_packets": "w",
            "timeout_cycles": "t",
            "idle_cycles": "i",
            "patience_cycles": "p",
            "stuck_cycles": "s",
        }
        default = ProtocolSpec()
        parts = ["link"]
        parts += [
            f"{letter}{getattr(self, name)}"
            for name, letter in letters.items()
            if getattr(self, name) != getattr(default, name)
        ]
        return "_".join(parts)
