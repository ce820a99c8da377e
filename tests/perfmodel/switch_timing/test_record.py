"""Tests of perfmodel.switch_timing.record."""

import re
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from fred_hw.files import FileModel, validate
from fred_hw.protocol import ProtocolSpec
from perfmodel.switch_timing.endpoint import EndpointRecord
from perfmodel.switch_timing.record import ProtocolModel, TimingRecord, load_record
from perfmodel.switch_timing.router import RouterRecord
from studies.rtl_mesh import MeshRecord
from studies.rtl_plane import PlaneRecord
from tests.records import shipped, whole_switch
from tests.written import written

SHIPPED = {"l1-11": 11, "l1-12": 12, "l2-10": 10}

WHOLE = whole_switch(
    0.5,
    30,
    stages={"link": 20, "buffer": 1, "interconnect": 9},
    follow_cycles=28,
    reconfiguration_cycles=7,
)


def write(folder: Path, data: object) -> str:
    return str(written(folder / "record.json", data))


KINDS = [
    *((name, TimingRecord) for name in SHIPPED),
    ("mesh-5x4", RouterRecord),
    ("endpoint", EndpointRecord),
    ("wafer-20", PlaneRecord),
    ("wafer-20-controllers", PlaneRecord),
    ("mesh-5x4-phases", MeshRecord),
    ("mesh-5x4-trees", MeshRecord),
    ("mesh-4x4-trees", MeshRecord),
]


@pytest.mark.parametrize(("name", "model"), KINDS)
def test_record_of_any_kind_is_of_what_its_specification_says(
    name: str, model: type[FileModel]
) -> None:
    said = shipped(name)
    with pytest.raises(InputError, match=rf"name must be {said['name']}, the name of spec, not x$"):
        validate(model, said | {"name": "x"}, name)
    other = said["measured_spec"] | {"format": "int8"}
    with pytest.raises(InputError, match=r"measured_spec must differ from spec in .*lanes only$"):
        validate(model, said | {"measured_spec": other}, name)


@pytest.mark.parametrize(("name", "model"), KINDS)
def test_key_of_a_specification_that_has_its_default_may_be_missing(
    name: str, model: type[FileModel]
) -> None:
    """A key that is new, and changes no hardware by its default, makes no record stale."""
    said = shipped(name)
    whole = validate(model, said, name)
    default = ProtocolSpec().model_dump()
    for spec in (said["spec"], said["measured_spec"]):
        protocol = spec["protocol"]
        assert protocol.keys() <= default.keys()
        spec["protocol"] = {key: one for key, one in protocol.items() if one != default[key]}
        assert len(spec["protocol"]) < len(default)
    assert validate(model, said, name) == whole


@pytest.mark.parametrize(("name", "ports"), SHIPPED.items())
def test_shipped_record_describes_its_chiplet(name: str, ports: int) -> None:
    record = load_record(name).record
    assert (record.spec.ports, record.spec.middle_switches, record.spec.lanes) == (ports, 3, 256)
    assert record.latency_cycles > 0


def test_latency_is_cycles_at_the_clock(tmp_path: Path) -> None:
    data = shipped("l1-12") | {"latency_cycles": 9, "clock": {"hz": 3e9, "source": "test"}}
    timing = load_record(write(tmp_path, data | {"switch": None}))
    assert (timing.latency_cycles, timing.latency_s) == (9, pytest.approx(3e-9))
    whole = load_record(write(tmp_path, data | {"switch": WHOLE}))
    assert (whole.latency_cycles, whole.latency_s) == (30, pytest.approx(10e-9))


def test_switch_is_taken_where_it_was_measured(tmp_path: Path) -> None:
    path = write(tmp_path, shipped("l1-12") | {"throughput_flits_per_cycle": 0.75, "switch": WHOLE})
    timing = load_record(path)
    assert timing.efficiency == 0.5
    assert timing.reconfiguration_cycles == 7
    use = timing.use("l2")
    assert (use.measured, use.latency_cycles, use.efficiency) == ("whole switch", 30, 0.5)
    assert use.not_measured == ()


@pytest.mark.parametrize(
    ("whole", "protocol"), [(False, "measured"), (False, "ideal"), (True, "ideal")]
)
def test_interconnect_is_taken_where_it_alone_was_measured_or_is_asked_for(
    tmp_path: Path, whole: bool, protocol: ProtocolModel
) -> None:
    data = shipped("l1-12") | {
        "latency_cycles": 9,
        "throughput_flits_per_cycle": 0.75,
        "reconfiguration_cycles": 2,
        "switch": WHOLE if whole else None,
    }
    timing = load_record(write(tmp_path, data), protocol=protocol)
    assert (timing.latency_cycles, timing.efficiency) == (9, 0.75)
    assert (timing.reconfiguration_cycles, timing.protocol) == (2, protocol)
    use = timing.use("l2")
    assert (use.measured, use.latency_cycles) == ("interconnect alone", 9)
    assert use.not_measured == (() if whole else ("switch",))


