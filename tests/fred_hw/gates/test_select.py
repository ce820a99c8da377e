"""Tests of fred_hw.gates.select: every input of a few bits."""

from collections.abc import Callable
from itertools import product

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import (
    above,
    any_of,
    first_of,
    gated,
    largest,
    may_pass,
    next_grant,
    one_hot_mux,
    round_robin,
    selected,
    sum_of,
)
from fred_hw.member import member
from fred_hw.unit import Unit
from tests.fred_hw.simulation import trace

WIDTH = 5


class Gates(Unit):
    """Whatever a function makes of two inputs."""

    clocked = False
    a = member(In, WIDTH)
    b = member(In, WIDTH)
    o = member(Out, 8)

    def __init__(self, function: Callable[[Module, Value, Value], Value]) -> None:
        self.function, self.unit_name = function, f"gates_{id(function)}"
        super().__init__()

    def build(self, m: Module) -> None:
        m.d.comb += self.o.eq(self.function(m, self.a, self.b))


def outputs(function: Callable[[Module, Value, Value], Value]) -> dict[tuple[int, int], int]:
    """Return the output for every pair of inputs."""
    pairs = list(product(range(1 << WIDTH), repeat=2))
    seen = trace(Gates(function), [{"a": a, "b": b} for a, b in pairs], ["o"])
    return dict(zip(pairs, seen, strict=True))


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (lambda m, a, b: any_of([a, b]), lambda a, b: a | b),
        (lambda m, a, b: any_of([]), lambda a, b: 0),
        (lambda m, a, b: any_of([a[:1], b[1:], a[2:]]), lambda a, b: a & 1 | b >> 1 | a >> 2),
        (lambda m, a, b: sum_of([a, b, Const(1)]), lambda a, b: a + b + 1),
        (lambda m, a, b: gated(a, b[0]), lambda a, b: a * (b & 1)),
        (lambda m, a, b: gated(a[2], b[0]), lambda a, b: a >> 2 & b & 1),
        (lambda m, a, b: first_of(m, "first", a), lambda a, b: a & -a),
        (lambda m, a, b: above(m, "first", a), lambda a, b: -2 * (a & -a) & (1 << WIDTH) - 1),
        (
            lambda m, a, b: selected(a, [b, Const(7), b[:2]]),
            lambda a, b: [b, 7, b & 3][a] if a < 3 else 0,
        ),
    ],
    ids=[
        "any_of",
        "any_of nothing",
        "any_of three",
        "sum_of",
        "gated",
        "gated_bit",
        "first_of",
        "above",
        "selected",
    ],
)
def test_gates(
    function: Callable[[Module, Value, Value], Value], want: Callable[[int, int], int]
) -> None:
    assert outputs(function) == {(a, b): want(a, b) for a, b in outputs(function)}


def test_one_hot_mux_gives_the_value_of_the_set_bit() -> None:
    got = outputs(lambda m, a, b: one_hot_mux(a, [Const(17 * n + 1) for n in range(WIDTH)]))
    assert all(got[0, b] == 0 for b in range(1 << WIDTH))
    assert all(got[1 << n, 0] == 17 * n + 1 for n in range(WIDTH))


def test_round_robin_goes_on_behind_the_last_one() -> None:
    got = outputs(lambda m, a, b: round_robin(m, "turn", a, b))
    for choices in range(1 << WIDTH):
        for last in range(WIDTH):
            order = [(last + 1 + n) % WIDTH for n in range(WIDTH)]
            want = next((1 << n for n in order if choices >> n & 1), 0)
            assert got[choices, 1 << last] == want
        assert got[choices, 0] == choices & -choices


def test_a_turn_begins_with_those_behind_the_last_one_and_tells_those_behind_it() -> None:
    def turn(m: Module, a: Value, b: Value) -> Value:
        both = next_grant(m, "turn", a[:4], b[:4])
        return Cat(both.chosen, both.behind)

    got = outputs(turn)
    for choices in range(1 << 4):
        for last in range(4):
            behind = 15 & -2 << last
            first = choices & behind or choices
            chosen = first & -first
            assert got[choices, behind] == chosen | (15 & -2 * chosen) << 4
        assert got[choices, 0] & 15 == choices & -choices


def test_round_robin_is_fair() -> None:
    """A source that asks in every cycle is granted once in as many grants as there are sources."""
    got = outputs(lambda m, a, b: round_robin(m, "turn", a, b))
    last, granted = 0, []
    for _ in range(3 * WIDTH):
        last = got[(1 << WIDTH) - 1, last]
        granted.append(last)
    assert granted == [1 << n for n in range(WIDTH)] * 3


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_largest_of_some_numbers(count: int) -> None:
    def pieces(a: int, b: int) -> list[int]:
        """Return numbers of two bits that differ in their places."""
        return [(a << 5 | b) >> k & 3 for k in range(count)]

    got = outputs(lambda m, a, b: largest(m, "top", [Cat(b, a)[k : k + 2] for k in range(count)]))
    assert got == {(a, b): max(pieces(a, b)) for a, b in got}


@pytest.mark.parametrize("limit", range(10))
def test_number_may_pass_a_limit_that_its_bits_can_say(limit: int) -> None:
    assert may_pass(Signal(3), limit) is (limit in range(7))


@pytest.mark.slow
def test_a_thousand_values_are_combined_in_an_expression_of_few_levels() -> None:
    values = [Signal() for _ in range(1000)]
    assert len(sum_of(values)) == 11
    m = Module()
    o = Signal(10)
    m.d.comb += o.eq(sum_of(values) | any_of(values) | one_hot_mux(Cat(values), values))
    assert "module" in rtlil.convert(m, ports=[*values, o])
