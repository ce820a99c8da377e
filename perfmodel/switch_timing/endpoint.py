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
"""Built-in endpoint records: those of the published wafer."""

SAME_RATE = 0.03
"""Relative difference up to which link and port rates count as equal: headers and CRC are 2.2 % of
a flit."""


class EndpointCycles(FileModel):
    """Co-simulation measurements of an endpoint.

    The latencies of the link and of memory, and the time to load a chunk, are not included.

    Parameters
    ----------
    start_cycles, ring_start_cycles : int
        Time from the software's write of COMMAND to the first flit on the link, for an exchange and
        for a ring of two [cycles].
    command_cycles : int
        Time from a COMMAND of software to that of the next descriptor, a ring, which it writes
        meanwhile [cycles].
    finish_cycles : int
        Time from the last flit on the link until software has read the completion [cycles].
    ack_cycles : int
        Time from the last flit of a flow on the link to its ack, as the next flow is set [cycles].
    answer_cycles : int
        Time from the last flit of a whole interval of packets to its ack [cycles].
    next_cycles : int
        Time from the ack of the last flit to the first of the next descriptor, in another flow
        [cycles].
    received_cycles : int
        The same from the last flit that a descriptor receives, if it ends with a reception
        [cycles].
    step_cycles : int
        Time from the last flit of a message on the link to the first flit that a state machine
        sends next, in a ring [cycles].
    turn_cycles : int
        Time from a message of a ring to the next one on its virtual channel, and from a loaded part
        of a chunk to the next one, however short they are [cycles].
    credit_cycles : int
        Time from a flit to the credit for it between an endpoint and a switch, without links and
        the interconnect [cycles]: a packet starts there when the next receiver has space.
    flits_per_cycle : float
        Rate at which it sends from memory and receives into it, above 0 and at most 1.
    ring_flits_per_cycle : float
        Rate of an all-reduce in a ring with all state machines busy, above 0 and at most 1.
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
        Measurements of the endpoint.
    clock : Clock
        Clock frequency [Hz] and its source.
    """

    endpoint: EndpointCycles
    clock: Clock


