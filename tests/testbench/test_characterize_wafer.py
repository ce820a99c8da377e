"""Tests of testbench.characterize_wafer."""

import json
from pathlib import Path

import pytest

from fred_hw.wafer.load import load_wafer
from perfmodel.studies.rtl_plane import SHIPPED_PLANE_CYCLES, SHIPPED_STORAGE_CYCLES
from testbench.characterize_wafer import characterize_wafer, wafer_hash
from testbench.record_head import fewer_lanes
from tests.testbench.collectives.test_phase_cycles import EXAMPLE


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("wafer")
def test_phases_of_a_small_wafer_are_measured_again_to_the_cycle() -> None:
    """By switches 9 flits cross an L1 and links of 24 cycles; by a ring, blocks do so twice."""
    record = characterize_wafer(load_wafer(str(EXAMPLE)), ["MP2-DP1-PP1"], [9], simulator="icarus")
    assert record["flits_checked"] == 2 * 2 * 9
    cycles = {row["collectives"]: row["cycles"] for row in record["rows"]}
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


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("shipped", [SHIPPED_PLANE_CYCLES, SHIPPED_STORAGE_CYCLES])
def test_shipped_cycles_are_of_the_verilog_of_today(shipped: Path) -> None:
    """`make records` mends it: the same Verilog takes as many cycles."""
    source = json.loads(shipped.read_text())["source"]
    wafer = load_wafer(str(EXAMPLE.with_name(f"{shipped.stem}.yaml")))
    assert source["verilog_sha256"] == wafer_hash(fewer_lanes(wafer))
