"""Tests of fred_hw.spec and fred_hw.load."""

import re
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from pydantic import ValidationError

from fred_hw.datapath.reduction import reduction_unit
from fred_hw.errors import InputError, InputWarning
from fred_hw.files import validate
from fred_hw.formats.number_format import FORMATS, IntFormat, NumberFormat
from fred_hw.load import PRESETS, load_spec, parse_change
from fred_hw.operations.extremum import Extremum
from fred_hw.operations.operation import OPERATIONS, fitting
from fred_hw.protocol import PROTOCOL_VERSION, ProtocolSpec
from fred_hw.spec import SwitchSpec
from tests.documented import documented_keys, read_keys


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ports": 1}, "ports: must be an integer from 2 to 64, not 1"),
        ({"ports": 65}, "ports: must be an integer from 2 to 64, not 65"),
        ({"ports": True}, "ports: must be an integer from 2 to 64, not True"),
        ({"ports": 8.0}, "ports: must be an integer from 2 to 64, not 8.0"),
        ({"ports": None}, "ports: must be an integer from 2 to 64, not None"),
        ({"middle_switches": 1}, "middle_switches: must be an integer from 2 to 8, not 1"),
        ({"middle_switches": 9}, "middle_switches: must be an integer from 2 to 8, not 9"),
        ({"lanes": 0}, "lanes: must be an integer from 1 to 256, not 0"),
        ({"lanes": 257}, "lanes: must be an integer from 1 to 256, not 257"),
        ({"stage_registers": 0}, "stage_registers: must be an integer from 1 to 4, not 0"),
        ({"adder_registers": 9}, "adder_registers: must be auto or an integer from 0 to 8, not 9"),
        ({"operation": "mul"}, f"operation: must be one of {', '.join(OPERATIONS)}, not 'mul'"),
        ({"overflow": 1}, "overflow: must be one of saturate, wrap, not 1"),
        ({"format": "posit"}, f"format: must be one of {', '.join(FORMATS)}, not 'posit'"),
    ],
    ids=str,
)
def test_bad_field_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        validate(SwitchSpec, {"ports": 8, **change}, "f.yaml")
    assert str(refused.value) == f"f.yaml: {message}"
    with pytest.raises(ValidationError):
        SwitchSpec(**{"ports": 8, **change})


class IntegersOnly(Extremum):
    """A maximum of integers alone."""

    def takes(self, number_format: NumberFormat) -> bool:
        return isinstance(number_format, IntFormat)


def test_operation_that_does_not_take_the_format_is_refused() -> None:
    with OPERATIONS.lending("ints", IntegersOnly("max")):
        assert SwitchSpec(ports=4, format="int8", operation="ints").operation == "ints"
        floats = ", ".join(fitting(FORMATS["fp16"]))
        assert "ints" not in floats
        message = rf"^f: operation: must be one of {floats} with format fp16, not 'ints'$"
        with pytest.raises(InputError, match=message):
            validate(SwitchSpec, {"ports": 4, "operation": "ints"}, "f")
        message = rf"^operation with format fp16 must be one of {floats}, not 'ints'$"
        with pytest.raises(ValueError, match=message):
            reduction_unit(FORMATS["fp16"], "ints", "wrap", 1)


def test_missing_and_unknown_keys_are_refused() -> None:
    with pytest.raises(InputError, match=r"^f: ports: is required and was not given$"):
        validate(SwitchSpec, {}, "f")
    with pytest.raises(
        InputError, match=r"^f: port: unknown key; allowed are ports, middle_switches, "
    ):
        validate(SwitchSpec, {"ports": 4, "port": 4}, "f")
    with pytest.raises(
        InputError, match=r"^f: '': unknown key; allowed are ports, middle_switches, "
    ):
        validate(SwitchSpec, {"ports": 4, "": 4}, "f")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"ports": 8}, "fred_m3_p8_fp16x4"),
        ({"ports": 8, "operation": "max"}, "fred_m3_p8_fp16x4_max"),
        ({"ports": 8, "format": "int8", "overflow": "wrap"}, "fred_m3_p8_int8x4_wrap"),
        ({"ports": 5, "middle_switches": 2, "adder_registers": 0}, "fred_m2_p5_fp16x4_a0"),
        ({"ports": 5, "stage_registers": 2, "lanes": 16}, "fred_m3_p5_fp16x16_s2"),
    ],
)
def test_name_is_stable(fields: dict[str, Any], name: str) -> None:
    assert SwitchSpec(**fields).name == name


