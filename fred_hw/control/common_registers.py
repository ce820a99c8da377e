"""Registers that switches and endpoints share."""

from collections.abc import Mapping

from .registers import WORD_BITS, Field, Register

__all__ = [
    "ADDRESS",
    "CYCLES",
    "PARTNER",
    "REWINDS",
    "STROBE",
    "cause_registers",
    "constant",
    "control_register",
    "version_register",
    "word",
]

ADDRESS = "access without a register, unaligned access, or write to a read-only register"
STROBE = "write of less than a whole register"
PARTNER = "handshake of a neighbour with another protocol version or other sizes"
"""Errors that both have."""

COUNT_BITS = WORD_BITS
"""Bits of a counter, which fills its register."""

CYCLES = "Clock cycles"
REWINDS = "Retransmissions: times that a sender went back to an earlier packet"
"""Performance counters that both have."""


def constant(name: str, low: int, width: int, value: int, description: str) -> Field:
    """Return a field that reads the same always."""
    return Field(name, low, width, "constant", description, value)


def word(
    name: str, address: int, access: str, description: str, count: int | None = None
) -> Register:
    """Return a register of one field of 32 bits, or an array of such."""
    field = Field("value", 0, WORD_BITS, access, description)
    return Register(name, address, description, (field,), count)


def version_register(address: int, version: tuple[int, int]) -> Register:
    """Return the register of a major and a minor version."""
    major, minor = version
    return Register(
        "VERSION",
        address,
        "Version of these registers",
        (
            constant("minor", 0, 16, minor, "Incremented by additions that break no software"),
            constant("major", 16, 16, major, "Incremented by all other changes"),
        ),
    )


def control_register(address: int, *others: Field) -> Register:
    """Return the register that acts on counters, with the fields behind the common ones."""
    return Register(
        "CONTROL",
        address,
        "Control of counters",
        (
            Field("freeze", 0, 1, "rw", "Stop all performance counters"),
            Field("clear", 1, 1, "pulse", "Clear all performance counters"),
            *others,
        ),
    )


def cause_registers(address: int, causes: Mapping[str, str]) -> tuple[Register, Register]:
    """Return ERROR and, in the next word, IRQ_ENABLE.

    Parameters
    ----------
    address : int
        Of ERROR [bytes].
    causes : Mapping of str to str
        What each bit tells, from bit 0 on.
    """
    return (
        Register(
            "ERROR",
            address,
            "Errors since their bits were cleared",
            tuple(
                Field(name, place, 1, "w1c", text[0].upper() + text[1:])
                for place, (name, text) in enumerate(causes.items())
            ),
        ),
        Register(
            "IRQ_ENABLE",
            address + 4,
            "Bits of ERROR that raise the interrupt",
            tuple(
                Field(name, place, 1, "rw", f"Enable the interrupt for {name}")
                for place, name in enumerate(causes)
            ),
        ),
    )
