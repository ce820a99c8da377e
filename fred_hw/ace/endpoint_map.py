"""Registers of an endpoint."""

from fred_hw.control.common_registers import (
    ADDRESS,
    CYCLES,
    PARTNER,
    REWINDS,
    STROBE,
    cause_registers,
    constant,
    control_register,
    version_register,
    word,
)
from fred_hw.control.registers import WORD_BITS, Field, Register, RegisterMap
from fred_hw.endpoint_spec import MOST_MEMBERS
from fred_hw.per_class import channels_of, per_class
from fred_hw.protocol import ADDRESSES, FULL_GENERATION_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import CLASS_BITS

from .operations import EXCHANGE_REDUCE, OPERATIONS
from .schedule_entry import CYCLE_BITS, DEPENDENCIES, TABLE_STEP_BITS

__all__ = ["CAUSES", "COUNTERS", "FLOW_KINDS", "ID", "VERSION", "causes_of", "endpoint_map"]

ID = int.from_bytes(b"FNPU", "big")

VERSION = (3, 0)
"""Major and minor version of the registers; additions of a minor version are compatible.

2.0 added FORGET, without which a descriptor names no phase in another generation than before.
3.0 has generations of 16 bits, and a descriptor names each flow in which it sends or receives.
"""

CAUSES = {
    "operation": "descriptor of no operation, or for no circuit",
    "alignment": "address or size of a descriptor that is no multiple of a flit",
    "flow": "descriptor with a phase that there is not, or in another generation than before "
    "without FORGET, or that does not name a flow in which it sends or receives",
    "size": "members, rank, state machines, blocks or messages of a descriptor do not fit",
    "full": "descriptor for a circuit whose queue is full",
    "locked": "COMMAND written while a descriptor was prepared, or FORGET of a phase in use",
    "address": ADDRESS,
    "strobe": STROBE,
    "partner": PARTNER,
    "link": "flit of a kind that there is not, too many in a packet, or beyond the credits",
}
"""All errors; the index is the bit in ERROR, so new errors are appended."""

_SCHEDULE_CAUSES = {
    "schedule": "entry of the schedule table whose step is below the step before, that waits for a "
    "dependency bit which no entry before sets, or that has a flow which is no unicast",
}
"""Additional errors of an endpoint with a schedule table."""

COUNTERS = {
    "cycles": CYCLES,
    "memory_reads": "Flits read from memory",
    "memory_writes": "Flits written to memory",
    "read_stalls": "Cycles in which memory did not take a read",
    "write_stalls": "Cycles in which memory did not take a write",
    "flits_sent": "Flits of payload given to the link, each once",
    "flits_received": "Flits of payload taken from the link, each once",
    "flits_reduced": "Flits that were reduced",
    "rewinds": REWINDS,
    "dropped": "Flits from the link that were dropped",
}
"""Performance counters, in the order of the registers."""

_BOTH_PORTS = {
    "memory_reads": "Flits read from memory on both ports",
    "read_stalls": "Cycles in which memory did not take a read, of both ports together",
}
"""Descriptions that differ with two memory read ports."""

FLOW_KINDS = ("phase", "unicast")
"""Kinds of a flow."""

_PEER_BITS = (ADDRESSES - 1).bit_length()


def endpoint_map(spec: SwitchSpec) -> RegisterMap:
    """Return the registers of an endpoint; addresses are the same for all endpoints."""
    registers = (
        *_identity(spec),
        *_state(spec),
        *_errors(spec),
        *_descriptor(spec),
        _forget(spec.protocol.phases),
        *_counters(spec),
        *(_schedule(spec) if spec.endpoint.schedule_entries else ()),
    )
    name = f"endpoint_{spec.suffix(crosses=False)}_{spec.protocol.suffix}_{spec.endpoint.suffix}"
    description = (
        f"Registers of an endpoint with {spec.endpoint.fsms} state machines and "
        f"{spec.endpoint.slots} slots of {spec.endpoint.chunk_flits * spec.data_width // 8} bytes "
        "for each virtual channel of data."
    )
    return RegisterMap(name=name, description=description, registers=registers)


