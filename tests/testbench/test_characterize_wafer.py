"""Tests of testbench.characterize_wafer."""

import re

import pytest

from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.spec import WaferSpec
from perfmodel.studies.rtl_plane import PlaneRecord, load_plane_cycles
from perfmodel.studies.rtl_shipped import SHIPPED_PLANES
from perfmodel.switch_timing.record import RECORDS
from testbench.characterize_wafer import characterize_wafer, wafer_hash
from testbench.record_head import fewer_lanes
from tests.testbench.collectives.test_phase_cycles import EXAMPLE


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("wafer")
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.long)])
def test_phases_of_a_small_wafer_are_measured_again_to_the_cycle(simulator: str) -> None:
    """By switches 9 flits cross an L1 and links of 24 cycles; by a ring, blocks do so twice."""
    wafer, cycles = load_wafer(str(EXAMPLE)), dict[str, int]()
    for how in ("in-network", "ring"):
        record = characterize_wafer(
            wafer, ["MP2-DP1-PP1"], [9], collectives=[how], simulator=simulator
        )
        assert record["flits_checked"] == 2 * 9
        assert [one["name"] for one in record["simulators"]] == [simulator]
        cycles |= {row["collectives"]: row["cycles"] for row in record["rows"]}
    assert cycles == {"in-network": 176, "ring": 264}


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("wafer")
def test_phases_are_measured_by_name() -> None:
    """Of two groups on an L1 one has the controller of the other L1, so its load crosses the L2.

    One alone crosses its L1, as long as the all-reduce above.
    """
    wafer = load_wafer(str(EXAMPLE), {"controllers": "endpoints"})
    record = characterize_wafer(
        wafer, ["MP2-DP1-PP1", "MP1-DP2-PP1"], [9], collectives=["in-network"], phases=["load_0"]
    )
    rows = [(row["strategy"], row["phase"], row["cycles"]) for row in record["rows"]]
    assert rows == [("MP2-DP1-PP1", "load_0", 260), ("MP1-DP2-PP1", "load_0", 176)]
    assert record["flits_checked"] == 2 * 2 * 9


def shipped(name: str) -> tuple[PlaneRecord, WaferSpec]:
    """Return a record and the wafer that it is of."""
    example = re.sub("-[ab]$", "-narrow", name)  # of FRED-A and B
    wafer = load_wafer(str(EXAMPLE.with_name(f"{example}.yaml")))
    return load_plane_cycles(RECORDS / f"{name}.json"), wafer


@pytest.mark.parametrize("name", SHIPPED_PLANES)
def test_shipped_cycles_are_of_the_examples(name: str) -> None:
    record, wafer = shipped(name)
    assert record.spec == wafer


@pytest.mark.sim
@pytest.mark.slow(10)
@pytest.mark.parametrize("name", SHIPPED_PLANES)
def test_shipped_cycles_are_of_the_verilog_of_today(name: str) -> None:
    """`make records` mends it: the same Verilog takes as many cycles."""
    record, wafer = shipped(name)
    assert record.source.verilog_sha256 == wafer_hash(fewer_lanes(wafer))
