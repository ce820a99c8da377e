"""Tests of gen.system_rdl: SystemRDL's compiler reads what the register map says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.control.registers import Field, Register, RegisterMap
from fred_hw.control.switch_map import switch_map
from fred_hw.errors import InputError
from fred_hw.load import PRESETS, load_spec
from fred_hw.spec import SwitchSpec
from gen.keywords import RDL_KEYWORDS
from gen.peakrdl import compile_rdl
from gen.system_rdl import system_rdl

SCHEDULED = {"endpoint": {"schedule_entries": 4, "read_ports": 2}}

SOFTWARE = {
    "constant": (True, False),
    "ro": (True, False),
    "rw": (True, True),
    "w1c": (True, True),
    "pulse": (False, True),
}
"""Whether software reads, and writes, a field of each access."""


def compiled(registers: RegisterMap, folder: Path) -> Any:
    file = folder / "registers.rdl"
    file.write_text(system_rdl(registers), encoding="utf-8")
    return compile_rdl(file)


@pytest.mark.parametrize(
    ("make", "spec"),
    [
        *(pytest.param(switch_map, load_spec(preset), id=preset) for preset in PRESETS),
        pytest.param(endpoint_map, load_spec("small-4"), id="endpoint"),
        pytest.param(endpoint_map, load_spec("small-4", SCHEDULED), id="schedule"),
    ],
)
def test_compiler_finds_every_register_and_field(
    make: Callable[[SwitchSpec], RegisterMap], spec: SwitchSpec, tmp_path: Path
) -> None:
    registers = make(spec)
    top = compiled(registers, tmp_path)
    assert top.inst_name == registers.name
    found = {one.inst_name: one for one in top.registers(unroll=False)}
    assert list(found) == [one.name for one in registers.registers]
    for register in registers.registers:
        node = found[register.name]
        assert node.is_array == (register.count is not None)
        words = list(node.unrolled())
        addresses = [register.address + 4 * k for k in range(register.words)]
        assert [word.absolute_address for word in words] == addresses
        fields = list(node.fields())
        assert [one.inst_name for one in fields] == [field.name for field in register.fields]
        for one, field in zip(fields, register.fields, strict=True):
            check_field(one, field)


def check_field(node: Any, field: Field) -> None:
    assert (node.low, node.width) == (field.low, field.width)
    assert (node.is_sw_readable, node.is_sw_writable) == SOFTWARE[field.access]
    assert node.is_hw_writable == (field.access == "ro" or field.loads)
    assert node.get_property("hwset") == (field.access == "w1c")
    if field.access in ("constant", "rw"):
        assert node.get_property("reset") == field.value
    clears = node.get_property("onwrite")
    assert (clears is not None and clears.name == "woclr") == (field.access == "w1c")
    values = node.get_property("encode")
    named = {} if values is None else {one.name: one.value for one in values}
    assert named == {name: value for value, name in enumerate(field.names)}


def test_every_keyword_is_reserved_by_the_compiler(tmp_path: Path) -> None:
    file = tmp_path / "one.rdl"
    for word in RDL_KEYWORDS:
        file.write_text(f"addrmap top {{ reg {{ field {{}} a; }} \\{word}; }};")
        assert compile_rdl(file).get_child_by_name(word) is not None
        file.write_text(f"addrmap top {{ reg {{ field {{}} a; }} {word}; }};")
        with pytest.raises(InputError):
            compile_rdl(file)


def test_reserved_words_and_quotation_marks_are_escaped(tmp_path: Path) -> None:
    field = Field("number", 0, 2, "rw", 'Says "no" or C:\\', names=("all", "none", "default"))
    one = Register("FIELD", 0, "A register", (field,))
    top = compiled(RegisterMap("signal", "A map", (one,)), tmp_path)
    [register] = top.registers()
    [node] = register.fields()
    assert node.get_property("desc") == 'Says "no" or C:\\.'
    check_field(node, field)


def test_descriptions_say_what_properties_cannot(tmp_path: Path) -> None:
    top = compiled(switch_map(load_spec("small-4")), tmp_path)
    told = {one.inst_name: one.get_property("desc") for one in top.registers(unroll=False)}
    assert told["ENTRY"].endswith("refused while the hardware is busy. The last word has 26 bits.")