@pytest.mark.parametrize("name", [*FORMATS, *OPERATIONS])
def test_name_of_a_format_or_operation_may_stand_in_that_of_a_module(name: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)


@pytest.mark.parametrize(
    ("form", "operation"),
    [(name, operation) for name, form in FORMATS.items() for operation in fitting(form)],
)
def test_auto_is_the_number_of_the_operation(form: str, operation: str) -> None:
    spec = SwitchSpec(ports=8, format=form, operation=operation)
    assert spec.adder_registers == OPERATIONS[operation].registers(FORMATS[form])
    assert spec == SwitchSpec(ports=8, format=form, operation=operation, adder_registers="auto")
    assert spec.model_dump()["adder_registers"] == spec.adder_registers
    other = spec.with_changes(adder_registers=spec.adder_registers + 1)
    assert other.name == f"{spec.name}_a{other.adder_registers}"


def test_specification_is_a_value() -> None:
    spec = SwitchSpec(ports=8)
    assert hash(spec) == hash(SwitchSpec(ports=8, lanes=4))
    assert spec.with_changes(lanes=8).lanes == 8 and spec.lanes == 4
    with pytest.raises(ValidationError):
        spec.ports = 4


def test_overflow_that_changes_nothing_makes_no_other_hardware() -> None:
    assert SwitchSpec(ports=4, overflow="wrap") == SwitchSpec(ports=4)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_load(preset: str) -> None:
    assert load_spec(preset).name.startswith("fred_m3_p")


def test_wafer_chiplets_are_as_published() -> None:
    chiplets = {name: load_spec(name) for name in ("l1-12", "l1-11", "l2-10")}
    assert {name: spec.ports for name, spec in chiplets.items()} == {
        "l1-12": 12,
        "l1-11": 11,
        "l2-10": 10,
    }
    assert {(s.middle_switches, s.format, s.lanes) for s in chiplets.values()} == {(3, "fp16", 256)}


def test_changes_are_read_as_yaml() -> None:
    assert parse_change("lanes=8") == ("lanes", 8)
    assert parse_change("format=bf16") == ("format", "bf16")
    assert load_spec("small-4", {"lanes": 8}).lanes == 8
    with pytest.raises(InputError, match=r"^--set: must be key=value, not 'lanes'$"):
        parse_change("lanes")
    with pytest.raises(InputError, match=r"^--set: lanes: must be a YAML value, not '!!int x'$"):
        parse_change("lanes=!!int x")
    with pytest.raises(InputError, match=r"^--set: a.a.a.*: must have at most 8 names, not 9$"):
        parse_change("a" + 8 * ".a" + "=1")


