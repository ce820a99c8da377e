"""Tests of testbench.cosimulation.shown."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.formats.number_format import FORMATS, NumberFormat
from fred_hw.spec import SwitchSpec
from testbench.cosimulation.shown import as_text, cosimulate_shown

SPECS: list[dict[str, Any]] = [
    {"ports": 5, "format": "fp16", "lanes": 2},
    {"ports": 3, "format": "int8", "lanes": 1, "operation": "max", "stage_registers": 2},
    {"ports": 5, "format": "tf32", "lanes": 2},
]
NUMBERS = [
    (FORMATS["int8"], 200, "-56"),
    (FORMATS["uint8"], 200, "200"),
    (FORMATS["int32"], 1234567, "1234567"),
    (FORMATS["fp16"], 0xC000, "-2"),
    (FORMATS["tf32"], 0xC0201FFF, "-2.5"),
    (FORMATS["fp6_e2m3"], 0xFF, "-7.5"),
]
SUMS = {"sum": ["7", "12", "17"], "max": ["2", "3", "4"]}


@pytest.mark.slow
@pytest.mark.sim
@pytest.mark.parametrize("fields", SPECS, ids=lambda fields: SwitchSpec(**fields).name)
def test_ports_are_seen_cycle_by_cycle(fields: dict[str, Any], tmp_path: Path) -> None:
    spec = SwitchSpec(**fields)
    shown = cosimulate_shown(spec, tmp_path)
    latency = latency_cycles(spec)
    assert shown.latency_cycles == latency and shown.simulator == "icarus"
    idle: list[str | None] = [None] * (latency + 1)
    for port, row in enumerate(shown.inputs):
        assert list(row) == [str(1 + k + port % 2) for k in range(3)] + idle
    for row in shown.outputs:
        assert list(row) == [*idle[1:], *SUMS[spec.operation], None]
    assert len(shown.inputs) == len(shown.outputs) == spec.ports


@pytest.mark.parametrize(("form", "raw", "text"), NUMBERS, ids=lambda one: str(one)[:20])
def test_bits_are_shown_as_the_number_that_they_stand_for(
    form: NumberFormat, raw: int, text: str
) -> None:
    assert as_text(raw, form) == text
