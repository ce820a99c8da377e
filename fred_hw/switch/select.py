"""Selection of one of several values as plain gates."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Value

__all__ = ["selected"]


def selected(index: Value, values: Sequence[Value]) -> Value:
    """Return the value of a number, or 0 beyond the last: an and for each, and an or of all.

    Amaranth's ``Array`` becomes a parallel multiplexer, which Yosys writes as a function that
    Icarus does not read.
    """
    chosen = [
        value & (index == number).replicate(len(value)) for number, value in enumerate(values)
    ]
    return reduce(or_, chosen)
