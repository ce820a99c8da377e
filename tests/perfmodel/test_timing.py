"""Tests of perfmodel.timing."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.timing import RECORDS, load_record

SHIPPED = {"l1-11": 11, "l1-12": 12, "l2-10": 10}


def content() -> dict[str, Any]:
    return json.loads((RECORDS / "l1-12.json").read_text(encoding="utf-8"))


def write(folder: Path, data: object) -> str:
    path = folder / "record.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("name", "ports"), SHIPPED.items())
def test_shipped_record_describes_its_chiplet(name: str, ports: int) -> None:
    record = load_record(name).record
    assert (record.spec.ports, record.spec.middle, record.spec.lanes) == (ports, 3, 256)
    assert record.latency_cycles > 0


def test_latency_is_cycles_at_the_clock(tmp_path: Path) -> None:
    data = content() | {"latency_cycles": 9, "clock": {"hz": 3e9, "source": "test"}}
    assert load_record(write(tmp_path, data)).latency_s == pytest.approx(3e-9)


@pytest.mark.parametrize(("protocol", "expected"), [(None, 0.5), (0.9, 0.45)])
def test_efficiency_is_what_was_measured(
    tmp_path: Path, protocol: float | None, expected: float
) -> None:
    data = content() | {"throughput_flits_per_cycle": 0.5, "protocol_efficiency": protocol}
    timing = load_record(write(tmp_path, data))
    assert timing.efficiency == pytest.approx(expected)
    assert ("protocol_efficiency" in timing.use("l2").not_measured) == (protocol is None)


def test_use_tells_what_was_measured_by_whom(tmp_path: Path) -> None:
    data = content() | {
        "simulators": [{"name": "icarus", "version": "11.0"}],
        "seed": 7,
        "source": {"git_commit": "abc", "verilog_sha256": "0"},
    }
    use = load_record(write(tmp_path, data)).use("l1_0")
    assert use.switches == "l1_0"
    assert use.measured_by == "icarus 11.0; seed 7; abc"


def test_relative_path_starts_at_the_base(tmp_path: Path) -> None:
    write(tmp_path, content())
    assert load_record("record.json", tmp_path).record == load_record("l1-12").record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"latency_cycles": -1}, "latency_cycles: must be greater than or equal to 0, not -1"),
        ({"latency_cycles": True}, "latency_cycles: must be a valid integer, not True"),
        ({"latency": 1}, "latency: unknown key; allowed are .*"),
        ({"schema": "fred-timing/2"}, "schema: must be 'fred-timing/1', not 'fred-timing/2'"),
        ({"simulators": []}, r"simulators: .* at least 1 item .*"),
        ({"throughput_flits_per_cycle": 1.5}, "throughput_flits_per_cycle: .* 1, not 1.5"),
        ({"name": "x"}, "name must be fred_m3_p12_fp16x256 as spec says, not x"),
        (
            {"measured_spec": {"ports": 8, "lanes": 4}},
            "measured_spec must differ from spec in lanes only",
        ),
    ],
)
def test_bad_record_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write(tmp_path, content() | change)
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: {message}$"):
        load_record(path)


def test_missing_field_is_refused(tmp_path: Path) -> None:
    data = content()
    del data["clock"]
    path = write(tmp_path, data)
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: clock: is required and was not"):
        load_record(path)


def test_unknown_name_is_refused() -> None:
    known = "l1-11, l1-12, l2-10"
    message = rf"^timing record: must be .*{known}.* or a path ending in \.json, not 'l3'$"
    with pytest.raises(InputError, match=message):
        load_record("l3")


def test_missing_file_is_refused() -> None:
    message = r"^none\.json: must be a readable file, not no such file or directory$"
    with pytest.raises(InputError, match=message):
        load_record("none.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "must be JSON, not text with an error at line 1: .*"),
        (b"\xff", "must be a text file in UTF-8, not binary data"),
        (b"[]", r"must be a mapping of keys to values, not \[\]"),
    ],
)
def test_file_that_is_no_record_is_refused(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}: {message}$"):
        load_record(str(path))
