"""Broken parts of the switch core and its ports."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal

from fred_hw.protocol import KINDS
from fred_hw.switch.acknowledger import Acknowledger
from fred_hw.switch.entry_check import EntryCheck
from fred_hw.switch.ports.circuit_queue import CircuitQueue
from fred_hw.switch.ports.input_port import InputPort
from fred_hw.switch.ports.occupancy import Occupancy
from fred_hw.switch.ports.output_port import OutputPort
from fred_hw.switch.scheduler import Scheduler
from fred_hw.switch.switch import Switch

from .fault import broken

__all__ = [
    "always_space",
    "any_entry",
    "any_generation",
    "any_number",
    "cleared_under_a_packet",
    "eager_ack",
    "first_again",
    "flit_early",
    "never_empty",
    "never_preempts",
    "never_stomps",
    "never_stops",
    "no_answer",
    "offer_changes",
    "waits_for_ever",
]


_TIMEOUT = 16  # cycles; longer than a largest packet takes


@broken(Scheduler, {"switch": "urgent_packet_overtakes_at_every_flit_position"})
def never_preempts(m: Module, sound: Any, ports: Any) -> None:
    """A phase is never preempted, however urgent another one is."""
    # Every packet seems to continue, until none is left.
    m.d.comb += [ports.service.leaving.eq(0), sound.service.runs.eq(1)]


@broken(Scheduler, {"switch": "phases_of_a_circuit_are_served_round_robin"})
def first_again(m: Module, sound: Any, ports: Any) -> None:
    """Other phases are served only when phase 0 has been idle for some time."""
    heads = [
        waits & (phase == 0)
        for port in ports.ports
        for waits, phase in zip(port.waiting, port.phases, strict=True)
    ]
    since = Signal(range(_TIMEOUT + 1))
    with m.If(Cat(heads).any()):
        m.d.sync += since.eq(_TIMEOUT)
    with m.Elif(since != 0):
        m.d.sync += since.eq(since - 1)
    for mine, theirs in zip(sound.ports, ports.ports, strict=True):
        m.d.comb += [
            receives.eq(waits & ((since == 0) | (phase == 0)))
            for receives, waits, phase in zip(
                mine.waiting, theirs.waiting, theirs.phases, strict=True
            )
        ]


@broken(Scheduler, {"switch": "phase_that_is_served_goes_by_its_new_entry"})
def never_stops(m: Module, sound: Any, ports: Any) -> None:
    """An entry changes while its phase is served, which continues with the old entry."""
    m.d.comb += [sound.halt.asked.eq(0), ports.halt.stands.eq(1)]


@broken(Scheduler, {"switch": "any_register_may_be_written_at_any_time"})
def cleared_under_a_packet(m: Module, sound: Any, ports: Any) -> None:
    """Packets of a phase about to change appear to have ended, and another phase is loaded."""
    service = sound.service
    with m.If(ports.halt.asked):
        m.d.comb += [service.runs.eq(0), service.under.eq(0)]
        m.d.comb += [service.stands.eq(1), service.rests.eq(1)]


@broken(InputPort, {"switch": "flows_and_phases_run_at_once/stall=0.6"})
def flit_early(m: Module, sound: Any, ports: Any) -> None:
    """An input port signals a flit before it has arrived."""
    m.d.comb += ports.head.valid.eq(0b111)


@broken(OutputPort, {"switch": "receiver_that_grants_nothing_holds_up_only_its_flows"})
def always_space(m: Module, sound: Any, ports: Any) -> None:
    """An output port reports buffer space that does not exist."""
    m.d.comb += ports.injection.space.eq(-1)


@broken(
    OutputPort,
    {"switch": "broken_packet_is_stomped_and_retransmitted", "loaded fabric": "want"},
)
def never_stomps(m: Module, sound: Any, ports: Any) -> None:
    """Broken packets end with a valid CRC."""
    m.d.comb += [sound.injection.bad.eq(0), sound.i.valid.eq(1)]


@broken(EntryCheck, {"switch": "entry_that_joins_two_flows_is_refused"})
def any_entry(m: Module, sound: Any, ports: Any) -> None:
    """Every entry is accepted into the configuration memory."""
    m.d.comb += ports.right.eq(1)


@broken(CircuitQueue, {"loaded switch": "want", "loaded fabric": "want"})
def any_number(m: Module, sound: Any, ports: Any) -> None:
    """A packet with any number is accepted as the expected one."""
    m.d.comb += sound.due.eq(sound.descriptor.sequence)


@broken(CircuitQueue, {"switch": "duplicates_are_not_added_to_later_packets"})
def any_generation(m: Module, sound: Any, ports: Any) -> None:
    """A packet of any generation is accepted as belonging to its phase."""
    m.d.comb += sound.generation.eq(sound.descriptor.generation)


@broken(CircuitQueue, {"switch": "source_that_stops_inside_a_packet_holds_up_nobody_else"})
def waits_for_ever(m: Module, sound: Any, ports: Any) -> None:
    """The rest of a packet that has stopped still appears to be arriving."""
    m.d.comb += sound.incoming.eq(1)


@broken(Occupancy, {"switch": "packets_in_queues_are_reported_by_phase"})
def never_empty(m: Module, sound: Any, ports: Any) -> None:
    """Packets that have left a queue still appear to be queued."""
    m.d.comb += sound.leaves.eq(0)


@broken(Acknowledger, {"loaded switch": "but a destination waits for", "loaded fabric": ""})
def eager_ack(m: Module, sound: Any, ports: Any) -> None:
    """An ack of a phase is forwarded as soon as one output has sent it."""
    online = sound.spec.protocol.online
    for said in ports.message:
        message = said.payload
        with m.If(said.valid & (message.kind == KINDS.index("ack")) & (message.phase != online)):
            for input_ in sound.message:
                m.d.comb += [input_.valid.eq(1), input_.payload.eq(message)]


@broken(Acknowledger, {"loaded switch": "", "loaded fabric": ""})
def no_answer(m: Module, sound: Any, ports: Any) -> None:
    """Duplicate packets are not acknowledged."""
    for input_, event in zip(sound.event, ports.event, strict=True):
        m.d.comb += [input_.late.eq(0), event.taken.eq(input_.taken | event.late)]


@broken(Switch, {"switch": "flows_and_phases_run_at_once/stall=0.3"})
def offer_changes(m: Module, sound: Any, ports: Any) -> None:
    """The payload of an offered flit changes before it is accepted."""
    waits = Signal()
    m.d.sync += waits.eq(sound.m0_axis_tvalid & ~ports.m0_axis_tready)
    m.d.comb += ports.m0_axis_tdata.eq(sound.m0_axis_tdata ^ waits)
