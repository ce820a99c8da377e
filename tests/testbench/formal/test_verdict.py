"""Tests of testbench.formal.verdict: proofs, and that none of them is unable to fail."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux
from amaranth.lib.wiring import In, Out

from fred_hw.member import member
from fred_hw.unit import Unit
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.property import PROPERTIES, Bound, Property
from testbench.formal.verdict import verify

FAST = [name for name, one in PROPERTIES.items() if one.fast]


class Counter(Unit):
    """Count from 0 to 5, and stay there."""

    step = member(In, 1)
    count = member(Out, 3)

    def __init__(self) -> None:
        self.unit_name = "counter"
        super().__init__()

    def build(self, m: Module) -> None:
        m.d.sync += self.count.eq(self.count + (self.step & (self.count != 5)))


@broken(Counter, {})
def counts_on(m: Module, sound: Any, ports: Any) -> None:
    """The counter appears to be at 6 when it is at 4."""
    m.d.comb += ports.count.eq(Mux(sound.count == 4, 6, sound.count))


@broken(Counter, {})
def harmless(m: Module, sound: Any, ports: Any) -> None:
    """Nothing is broken."""


def at_most(c: Harness, u: Any, most: int) -> None:
    c.check("most", u.count <= most)
    c.cover("most", u.count == most)


def counter(conditions: Any, mutant: Any = counts_on, bound: Bound | None = None) -> Property:
    return Property("counter", Counter, "", "", conditions, mutant, bound)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_property_holds_and_can_fail(name: str, tmp_path: Path) -> None:
    verdict = verify(PROPERTIES[name], tmp_path)
    assert verdict.holds, verdict.failed
    assert verdict.killed_after is not None, verdict.mutant
    assert verdict.covers
    assert None not in verdict.covers.values(), verdict.covers


def test_proof_without_a_bound_has_an_invariant(tmp_path: Path) -> None:
    verdict = verify(counter(lambda c, u: at_most(c, u, 5)), tmp_path)
    assert verdict.passed
    assert (verdict.method, verdict.covers, verdict.killed_after) == ("induction", {"most": 6}, 5)
    assert verdict.invariant > 0
    assert not verdict.trace


@pytest.mark.parametrize(
    ("add", "name"),
    [
        (lambda c: c.free(1, "twice"), "twice"),
        (lambda c: c.show(c.ports.step, "twice"), "twice"),
        (lambda c: c.check("twice", c.ports.step), "check_twice"),
        (lambda c: c.cover("twice", c.ports.step), "cover_twice"),
        (lambda c: c.free(1, "step"), "step"),
    ],
    ids=["free", "show", "check", "cover", "port"],
)
def test_two_signals_with_one_name_are_refused(add: Callable[[Harness], None], name: str) -> None:
    c = Harness(Counter())
    if name != "step":
        add(c)
    message = f"^name of a signal of a harness must be new, not '{name}'$"
    with pytest.raises(ValueError, match=message):
        add(c)


def test_counterexample_is_a_shortest_trace_of_the_ports(tmp_path: Path) -> None:
    bound = Bound(8, "")
    verdict = verify(counter(lambda c, u: at_most(c, u, 4), bound=bound), tmp_path)
    assert (verdict.holds, verdict.passed, verdict.failed) == (False, False, ("most",))
    assert [cycle["count"] for cycle in verdict.trace[1:]] == [0, 1, 2, 3, 4, 5]
    assert [cycle["step"] for cycle in verdict.trace[1:-1]] == [1] * 5


def test_bounded_proof_ends_at_its_depth(tmp_path: Path) -> None:
    deep = [Bound(cycles, "") for cycles in (5, 6)]
    found = [verify(counter(lambda c, u: at_most(c, u, 4), bound=b), tmp_path) for b in deep]
    assert [one.holds for one in found] == [True, False]


def test_mutant_that_survives_fails(tmp_path: Path) -> None:
    verdict = verify(counter(lambda c, u: at_most(c, u, 5), harmless), tmp_path)
    assert (verdict.holds, verdict.killed_after, verdict.passed) == (True, None, False)


def test_assumptions_that_exclude_everything_fail(tmp_path: Path) -> None:
    def never(c: Harness, u: Any) -> None:
        c.assume(u.count == 6)
        at_most(c, u, 5)

    verdict = verify(counter(never), tmp_path)
    assert (verdict.holds, verdict.covers, verdict.passed) == (True, {"most": None}, False)


def test_property_without_a_cover_fails(tmp_path: Path) -> None:
    verdict = verify(counter(lambda c, u: c.check("most", u.count <= 5)), tmp_path)
    assert (verdict.holds, verdict.killed_after, verdict.passed) == (True, 5, False)


def test_every_property_says_what_it_omits() -> None:
    for one in PROPERTIES.values():
        assert one.shows.endswith("."), one.name
        assert one.omits, one.name
        assert one.mutant.disturb.__doc__, one.name
        assert one.bound is None or one.bound.why, one.name
