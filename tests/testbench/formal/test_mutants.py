"""Tests of testbench.formal.mutants: what is killed, what is equivalent, and what survives."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from fred_hw.member import member
from fred_hw.unit import Unit
from testbench.faults.fault import Fault
from testbench.formal.harness import Harness
from testbench.formal.mutants import try_mutants
from testbench.formal.property import PROPERTIES, Property


class Delay(Unit):
    """Delay a bit by one cycle, with a gate that nothing depends on: i & (i | j) is i."""

    i = member(In, 1)
    """The input."""
    j = member(In, 1)
    """Has no effect."""
    o = member(Out, 1)
    """The delayed input."""

    def __init__(self) -> None:
        self.unit_name = "delay"
        super().__init__()

    def build(self, m: Module) -> None:
        m.d.sync += self.o.eq(self.i & (self.i | self.j))


def follows(c: Harness, u: Any) -> None:
    c.check("follows", u.o == c.delayed(u.i, 1, reset=True))


def says_nothing(c: Harness, u: Any) -> None:
    c.check("nothing", u.o | ~u.o)


def delay(conditions: Any) -> Property:
    return Property("delay", Delay, "", "", conditions, Fault(Delay, {}, lambda *_: None))


@pytest.mark.slow
def test_complete_property_kills_what_an_empty_one_does_not(tmp_path: Path) -> None:
    strong, weak = (
        try_mutants([delay(one)], tmp_path / one.__name__, count=12, seed=1)
        for one in (follows, says_nothing)
    )
    assert strong.drawn == weak.drawn == strong.killed + strong.equivalent
    assert strong.survivors == ()
    assert strong.killed and strong.equivalent
    assert weak.killed == 0
    # The same mutants are drawn, and those that are killed above differ from the unit.
    assert (weak.equivalent, len(weak.survivors)) == (strong.equivalent, strong.killed)
    assert all("-mode" in name and "undecided" not in name for name in weak.survivors)


@pytest.mark.slow
def test_properties_of_a_unit_are_tried_together(tmp_path: Path) -> None:
    both = [delay(says_nothing), delay(follows)]
    found = try_mutants(both, tmp_path, count=4, seed=1)
    assert (found.properties, found.survivors) == (("delay", "delay"), ())
    assert found.killed


@pytest.mark.slow
def test_sample_of_a_queue_is_killed(tmp_path: Path) -> None:
    found = try_mutants([PROPERTIES["fifo-keeps-order"]], tmp_path, count=6, seed=1)
    assert (found.unit, found.drawn, found.survivors) == ("fifo_w2_d4", 6, ())
    assert found.killed > 0
