"""Tests of `fred characterize`."""

import json
import re
from pathlib import Path

import pytest

from fred_hw.spec import SwitchSpec
from gen.design import Design
from testbench.characterize import SwitchMeasurement
from testbench.characterize_endpoint import EndpointMeasurement
from testbench.characterize_mesh import RouterMeasurement
from testbench.characterize_wafer import PlanePhasesMeasurement
from testbench.faults.datapath import broken_design, operand_dropped
from tests.fred_cli.fred import Fred
from tests.records import shipped
from tests.testbench.cases import assert_deep

ICARUS = ("--sim", "icarus")
"""Compiles these designs in less time than Verilator."""


@pytest.mark.sim
@pytest.mark.slow
def test_characterize_prints_the_record_that_it_writes(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    registers = "--set", "adder_registers=3", "--set", "stage_registers=2"
    deep = "small.yaml", "--set", "ports=2", *registers
    status, out, err = fred("characterize", *deep, *ICARUS, "-o", "new/record.json", "--json")
    assert status == 0, err
    record = json.loads(out)
    assert json.loads(Path("new/record.json").read_text()) == record
    assert record["schema"] == "fred-timing/2" and record["name"] == "fred_m3_p2_int8x1_a3_s2"
    assert_deep(record)
    assert record["clock"]["hz"] > 0 and record["clock"]["source"]
    monkeypatch.setattr(SwitchMeasurement, "record", lambda *_: record)
    status, out, err = fred("characterize", *deep, *ICARUS, "-o", "again.json")
    assert status == 0, err
    assert out.startswith(
        "fred_m3_p2_int8x1_a3_s2: latency 5 cycles, 1.0 flits per cycle and port, "
    )
    assert json.loads(Path("again.json").read_text()) == record


@pytest.mark.sim
@pytest.mark.slow
def test_broken_hardware_gets_no_record(fred: Fred, monkeypatch: pytest.MonkeyPatch) -> None:
    def generate(spec: SwitchSpec, *_: object, **__: object) -> Design:
        return broken_design(spec, operand_dropped)

    monkeypatch.setattr("testbench.characterize.generate", generate)
    status, out, err = fred("characterize", "small.yaml", *ICARUS, "-o", "record.json")
    assert (status, out) == (2, "")
    assert re.search(r"^error: --sim: icarus: no record, as these tests failed: \w+", err, re.M)
    assert not Path("record.json").exists()


def test_record_of_routers_is_printed_and_written(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = shipped("mesh-5x4")
    monkeypatch.setattr(RouterMeasurement, "record", lambda *_: record)
    Path("mesh.yaml").write_text("width: 2\nheight: 2\nformat: int8\nlanes: 1\n")
    status, out, err = fred(
        "characterize", "mesh.yaml", *ICARUS, "--level", "router", "-o", "new.json"
    )
    assert status == 0, err
    assert out.startswith("mesh_5x4_fp16x256_link: a router takes 8 cycles, 0.9695 of the link ")
    assert "clock 1.464844 GHz, derived from the published mesh link rate" in out
    assert json.loads(Path("new.json").read_text()) == record


def test_record_of_an_endpoint_is_printed_and_written(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = shipped("endpoint")
    monkeypatch.setattr(EndpointMeasurement, "record", lambda *_: record)
    status, out, err = fred(
        "characterize", "l1-12", *ICARUS, "--level", "endpoint", "-o", "new.json"
    )
    assert status == 0, err
    cycles = record["endpoint"]["start_cycles"]
    assert out.startswith(f"fred_m3_p12_fp16x256: an endpoint sends {cycles} cycles after COMMAND")
    assert json.loads(Path("new.json").read_text()) == record


def test_phases_of_a_wafer_are_printed_and_written(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[PlanePhasesMeasurement] = []

    def record(measurement: PlanePhasesMeasurement, work: Path) -> dict[str, object]:
        asked.append(measurement)
        row = {"strategy": "MP2-DP2-PP1", "phase": "mp_all_reduce", "collectives": "ring"}
        return {
            "name": "w",
            "seed": 1,
            "flits_checked": 9,
            "rows": [row | {"flits": 8, "cycles": 7}],
        }

    monkeypatch.setattr(PlanePhasesMeasurement, "record", record)
    words = ("--level", "wafer", "--strategy", "MP2-DP2-PP1", "--flits", "8")
    words = (*words, "--collectives", "ring", "--phase", "mp_all_reduce")
    status, out, err = fred("characterize", "wafer.yaml", *words)
    assert status == 0, err
    assert "mp_all_reduce" in out and "9 flits checked, seed 1" in out
    [one] = asked
    assert (one.strategies, one.flits) == (("MP2-DP2-PP1",), (8,))
    assert (one.collectives, one.phases) == (("ring",), ("mp_all_reduce",))
