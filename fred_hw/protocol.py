"""Specification of a link: packets, phases, windows, buffers, header and CRC."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    WithJsonSchema,
    model_serializer,
)

from .files import AUTO, AutoOrInt, FileModel, int_range, refused
from .virtual_channels import DEFAULT_CLASSES, MOST_CLASSES, VirtualChannels

__all__ = [
    "ADDRESSES",
    "CONTROL",
    "CRC_BITS",
    "CRC_POLYNOMIAL",
    "CRC_REFLECTED",
    "FULL_GENERATIONS",
    "FULL_GENERATION_BITS",
    "GENERATIONS",
    "GENERATION_BITS",
    "HANDSHAKE_FIELDS",
    "HEADER_BITS",
    "HEADER_FIELDS",
    "KINDS",
    "PASSES",
    "PROTOCOL_VERSION",
    "SHARED_SIZES",
    "Kind",
    "ProtocolSpec",
    "Routes",
    "absent_fields",
]

HEADER_BITS = 64
"""Bits of a flit header: 8 bytes, two more than published (FRED, arXiv 2406.19580), for fabric-wide
addresses, a version, and one layout for all links (docs/decisions/0112)."""

CRC_BITS, CRC_POLYNOMIAL = 32, 0x1EDC6F41
"""CRC-32C of a flit (Castagnoli, Braeuer and Herrmann, IEEE Transactions on Communications 41,
1993), low bit first, all ones before and inverted after.