def _identity(spec: SwitchSpec) -> tuple[Register, ...]:
    engine = spec.endpoint
    return (
        Register("ID", 0x00, "FNPU in ASCII", (constant("value", 0, 32, ID, "FNPU"),)),
        version_register(0x04, VERSION),
        Register(
            "SHAPE",
            0x08,
            "Size of the engine",
            (
                constant("fsms", 0, 8, engine.fsms, "State machines of each circuit"),
                constant("slots", 8, 8, engine.slots, "Slots of each circuit"),
                constant("phases", 16, 8, spec.protocol.phases, "Phases"),
                constant("packet_flits", 24, 8, spec.protocol.packet_flits, "Flits in a packet"),
            ),
        ),
        Register(
            "FLIT",
            0x0C,
            "Size of a flit and of a slot",
            (
                constant("data_bytes", 0, 16, spec.data_width // 8, "Bytes of data in a flit"),
                constant("chunk_flits", 16, 16, engine.chunk_flits, "Flits in a slot"),
            ),
        ),
    )


def _circuits(spec: SwitchSpec, access: str, text: str) -> tuple[Field, ...]:
    return tuple(
        Field(name, place, 1, access, text.format(name.upper()))
        for place, name in enumerate(channels_of(spec).names)
    )


def _state(spec: SwitchSpec) -> tuple[Register, ...]:
    bits = per_class(spec)
    return (
        Register(
            "STATUS",
            0x10,
            "What the endpoint does",
            (
                Field("up", 0, 1, "ro", "Whether the link is up"),
                Field("preparing", 1, 1, "ro", "Whether a descriptor is prepared"),
                Field("busy", 4, bits, "ro", "Circuits with a descriptor under way or waiting"),
                Field("idle", 8, bits, "ro", "Circuits on which all that was sent is acknowledged"),
                Field("full", 12, bits, "ro", "Circuits whose queue of descriptors is full"),
            ),
        ),
        control_register(0x14),
        Register(
            "ADDRESS",
            0x18,
            "Address of this end in the fabric; written before anything is sent",
            (Field("value", 0, _PEER_BITS, "rw", "Address"),),
        ),
        Register(
            "CLEAR",
            0x1C,
            "Start the numbers of flows that are set at 0; only of circuits that are not busy",
            (
                Field("send", 0, bits, "pulse", "Virtual channels whose sent flow restarts"),
                Field("receive", 4, bits, "pulse", "Virtual channels whose received flow restarts"),
            ),
        ),
    )


def causes_of(spec: SwitchSpec) -> dict[str, str]:
    """Return all errors of an endpoint."""
    return CAUSES | (_SCHEDULE_CAUSES if spec.endpoint.schedule_entries else {})


def _errors(spec: SwitchSpec) -> tuple[Register, ...]:
    return (
        *cause_registers(0x20, causes_of(spec)),
        Register(
            "DONE",
            0x28,
            "Circuits that have ended a descriptor since their bits were cleared",
            _circuits(spec, "w1c", "Whether a descriptor of {} has ended"),
        ),
        Register(
            "DONE_ENABLE",
            0x2C,
            "Bits of DONE that raise the interrupt",
            _circuits(spec, "rw", "Whether DONE of {} raises the interrupt"),
        ),
        word(
            "COMPLETED",
            0x30,
            "ro",
            "Descriptors that each circuit has ended, modulo 2^32",
            per_class(spec),
        ),
    )


def _flow(name: str, address: int, text: str) -> Register:
    fields = (
        Field("number", 0, 7, "rw", "Phase, or address of the other end"),
        Field("kind", 8, 1, "rw", "What it is", names=FLOW_KINDS),
        Field("keep", 9, 1, "rw", "Whether the flow stays as it is, and the rest does not matter"),
        Field("generation", 12, FULL_GENERATION_BITS, "rw", "Generation of the phase, else 0"),
    )
    return Register(name, address, text, fields)


def _descriptor(spec: SwitchSpec) -> tuple[Register, ...]:
    operations, names, more = OPERATIONS, channels_of(spec).names, ()
    if spec.endpoint.schedule_entries:
        operations = (*OPERATIONS, EXCHANGE_REDUCE)
        what = "Whether the descriptor becomes an entry of the schedule table"
        more = (Field("entry", 16, 1, "pulse", what),)
    return (
        word("SOURCE", 0x40, "rw", "Address of the buffer to send or reduce, low word first", 2),
        word("DESTINATION", 0x48, "rw", "Address of the buffer of results, low word first", 2),
        word("BYTES", 0x50, "rw", "Bytes to send; of a ring those of the whole buffer"),
        word("RECEIVE_BYTES", 0x54, "rw", "Bytes to receive in an exchange"),
        word("BLOCK_BYTES", 0x58, "rw", "Bytes of a ring member's block"),
        word("MESSAGE_BYTES", 0x5C, "rw", "Bytes of a ring's messages"),
        Register(
            "RING",
            0x60,
            "The ring; all its members have the same number of members and state machines",
            (
                Field("members", 0, 8, "rw", f"Members, 2 to {MOST_MEMBERS}"),
                Field("rank", 8, 8, "rw", "Place of this one in it, from 0 on"),
                Field("fsms", 16, 8, "rw", "State machines to use, 1 or more"),
            ),
        ),
        _flow("SEND_FLOW", 0x64, "Flow of what is sent"),
        _flow("RECEIVE_FLOW", 0x68, "Flow of what is received"),
        Register(
            "COMMAND",
            0x6C,
            "Queue the descriptor that the registers before this one hold",
            (
                Field("operation", 0, 3, "pulse", "What to do", names=operations),
                Field("circuit", 8, CLASS_BITS, "pulse", "Circuit that does it", names=names),
                *more,
            ),
            lockable=True,
        ),
    )


def _forget(phases: int) -> Register:
    return Register(
        "FORGET",
        0x70,
        "Phases that are written anew: their numbers start at 0, and descriptors may name them in "
        "another generation. A bit for each phase, that of phase 0 the lowest of the first word",
        (Field("value", 0, WORD_BITS, "pulse", "Bits of phases"),),
        count=-(-phases // WORD_BITS),
        total_bits=phases,
    )


def _counters(spec: SwitchSpec) -> tuple[Register, ...]:
    texts = COUNTERS | (_BOTH_PORTS if spec.endpoint.read_ports == 2 else {})
    return tuple(
        word(name.upper(), 0x80 + 4 * place, "ro", f"{text}, modulo 2^32")
        for place, (name, text) in enumerate(texts.items())
    )


def _schedule(spec: SwitchSpec) -> tuple[Register, ...]:
    tree, waits = "Tree of the data that are {}", "Dependency bits of it that must be set before"
    bits = spec.endpoint.schedule_entries.bit_length()
    return (
        Register(
            "ENTRY_STEP",
            0xC0,
            "Step in which an entry of the schedule table is issued, or later; not below the step "
            "of the entry before",
            (Field("value", 0, TABLE_STEP_BITS, "rw", "Step, from 0 on"),),
        ),
        Register(
            "ENTRY_DEPENDENCIES",
            0xC4,
            "What an entry waits for: each tree has a dependency bit for its parent, the lowest, "
            "and for four children",
            (
                Field("send_tree", 0, 6, "rw", tree.format("sent")),
                Field("send_waits", 6, DEPENDENCIES, "rw", waits),
                Field("receive_tree", 16, 6, "rw", tree.format("received")),
                Field("receive_waits", 22, DEPENDENCIES, "rw", waits),
                Field("receive_sets", 27, DEPENDENCIES, "rw", "Bits of it that its end sets"),
            ),
        ),
        Register(
            "STEP_CYCLES",
            0xC8,
            "Estimated time of a step in cycles, which each step takes at least; constant while "
            "the schedule runs",
            (Field("value", 0, CYCLE_BITS, "rw", "Cycles"),),
        ),
        Register(
            "SCHEDULE",
            0xCC,
            "Control of the schedule table; refused while the schedule runs or a descriptor is "
            "prepared",
            (
                Field("start", 0, 1, "pulse", "Run the schedule from its first entry on"),
                Field("clear", 1, 1, "pulse", "Forget all entries"),
            ),
            lockable=True,
        ),
        Register(
            "SCHEDULE_STATUS",
            0xD0,
            "What the schedule table does",
            (
                Field("running", 0, 1, "ro", "Whether the schedule runs"),
                Field("step", 4, TABLE_STEP_BITS, "ro", "The current step"),
                Field("entries", 16, bits, "ro", "Entries that the table has"),
            ),
        ),
    )
