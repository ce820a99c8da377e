"""Sums of numbers, written as exact arithmetic on fixed-point numbers.

The structure differs from that of the adders: no operand is aligned to the other one. Each operand
becomes an integer multiple of the smallest subnormal number, and their exact sum is rounded once.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value

from fred_hw.formats.number_format import FloatFormat, IntFormat
from fred_hw.gates.wire import wire

__all__ = ["float_sum", "int_sum"]


def int_sum(a: Value, b: Value, form: IntFormat, overflow: str) -> Value:
    """Return the sum of two integers."""
    if overflow == "wrap":
        return (a + b)[: form.bits]
    total = a.as_signed() + b.as_signed() if form.signed else a + b
    least = -(1 << (form.bits - 1)) if form.signed else 0
    most = least + (1 << form.bits) - 1
    return Mux(total > most, most, Mux(total < least, least, total))[: form.bits]


def float_sum(m: Module, a: Value, b: Value, form: FloatFormat) -> Value:
    """Return the sum of two floating-point numbers, rounded to nearest, ties to even."""
    sign_bit = form.bits - 1
    magnitude = [one[:sign_bit] for one in (a, b)]
    is_nan = [one >= form.first_nan for one in magnitude]
    is_infinite = [
        one == form.infinity if form.infinity is not None else Const(0) for one in magnitude
    ]
    signs = [a[sign_bit], b[sign_bit]]
    exact = [wire(m, f"exact_{k}", _fixed(one, form)) for k, one in enumerate(magnitude)]
    terms = [Mux(sign, -one, one) for sign, one in zip(signs, exact, strict=True)]
    total = wire(m, "total", (terms[0] + terms[1])[: len(exact[0]) + 2])
    negative = total[-1]
    size = wire(m, "size", Mux(negative, -total, total)[: len(exact[0]) + 1])
    finite = Cat(_rounded(m, size, form), negative | ((total == 0) & signs[0] & signs[1]))
    opposite = is_infinite[0] & is_infinite[1] & (signs[0] != signs[1])
    nan = is_nan[0] | is_nan[1] | opposite
    if form.infinity is None:
        nan = nan | (finite[:sign_bit] > form.largest)
    infinite = Mux(is_infinite[0], a, b)
    some_infinite = is_infinite[0] | is_infinite[1]
    return Mux(nan, form.canonical_nan, Mux(some_infinite, infinite, finite))[: form.bits]


def _fixed(magnitude: Value, form: FloatFormat) -> Value:
    """Return a magnitude as a multiple of the smallest subnormal number."""
    fraction, exponent = magnitude[: form.fraction_bits], magnitude[form.fraction_bits :]
    normal = exponent != 0
    width = form.fraction_bits + (1 << form.exponent_bits)
    return (Cat(fraction, normal) << Mux(normal, exponent - 1, 0)[: form.exponent_bits])[:width]


def _rounded(m: Module, size: Value, form: FloatFormat) -> Value:
    """Return the encoding of a multiple of the smallest subnormal number, without its sign."""
    keep = form.fraction_bits + 1
    result: Any = size[:keep]  # subnormal, or the least normal exponent: exact
    for top in range(keep, len(size)):
        drop = top - keep + 1
        kept, rest = size[drop : top + 1], size[:drop]
        half = 1 << (drop - 1)
        up = (rest > half) | ((rest == half) & kept[0])
        # A carry out of the fraction increments the exponent.
        encoded = wire(m, f"encoded_{top}", (drop << form.fraction_bits) + kept + up)
        limited = Mux(encoded > form.largest, form.beyond, encoded)
        result = Mux(size[top], limited, result)
    return wire(m, "rounded", result[: form.bits - 1])
