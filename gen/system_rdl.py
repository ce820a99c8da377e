"""Registers as a SystemRDL 2.0 description."""

import json
import re

from fred_hw.control.registers import WORD_BITS, WORD_BYTES, Field, Register, RegisterMap

from .keywords import RDL_KEYWORDS

__all__ = ["system_rdl"]

_PROPERTIES = {
    "constant": "sw = r; hw = na;",
    "ro": "sw = r; hw = w;",
    "rw": "sw = rw; hw = r;",
    "w1c": "sw = rw; hw = r; onwrite = woclr; hwset;",
    "pulse": "sw = w; hw = r;",
}
"""SystemRDL properties of each access in ``ACCESSES``."""


def system_rdl(registers: RegisterMap) -> str:
    """Return the SystemRDL address map of a register map.

    SystemRDL has no property for a register that hardware may lock, and none for an array whose
    last word has fewer bits. The descriptions of registers state both.
    """
    body = [line for one in registers.registers for line in ["", *_register(one)]]
    lines = [
        f"// Registers of {registers.name}, SystemRDL 2.0.",
        f"addrmap {_identifier(registers.name)} {{",
        f"    name = {_text(registers.name)};",
        f"    desc = {_text(registers.description)};",
        f"    default regwidth = {WORD_BITS};",
        f"    default accesswidth = {WORD_BITS};",
        f"    alignment = {WORD_BYTES};",
        "    littleendian;",
        *(f"    {line}".rstrip() for line in body),
        "};",
    ]
    return "\n".join(lines) + "\n"


def _register(register: Register) -> list[str]:
    places = _identifier(register.name)
    if register.count is not None:
        places += f"[{register.count}]"
    places += f" @ {register.address:#x}"
    if register.count is not None:
        places += f" += {WORD_BYTES}"
    body = [line for field in register.fields for line in _field(field)]
    return [
        "reg {",
        f"    name = {_text(register.name)};",
        f"    desc = {_text(_described(register))};",
        *(f"    {line}" for line in body),
        f"}} {places};",
    ]


def _described(register: Register) -> str:
    parts = [f"{register.description}."]
    if register.lockable:
        parts.append("Writes are refused while the hardware is busy.")
    if register.total_bits is not None:
        last = register.width(register.fields[0], register.words - 1)
        parts.append(f"The last word has {last} bits.")
    return " ".join(parts)


def _field(field: Field) -> list[str]:
    """Return the lines of a field, after those of the enumeration of its values.

    Enumerations are in capitals and fields in lower case, so their names cannot clash.
    """
    lines, properties = [], _PROPERTIES[field.access]
    if field.loads:
        properties = "sw = rw; hw = rw;"
    if field.names:
        named = [f"{_identifier(name)} = {value};" for value, name in enumerate(field.names)]
        lines = [f"enum {field.name.upper()} {{ {' '.join(named)} }};"]
        properties += f" encode = {field.name.upper()};"
    reset = f" = {field.value:#x}" if field.access in ("constant", "rw", "pulse", "w1c") else ""
    high = field.low + field.width - 1
    return [
        *lines,
        "field {",
        f"    desc = {_text(f'{field.description}.')};",
        f"    {properties}",
        f"}} {_identifier(field.name)}[{high}:{field.low}]{reset};",
    ]


def _identifier(name: str) -> str:
    """Return a name as an identifier, escaped if it is a reserved word."""
    name = re.sub(r"\W", "_", name)
    return f"\\{name}" if name in RDL_KEYWORDS else name


def _text(text: str) -> str:
    """Return a string literal; quotation marks and backslashes are escaped as in JSON."""
    return json.dumps(text, ensure_ascii=False)