class EndpointTiming:
    """Timing of an endpoint in SI units, derived only from its record.

    Parameters
    ----------
    record : EndpointRecord
        Record of the measurements.
    loaded_as : str
        Name under which the record was loaded.
    memory_s : float
        Latency of a memory read [s], 0 or more.
    ports : int
        Ports of an NPU, each with an endpoint that has its share of all data, 1 or more.
    clock : Clock, optional
        Clock, if it differs from that of the record.
    read_ports : int, optional
        Number of memory read ports, 1 or 2, if it differs from that of the record: it does not
        change the cycles of a record, which has one descriptor at a time and rings of two.
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
        """From the start of an exchange until its first data starts loading [s]."""
        self.ring_start_s = measured.ring_start_cycles * cycle_s + memory_s
        """From the start of a ring until its first data starts loading [s]."""
        self.next_s = measured.next_cycles * cycle_s + memory_s
        """From the ack of a descriptor until the next queued one starts loading [s]."""
        self.received_s = measured.received_cycles * cycle_s + memory_s
        """From the last flit that a descriptor receives until the next one starts loading [s]."""
        self.finish_s = measured.finish_cycles * cycle_s
        """From the last flit to completion [s]."""
        self.ack_s = measured.ack_cycles * cycle_s
        """From the last flit to its ack [s]."""
        self.cycle_s = cycle_s
        """Clock period [s]."""
        width = record.spec.data_width
        share = width / (width + HEADER_BITS + CRC_BITS)
        self.efficiency = measured.flits_per_cycle * share
        """Fraction of the link rate available for payload, above 0 and at most 1."""
        self.ring_efficiency = measured.ring_flits_per_cycle * share
        """The same fraction in a ring."""
        engine = record.spec.endpoint
        self.read_ports = read_ports or engine.read_ports
        """Number of memory read ports; the second one reads operands for received data."""
        self.fsms = engine.fsms
        """Number of state machines of a virtual channel."""
        self.chunk_flits = engine.chunk_flits
        """Number of flits of a slot."""
        self.flit_bytes = width / 8 * ports
        """Size of a flit, over all ports [B]."""
        self.chunk_bytes = self.chunk_flits * self.flit_bytes
        """Size of a slot, over all ports [B]."""
        self.load_bytes_per_s = width / 8 * self.clock.hz * ports
        """Load rate from memory, over all ports: one flit per cycle [B/s]."""

    def fills(self, bytes_per_s: float) -> bool:
        """Return whether a link of a rate [B/s] carries a flit of every port in each cycle."""
        return abs(bytes_per_s / self.load_bytes_per_s - 1) <= SAME_RATE

    def link_share(self, link_s: float, interconnect_cycles: int, rate: float = 1.0) -> float:
        """Return the fraction of a link's rate available for payload, above 0 and at most 1.

        A sender can send while the other end has space: one buffer in each round trip of credits,
        whatever the link itself could carry in that time.

        Parameters
        ----------
        link_s : float
            Latency of the link in one direction [s].
        interconnect_cycles : int
            Latency of the interconnect of the switch at one end of the link [cycles].
        rate : float
            Rate of the link, above 0 and at most 1 [flits per cycle].
        """
        record = self.record
        trip = 2 * link_s * self.clock.hz + record.endpoint.credit_cycles + interconnect_cycles
        room = record.spec.protocol.buffer_flits / trip
        return self.efficiency * min(1.0, room / (rate * record.endpoint.flits_per_cycle))

    def with_ports(self, ports: int) -> "EndpointTiming":
        """Return the timing of a number of endpoints working in parallel at an NPU."""
        return EndpointTiming(self.record, self.loaded_as, self.memory_s, ports, self.clock)

    def with_clock(self, clock: Clock) -> "EndpointTiming":
        """Return the timing of an endpoint with the same Verilog at another clock frequency."""
        return EndpointTiming(
            self.record, self.loaded_as, self.memory_s, clock=clock, read_ports=self.read_ports
        )

    def with_read_ports(self, ports: int) -> "EndpointTiming":
        """Return the timing of an endpoint with a given number of memory read ports."""
        return EndpointTiming(
            self.record, self.loaded_as, self.memory_s, clock=self.clock, read_ports=ports
        )

    def acked_s(self, sent_bytes: float) -> float:
        """Return the time from the last flit of a message to its ack [s].

        The record is of fewer packets than ask for an ack at once, so the ack follows after a
        pause of ``quiet_cycles``. Whole intervals of ``ack_interval`` packets have no pause.
        """
        protocol, record = self.record.spec.protocol, self.record.endpoint
        flits = ceil(sent_bytes / self.flit_bytes - ROUNDING)
        if ceil(flits / protocol.packet_flits) % protocol.ack_interval:
            return self.ack_s
        return max(0, record.ack_cycles - protocol.quiet_cycles) * self.cycle_s

    def load_s(self, sent_bytes: float) -> float:
        """Return the load time of the first chunk of a message [s]."""
        return min(sent_bytes, self.chunk_bytes) / self.load_bytes_per_s

    def round_bytes(self, members: int) -> float:
        """Return the block of a ring that fills one largest message per state machine [B]."""
        return max(1, self.chunk_flits // members) * self.fsms * self.flit_bytes

    def ring_load_s(self, members: int, block_bytes: float) -> float:
        """Return the load time of the first message of a ring; others load during the ring [s]."""
        return self._message_bytes(members, block_bytes) / self.load_bytes_per_s

    def ring_step_s(self, members: int, block_bytes: float) -> float:
        """Return the time from a received ring message to the next sent one, at a member [s]."""
        return self.step_s(self._message_bytes(members, block_bytes))

    def step_s(self, message_bytes: float) -> float:
        """Return the time from the last flit of a message to the first flit of the next one [s].

        A packet leaves when all of it has been read: packets shorter than the largest one, which
        the record describes, leave earlier.
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
        """Return the time of a block once around a ring, in one step less than members [s].

        Each state machine handles one chunk, of which it sends one message in each step, and takes
        the next chunk when it is done; their messages share the link.

        Parameters
        ----------
        members : int
            Members of the ring, 2 or more.
        block_bytes : float
            Bytes that a member sends in a step in all messages [B].
        way_s : float
            Mean latency of the head of a message from a member to the next [s].
        payload_bytes_per_s : float
            Payload that the link of an NPU carries for it [B/s].
        late_s : float or None
            Total latency of the last message around the ring [s]; by default that of the mean.
        first : bool
            Whether it is the first pass of a descriptor; a second one has no pause on a busy link.
        lanes : int
            Number of virtual channels that share the link, and memory, at a time.
        loads : int
            Number of blocks loaded meanwhile; with two ports the first one loads one of them.
        reduces : bool
            Whether received data waits for its local operand, which is loaded after a message of
            each state machine, if it has no port of its own.
        """
        message = self._message_bytes(members, block_bytes)
        chunks = ceil(block_bytes / message - ROUNDING)
        rounds = ceil(chunks / self.fsms)
        # If the last round has a single chunk, the round is as short as that chunk.
        alone = chunks == (rounds - 1) * self.fsms + 1
        last = block_bytes - (chunks - 1) * message if alone else message
        bytes_each = (rounds - 1) * message + last
        steps = members - 1
        load_s = lanes * block_bytes / self.load_bytes_per_s
        late_s = steps * way_s if late_s is None else late_s
        # Rounds end at one member after the other, except the last, which ends at its last member.
        ways_s = (rounds - 1) * steps * way_s + late_s
        rounds_s = lanes * steps * bytes_each / self.load_bytes_per_s + ways_s
        link_s = lanes * block_bytes / payload_bytes_per_s
        step_s = self.step_s(message)
        # A message of n flits ends n - 1 cycles after its first flit.
        steps_s = ((rounds - 1) * step_s + self.step_s(last) - rounds * self.cycle_s) * steps
        ahead_s = lanes * self._ahead_s(block_bytes, message) if reduces else 0.0
        behind_s = max(way_s + step_s, ahead_s) if first else 0.0
        return max(rounds_s + steps_s, steps * link_s + behind_s, self._read(loads) * load_s)

    def _read(self, loads: int) -> int:
        """Return how many of the loaded blocks one port reads; with two ports, the second one."""
        return max(1, loads - 1) if self.read_ports == 2 else loads

    def _ahead_s(self, block_bytes: float, message_bytes: float) -> float:
        """Return the load time of one message per state machine, before its operands load [s]."""
        if self.read_ports == 2:
            return 0.0
        return min(block_bytes, self.fsms * message_bytes) / self.load_bytes_per_s

    def _message_bytes(self, members: int, block_bytes: float) -> float:
        """Return the message size that compilers generate, in whole flits [B]."""
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
    """Return the timing of endpoints from a built-in record or a file.

    Parameters
    ----------
    name_or_path : str
        Name of a shipped record, ``endpoint``, or path of a JSON file.
    memory_s : float
        Time from a read of memory to its data [s], 0 or more.
    base, source, field
        As in ``load_record``.

    Raises
    ------
    InputError
        There is no such record, or it is invalid; names the field.
    """
    path = record_path(name_or_path, base, SHIPPED_ENDPOINTS, source, field)
    return EndpointTiming(load_model(EndpointRecord, path), name_or_path, memory_s)