def test_a_date_in_a_file_is_text(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("ports: 2020-13-45\n")
    with pytest.raises(InputError, match=r"f.yaml: ports: must be .* 2 to 64, not '2020-13-45'$"):
        load_spec(str(path))


SIZES = {
    "phases": 16,
    "packet_flits": 8,
    "round_trip_cycles": 47,
    "buffer_packets": 9,
    "ack_interval": 16,
    "window_packets": 64,
    "timeout_cycles": 1024,
    "nack_timeout_cycles": 64,
    "packet_timeout_cycles": 128,
    "head_of_line_timeout_cycles": 8192,
}
NEIGHBOUR = SwitchSpec(ports=4, lanes=2, format="int8", protocol=ProtocolSpec(**SIZES))
"""Whatever the defaults are."""


def neighbour(change: dict[str, Any]) -> SwitchSpec:
    """Return it with a change, whose ``protocol`` has the sizes that are others."""
    return NEIGHBOUR.with_changes(**{**change, "protocol": SIZES | change.get("protocol", {})})


@pytest.mark.parametrize(
    "change",
    [
        {"lanes": 3},
        {"lanes": 1, "format": "int16"},  # flits are as wide
        {"operation": "max"},
        {"overflow": "wrap"},
        {"protocol": {"packet_flits": 7}},
        {"protocol": {"window_packets": 32}},
        {"protocol": {"buffer_packets": 10}},
    ],
    ids=str,
)
def test_what_both_ends_of_a_link_must_have_alike_is_in_the_digest(change: dict[str, Any]) -> None:
    assert neighbour(change).digest != NEIGHBOUR.digest


def test_version_of_the_protocol_is_in_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    before = NEIGHBOUR.digest
    monkeypatch.setattr("fred_hw.spec.PROTOCOL_VERSION", PROTOCOL_VERSION + 1)
    assert NEIGHBOUR.digest != before


@pytest.mark.parametrize(
    "change",
    [
        {"ports": 5},
        {"middle_switches": 2},
        {"stage_registers": 2},
        {"adder_registers": 3},
        {"endpoint": {"replay_packets": 32}},
        *(
            {"protocol": {name: size}}
            for name, size in {
                "phases": 5,
                "round_trip_cycles": 40,
                "ack_interval": 4,
                "timeout_cycles": 512,
                "nack_timeout_cycles": 32,
                "packet_timeout_cycles": 64,
                "head_of_line_timeout_cycles": 4096,
            }.items()
        ),
    ],
    ids=str,
)
def test_what_ends_of_a_link_may_have_as_they_like_is_not_in_the_digest(
    change: dict[str, Any],
) -> None:
    changed = neighbour(change)
    assert changed != NEIGHBOUR
    assert changed.digest == NEIGHBOUR.digest


def test_old_names_of_keys_are_accepted_with_a_warning() -> None:
    said = r"^middle: is deprecated; use middle_switches$"
    with pytest.warns(InputWarning, match=said):
        assert SwitchSpec.model_validate({"ports": 4, "middle": 2}).middle_switches == 2
    with pytest.warns(InputWarning, match=r"^stuck_cycles: is deprecated; use head_of_line_time"):
        found = SwitchSpec(ports=4).with_changes(protocol={"stuck_cycles": 512})
    assert found.protocol.head_of_line_timeout_cycles == 512


def test_an_old_name_beside_the_name_of_today_is_refused() -> None:
    said = r"^f: must not have both middle_switches and middle, its old name$"
    with pytest.raises(InputError, match=said):
        validate(SwitchSpec, {"ports": 4, "middle": 2, "middle_switches": 3}, "f")


@pytest.mark.filterwarnings("ignore:.* is deprecated")
@pytest.mark.parametrize("given", ["middle", "middle_switches"])
@pytest.mark.parametrize("changed", ["middle", "middle_switches"])
def test_a_change_wins_whichever_name_it_has(given: str, changed: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(f"ports: 4\n{given}: 2\nprotocol: {{patience_cycles: 100}}\n")
    changes = {changed: 4, "protocol.packet_timeout_cycles": 5000}
    spec = load_spec(str(path), changes)
    assert (spec.middle_switches, spec.protocol.packet_timeout_cycles) == (4, 5000)
    assert SwitchSpec(ports=4).with_changes(**{changed: 4}).middle_switches == 4


@pytest.mark.filterwarnings("ignore:.* is deprecated")
@pytest.mark.parametrize("names", [["middle", "middle_switches"], ["middle_switches", "middle"]])
def test_changes_by_the_old_name_and_the_name_of_today_are_refused(
    names: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("ports: 4\n")
    changes = dict.fromkeys(names, 4)
    said = "must not have both middle_switches and middle, its old name"
    with pytest.raises(InputError) as failure:
        load_spec(str(path), changes)
    assert str(failure.value) == f"{path}: {said}"
    with pytest.raises(ValueError, match=f"^{said}$"):
        SwitchSpec(ports=4).with_changes(**changes)


@pytest.mark.filterwarnings("ignore:.* is deprecated")
def test_both_names_of_a_nested_key_are_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    both = ["stuck_cycles", "head_of_line_timeout_cycles"]
    path.write_text("ports: 4\n")
    with pytest.raises(InputError) as failure:
        load_spec(str(path), {f"protocol.{name}": 512 for name in both})
    said = "must not have both protocol.head_of_line_timeout_cycles and protocol.stuck_cycles"
    assert str(failure.value) == f"{path}: {said}, its old name"
    path.write_text(f"ports: 4\nprotocol: {{{both[0]}: 512, {both[1]}: 512}}\n")
    with pytest.raises(InputError) as failure:
        load_spec(str(path), {"lanes": 2})
    said = "must not have both head_of_line_timeout_cycles and stuck_cycles, its old name"
    assert str(failure.value) == f"{path}: protocol: {said}"


def test_only_configurations_name_the_hardware_and_survive_copies() -> None:
    spec = SwitchSpec(ports=4, lanes=1, only={"one": "0x5", "same": "0x05"})
    assert spec.needed == {5} and SwitchSpec(ports=4).needed is None
    assert spec.name == "fred_m3_p4_fp16x1_only_" + f"{crc32(b'[5]'):08x}"
    assert SwitchSpec.model_validate_json(spec.model_dump_json()) == spec
    assert spec.with_changes(only=None).name == "fred_m3_p4_fp16x1"
    assert "only" not in SwitchSpec(ports=4).model_dump()


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ({}, "must be a mapping of names to configuration words, not {}"),
        (["0x5"], "must be a mapping of names to configuration words, not ['0x5']"),
        ({3: "0x5"}, "must have texts as names, not 3"),
        ({"one": 5}, "must have words like 0x1f, not 5 of one"),
        ({"one": "0X5"}, "must have words like 0x1f, not '0X5' of one"),
        ({"one": "0x00"}, "must have words that route something, not 0x00 of one"),
        ({"one": "0x1000000"}, "only.one: configuration word must have 24 bits, not 25"),
        ({"one": "0x3"}, "only.one: Configuration inputs must be 0 to 2, not 3"),
    ],
)
def test_only_must_be_words_of_the_interconnect(only: object, message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        SwitchSpec.model_validate({"ports": 4, "middle_switches": 2, "only": only})
    assert raised.value.errors()[0]["msg"] == message


def test_accumulation_names_the_hardware_and_chooses_its_adders() -> None:
    spec = SwitchSpec(ports=4, lanes=1, accumulation="fp32")
    assert spec.name == "fred_m3_p4_fp16x1_in_fp32" and spec.suffix(crosses=False) == "fp16x1"
    assert (spec.data_width, spec.inside.data_width) == (16, 32)
    assert spec.inside == SwitchSpec(ports=4, lanes=1, format="fp32")
    assert spec.inside.inside == spec.inside
    assert "accumulation" not in spec.inside.model_dump()
    assert SwitchSpec.model_validate_json(spec.model_dump_json()) == spec
    fast = spec.with_changes(adder_registers="auto", clock_ns=0.8)
    assert fast.adder_registers == fast.inside.with_changes(adder_registers="auto").adder_registers


@pytest.mark.parametrize(
    ("format", "wide", "allowed"),
    [
        ("fp16", "fp16", "one of fp32, tf32"),
        ("fp16", "bf16", "one of fp32, tf32"),
        ("fp8_e4m3", "fp8_e5m2", "one of fp16, bf16, fp32, tf32"),
        ("fp32", "tf32", "left out"),
        ("int8", "fp32", "left out"),
    ],
)
def test_accumulation_must_contain_the_format(format: str, wide: str, allowed: str) -> None:
    with pytest.raises(ValidationError) as raised:
        SwitchSpec(ports=4, format=format, accumulation=wide)
    said = f"accumulation: must be {allowed} with format {format}, not {wide!r}"
    assert raised.value.errors()[0]["msg"] == said


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("specification") == documented_keys("specification") != []
