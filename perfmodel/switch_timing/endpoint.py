"""Timing records of endpoints, measured by co-simulation."""

from math import ceil
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fred_hw.compiler.ring_messages import message_flits
from fred_hw.files import FileModel, load_model
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.spec import SwitchSpec

from .measured_record import Clock, MeasuredRecord
from .provenance import RecordUse
from .record import ROUNDING, record_path
from .whole_switch import Cycles, Share

__all__ = [
    "SAME_RATE",
    "SHIPPED_ENDPOINTS",
    "EndpointCycles",
    "EndpointRecord",
    "EndpointTiming",
    "load_endpoint_record",
]

SHIPPED_ENDPOINTS = ("endpoint",)
"""Records of endpoints that come with the package: those of the published wafer."""

SAME_RATE = 0.03
"""How far the rate of links may be from that of ports: headers and CRC are 2.2 % of a flit."""


class EndpointCycles(FileModel):
    """What co-simulation measured of an endpoint.

    Cycles of the link and of memory, and those in which a chunk is loaded, are not in them.

    Parameters
    ----------
    start_cycles, ring_start_cycles : int
        From software about to write COMMAND to the first flit on the link, of an exchange and of a
        ring of two [cycles].
    command_cycles : int
        From a COMMAND of software to that of the next descriptor, a ring, which it writes meanwhile
        [cycles].
    finish_cycles : int
        From the last flit on the link to software that has read that all is done [cycles].
    ack_cycles : int
        From the last flit of a flow on the link to its ack, as the next flow is set [cycles].
    answer_cycles : int
        From the last flit of a whole interval of packets to its ack [cycles].
    next_cycles : int
        From the ack of the last flit to the first of the next descriptor, in another flow [cycles].
    received_cycles : int
        The same from the last flit that a descriptor receives, if it ends with that [cycles].
    step_cycles : int
        From the last flit of a message on the link to the first of what a state machine sends
        then, in a ring [cycles].
    turn_cycles : int
        From a message of a ring to the next one of its circuit, and from a part of a chunk that is
        loaded to the next one, however short they are [cycles].
    credit_cycles : int
        From a flit to the credit for it between an endpoint and a switch, links and the
        interconnect left out [cycles]: a packet starts there when the next receiver has room.
    flits_per_cycle : float
        Rate at which it sends from memory and receives to it, above 0 and at most 1.
    ring_flits_per_cycle : float
        Rate of an all-reduce as a ring with all state machines at work, above 0 and at most 1.
    """

    start_cycles: Cycles
    ring_start_cycles: Cycles
    command_cycles: Cycles
    finish_cycles: Cycles
    ack_cycles: Cycles
    answer_cycles: Cycles
    next_cycles: Cycles
    received_cycles: Cycles
    step_cycles: Cycles
    turn_cycles: Annotated[int, Field(ge=1, lt=1 << 31)]
    credit_cycles: Annotated[int, Field(ge=1, lt=1 << 31)]
    flits_per_cycle: Share
    ring_flits_per_cycle: Share


class EndpointRecord(MeasuredRecord[Literal["fred-endpoint-timing/1"], SwitchSpec]):
    """Measurements of two endpoints on a link, and on a switch.

    Parameters
    ----------
    endpoint : EndpointCycles
        What was measured.
    clock : Clock
        Clock frequency [Hz] and its source.
    """

    endpoint: EndpointCycles
    clock: Clock