Up to 5,243 bits of data its Hamming distance is 6 (Koopman, "32-bit cyclic redundancy codes for
internet applications", DSN 2002): the largest flit, 64 + 4,096 bits, shows every error of up to
five bits and every burst of up to 32, and misses others once in 2^32. (CRC-32 of Ethernet has a
distance of 4 at this length.)
"""

CRC_REFLECTED = int(f"{CRC_POLYNOMIAL:0{CRC_BITS}b}"[::-1], 2)
"""The polynomial in bit-reversed form, for words whose low bit goes first."""

PASSES = 3
"""Packets of less urgent virtual channels that a unicast source, in a switch or a router, may send
ahead of a blocked packet."""

GENERATION_BITS = 3
"""Bits of a phase's generation in packets and entries, which distinguishes them from older ones."""

GENERATIONS = 1 << GENERATION_BITS
"""Number of generations in packets and entries; they wrap around."""

FULL_GENERATION_BITS = 16
"""Bits of a phase's generation in software and in endpoint descriptors, which never wraps.

Packets and entries carry its lowest ``GENERATION_BITS``.
"""

FULL_GENERATIONS = 1 << FULL_GENERATION_BITS
"""Number of writes of a phase until all endpoints of the fabric must forget it."""


class Kind(IntEnum):
    """Kind of a flit; see docs/reference/protocol.md."""

    DATA = 0
    ACK = 1
    NACK = 2
    CREDIT = 3
    SYNC = 4
    ASK = 5
    HANDSHAKE = 6


class Place(NamedTuple):
    """Position of a field in the header."""

    low: int
    bits: int


HEADER_FIELDS = {
    "version": Place(0, 2),
    "kind": Place(2, 3),
    "circuit": Place(5, 4),
    "unicast": Place(9, 1),
    "phase": Place(10, 6),
    "generation": Place(17, GENERATION_BITS),
    "destination": Place(10, 7),
    "source": Place(17, 7),
    "sequence": Place(24, 8),
    "index": Place(32, 4),
    "last": Place(36, 4),
    "link_sequence": Place(40, 9),
    "credit_circuit": Place(49, 4),
    "credit_limit": Place(53, 9),
    "alternate": Place(62, 1),
    "session_id": Place(10, 8),
    "peer_session_id": Place(18, 8),
    "peer_known": Place(26, 1),
    "up": Place(27, 1),
    "digest": Place(28, 20),
}
"""Header fields, the same on all links: see docs/reference/protocol.md. A unicast has
``destination`` and ``source`` in place of ``phase`` and ``generation``; a handshake message
has its own fields except for ``version``, ``kind``, ``circuit`` and credits."""

CONTROL = (1 << HEADER_FIELDS["circuit"].bits) - 1
"""Number in place of a buffer's, of control flits, and of credits for none."""

HANDSHAKE_FIELDS = ("session_id", "peer_session_id", "peer_known", "up", "digest")
"""Fields that only a handshake message has."""


class Routes(Protocol):
    """Knowledge of endpoints about a mesh whose sources choose routes; see ``MeshShape``."""

    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def shape_name(self) -> str: ...
    def choice(self, spec: Any) -> Any:
        """Return the ``RouteChoice`` unit for endpoints of these sizes."""

    def model_dump(self) -> dict[str, Any]: ...


_OF_PHASES, _OF_UNICASTS = ("phase", "generation"), ("destination", "source")
_OF_OTHERS = ("unicast", "sequence", "index", "last", "link_sequence", "alternate")


def absent_fields(kind: int, unicast: int) -> tuple[str, ...]:
    """Return the fields that a flit lacks, whose bits other fields use."""
    if kind == Kind.HANDSHAKE:
        return (*_OF_PHASES, *_OF_UNICASTS, *_OF_OTHERS)
    return (*(_OF_PHASES if unicast else _OF_UNICASTS), *HANDSHAKE_FIELDS)


PROTOCOL_VERSION = 3
"""Version of the link protocol, modulo 4, in each flit; both ends must have the same."""

SHARED_SIZES = ("packet_flits", "window_packets", "buffer_packets")
"""Fields of ``ProtocolSpec`` that both ends of a link must share: ``SwitchSpec.digest``."""

ADDRESSES = 1 << HEADER_FIELDS["destination"].bits
"""Number of unicast addresses in a fabric."""

_MOST_PHASES = 1 << HEADER_FIELDS["phase"].bits
_MOST_PACKET_FLITS = 1 << HEADER_FIELDS["index"].bits
# Numbers must distinguish as many packets before the expected one as after it.
_MOST_WINDOW = 1 << HEADER_FIELDS["sequence"].bits - 2
_WINDOWS = [1 << bits for bits in range(1, _MOST_WINDOW.bit_length())]


# Link sequence numbers must distinguish a buffer of flits from as many before them.
_MOST_BUFFER_FLITS = (1 << HEADER_FIELDS["link_sequence"].bits - 1) - 1

_LEAST_AUTO = 16
"""Least value of ``ack_interval: auto``, which keeps 21 ports at full rate with default sizes."""

_ACK_CYCLES, _ANSWER_CYCLES = 6, 2
"""Cycles of the acknowledger for an ack of one port, and for its reply when all have arrived."""

_THROUGH_CYCLES = 25
"""Latency of a flit through the 12-port switch of the wafer [cycles]."""

KINDS = tuple(kind.name.lower() for kind in Kind)
"""Names of the kinds, indexed by number."""


def _flight(given: dict[str, int]) -> int:
    """Return the number of largest packets per round trip, rounded up."""
    return -(-given["round_trip_cycles"] // given["packet_flits"])


def _interval(given: dict[str, int]) -> int:
    """Return the packets per ack; for unknown ports, that of a small switch."""
    return _LEAST_AUTO if given["ack_interval"] == AUTO else given["ack_interval"]


def _served_cycles(ports: int) -> int:
    """Return the cycles to serve acks of all ports and inform their sources."""
    return ports * _ACK_CYCLES + _ANSWER_CYCLES


def _covers_round_trip(value: int, info: ValidationInfo) -> int:
    """Fail if sequence numbers cannot cover a buffer, or a full-rate sender would fill it."""
    given = info.data
    if "packet_flits" in given and value * given["packet_flits"] > _MOST_BUFFER_FLITS:
        size = given["packet_flits"]
        most = _MOST_BUFFER_FLITS // size
        raise refused(
            f"must be {most} or less in packets of packet_flits, which are {size}, not {value}"
        )
    if {"packet_flits", "round_trip_cycles"} <= given.keys():
        needed = max(2, _flight(given))
        if value < needed:
            trip = f"round_trip_cycles, which are {given['round_trip_cycles']}"
            raise refused(f"must be {needed} or more to cover {trip}, not {value}")
    return value


def _covers_acks(value: int, info: ValidationInfo) -> int:
    """Fail if a window is used up before an ack can arrive, or is not a power of two."""
    given = info.data
    sizes = {"packet_flits", "round_trip_cycles", "ack_interval"}
    if sizes <= given.keys():
        # An ack is sent when the interval is full; packet and ack cross two links each.
        interval = _interval(given)
        needed = interval + 2 * _flight(given) + 1
        if value < needed:
            raise refused(
                f"must be {needed} or more to send on until the ack of {interval}, not {value}"
            )
    if value & (value - 1):
        raise refused(f"must be a power of two such as {1 << value.bit_length()}, not {value}")
    return value


class ProtocolSpec(FileModel, validate_default=True):
    """Link layer of a switch's ports; frozen and hashable.

    Parameters
    ----------
    phases : int
        Phases that the switch has configurations for, 1 to 64. Unicast traffic needs none.
    urgency_classes : int
        Urgency classes of data, 1 to 4: MP, PP and DP as published, then bulk transfers. Both ends
        of a link must have the same number of classes, or the link stays down.
    packet_flits : int
        Flits in the largest packet, 1 to 16: 8 flits of 512 B are the published 4 KB.
    round_trip_cycles : int
        Time from a flit that leaves to the return of its credit [cycles], 1 to 255: 2 x 20 ns at a
        flit per cycle of 512 B and 600 GB/s are 47.
    buffer_packets : int
        Largest packets for which each virtual channel of an input port has buffer space, 2 to 64,
        and 255 flits at most. The published 24 KB are 6 packets of 4 KB, the bandwidth times the
        round trip. Full rate takes 9, because a packet starts only when there is space for all of
        it, and credits take some cycles in the ports too (docs/explanation/switch.md).
    ack_interval : int
        Packets per ack, 1 to 64. "auto" stands for 16. In a switch of more ports than can be
        acknowledged so often, it stands for the smallest interval with the highest rate
        (docs/reference/switch.md). The specification of a switch, a mesh or a wafer then holds this
        number.
    window_packets : int
        Unacknowledged packets that a source may have, a power of two, 2 to 64.
    timeout_cycles : int
        Time without progress after which a source retransmits, and a sender requests missing
        credits [cycles], 16 to 65535.
    nack_timeout_cycles : int
        Time without a data flit of a flow after which a destination may request packets again
        [cycles], 1 to 65535. After a quarter of it without a data flit of any flow, a destination
        acknowledges the packets that it has.
    packet_timeout_cycles : int
        Time after which a packet whose flits stop arriving is ended, and interval between two nacks
        to a source [cycles], 4 to 65535.
    head_of_line_timeout_cycles : int
        Time after which a packet at the head of its queue is dropped, to be sent again, if other
        ports of its flow have no packet [cycles], 256 to 16777215: 1048575 are 0.9 ms.

    Raises
    ------
    pydantic.ValidationError
        A key is unknown or a value is out of range; the buffer is shorter than the round trip, or
        the window than the wait for an ack: names the number that would do.
    """

    old_names: ClassVar[Mapping[str, str]] = {
        "idle_cycles": "nack_timeout_cycles",
        "patience_cycles": "packet_timeout_cycles",
        "stuck_cycles": "head_of_line_timeout_cycles",
    }

    phases: Annotated[int, int_range(1, _MOST_PHASES)] = 16
    urgency_classes: Annotated[int, int_range(1, MOST_CLASSES)] = DEFAULT_CLASSES
    packet_flits: Annotated[int, int_range(1, _MOST_PACKET_FLITS)] = 8
    round_trip_cycles: Annotated[int, int_range(1, _MOST_BUFFER_FLITS)] = 47
    buffer_packets: Annotated[int, int_range(2, 64), AfterValidator(_covers_round_trip)] = 9
    ack_interval: Annotated[int, AutoOrInt(1, 64)] = Field(default=AUTO)
    window_packets: Annotated[
        int,
        int_range(2, _MOST_WINDOW),
        AfterValidator(_covers_acks),
        WithJsonSchema({"type": "integer", "enum": _WINDOWS}),
    ] = 64
    timeout_cycles: Annotated[int, int_range(16, 65535)] = 1024
    nack_timeout_cycles: Annotated[int, int_range(1, 65535)] = 64
    packet_timeout_cycles: Annotated[int, int_range(4, 65535)] = 128
    head_of_line_timeout_cycles: Annotated[int, int_range(256, (1 << 24) - 1)] = (1 << 20) - 1

    @model_serializer(mode="wrap")
    def _without_default_classes(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit the default number of urgency classes, so that existing records stay equal."""
        said = handler(self)
        if self.urgency_classes == DEFAULT_CLASSES:
            said.pop("urgency_classes", None)
        return said

    @property
    def buffer_flits(self) -> int:
        """Buffer size of each virtual channel of an input port [flits]."""
        return self.packet_flits * self.buffer_packets

    @property
    def replay_needed(self) -> int:
        """Packets that a source must keep for full rate: an ack interval, and two round trips.

        An ack comes when its interval is full; packet and ack cross two links each, and one packet
        may have begun. Switches are counted as instantaneous; ``replay_for`` takes a whole route.
        """
        return _interval(dict(self)) + 2 * _flight(dict(self)) + 1

    def replay_for(self, cycles: int) -> int:
        """Return the packets that a source must keep for full rate, given an ack's round trip.

        These are the packets of an ack interval, those that leave meanwhile, and one that has
        started.

        Parameters
        ----------
        cycles : int
            Cycles from the departure of a packet to its ack, including the flight of both; 0 or
            more.
        """
        return _interval(dict(self)) - (-cycles // self.packet_flits) + 1

    def for_ports(self, ports: int) -> "ProtocolSpec":
        """Return the specification with ``ack_interval`` as a number.

        Parameters
        ----------
        ports : int
            Ports of the largest switch that acknowledges; 0 in a mesh, whose routers do not.
        """
        if self.ack_interval != AUTO:
            return self
        busy = -(-_served_cycles(ports) // self.packet_flits)
        window = self.window_packets - 2 * _flight(dict(self)) - 1
        most = max(_LEAST_AUTO, min(busy, window))
        # The first of several best values.
        best = max(range(_LEAST_AUTO, most + 1), key=lambda each: self.acked_rate(ports, each))
        return self.model_copy(update={"ack_interval": best})

    def acked_rate(self, ports: int, interval: int) -> float:
        """Return the approximate flits per port and cycle of an all-reduce over all ports.

        It is limited by the acknowledger, which serves the acks of all ports in each interval, and
        by the window: packet ``n + window_packets`` waits for the ack of packet ``n``, and as many
        acks are in flight as whole intervals fit into the window.

        Parameters
        ----------
        ports : int
            Ports.
        interval : int
            Packets per ack.
        """
        served, size, window = _served_cycles(ports), self.packet_flits, self.window_packets
        answer = served + 2 * self.round_trip_cycles + _THROUGH_CYCLES + size
        under_way = window // interval
        rest = (under_way + 1) * interval - window - 1
        slowest = max(interval * size, served, (answer + rest * size) / under_way)
        return interval * size / slowest

    @property
    def quiet_cycles(self) -> int:
        """Cycles without data flits after which a destination sends an ack."""
        return max(1, self.nack_timeout_cycles // 4)

    @property
    def ack_cycles(self) -> int:
        """Longest wait of a packet for its ack [cycles]; a source retransmits after twice that."""
        return self.timeout_cycles // 2

    @property
    def online(self) -> int:
        """The phase number of unicasts (the paper's default index); they are routed online."""
        return self.phases

    @property
    def routes(self) -> Routes | None:
        """The mesh that endpoints must know if sources choose routes; else None."""
        return None

    @property
    def channels(self) -> VirtualChannels:
        """The virtual channels of data."""
        return VirtualChannels(self.urgency_classes)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the buffers of an input, one for each virtual channel.

        A flit's ``circuit`` is the number of its buffer, or ``CONTROL``.
        """
        return self.channels.buffers

    @property
    def circuits(self) -> dict[str, int]:
        """Each value of a header's ``circuit`` by its name: buffers, then ``control``."""
        return {name: number for number, name in enumerate(self.buffers)} | {"control": CONTROL}

    @property
    def fields(self) -> dict[str, int]:
        """Width of each header field as stored in hardware.

        ``phase`` is one of the phases, ``online`` for a unicast, or behind it for all that are
        none. ``circuit`` is the number of a buffer.
        """
        bits = {name: place.bits for name, place in HEADER_FIELDS.items()}
        stored = {"phase": (self.phases + 1).bit_length(), "circuit": self.channels.buffer_bits}
        return bits | stored

    @property
    def suffix(self) -> str:
        """Part of a generated name for these sizes, without defaults."""
        letters = {
            "phases": "f",
            "urgency_classes": "u",
            "packet_flits": "k",
            "round_trip_cycles": "r",
            "buffer_packets": "b",
            "ack_interval": "a",
            "window_packets": "w",
            "timeout_cycles": "t",
            "nack_timeout_cycles": "i",
            "packet_timeout_cycles": "p",
            "head_of_line_timeout_cycles": "s",
        }
        default = ProtocolSpec().for_ports(0)
        parts = ["link"]
        parts += [
            f"{letter}{getattr(self, name)}"
            for name, letter in letters.items()
            if getattr(self, name) not in (getattr(default, name), AUTO)
        ]
        return "_".join(parts)
