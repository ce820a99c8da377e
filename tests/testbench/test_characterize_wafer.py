"""Tests of testbench.characterize_wafer."""

from pathlib import Path

import pytest

from fred_hw.wafer.load import load_wafer
from testbench.characterize_wafer import PlanePhasesMeasurement
from tests.testbench.collectives.test_phase_cycles import EXAMPLE


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("wafer")
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.long)])
def test_phases_of_a_small_wafer_are_measured_again_to_the_cycle(
    simulator: str, tmp_path: Path
) -> None:
    """By switches 9 flits cross an L1 and links of 24 cycles; by a ring, blocks do so twice."""
    wafer, cycles = load_wafer(str(EXAMPLE)), dict[str, int]()
    for how in ("in-network", "ring"):
        record = PlanePhasesMeasurement(
            spec=wafer,
            strategies=["MP2-DP1-PP1"],
            flits=[9],
            collectives=[how],
            simulators=(simulator,),
        ).record(tmp_path)
        assert record["flits_checked"] == 2 * 9
        assert [one["name"] for one in record["simulators"]] == [simulator]
        cycles |= {row["collectives"]: row["cycles"] for row in record["rows"]}
    assert cycles == {"in-network": 176, "ring": 264}


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("wafer")
def test_phases_are_measured_by_name(tmp_path: Path) -> None:
    """Of two groups on an L1 one has the controller of the other L1, so its load crosses the L2.

    One alone crosses its L1, as long as the all-reduce above.
    """
    wafer = load_wafer(str(EXAMPLE), {"controllers": "endpoints"})
    record = PlanePhasesMeasurement(
        spec=wafer,
        strategies=["MP2-DP1-PP1", "MP1-DP2-PP1"],
        flits=[9],
        collectives=["in-network"],
        phases=["load_0"],
    ).record(tmp_path)
    rows = [(row["strategy"], row["phase"], row["cycles"]) for row in record["rows"]]
    assert rows == [("MP2-DP1-PP1", "load_0", 260), ("MP1-DP2-PP1", "load_0", 176)]
    assert record["flits_checked"] == 2 * 2 * 9
