"""Reference endpoint for Python benches: docs/reference/protocol.md, cycle by cycle."""

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fred_hw.protocol import (
    CONTROL,
    CRC_BITS,
    CRC_REFLECTED,
    HEADER_BITS,
    HEADER_FIELDS,
    KINDS,
    PROTOCOL_VERSION,
    Kind,
    absent_fields,
)
from fred_hw.spec import SwitchSpec
from testbench.sim.compiler import shared_library

from .protocol_header import FIELDS, SIZES, protocol_header, protocol_sizes

__all__ = ["Endpoint", "Flit", "FlitCodec", "crc32c", "endpoint_library", "fitting"]

DATA, SYNC, ASK = Kind.DATA, Kind.SYNC, Kind.ASK

_SOURCES = ("endpoint.cpp", "endpoint.hpp", "flows.hpp")

FlowKey = tuple[int, int]
"""Phase, and the peer's address for unicasts, else 0."""


@cache
def _table() -> tuple[int, ...]:
    """Return the CRC remainder of each byte value, low bit first."""
    remainders = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (CRC_REFLECTED if byte & 1 else 0)
        remainders.append(byte)
    return tuple(remainders)


def crc32c(content: bytes) -> int:
    """Return the CRC-32C of bytes."""
    ones = (1 << CRC_BITS) - 1
    table, state = _table(), ones
    for byte in content:
        state = state >> 8 ^ table[(state ^ byte) & 0xFF]
    return state ^ ones


@dataclass(frozen=True)
class Flit:
    """A flit as it crosses a link.

    Parameters
    ----------
    header, data, crc : int
        Its parts.
    last : bool
        ``tlast`` of AXI4-Stream.
    """

    header: int
    data: int
    crc: int
    last: bool = True

    @property
    def user(self) -> int:
        """``tuser`` of AXI4-Stream."""
        return self.header | self.crc << HEADER_BITS


