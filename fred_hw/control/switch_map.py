"""Registers of a switch."""

from fred_hw.networks.network import NETWORKS
from fred_hw.protocol import ADDRESSES
from fred_hw.published import CONFIGURATION_BYTES
from fred_hw.spec import SwitchSpec

from .common_registers import (
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
from .phase_entry import entry_bits, phase_fields, phases_that_fit
from .registers import WORD_BITS, Field, Register, RegisterMap
from .routes import route_bits

__all__ = [
    "CAUSES",
    "COMMANDS",
    "COUNTERS",
    "ID",
    "PORT_CAUSES",
    "PORT_COUNTERS",
    "VERSION",
    "switch_map",
]

ID = int.from_bytes(b"FRED", "big")

VERSION = (3, 1)
"""Major and minor version of the registers; additions of a minor version are compatible.

1.1 added generations and QUEUED. 2.0 has no bit for switches without the link layer, as there are
none any more. 3.0 has routes, without which no unicast goes anywhere. 3.1 added UNICASTS.
"""

CAUSES = {
    "phase": "packet of a phase without a configuration",
    "length": "packet longer than allowed, or of a length that differs between sources of its flow",
    "kind": "header of unknown kind",
    "overflow": "flit without a credit",
    "stuck": "packet dropped after waiting too long at the head of a queue",
    "configuration": "entry refused, phase out of range, or locked register written",
    "address": ADDRESS,
    "strobe": STROBE,
    "route": "unicast, or message about one, to an address without a route",
    "partner": PARTNER,
}
"""All errors; the index is the bit in ERROR and the word of ERROR_COUNT, so new errors are
appended."""

_CONTROL_CAUSES = ("configuration", "address", "strobe")
PORT_CAUSES = tuple(cause for cause in CAUSES if cause not in _CONTROL_CAUSES)
"""Errors reported by ports; the control unit detects the others."""

COMMANDS = ("none", "commit", "load", "erase")
"""Commands by number."""

COUNTERS = {
    "cycles": CYCLES,
    "phase_starts": "Starts of phases",
    "preemptions": "Packets that overtook waiting packets of a less urgent virtual channel",
    "reconfiguration_cycles": "Clock cycles lost to changes of configuration",
}
"""Performance counters of the switch."""

PORT_COUNTERS = {
    "flits_in": "Flits received",
    "flits_out": "Flits sent",
    "dropped": "Flits dropped; a packet of a generation that is not its phase's, or to an "
    "address without a route, counts as one",
    "rewinds": REWINDS,
}
"""Performance counters of each port."""

# Registers of ports begin at fixed addresses with space for the 64 ports of the largest switch. The
# sixth counter and later ones follow the largest ENTRY. docs/how-to/extend/register.md lists the
# free addresses.
_PORT_COUNTERS_AT = (*range(0x100, 0x600, 0x100), *range(0xA000, 0xC000, 0x100))
_ROUTES_AT, _ENTRY_AT = 0x600, 0x800


def switch_map(spec: SwitchSpec) -> RegisterMap:
    """Return the registers of a switch.

    Addresses are the same for all switches; only the lengths of arrays differ.
    """
    registers = [
        *_identity(spec),
        *_state(),
        *_errors(),
        *_configuration(spec),
        *_counters(spec.ports),
        _routes(spec),
        _entry(spec),
    ]
    name = f"{spec.name}_{spec.protocol.suffix}"
    bits = entry_bits(spec)
    description = (
        f"Registers of a switch of {spec.ports} ports, "
        f"{NETWORKS[spec.network].size_text(spec)} and "
        f"{spec.protocol.phases} phases. The entry of a phase in the configuration memory has "
        f"{bits} bits. The published {CONFIGURATION_BYTES / 1024} KB hold "
        f"{phases_that_fit(spec)} of them; {spec.protocol.phases} take "
        f"{-(-spec.protocol.phases * bits // 8)} bytes."
    )
    registers.sort(key=lambda register: register.address)
    return RegisterMap(name=name, description=description, registers=tuple(registers))


def _identity(spec: SwitchSpec) -> tuple[Register, ...]:
    protocol, middle = spec.protocol, NETWORKS[spec.network].middle_switches(spec)
    return (
        Register(
            "ID",
            0x000,
            "FRED in ASCII, F in the highest byte",
            (constant("value", 0, 32, ID, "FRED"),),
        ),
        version_register(0x004, VERSION),
        Register(
            "SHAPE",
            0x008,
            "Size of the switch",
            (
                constant("ports", 0, 8, spec.ports, "Ports"),
                constant("middle_switches", 8, 8, middle, "Middle subswitches; 0 without"),
                constant("phases", 16, 8, protocol.phases, "Phases with a configuration"),
                constant("packet_flits", 24, 8, protocol.packet_flits, "Flits in a packet"),
            ),
        ),
        Register(
            "FLIT",
            0x00C,
            "Size of a flit and of an entry",
            (
                constant("data_bytes", 0, 16, spec.data_width // 8, "Bytes of data in a flit"),
                constant("entry_words", 16, 16, -(-entry_bits(spec) // 32), "Words of ENTRY"),
            ),
        ),
    )


def _state() -> tuple[Register, ...]:
    return (
        Register(
            "STATUS",
            0x010,
            "State of the switch",
            (
                Field("active", 0, 1, "ro", "Whether a phase is active"),
                Field(
                    "phase",
                    8,
                    8,
                    "ro",
                    "The active phase; for unicast traffic the number of phases",
                ),
            ),
        ),
        control_register(
            0x014,
            Field(
                "clear_errors", 2, 1, "pulse", "Clear ERROR, ERROR_FIRST and ERROR_COUNT at once"
            ),
        ),
    )


def _errors() -> tuple[Register, ...]:
    return (
        *cause_registers(0x020, CAUSES),
        Register(
            "ERROR_FIRST",
            0x028,
            "The first error since valid was cleared, 0 if there was none; among errors of one "
            "cycle, that with the lowest cause, then with the lowest port",
            (
                Field("valid", 0, 1, "w1c", "Whether an error occurred"),
                Field("cause", 8, 8, "ro", "Cause of the error", names=tuple(CAUSES)),
                Field("port", 16, 8, "ro", "Port of the error; 0 if the cause has no port"),
            ),
        ),
        word(
            "ERROR_COUNT",
            0x040,
            "ro",
            "Number of errors of each cause, in the order of ERROR; stays at 0xFFFFFFFF",
            len(CAUSES),
        ),
    )


def _configuration(spec: SwitchSpec) -> tuple[Register, ...]:
    phases, queues = spec.protocol.phases, "in queues of input ports"
    return (
        Register(
            "PHASE",
            0x080,
            f"Phase that COMMAND acts on, 0 to {spec.protocol.phases - 1}",
            (Field("number", 0, 32, "rw", "Number of the phase"),),
        ),
        Register(
            "COMMAND",
            0x084,
            "Command for the entry of PHASE: commit writes ENTRY to it, load reads it into ENTRY, "
            "erase writes zeros, which removes the phase",
            (Field("command", 0, 2, "pulse", "Command", names=COMMANDS),),
            lockable=True,
        ),
        Register(
            "COMMAND_STATUS",
            0x088,
            "Result of COMMAND",
            (
                Field(
                    "busy",
                    0,
                    1,
                    "ro",
                    "Whether the command is running; ENTRY and COMMAND are then locked",
                ),
                Field(
                    "refused",
                    1,
                    1,
                    "ro",
                    "Whether the last command was refused: PHASE was out of range, or the "
                    "configuration joins two flows",
                ),
            ),
        ),
        _bits("QUEUED", 0x08C, f"Whether packets of a phase are {queues}", "phase", phases),
        _bits("LINKS", 0x094, "Whether links are up", "port", spec.ports),
        _bits("UNICASTS", 0x09C, f"Whether unicasts are {queues}", "port", spec.ports),
    )


def _bits(name: str, address: int, text: str, what: str, count: int) -> Register:
    """Return an array with one bit per phase, or per port."""
    return Register(
        name,
        address,
        f"{text}, a bit for each {what}; {what} 0 is the lowest bit of the first word",
        (Field("value", 0, WORD_BITS, "ro", f"Bits of {what}s"),),
        count=-(-count // WORD_BITS),
        total_bits=count,
    )


def _counters(ports: int) -> tuple[Register, ...]:
    single = [
        word(name.upper(), 0x0C0 + 4 * place, "ro", f"{text}, modulo 2^32", None)
        for place, (name, text) in enumerate(COUNTERS.items())
    ]
    arrays = [
        word(name.upper(), _PORT_COUNTERS_AT[place], "ro", f"{text}, by port, modulo 2^32", ports)
        for place, (name, text) in enumerate(PORT_COUNTERS.items())
    ]
    return (*single, *arrays)


def _routes(spec: SwitchSpec) -> Register:
    return Register(
        "ROUTE",
        _ROUTES_AT,
        "Route of unicasts, and of messages about them, by address",
        (Field("exit", 0, route_bits(spec), "rw", "1 more than the output port, 0 for no route"),),
        count=ADDRESSES,
    )


def _entry(spec: SwitchSpec) -> Register:
    """Return the staging words, with the positions of the entry's fields."""
    places, low = [], 0
    for name, width in phase_fields(spec).items():
        places.append(f"{name} {low} to {low + width - 1}" if width > 1 else f"{name} {low}")
        low += width
    return Register(
        "ENTRY",
        _ENTRY_AT,
        f"Staging of an entry, its lowest bits in the first word. Bits: {', '.join(places)}",
        (Field("value", 0, WORD_BITS, "rw", "Bits of the entry", loads=True),),
        count=-(-low // WORD_BITS),
        total_bits=low,
        lockable=True,
    )
