"""Selection and combination of values as plain gates.

Amaranth's ``Array`` becomes a parallel multiplexer, which Yosys writes as a function that Icarus
does not read.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from operator import add, or_
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike

from .wire import wire

__all__ = [
    "Grant",
    "above",
    "any_of",
    "chosen_by_pairs",
    "combined",
    "decoded",
    "first_of",
    "gated",
    "largest",
    "may_pass",
    "next_grant",
    "once_and_twice",
    "one_hot_mux",
    "round_robin",
    "selected",
    "sum_of",
]


def combined(operation: Callable[[Value, Value], Value], values: Iterable[ValueLike]) -> Value:
    """Return values combined by an associative operation; 0 if there are none.

    The expression is a balanced tree. A chain of hundreds of values exceeds the recursion depth of
    Amaranth's converter, and each step of a chain of sums is a bit wider than the step before.
    """
    level = [Value.cast(value) for value in values] or [Const(0)]
    while len(level) > 1:
        pairs = [operation(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def any_of(values: Iterable[ValueLike]) -> Value:
    """Return the bitwise OR of values."""
    return combined(or_, values)


def sum_of(values: Iterable[ValueLike]) -> Value:
    """Return the sum of values, wide enough for the largest sum."""
    return combined(add, values)


def gated(value: ValueLike, enable: Value) -> Value:
    """Return a value while ``enable`` is high, else 0."""
    casted = Value.cast(value)
    return casted & enable if len(casted) == 1 else Mux(enable, casted, 0)


def selected(index: Value, values: Sequence[ValueLike]) -> Value:
    """Return the value with a given number; 0 beyond the last."""
    return any_of([gated(value, index == number) for number, value in enumerate(values)])


def decoded(number: Value, count: int) -> Value:
    """Return ``count`` bits, with only the bit of a number set."""
    return (Const(1) << number)[:count]


def one_hot_mux(choice: Value, values: Sequence[ValueLike]) -> Value:
    """Return the value whose bit of ``choice`` is set; 0 if none is."""
    return any_of([gated(value, choice[k]) for k, value in enumerate(values)])


def may_pass(value: Value, limit: int) -> bool:
    """Return whether a number can exceed a limit; a comparison that cannot is a lint error."""
    return limit < (1 << len(value)) - 1


def above(m: Module, name: str, choices: Value) -> Value:
    """Return all bits above the lowest set bit, computed in doubling steps."""
    width, step = len(choices), 1
    below = (choices << 1)[:width]
    while step < width - 1:
        below = wire(m, f"{name}_below_{step}", below)
        below = below | (below << step)[:width]
        step *= 2
    return below


def first_of(m: Module, name: str, choices: Value) -> Value:
    """Return only the lowest set bit."""
    return choices & ~above(m, name, choices)


def largest(m: Module, name: str, values: Sequence[Value]) -> Value:
    """Return the largest of some numbers of one width, by a tree of comparisons.

    Each of up to four numbers at a time is compared with every other in parallel.
    """
    level = 0
    while len(values) > 1:
        groups = [values[k : k + 4] for k in range(0, len(values), 4)]
        values = [_winner(m, f"{name}_{level}_{k}", group) for k, group in enumerate(groups)]
        level += 1
    return values[0]


def _winner(m: Module, name: str, values: Sequence[Value]) -> Value:
    """Return the largest of several numbers by pairwise comparison; ties go to the last."""
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


def once_and_twice(m: Module, name: str, values: Sequence[Value]) -> tuple[Value, Value]:
    """Return the bits set in one or more values of one width, and in two or more."""
    pairs, level = [(value, Const(0, len(value))) for value in values], 0
    while len(pairs) > 1:
        halves = zip(pairs[::2], pairs[1::2], strict=False)
        merged = [
            (
                wire(m, f"{name}_once_{level}_{k}", a | b),
                wire(m, f"{name}_twice_{level}_{k}", two_a | two_b | (a & b)),
            )
            for k, ((a, two_a), (b, two_b)) in enumerate(halves)
        ]
        pairs, level = merged + pairs[2 * len(merged) :], level + 1
    return pairs[0]


class Grant(NamedTuple):
    """Result of a round-robin arbiter: the grant and the next priority mask.

    Parameters
    ----------
    chosen : Signal
        The granted request, one-hot; 0 without requests.
    behind : Signal
        Mask of the bits after it, which the caller stores for the next grant; 0 without requests.
    """

    chosen: Signal
    behind: Signal


def next_grant(m: Module, name: str, choices: Value, behind: Value) -> Grant:
    """Return the first set bit of ``choices`` among ``behind``, otherwise among all.

    ``behind`` has the bits after the last grant, so that arbitration starts from a register; 0 for
    the first grant. Both searches run in parallel.
    """
    width = len(choices)
    ahead = wire(m, f"{name}_ahead", choices & behind)
    again = wire(m, f"{name}_again", ~ahead.any())
    above_ahead = wire(m, f"{name}_above_ahead", above(m, f"{name}_ahead", ahead))
    above_all = wire(m, f"{name}_above_all", above(m, name, choices))
    alone, first = ahead & ~above_ahead, choices & ~above_all
    return Grant(
        wire(m, f"{name}_chosen", alone | (first & again.replicate(width))),
        wire(m, f"{name}_behind", above_ahead | (above_all & again.replicate(width))),
    )


def chosen_by_pairs(m: Module, name: str, choices: Value, behind: Value) -> Signal:
    """Return the result of :func:`next_grant`, computed from each pair of bits.

    The order of any two bits is known from ``behind``, before ``choices`` arrive. This takes more
    gates, but fewer in series; ``behind`` has no gaps below its lowest bit.
    """
    width = len(choices)
    # The bits that precede bit k: if k is in `behind`, the lower bits in it; otherwise all lower
    # bits and the higher bits in it.
    first = [
        Mux(behind[k], behind[:k], Cat(Const((1 << k) - 1, k), Const(0, 1), behind[k + 1 :]))
        for k in range(width)
    ]
    return wire(
        m, f"{name}_chosen", Cat(choices[k] & ~(choices & first[k]).any() for k in range(width))
    )


def round_robin(m: Module, name: str, choices: Value, recent: Value) -> Signal:
    """Return only the first set bit of ``choices`` after that of ``recent``, wrapping around.

    ``recent`` is the previous result, or 0, and is stored by the caller. Without a choice the
    result is 0. Where the clock is short, store the bits after it instead (:func:`next_grant`).
    """
    return next_grant(m, name, choices, ~((recent - 1) | recent)[: len(choices)]).chosen