class FlitCodec:
    """Conversion of fields to flits and back.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    """

    def __init__(self, spec: SwitchSpec) -> None:
        self._spec, self._bytes = spec, spec.data_width // 8

    def crc(self, header: int, data: int) -> int:
        """Return the computed CRC of a flit."""
        content = header.to_bytes(HEADER_BITS // 8, "little") + data.to_bytes(self._bytes, "little")
        return crc32c(content)

    def pack(self, data: int = 0, **fields: int) -> Flit:
        """Return a flit of this version; missing fields are 0, but ``credit_circuit`` is none."""
        fields = {"version": PROTOCOL_VERSION, "credit_circuit": CONTROL, **fields}
        unknown = fields.keys() - HEADER_FIELDS.keys()
        if unknown:
            raise ValueError(f"fields must be of {', '.join(FIELDS)}, not {sorted(unknown)}")
        header = 0
        for name, value in fields.items():
            low, bits = HEADER_FIELDS[name]
            header |= (value & ((1 << bits) - 1)) << low
        carries = fields.get("kind", DATA) == DATA
        last = not carries or fields.get("index", 0) == fields.get("last", 0)
        return Flit(header, data, self.crc(header, data), last)

    def handshake(self, **fields: int) -> Flit:
        """Return the handshake of a compatible endpoint; fields can make it incompatible."""
        return self.pack(kind=Kind.HANDSHAKE, circuit=CONTROL, **fitting(self._spec) | fields)

    def unpack(self, flit: Flit) -> dict[str, int]:
        """Return the fields of a flit; fields that it lacks are 0."""
        fields = {
            name: flit.header >> low & ((1 << bits) - 1)
            for name, (low, bits) in HEADER_FIELDS.items()
        }
        return fields | dict.fromkeys(absent_fields(fields["kind"], fields["unicast"]), 0)

    def is_good(self, flit: Flit) -> bool:
        """Return whether the CRC is valid, and the flit of this version."""
        version = self.unpack(flit)["version"]
        return version == PROTOCOL_VERSION and flit.crc == self.crc(flit.header, flit.data)


def fitting(spec: SwitchSpec) -> dict[str, int]:
    """Return the handshake fields that decide whether the neighbour is compatible."""
    return {"digest": spec.digest}


def _members(names: Sequence[str]) -> list[tuple[str, type]]:
    return [(name, ctypes.c_uint) for name in names]


class _Sizes(ctypes.Structure):
    _fields_ = _members(SIZES)


class _Header(ctypes.Structure):
    _fields_ = _members(FIELDS)


class _Port(ctypes.Structure):
    """State shared by Python and C++, with the members of Port in endpoint.cpp."""

    _fields_ = (
        ("sizes", _Sizes),
        ("sent", ctypes.c_uint64 * len(KINDS)),
        ("resent", ctypes.c_uint64),
        ("timeouts", ctypes.c_uint64),
        ("interval", ctypes.c_uint64),
        ("packet", ctypes.c_uint64),  # number of the outgoing packet
        ("came", _Header),
        ("goes", _Header),
        ("comes", ctypes.c_uint),  # whether ``came`` holds a flit
        ("may_send", ctypes.c_uint),
        ("keeps_space", ctypes.c_uint),
        ("mine", ctypes.c_uint),  # whether the received flit is for this endpoint
        ("taken", ctypes.c_uint),  # whether it is the next flit of its flow
        ("sends", ctypes.c_uint),  # whether ``goes`` holds a flit
        ("address", ctypes.c_uint),
        ("greets", ctypes.c_uint),  # whether it is a handshake, with its session ID
        ("session_id", ctypes.c_uint),
        ("up", ctypes.c_uint),
        ("refused", ctypes.c_uint),  # handshakes of incompatible neighbours
    )


@cache
def endpoint_library(protocol: str) -> ctypes.CDLL:
    """Return the library that holds endpoint state, built unless it is in the cache.

    Parameters
    ----------
    protocol : str
        Text of :func:`protocol_header`.

    Raises
    ------
    SimulatorError
        A compiler is not installed or could not build.
    """
    folder = Path(__file__).parent
    sources = {name: (folder / name).read_text() for name in _SOURCES}
    sources["protocol.hpp"] = protocol
    library = ctypes.CDLL(str(shared_library("endpoint", sources)))
    end, number = ctypes.c_void_p, ctypes.c_uint
    library.endpoint_new.argtypes, library.endpoint_new.restype = [ctypes.POINTER(_Port)], end
    library.endpoint_done.restype = ctypes.c_bool
    lengths = ctypes.POINTER(number)
    library.endpoint_send.argtypes = [end, number, number, number, lengths, number]
    library.endpoint_forget.argtypes = [end, number, number]
    for name in ("delete", "free", "done", "step"):
        getattr(library, f"endpoint_{name}").argtypes = [end]
    return library


class Endpoint:
    """Send and receive packets at one port of a switch.

    If sources choose routes, it uses the other route as often as it may.

    ``endpoint.hpp`` holds the state of the protocol; payload is held here.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    address : int
        Its own address, as destination and source of unicasts.
    session_id : int, optional
        Session ID in its handshakes, which changes with each reset; without it the link counts as
        up.
    keeps_space : bool
        Whether received flits keep their buffer space until :meth:`free`.

    Attributes
    ----------
    received : dict
        Received packets by flow, in order, each once.
    interval : int
        Least number of cycles between two packets of a burst when they are sent first.
    """

    def __init__(
        self,
        spec: SwitchSpec,
        address: int = 0,
        *,
        session_id: int | None = None,
        keeps_space: bool = False,
    ) -> None:
        self.spec, self.keeps_space, self.interval = spec, keeps_space, 0
        self.codec = FlitCodec(spec)
        self.received: dict[FlowKey, list[tuple[int, ...]]] = {}
        self._coming: dict[FlowKey, list[int]] = {}  # flits of incomplete packets
        self._packets: dict[FlowKey, list[tuple[int, ...]]] = {}  # packets to be sent
        self._going: tuple[int, ...] = ()
        self._refused = 0
        self._port = _Port(
            sizes=_Sizes(**protocol_sizes(spec)),
            address=address,
            greets=session_id is not None,
            session_id=session_id or 0,
        )
        self._library = endpoint_library(protocol_header(spec.protocol))
        self._end = self._library.endpoint_new(self._port)
        weakref.finalize(self, self._library.endpoint_delete, self._end)

    @property
    def counts(self) -> dict[str, int]:
        """Flits sent, by kind; ``resent`` packets, ``timeouts``; flits ``refused`` by the CRC."""
        port = self._port
        others = {"resent": port.resent, "timeouts": port.timeouts, "refused": self._refused}
        return {**dict(zip(KINDS, port.sent, strict=True)), **others}

    @property
    def up(self) -> bool:
        """Whether the link is up."""
        return bool(self._port.up)

    @property
    def handshakes_refused(self) -> int:
        """Number of handshakes refused as incompatible."""
        return self._port.refused

    @property
    def done(self) -> bool:
        """Whether all packets are acknowledged."""
        return self._library.endpoint_done(self._end)

    def send(
        self, phase: int, circuit: int, packets: Sequence[Sequence[int]], peer: int = 0
    ) -> None:
        """Queue packets of a flow, after all others of the virtual channel.

        Parameters
        ----------
        phase, circuit : int
            Phase, and its virtual channel.
        packets : sequence of sequences of int
            Flits.
        peer : int
            Address of the destination of a unicast.
        """
        self._packets.setdefault((phase, peer), []).extend(tuple(packet) for packet in packets)
        lengths = (ctypes.c_uint * len(packets))(*(len(packet) for packet in packets))
        self._library.endpoint_send(self._end, phase, peer, circuit, lengths, len(packets))

    def forget(self, phase: int, generation: int = 0) -> None:
        """Restart the packet numbers of a phase at 0, as when the switch gets a new entry.

        From now on its packets of another generation are dropped.
        """
        self._library.endpoint_forget(self._end, phase, generation)
        for flows in (self.received, self._coming, self._packets):
            for flow in [flow for flow in flows if flow[0] == phase]:
                del flows[flow]

    def free(self) -> None:
        """Return the buffer space of all flits received."""
        self._library.endpoint_free(self._end)

    def step(self, received: Flit | None, may_send: bool = True) -> Flit | None:
        """Advance one cycle: receive the incoming flit, if any, and return the outgoing one."""
        port = self._port
        port.may_send, port.keeps_space, port.interval = may_send, self.keeps_space, self.interval
        port.comes = False
        if received is not None:
            self._show(received)
        self._library.endpoint_step(self._end)
        if received is not None and port.comes:
            self._take(port.came, received.data)
        return self._give(port.goes) if port.sends else None

    def _show(self, flit: Flit) -> None:
        """Pass incoming data to the library."""
        if not self.codec.is_good(flit):
            self._refused += 1
            return
        header = _Header(**self.codec.unpack(flit))
        assert header.circuit < CONTROL or header.kind not in (DATA, SYNC), f"{flit} has no circuit"
        self._port.came, self._port.comes = header, True

    def _take(self, header: _Header, data: int) -> None:
        """Store received data."""
        if header.kind not in (DATA, ASK) or not self._port.mine:
            return
        online = self.spec.protocol.online
        flow = (online, header.source) if header.unicast else (header.phase, 0)
        packets = self.received.setdefault(flow, [])
        if not self._port.taken:
            return
        coming = self._coming.setdefault(flow, [])
        coming[header.index :] = [data]
        if header.index == header.last:
            packets.append(tuple(coming))
            coming.clear()

    def _give(self, header: _Header) -> Flit:
        """Return the outgoing flit."""
        fields, data = {name: getattr(header, name) for name in FIELDS}, 0
        if header.kind == DATA:
            if header.index == 0:
                online = self.spec.protocol.online
                flow = (online, header.destination) if header.unicast else (header.phase, 0)
                self._going = self._packets[flow][self._port.packet]
            data = self._going[header.index]
        return self.codec.pack(data, **fields)
