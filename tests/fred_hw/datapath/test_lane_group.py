"""Contract of fred_hw.datapath.lane_group, cycle by cycle."""

import pytest

from fred_hw.datapath.lane_group import LaneGroup
from fred_hw.datapath.reducer import Reducer
from fred_hw.spec import SwitchSpec
from tests.fred_hw.datapath.test_reducer import both_ways
from tests.fred_hw.simulation import trace


@pytest.mark.parametrize("registers", range(4))
def test_latency_and_throughput_of_both_ways(registers: int) -> None:
    spec = SwitchSpec(ports=2, lanes=3, format="int8", adder_registers=registers)
    both_ways(spec, registers, LaneGroup(spec=spec))


@pytest.mark.parametrize("lanes", [8, 9, 16, 19])
def test_groups_of_a_reducer_keep_lanes_in_order(lanes: int) -> None:
    spec = SwitchSpec(ports=2, lanes=lanes, format="int8", adder_registers=1)
    both_ways(spec, lanes, Reducer(spec=spec))


def test_reset_clears_nothing() -> None:
    unit = LaneGroup(spec=SwitchSpec(ports=2, format="int8", lanes=1, adder_registers=2))
    assert not unit.resettable
    assert trace(unit, [{"i0": 4, "i1": 5}, {"rst": 1}, {}], ["o"])[2] == 9
