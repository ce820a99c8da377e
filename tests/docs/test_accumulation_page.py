"""Area and clock of wider accumulation are those of today's Verilog."""

import pytest

from fred_hw.adder_delays import REFERENCE_NS
from fred_hw.load import load_spec
from synth.liberty import read_libraries
from synth.synthesis import from_spec, synthesize
from synth.timing import find_opensta
from tests.synth.libraries import nangate45

from .test_tables import rows

PAGE = "docs/explanation/hardware-measurements.md"
FOUND = rows(PAGE, "## Clock and area of wider accumulation")


def test_all_meet_the_reference_clock() -> None:
    assert len(FOUND) == 10
    assert max(float(clock) for _, _, clock, *_ in FOUND) < REFERENCE_NS


@pytest.mark.slow
@pytest.mark.skipif(find_opensta() is None, reason="Debian's package opensta is not installed")
def test_a_row_is_what_synthesis_finds() -> None:
    ((_, _, clock, area, _, flip_flops),) = (
        row for row in FOUND if row[:2] == ["`fp8_e5m2`", "`fp16`"]
    )
    changes = {"ports": 8, "format": "fp8_e5m2", "accumulation": "fp16"}
    source = from_spec(load_spec("small-4", changes), "interconnect", "small-4")
    report = synthesize(
        source, read_libraries(nangate45()), clock_ns=REFERENCE_NS, effort="clock"
    ).to_dict()
    assert report["flip_flops"] == int(flip_flops.replace(",", ""))
    # Names of nets alone move area and clock by a few percent.
    assert report["area_um2"] == pytest.approx(float(area.replace(",", "")), rel=0.04)
    assert report["clock_ns"] == pytest.approx(float(clock), rel=0.08)
