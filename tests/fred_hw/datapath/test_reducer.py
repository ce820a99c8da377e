"""Contract of fred_hw.datapath.reducer, cycle by cycle."""

import pytest

from fred_hw.datapath.reducer import Reducer
from fred_hw.spec import SwitchSpec
from tests.fred_hw.simulation import trace


@pytest.mark.parametrize("registers", [0, 1, 3])
def test_latency_and_throughput_of_every_lane(registers: int) -> None:
    spec = SwitchSpec(ports=2, format="int8", lanes=2, adder_registers=registers)
    pairs = [{"i0": k << 8 | 1, "i1": 3 << 8 | k} for k in range(1, 6)]
    seen = trace(Reducer(spec=spec), [*pairs, *[{}] * registers], ["o"])
    assert seen[registers:] == [k + 3 << 8 | k + 1 for k in range(1, 6)]


def test_reset_clears_nothing() -> None:
    unit = Reducer(spec=SwitchSpec(ports=2, format="int8", lanes=1, adder_registers=2))
    assert not unit.resettable
    assert trace(unit, [{"i0": 4, "i1": 5}, {"rst": 1}, {}], ["o"])[2] == 9


def test_what_is_no_specification_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^Reducer spec must be a SwitchSpec, not 3$"):
        Reducer(spec=3)
