"""Tests of gen.registers: what is generated from the registers agrees with them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fred_hw.control.registers import RegisterMap
from fred_hw.control.switch_map import switch_map
from fred_hw.load import PRESETS, load_spec
from gen.registers import c_header, markdown, page

DOCS = Path(__file__).parents[2] / "docs"

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def test_page_is_the_one_in_docs() -> None:
    assert (DOCS / "reference" / "registers.md").read_text() == page(), (
        "python -m gen.registers writes it"
    )


def test_table_has_every_field() -> None:
    registers = switch_map(load_spec("small-4"))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in markdown(registers).splitlines()
        if line.startswith("|")
    ]
    named = {row[3] for row in rows if len(row) == 7}
    for register in registers.registers:
        name = register.name if register.count is None else f"{register.name}[{register.count}]"
        assert [f"{register.address:#05x}", name] in [row[:2] for row in rows]
        assert {f"`{field.name}`" for field in register.fields} <= named


def expectations(registers: RegisterMap) -> list[tuple[str, int]]:
    """Return C expressions and their values."""
    found: list[tuple[str, int]] = []
    for register in registers.registers:
        name = f"{registers.name.upper()}_{register.name}"
        if register.count is None:
            found.append((f"{name}_OFFSET", register.address))
        else:
            found.append((f"{name}_WORDS", register.count))
            last = register.count - 1
            found += [(f"{name}_OFFSET({k})", register.address + 4 * k) for k in (0, last)]
        for field in register.fields:
            part = f"{name}_{field.name}".upper()
            found += [(f"{part}_SHIFT", field.low), (f"{part}_MASK", field.mask)]
            found += [(f"{part}_{value.upper()}", k) for k, value in enumerate(field.names)]
            if field.access == "constant":
                found.append((f"{part}_VALUE", field.value))
    return found


def compiled(folder: Path, *maps: RegisterMap) -> None:
    """Compile a file that includes the headers of maps and checks all values, and run it."""
    checks = [one for registers in maps for one in expectations(registers)]
    lines: list[str] = []
    for number, registers in enumerate(maps):
        (folder / f"registers_{number}.h").write_text(c_header(registers))
        lines += 2 * [f'#include "registers_{number}.h"']  # twice: the guard is tested as well
    lines += ["int main(void) {"]
    lines += [
        f"    if (({expression}) != UINT32_C({value})) return {number % 255 + 1};"
        for number, (expression, value) in enumerate(checks)
    ]
    source, program = folder / "check.c", folder / "check"
    source.write_text("\n".join([*lines, "    return 0;", "}", ""]))
    flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-std=c99", "-Wconversion"]
    said = subprocess.run(
        ["gcc", *flags, str(source), "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert subprocess.run([str(program)], check=False).returncode == 0


@needs_gcc
@pytest.mark.parametrize("preset", PRESETS)
def test_header_compiles_and_has_the_values_of_the_map(preset: str, tmp_path: Path) -> None:
    compiled(tmp_path, switch_map(load_spec(preset)))


@needs_gcc
def test_headers_of_two_switches_go_into_one_file(tmp_path: Path) -> None:
    """Also of two that differ in their link layer alone."""
    spec = load_spec("small-4")
    other = load_spec("small-4", {"protocol.phases": 4})
    compiled(tmp_path, *map(switch_map, (spec, other, load_spec("l1-12"))))


@pytest.mark.parametrize(
    ("arguments", "start"),
    [([], "# Registers\n"), (["c", "tiny-2"], "/* Registers of fred_m3_p2_")],
    ids=["page", "header"],
)
def test_module_prints(arguments: list[str], start: str) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "gen.registers", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=DOCS.parent,
    )
    assert said.stdout.startswith(start)
