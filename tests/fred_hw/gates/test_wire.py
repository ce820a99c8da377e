"""Contract of fred_hw.gates.wire."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.unit import Unit
from tests.fred_hw.simulation import trace


class Sum(Unit):
    """The sum of two numbers of the cycle before, through a wire."""

    a = member(In, 4)
    b = member(In, 4)
    o = member(Out, 8)

    def __init__(self, width: int | None) -> None:
        self.width, self.unit_name = width, f"sum_w{width}"
        super().__init__()

    def build(self, m: Module) -> None:
        total = wire(m, "total", self.a + self.b, width=self.width)
        assert isinstance(total, Signal) and total.name == "total"
        m.d.sync += self.o.eq(total)


@pytest.mark.parametrize(("width", "total"), [(None, 25), (4, 9)])
def test_wire_is_always_the_value_cut_to_its_width(width: int | None, total: int) -> None:
    assert trace(Sum(width), [{"a": 12, "b": 13}, {"a": 1}, {}], ["o"]) == [0, total, 1]
