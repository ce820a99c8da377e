"""Tests of fred_hw.gates.fsm."""

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from fred_hw.gates.fsm import Fsm
from fred_hw.member import member
from fred_hw.unit import Unit
from tests.fred_hw.simulation import trace


class Walk(Unit):
    """Walk from "a" over "b" to "c" while ``go`` is high, and stay there."""

    unit_name = "walk"
    go = member(In, 1)
    at = member(Out, 3)

    def build(self, m: Module) -> None:
        fsm = Fsm(m, "a", "b", "c")
        for name, following in (("a", "b"), ("b", "c")):
            with fsm.state(name), m.If(self.go):
                fsm.go(following)
        m.d.comb += [self.at[n].eq(fsm.ongoing(name)) for n, name in enumerate("abc")]


def test_one_state_at_a_time_from_the_first_one_on() -> None:
    seen = trace(Walk(), [{"go": go} for go in (0, 1, 0, 1, 1, 0)], ["at"])
    assert seen == [1, 1, 2, 2, 4, 4]


@pytest.mark.parametrize("names", [(), ("a", "b", "a")])
def test_states_without_a_name_of_their_own_are_refused(names: tuple[str, ...]) -> None:
    text = rf"^Fsm names must be 1 or more and different, not \[{str(list(names))[1:-1]}\]$"
    with pytest.raises(ValueError, match=text):
        Fsm(Module(), *names)