class EndpointTiming:
    """Timing of an endpoint in SI units, derived from its record and from nothing else.

    Parameters
    ----------
    record : EndpointRecord
        What was measured.
    loaded_as : str
        Name that the record was loaded by.
    memory_s : float
        From a read of memory to its data [s], 0 or more.
    ports : int
        Ports of an NPU, each with an endpoint that has its share of all data, 1 or more.
    clock : Clock, optional
        Its clock, where that is another one than the record's.
    read_ports : int, optional
        Its ports to read memory, 1 or 2, where they are others than the record's: they change no
        cycle of a record, which has one descriptor at a time and rings of two.
    """

    def __init__(
        self,
        record: EndpointRecord,
        loaded_as: str,
        memory_s: float = 0.0,
        ports: int = 1,
        clock: Clock | None = None,
        read_ports: int | None = None,
    ) -> None:
        self.record = record
        self.loaded_as = loaded_as
        self.memory_s = memory_s
        self.clock = clock or record.clock
        measured, cycle_s = record.endpoint, 1 / self.clock.hz
        self.start_s = measured.start_cycles * cycle_s + memory_s
        """Of an exchange, until what is sent first is being loaded [s]."""
        self.ring_start_s = measured.ring_start_cycles * cycle_s + memory_s
        """The same of a ring [s]."""
        self.next_s = measured.next_cycles * cycle_s + memory_s
        """The same of what is queued behind something else, from the ack of that on [s]."""
        self.received_s = measured.received_cycles * cycle_s + memory_s
        """The same from the last flit that a descriptor receives, if it ends with that [s]."""
        self.finish_s = measured.finish_cycles * cycle_s
        """From the last flit to the end [s]."""
        self.ack_s = measured.ack_cycles * cycle_s
        """From the last flit to its ack [s]."""
        self.cycle_s = cycle_s
        """Of its clock [s]."""
        width = record.spec.data_width
        share = width / (width + HEADER_BITS + CRC_BITS)
        self.efficiency = measured.flits_per_cycle * share
        """Share of the rate of its link that is left for payload, above 0 and at most 1."""
        self.ring_efficiency = measured.ring_flits_per_cycle * share
        """The same in a ring."""
        engine = record.spec.endpoint
        self.read_ports = read_ports or engine.read_ports
        """Ports to read memory: the second one has what is added to what comes."""
        self.fsms = engine.fsms
        """State machines of a circuit."""
        self.chunk_flits = engine.chunk_flits
        """Flits of a slot."""
        self.flit_bytes = width / 8 * ports
        """A flit in all ports together [B]."""
        self.chunk_bytes = self.chunk_flits * self.flit_bytes
        """Of a slot, in all ports together [B]."""
        self.load_bytes_per_s = width / 8 * self.clock.hz * ports
        """Loaded from memory, in all ports together: a flit per cycle [B/s]."""

    def fills(self, bytes_per_s: float) -> bool:
        """Return whether a link of a rate [B/s] carries a flit of all ports in each cycle."""
        return abs(bytes_per_s / self.load_bytes_per_s - 1) <= SAME_RATE

    def link_share(self, link_s: float, interconnect_cycles: int, rate: float = 1.0) -> float:
        """Return the share of the rate of a link that is left for payload, above 0 and at most 1.

        Who sends does so while the other end has room: a buffer in each round trip of credits,
        whatever the link itself could carry in that.

        Parameters
        ----------
        link_s : float
            Latency of the link in one direction [s].
        interconnect_cycles : int
            Latency of the interconnect of the switch at an end of it [cycles].
        rate : float
            What the link carries in each cycle, above 0 and at most 1 [flits].
        """
        record = self.record
        trip = 2 * link_s * self.clock.hz + record.endpoint.credit_cycles + interconnect_cycles
        room = record.spec.protocol.buffer_flits / trip
        return self.efficiency * min(1.0, room / (rate * record.endpoint.flits_per_cycle))

    def with_ports(self, ports: int) -> "EndpointTiming":
        """Return the timing of so many endpoints at an NPU."""
        return EndpointTiming(self.record, self.loaded_as, self.memory_s, ports, self.clock)

    def with_clock(self, clock: Clock) -> "EndpointTiming":
        """Return the timing of an endpoint of the same Verilog at another clock."""
        return EndpointTiming(
            self.record, self.loaded_as, self.memory_s, clock=clock, read_ports=self.read_ports
        )

    def with_read_ports(self, ports: int) -> "EndpointTiming":
        """Return the timing of an endpoint with so many ports to read memory."""
        return EndpointTiming(
            self.record, self.loaded_as, self.memory_s, clock=self.clock, read_ports=ports
        )

    def acked_s(self, sent_bytes: float) -> float:
        """Return how long after the last flit of what is sent the ack of it comes [s].

        The record is of fewer packets than ask for one at once, which come after a pause of a
        quarter of ``nack_timeout_cycles``; whole intervals of ``ack_interval`` packets wait for
        none.
        """
        protocol, record = self.record.spec.protocol, self.record.endpoint
        flits = ceil(sent_bytes / self.flit_bytes - ROUNDING)
        if ceil(flits / protocol.packet_flits) % protocol.ack_interval:
            return self.ack_s
        return max(0, record.ack_cycles - protocol.nack_timeout_cycles // 4) * self.cycle_s

    def load_s(self, sent_bytes: float) -> float:
        """Return how long the first chunk of what is sent is loaded [s]."""
        return min(sent_bytes, self.chunk_bytes) / self.load_bytes_per_s

    def round_bytes(self, members: int) -> float:
        """Return the block of a ring of which each state machine has a largest message [B]."""
        return max(1, self.chunk_flits // members) * self.fsms * self.flit_bytes

    def ring_load_s(self, members: int, block_bytes: float) -> float:
        """Return how long the first message of a ring is loaded; others come meanwhile [s]."""
        return self._message_bytes(members, block_bytes) / self.load_bytes_per_s

    def ring_step_s(self, members: int, block_bytes: float) -> float:
        """Return how long a member takes from a message of a ring to the next one [s]."""
        return self.step_s(self._message_bytes(members, block_bytes))

    def step_s(self, message_bytes: float) -> float:
        """Return how long after the last flit of a message the first of the next one comes [s].

        A packet leaves when all of it has been read: one that is shorter than the largest, of which
        the record is, does so earlier.
        """
        flits = ceil(message_bytes / self.flit_bytes - ROUNDING)
        less = max(0, self.record.spec.protocol.packet_flits - flits)
        return max(0, self.record.endpoint.step_cycles - less) * self.cycle_s

    def ring_s(
        self,
        members: int,
        block_bytes: float,
        way_s: float,
        payload_bytes_per_s: float,
        *,
        late_s: float | None = None,
        first: bool = True,
        lanes: int = 1,
        loads: int = 0,
        reduces: bool = False,
    ) -> float:
        """Return how long a block goes once around a ring, in steps of one member less [s].

        State machines have a chunk each, of which a message goes on in each step, and take the next
        chunks when they are through; what they send shares the link.

        Parameters
        ----------
        members : int
            Of the ring, 2 or more.
        block_bytes : float
            What a member sends in a step in all messages [B].
        way_s : float
            From a member to the next, of the head of a message, mean of all [s].
        payload_bytes_per_s : float
            Payload that the link of an NPU carries for it [B/s].
        late_s : float or None
            All ways that the message takes which is last [s]; those of the mean by default.
        first : bool
            Whether it is the first turn of a descriptor; a second one has no pause on a busy link.
        lanes : int
            Circuits that share the link, and memory, at a time.
        loads : int
            Blocks that are loaded meanwhile; of two ports the first one has one of them.
        reduces : bool
            Whether what comes first waits for what it is reduced with, which is loaded behind a
            message of each state machine, where that has no port of its own.
        """
        message = self._message_bytes(members, block_bytes)
        chunks = ceil(block_bytes / message - ROUNDING)
        rounds = ceil(chunks / self.fsms)
        # A last round of the last chunk alone is as short as that.
        alone = chunks == (rounds - 1) * self.fsms + 1
        last = block_bytes - (chunks - 1) * message if alone else message
        bytes_each = (rounds - 1) * message + last
        steps = members - 1
        load_s = lanes * block_bytes / self.load_bytes_per_s
        late_s = steps * way_s if late_s is None else late_s
        # All rounds but the last end at one member after the other, that one at the last of them.
        ways_s = (rounds - 1) * steps * way_s + late_s
        rounds_s = lanes * steps * bytes_each / self.load_bytes_per_s + ways_s
        link_s = lanes * block_bytes / payload_bytes_per_s
        step_s = self.step_s(message)
        # From the first flit of a message to its last one is a cycle less than it has flits.
        steps_s = ((rounds - 1) * step_s + self.step_s(last) - rounds * self.cycle_s) * steps
        ahead_s = lanes * self._ahead_s(block_bytes, message) if reduces else 0.0
        behind_s = max(way_s + step_s, ahead_s) if first else 0.0
        return max(rounds_s + steps_s, steps * link_s + behind_s, self._read(loads) * load_s)

    def _read(self, loads: int) -> int:
        """Return how many of the blocks that are loaded one port reads: of two the second one."""
        return max(1, loads - 1) if self.read_ports == 2 else loads

    def _ahead_s(self, block_bytes: float, message_bytes: float) -> float:
        """Return how long a message of each state machine is loaded, before what it meets [s]."""
        if self.read_ports == 2:
            return 0.0
        return min(block_bytes, self.fsms * message_bytes) / self.load_bytes_per_s

    def _message_bytes(self, members: int, block_bytes: float) -> float:
        """Return the size of messages as compilers make them, whole flits [B]."""
        block = max(1, ceil(block_bytes / self.flit_bytes - ROUNDING))
        if members > self.chunk_flits:
            return self.flit_bytes
        return message_flits(block, members, self.record.spec.endpoint) * self.flit_bytes

    def use(self, endpoints: str) -> RecordUse:
        """Return the provenance of the endpoints called ``endpoints``."""
        record = self.record
        return RecordUse(
            switches=endpoints,
            record=self.loaded_as,
            name=record.name,
            measured="endpoint",
            latency_cycles=record.endpoint.start_cycles + record.endpoint.finish_cycles,
            latency_s=(record.endpoint.start_cycles + record.endpoint.finish_cycles)
            / self.clock.hz,
            efficiency=self.efficiency,
            clock=f"{self.clock.hz / 1e9:.6f} GHz, {self.clock.source}",
            measured_by=record.measured_by,
        )


def load_endpoint_record(
    name_or_path: str,
    base: Path | None = None,
    memory_s: float = 0.0,
    *,
    source: str = "timing record",
    field: str = "",
) -> EndpointTiming:
    """Return the timing of endpoints from a shipped record or from a file.

    Parameters
    ----------
    name_or_path : str
        Name of a shipped record, ``endpoint``, or path of a JSON file.
    memory_s : float
        From a read of memory to its data [s], 0 or more.
    base, source, field
        As in ``load_record``.

    Raises
    ------
    InputError
        There is no such record, or it is no valid one; names the field.
    """
    path = record_path(name_or_path, base, SHIPPED_ENDPOINTS, source, field)
    return EndpointTiming(load_model(EndpointRecord, path), name_or_path, memory_s)
