"""An NPU's end of a link in Python: docs/protocol.md cycle by cycle."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from fred_hw.protocol import (
    CONTROL,
    CRC_BITS,
    CRC_REFLECTED,
    DATA_CIRCUITS,
    HEADER_BITS,
    KINDS,
    Kind,
)
from fred_hw.spec import SwitchSpec

__all__ = ["Endpoint", "Flit", "FlitCodec", "crc32c"]

DATA, ACK, NACK, CREDIT, SYNC, ASK = Kind

Flow = tuple[int, int]
"""Phase, and the other end at the default index, else 0."""


@cache
def _table() -> tuple[int, ...]:
    """Return the CRC's remainder of each byte, low bit first."""
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
    """Make flits of fields, and fields of flits.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    """

    def __init__(self, spec: SwitchSpec) -> None:
        self._bits = spec.protocol.fields(spec.ports)
        self._bytes = spec.data_width // 8

    def crc(self, header: int, data: int) -> int:
        """Return the CRC of a flit."""
        content = header.to_bytes(HEADER_BITS // 8, "little") + data.to_bytes(self._bytes, "little")
        return crc32c(content)

    def pack(self, data: int = 0, **fields: int) -> Flit:
        """Return a flit; fields that are not given are 0, ``credit_circuit`` is none."""
        fields = {"credit_circuit": CONTROL, **fields}
        unknown = fields.keys() - self._bits.keys()
        if unknown:
            raise ValueError(f"fields must be of {', '.join(self._bits)}, not {sorted(unknown)}")
        header = offset = 0
        for name, bits in self._bits.items():
            header |= (fields.get(name, 0) & ((1 << bits) - 1)) << offset
            offset += bits
        last = fields.get("kind", DATA) != DATA or fields.get("index", 0) == fields.get("last", 0)
        return Flit(header, data, self.crc(header, data), last)

    def unpack(self, flit: Flit) -> dict[str, int]:
        """Return the fields of a flit."""
        fields, header = {}, flit.header
        for name, bits in self._bits.items():
            fields[name] = header & ((1 << bits) - 1)
            header >>= bits
        return fields

    def is_good(self, flit: Flit) -> bool:
        """Return whether the CRC is right."""
        return flit.crc == self.crc(flit.header, flit.data)


@dataclass
class _Sending:
    """Packets of a flow that this end sends; those before ``base`` are acknowledged."""

    packets: list[tuple[int, ...]] = field(default_factory=list)
    base: int = 0
    next: int = 0
    begun: int = 0
    since: int = 0


@dataclass
class _Receiving:
    """Packets of a flow that have come, and the one that is coming in."""

    packets: list[tuple[int, ...]] = field(default_factory=list)
    partial: list[int] = field(default_factory=list)
    told: int = 0
    last_data: int = 0
    refused: int | None = None


@dataclass
class _Circuit:
    """Bursts to send, and credits in both directions."""

    limit: int
    bursts: deque[tuple[Flow, int]] = field(default_factory=deque)
    ticket: int = 0
    since: int = 0
    expected: int = 0
    kept: int = 0
    open: bool = False
    tell: bool = False


class Endpoint:
    """Send and receive packets at one port of a switch with the link layer.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.
    keeps_room : bool
        Whether packets that have come keep their room until :meth:`free`.

    Attributes
    ----------
    received : dict
        By flow, the packets that have come, in order, each once.
    counts : dict
        Flits sent, by kind; ``resent`` packets, ``timeouts``, and flits ``refused`` for their CRC.
    """

    def __init__(self, spec: SwitchSpec, *, keeps_room: bool = False) -> None:
        self.spec, self.keeps_room = spec, keeps_room
        self.codec = FlitCodec(spec)
        bits = spec.protocol.fields(spec.ports)
        self._sequences, self._tickets = 1 << bits["sequence"], 1 << bits["ticket"]
        room = spec.protocol.buffer_packets
        self._circuits = [_Circuit(room) for _ in DATA_CIRCUITS]
        self._sending: dict[Flow, _Sending] = {}
        self._receiving: dict[Flow, _Receiving] = {}
        self._control: deque[tuple[int, Flow]] = deque()
        self._out: deque[tuple[dict[str, int], int]] = deque()  # rest of the packet that goes out
        self._cycle = 0
        self.counts = dict.fromkeys((*KINDS, "resent", "timeouts", "refused"), 0)

    @property
    def received(self) -> dict[Flow, list[tuple[int, ...]]]:
        return {flow: one.packets for flow, one in self._receiving.items()}

    @property
    def done(self) -> bool:
        """Whether all packets are acknowledged."""
        return not any(circuit.bursts for circuit in self._circuits)

    def send(
        self, phase: int, circuit: int, packets: Sequence[Sequence[int]], peer: int = 0
    ) -> None:
        """Add packets of a flow, behind all others of the circuit.

        Parameters
        ----------
        phase, circuit : int
            Phase, and the data circuit that it is on.
        packets : sequence of sequences of int
            Flits.
        peer : int
            Destination at the default index.
        """
        flow = self._sending.setdefault((phase, peer), _Sending())
        flow.packets += [tuple(packet) for packet in packets]
        self._circuits[circuit].bursts.append(((phase, peer), len(flow.packets)))

    def forget(self, phase: int) -> None:
        """Start the numbers of a phase at 0, as when the switch is given it anew."""
        for flows in (self._sending, self._receiving):
            for flow in [flow for flow in flows if flow[0] == phase]:
                del flows[flow]

    def free(self) -> None:
        """Give up the room of packets that have come whole."""
        for circuit in self._circuits:
            circuit.tell |= circuit.kept != int(circuit.open)
            circuit.kept = int(circuit.open)

    def step(self, received: Flit | None, may_send: bool = True) -> Flit | None:
        """Let a cycle pass: take the flit that comes, if any, and return the one that goes."""
        self._cycle += 1
        if received is not None:
            if self.codec.is_good(received):
                self._receive(self.codec.unpack(received), received.data)
            else:
                self.counts["refused"] += 1
        self._watch_time()
        return self._next() if may_send else None

    def _receive(self, fields: dict[str, int], data: int) -> None:
        online = fields["phase"] == self.spec.protocol.online
        flow = fields["phase"], fields["peer"] if online else 0
        if fields["credit_circuit"] != CONTROL:
            circuit = self._circuits[fields["credit_circuit"]]
            if circuit.limit != fields["credit_limit"]:
                circuit.since = self._cycle
            circuit.limit = fields["credit_limit"]
        kind = fields["kind"]
        if kind == DATA:
            ahead = (fields["ticket"] - self._circuits[fields["circuit"]].expected) % self._tickets
            if fields["index"] == 0 and ahead > self.spec.protocol.buffer_packets:
                return  # it has come twice
            self._take_room(fields)
            self._receive_data(self._receiving.setdefault(flow, _Receiving()), flow, fields, data)
        elif kind in (ACK, NACK) and flow in self._sending:
            self._receive_answer(self._sending[flow], kind, fields["sequence"])
        elif kind == SYNC:
            circuit = self._circuits[fields["circuit"]]
            circuit.kept -= int(circuit.open)
            circuit.open, circuit.tell = False, True
            circuit.expected = fields["ticket"]
        elif kind == ASK:
            state = self._receiving.setdefault(flow, _Receiving())
            self._say(ACK, flow)
            if self._is_idle(state):
                self._say(NACK, flow)

    def _take_room(self, fields: dict[str, int]) -> None:
        circuit = self._circuits[fields["circuit"]]
        before = self._limit(circuit)
        if (fields["ticket"] + 1 - circuit.expected) % self._tickets:
            circuit.kept += int(not circuit.open)  # one that was cut short gives way
            circuit.open = True
            circuit.expected = (fields["ticket"] + 1) % self._tickets
        if fields["index"] == fields["last"] and circuit.open:
            circuit.open = False
            circuit.kept -= int(not self.keeps_room)
        circuit.tell |= self._limit(circuit) != before

    def _limit(self, circuit: _Circuit) -> int:
        room = self.spec.protocol.buffer_packets - circuit.kept
        return (circuit.expected + room) % self._tickets

    def _receive_data(
        self, state: _Receiving, flow: Flow, fields: dict[str, int], data: int
    ) -> None:
        protocol, index = self.spec.protocol, fields["index"]
        state.last_data = self._cycle
        expected = len(state.packets)
        ahead = (fields["sequence"] - expected) % self._sequences
        behind = -ahead % self._sequences
        if ahead == 0 and index in (0, len(state.partial)):
            state.partial[index:] = [data]
            state.refused = None
            if index == fields["last"]:
                state.packets.append(tuple(state.partial))
                state.partial = []
                if len(state.packets) - state.told >= protocol.ack_interval:
                    self._say(ACK, flow)
        elif index > len(state.partial) if ahead == 0 else behind > protocol.window_packets:
            due = state.refused is None or self._cycle - state.refused >= protocol.patience_cycles
            if due:
                state.refused = self._cycle
                self._say(NACK, flow)

    def _receive_answer(self, state: _Sending, kind: int, sequence: int) -> None:
        ahead = (sequence - state.base) % self._sequences
        if ahead > state.begun - state.base:
            return
        if kind == NACK:
            state.next = state.base + ahead
        elif ahead:
            state.base += ahead
            state.next = max(state.next, state.base)
            state.since = self._cycle

    def _say(self, kind: int, flow: Flow) -> None:
        if (kind, flow) not in self._control:
            self._control.append((kind, flow))

    def _watch_time(self) -> None:
        protocol = self.spec.protocol
        for number, circuit in enumerate(self._circuits):
            while (
                circuit.bursts and self._sending[circuit.bursts[0][0]].base >= circuit.bursts[0][1]
            ):
                circuit.bursts.popleft()
            if circuit.bursts:
                flow = self._sending[circuit.bursts[0][0]]
                if flow.base == flow.begun:
                    flow.since = self._cycle
                if self._cycle - flow.since >= protocol.timeout_cycles:
                    flow.next, flow.since = flow.base, self._cycle
                    self.counts["timeouts"] += 1
            sends = bool(self._out) and self._out[0][0]["circuit"] == number
            if (circuit.limit - circuit.ticket) % self._tickets == protocol.buffer_packets or sends:
                circuit.since = self._cycle
            elif self._cycle - circuit.since >= protocol.timeout_cycles and not self._able(circuit):
                circuit.since = self._cycle
                self._control.appendleft((SYNC, (number, 0)))
        for flow, state in self._receiving.items():
            if self._is_idle(state) and state.told != len(state.packets):
                self._say(ACK, flow)

    def _is_idle(self, state: _Receiving) -> bool:
        return self._cycle - state.last_data >= self.spec.protocol.idle_cycles

    def _able(self, circuit: _Circuit) -> bool:
        """Return whether a packet of the circuit's burst may go."""
        if not circuit.bursts:
            return False
        flow, end = circuit.bursts[0]
        state = self._sending[flow]
        room = (circuit.limit - circuit.ticket) % self._tickets
        return 1 <= room <= self.spec.protocol.buffer_packets and state.next < min(
            end, state.base + self.spec.protocol.window_packets
        )

    def _next(self) -> Flit | None:
        data = 0
        if self._control:
            fields = self._answer(*self._control.popleft())
        else:
            if not self._out:
                self._begin()
            if self._out:
                fields, data = self._out.popleft()
            elif any(circuit.tell for circuit in self._circuits):
                fields = {"kind": CREDIT, "circuit": CONTROL}
            else:
                return None
        for number, circuit in enumerate(self._circuits):
            if circuit.tell:
                circuit.tell = False
                fields |= {"credit_circuit": number, "credit_limit": self._limit(circuit)}
                break
        self.counts[KINDS[fields["kind"]]] += 1
        return self.codec.pack(data, **fields)

    def _answer(self, kind: int, flow: Flow) -> dict[str, int]:
        if kind == SYNC:
            number = flow[0]
            return {"kind": SYNC, "circuit": number, "ticket": self._circuits[number].ticket}
        state = self._receiving[flow]
        expected = len(state.packets)
        if kind == ACK:
            state.told = expected
        names = ("kind", "circuit", "phase", "peer", "sequence")
        return dict(zip(names, (kind, CONTROL, *flow, expected % self._sequences), strict=True))

    def _begin(self) -> None:
        """Begin a packet of the most urgent circuit that may send."""
        for number, circuit in enumerate(self._circuits):
            if not self._able(circuit):
                continue
            (phase, peer), _ = circuit.bursts[0]
            state = self._sending[phase, peer]
            packet = state.packets[state.next]
            fields = {
                "kind": DATA,
                "circuit": number,
                "phase": phase,
                "peer": peer,
                "sequence": state.next % self._sequences,
                "last": len(packet) - 1,
                "ticket": circuit.ticket,
            }
            self._out += [({**fields, "index": k}, flit) for k, flit in enumerate(packet)]
            circuit.ticket = (circuit.ticket + 1) % self._tickets
            self.counts["resent"] += int(state.next < state.begun)
            state.next += 1
            state.begun = max(state.begun, state.next)
            return
