"""Phases that endpoints do alone, on a plane: bit for bit, and how long they take."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import WaferProgram, compile_strategy
from testbench.collectives.fabric import Finished
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import cycles_record, phase_cycles
from testbench.collectives.plane import PlaneRun
from testbench.models.golden_ring import all_reduce
from testbench.sim.tools import SimulatorError
from tests.testbench.collectives.planes import (
    EXAMPLE,
    bare_wafer,
    compiled_bare_plane,
    compiled_plane,
)

FLIT = 2


def program(strategy: str, flits: int) -> WaferProgram:
    wafer, parsed = load_wafer(str(EXAMPLE)), Strategy.parse(strategy)
    return compile_strategy(wafer, parsed, FLIT * flits, collectives="ring")


def test_a_record_has_rows() -> None:
    with pytest.raises(ValueError, match=r"^a record must have one row or more, not none$"):
        cycles_record([])
    assert cycles_record([({"flits": 2, "cycles": 9}, 4)])["rows"] == [{"flits": 2, "cycles": 9}]


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("wafer")
@pytest.mark.parametrize(
    ("strategy", "phase", "flits"),
    [
        ("MP2-DP2-PP1", "dp_all_reduce", 25),  # through the L2; blocks are not alike
        ("MP4-DP1-PP1", "mp_all_reduce", 24),  # two levels of rings
        ("MP4-DP1-PP1-SP", "sp_reduce_scatter", 25),  # one ring, whatever they hang on
        ("MP4-DP1-PP1-SP", "sp_all_gather", 25),
        ("MP1-DP1-PP4", "pp_backward", 24),  # who sends in one flow receives in another
    ],
)
def test_endpoints_do_phases_alone(tmp_path: Path, strategy: str, phase: str, flits: int) -> None:
    """And what is wrong is told: a result, and a descriptor that was refused."""
    made, kept = program(strategy, flits), []

    def run(one: PlaneRun) -> Finished:
        kept.append(run_joined(compiled_plane(), one, tmp_path))
        return kept[0]

    found = phase_cycles(made, made.phase(phase), run)
    assert found.flits == flits * (3 if phase == "pp_backward" else 4)
    assert 100 < found.cycles < 1000
    memories = [memory.copy() for memory in kept[0].memories]
    memories[2][made.size // FLIT + 3, 0] ^= 1
    with pytest.raises(SimulatorError, match=rf"^{phase}: NPU 2 has a wrong result$"):
        phase_cycles(made, made.phase(phase), lambda _: replace(kept[0], memories=memories))
    reads = [{**reads, "ERROR": [0, 8]} for reads in kept[0].reads]
    with pytest.raises(SimulatorError, match=rf"^{phase}: an endpoint has refused a descriptor$"):
        phase_cycles(made, made.phase(phase), lambda _: replace(kept[0], reads=reads))


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.long  # four lanes are two models to compile
@pytest.mark.xdist_group("wafer")
@pytest.mark.parametrize("collectives", ["in-network", "ring"])
def test_cycles_do_not_depend_on_lanes(tmp_path: Path, collectives: str) -> None:
    """Endpoints and switches of two levels take as long with four lanes, 64 bits, as with one.

    What all NPUs have then is right in each lane. Four lanes are what ``joined.cpp`` has at most.
    """
    found = []
    for lanes in (1, 4):
        wafer, model = bare_wafer(lanes), compiled_bare_plane(lanes)
        assert wafer.link.data_width == 16 * lanes
        size = 25 * wafer.link.data_width // 8
        strategy = Strategy.parse("MP2-DP2-PP1")
        made = compile_strategy(wafer, strategy, size, collectives=collectives)
        folder = tmp_path / str(lanes)
        found.append(
            phase_cycles(
                made,
                made.phase("dp_all_reduce"),
                lambda one, model=model, folder=folder: run_joined(model, one, folder),
            )
        )
    assert found[0] == found[1]
    assert found[0].flits == 4 * 25


def test_golden_ring_adds_from_the_next_member_on() -> None:
    """Numbers that show who came when: sums of words are the words one behind the other."""

    def join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a * 10 + b

    def one(number: int) -> np.ndarray:
        return np.full((4, 1), number)

    assert all_reduce([[one(k) for k in (1, 2, 3)]], join)[:, 0].tolist() == [231, 231, 312, 312]
    # Reduced in pairs to 21 and 12, 43 and 34; block 0 begins with the second pair.
    assert all_reduce([[one(1), one(2)], [one(3), one(4)]], join)[:, 0].tolist() == [
        43 * 10 + 21,
        21 * 10 + 43,
        34 * 10 + 12,
        12 * 10 + 34,
    ]
