"""Selection and combination of values as plain gates.

Amaranth's ``Array`` becomes a parallel multiplexer, which Yosys writes as a function that Icarus
does not read.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike

from .wire import wire

__all__ = [
    "any_of",
    "first_of",
    "gated",
    "largest",
    "may_pass",
    "one_hot_mux",
    "round_robin",
    "selected",
]


def any_of(values: Sequence[ValueLike]) -> Value:
    """Return the bitwise or of values."""
    return reduce(or_, [Value.cast(value) for value in values])


def gated(value: ValueLike, enable: Value) -> Value:
    """Return a value while ``enable`` is high, else 0."""
    casted = Value.cast(value)
    return casted & enable if len(casted) == 1 else Mux(enable, casted, 0)


def selected(index: Value, values: Sequence[ValueLike]) -> Value:
    """Return the value of a number, or 0 beyond the last."""
    return any_of([gated(value, index == number) for number, value in enumerate(values)])


def one_hot_mux(choice: Value, values: Sequence[ValueLike]) -> Value:
    """Return the value whose bit of ``choice`` is set, 0 if none is."""
    return any_of([gated(value, choice[k]) for k, value in enumerate(values)])


def may_pass(value: Value, limit: int) -> bool:
    """Return whether a number can be above a limit: a comparison that cannot is a lint error."""
    return limit < (1 << len(value)) - 1


def first_of(m: Module, name: str, choices: Value) -> Value:
    """Return the lowest bit that is set, alone."""
    width, step = len(choices), 1
    below = (choices << 1)[:width]  # whether any below is set, by steps that double
    while step < width - 1:
        below = wire(m, f"{name}_below_{step}", below)
        below = below | (below << step)[:width]
        step *= 2
    return choices & ~below


def largest(m: Module, name: str, values: Sequence[Value]) -> Value:
    """Return the largest of some numbers of one width, by a tree of comparisons.

    Of up to four at a time each is compared with each other at once.
    """
    level = 0
    while len(values) > 1:
        groups = [values[k : k + 4] for k in range(0, len(values), 4)]
        values = [_winner(m, f"{name}_{level}_{k}", group) for k, group in enumerate(groups)]
        level += 1
    return values[0]


def _winner(m: Module, name: str, values: Sequence[Value]) -> Value:
    """Return the largest of some numbers, each compared with each other; of equal ones the last."""
    beaten: list[list[Value]] = [[] for _ in values]
    for i, j in combinations(range(len(values)), 2):
        above = Signal(name=f"{name}_{i}_{j}")
        m.d.comb += above.eq(values[i] > values[j])
        beaten[i].append(~above)
        beaten[j].append(above)
    winner = Signal.like(values[0], name=name)
    wins = Cat(~any_of(others) if others else Const(1) for others in beaten)
    m.d.comb += winner.eq(one_hot_mux(wins, values))
    return winner


def round_robin(m: Module, name: str, choices: Value, recent: Value) -> Signal:
    """Return, alone, the first bit of ``choices`` behind the one of ``recent``, then from 0 on.

    ``recent`` is what was granted last, or 0; the caller keeps it. With no choice there is none.
    """
    width = len(choices)
    behind = Signal(width, name=f"{name}_behind")
    chosen = Signal(width, name=f"{name}_chosen")
    m.d.comb += behind.eq(choices & ~((recent - 1) | recent))
    with m.If(behind.any()):
        m.d.comb += chosen.eq(first_of(m, f"{name}_behind", behind))
    with m.Else():
        m.d.comb += chosen.eq(first_of(m, name, choices))
    return chosen
