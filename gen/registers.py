"""Registers of a switch as a page of Markdown and as a C header.

``python -m gen.registers`` prints docs/reference/registers.md, and
``python -m gen.registers c PRESET`` prints the C header of a preset.
"""

import re
import sys

from fred_hw.control.phase_entry import entry_bits, phases_that_fit
from fred_hw.control.registers import ACCESSES, WORD_BITS, Field, Register, RegisterMap
from fred_hw.control.switch_map import switch_map
from fred_hw.load import PRESETS, load_spec
from fred_hw.published import CONFIGURATION_BYTES

__all__ = ["c_header", "markdown", "page"]

_DOCUMENTED = "l1-12"

_USE = f"""\
# Registers

<!-- Written by: python -m gen.registers > docs/reference/registers.md -->

Software reaches a switch through an AXI4-Lite slave with words of 32 bits. These accesses are
answered by SLVERR and counted as errors:

* Reads at an address without a register, and unaligned reads. They return 0.
* Writes at an address without a register, unaligned writes, writes to a register without a writable
  field, and writes of less than four bytes. They change nothing.

Bits outside all fields read 0 and ignore writes. All switches have the same addresses; only the
lengths of arrays differ. `fred_hw.control.access` has the registers for Python, and
`python -m gen.registers c PRESET` writes a C header. Its names begin with the name of the switch.

To write a phase, write the words of ENTRY, then the number of the phase to PHASE and 1 to COMMAND,
and read COMMAND_STATUS until `busy` is 0. If `refused` is 1 the phase is unchanged: the entry joins
two flows, or the number is out of range. To read a phase back, write its number to PHASE and 2 to
COMMAND, wait until `busy` is 0, and read ENTRY. While `busy` is 1, writes to ENTRY and COMMAND are
answered by SLVERR.

On an interrupt, read ERROR and ERROR_FIRST, and clear them before you look for the reason: a later
error sets its bit again. ERROR_COUNT has the number of errors of each cause.

Counters are read one after the other; `freeze` stops them meanwhile, so that all values belong to
one moment.

## Configuration memory

The published configuration memory of a switch has {CONFIGURATION_BYTES / 1024} KB (FRED, arXiv
2406.19580).

"""


def page() -> str:
    """Return the page docs/reference/registers.md."""
    rows = [
        "| preset | ports | bits of an entry | phases that fit 1.5 KB |",
        "| --- | --- | --- | --- |",
    ]
    for preset in PRESETS:
        spec = load_spec(preset)
        rows.append(f"| {preset} | {spec.ports} | {entry_bits(spec)} | {phases_that_fit(spec)} |")
    table = markdown(switch_map(load_spec(_DOCUMENTED)))
    return _USE + "\n".join(rows) + f"\n\n## Registers of {_DOCUMENTED}\n\n{table}"


def markdown(registers: RegisterMap) -> str:
    """Return the table of a register map, with one row per field."""
    lines = [registers.description, "", "| access | |", "| --- | --- |"]
    lines += [f"| {access} | {text} |" for access, text in ACCESSES.items()]
    lines += [
        "",
        "| offset | register | bits | field | access | value | |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for register in registers.registers:
        name = register.name if register.count is None else f"{register.name}[{register.count}]"
        lock = "; locked while busy" if register.lockable else ""
        cells = [f"{register.address:#05x}", name, "", "", "", "", register.description + lock]
        fields = list(register.fields)
        if [field.width for field in fields] == [WORD_BITS]:
            only = fields.pop()
            cells[2:6] = [_bits(only), f"`{only.name}`", only.access, _value(only)]
        lines.append(_row(cells))
        for field in fields:
            about = [_bits(field), f"`{field.name}`", field.access, _value(field), _meaning(field)]
            lines.append(_row(["", "", *about]))
    return "\n".join(lines) + "\n"


def _row(cells: list[str]) -> str:
    return re.sub(r" +", " ", f"| {' | '.join(cells)} |")


def _bits(field: Field) -> str:
    high = field.low + field.width - 1
    return str(high) if field.width == 1 else f"{high}:{field.low}"


def _value(field: Field) -> str:
    """Return a field's constant value, or its value after reset if writable."""
    if field.access not in ("constant", "rw"):
        return ""
    return f"{field.value:#x}" if field.value > 0xFFFF else str(field.value)


def _meaning(field: Field) -> str:
    named = ", ".join(f"{value} {name}" for value, name in enumerate(field.names))
    return f"{field.description}: {named}" if named else field.description


def c_header(registers: RegisterMap) -> str:
    """Return a C99 header with offsets, fields, constants and named values of a map.

    All names begin with that of the map, in capitals, so that headers of several switches may be
    included in one file.
    """
    prefix = re.sub(r"[^A-Z0-9]", "_", registers.name.upper())
    guard = f"{prefix}_REGISTERS_H"
    lines = [
        f"/* Registers of {registers.name}: offsets from the base of the slave, in bytes. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdint.h>",
    ]
    for register in registers.registers:
        lines += ["", *_c_register(prefix, register)]
    return "\n".join([*lines, "", f"#endif /* {guard} */", ""])


def _c_register(prefix: str, register: Register) -> list[str]:
    name = f"{prefix}_{register.name}"
    offset = f"UINT32_C({register.address:#05x})"
    lines = [f"/* {register.description}. */"]
    if register.count is None:
        lines.append(f"#define {name}_OFFSET {offset}")
    else:
        lines += [
            f"#define {name}_OFFSET(n) ({offset} + UINT32_C(4) * (uint32_t)(n))",
            f"#define {name}_WORDS {register.count}u",
        ]
    for field in register.fields:
        part = f"{name}_{field.name}".upper()
        lines += [
            f"#define {part}_SHIFT {field.low}u",
            f"#define {part}_MASK UINT32_C({field.mask:#010x})",
        ]
        if field.access == "constant":
            lines.append(f"#define {part}_VALUE UINT32_C({field.value:#x})")
        lines += [
            f"#define {part}_{re.sub(r'[^A-Z0-9]', '_', value.upper())} UINT32_C({number})"
            for number, value in enumerate(field.names)
        ]
    return lines


def _main(arguments: list[str]) -> None:
    if arguments[:1] == ["c"]:
        sys.stdout.write(c_header(switch_map(load_spec((arguments[1:] or [_DOCUMENTED])[0]))))
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    _main(sys.argv[1:])