def test_use_without_latency_says_none(tmp_path: Path) -> None:
    use = load_record(write(tmp_path, shipped("l1-12") | {"switch": WHOLE})).use(
        "links", latency=False
    )
    assert (use.latency_cycles, use.latency_s, use.efficiency) == (None, None, 0.5)


def switch_with(**change: Any) -> dict[str, Any]:
    return {"switch": WHOLE | change}


def test_use_tells_what_was_measured_by_whom(tmp_path: Path) -> None:
    data = shipped("l1-12") | {
        "simulators": [{"name": "icarus", "version": "11.0"}],
        "seed": 7,
        "source": {"git_commit": "abc", "verilog_sha256": "0", "switch_verilog_sha256": "1"},
    }
    use = load_record(write(tmp_path, data)).use("l1_0")
    assert use.switches == "l1_0"
    assert use.measured_by == "icarus 11.0; seed 7; abc"


def test_relative_path_starts_at_the_base(tmp_path: Path) -> None:
    write(tmp_path, shipped("l1-12"))
    assert load_record("record.json", tmp_path).record == load_record("l1-12").record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"latency_cycles": -1}, "latency_cycles: must be greater than or equal to 0, not -1"),
        ({"latency_cycles": True}, "latency_cycles: must be a valid integer, not True"),
        ({"latency": 1}, "latency: unknown key; allowed are .*"),
        ({"schema": "fred-timing/1"}, "schema: must be 'fred-timing/2', not 'fred-timing/1'"),
        ({"simulators": []}, r"simulators: must have 1 or more entries, not \[\]"),
        ({"throughput_flits_per_cycle": 1.5}, "throughput_flits_per_cycle: .* 1, not 1.5"),
        ({"name": "x"}, "name must be fred_m3_p12_fp16x256, the name of spec, not x"),
        (
            {"measured_spec": {"ports": 8, "lanes": 4}},
            "measured_spec must differ from spec in lanes only",
        ),
        ({"switch": 1}, r"switch: must be a mapping of keys to values, not 1"),
        ({"preemption_cycles": None}, "preemption_cycles: unknown key; allowed are .*"),
        (switch_with(latency=1), r"switch\.latency: unknown key; allowed are latency_cycles, .*"),
        (
            switch_with(latency_cycles=31),
            "switch: stages must add up to latency_cycles, which are 31, not to 30",
        ),
        (
            switch_with(follow_cycles=31),
            "switch: follow_cycles must be at most latency_cycles, 30, not 31",
        ),
        (switch_with(stages={}), r"switch\.stages: must have 1 or more entries, not \{\}"),
        (
            switch_with(stages={"link": 31, "buffer": -1}),
            r"switch\.stages\.buffer: must be greater than or equal to 0, not -1",
        ),
        (
            switch_with(stages=[30]),
            r"switch\.stages: must be a mapping of keys to values, not \[30\]",
        ),
        (switch_with(ack_share=1.0), r"switch\.ack_share: must be less than 1, not 1\.0"),
        (switch_with(control_share=-0.1), r"switch\.control_share: must be .* to 0, not -0\.1"),
        (
            switch_with(payload_share=0),
            r"switch\.payload_share: must be .* equal to 0\.000001, not 0",
        ),
        (
            switch_with(payload_share=0.51),
            (
                r"switch\.payload_share must be 0\.5, which follows from "
                r"switch\.data_flits_per_cycle and flits of 4096 bits, not 0\.51"
            ),
        ),
        (
            switch_with(preemption_cycles=None),
            r"switch\.preemption_cycles: must be a valid integer, not None",
        ),
        (
            switch_with(recovery_cycles={"to_switch": 1}),
            r"switch\.recovery_cycles\.from_switch: is required and was not given",
        ),
    ],
)
def test_bad_record_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write(tmp_path, shipped("l1-12") | change)
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: {message}$"):
        load_record(path)


@pytest.mark.parametrize("field", ["clock", "switch"])
def test_missing_field_is_refused(tmp_path: Path, field: str) -> None:
    data = shipped("l1-12")
    del data[field]
    path = write(tmp_path, data)
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: {field}: is required and was not"):
        load_record(path)


def test_unknown_name_is_refused() -> None:
    known = "l1-11, l1-12, l2-10"
    message = rf"^timing record: must be .*{known}.* or a path ending in \.json, not 'l3'$"
    with pytest.raises(InputError, match=message):
        load_record("l3")


def test_missing_file_is_refused() -> None:
    message = r"^none\.json: must be an existing file, not a missing one$"
    with pytest.raises(InputError, match=message):
        load_record("none.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "must be JSON, not text with an error at line 1: .*"),
        (
            b'{"a": ' + 5000 * b"9" + b"}",
            "must be JSON, .*: a number may have at most 1,000 digits",
        ),
        (b"\xff", "must be a text file in UTF-8, not binary data"),
        (b"[]", r"must be a mapping of keys to values, not \[\]"),
    ],
)
def test_file_that_is_no_record_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    path = written(tmp_path / "record.json", text)
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: {message}$"):
        load_record(str(path))
